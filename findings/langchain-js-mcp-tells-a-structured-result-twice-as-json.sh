#!/usr/bin/env bash
# Package: @langchain/mcp-adapters 1.1.4 with @langchain/core 1.4.0 (npm).
# Behaviour: a result of one text reaches the model as that text. With structured content or `_meta` beside the text,
#   the model reads a JSON object in its stead: `{"type":"text","text":"…","structuredContent":{…}}` or the same with
#   `meta`. The text has its line breaks and quotes escaped, and structured content says all of it twice. With a second
#   text in the result, it reads the two texts as they are, and the structured content is in the artifact alone.
# Why a good guess misses it: the protocol asks servers for the text beside the structured content so that clients read
#   either, and `_meta` is for programs. The adapter keeps both out of the message in the other cases, and the content
#   of the `ToolMessage` is a string each time, so that no type tells.
# Date: 2026-11-29
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"private": true}' > package.json
npm install --silent --no-audit --no-fund @langchain/mcp-adapters@1.1.4 @langchain/core@1.4.0
cat > server.mjs <<'JS'
import readline from 'node:readline';
const text = { type: 'text', text: 'Open on "Mondays".\n' };
const structuredContent = { days: ['Monday'] };
const results = {
  text: { content: [text] },
  structured: { content: [text], structuredContent },
  meta: { content: [text], _meta: { 'example.org/took': 3 } },
  two: { content: [text, { type: 'text', text: 'And on Fridays.' }], structuredContent },
};
const inputSchema = { type: 'object', properties: {} };
for await (const line of readline.createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const result = {
    initialize: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'a', version: '1' } },
    'tools/list': { tools: Object.keys(results).map((name) => ({ name, description: 'Tells.', inputSchema })) },
    'tools/call': results[params?.name],
  }[method];
  console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
}
JS
cat > try.mjs <<'JS'
import { readFileSync } from 'node:fs';
import { MultiServerMCPClient } from '@langchain/mcp-adapters';
const server = { transport: 'stdio', command: process.execPath, args: ['server.mjs'] };
const client = new MultiServerMCPClient({ mcpServers: { server } });
const told = {};
const artifacts = {};
for (const tool of await client.getTools()) {
  const { name } = tool;
  ({ content: told[name], artifact: artifacts[name] } = await tool.invoke({ type: 'tool_call', id: '1', name, args: {} }));
  console.log(`${name}:`.padEnd(12), JSON.stringify(told[name]));
}
await client.close();
for (const name of ['mcp-adapters', 'core']) {
  console.log(`@langchain/${name}`, JSON.parse(readFileSync(`node_modules/@langchain/${name}/package.json`)).version);
}
const text = 'Open on "Mondays".\n';
const isSeen = told.text === text
  && told.structured === JSON.stringify({ type: 'text', text, structuredContent: { days: ['Monday'] } })
  && told.meta === JSON.stringify({ type: 'text', text, meta: { 'example.org/took': 3 } })
  && artifacts.two.some((artifact) => artifact.type === 'mcp_structured_content')
  && told.two.length === 2 && told.two[0].text === text;
process.exit(isSeen ? 0 : 1);
JS
node try.mjs

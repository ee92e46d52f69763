#!/usr/bin/env bash
# Package: mcp-use 1.7.1 with mcp 1.30.0 (PyPI); langchain-core 1.8.3.
# Behaviour: each argument of an MCP tool that a model leaves out reaches the server as null, or as the default of the
#   schema. An argument that the schema doesn't have is dropped without a word.
# Why a good guess misses it: the schema says `{"type": "string"}` for an optional argument, which null does not fit, so
#   that a server which checks calls against its own schema refuses a call that the model made well. A server that does
#   not check cannot tell "left out" from "null", e.g. of a field that null would clear.
# Date: 2026-11-29
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check mcp-use==1.7.1 mcp==1.30.0 langchain-core==1.8.3
cat > server.py <<'PYTHON'
import asyncio
import json
import sys

from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

text = {"type": "string"}
schema = {"type": "object", "properties": {"name": text, "label": text, "tone": {**text, "default": "warm"}}, "required": ["name"]}
server = Server("server")


@server.list_tools()
async def tools():
    return [types.Tool(name="keep", description="Keeps.", inputSchema=schema)]


@server.call_tool(validate_input=sys.argv[1] == "checks")
async def call(name, arguments):
    return [types.TextContent(type="text", text=json.dumps(arguments))]


async def main():
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


asyncio.run(main())
PYTHON
cat > try.py <<'PYTHON'
import asyncio
import importlib.metadata
import os

os.environ["MCP_USE_ANONYMIZED_TELEMETRY"] = "false"

from mcp_use import MCPClient
from mcp_use.agents.adapters.langchain_adapter import LangChainAdapter


async def told(how):
    client = MCPClient({"mcpServers": {"server": {"command": "venv/bin/python", "args": ["server.py", how]}}})
    await client.create_all_sessions()
    [tool] = await LangChainAdapter().create_tools(client)
    arguments = {"name": "tea", "colour": "green"}
    message = await tool.ainvoke({"type": "tool_call", "id": "1", "name": "keep", "args": arguments})
    await client.close_all_sessions()
    return message.text


async def main():
    plain, checked = await told("takes all"), await told("checks")
    for package in ("mcp-use", "mcp", "langchain-core"):
        print(package, importlib.metadata.version(package))
    print('the model gave             {"name": "tea", "colour": "green"}')
    print("a server that takes all got", plain)
    print("a server that checks says  ", "None is not of type 'string'" if "None is not of type" in checked else checked)
    assert plain == '{"name": "tea", "label": null, "tone": "warm"}', plain
    assert "None is not of type 'string'" in checked, checked


asyncio.run(main())
PYTHON
venv/bin/python try.py 2>/dev/null

#!/usr/bin/env bash
# Package: semantic-kernel 1.45.0 with mcp 1.30.0 (PyPI).
# Behaviour: what the kernel sends to a model as the result of an MCP tool is how Python writes a list of its own
#   classes: `[TextContent(inner_content=TextContent(type='text', text='…', annotations=None, meta=None), …, text='…',
#   encoding=None)]`. A text of 3 characters becomes one of 173, and is in there twice.
# Why a good guess misses it: `str()` of the same result is the bare text, and so is what a model is sent of a Python
#   function as a tool. Only the message that is made for the service of a model differs, and no program sees it.
# Date: 2026-11-29
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check 'semantic-kernel[mcp]==1.45.0' mcp==1.30.0
cat > server.py <<'PYTHON'
from mcp.server.fastmcp import FastMCP

server = FastMCP("server")


@server.tool(structured_output=False)
def tell() -> str:
    return "tea"


server.run()
PYTHON
cat > try.py <<'PYTHON'
import asyncio
import importlib.metadata

from semantic_kernel import Kernel
from semantic_kernel.connectors.mcp import MCPStdioPlugin
from semantic_kernel.contents import ChatHistory, FunctionCallContent
from semantic_kernel.functions import kernel_function


class Own:
    @kernel_function
    def tell(self) -> str:
        return "tea"


async def main():
    async with MCPStdioPlugin("server", "venv/bin/python", args=["server.py"]) as plugin:
        kernel = Kernel()
        kernel.add_plugin(plugin)
        kernel.add_plugin(Own(), "own")
        told = {}
        for name in ("own-tell", "server-tell"):
            history = ChatHistory()
            await kernel.invoke_function_call(FunctionCallContent(id="1", name=name, arguments={}), history)
            told[name] = history.messages[-1].to_dict()["content"]
        result = str(await kernel.invoke(plugin_name="server", function_name="tell"))
    for package in ("semantic-kernel", "mcp"):
        print(package, importlib.metadata.version(package))
    print("str() of the result:", result)
    for name, text in told.items():
        print(f"{name}, to the model ({len(text)} characters):", text)
    assert result == told["own-tell"] == "tea"
    assert told["server-tell"].startswith("[TextContent(inner_content=TextContent(type='text', text='tea'")
    assert told["server-tell"].count("text='tea'") == 2


asyncio.run(main())
PYTHON
venv/bin/python try.py

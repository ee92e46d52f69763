#!/usr/bin/env bash
# Package: agent-framework-core 1.23.0 with mcp 2.3.0 (PyPI), Microsoft's framework for agents.
# Behaviour: of a call of an MCP tool, the arguments `conversation_id`, `session`, `thread`, `tools`, `tool_choice`,
#   `options`, `response_format`, `chat_options` and `ctx` never reach the server, although the tool's schema declares
#   them and the model gave them. Nothing is logged, the model gets a result as if they had been there, and a required
#   one is accepted and dropped, too.
# Why a good guess misses it: the framework checks the model's arguments against the same schema first, required ones
#   among them, and passes every other name on. A condition such as a conversation to delete is lost without a trace,
#   and the server acts on the rest of the call. `additional_tool_argument_names` lets a name through, but has to be
#   set for each name in the program's code.
# Date: 2026-11-29
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check agent-framework-core==1.23.0 mcp==2.3.0 tenacity==9.1.4
cat > server.py <<'PYTHON'
import json
import sys

NAMES = ["conversation_id", "session", "thread", "tools", "tool_choice", "options", "response_format", "chat_options", "ctx", "place"]
schema = {"type": "object", "properties": {name: {"type": "string"} for name in NAMES}, "required": NAMES}
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    results = {
        "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "a", "version": "1"}},
        "tools/list": {"tools": [{"name": "delete", "description": "Deletes.", "inputSchema": schema}]},
        "tools/call": {"content": [{"type": "text", "text": json.dumps(request.get("params", {}).get("arguments"))}]},
    }
    found = results.get(request["method"])
    outcome = {"result": found} if found else {"error": {"code": -32601, "message": "no such method"}}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **outcome}), flush=True)
PYTHON
cat > try.py <<'PYTHON'
import asyncio
import importlib.metadata
import json
import logging

from agent_framework import Agent, BaseChatClient, ChatResponse, Content, FunctionInvocationLayer, MCPStdioTool, Message

logging.basicConfig(level=logging.WARNING)
NAMES = ["conversation_id", "session", "thread", "tools", "tool_choice", "options", "response_format", "chat_options", "ctx", "place"]


class Model(FunctionInvocationLayer, BaseChatClient):
    """Gives one call, with every argument, and keeps what it is told."""

    told = None

    async def _inner_get_response(self, *, messages, stream, options, **_):
        [*parts] = [part for part in messages[-1].contents if part.type == "function_result"]
        if parts:
            self.told = parts[0].result
            return ChatResponse(messages=[Message("assistant", [Content.from_text("done")])])
        call = Content.from_function_call("1", "delete", arguments={name: "text" for name in NAMES})
        return ChatResponse(messages=[Message("assistant", [call])])


async def main():
    model = Model()
    async with MCPStdioTool("server", "venv/bin/python", args=["server.py"]) as tool:
        await Agent(model, tools=[tool]).run("go on")
    print("agent-framework-core", importlib.metadata.version("agent-framework-core"))
    print("the model gave   ", ", ".join(NAMES))
    print("the server got   ", ", ".join(json.loads(model.told)))
    assert json.loads(model.told) == {"place": "text"}, model.told


asyncio.run(main())
PYTHON
venv/bin/python try.py

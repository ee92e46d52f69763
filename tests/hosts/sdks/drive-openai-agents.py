"""Drives the OpenAI Agents SDK: its MCP servers, and their tools as an agent with strict schemas has them."""

import contextlib
import json
import operator

import jobs
from agents import Agent, RunContextWrapper, set_tracing_disabled
from agents.mcp import MCPServerStdio, MCPServerStreamableHttp, MCPUtil
from agents.tool_context import ToolContext

# Traces would leave this machine.
set_tracing_disabled(True)
# Seconds, more than the SDK's own 5, which a busy machine may need for a start.
TIMEOUT = 60


class Session:
    def __init__(self, server):
        self.server = server
        self.agent = Agent(name="hosts", mcp_servers=[server])

    async def function_tools(self):
        run = RunContextWrapper(context=None)
        return await MCPUtil.get_function_tools(self.server, True, run, self.agent)

    async def tools(self):
        return jobs.listing(await self.function_tools(), operator.attrgetter("params_json_schema"))

    async def convert(self):
        def strict(tool):
            # The SDK falls back to the schema as it was where it cannot make it strict, and says so in its log alone.
            # Without any argument there is nothing to be strict about, and no schema that google-genai takes as well.
            if tool.params_json_schema["properties"] and not tool.strict_json_schema:
                raise ValueError("the schema cannot be made strict")
            return tool.params_json_schema

        return jobs.converted(await self.function_tools(), strict)

    async def call(self, tool, arguments):
        [found] = [known for known in await self.function_tools() if known.name == tool]
        text = json.dumps(arguments)
        context = ToolContext(context=None, tool_name=tool, tool_call_id="1", tool_arguments=text)
        output = await found.on_invoke_tool(context, text)
        # A list has a part for each block of the result; a model is told of an error by its text alone.
        parts = output if isinstance(output, list) else [output]
        return None, "\n".join(part if isinstance(part, str) else part["text"] for part in parts)


@contextlib.asynccontextmanager
async def connect(job):
    if job["transport"] == "stdio":
        command, *arguments = job["command"]
        parameters = {"command": command, "args": arguments, "env": job["env"]}
        server = MCPServerStdio(parameters, client_session_timeout_seconds=TIMEOUT)
    else:
        parameters = {"url": job["url"], "headers": job["headers"]}
        server = MCPServerStreamableHttp(parameters, client_session_timeout_seconds=TIMEOUT)
    async with server:
        yield Session(server)


jobs.answer(connect)

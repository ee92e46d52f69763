"""Drives mcp-use: the tools of a server as its agents have them, those of LangChain."""

import contextlib
import os

# What it does would be told to its makers.
os.environ["MCP_USE_ANONYMIZED_TELEMETRY"] = "false"

import jobs
from langchain_core.utils.function_calling import convert_to_openai_tool
from mcp_use import MCPClient
from mcp_use.agents.adapters.langchain_adapter import LangChainAdapter


class Session:
    def __init__(self, client):
        self.client, self.adapter = client, LangChainAdapter()

    async def offered(self):
        return await self.adapter.create_tools(self.client)

    async def tools(self):
        return jobs.listing(await self.offered(), lambda tool: tool.args_schema.model_json_schema())

    async def convert(self):
        def parameters(tool):
            return convert_to_openai_tool(tool)["function"]["parameters"]

        return jobs.converted(await self.offered(), parameters)

    async def call(self, tool, arguments):
        [found] = [known for known in await self.offered() if known.name == tool]
        message = await found.ainvoke({"type": "tool_call", "id": "1", "name": tool, "args": arguments})
        return None, message.text


@contextlib.asynccontextmanager
async def connect(job):
    if job["transport"] == "stdio":
        command, *arguments = job["command"]
        server = {"command": command, "args": arguments, "env": job["env"]}
    else:
        server = {"url": job["url"], "headers": job["headers"]}
    client = MCPClient({"mcpServers": {"loci": server}})
    await client.create_all_sessions()
    try:
        yield Session(client)
    finally:
        await client.close_all_sessions()


jobs.answer(connect)

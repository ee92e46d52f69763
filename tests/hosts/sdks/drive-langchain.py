"""Drives langchain-mcp-adapters: the tools of a server as those of LangChain, each call with a session of its own."""

import contextlib
import operator

import jobs
from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_mcp_adapters.client import MultiServerMCPClient


class Session:
    def __init__(self, client):
        self.client = client

    async def tools(self):
        return jobs.listing(await self.client.get_tools(), operator.attrgetter("args_schema"))

    async def convert(self):
        def strict(tool):
            return convert_to_openai_tool(tool, strict=True)["function"]["parameters"]

        return jobs.converted(await self.client.get_tools(), strict)

    async def call(self, tool, arguments):
        [found] = [known for known in await self.client.get_tools() if known.name == tool]
        message = await found.ainvoke({"type": "tool_call", "id": "1", "name": tool, "args": arguments})
        return message.status == "error", message.text


@contextlib.asynccontextmanager
async def connect(job):
    if job["transport"] == "stdio":
        command, *arguments = job["command"]
        server = {"transport": "stdio", "command": command, "args": arguments, "env": job["env"]}
    else:
        server = {"transport": "streamable_http", "url": job["url"], "headers": job["headers"]}
    yield Session(MultiServerMCPClient({"loci": server}))


jobs.answer(connect)

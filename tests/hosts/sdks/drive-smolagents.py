"""Drives smolagents: the tools of a server, which its agents call from one thread."""

import asyncio
import contextlib
import operator

import jobs
from mcp import StdioServerParameters
from smolagents import MCPClient
from smolagents.models import get_tool_json_schema


class Session:
    def __init__(self, client):
        self.client = client

    async def tools(self):
        return jobs.listing(self.client.get_tools(), operator.attrgetter("inputs"))

    async def convert(self):
        def parameters(tool):
            return get_tool_json_schema(tool)["function"]["parameters"]

        return jobs.converted(self.client.get_tools(), parameters)

    async def call(self, tool, arguments):
        [found] = [known for known in self.client.get_tools() if known.name == tool]
        return None, await asyncio.to_thread(found, arguments, sanitize_inputs_outputs=True)


@contextlib.asynccontextmanager
async def connect(job):
    if job["transport"] == "stdio":
        command, *arguments = job["command"]
        server = StdioServerParameters(command=command, args=arguments, env=job["env"])
    else:
        server = {"url": job["url"], "headers": job["headers"], "transport": "streamable-http"}
    client = await asyncio.to_thread(MCPClient, server, structured_output=False)
    try:
        yield Session(client)
    finally:
        await asyncio.to_thread(client.disconnect)


jobs.answer(connect)

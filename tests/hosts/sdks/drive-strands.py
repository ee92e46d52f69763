"""Drives Strands Agents: the tools of a server, called as its agents do."""

import asyncio
import contextlib

import jobs
from strands.tools.mcp import MCPClient


class Session:
    def __init__(self, client):
        self.client = client

    async def specifications(self):
        return [tool.tool_spec for tool in await self.client.load_tools()]

    async def tools(self):
        return [
            {"name": spec["name"], "description": spec["description"], "schema": spec["inputSchema"]["json"]}
            for spec in await self.specifications()
        ]

    async def convert(self):
        return [dict(tool, raised=None) for tool in await self.tools()]

    async def call(self, tool, arguments):
        [found] = [known for known in await self.client.load_tools() if known.tool_name == tool]
        use = {"toolUseId": "1", "name": tool, "input": arguments}
        [event] = [event async for event in found.stream(use, {})]
        result = event.tool_result
        return result["status"] == "error", "\n".join(block["text"] for block in result["content"])


@contextlib.asynccontextmanager
async def connect(job):
    if job["transport"] == "stdio":
        command, *arguments = job["command"]
        server = {"command": command, "args": arguments, **({"env": job["env"]} if job["env"] is not None else {})}
    else:
        server = {"url": job["url"], "headers": job["headers"]}
    [client] = MCPClient.load_servers({"mcpServers": {"loci": server}})
    try:
        yield Session(client)
    finally:
        await asyncio.to_thread(client.stop, None, None, None)


jobs.answer(connect)

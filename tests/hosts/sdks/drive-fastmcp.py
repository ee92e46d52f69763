"""Drives fastmcp's client."""

import contextlib
import operator

import jobs
from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport


class Session:
    def __init__(self, client):
        self.client = client
        self.protocol = client.protocol_version

    async def tools(self):
        return jobs.listing(await self.client.list_tools(), operator.attrgetter("input_schema"))

    async def call(self, tool, arguments):
        # An error is raised here, and a good result read into classes that are made from the output schema.
        result = await self.client.call_tool(tool, arguments)
        return result.is_error, jobs.text(result.content)


@contextlib.asynccontextmanager
async def connect(job):
    if job["transport"] == "stdio":
        command, *arguments = job["command"]
        server = StdioTransport(command, arguments, env=job["env"], keep_alive=False)
    else:
        login = "oauth" if job.get("oauth") else None
        server = StreamableHttpTransport(job["url"], headers=job["headers"], auth=login)
    async with Client(server) as client:
        yield Session(client)


jobs.answer(connect)

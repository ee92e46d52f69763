"""Drives the Python SDK `mcp` 2.x."""

import contextlib

import jobs
import oauth
import python_2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client


@contextlib.asynccontextmanager
async def connect(job):
    async with contextlib.AsyncExitStack() as stack:
        if job["transport"] == "stdio":
            command, *arguments = job["command"]
            server = StdioServerParameters(command=command, args=arguments, env=job["env"])
        else:
            login = oauth.provider(job["url"]) if job.get("oauth") else None
            http_client = create_mcp_http_client(headers=job["headers"], auth=login)
            server = streamable_http_client(job["url"], http_client=await stack.enter_async_context(http_client))
        yield python_2.Session(await stack.enter_async_context(Client(server)))


jobs.answer(connect)

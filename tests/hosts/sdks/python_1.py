"""A session of the Python SDK `mcp` 1.x."""

import contextlib

import oauth
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client


@contextlib.asynccontextmanager
async def open_session(job):
    """Opens the session of a job; gives it and what the server answered to `initialize`."""
    if job["transport"] == "stdio":
        command, *arguments = job["command"]
        streams = stdio_client(StdioServerParameters(command=command, args=arguments, env=job["env"]))
    else:
        login = oauth.provider(job["url"]) if job.get("oauth") else None
        streams = streamablehttp_client(job["url"], headers=job["headers"], auth=login)
    async with streams as (read, write, *_), ClientSession(read, write) as session:
        yield session, await session.initialize()

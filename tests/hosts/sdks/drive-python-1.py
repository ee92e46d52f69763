"""Drives the Python SDK `mcp` 1.x."""

import contextlib
import operator

import jobs
import python_1


class Session:
    def __init__(self, session, started):
        self.session = session
        self.protocol = started.protocolVersion

    async def tools(self):
        return jobs.listing((await self.session.list_tools()).tools, operator.attrgetter("inputSchema"))

    async def call(self, tool, arguments):
        result = await self.session.call_tool(tool, arguments)
        return result.isError, jobs.text(result.content)


@contextlib.asynccontextmanager
async def connect(job):
    async with python_1.open_session(job) as (session, started):
        yield Session(session, started)


jobs.answer(connect)

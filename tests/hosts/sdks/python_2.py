"""A session of the Python SDK `mcp` 2.x."""

import operator

import jobs


class Session:
    def __init__(self, client):
        self.client = client
        self.protocol = client.protocol_version

    async def tools(self):
        return jobs.listing((await self.client.list_tools()).tools, operator.attrgetter("input_schema"))

    async def call(self, tool, arguments):
        result = await self.client.call_tool(tool, arguments)
        return result.is_error, jobs.text(result.content)

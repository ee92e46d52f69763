"""Drives llama-index-tools-mcp: the tools of a server as those of LlamaIndex, each call with a session of its own."""

import contextlib
import operator

import jobs
from llama_index.tools.mcp import BasicMCPClient, McpToolSpec


class Session:
    def __init__(self, client):
        self.spec = McpToolSpec(client)

    async def metadata(self):
        return [tool.metadata for tool in await self.spec.to_tool_list_async()]

    async def tools(self):
        return jobs.listing(await self.metadata(), operator.methodcaller("get_parameters_dict"))

    async def convert(self):
        return jobs.converted(await self.metadata(), lambda tool: tool.to_openai_tool()["function"]["parameters"])

    async def call(self, tool, arguments):
        [found] = [known for known in await self.spec.to_tool_list_async() if known.metadata.name == tool]
        result = (await found.acall(**arguments)).raw_output
        return result.is_error, jobs.text(result.content)


@contextlib.asynccontextmanager
async def connect(job):
    if job["transport"] == "stdio":
        command, *arguments = job["command"]
        yield Session(BasicMCPClient(command, args=arguments, env=job["env"]))
    else:
        yield Session(BasicMCPClient(job["url"], headers=job["headers"]))


jobs.answer(connect)

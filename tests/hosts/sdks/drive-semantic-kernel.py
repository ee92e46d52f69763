"""Drives Semantic Kernel: the plug-in of a server, whose functions the kernel calls as for a model."""

import contextlib

import jobs
from semantic_kernel import Kernel
from semantic_kernel.connectors.ai.function_calling_utils import kernel_function_metadata_to_function_call_format
from semantic_kernel.connectors.mcp import MCPStdioPlugin, MCPStreamableHttpPlugin
from semantic_kernel.contents import ChatHistory, FunctionCallContent


class Session:
    def __init__(self, plugin):
        self.kernel = Kernel()
        self.kernel.add_plugin(plugin)

    def offered(self):
        formats = [
            kernel_function_metadata_to_function_call_format(function)
            for function in self.kernel.get_full_list_of_function_metadata()
        ]
        return [known["function"] for known in formats]

    async def tools(self):
        return [
            {
                "name": tool["name"].removeprefix("loci-"),
                "description": tool["description"],
                "schema": tool["parameters"],
            }
            for tool in self.offered()
        ]

    async def convert(self):
        return [dict(tool, raised=None) for tool in await self.tools()]

    async def call(self, tool, arguments):
        history = ChatHistory()
        call = FunctionCallContent(id="1", name=f"loci-{tool}", arguments=arguments)
        await self.kernel.invoke_function_call(call, history)
        [message] = history.messages
        # As the services of models send it.
        return None, message.to_dict()["content"]


@contextlib.asynccontextmanager
async def connect(job):
    if job["transport"] == "stdio":
        command, *arguments = job["command"]
        plugin = MCPStdioPlugin("loci", command, args=arguments, env=job["env"])
    else:
        plugin = MCPStreamableHttpPlugin("loci", job["url"], headers=job["headers"])
    async with plugin:
        yield Session(plugin)


jobs.answer(connect)

"""Drives Pydantic AI: an agent with the toolset of a server, whose model makes the calls of the job."""

import contextlib
import operator

import jobs
from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.profiles.google import GoogleJsonSchemaTransformer
from pydantic_ai.profiles.openai import OpenAIJsonSchemaTransformer


class Session:
    def __init__(self, toolset):
        self.toolset = toolset

    async def run(self, call=None):
        """Runs the agent; gives the tools that the model has, and what it is told of its call."""
        offered, told = [], []

        def model(messages, info):
            offered[:] = info.function_tools
            told[:] = [part for part in messages[-1].parts if isinstance(part, ToolReturnPart)]
            if call and not told:
                return ModelResponse([ToolCallPart(call["tool"], call["arguments"])])
            return ModelResponse([TextPart("done")])

        await Agent(FunctionModel(model), toolsets=[self.toolset]).run("go on")
        return offered, told

    async def tools(self):
        offered, _ = await self.run()
        return jobs.listing(offered, operator.attrgetter("parameters_json_schema"))

    async def convert(self):
        def both(tool):
            OpenAIJsonSchemaTransformer(tool.parameters_json_schema, strict=True).walk()
            return GoogleJsonSchemaTransformer(tool.parameters_json_schema).walk()

        offered, _ = await self.run()
        return jobs.converted(offered, both)

    async def call(self, tool, arguments):
        _, [part] = await self.run({"tool": tool, "arguments": arguments})
        return part.outcome != "success", part.model_response_str()


@contextlib.asynccontextmanager
async def connect(job):
    if job["transport"] == "stdio":
        command, *arguments = job["command"]
        toolset = MCPToolset(StdioTransport(command, arguments, env=job["env"], keep_alive=False))
    else:
        toolset = MCPToolset(job["url"], headers=job["headers"])
    async with toolset:
        yield Session(toolset)


jobs.answer(connect)

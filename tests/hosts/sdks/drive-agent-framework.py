"""Drives Microsoft Agent Framework: an agent with the tool of a server, whose model makes the calls of the job."""

import contextlib

import jobs
from agent_framework import (
    Agent,
    BaseChatClient,
    ChatResponse,
    Content,
    FunctionInvocationLayer,
    MCPStdioTool,
    MCPStreamableHTTPTool,
    Message,
)


class Model(FunctionInvocationLayer, BaseChatClient):
    """A model that makes one call, if there is one, and notes what it is told."""

    def __init__(self, plain, call):
        # Without it, a model is told of an error no more than that there was one.
        super().__init__(function_invocation_configuration={"include_detailed_errors": not plain})
        self.call, self.offered, self.told = call, [], []

    async def _inner_get_response(self, *, messages, stream, options, **_):
        self.offered = options.get("tools") or []
        self.told = [part for part in messages[-1].contents if part.type == "function_result"]
        if self.call and not self.told:
            part = Content.from_function_call("1", self.call["tool"], arguments=self.call["arguments"])
        else:
            part = Content.from_text("done")
        return ChatResponse(messages=[Message("assistant", [part])])


class Session:
    def __init__(self, server, plain):
        self.server, self.plain = server, plain

    async def run(self, call=None):
        model = Model(self.plain, call)
        await Agent(model, tools=[self.server]).run("go on")
        return model

    async def tools(self):
        return jobs.listing((await self.run()).offered, lambda tool: tool.parameters())

    async def convert(self):
        def parameters(tool):
            return tool.to_json_schema_spec()["function"]["parameters"]

        return jobs.converted((await self.run()).offered, parameters)

    async def call(self, tool, arguments):
        [part] = (await self.run({"tool": tool, "arguments": arguments})).told
        texts = [item.text for item in part.items or [] if item.type == "text"]
        return part.exception is not None, "\n".join(texts) or part.result


@contextlib.asynccontextmanager
async def connect(job):
    if job["transport"] == "stdio":
        command, *arguments = job["command"]
        server = MCPStdioTool("loci", command, args=arguments, env=job["env"])
    else:
        server = MCPStreamableHTTPTool("loci", job["url"], static_headers=job["headers"])
    async with server:
        yield Session(server, job.get("plain", False))


jobs.answer(connect)

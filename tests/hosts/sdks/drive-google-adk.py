"""Drives Google's Agent Development Kit: the toolset of a server."""

import contextlib
import operator
import os

import jobs
from google.adk.agents import LlmAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.sessions import InMemorySessionService
from google.adk.tools.mcp_tool import McpToolset, StdioConnectionParams, StreamableHTTPConnectionParams
from google.adk.tools.tool_context import ToolContext
from mcp import StdioServerParameters

# Over HTTP the kit asks the cloud for a certificate of its own first, which would leave this machine.
os.environ["GOOGLE_API_USE_CLIENT_CERTIFICATE"] = "false"


async def tool_context():
    """The context of a call, as the kit's runner makes it."""
    sessions = InMemorySessionService()
    session = await sessions.create_session(app_name="hosts", user_id="local")
    agent = LlmAgent(name="hosts", model="none")
    return ToolContext(
        InvocationContext(session_service=sessions, invocation_id="1", agent=agent, session=session)
    )


def parameters(tool):
    declared = tool._get_declaration()
    if declared.parameters_json_schema is not None:
        return declared.parameters_json_schema
    return declared.parameters.model_dump(exclude_none=True, mode="json")


class Session:
    def __init__(self, toolset):
        self.toolset = toolset

    async def tools(self):
        return jobs.listing(await self.toolset.get_tools(), operator.attrgetter("raw_mcp_tool.input_schema"))

    async def convert(self):
        return jobs.converted(await self.toolset.get_tools(), parameters)

    async def call(self, tool, arguments):
        [found] = [known for known in await self.toolset.get_tools() if known.name == tool]
        result = await found.run_async(args=arguments, tool_context=await tool_context())
        text = result.get("error") or "\n".join(block["text"] for block in result["content"])
        return "error" in result or result.get("isError", False), text


@contextlib.asynccontextmanager
async def connect(job):
    if job["transport"] == "stdio":
        command, *arguments = job["command"]
        server = StdioServerParameters(command=command, args=arguments, env=job["env"])
        toolset = McpToolset(connection_params=StdioConnectionParams(server_params=server))
    else:
        server = StreamableHTTPConnectionParams(url=job["url"], headers=job["headers"])
        toolset = McpToolset(connection_params=server)
    try:
        yield Session(toolset)
    finally:
        await toolset.close()


jobs.answer(connect)

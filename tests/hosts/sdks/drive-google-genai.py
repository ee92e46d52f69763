"""Drives google-genai: a session among the tools of a request, and a model that makes the calls of the job."""

import contextlib
import json
import operator

import httpx
import jobs
import python_1
from google import genai
from google.genai import _mcp_utils, types


class Session:
    def __init__(self, session, started):
        self.session = session
        self.protocol = started.protocolVersion

    async def listed(self):
        return (await self.session.list_tools()).tools

    async def tools(self):
        return jobs.listing(await self.listed(), operator.attrgetter("inputSchema"))

    async def convert(self):
        def parameters(tool):
            [declared] = _mcp_utils.mcp_to_gemini_tool(tool).function_declarations
            return declared.parameters.model_dump(exclude_none=True, mode="json")

        return jobs.converted(await self.listed(), parameters)

    async def call(self, tool, arguments):
        asked = []

        async def model(request):
            asked.append(json.loads(request.content))
            part = {"text": "done"} if len(asked) > 1 else {"functionCall": {"name": tool, "args": arguments}}
            return httpx.Response(200, json={"candidates": [{"content": {"role": "model", "parts": [part]}}]})

        options = types.HttpOptions(httpx_async_client=httpx.AsyncClient(transport=httpx.MockTransport(model)))
        client = genai.Client(api_key="none", http_options=options)
        # As a dictionary, since the SDK copies a `GenerateContentConfig` deeply, which no session endures.
        await client.aio.models.generate_content(model="gemini", contents="go on", config={"tools": [self.session]})
        [part] = asked[1]["contents"][-1]["parts"]
        response = part["functionResponse"]["response"]
        told = response.get("error") or response["result"]
        text = told if isinstance(told, str) else "\n".join(block["text"] for block in told["content"])
        return "error" in response, text


@contextlib.asynccontextmanager
async def connect(job):
    async with python_1.open_session(job) as (session, started):
        yield Session(session, started)


jobs.answer(connect)

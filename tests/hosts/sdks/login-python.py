"""Logs in with the OAuth client of the Python SDK, 1.x or 2.x, and lists the tools.

Its argument is the URL of an endpoint. It prints the address for the browser, reads the one that the browser was sent
back to, and prints what it got; what it keeps between two runs is in a file, its second argument.
"""

import asyncio
import json
import pathlib
import sys
import urllib.parse

from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

URL, KEPT = sys.argv[1], pathlib.Path(sys.argv[2])
REDIRECT = "http://127.0.0.1:9/callback"


class Storage:
    """Keeps what a client gets in the file."""

    def __init__(self):
        self.kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}

    def keep(self, name, value):
        self.kept[name] = value.model_dump(mode="json", exclude_none=True)
        KEPT.write_text(json.dumps(self.kept))

    async def get_tokens(self):
        return OAuthToken(**self.kept["tokens"]) if "tokens" in self.kept else None

    async def set_tokens(self, tokens):
        self.keep("tokens", tokens)

    async def get_client_info(self):
        return OAuthClientInformationFull(**self.kept["client"]) if "client" in self.kept else None

    async def set_client_info(self, client):
        self.keep("client", client)


def say(**what):
    print(json.dumps(what), flush=True)


async def redirect(url):
    say(visit=url)


async def callback():
    came = await asyncio.to_thread(sys.stdin.readline)
    answer = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(came.strip()).query))
    try:
        from mcp.client.auth import AuthorizationCodeResult
    except ImportError:
        return answer["code"], answer["state"]
    return AuthorizationCodeResult(**{name: answer[name] for name in ("code", "state", "iss") if name in answer})


async def main():
    metadata = OAuthClientMetadata(client_name="Python SDK", redirect_uris=[REDIRECT])
    login = OAuthClientProvider(URL, metadata, Storage(), redirect, callback)
    try:
        from mcp import Client
        from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client
    except ImportError:
        from mcp import ClientSession
        from mcp.client.streamable_http import streamablehttp_client

        async with streamablehttp_client(URL, auth=login) as (read, write, *_), ClientSession(read, write) as session:
            await session.initialize()
            tools = await session.list_tools()
    else:
        async with create_mcp_http_client(auth=login) as http_client:
            async with Client(streamable_http_client(URL, http_client=http_client)) as client:
                tools = await client.list_tools()
    say(tools=[tool.name for tool in tools.tools])


asyncio.run(main())

#!/usr/bin/env bash
# Package: fastmcp 4.1.2 (PyPI) with mcp 2.3.0.
# Behaviour: a proxy (`create_proxy`) does not pass on which extensions its client declares. A server behind it that asks
#   for `io.modelcontextprotocol/ui` is told that the client has no views, in both eras of the protocol, though the same
#   client is told of as having them by a server that it reaches directly, or that is mounted.
# Why a good guess misses it: the proxy passes on tools with their `_meta`, resources, and the client's elicitation and
#   sampling. A server that offers views to clients that declare them alone, as the extension has it, offers none through
#   a proxy, without an error on either side.
# Date: 2026-11-30
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check fastmcp==4.1.2 mcp==2.3.0
cat > try.py <<'PYTHON'
import asyncio
import importlib.metadata

from fastmcp import Context, FastMCP
from fastmcp.server import create_proxy
from mcp import Client
from mcp.client.extension import advertise

UI = "io.modelcontextprotocol/ui"
server = FastMCP("server")


@server.tool
async def has_views(ctx: Context) -> str:
    return str(ctx.client_supports_extension(UI))


async def told(asked, mode):
    views = advertise(UI, {"mimeTypes": ["text/html;profile=mcp-app"]})
    async with Client(asked._mcp_server, mode=mode, extensions=[views]) as client:
        return (await client.call_tool("has_views", {})).content[0].text


async def main():
    print("fastmcp", importlib.metadata.version("fastmcp"), "mcp", importlib.metadata.version("mcp"))
    mounted = FastMCP("all")
    mounted.mount(server)
    seen = {}
    for mode in ("legacy", "auto"):
        for how, asked in (("directly", server), ("mounted", mounted), ("by a proxy", create_proxy(server))):
            seen[mode, how] = await told(asked, mode)
            print(f"{mode + ',':8} {how + ':':12} has the client views? {seen[mode, how]}")
    for mode in ("legacy", "auto"):
        assert [seen[mode, how] for how in ("directly", "mounted", "by a proxy")] == ["True", "True", "False"], seen


asyncio.run(main())
PYTHON
venv/bin/python try.py 2>/dev/null

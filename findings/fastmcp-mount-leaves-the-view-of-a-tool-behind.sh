#!/usr/bin/env bash
# Package: fastmcp 4.1.2 (PyPI).
# Behaviour: a server that is mounted with a namespace has the namespace in the URIs of its resources, also of the pages
#   of MCP Apps (`ui://shop/view.html` becomes `ui://team/shop/view.html`), and before the names of its tools. The
#   `_meta.ui.resourceUri` of a tool stays `ui://shop/view.html`, which nothing answers there. Each view is lost.
# Why a good guess misses it: the namespace is added to names and URIs everywhere else, the list of resources has the
#   page, and a call of the tool works. A host that cannot read the page shows the text alone, as one without views does.
# Date: 2026-11-30
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check fastmcp==4.1.2
cat > try.py <<'PYTHON'
import asyncio
import importlib.metadata

from fastmcp import Client, FastMCP
from fastmcp.apps import AppConfig

shop = FastMCP("shop")


@shop.tool(app=AppConfig(resource_uri="ui://shop/view.html"))
def look() -> str:
    return "seen"


@shop.resource("ui://shop/view.html")
def page() -> str:
    return "<p>A page.</p>"


async def told(server):
    async with Client(server) as client:
        [tool] = await client.list_tools()
        [resource] = await client.list_resources()
        wanted = tool.meta["ui"]["resourceUri"]
        try:
            found = (await client.read_resource(wanted))[0].text
        except Exception as error:
            found = f"{type(error).__name__}: {error}"
        return tool.name, wanted, str(resource.uri), found


async def main():
    mounted = FastMCP("all")
    mounted.mount(shop, namespace="team")
    alone, within = await told(shop), await told(mounted)
    print("fastmcp", importlib.metadata.version("fastmcp"))
    for how, (tool, wanted, listed, found) in (("alone", alone), ("mounted", within)):
        print(f"{how + ':':9} the tool {tool} has the view {wanted}, the list has {listed}; read: {found}")
    assert alone == ("look", "ui://shop/view.html", "ui://shop/view.html", "<p>A page.</p>"), alone
    assert within[:3] == ("team_look", "ui://shop/view.html", "ui://team/shop/view.html"), within
    assert "A page" not in within[3], within


asyncio.run(main())
PYTHON
venv/bin/python try.py 2>/dev/null

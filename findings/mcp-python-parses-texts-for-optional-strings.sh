#!/usr/bin/env bash
# Package: mcp (the Python SDK of the Model Context Protocol), PyPI, version 2.3.0. Seen on 2026-11-28.
#
# Behaviour: a tool with an argument `content: str | None` does not get the text that a client sends if
# that text is itself JSON. The SDK parses it first: '["tea"]' and '{"a": 1}' are refused, because they
# have become a list and an object, and the text 'null' silently becomes None. An argument
# `content: str` of the same tool gets every text as it is.
#
# Why a good guess misses it: both arguments have a string in their schema, and the client sent a
# string. Only making the argument optional changes what arrives. A memory server that is written with
# this SDK cannot store a text such as '["tea"]' in an optional field, and loses the word 'null'.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check mcp==2.3.0 pydantic==2.14.4
"$folder/venv/bin/pip" list --disable-pip-version-check 2>/dev/null | grep -E '^(mcp|pydantic) '
cat > "$folder/server.py" <<'PYTHON'
import asyncio
from mcp.server import MCPServer

server = MCPServer("texts")


@server.tool()
def keep_optional(content: str | None = None) -> str:
    return f"{type(content).__name__}: {content}"


@server.tool()
def keep(content: str) -> str:
    return f"{type(content).__name__}: {content}"


async def outcome(tool: str, text: str) -> str:
    try:
        result = await server.call_tool(tool, {"content": text})
    except Exception as error:
        return "refused: " + str(error).splitlines()[2].strip().split(" [")[0]
    blocks = getattr(result, "content", result)
    return blocks[0].text


async def main() -> None:
    seen = {}
    for tool in ("keep", "keep_optional"):
        for text in ("words", '["tea"]', '{"a": 1}', "null", "12"):
            seen[tool, text] = await outcome(tool, text)
            print(f"{tool:14} {text!r:12} -> {seen[tool, text]}")
    for text in ("words", '["tea"]', '{"a": 1}', "null", "12"):
        assert seen["keep", text] == f"str: {text}", text
    for text in ("words", "12"):
        assert seen["keep_optional", text] == f"str: {text}", text
    for text in ('["tea"]', '{"a": 1}'):
        assert seen["keep_optional", text] == "refused: Input should be a valid string", text
    assert seen["keep_optional", "null"] == "NoneType: None"


asyncio.run(main())
PYTHON
"$folder/venv/bin/python" "$folder/server.py"
echo "as described"

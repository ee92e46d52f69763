"""The functions of mempalace's server that memtrust calls: each calls the tool of its name in loci.

`tool_search(query=…)` calls `mempalace_search` at the endpoint in LOCI_ENDPOINT, with the token in
LOCI_TOKEN, and returns the structured content of the reply. A refusal returns what the package
returns: `success` false, and the message under `error`.
"""

import itertools
import json
import os
import urllib.request

NUMBERS = itertools.count(1)
# More than any call takes; a server that hangs shall fail the run, and not hold it up.
TIMEOUT = 60


def __getattr__(name):
    if not name.startswith("tool_"):
        raise AttributeError(name)
    tool = f"mempalace_{name.removeprefix('tool_')}"
    return lambda **arguments: call(tool, {key: value for key, value in arguments.items() if value is not None})


def call(tool, arguments):
    accepted = schema(tool)
    given = {key: value for key, value in arguments.items() if key in accepted}
    result = ask("tools/call", {"name": tool, "arguments": given})
    if result.get("isError"):
        return {"success": False, "error": result["content"][0]["text"]}
    return result["structuredContent"]


def schema(tool, known={}):
    """The arguments that a tool takes: the package has a few that no tool of its own shows."""
    if not known:
        known.update({entry["name"]: entry["inputSchema"]["properties"] for entry in ask("tools/list", {})["tools"]})
    return known[tool]


def ask(method, params):
    message = {"jsonrpc": "2.0", "id": next(NUMBERS), "method": method, "params": params}
    headers = {
        "Authorization": f"Bearer {os.environ['LOCI_TOKEN']}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }
    request = urllib.request.Request(os.environ["LOCI_ENDPOINT"], json.dumps(message).encode(), headers)
    with urllib.request.urlopen(request, timeout=TIMEOUT) as reply:
        answer = json.load(reply)
    if "error" in answer:
        raise RuntimeError(answer["error"]["message"])
    return answer["result"]

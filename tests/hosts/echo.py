"""A server over stdio that lists the tools of a file, and answers each call with what reached it.

    python tests/hosts/echo.py TOOLS.json

The file holds a list of tools, as a listing has them. An answer has the arguments and the environment, twice as loci
answers: as structured content and as text. A second text stands for a notice of loci.
"""

import base64
import json
import os
import pathlib
import re
import sys

NOTICE = "This is a notice."


def result(method, parameters, tools):
    """The result of a request; none for a method that servers of older revisions don't have."""
    if method == "initialize":
        about = {"name": "echo", "version": "1"}
        return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": about}
    if method == "tools/list":
        return {"tools": tools}
    if method == "tools/call":
        reached = {"arguments": parameters.get("arguments") or {}, "environment": dict(os.environ)}
        # In letters that no client escapes, however it hands them on; some join texts with nothing in between.
        letters = base64.b64encode(json.dumps(reached).encode()).decode()
        texts = [f"reached: {letters}.", NOTICE]
        return {
            "content": [{"type": "text", "text": text} for text in texts],
            "structuredContent": {"reached": letters},
        }
    return {} if method == "ping" else None


def reached(text):
    """What reached the server, out of what a client makes of an answer."""
    return json.loads(base64.b64decode(re.search(r"reached\W+([A-Za-z0-9+/=]+)", text)[1]))


def main():
    tools = json.loads(pathlib.Path(sys.argv[1]).read_text())
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        found = result(request["method"], request.get("params") or {}, tools)
        outcome = {"error": {"code": -32601, "message": "no such method"}} if found is None else {"result": found}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **outcome}), flush=True)


if __name__ == "__main__":
    main()

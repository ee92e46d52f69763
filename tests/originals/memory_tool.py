"""Runs the same commands through the Python SDK's own memory tool and through loci, and compares the replies.

`loci` is driven by a subclass of the SDK's abstract class, as its users write one: over `loci memory-tool`, as the MCP
tool over stdio and over HTTP, and over HTTP without MCP.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import urllib.request

import anthropic
from anthropic.lib.tools import BetaAbstractMemoryTool, ToolError
from anthropic.lib.tools._beta_builtin_memory_tool import BetaLocalFilesystemMemoryTool

LOCI = os.environ["LOCI_BIN"]
SEQUENCES = json.loads((pathlib.Path(__file__).parent / "sequences.json").read_text())


class Loci(BetaAbstractMemoryTool):
    """The memory tool of the SDK with loci behind it."""

    def __init__(self, backend):
        super().__init__()
        self.backend = backend

    def send(self, command):
        given = command.model_dump(exclude_none=True) if hasattr(command, "model_dump") else command
        text, is_error = self.backend(given)
        if is_error:
            raise ToolError(text)
        return text

    view = create = str_replace = insert = delete = rename = send


def environment(folder):
    return {**os.environ, "LOCI_DATA": str(folder), "LOCI_EMBEDDING_PROVIDER": "none", "LOCI_LOG": "error"}


class Pipe:
    """A process that answers a line with a line."""

    def __init__(self, folder, *arguments):
        self.process = subprocess.Popen(
            [LOCI, *arguments], env=environment(folder), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait(30)


class Command(Pipe):
    def __init__(self, folder):
        super().__init__(folder, "memory-tool")

    def __call__(self, command):
        reply = self.ask(command)
        return reply["content"], reply.get("is_error", False)


CLIENT = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "comparison", "version": "1"}}


def call(command, number):
    params = {"name": "memory", "arguments": command}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def outcome(reply):
    result = reply["result"]
    return result["content"][0]["text"], result.get("isError", False)


class Stdio(Pipe):
    def __init__(self, folder):
        super().__init__(folder, "mcp", "anthropic")
        self.ask({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": CLIENT})
        self.number = 0

    def __call__(self, command):
        self.number += 1
        return outcome(self.ask(call(command, self.number)))


class Http:
    """The MCP tool at `/mcp/anthropic`."""

    PATH = "/mcp/anthropic"
    OPEN = ["--no-auth"]

    def __init__(self, folder):
        arguments = [LOCI, "serve", "--bind", "127.0.0.1:0", *self.OPEN]
        self.process = subprocess.Popen(
            arguments, env=environment(folder), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.url = None
        self.folder = pathlib.Path(folder)
        self.number = 0

    def address(self):
        import time

        file = self.folder / "run" / "server.url"
        for _ in range(600):
            if file.exists() and file.read_text().strip():
                return file.read_text().strip().rstrip("/") + self.PATH
            time.sleep(0.05)
        raise RuntimeError("the server does not start")

    def __call__(self, command):
        self.url = self.url or self.address()
        self.number += 1
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        body = json.dumps(call(command, self.number)).encode()
        request = urllib.request.Request(self.url, body, {**headers, "MCP-Protocol-Version": "2025-06-18"})
        with urllib.request.urlopen(request) as reply:
            text = reply.read().decode()
        events = [line[len("data:") :] for line in text.splitlines() if line.startswith("data:") and line[5:].strip()]
        return outcome(json.loads(events[-1] if events else text))

    def close(self):
        self.process.terminate()
        self.process.wait(30)


class Plain(Http):
    """The route of the page, which takes a command as it is."""

    PATH = "/api/v1/memory-tool"
    OPEN = []

    def __call__(self, command):
        self.url = self.url or self.address()
        token = (self.folder / "token").read_text().strip()
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        with urllib.request.urlopen(urllib.request.Request(self.url, json.dumps(command).encode(), headers)) as reply:
            said = json.load(reply)
        return said["content"], said["is_error"]


def said(tool, command):
    """Returns the reply of a tool, and whether it is an error."""
    try:
        return tool.call(command), False
    except ToolError as error:
        return error.content if hasattr(error, "content") else str(error), True
    except NotImplementedError as error:
        return str(error), True


def filled(command):
    is_long = lambda value: isinstance(value, dict)
    return {
        name: value["repeat"] * value["times"] if is_long(value) else value for name, value in command.items()
    }


def main():
    different = compared = 0
    for start in (Command, Stdio, Http, Plain):
        for sequence in SEQUENCES:
            with tempfile.TemporaryDirectory() as own, tempfile.TemporaryDirectory() as folder:
                local = BetaLocalFilesystemMemoryTool(own)
                backend = start(folder)
                loci = Loci(backend)
                for number, command in enumerate(map(filled, sequence["commands"]), 1):
                    # An MCP client checks the command against the schema, in words of its own.
                    if command["command"] == "fly" and start in (Stdio, Http):
                        continue
                    expected, found = said(local, dict(command)), None
                    if command["command"] == "fly":
                        found = backend(command)
                    else:
                        found = said(loci, dict(command))
                    compared += 1
                    if tuple(expected) != tuple(found):
                        different += 1
                        print(f"{start.__name__}, {sequence['about']}, {number}: {command}")
                        print(f"  the helper says {expected!r}")
                        print(f"  loci says       {found!r}")
                backend.close()
    print(f"anthropic {anthropic.__version__} (Python): {compared} replies compared, {different} differ")
    sys.exit(1 if different or not compared else 0)


main()

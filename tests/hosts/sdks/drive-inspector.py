"""Drives the command line of the MCP Inspector."""

import contextlib
import json
import os
import pathlib
import re
import sys

import jobs
import programs

PROGRAM = pathlib.Path(sys.argv[1], "node_modules", ".bin", "mcp-inspector")
# Begins what it says of a tool that some model's API may not take.
TROUBLED = re.compile(r'\s*(?:Warning|Error): tool "(.*?)"')


class Session:
    def __init__(self, job):
        self.environment = dict(os.environ, MCP_INSPECTOR_SECRET_STORE="memory")
        if job["transport"] == "stdio":
            variables = [f"{name}={value}" for name, value in job["env"].items()]
            self.target = [argument for variable in variables for argument in ("-e", variable)] + job["command"]
            self.headers = []
        else:
            self.target = [job["url"], "--transport", "http"]
            # The option takes all the values that follow, so it comes last.
            headers = [f"{name}: {value}" for name, value in job["headers"].items()]
            self.headers = ["--header", *headers] if headers else []
            if job.get("oauth"):
                # The Inspector begins a login only where it thinks that a person is there to finish it.
                self.environment["MCP_AUTO_OPEN_ENABLED"] = "true"
            else:
                self.headers = ["--stored-auth-only", *self.headers]

    async def run(self, *arguments):
        return await programs.run([PROGRAM, "--cli", *self.target, *arguments, *self.headers], self.environment)

    async def tools(self):
        output, _ = await self.run("--method", "tools/list")
        return programs.listed(output)

    async def convert(self):
        output, report = await self.run("--method", "tools/list", "--strict")
        troubles = {TROUBLED.match(part)[1]: part for part in report.split("\n\n") if TROUBLED.match(part)}
        return [dict(tool, raised=troubles.get(tool["name"])) for tool in programs.listed(output)]

    async def call(self, tool, arguments):
        texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in arguments.items()}
        given = [argument for name, text in texts.items() for argument in ("--tool-arg", f"{name}={text}")]
        output, _ = await self.run("--method", "tools/call", "--tool-name", tool, *given)
        result = json.loads(output)
        text = [block["text"] for block in result["content"] if block["type"] == "text"]
        return result.get("isError", False), "\n".join(text)


@contextlib.asynccontextmanager
async def connect(job):
    yield Session(job)


jobs.answer(connect)

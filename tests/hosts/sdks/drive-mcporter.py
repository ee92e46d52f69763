"""Drives mcporter, with the server in its configuration file."""

import contextlib
import json
import pathlib
import sys
import tempfile

import jobs
import programs

PROGRAM = pathlib.Path(sys.argv[1], "node_modules", ".bin", "mcporter")


class Session:
    def __init__(self, configuration):
        self.configuration = configuration

    async def run(self, *arguments):
        output, _ = await programs.run([PROGRAM, "--config", self.configuration, *arguments])
        return output

    async def tools(self):
        return programs.listed(await self.run("list", "loci", "--json", "--schema"))

    async def call(self, tool, arguments):
        return False, await self.run("call", f"loci.{tool}", "--args", json.dumps(arguments), "--output", "text")


@contextlib.asynccontextmanager
async def connect(job):
    if job["transport"] == "stdio":
        command, *arguments = job["command"]
        server = {"command": command, "args": arguments, "env": job["env"]}
    else:
        server = {"url": job["url"], "headers": job["headers"]}
    with tempfile.TemporaryDirectory() as folder:
        configuration = pathlib.Path(folder, "mcporter.json")
        configuration.write_text(json.dumps({"mcpServers": {"loci": server}}))
        session = Session(configuration)
        if job.get("oauth"):
            # The command that `list` names where a server wants a login.
            await session.run("auth", "loci")
        yield session


jobs.answer(connect)

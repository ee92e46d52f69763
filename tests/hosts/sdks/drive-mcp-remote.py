"""Drives mcp-remote: a server over stdio to the Python SDK, a client over HTTP to loci."""

import contextlib
import pathlib
import sys
import tempfile

import jobs
import programs
import python_2
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

PROGRAM = pathlib.Path(sys.argv[1], "node_modules", ".bin", "mcp-remote")


@contextlib.asynccontextmanager
async def connect(job):
    headers = [argument for name, value in job["headers"].items() for argument in ("--header", f"{name}: {value}")]
    server = StdioServerParameters(command=str(PROGRAM), args=[job["url"], *headers])
    with tempfile.TemporaryFile("w+") as printed:
        try:
            async with Client(stdio_client(server, errlog=printed)) as client:
                yield python_2.Session(client)
        except Exception as error:
            # A host shows its person what a server printed when it ends.
            printed.seek(0)
            raise programs.Failed(printed.read()) from error


jobs.answer(connect)

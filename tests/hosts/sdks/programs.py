"""Command-line clients, run once for each thing that a job asks for."""

import asyncio
import json


class Failed(Exception):
    """All that a program printed before it ended with an error."""


async def run(command, environment=None):
    """Runs a program to its end, without a terminal; gives what it printed to stdout and to stderr."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *command, env=environment, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe
    )
    output, errors = [stream.decode() for stream in await process.communicate()]
    if process.returncode:
        raise Failed(f"{output}{errors}")
    return output, errors


def listed(output):
    """The tools of a listing as JSON."""
    return [
        {"name": tool["name"], "description": tool["description"], "schema": tool["inputSchema"]}
        for tool in json.loads(output)["tools"]
    ]

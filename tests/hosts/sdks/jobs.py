"""Answers jobs for the programs beside it, each of which drives one client and runs in that client's own environment.

A line of stdin is a list of jobs that are done at once, a line of stdout their results, both JSON. A job says how to
connect (`transport`: "stdio" with `command` and `env`, or "http" with `url` and `headers`; `oauth` asks for the
client's own login), whether to list the tools (`list`) or to convert their schemas for the API of a model (`convert`),
and which `calls` to make. A call is a tool with its arguments, or, where the job is alone, a pause: the program then
prints `{"paused": true}` and goes on at the next line of stdin.
"""

import asyncio
import json
import os
import sys


def answer(connect):
    """Answers each job with a session of its own, which `connect(job)` opens as an asynchronous context."""
    # Libraries print, too, and stdout holds results alone.
    with os.fdopen(os.dup(1), "w", buffering=1) as results:
        os.dup2(2, 1)
        while line := sys.stdin.readline():
            print(json.dumps(asyncio.run(all_results(connect, json.loads(line), results))), file=results)


async def all_results(connect, jobs, results):
    return await asyncio.gather(*(result(connect, job, results) for job in jobs))


async def result(connect, job, results):
    done = {"protocol": None, "tools": [], "converted": [], "results": [], "raised": None}
    try:
        async with connect(job) as session:
            done["protocol"] = getattr(session, "protocol", None)
            if job.get("list"):
                done["tools"] = await session.tools()
            if job.get("convert"):
                done["converted"] = await session.convert()
            for call in job.get("calls", []):
                if call.get("pause"):
                    print(json.dumps({"paused": True}), file=results)
                    await asyncio.to_thread(sys.stdin.readline)
                else:
                    done["results"].append(await called(session, call))
    except Exception as error:
        done["raised"] = words(error)
    return done


async def called(session, call):
    try:
        is_error, text = await session.call(call["tool"], call["arguments"])
    except Exception as error:
        return {"is_error": True, "text": "", "raised": words(error)}
    return {"is_error": is_error, "text": text, "raised": None}


def words(error):
    """The messages of an exception, of those that it groups, and of its cause."""
    parts = [f"{type(error).__name__}: {error}"]
    parts += [words(inner) for inner in getattr(error, "exceptions", ())]
    if error.__cause__:
        parts.append(words(error.__cause__))
    return "\n".join(parts)


def text(content):
    """The text of a result's content."""
    return "\n".join(block.text for block in content if block.type == "text")


def listing(tools, schema):
    """The tools of a listing; `schema(tool)` is how the client keeps that of the arguments."""
    return [{"name": tool.name, "description": tool.description, "schema": schema(tool)} for tool in tools]


def converted(tools, convert):
    """The schemas that `convert(tool)` gives, or the reason why it gives none."""

    def attempt(tool):
        try:
            return {"name": tool.name, "schema": convert(tool), "raised": None}
        except Exception as error:
            return {"name": tool.name, "schema": None, "raised": words(error)}

    return [attempt(tool) for tool in tools]

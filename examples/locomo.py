#!/usr/bin/env python3
"""Files the turns of a LoCoMo conversation with loci and asks its questions.

    examples/locomo.py --data locomo10.json [--url URL] [--token-file FILE] [--conversation 0]

An ordinary MCP client (the Python SDK, `pip install mcp`): every turn goes through the tool
`remember` of a running `loci serve`, every question through `recall`. It prints the mean share of
a question's evidence turns among the first 5 and 10 results; a question without evidence counts 1.

Who spoke and the caption of a photo stand in the text; when it was said is a tag, so that it is
found by its words without blurring what the text means.
"""

import argparse
import asyncio
import json
import os
import pathlib
import time

from mcp import Client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client


def turns(conversation):
    """Yields the id, the text and the date of every turn, in order."""
    session = 1
    while f"session_{session}" in conversation:
        date = conversation[f"session_{session}_date_time"].replace(",", "")
        for turn in conversation[f"session_{session}"]:
            text = f"{turn['speaker']}: {turn['text']}"
            if caption := turn.get("blip_caption"):
                text += f" [photo: {caption}]"
            yield turn["dia_id"], text, date
        session += 1


async def call(client, name, arguments):
    result = await client.call_tool(name, arguments)
    if result.is_error:
        raise SystemExit(f"{name} failed: {result.content[0].text}")
    return result.structured_content


async def run(options):
    headers = {}
    if options.token_file:
        headers["Authorization"] = "Bearer " + pathlib.Path(options.token_file).read_text().strip()
    sample = json.loads(pathlib.Path(options.data).read_text())[options.conversation]
    project = f"locomo-{sample['sample_id']}"
    transport = streamable_http_client(options.url, http_client=create_mcp_http_client(headers=headers))
    async with Client(transport, mode=options.mode) as client:
        existing = await call(client, "list", {"project": project, "limit": 1})
        if existing if isinstance(existing, list) else existing["result"]:
            raise SystemExit(f"project {project} holds memories already: start loci with an empty data folder")
        begin = time.monotonic()
        turn_of_memory = {}
        for dialogue_id, text, date in turns(sample["conversation"]):
            memory = await call(client, "remember", {"content": text, "project": project, "tags": [date]})
            turn_of_memory[memory["id"]] = dialogue_id
        stored = time.monotonic() - begin

        begin = time.monotonic()
        found = {5: 0.0, 10: 0.0}
        questions = sample["qa"]
        for question in questions:
            arguments = {"query": question["question"], "project": project, "limit": 10}
            hits = await call(client, "recall", arguments)
            hits = hits if isinstance(hits, list) else hits["result"]
            ranked = [turn_of_memory[hit["memory"]["id"]] for hit in hits]
            evidence = set(question.get("evidence", []))
            for k in found:
                share = sum(turn in evidence for turn in ranked[:k]) / len(evidence) if evidence else 1.0
                found[k] += share / len(questions)
        asked = time.monotonic() - begin
        version = client.protocol_version
    print(f"{sample['sample_id']}: {len(turn_of_memory)} turns stored in {stored:.1f} s, ", end="")
    print(f"{len(questions)} questions asked in {asked:.1f} s (protocol {version})")
    print(f"recall@5 {found[5]:.3f}   recall@10 {found[10]:.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, help="locomo10.json as its authors published it")
    parser.add_argument("--url", default="http://127.0.0.1:7821/mcp/mememory")
    parser.add_argument("--token-file", default=os.environ.get("LOCI_TOKEN_FILE"), help="the file that `loci serve` names")
    parser.add_argument("--conversation", type=int, default=0, help="which of the ten, from 0")
    parser.add_argument("--mode", default="auto", help="protocol era: auto, legacy, or a revision")
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()

"""What every dialect filed comes back from an export, as its tools tell it."""

import json
import os
import pathlib
import time
import unittest

from support import AsyncTestCase, Server, data_folder, run, stdio_client

WORDS = {"LOCI_SEARCH": "words"}
# All that an export has.
KINDS = [
    "memory", "note_file", "fact", "tunnel", "setting", "source_file", "cache_entry", "decision", "keyed_answer",
]
# Long ago, so that nobody waits for somebody who still writes the notes.
LONG_AGO = 1_700_000_000_123_456_789

WRITES = {
    "mememory": [
        ("remember", {"content": "Use tabs\r\n---\n\u2028 no end", "type": "rule", "weight": 0.3, "tags": ["style"]}),
        ("remember", {"content": "The kiln is hot", "project": "pottery", "delivery": "bootstrap"}),
    ],
    "memory-mcp": [
        (
            "store_memory",
            {"user_id": "ann", "conversation_id": "c", "messages": [{"role": "user", "content": "I prefer green tea"}]},
        ),
        ("store_cache", {"user_id": "ann", "query": "why tea?", "response": "because"}),
        ("store_decision", {"user_id": "ann", "key": "editor", "value": "ed"}),
    ],
    "engram": [
        ("store_memory", {"content": "Retry on 40001", "category": "decision", "scope": "repo", "source": "user-said"}),
        (
            "store_discovery",
            {
                "content": "The cache is cold at noon",
                "kind": "map",
                "scope": "discovery:repo:loci",
                "citations": [{"kind": "file", "ref": "src/cache.rs", "locator": "10-40", "pin": "9f2c1ab"}],
            },
        ),
    ],
    "vault": [
        ("memory_append", {"title": "Tea", "body": "Tea at four. [[Cake]] #tea", "idempotency_key": "k"}),
        ("memory_append", {"title": "Cake", "body": "Cake at five."}),
    ],
    "mempalace": [
        ("mempalace_add_drawer", {"wing": "acme", "room": "ops", "content": "The deploy runs on Fridays."}),
        ("mempalace_add_drawer", {"wing": "bees", "room": "hives", "content": "The hive is inspected on Sundays."}),
        (
            "mempalace_create_tunnel",
            {"source_wing": "acme", "source_room": "ops", "target_wing": "bees", "target_room": "hives", "label": "both weekly"},
        ),
        ("mempalace_kg_add", {"subject": "Ann", "predicate": "keeps", "object": "Bees", "valid_from": "2024-01-01"}),
        ("mempalace_kg_add", {"subject": "ann", "predicate": "Keeps", "object": "Wasps"}),
        ("mempalace_kg_invalidate", {"subject": "Ann", "predicate": "keeps", "object": "Wasps"}),
        ("mempalace_diary_write", {"agent_name": "ann", "entry": "Quiet day."}),
        ("mempalace_hook_settings", {"silent_save": False}),
    ],
}

READS = {
    "mememory": [
        ("list", {}),
        ("recall", {"query": "tabs"}),
        ("recall", {"query": "deploy on fridays"}),
    ],
    "memory-mcp": [
        ("recall_memory", {"user_id": "ann", "query": "tea"}),
        ("check_cache", {"user_id": "ann", "query": "why tea?"}),
        ("recall_decision", {"user_id": "ann", "key": "editor"}),
    ],
    "engram": [
        ("list_memory", {"scope": "repo"}),
        ("search_memory", {"query": "retry", "scope": "repo"}),
        ("search_discovery", {"query": "cache", "scope": "discovery:repo:loci"}),
    ],
    "vault": [("memory_recall", {"phases": ["tea and cake"]}), ("memory_search", {"query": "cake"})],
    "mempalace": [
        ("mempalace_list_drawers", {}),
        ("mempalace_search", {"query": "deploy"}),
        ("mempalace_get_taxonomy", {}),
        ("mempalace_kg_query", {"entity": "Ann"}),
        ("mempalace_kg_timeline", {}),
        ("mempalace_diary_read", {"agent_name": "ann"}),
        ("mempalace_list_tunnels", {}),
        ("mempalace_hook_settings", {}),
    ],
}

# Of somebody else, in a space of its own.
ELSEWHERE = "harbour"
ELSEWHERE_WRITES = {
    "mememory": [("remember", {"content": "The quay is closed in March", "project": "piers"})],
    "memory-mcp": [("store_decision", {"user_id": "bob", "key": "boat", "value": "the blue one"})],
    "mempalace": [
        ("mempalace_add_drawer", {"wing": "piers", "room": "north", "content": "Pier two has no light."}),
        ("mempalace_kg_add", {"subject": "Bob", "predicate": "owns", "object": "Boat"}),
    ],
}
ELSEWHERE_READS = {
    "mememory": [("list", {}), ("recall", {"query": "quay"})],
    "memory-mcp": [("recall_decision", {"user_id": "bob", "key": "boat"})],
    "mempalace": [("mempalace_list_drawers", {}), ("mempalace_kg_query", {"entity": "Bob"})],
}


async def call(data, calls):
    """What the tools of each dialect say."""
    said = {}
    for dialect, tools in calls.items():
        async with stdio_client(data, "legacy", dialect=dialect, variables=WORDS) as client:
            for tool, arguments in tools:
                result = await client.call_tool(tool, arguments)
                texts = [content.text for content in result.content]
                said[f"{dialect} {tool} {json.dumps(arguments)}"] = (result.is_error, texts)
    return said


async def call_elsewhere(data, calls):
    """The same as somebody else, whose token opens another space."""
    made = run(data, "token", "create", "--subject", "bob", "--space", ELSEWHERE, variables=WORDS)
    assert made.returncode == 0, made
    said = {}
    with Server(data, variables=WORDS) as server:
        for dialect, tools in calls.items():
            async with server.client("legacy", token=made.stdout.decode().strip(), dialect=dialect) as client:
                for tool, arguments in tools:
                    result = await client.call_tool(tool, arguments)
                    texts = [content.text for content in result.content]
                    said[f"{dialect} {tool} {json.dumps(arguments)} in {ELSEWHERE}"] = (result.is_error, texts)
    return said


def mine(data, project):
    ended = run(data, "palace", "mine", str(project), "--json", variables=WORDS)
    assert ended.returncode == 0, ended
    return json.loads(ended.stdout)


def export(data, target="-", *arguments):
    ended = run(data, "export", target, *arguments, variables=WORDS)
    assert ended.returncode == 0, ended
    return ended.stdout.split(b"\n", 1)[-1]


class Archive(AsyncTestCase):
    async def test_what_every_dialect_filed_comes_back(self):
        with data_folder() as here:
            project = pathlib.Path(here).parent / "shop"
            project.mkdir()
            (project / "orders.md").write_text("# Orders\n\nAn order is placed at the counter.\n")
            os.utime(project / "orders.md", ns=(LONG_AGO, LONG_AGO))
            self.assertEqual(mine(here, project)["read"], 1)
            written = {**await call(here, WRITES), **await call_elsewhere(here, ELSEWHERE_WRITES)}
            for name, (failed, texts) in written.items():
                self.assertFalse(failed, (name, texts))
            for note in (here / "vault").rglob("*.md"):
                os.utime(note, ns=(LONG_AGO, LONG_AGO))
            await self.enriched(here)
            before = export(here)
            kinds = json.loads(before.splitlines()[-1])["end"]["records"]
            for kind in KINDS:
                self.assertIn(kind, kinds)
            spaces = {record["space"] for line in before.splitlines()[:-1] for record in json.loads(line).values()}
            self.assertLessEqual({"main", ELSEWHERE}, spaces)
            lines = run(here, "export", "-", variables=WORDS).stdout
            folder = pathlib.Path(here).parent / "markdown"
            export(here, str(folder), "--format", "markdown")
            said = {**await call(here, READS), **await call_elsewhere(here, ELSEWHERE_READS)}
            for name, (failed, texts) in said.items():
                self.assertFalse(failed, (name, texts))
            for stdin, source in [(lines, "-"), (None, str(folder))]:
                with self.subTest(source), data_folder() as there:
                    ended = run(there, "import", "--follow", source, stdin=stdin, variables=WORDS)
                    self.assertEqual(ended.returncode, 0, ended)
                    self.assertEqual(export(there).decode(), before.decode())
                    again = {**await call(there, READS), **await call_elsewhere(there, ELSEWHERE_READS)}
                    for name in said:
                        self.assertEqual(again[name], said[name], name)
                    mined = mine(there, project)
                    self.assertEqual((mined["read"], mined["unchanged"]), (0, 1), "it is known how far the file was read")

    async def enriched(self, data):
        """Waits until nothing waits for the background any more, which a server brings along."""
        deadline = time.monotonic() + 60
        async with stdio_client(data, "legacy", dialect="memory-mcp", variables=WORDS):
            while b'"enrichment":"pending"' in export(data):
                self.assertLess(time.monotonic(), deadline)


if __name__ == "__main__":
    unittest.main()

"""Backups of a store that five dialects write into, restored elsewhere; repairs of what is derived."""

import asyncio
import json
import pathlib
import sqlite3
import tempfile
import unittest

from support import AsyncTestCase, Server, data_folder, run, stdio_client, value

DIALECTS = ["vault", "mememory", "memory-mcp", "engram", "mempalace"]
SCOPE = "run:project:gateway"


def command(data, *arguments):
    """Runs a command that succeeds; its JSON."""
    done = run(data, *arguments, "--json")
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def verdicts(data, *arguments):
    """The exit code of the doctor, and its rows."""
    done = run(data, "doctor", "--json", *arguments)
    return done.returncode, [(row["check"], row["verdict"], row["text"]) for row in json.loads(done.stdout)["checks"]]


async def call(client, tool, **arguments):
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content[0].text
    return value(result)


async def write(clients, text):
    """Something of every kind, through every dialect."""
    vault, mememory, memory_mcp, engram, mempalace = clients
    await call(vault, "memory_append", title=f"Note {text}", body=f"The kettle boils: {text}", idempotency_key=text)
    await call(mememory, "remember", content=f"Tea is green: {text}", project="tea", type="rule")
    messages = [{"role": "human", "content": f"I prefer dark mode in every editor: {text}"}]
    await call(memory_mcp, "store_memory", user_id="local", conversation_id="c-1", messages=messages)
    await call(memory_mcp, "store_decision", user_id="local", key=text, value="yes")
    stored = {"scope": SCOPE, "source": "user-said", "category": "decision"}
    await call(engram, "store_memory", content=f"We deploy on Fridays: {text}", **stored)
    await call(mempalace, "mempalace_add_drawer", wing="api", room="backend", content=f"The table has a key: {text}")
    await call(mempalace, "mempalace_kg_add", subject="Max", predicate="works_on", object=f"Orders {text}")
    await call(mempalace, "mempalace_diary_write", agent_name="reviewer", entry=f"SESSION {text}")


async def read(clients):
    """What every dialect says of all of it, by its lists and its searches."""
    vault, mememory, memory_mcp, engram, mempalace = clients
    answers = {
        "vault": await call(vault, "memory_search", query="does the kettle boil?", limit=50),
        "mememory": await call(mememory, "list", limit=100),
        "mememory search": await call(mememory, "recall", query="green tea", project="tea", limit=100),
        "memory-mcp": await call(memory_mcp, "recall_memory", user_id="local", query="dark mode", tier=["ltm"]),
        "memory-mcp decision": await call(memory_mcp, "recall_decision", user_id="local", key="before"),
        "engram": await call(engram, "list_memory", scope=SCOPE, limit=100),
        "mempalace": await call(mempalace, "mempalace_list_drawers", wing="api"),
        "mempalace graph": await call(mempalace, "mempalace_kg_query", entity="max"),
        "mempalace diary": await call(mempalace, "mempalace_diary_read", agent_name="reviewer"),
        "mempalace rooms": await call(mempalace, "mempalace_get_taxonomy"),
    }
    return {name: stable(answer) for name, answer in answers.items()}


async def read_when_sorted(clients):
    """The same, once the background has found the type of each message: until then it is in the room `other`."""
    async with asyncio.timeout(30):
        while '"other"' in json.dumps(await call(clients[-1], "mempalace_get_taxonomy")):
            await asyncio.sleep(0.1)
    return await read(clients)


def stable(answer):
    """Without what each call changes by itself or what depends on the moment: scores, ages, counts of reads."""
    if isinstance(answer, dict):
        moving = ("accessed", "age", "access_count", "next_cursor", "similarity", "relevance", "last_accessed")
        is_moving = lambda name: name.startswith(moving) or "score" in name
        return {name: stable(one) for name, one in answer.items() if not is_moving(name)}
    return [stable(one) for one in answer] if isinstance(answer, list) else answer


async def with_clients(server, work):
    """Does the work with a client of each dialect."""
    async with (
        server.client("auto", dialect=DIALECTS[0]) as vault,
        server.client("auto", dialect=DIALECTS[1]) as mememory,
        server.client("auto", dialect=DIALECTS[2]) as memory_mcp,
        server.client("auto", dialect=DIALECTS[3]) as engram,
        server.client("auto", dialect=DIALECTS[4]) as mempalace,
    ):
        return await work([vault, mememory, memory_mcp, engram, mempalace])


class Backups(AsyncTestCase):
    async def test_what_five_dialects_wrote_is_the_same_elsewhere(self):
        # Of all that is driven from here, this is on a real disk: each dialect writes there, and nothing has to be soon.
        with data_folder(on_disk=True) as data, data_folder() as elsewhere, tempfile.TemporaryDirectory() as folder:
            file = str(pathlib.Path(folder) / "backup.tar")
            words = {"LOCI_SEARCH": "words"}
            with Server(data, variables=words) as server:

                async def work(clients):
                    await write(clients, "before")
                    before = await read(clients)
                    # Others go on writing while it is made, and afterwards.
                    made = asyncio.to_thread(command, data, "backup", file)
                    made, *_ = await asyncio.gather(made, *(write(clients, f"during {number}") for number in range(3)))
                    await write(clients, "after")
                    return before, made, await read(clients)

                before, made, after = await with_clients(server, work)
                self.assertNotEqual(before, after)
                self.assertGreater(made["memories"], 0)
                refused = run(data, "restore", file, "--replace")
                self.assertEqual(refused.returncode, 4, refused.stderr)

            restored = command(elsewhere, "restore", file)
            self.assertEqual((restored["memories"], restored["notes"]), (made["memories"], made["notes"]))
            code, rows = verdicts(elsewhere)
            self.assertEqual(code, 0, rows)
            # The same as the old place, put back to that moment.
            command(data, "restore", file, "--replace")
            # Secrets are not in a backup.
            (elsewhere / "token").write_text((data / "token").read_text())
            answers = []
            for place in [data, elsewhere]:
                with Server(place, variables=words) as server:
                    answers.append(await with_clients(server, read_when_sorted))
            self.assertEqual(answers[0], answers[1])
            text = json.dumps(answers[1])
            kinds = ["kettle boils:", "Tea is green:", "in every editor:", "on Fridays:", "has a key:", "SESSION", "Orders"]
            for kind in kinds:
                self.assertIn(f"{kind} before", text)
            self.assertNotIn("after", text)

    async def test_a_note_that_is_written_again_under_its_key_is_the_same_note(self):
        with data_folder() as data, data_folder() as elsewhere, tempfile.TemporaryDirectory() as folder:
            file = str(pathlib.Path(folder) / "backup.tar")
            note = {"title": "Kettle", "body": "It boils", "idempotency_key": "k"}
            async with stdio_client(data, "auto", dialect="vault") as client:
                appended = await call(client, "memory_append", **note)
                command(data, "backup", file)
            command(elsewhere, "restore", file)
            async with stdio_client(elsewhere, "auto", dialect="vault") as client:
                self.assertEqual(await call(client, "memory_append", **note), appended)
            self.assertEqual(len(list((elsewhere / "vault").rglob("*.md"))), 1)


class Repairs(unittest.TestCase):
    def test_counts_and_indexes_are_made_anew(self):
        with data_folder() as data:
            for number in range(3):
                run(data, "add", f"Bead {number}", "--project", "string")
            before = command(data, "search", "bead")["results"]
            damages = ["UPDATE place_count SET {0} = {0} + 5", "DELETE FROM place_count"]
            for sql in damages:
                with self.subTest(sql):
                    connection = sqlite3.connect(data / "loci.db")
                    columns = [row[1] for row in connection.execute("PRAGMA table_info(place_count)")]
                    connection.execute(sql.format(columns[-1]))
                    connection.commit()
                    connection.close()
                    code, rows = verdicts(data)
                    self.assertEqual(code, 5, rows)
                    self.assertIn("derived", [check for check, _, _ in rows])
                    self.assertTrue(any("loci doctor --fix" in text for _, _, text in rows), rows)
                    code, rows = verdicts(data, "--fix")
                    self.assertEqual(code, 0, rows)
                    self.assertIn(("database", "done"), [(check, verdict) for check, verdict, _ in rows])
                    code, rows = verdicts(data)
                    self.assertEqual((code, [row for row in rows if row[1] == "fail"]), (0, []))
            self.assertEqual([hit["memory"]["id"] for hit in command(data, "search", "bead")["results"]],
                             [hit["memory"]["id"] for hit in before])


if __name__ == "__main__":
    unittest.main()

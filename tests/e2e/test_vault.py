"""The vault dialect through the Python SDK: notes in a folder that a person edits at the same time."""

import asyncio
import json
import os
import pathlib
import shutil
import tempfile
import time
import unittest

from support import AsyncTestCase, Server, data_folder, failure, run, stdio_client, value

TOOLS = ["memory_search", "memory_recall", "memory_append", "memory_forget"]
# Far beyond the two seconds that a change may take, since the machines of tests may be busy.
PATIENCE_SECONDS = 60


def text(result):
    return result.content[0].text


async def search(client, query, **arguments):
    return value(await client.call_tool("memory_search", {"query": query, **arguments}))["results"]


async def until(client, query, condition, **arguments):
    """Searches until the results are as a change by hand makes them."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        results = await search(client, query, **arguments)
        if condition(results):
            return results
        if time.monotonic() > deadline:
            raise AssertionError(f"{query}: still {results}")
        await asyncio.sleep(0.05)


def titled(title):
    return lambda results: any(one["title"] == title for one in results)


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


class Scenarios(AsyncTestCase):
    async def test_notes_are_appended_found_recalled_and_forgotten(self):
        async def scenario(client):
            tools = (await client.list_tools()).tools
            self.assertEqual([tool.name for tool in tools], TOOLS)
            for tool in tools:
                self.assertTrue(tool.description and tool.output_schema, tool.name)

            note = {"title": "Deploy checklist", "body": "Run the smoke tests before each deploy.", "tags": ["ops"]}
            appended = await client.call_tool("memory_append", {**note, "idempotency_key": "k1"})
            self.assertEqual(json.loads(text(appended)), value(appended))
            self.assertEqual((value(appended)["title"], value(appended)["status"]), ("Deploy checklist", "active"))
            again = await client.call_tool("memory_append", {**note, "idempotency_key": "k1"})
            self.assertEqual(value(again), value(appended))
            other = failure(await client.call_tool("memory_append", {**note, "body": "x", "idempotency_key": "k1"}))
            self.assertEqual((other["code"], other["status"]), ("conflict", 409))
            for number in range(6):
                await client.call_tool("memory_append", {"title": f"Deploy log {number}", "body": f"Deploy {number} went well"})

            page = value(await client.call_tool("memory_search", {"query": "what before a deploy?", "limit": 3}))
            hit = next(one for one in page["results"] if one["title"] == "Deploy checklist")
            self.assertEqual((hit["body"], hit["tags"], hit["status"]), (note["body"], ["ops"], "active"))
            seen = [one["id"] for one in page["results"]]
            while page["next_cursor"]:
                arguments = {"query": "what before a deploy?", "top_k": 2, "cursor": page["next_cursor"]}
                page = value(await client.call_tool("memory_search", arguments))
                seen += [one["id"] for one in page["results"]]
            self.assertEqual((len(seen), len(set(seen))), (7, 7))

            bundle = await client.call_tool("memory_recall", {"phases": ["release", "review"], "budget_tokens": 200})
            self.assertEqual(text(bundle), value(bundle)["markdown"])
            self.assertLessEqual(value(bundle)["used_tokens"], 200)
            self.assertIn("Deploy checklist", text(bundle))

            forgotten = value(await client.call_tool("memory_forget", {"id": hit["id"]}))
            self.assertEqual((forgotten["id"], forgotten["status"]), (hit["id"], "deleted"))
            self.assertEqual(value(await client.call_tool("memory_forget", {"id": hit["id"]})), forgotten)
            self.assertFalse(titled("Deploy checklist")(await search(client, "smoke tests", top_k=20)))
            kept = await search(client, "smoke tests", top_k=20, include_deleted=True)
            self.assertEqual([one["status"] for one in kept if one["id"] == hit["id"]], ["deleted"])
            missing = failure(await client.call_tool("memory_forget", {"id": "no such note"}))
            self.assertEqual((missing["code"], missing["status"]), ("not_found", 404))

        await self.each(scenario, "vault")

    async def test_what_a_person_does_in_the_folder_shows_in_the_next_searches(self):
        with data_folder() as data:
            vault = data / "vault"
            vault.mkdir(parents=True)
            (vault / ".obsidian").mkdir()
            (vault / ".obsidian" / "app.json").write_text("{}")
            (vault / "Old.md").write_text("The heron stands on the jetty\n")
            async with stdio_client(data, "2026-07-28", dialect="vault") as client:
                [old] = await until(client, "heron on the jetty", lambda results: len(results) == 1)
                self.assertEqual((old["title"], old["body"]), ("Old", "The heron stands on the jetty"))

                # Created, edited in place, replaced as editors and sync clients do it, moved with its folder.
                note = vault / "Ideas" / "Violin.md"
                note.parent.mkdir()
                note.write_text("---\ntags: [music]\ncssclass: wide # mine\n---\nThe violin needs strings #todo\n")
                [created] = await until(client, "violin", lambda results: titled("Violin")(results), top_k=1)
                self.assertEqual((created["tags"], created["status"]), (["music", "todo"], "active"))
                note.write_text(note.read_text().replace("needs strings", "has new strings"))
                await until(client, "violin", lambda results: "has new strings" in results[0]["body"], top_k=1)
                temporary = note.with_name(".Violin.md.tmp")
                temporary.write_text(note.read_text().replace("new strings", "gut strings"))
                temporary.rename(note)
                await until(client, "violin", lambda results: "gut strings" in results[0]["body"], top_k=1)
                note.parent.rename(vault / "Music")
                note = vault / "Music" / "Violin.md"
                renamed = note.rename(note.with_name("My violin.md"))
                [found] = await until(client, "violin", lambda results: titled("My violin")(results), top_k=1)
                self.assertEqual(found["id"], created["id"])

                # Forgotten by the agent: the file stays, with everything that the person wrote.
                await client.call_tool("memory_forget", {"id": created["id"]})
                written = renamed.read_text()
                for line in ["cssclass: wide # mine", "tags: [music]", "status: deleted", f"uid: {created['id']}"]:
                    self.assertIn(line, written)
                self.assertTrue(written.endswith("The violin has gut strings #todo\n"), written)
                # Brought back by the person, and forgotten by the person.
                renamed.write_text(written.replace("status: deleted", "status: active"))
                await until(client, "violin", lambda results: [one["id"] for one in results if one["title"] == "My violin"] == [created["id"]])
                renamed.write_text(written)
                await until(client, "violin", lambda results: not titled("My violin")(results))
                (vault / "Old.md").unlink()
                await until(client, "heron on the jetty", lambda results: not titled("Old")(results))
            self.assertEqual(files(vault), [".obsidian/app.json", "Music/My violin.md"])

    async def test_processes_and_dialects_share_the_notes(self):
        with data_folder() as data, tempfile.TemporaryDirectory(prefix="loci-vault-") as folder:
            vault = pathlib.Path(folder) / "notes"
            # The command line's place, over the one of the configuration.
            server = Server(data, "--vault", str(vault))
            with server:
                async with (
                    server.client("2026-07-28", dialect="vault") as notes,
                    stdio_client(data, "legacy", "--vault", str(vault), dialect="engram") as engram,
                    stdio_client(data, "2026-07-28", "--vault", str(vault), dialect="vault") as other,
                ):
                    note = {"title": "Gateway", "body": "The gateway is deployed on Tuesdays"}
                    appended = value(await notes.call_tool("memory_append", note))
                    [found] = await search(other, "when is the gateway deployed?")
                    self.assertEqual(found["id"], appended["id"])
                    shown = value(await engram.call_tool("get_memory", {"id": appended["id"]}))
                    self.assertEqual(shown["content"], note["body"])
                    (vault / "gateway.md").write_text((vault / "gateway.md").read_text().replace("Tuesdays", "Fridays"))
                    await until(notes, "gateway", lambda results: "Fridays" in results[0]["body"])
                    await until(other, "gateway", lambda results: "Fridays" in results[0]["body"])
                    # Many at once, from both processes: each is there, under a name of its own.
                    calls = [
                        client.call_tool("memory_append", {"title": "Same", "body": f"number {number}"})
                        for number in range(10)
                        for client in (notes, other)
                    ]
                    ids = {value(result)["id"] for result in await asyncio.gather(*calls)}
                    self.assertEqual(len(ids), 20)
                    self.assertEqual(len(files(vault)), 21)
            self.assertFalse((data / "vault").exists())

    async def test_what_was_acknowledged_survives_kill_and_restart(self):
        with data_folder() as data:
            note = {"title": "Kept", "body": "This was acknowledged", "idempotency_key": "once"}
            server = Server(data)
            try:
                async with server.client("2026-07-28", dialect="vault") as client:
                    appended = value(await client.call_tool("memory_append", note))
                    bundle = value(await client.call_tool("memory_recall", {"phases": ["kept"], "idempotency_key": "b"}))
                    self.assertEqual([included["title"] for included in bundle["included"]], ["Kept"])
            finally:
                server.process.kill()
                server.stop()
            with Server(data) as server:
                async with server.client("2026-07-28", dialect="vault") as client:
                    self.assertEqual(value(await client.call_tool("memory_append", note)), appended)
                    # A recall tells of what is there by now.
                    again = await client.call_tool("memory_recall", {"phases": ["kept"], "idempotency_key": "b"})
                    self.assertEqual(value(again)["included"], bundle["included"])
                    await client.call_tool("memory_append", {"title": "New", "body": "What is kept for the work: all"})
                    again = await client.call_tool("memory_recall", {"phases": ["kept"], "idempotency_key": "b"})
                    self.assertEqual(len(value(again)["included"]), 2)
                    self.assertEqual(len(await search(client, "acknowledged", top_k=10)), 2)
            self.assertEqual(files(data / "vault"), ["kept.md", "new.md"])

    async def test_a_folder_that_is_away_is_not_taken_for_an_empty_one(self):
        with data_folder() as data:
            vault, away = data / "vault", data / "unmounted"
            async with stdio_client(data, "2026-07-28", dialect="vault") as client:
                await client.call_tool("memory_append", {"title": "Kept", "body": "The heron stands on the jetty"})
                vault.rename(away)
                checked = run(data, "vault", "status", "--json")
                self.assertIsNotNone(json.loads(checked.stdout)["away"])
                vault.mkdir()
                self.assertEqual(run(data, "vault", "reconcile").returncode, 1)
                self.assertEqual(len(await search(client, "heron")), 1)
                vault.rmdir()
                away.rename(vault)
                self.assertEqual(run(data, "vault", "reconcile").returncode, 0)
                [kept] = await search(client, "heron")
                self.assertEqual(kept["title"], "Kept")
                # Gone for good, says the person.
                shutil.rmtree(vault)
                self.assertEqual(run(data, "vault", "reconcile", "--accept-missing").returncode, 0)
                self.assertEqual(await search(client, "heron"), [])

    async def test_only_who_may_reaches_the_notes(self):
        with data_folder() as data, Server(data) as server:
            self.assertEqual(server.status(None), 401)
            made = json.loads(run(data, "token", "create", "--subject", "eve", "--scopes", "read", "--json").stdout)
            async with server.client("2026-07-28", dialect="vault") as owner:
                note = value(await owner.call_tool("memory_append", {"title": "Common", "body": "for everybody"}))
            async with server.client("2026-07-28", token=made["token"], dialect="vault") as reader:
                self.assertEqual(len(await search(reader, "everybody")), 1)
                for tool, arguments in [("memory_append", {"title": "a", "body": "b"}), ("memory_forget", {"id": note["id"]})]:
                    with self.assertRaises(Exception):
                        await reader.call_tool(tool, arguments)
            self.assertEqual(files(data / "vault"), ["common.md"])


class Commands(unittest.TestCase):
    def test_a_person_sees_what_is_wrong_with_the_notes(self):
        with data_folder() as data:
            vault = data / "vault"
            vault.mkdir(parents=True)
            # What only reads makes no store.
            self.assertEqual(run(data, "vault", "check").returncode, 4)
            self.assertEqual(run(data, "vault", "reconcile").returncode, 0)
            self.assertEqual(run(data, "vault", "check").returncode, 0)
            uid = "01980000-0000-7000-8000-000000000001"
            (vault / "a.md").write_text(f"---\nuid: {uid}\n---\none\n")
            (vault / "b.md").write_text(f"---\nuid: {uid}\n---\ntwo\n")
            (vault / "broken.md").write_text("---\ntitle: [\n---\ntext\n")
            (vault / "a.sync-conflict-20240101-120000-ABCDEFG.md").write_text("one, too\n")
            (vault / "binary.md").write_bytes(b"\x00\xff\x00")
            with open(vault / "large.md", "wb") as large:
                large.truncate(50 << 20)
            os.symlink("/etc/hostname", vault / "outside.md")
            (vault / "esc\x1b[31m\nbinary.md").write_bytes(b"\x00")
            os.symlink("/etc", vault / "outside")

            # Nothing was read yet; then the next command that searches reads them.
            status = json.loads(run(data, "vault", "status", "--json").stdout)
            self.assertEqual((status["notes"], status["not_indexed"], status["watched"]), (0, 7, False))
            found = json.loads(run(data, "list", "--json").stdout)["memories"]
            self.assertEqual(sorted(one["content"] for one in found), ["---\ntitle: [\n---\ntext", "one", "two"])
            checked = run(data, "vault", "check", "--json")
            self.assertEqual(checked.returncode, 1)
            problems = {one["path"]: one["problem"] for one in json.loads(checked.stdout)["problems"]}
            self.assertEqual(
                problems,
                {
                    "a.sync-conflict-20240101-120000-ABCDEFG.md": "conflict_copy",
                    "b.md": "duplicate_uid",
                    "binary.md": "not_text",
                    "esc\x1b[31m\nbinary.md": "not_text",
                    "broken.md": "broken_frontmatter",
                    "large.md": "too_large",
                    "outside.md": "not_a_file",
                },
            )
            self.assertIn("esc\\u{1b}[31m\\u{a}binary.md", run(data, "vault", "check").stdout.decode())
            doctor = run(data, "doctor").stdout.decode()
            self.assertRegex(doctor, r"warn  notes .*1 broken_frontmatter")
            # The command line forgets softly, too.
            one = next(one for one in found if one["content"] == "one")
            self.assertEqual(run(data, "forget", one["id"]).returncode, 0)
            self.assertIn("status: deleted", (vault / "a.md").read_text())

    def test_the_database_stays_out_of_the_notes(self):
        with data_folder() as data:
            refused = run(data, "list", "--vault", str(data.parent))
            self.assertEqual(refused.returncode, 2)
            self.assertIn("choose another with --vault or --data", refused.stderr.decode())
            # By another name, and not there yet.
            (data.parent / "real").mkdir()
            link = data.parent / "link"
            link.symlink_to(data.parent / "real")
            refused = run(link / "data", "list", "--vault", str(link))
            self.assertEqual(refused.returncode, 2)
            refused = run(data.parent / "nothing" / ".." / "real" / "data", "list", "--vault", str(data.parent / "real"))
            self.assertEqual(refused.returncode, 2)
            self.assertEqual(files(data.parent / "real"), [])


if __name__ == "__main__":
    unittest.main()

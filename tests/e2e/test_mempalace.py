"""The mempalace dialect through the Python SDK, and the commands around it: mining, hooks, wake-up."""

import asyncio
import concurrent.futures
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import unittest

from support import LOCI, AsyncTestCase, Server, data_folder, environment, failure, run, stdio_client, value

READ = ["status", "list_wings", "list_rooms", "get_taxonomy", "search", "check_duplicate", "get_aaak_spec"]
WRITE = ["add_drawer", "delete_drawer", "sync", "get_drawer", "list_drawers", "update_drawer"]
GRAPH = ["kg_query", "kg_add", "kg_invalidate", "kg_timeline", "kg_stats"]
NAVIGATION = [
    "traverse", "find_tunnels", "graph_stats", "create_tunnel", "list_tunnels", "delete_tunnel", "follow_tunnels",
]
REST = ["diary_write", "diary_read", "hook_settings", "memories_filed_away", "reconnect"]
NEWER = ["checkpoint", "get_drawers", "delete_by_source", "kg_supersede"]
TOOLS = [f"mempalace_{name}" for name in READ + WRITE + GRAPH + NAVIGATION + REST + NEWER]
# Every kind of thing that a text may lose on its way.
VERBATIM = "---\r\nrule: `---`\n---\n\n> quoted\n```rust\nfn main() {}\n```\n\t\"é\u0301\" \\n {\"a\": 1}\n\n  trailing  \n"


def text(result):
    return result.content[0].text


async def call(client, tool, **arguments):
    result = await client.call_tool(f"mempalace_{tool}", arguments)
    assert not result.is_error, text(result)
    return value(result)


async def refused(client, tool, **arguments):
    result = await client.call_tool(f"mempalace_{tool}", arguments)
    return {**failure(result), "text": text(result)}


def command(data, *arguments, **options):
    """Runs a command that succeeds; its JSON."""
    done = run(data, *arguments, "--json", **options)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def git(folder, *arguments):
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, timeout=60)


class Tools(AsyncTestCase):
    async def test_drawers_graph_and_diary(self):
        async def scenario(client):
            tools = (await client.list_tools()).tools
            self.assertEqual([tool.name for tool in tools], TOOLS)
            for tool in tools:
                self.assertTrue(tool.description and tool.output_schema, tool.name)
            status = await call(client, "status")
            self.assertEqual((status["total_drawers"], status["wings"], status["rooms"]), (0, {}, {}))
            self.assertTrue(status["protocol"] and status["aaak_dialect"])

            added = await call(client, "add_drawer", wing="project api", room="backend", content=VERBATIM)
            self.assertTrue(added["success"] and added["drawer_id"].startswith("drawer_project_api_backend_"), added)
            again = await call(client, "add_drawer", wing="project api", room="backend", content=VERBATIM)
            self.assertEqual((again["drawer_id"], again["reason"]), (added["drawer_id"], "already_exists"))
            drawer = await call(client, "get_drawer", drawer_id=added["drawer_id"])
            self.assertEqual((drawer["content"], drawer["wing"], drawer["room"]), (VERBATIM, "project api", "backend"))
            await call(client, "add_drawer", wing="project db", room="backend", content="The orders table has a key on customer_id")
            [found] = (await call(client, "search", query="orders table key", wing="project db"))["results"]
            self.assertEqual((found["wing"], found["room"]), ("project db", "backend"))
            self.assertTrue(0 <= found["similarity"] <= 1)
            prompt = "You are a helpful assistant. " * 4_000
            found = await call(client, "search", query=prompt + "**Which key has the orders table?** Thanks!", limit=1)
            self.assertEqual((found["query"], found["sanitizer"]["method"]), ("**Which key has the orders table?**", "question"))
            self.assertEqual(found["results"][0]["wing"], "project db")
            duplicate = await call(client, "check_duplicate", content="The orders table has a key on customer_id")
            self.assertTrue(duplicate["is_duplicate"])
            taxonomy = (await call(client, "get_taxonomy"))["taxonomy"]
            self.assertEqual(taxonomy, {"project api": {"backend": 1}, "project db": {"backend": 1}})
            self.assertEqual((await call(client, "graph_stats"))["tunnel_rooms"], 1)
            missing = await refused(client, "get_drawer", drawer_id="drawer_no")
            self.assertEqual((missing["text"], missing["code"]), ("Drawer not found: drawer_no", "not_found"))
            bad = await refused(client, "add_drawer", wing="a/b", room="r", content="x")
            self.assertEqual((bad["code"], bad["argument"]), ("invalid_argument", "wing"))
            self.assertIn("wing", bad["text"])

            fact = await call(client, "kg_add", subject="Max", predicate="works_on", object="Orders", valid_from="2026-01-01")
            self.assertTrue(fact["success"])
            about = await call(client, "kg_query", entity="max", as_of="2026-01-01")
            self.assertEqual([(one["subject"], one["current"]) for one in about["facts"]], [("Max", True)])
            again = await call(client, "kg_add", subject="max", predicate="works_on", object="Orders", valid_from="2026-02-01")
            self.assertEqual((again["triple_id"], again["valid_from"]), (fact["triple_id"], "2026-01-01"))
            self.assertIn("since 2026-01-01", again["notice"])
            await call(client, "kg_invalidate", subject="MAX", predicate="works on", object="orders")
            about = await call(client, "kg_query", entity="Max")
            self.assertEqual([one["current"] for one in about["facts"]], [False])

            ends = {"source_wing": "project api", "source_room": "backend", "target_wing": "project db", "target_room": "backend"}
            tunnel = await call(client, "create_tunnel", **ends, label="the same orders")
            listed = await call(client, "list_tunnels", limit=1)
            self.assertEqual((listed["count"], listed["total"]), (1, 1))
            self.assertEqual([one.get("tunnel_id", one.get("id")) for one in listed["tunnels"]], [tunnel["tunnel_id"]])
            await call(client, "delete_tunnel", tunnel_id=tunnel["tunnel_id"])

            await call(client, "diary_write", agent_name="Reviewer One", entry="0:REV|review|\"★★ slow query\"")
            diary = await call(client, "diary_read", agent_name="Reviewer One")
            moved = await refused(client, "update_drawer", drawer_id=diary["entries"][0]["entry_id"], room="notes")
            self.assertIn("`room` cannot change here", moved["text"])
            self.assertEqual((diary["total"], diary["entries"][0]["content"]), (1, "0:REV|review|\"★★ slow query\""))
            self.assertEqual((await call(client, "search", query="slow query review"))["results"][0]["room"], "backend")

            self.assertEqual(await call(client, "hook_settings"), {**await call(client, "hook_settings"), "silent_save": True})
            self.assertFalse((await call(client, "memories_filed_away"))["filed"])
            await call(client, "update_drawer", drawer_id=added["drawer_id"], room="notes")
            self.assertEqual((await call(client, "list_rooms", wing="project api"))["rooms"], {"notes": 1})
            await call(client, "delete_drawer", drawer_id=added["drawer_id"])
            self.assertEqual((await call(client, "reconnect"))["drawers"], 2)
            listed = await call(client, "list_drawers")
            self.assertEqual((listed["total"], len(listed["drawers"])), (2, 2))

        await self.each(scenario, "mempalace")

    async def test_what_one_dialect_files_the_other_finds(self):
        with data_folder() as data, Server(data) as server:
            async with server.client("2026-07-28", dialect="mempalace") as palace, \
                    server.client("2026-07-28", dialect="mememory") as facts:
                await palace.call_tool("mempalace_add_drawer", {"wing": "kitchen", "room": "recipes", "content": "The dough rests for 18 hours"})
                await facts.call_tool("remember", {"content": "The oven needs 240 degrees", "project": "kitchen"})
                recalled = text(await facts.call_tool("recall", {"query": "how long does the dough rest?", "project": "kitchen"}))
                self.assertIn("18 hours", recalled)
                found = value(await palace.call_tool("mempalace_search", {"query": "how hot is the oven?", "wing": "kitchen"}))
                self.assertEqual(found["results"][0]["text"], "The oven needs 240 degrees")
                self.assertEqual(value(await palace.call_tool("mempalace_list_wings", {}))["wings"], {"kitchen": 2})


class Mining(unittest.TestCase):
    def test_a_repository_is_mined_again_and_again_and_synced(self):
        with data_folder() as data, tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder).resolve() / "shop"
            for path, content in {
                ".gitignore": "*.log\nbuild/\n!keep.log\n",
                "api/.gitignore": "/local.txt\n",
                "api/orders.py": "def place(order):\n    return order\n\n\ndef cancel(order):\n    return None\n",
                "api/local.txt": "not mine",
                "web/page.md": "# Page\n\nWelcome.\n\n---\n\n> quoted\n",
                "keep.log": "kept on purpose\n",
                "debug.log": "noise\n",
                "build/out.txt": "noise\n",
                "README": "The shop\n",
            }.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(content)
            (root / "logo.png").write_bytes(b"\x89PNG\0\0")
            git(root, "init")
            age(root)

            proposed = run(data, "palace", "init", str(root))
            self.assertIn(b"api", proposed.stdout)
            dry = command(data, "palace", "mine", str(root), "--dry-run")
            first = command(data, "palace", "mine", str(root))
            self.assertEqual(dry["drawers"], first["drawers"])
            self.assertEqual((first["read"], first["passed_over"], first["wings"]), (4, {"not_text": 1}, ["shop"]))
            again = command(data, "palace", "mine", str(root))
            self.assertEqual((again["read"], again["unchanged"]), (0, 4))
            self.assertEqual(again["drawers"], {"added": 0, "kept": first["drawers"]["added"], "removed": 0})
            self.assertEqual(set(sources(data)), {"api/orders.py", "web/page.md", "keep.log", "README"})
            self.assertEqual(whole(data, "web/page.md"), (root / "web/page.md").read_text())

            # One file changes, one is renamed, one goes, one is ignored by now.
            (root / "web/page.md").write_text("# Page\n\nWelcome back.\n\n---\n\n> quoted\n")
            (root / "api/orders.py").rename(root / "api/sales.py")
            (root / "README").unlink()
            (root / ".gitignore").write_text("*.log\nbuild/\n")
            age(root)
            before = ids(data, "api/orders.py")
            third = command(data, "palace", "mine", str(root))
            self.assertEqual([third[key] for key in ("read", "moved", "gone", "ignored")], [2, 1, 1, 1])
            self.assertEqual(ids(data, "api/sales.py"), before)
            self.assertEqual(whole(data, "web/page.md"), (root / "web/page.md").read_text())
            found = command(data, "palace", "sync", str(root))
            self.assertEqual((found["missing"], found["gitignored"], found["removed_drawers"], found["dry_run"]), (1, 1, 0, True))
            total = found["kept"] + found["missing"] + found["gitignored"] + found["no_source"] + found["out_of_scope"]
            self.assertEqual(total, found["scanned"])
            removed = command(data, "palace", "sync", str(root), "--apply")
            self.assertEqual(removed["removed_drawers"], 2)
            self.assertEqual(set(sources(data)), {"api/sales.py", "web/page.md"})

            # The whole project is away, as on a drive that is not mounted: nothing is removed.
            root.rename(root.with_name("elsewhere"))
            refused = run(data, "palace", "sync", "--apply", "--wing", "shop")
            self.assertNotEqual(refused.returncode, 0)
            self.assertEqual(set(sources(data)), {"api/sales.py", "web/page.md"})

    def test_drawers_stay_when_files_move_and_rooms_change(self):
        with data_folder() as data, tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder).resolve() / "shop"
            blank = "\n" * 9_000
            texts = {"api/orders.py": "def place():\n    pass\n" + blank, "web/page.md": "x" * 4_000 + "\n" + " " * 5_000 + "\ny\n"}
            for path, content in texts.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(content)
            age(root)
            first = command(data, "palace", "mine", str(root))
            self.assertEqual({path: whole(data, path) for path in texts}, texts)
            kept = ids(data, "api/orders.py") | ids(data, "web/page.md")
            # Another plan: the same drawers in other rooms.
            (root / ".loci-palace.toml").write_text('wing = "shop"\n[rooms]\nsales = ["api"]\n')
            reread = command(data, "palace", "mine", str(root), "--reread")
            self.assertEqual((reread["read"], reread["drawers"]), (2, {"added": 0, "kept": first["drawers"]["added"], "removed": 0}))
            self.assertEqual(ids(data, "api/orders.py") | ids(data, "web/page.md"), kept)
            self.assertEqual({one["room"] for one in drawers(data)}, {"sales", "general"})
            # The whole folder moves, and no file that is there is taken for one that is gone.
            moved = root.rename(root.with_name("market"))
            command(data, "palace", "trust", str(moved))
            mined = command(data, "palace", "mine", str(moved))
            self.assertEqual((mined["moved"], mined["gone"], mined["drawers"]["added"]), (2, 0, 0))
            self.assertEqual(ids(data, "api/orders.py") | ids(data, "web/page.md"), kept)
            # A copy of what is ignored by now is a file of its own.
            (moved / "copy.py").write_text(texts["api/orders.py"])
            (moved / ".gitignore").write_text("api/\n")
            age(moved)
            mined = command(data, "palace", "mine", str(moved))
            self.assertEqual((mined["moved"], mined["ignored"], mined["gone"]), (0, 1, 0))
            git(moved, "init")
            below = run(data, "palace", "mine", str(moved / "web"), "--dry-run")
            self.assertIn(b".loci-palace.toml were not used", below.stderr)
            ignored = run(data, "palace", "mine", str(moved / "api"), "--dry-run")
            self.assertIn(b"the rules of git exclude", ignored.stderr)

    def test_two_mines_at_once_are_one(self):
        with data_folder() as data, tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder).resolve() / "many"
            root.mkdir()
            for number in range(300):
                (root / f"file{number}.txt").write_text(f"This is the file of the number {number}.\n")
            age(root)
            with concurrent.futures.ThreadPoolExecutor(3) as pool:
                mined = list(pool.map(lambda _: command(data, "palace", "mine", str(root), "--no-wait"), range(3)))
            for report in mined:
                self.assertEqual((report["read"] + report["unchanged"], report["failures"]), (300, 0))
            self.assertEqual(sum(report["drawers"]["added"] for report in mined), 300)
            self.assertEqual(len(drawers(data)), 300)

    def test_the_global_wing_is_that_of_the_tools(self):
        with data_folder() as data, tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder).resolve() / "shop"
            root.mkdir()
            (root / "a.txt").write_text("For everyone.\n")
            age(root)
            for added in (1, 0):
                mined = command(data, "palace", "mine", str(root), "--wing", "global")
                self.assertEqual((mined["wings"], mined["drawers"]["added"]), (["global"], added))
            (root / ".loci-palace.toml").write_text('wing = "global"\n')
            command(data, "palace", "trust", str(root))
            self.assertEqual(command(data, "palace", "mine", str(root))["unchanged"], 1)
            run(data, "add", "Another memory of no project.")
            self.assertEqual({one["wing"] for one in drawers(data)}, {"global"})
            (root / "a.txt").unlink()
            synced = command(data, "palace", "sync", str(root), "--wing", "global", "--apply")
            self.assertEqual(synced["removed_drawers"], 1)

    def test_what_people_changed_stays_until_the_file_changes(self):
        with data_folder() as data, tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder).resolve() / "shop"
            root.mkdir()
            (root / "notes.md").write_text("# One\n\n" + "The first section. " * 80 + "\n\n# Two\n\n" + "The second section. " * 80 + "\n")
            (root / "secret.txt").write_text("The password is swordfish.\n")
            age(root)
            command(data, "palace", "mine", str(root), "--no-wait")
            edited, deleted = sources(data)["notes.md"]

            async def change():
                async with stdio_client(data, "2026-07-28", "--search", "words", dialect="mempalace") as client:
                    await call(client, "update_drawer", drawer_id=edited["drawer_id"], content="Better", room="kept")
                    await call(client, "delete_drawer", drawer_id=deleted["drawer_id"])

            apart(change)
            # Another time, and the same text: as a checkout of another branch and back leaves it.
            os.utime(root / "notes.md")
            again = command(data, "palace", "mine", str(root), "--no-wait")
            self.assertEqual((again["read"], again["unchanged"], again["drawers"]["added"]), (0, 2, 0))
            [drawer] = sources(data)["notes.md"]
            self.assertEqual((drawer["content"], drawer["room"]), ("Better", "kept"))
            # What is no text any more leaves nothing behind.
            (root / "secret.txt").write_text("")
            emptied = command(data, "palace", "mine", str(root), "--no-wait")
            self.assertEqual((emptied["passed_over"], emptied["drawers"]["removed"]), ({"empty": 1}, 1))
            self.assertEqual(set(sources(data)), {"notes.md"})

    def test_a_mine_that_is_killed_goes_on(self):
        with data_folder() as data, tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder).resolve() / "many"
            root.mkdir()
            for number in range(400):
                (root / f"file{number}.txt").write_text(f"The number of this file is {number}, and it says nothing else.\n")
            age(root)
            for _ in range(3):
                environ = {**os.environ, "LOCI_DATA": str(data)}
                process = subprocess.Popen([os.environ["LOCI_BIN"], "palace", "mine", str(root), "--no-wait"], env=environ,
                                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                try:
                    process.wait(timeout=0.15)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
            last = command(data, "palace", "mine", str(root), "--no-wait")
            self.assertEqual(last["read"] + last["unchanged"], 400)
            self.assertEqual(len(drawers(data)), 400)

    def test_wrong_use_is_told(self):
        with data_folder() as data, tempfile.TemporaryDirectory() as folder:
            for arguments, said in [
                (["mine", folder + "/none"], b"none"),
                (["mine", folder, "--wing", "a/b"], b"--wing"),
                (["mine", folder, "--mode", "books"], b"convos"),
                (["mine", __file__], b"--mode convos"),
                (["sync", "relative/none"], b"absolute"),
                (["wake-up", "--tokens", "9"], b"100"),
            ]:
                done = run(data, "palace", *arguments)
                self.assertEqual(done.returncode, 2, arguments)
                self.assertIn(said, done.stderr)


def mine_conversations(data, path, *arguments):
    return command(data, "palace", "mine", str(path), "--mode", "convos", *arguments)


class Exports(unittest.TestCase):
    def export(self, **conversations):
        """As Claude.ai writes it."""
        return json.dumps([
            {"uuid": uuid, "name": f"About {uuid}", "chat_messages": [
                {"sender": "human" if number % 2 == 0 else "assistant", "text": text, "created_at": f"2026-03-01T10:00:{number:02d}Z"}
                for number, text in enumerate(texts)
            ]} for uuid, texts in conversations.items()
        ])

    def test_a_later_export_adds_what_is_new(self):
        with data_folder() as data, tempfile.TemporaryDirectory() as folder:
            exports = pathlib.Path(folder).resolve() / "exports"
            exports.mkdir()
            march, april = exports / "march.json", exports / "april.json"
            march.write_text(self.export(knots=["Which knot?", "A bowline.", "ok"], tea=["Tea?", "Yes."]))
            age(exports)
            dry = mine_conversations(data, exports, "--dry-run")
            first = mine_conversations(data, exports)
            self.assertEqual((dry["drawers"], first["drawers"]["added"], first["wings"]), (first["drawers"], 5, ["exports"]))
            self.assertEqual(mine_conversations(data, exports)["drawers"], {"added": 0, "kept": 5, "removed": 0})
            april.write_text(self.export(knots=["Which knot?", "A bowline.", "ok", "ok"], tea=["Tea?", "Yes."], new=["Hm?", "ok"]))
            mined = mine_conversations(data, april)
            self.assertEqual((mined["wings"], mined["drawers"]), (["exports"], {"added": 3, "kept": 5, "removed": 0}))
            # Renamed, it is the same.
            april.rename(exports / "may.json")
            mined = mine_conversations(data, exports)
            self.assertEqual((mined["moved"], mined["drawers"]["added"]), (1, 0))
            self.assertEqual(len(drawers(data)), 8)
            self.assertEqual({name: len(texts) for name, texts in sources(data).items()}, {"march.json": 5, "may.json": 3})

    def test_a_large_export_that_is_interrupted_is_filed_once(self):
        with data_folder() as data, tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "conversations.json"
            path.write_text(self.export(**{f"c{number}": [f"Question {number}?", "ok", "ok"] for number in range(1_000)}))
            environ = {**os.environ, "LOCI_DATA": str(data)}
            for _ in range(2):
                process = subprocess.Popen([os.environ["LOCI_BIN"], "palace", "mine", str(path), "--mode", "convos", "--wing", "w", "--no-wait"],
                                           env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                try:
                    process.wait(timeout=0.5)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
            last = mine_conversations(data, path, "--wing", "w", "--no-wait")
            self.assertEqual(last["drawers"]["added"] + last["drawers"]["kept"], 3_000)
            self.assertEqual(command(data, "palace", "mine", str(path), "--mode", "convos", "--wing", "w", "--no-wait")["drawers"]["added"], 0)


class Conversations(AsyncTestCase):
    def test_transcripts_are_mined_each_into_the_wing_of_its_work(self):
        with data_folder() as data, tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder).resolve() / "projects"
            root.mkdir()
            # The rules of git are for projects.
            (root / ".gitignore").write_text("*.jsonl\n")
            (root / "none.txt").write_text("Nobody said this.\n")
            shop = json.loads(event("user", "What does the shop sell?", 0))
            (root / "one.jsonl").write_text(event("user", "Why is the checkout slow?", 0) + event("user", "A\0B", 1))
            (root / "two.jsonl").write_text(json.dumps({**shop, "cwd": str(root)}) + "\n")
            hook(data, "stop", root / "one.jsonl", cwd="/")
            mined = mine_conversations(data, root)
            self.assertEqual((mined["wings"], mined["drawers"]["added"]), (["checkout", "projects"], 1))
            self.assertEqual((mined["read"], mined["unchanged"], mined["passed_over"]), (1, 1, {"no_transcript": 1}))
            self.assertEqual({(one["wing"], one["room"]) for one in drawers(data)}, {("checkout", "conversations"), ("projects", "conversations")})
            # In a wing of its own it is filed once more, and what no drawer may hold is told of.
            mined = mine_conversations(data, root / "one.jsonl", "--wing", "apart")
            self.assertEqual((mined["wings"], mined["drawers"]["added"], mined["broken"], mined["repairs"]), (["apart"], 2, 0, 1))
            # Renamed and gone on with.
            (root / "one.jsonl").rename(root / "renamed.jsonl")
            append(root / "renamed.jsonl", event("assistant", "It lacks an index.", 2))
            mined = mine_conversations(data, root)
            self.assertEqual((mined["moved"], mined["drawers"]["added"]), (1, 1))
            self.assertEqual(set(sources(data)), {"renamed.jsonl", "two.jsonl", "one.jsonl"})

    async def test_a_transcript_grows_between_two_runs_and_hooks_save_it_once(self):
        with data_folder() as data, tempfile.TemporaryDirectory() as folder:
            transcript = pathlib.Path(folder) / "session.jsonl"
            said = [("user", "Why is the checkout slow?"), ("assistant", "The `orders` table lacks an index.\n\n---\n> measured"), ("user", "Then add one.")]
            transcript.write_text("".join(event(*one, number) for number, one in enumerate(said)))
            hook(data, "stop", transcript)
            self.assertEqual(len(drawers(data)), 3)
            # At the same time, and once more.
            with concurrent.futures.ThreadPoolExecutor(4) as pool:
                list(pool.map(lambda _: hook(data, "stop", transcript), range(4)))
            append(transcript, event("assistant", "Done: idx_orders_customer.", 3) + event("user", "broken", 4)[:-20])
            with concurrent.futures.ThreadPoolExecutor(4) as pool:
                list(pool.map(lambda _: hook(data, "pre-compact", transcript), range(4)))
            self.assertEqual(len(drawers(data)), 4)
            transcript.write_text(transcript.read_text()[:-len(event("user", "broken", 4)[:-20])] + event("user", "Thanks!", 4))
            mined = command(data, "palace", "mine", str(folder), "--mode", "convos", "--wing", "checkout")
            self.assertEqual(mined["drawers"]["added"], 1)
            self.assertEqual(command(data, "palace", "mine", str(folder), "--mode", "convos", "--wing", "checkout")["drawers"]["added"], 0)

            async with stdio_client(data, "2026-07-28", dialect="mempalace") as client:
                checkpoint = await call(client, "memories_filed_away")
                self.assertEqual((checkpoint["filed"], checkpoint["message_count"]), (True, 1))
                self.assertEqual(checkpoint, await call(client, "memories_filed_away"))
                listed = (await call(client, "list_drawers", wing="checkout"))["drawers"]
                texts = [(await call(client, "get_drawer", drawer_id=one["drawer_id"]))["content"] for one in listed]
                self.assertEqual(texts, [one[1] for one in said] + ["Done: idx_orders_customer.", "Thanks!"])
                found = await call(client, "search", query="which index was made for the orders?")
                self.assertIn("idx_orders_customer", "".join(one["text"] for one in found["results"]))

                # An agent whose host is not to save silently is asked to, but not for ever.
                await call(client, "hook_settings", silent_save=False)
                self.assertEqual(hook(data, "stop", transcript), "")
                append(transcript, "".join(event("user", f"And number {number}?", 10 + number) for number in range(40)))
                asked = json.loads(hook(data, "stop", transcript))
                self.assertEqual(asked["decision"], "block")
                self.assertEqual(hook(data, "stop", transcript, stop_hook_active=True), "")
                self.assertEqual(hook(data, "stop", transcript), "")

    def test_an_agent_is_asked_by_the_messages_of_each_transcript(self):
        with data_folder() as data, tempfile.TemporaryDirectory() as folder:
            call_once(data, "hook_settings", silent_save=False)
            one, other = (pathlib.Path(folder) / name for name in ("one.jsonl", "other.jsonl"))
            messages = "".join(event("user", f"Number {number}?", number) for number in range(59))
            for transcript in (one, other):
                transcript.write_text("".join(messages.splitlines(True)[:30]))
                self.assertIn("decision", hook(data, "stop", transcript))
            # What is asked in one session is not asked again because of the other.
            for transcript in (one, other, one):
                transcript.write_text(messages)
                self.assertEqual(hook(data, "stop", transcript), "")
            # A transcript that is rewritten begins anew, at what it has then.
            other.write_text(event("user", "Something else?", 0))
            self.assertEqual(hook(data, "stop", other), "")
            other.write_text(event("user", "Something else?", 0) + messages.replace("Number", "And"))
            self.assertIn("decision", hook(data, "stop", other))

    def test_the_wing_of_a_session_is_that_of_its_repository(self):
        with data_folder() as data, tempfile.TemporaryDirectory() as folder:
            shop = pathlib.Path(folder).resolve() / "shop"
            (shop / "api" / "orders").mkdir(parents=True)
            git(shop, "init")
            transcript = pathlib.Path(folder) / "session.jsonl"
            line = json.loads(event("user", "Where are the orders?", 0))
            transcript.write_text(json.dumps({**line, "cwd": str(shop / "api")}) + "\n")
            # The session goes on in another folder, whose wing is another one.
            hook(data, "stop", transcript, cwd=str(shop / "api" / "orders"))
            append(transcript, event("assistant", "In the table.", 1))
            hook(data, "stop", transcript, cwd="/")
            self.assertEqual({one["wing"] for one in drawers(data)}, {"shop"})
            mined = command(data, "palace", "mine", str(transcript), "--mode", "convos")
            self.assertEqual(mined["drawers"]["added"], 0)
            (shop / ".loci-palace.toml").write_text('wing = "the shop"\n')
            command(data, "palace", "trust", str(shop))
            run(data, "add", "--project", "the shop", "We decided that the shop opens at nine.")
            woken = json.loads(hook(data, "session-start", None, cwd=str(shop / "api" / "orders")))
            self.assertIn("opens at nine", woken["hookSpecificOutput"]["additionalContext"])

    def test_what_an_agent_reads_at_the_start(self):
        with data_folder() as data, tempfile.TemporaryDirectory() as folder:
            run(data, "add", "--bootstrap", "You are the librarian of the checkout team.")
            for number in range(300):
                run_add(data, number)
            reply = json.loads(hook(data, "session-start", None, cwd=folder))
            context = reply["hookSpecificOutput"]["additionalContext"]
            self.assertIn("librarian", context)
            self.assertLess(len(context), 10_000)
            woken = run(data, "palace", "wake-up", "--wing", "checkout").stdout.decode()
            self.assertIn("decided", woken)
            self.assertLess(len(woken), 10_000)
            compressed = run(data, "palace", "compress", "--wing", "checkout", "--limit", "3")
            self.assertEqual(compressed.returncode, 0, compressed.stderr)
            self.assertTrue(compressed.stdout.startswith(b"checkout|"), compressed.stdout)

    def test_who_interrupts_the_model_is_told_who_goes_on(self):
        with data_folder() as data, tempfile.TemporaryDirectory() as folder:
            for number in range(400):
                (pathlib.Path(folder) / f"{number}.md").write_text(f"# Note {number}\n\n" + f"Boat {number} is blue. " * 20)
            command_line = [LOCI, "palace", "mine", folder]
            with subprocess.Popen(command_line, env=environment(data), stderr=subprocess.PIPE, text=True) as mining:
                try:
                    # All is stored, and the model has begun to read.
                    while True:
                        self.assertIsNone(mining.poll(), "it ended before it was interrupted")
                        stats = run(data, "stats", "--json")
                        store = json.loads(stats.stdout)["store"] if stats.returncode == 0 else {}
                        if store.get("memories") == 400 and store["pending_embeddings"] < 400:
                            break
                    mining.send_signal(signal.SIGINT)
                    said = mining.communicate(timeout=60)[1]
                finally:
                    mining.kill()
            self.assertEqual(mining.returncode, 128 + signal.SIGINT)
            self.assertIn("everything is stored and found by its words", said)
            self.assertIn("`loci serve`", said)

    def test_a_session_stays_where_it_began(self):
        with data_folder() as data, tempfile.TemporaryDirectory() as folder:
            transcript = pathlib.Path(folder) / "session.jsonl"
            append(transcript, event("user", "Where does this go?", 0))
            command(data, "palace", "mine", str(transcript), "--mode", "convos", "--wing", "mine", "--no-wait")
            append(transcript, event("assistant", "Where it began.", 1))
            hook(data, "stop", transcript, cwd=folder)
            command(data, "palace", "mine", str(transcript), "--mode", "convos", "--no-wait")
            self.assertEqual([one["wing"] for one in drawers(data)], ["mine", "mine"])

    def test_a_host_that_says_nonsense_is_no_obstacle(self):
        with data_folder() as data, tempfile.TemporaryDirectory() as folder:
            binary = pathlib.Path(folder) / "binary.jsonl"
            binary.write_bytes(bytes(range(256)) * 40)
            for stdin in [b"", b"{", b"[]", b"\xff\xfe", json.dumps({"transcript_path": folder + "/none.jsonl"}).encode(),
                          json.dumps({"transcript_path": str(binary)}).encode()]:
                done = run(data, "hook", "run", "--host", "claude-code", "--event", "stop", stdin=stdin)
                # 2 would keep the agent from stopping.
                self.assertEqual((done.returncode, done.stdout), (1, b""), stdin)
                self.assertIn(b"error: ", done.stderr)
                if b"none.jsonl" in stdin:
                    self.assertIn(b"transcript", done.stderr)
                    self.assertNotIn(b"give a folder", done.stderr)
            done = run(data, "hook", "run", "--host", "codex", "--event", "stop", stdin=b'{"transcript_path": null}')
            self.assertEqual((done.returncode, done.stdout), (0, b""))

    def test_no_hook_that_fails_stops_the_agent(self):
        with data_folder() as data:
            for arguments, variables in [
                (["--host", "claude-code", "--event", "dinner"], {}),
                (["--host", "abacus", "--event", "stop"], {}),
                (["--host", "claude-code"], {}),
                (["--host", "claude-code", "--event", "stop", "--bogus"], {}),
                (["--host", "claude-code", "--event", "stop", "--search", "no"], {}),
                (["--host", "claude-code", "--event", "stop"], {"LOCI_SEARCH": "no"}),
                (["--host", "claude-code", "--event", "session-start"], {"LOCI_DATA": "/dev/null/data"}),
            ]:
                done = run(data, "hook", "run", *arguments, stdin=b"{}", variables=variables)
                self.assertEqual((done.returncode, done.stdout), (1, b""), arguments)
                self.assertIn(b"error: ", done.stderr)
            # Before the command as well; and what a person calls keeps its codes.
            done = run(data, "--bogus", "hook", "run", "--host", "codex", "--event", "stop", stdin=b"{}")
            self.assertEqual((done.returncode, done.stdout), (1, b""))
            self.assertEqual(run(data, "hook", "install", "--host", "abacus").returncode, 2)
            self.assertEqual(run(data, "hook", "run", "--help").returncode, 0)

    def test_hooks_are_installed_once_and_taken_out(self):
        with data_folder() as data, tempfile.TemporaryDirectory() as home:
            six = ["PostCompact", "PreCompact", "SessionEnd", "SessionStart", "Stop", "UserPromptSubmit"]
            five = ["AfterAgent", "BeforeAgent", "PreCompress", "SessionEnd", "SessionStart"]
            for host, name, events in [
                ("claude-code", ".claude/settings.json", six),
                ("codex", ".codex/hooks.json", six),
                ("gemini-cli", ".gemini/settings.json", five),
            ]:
                file = pathlib.Path(home) / name
                file.parent.mkdir()
                before = {"model": "x", "hooks": {events[0]: [{"hooks": [{"type": "command", "command": "true"}]}]}}
                file.write_text(written := json.dumps(before))
                variables = {"HOME": home, "CLAUDE_CONFIG_DIR": "", "CODEX_HOME": ""}
                first = run(data, "hook", "install", "--host", host, "--json", variables=variables)
                self.assertTrue(json.loads(first.stdout)["changed"])
                self.assertEqual(b"trusted" in first.stderr, host == "codex", first.stderr)
                installed = json.loads(file.read_text())
                self.assertFalse(command(data, "hook", "install", "--host", host, variables=variables)["changed"])
                self.assertEqual(sorted(installed["hooks"]), events)
                entry = installed["hooks"]["SessionStart"][0]["hooks"][0]
                without_shell = [entry["command"], *entry.get("args", [])]
                words = without_shell if host == "claude-code" else ["sh", "-c", entry["command"]]
                # Exactly as the host runs it, with nothing of this test's environment.
                environ = {"PATH": os.environ["PATH"], "HOME": home}
                done = subprocess.run(words, input=b'{"cwd": "/"}', env=environ, capture_output=True, timeout=60)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("additionalContext", json.loads(done.stdout)["hookSpecificOutput"])
                command(data, "hook", "uninstall", "--host", host, variables=variables)
                self.assertEqual(file.read_text(), written)
                self.assertEqual(list(file.parent.iterdir()), [file], "no backup stays behind")


def run_add(data, number):
    done = run(data, "add", "--project", "checkout", f"We decided number {number}: the checkout shows {number} articles.")
    assert done.returncode == 0, done.stderr


def event(role, words, number):
    """A line as Claude Code writes it."""
    content = words if role == "user" else [{"type": "text", "text": words}]
    line = {
        "type": role, "uuid": f"u{number}", "parentUuid": f"u{number - 1}" if number else None, "sessionId": "s1",
        "cwd": "/srv/checkout", "timestamp": f"2026-03-01T10:00:{number:02d}.000Z", "isSidechain": False,
        "message": {"role": role, "content": content},
    }
    return json.dumps(line) + "\n"


def append(path, lines):
    with path.open("a") as file:
        file.write(lines)


def hook(data, name, transcript, cwd="/srv/checkout", **more):
    said = {"session_id": "s1", "cwd": cwd, "hook_event_name": name, "transcript_path": transcript and str(transcript), **more}
    done = run(data, "hook", "run", "--host", "claude-code", "--event", name, stdin=json.dumps(said).encode())
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().strip()


def age(root):
    """Makes everything in a folder so old that its time tells every later change."""
    for path in root.rglob("*"):
        moment = path.stat().st_mtime - 100
        os.utime(path, (moment, moment))


def call_once(data, tool, **arguments):
    """A call of a tool by a client of its own."""

    async def called():
        async with stdio_client(data, "2026-07-28", "--search", "words", dialect="mempalace") as client:
            return await call(client, tool, **arguments)

    return apart(called)


def drawers(data):
    """All drawers as the tools list them, in the order of filing."""

    async def listed():
        found = []
        async with stdio_client(data, "2026-07-28", "--search", "words", dialect="mempalace") as client:
            while True:
                page = await call(client, "list_drawers", limit=100, offset=len(found))
                found += page["drawers"]
                if len(found) >= page["total"]:
                    return found

    return apart(listed)


def sources(data):
    """The texts of all drawers, whole, by the paths of the files that they come from."""

    async def read():
        texts = {}
        async with stdio_client(data, "2026-07-28", "--search", "words", dialect="mempalace") as client:
            for one in (await call(client, "list_drawers", limit=100))["drawers"]:
                drawer = await call(client, "get_drawer", drawer_id=one["drawer_id"])
                texts.setdefault(drawer["metadata"]["source_file"], []).append(drawer)
        return texts

    return apart(read)


def apart(work):
    """Runs asynchronous work to its end, beside whatever loop there may be."""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(work())).result()


def ids(data, name):
    return {drawer["drawer_id"] for drawer in sources(data)[name]}


def whole(data, name):
    return "".join(drawer["content"] for drawer in sources(data)[name])


if __name__ == "__main__":
    unittest.main()

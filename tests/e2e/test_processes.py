"""Many processes on one data folder: agents of every dialect over stdio, servers, commands."""

import asyncio
import collections
import contextlib
import fcntl
import hashlib
import json
import signal
import sqlite3
import struct
import subprocess
import termios
import threading
import time
import unittest
import urllib.request

from support import LOCI, AsyncTestCase, Server, configuration, data_folder, environment, run, service, stdio_client, value

DIALECTS = ["vault", "mememory", "memory-mcp", "engram", "mempalace"]
PATIENCE_SECONDS = 60
# More than a process works on at a time.
WAITING_WRITERS = 160
# The palace's name of what the others call no project.
WING = "harbour"


def write(dialect, text):
    """The call by which an agent of that dialect files a durable memory."""
    return {
        "vault": ("memory_append", {"title": text, "body": text}),
        "mememory": ("remember", {"content": text, "project": WING}),
        "memory-mcp": ("store_decision", {"user_id": "local", "key": text, "value": text}),
        "engram": ("store_memory", {"content": text, "scope": WING, "source": "user-said", "category": "decision"}),
        "mempalace": ("mempalace_add_drawer", {"wing": WING, "room": "cranes", "content": text}),
    }[dialect]


def search(dialect, query, wing):
    return {
        "vault": ("memory_search", {"query": query, "top_k": 3}),
        "mememory": ("recall", {"query": query, "limit": 3, **({} if wing == "global" else {"project": wing})}),
        "memory-mcp": ("recall_memory", {"user_id": "local", "query": query, "limit": 3}),
        "engram": ("search_memory", {"query": query, "scope": wing, "k": 3}),
        "mempalace": ("mempalace_search", {"query": query, "limit": 3}),
    }[dialect]


async def call(client, tool, arguments):
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, (tool, arguments, result.content[0].text)
    return value(result)


@contextlib.asynccontextmanager
async def agents(data, dialects, **options):
    failure = None
    async with contextlib.AsyncExitStack() as stack:
        made = [(name, await stack.enter_async_context(stdio_client(data, "auto", dialect=name, **options))) for name in dialects]
        try:
            yield made
        except Exception as error:
            # Raised further out: each client would wrap it in groups until nobody can read it.
            failure = error
    if failure:
        raise failure


def eventually(condition, what, seconds=PATIENCE_SECONDS):
    deadline = time.monotonic() + seconds
    while not (outcome := condition()):
        assert time.monotonic() < deadline, what
        time.sleep(0.05)
    return outcome


def stats(data):
    return json.loads(run(data, "stats", "--json").stdout)["store"]


class Model:
    """An embedding endpoint that counts how often each text was read, and can be told to wait."""

    def __init__(self):
        self.read = collections.Counter()
        self.may_go_on = threading.Event()
        self.may_go_on.set()
        # So many texts are read before it waits.
        self.pause_after = None
        self.is_paused = threading.Event()

    def answer(self, path, headers, body):
        texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
        if self.pause_after is not None and len(self.read) >= self.pause_after:
            self.is_paused.set()
            self.may_go_on.wait(PATIENCE_SECONDS)
        self.read.update(texts)
        vector = lambda text: [byte - 127.5 for byte in hashlib.sha256(text.encode()).digest()]
        return 200, {"data": [{"index": number, "embedding": vector(text)} for number, text in enumerate(texts)]}


class Processes(AsyncTestCase):
    async def test_each_sees_what_the_others_wrote_in_its_next_call(self):
        with data_folder() as data, Server(data) as server:
            async with agents(data, DIALECTS) as local, server.client("auto", dialect="mempalace") as remote:
                everyone = [*local, ("mempalace", remote)]
                # The second round meets processes whose indexes are loaded and follow the changes.
                for turn in ["first", "second"]:
                    for number, (dialect, client) in enumerate(everyone):
                        if dialect == "memory-mcp":
                            continue
                        text = f"The {turn} marker of writer {number} is called zq{turn}{number}"
                        await call(client, *write(dialect, text))
                        # A note belongs to no project unless its frontmatter says so.
                        wing = "global" if dialect == "vault" else WING
                        for other, (name, reader) in enumerate(everyone):
                            found = json.dumps(await call(reader, *search(name, f"zq{turn}{number}", wing)))
                            self.assertIn(text, found, f"{name} ({other}) after {dialect} ({number})")
                # What stays in its dialect is seen by the other processes of it.
                async with stdio_client(data, "auto", dialect="memory-mcp") as second:
                    for writer, reader, key in [(local[2][1], second, "one"), (second, local[2][1], "two")]:
                        await call(writer, *write("memory-mcp", key))
                        kept = await call(reader, "recall_decision", {"user_id": "local", "key": key})
                        self.assertEqual(kept["decision"]["value"], key)

    async def test_no_lock_reaches_a_caller(self):
        with data_folder() as data, Server(data, variables={"LOCI_SEARCH": "words"}) as server:
            lines = "".join(json.dumps({"content": f"Imported line number {number}"}) + "\n" for number in range(5_000))
            async with agents(data, DIALECTS, variables={"LOCI_SEARCH": "words"}) as local:
                async with server.client("auto", dialect="engram") as remote:
                    everyone = [*local, ("engram", remote)]
                    importing = asyncio.to_thread(run, data, "import", "-", "--no-wait", stdin=lines.encode())
                    writes = [
                        call(client, *write(dialect, f"Write {turn} of writer {number}"))
                        for turn in range(40)
                        for number, (dialect, client) in enumerate(everyone)
                    ]
                    done, *replies = await asyncio.gather(importing, *writes)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(len(replies), 240)
            # Decisions are no memories.
            self.assertEqual(stats(data)["memories"], 5_000 + 40 * 5)
            self.assertEqual(run(data, "doctor").returncode, 0)

    def test_texts_are_embedded_once_by_all_processes_together_and_go_on_when_one_dies(self):
        texts = [f"The crane number {number} lifts {number * 7} tons" for number in range(120)]
        model = Model()
        with data_folder() as data, service(model.answer) as url, contextlib.ExitStack() as stack:
            configuration(data).write_text(
                f'maintenance_seconds = 1\n[embedding]\nprovider = "http"\nurl = "{url}/v1"\nmodel = "counting"\n'
            )
            lines = "".join(json.dumps({"content": text}) + "\n" for text in texts)
            self.assertEqual(run(data, "import", "-", "--no-wait", stdin=lines.encode()).returncode, 0)
            self.assertEqual(sum(model.read.values()), 0)
            model.may_go_on.clear()
            model.pause_after = 20
            doomed = stack.enter_context(Server(data))
            self.assertTrue(model.is_paused.wait(PATIENCE_SECONDS))
            # The others come while that one holds the lease, and find nothing to do.
            others = [stack.enter_context(Server(data)) for _ in range(3)]
            doomed.process.send_signal(signal.SIGKILL)
            doomed.process.wait(timeout=60)
            model.pause_after = None
            model.may_go_on.set()
            self.assertGreater(stats(data)["pending_embeddings"], 0)
            # The lease of the dead runs out; the test cannot wait for its two minutes.
            with contextlib.closing(sqlite3.connect(data / "loci.db", timeout=60)) as connection, connection:
                self.assertGreater(connection.execute("UPDATE lease SET until = 0").rowcount, 0)
            eventually(lambda: stats(data)["pending_embeddings"] == 0, "the others did not go on")
            # What the dead process had been given and not stored yet is read again, nothing else.
            again = [text for text in texts if model.read[text] > 1]
            self.assertLessEqual(set(texts), set(model.read))
            self.assertLessEqual(max(model.read[text] for text in texts), 2)
            self.assertLessEqual(len(again), 64, "more than one step of work was lost")
            for server in others:
                self.assertEqual(server.stop(), 0)

    def test_leases_are_given_back_at_every_signal(self):
        for number in [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]:
            for command in [["import", "-"], ["serve", "--bind", "127.0.0.1:0"]]:
                with self.subTest(number=number, command=command):
                    self.gives_leases_back(command, number)

    def test_leases_are_given_back_though_the_host_reads_no_replies(self):
        client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "silent", "version": "1"}}
        for unread in [12, 60]:
            messages = [
                {"id": 0, "method": "initialize", "params": client},
                {"method": "notifications/initialized"},
                *({"id": number, "method": "tools/list"} for number in range(1, unread + 1)),
            ]
            with self.subTest(unread=unread):
                self.gives_leases_back(["mcp", "mememory"], signal.SIGTERM, messages)

    def gives_leases_back(self, command, number, messages=None):
        """An end has less than two seconds, also on a machine that does much else, and what is cut off before it gave its
        leases back is no fault: they run out. Who never gives them back is found with them each of three times."""
        held = []
        for _ in range(3):
            held.append(self.held_after(command, number, messages))
            if not held[-1]:
                return
        self.fail(f"leases are held after each end: {held}")

    def held_after(self, command, number, messages):
        """The leases that a process leaves which embeds when the signal comes, beside replies that nobody reads."""
        model = Model()
        line = json.dumps({"content": "The crane lifts seven tons"}).encode()
        with data_folder() as data, service(model.answer) as url:
            configuration(data).write_text(f'[embedding]\nprovider = "http"\nurl = "{url}/v1"\nmodel = "counting"\n')
            self.assertEqual(run(data, "import", "-", "--no-wait", stdin=line).returncode, 0)
            model.pause_after = 0
            model.may_go_on.clear()
            replies = subprocess.DEVNULL if messages is None else subprocess.PIPE
            pipes = {"stdin": subprocess.PIPE, "stdout": replies, "stderr": subprocess.DEVNULL}
            with subprocess.Popen([LOCI, *command], env=environment(data), **pipes) as process:
                if messages is None:
                    process.stdin.close()
                else:
                    for message in messages:
                        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
                    process.stdin.flush()
                self.assertTrue(model.is_paused.wait(PATIENCE_SECONDS))
                if messages is not None:
                    waiting = lambda: struct.unpack("i", fcntl.ioctl(process.stdout, termios.FIONREAD, b"    "))[0]
                    eventually(lambda: waiting() > 48 << 10, "the replies did not fill the pipe")
                process.send_signal(number)
                # By itself, or by the signal where that takes too long.
                self.assertIn(process.wait(timeout=60), (0, 128 + number))
            model.may_go_on.set()
            with contextlib.closing(sqlite3.connect(data / "loci.db", timeout=60)) as connection:
                now = time.time() * 1_000_000
                return connection.execute("SELECT name FROM lease WHERE until > ?", (now,)).fetchall()

    async def test_what_expires_is_removed_by_whoever_is_left(self):
        variables = {"LOCI_SEARCH": "words", "LOCI_MAINTENANCE_SECONDS": "1"}
        # Who is killed, and whether it leaves a lease of a clock that ran eight hours ahead.
        for doomed, ahead in [(0, False), (1, False), (0, True)]:
            with self.subTest(doomed=doomed, ahead=ahead), data_folder() as data, contextlib.ExitStack() as stack:
                servers = [stack.enter_context(Server(data, variables=variables)) for _ in range(2)]
                async with servers[doomed].client("auto") as client:
                    await call(client, "remember", {"content": "The crane is down", "ttl": "2s"})
                    await call(client, "remember", {"content": "The crane is up"})
                servers[doomed].process.send_signal(signal.SIGKILL)
                servers[doomed].process.wait(timeout=60)
                if ahead:
                    until = int((time.time() + 8 * 3600) * 1_000_000)
                    with contextlib.closing(sqlite3.connect(data / "loci.db", timeout=60)) as connection, connection:
                        connection.execute("INSERT OR REPLACE INTO lease VALUES ('sweep', 'somebody who is gone', ?)", (until,))
                eventually(lambda: stats(data)["memories"] == 1, "nobody removed what had expired")
                self.assertEqual(run(data, "doctor").returncode, 0)
                self.assertEqual(servers[1 - doomed].stop(), 0)

    def test_reads_are_answered_while_more_writers_than_slots_wait_for_a_lock(self):
        with data_folder() as data, Server(data, "--no-auth") as server:

            def ask(tool, arguments):
                message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
                headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
                request = urllib.request.Request(f"{server.url}/mcp/mememory", json.dumps(message).encode(), headers)
                with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as reply:
                    return json.load(reply)["result"]

            ask("remember", {"content": "The harbour opens at six"})
            answered = []
            with contextlib.closing(sqlite3.connect(data / "loci.db", isolation_level=None, timeout=60)) as holder:
                holder.execute("BEGIN IMMEDIATE")
                texts = [f"Ship {number} is in" for number in range(WAITING_WRITERS)]
                writers = [
                    threading.Thread(target=lambda text=text: answered.append(ask("remember", {"content": text})))
                    for text in texts
                ]
                for writer in writers:
                    writer.start()
                for read, arguments in [("recall", {"query": "harbour"}), ("list", {}), ("stats", {})] * 5:
                    self.assertFalse(ask(read, arguments)["isError"], read)
                    self.assertEqual(answered, [], f"{read} waited for writers")
                holder.execute("ROLLBACK")
            for writer in writers:
                writer.join()
            self.assertEqual(sum(not reply["isError"] for reply in answered), WAITING_WRITERS)

    async def test_each_message_is_judged_once_by_all_processes_together(self):
        judged = collections.Counter()

        def model(path, headers, body):
            judged[body["messages"][-1]["content"]] += 1
            verdict = {"importance": 0.9, "summary": "Judged.", "memory_type": "fact"}
            return 200, {"choices": [{"message": {"role": "assistant", "content": json.dumps(verdict)}}]}

        with data_folder() as data, service(model) as url, contextlib.ExitStack() as stack:
            configuration(data).write_text(
                f'search = "words"\nmaintenance_seconds = 1\n[llm]\nurl = "{url}/v1"\nmodel = "judge"\n'
            )
            servers = [stack.enter_context(Server(data)) for _ in range(4)]
            async with servers[0].client("auto", dialect="memory-mcp") as client:
                messages = [{"role": "human", "content": f"The boat with the number {number} is mine for good"} for number in range(60)]
                await call(client, "store_memory", {"user_id": "local", "conversation_id": "c", "messages": messages})
                for _ in range(PATIENCE_SECONDS * 20):
                    health = await call(client, "memory_health", {"user_id": "local"})
                    if health["enrichment_stats"]["completed"] == 60:
                        break
                    await asyncio.sleep(0.05)
                self.assertEqual(health["enrichment_stats"]["completed"], 60, health)
            self.assertEqual(sum(judged.values()), 60, judged.most_common(3))

    async def test_a_change_of_the_embedding_model_leaves_no_gap(self):
        # Of one meaning, without a shared word; each model has its own way to put it.
        meanings = [["vessel", "boat"], ["hound", "dog"], ["physician", "doctor"], ["automobile", "car"]]
        asked = collections.Counter()
        may_go_on = threading.Event()

        def model(path, headers, body):
            texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
            name = body["model"]
            asked[name] += len(texts)
            # The new model reads what it finds, but slowly.
            if name == "new" and asked[name] > 8:
                may_go_on.wait(PATIENCE_SECONDS)
            vectors = []
            for text in texts:
                which = [any(word in text for word in words) for words in meanings]
                axes = which if name == "old" else which[::-1]
                vectors.append([0.1, *map(float, axes), *([0.0] if name == "old" else [0.0, 0.0, 0.2])])
            return 200, {"data": [{"index": number, "embedding": vector} for number, vector in enumerate(vectors)]}

        async def found_by_meaning(client):
            for query, said in meanings:
                result = await client.call_tool("recall", {"query": query, "limit": 1})
                self.assertIsNone((result.meta or {}).get("loci/notice"), query)
                self.assertIn(said, value(result)[0]["memory"]["content"], query)

        with data_folder() as data, service(model) as url:

            def configure(name):
                configuration(data).write_text(
                    f'maintenance_seconds = 1\n[embedding]\nprovider = "http"\nurl = "{url}/v1"\nmodel = "{name}"\n'
                )

            configure("old")
            texts = [f"My {words[1]} has the number {number}" for number in range(25) for words in meanings]
            lines = "".join(json.dumps({"content": text}) + "\n" for text in texts)
            self.assertEqual(run(data, "import", "-", stdin=lines.encode()).returncode, 0)
            async with stdio_client(data, "auto") as client:
                await found_by_meaning(client)
            configure("new")
            with Server(data) as server:
                async with server.client("auto") as client:
                    eventually(lambda: asked["new"] > 8, "the new model is not asked")
                    self.assertGreater(stats(data)["pending_embeddings"], 0)
                    await found_by_meaning(client)
                    written = await client.call_tool("remember", {"content": "Our tabby is called Tom, a boat cat"})
                    warnings = [warning["kind"] for warning in value(written).get("warnings", [])]
                    self.assertNotIn("embedding_pending", warnings)
                    await found_by_meaning(client)
                    may_go_on.set()
                    eventually(lambda: stats(data)["pending_embeddings"] == 0, "the new model did not read all")
                    await found_by_meaning(client)
                    eventually(lambda: len(stats(data)["models"]["others"]) == 0, "the old vectors stay")
                    before = asked["old"]
                    await found_by_meaning(client)
                    self.assertEqual(asked["old"], before, "a question went to the old model")
            self.assertEqual(run(data, "doctor").returncode, 0)

    async def test_no_file_is_written_and_no_watch_kept_by_who_cannot_index(self):
        with data_folder() as data:
            async with agents(data, ["vault", "mempalace"]) as ((_, vault), _):
                await call(vault, *write("vault", "Written before"))
                watched = lambda: json.loads(run(data, "vault", "status", "--json").stdout)["watched"]
                eventually(watched, "nobody watches")
                with contextlib.closing(sqlite3.connect(data / "loci.db", timeout=60)) as connection:
                    (known,) = connection.execute("PRAGMA user_version").fetchone()
                    connection.execute(f"PRAGMA user_version = {known + 1}")
                    for _ in range(2):
                        refused = await vault.call_tool(*write("vault", "Written after"))
                        self.assertIn("newer loci", refused.content[0].text)
                    self.assertEqual([file.name for file in (data / "vault").iterdir()], ["written-before.md"])
                    (data / "vault" / "by-hand.md").write_text("quokka")

                    def is_free():
                        with open(data / "vault-watch.lock") as lock:
                            try:
                                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
                            except BlockingIOError:
                                return False
                            return True

                    eventually(is_free, "the older processes keep the lock")
                    connection.execute(f"PRAGMA user_version = {known}")

    async def test_notes_are_current_while_the_process_that_watches_is_stopped(self):
        variables = {"LOCI_SEARCH": "words", "LOCI_MAINTENANCE_SECONDS": "3600"}
        with data_folder() as data, contextlib.ExitStack() as stack:
            note = data / "vault" / "note.md"
            note.parent.mkdir(parents=True)
            note.write_text("the quokka sleeps")
            watching, other = (stack.enter_context(Server(data, variables=variables)) for _ in range(2))
            async with other.client("auto") as client:

                async def is_found(word, expected=True):
                    deadline = time.monotonic() + PATIENCE_SECONDS
                    while (word in json.dumps(await call(client, "recall", {"query": word}))) != expected:
                        self.assertLess(time.monotonic(), deadline, f"{word} {expected}")
                        await asyncio.sleep(0.05)

                await is_found("quokka")
                watching.process.send_signal(signal.SIGSTOP)
                try:
                    note.write_text("the wombat sleeps")
                    await is_found("wombat")
                    note.unlink()
                    await is_found("wombat", False)
                    # Commands do not rely on it either, whether others serve or not.
                    note.write_text("the bilby sleeps")
                    self.assertIn(b"bilby", run(data, "search", "bilby", variables=variables).stdout)
                finally:
                    watching.process.send_signal(signal.SIGCONT)
                note.write_text("the numbat sleeps")
                await is_found("numbat")
            for server in [watching, other]:
                self.assertEqual(server.stop(), 0)

    def test_an_older_process_refuses_what_a_newer_one_upgraded(self):
        info = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        with data_folder() as data:
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
            with subprocess.Popen([LOCI, "mcp", "mememory"], env=environment(data), **pipes) as process:

                def ask(number, method, params):
                    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
                    process.stdin.write(json.dumps(message) + "\n")
                    process.stdin.flush()
                    return json.loads(process.stdout.readline())["result"]

                def tool(number, name, arguments):
                    return ask(number, "tools/call", {"name": name, "arguments": arguments})

                ask(0, "initialize", info)
                kept = tool(1, "remember", {"content": "The anchor is down"})["structuredContent"]
                self.assertEqual(tool(2, "recall", {"query": "anchor"})["isError"], False)
                with contextlib.closing(sqlite3.connect(data / "loci.db", timeout=60)) as connection:
                    (known,) = connection.execute("PRAGMA user_version").fetchone()
                    connection.execute(f"PRAGMA user_version = {known + 1}")
                writes = [("remember", {"content": "The anchor is up"}), ("update", {"id": kept["id"], "content": "It is up"}), ("forget", {"id": kept["id"]})]
                # What it would read may mean something else by now.
                reads = [("recall", {"query": "anchor"}), ("list", {}), ("stats", {})]
                for number, (name, arguments) in enumerate([*writes, *reads], 3):
                    refused = tool(number, name, arguments)
                    self.assertTrue(refused["isError"], name)
                    self.assertIn("newer loci", refused["content"][0]["text"], name)
                process.stdin.close()
                self.assertEqual(process.wait(timeout=60), 0)
            for command in [["list"], ["stats"], ["mcp", "engram"], ["serve", "--bind", "127.0.0.1:0"]]:
                done = run(data, *command, stdin=b"")
                self.assertEqual(done.returncode, 5, command)
                self.assertIn("newer", done.stderr.decode(), command)
            # Nothing was touched: the newer one finds all as it left it.
            with contextlib.closing(sqlite3.connect(data / "loci.db", timeout=60)) as connection:
                self.assertEqual(connection.execute("PRAGMA user_version").fetchone(), (known + 1,))
                connection.execute(f"PRAGMA user_version = {known}")
            listed = json.loads(run(data, "list", "--json").stdout)["memories"]
            self.assertEqual([one["content"] for one in listed], ["The anchor is down"])
            self.assertEqual(run(data, "doctor").returncode, 0)


if __name__ == "__main__":
    unittest.main()

"""Five clients of five dialects on one server at once: one memory, seen by each in its own terms in its next call."""

import asyncio
import contextlib
import json
import time
import unittest

from support import AsyncTestCase, Server, data_folder, run, value

ERA = "2026-07-28"
# Far beyond the two seconds that a change by hand may take, since the machines of tests may be busy.
PATIENCE_SECONDS = 60
# For each writer: what it writes, words of it, and a question that shares no word with it.
TEXTS = {
    "vault": ("Our bread dough has to rest for eighteen hours", "bread dough", "how long must a yeast mixture ferment?"),
    "mememory": ("The physician recommends swimming twice weekly", "physician swimming", "which exercise did a doctor advise?"),
    "memory-mcp": ("I always prefer taking the train to flying by aeroplane", "prefer train", "favourite means of transport for travel"),
    "engram": ("The database password is rotated every ninety days", "password rotated", "how often are credentials replaced?"),
    "mempalace": ("The violin was repaired by a luthier in Cremona", "violin luthier", "who fixed my musical instrument?"),
}
# What everyone in the space may read, whoever wrote it.
COMMON = ("vault", "mememory", "mempalace")
# Each to be done by the dialect after it, so that everyone is asked about everyone's.
NEXT = dict(zip(TEXTS, [*list(TEXTS)[1:], next(iter(TEXTS))]))


class View:
    """A client of one dialect, whose tools are called by what they are for. All that it writes is global."""

    def __init__(self, dialect, user, client):
        self.dialect, self.user, self.client = dialect, user, client

    async def call(self, tool, **arguments):
        result = await self.client.call_tool(tool, arguments)
        assert not result.is_error, (self.dialect, tool, result.content[0].text)
        return value(result)

    async def write(self, text):
        """The id of what was written, as this dialect shows it to its writer."""
        match self.dialect:
            case "vault":
                return (await self.call("memory_append", title=" ".join(text.split()[:3]), body=text))["id"]
            case "mememory":
                return (await self.call("remember", content=text))["id"]
            case "memory-mcp":
                messages = [{"role": "human", "content": text}]
                await self.call("store_memory", user_id=self.user, conversation_id="global", messages=messages)
                # What is made of a message has an id of its own.
                [id] = [id for id, found in (await self.search(text, limit=100)).items() if found == text]
                return id
            case "engram":
                said = {"scope": "global", "source": "user-said", "category": "decision"}
                return (await self.call("store_memory", content=text, **said))["id"]
            case "mempalace":
                return (await self.call("mempalace_add_drawer", wing="global", room="notes", content=text))["drawer_id"]

    async def search(self, query, limit=2):
        """The texts that fit best, by their ids; of conversations, what is kept for good."""
        match self.dialect:
            case "vault":
                found = (await self.call("memory_search", query=query, top_k=limit))["results"]
                return {one["id"]: one["body"] for one in found}
            case "mememory":
                found = await self.call("recall", query=query, limit=limit)
                return {one["memory"]["id"]: one["memory"]["content"] for one in found}
            case "memory-mcp":
                asked = {"user_id": self.user, "query": query, "limit": limit, "tier": ["ltm"]}
                found = (await self.call("hybrid_search", **asked))["results"]
                return {one["_id"]: one["content"] for one in found}
            case "engram":
                found = (await self.call("search_memory", query=query, scope="global", k=limit))["memories"]
                return {one["id"]: one["content"] for one in found}
            case "mempalace":
                found = (await self.call("mempalace_search", query=query, limit=limit))["results"]
                return {one["drawer_id"]: one["text"] for one in found}

    async def forget(self, id):
        tool, arguments = {
            "vault": ("memory_forget", {"id": id}),
            "mememory": ("forget", {"id": id}),
            "memory-mcp": ("delete_memory", {"user_id": self.user, "memory_id": id}),
            "engram": ("delete_memory", {"id": id}),
            "mempalace": ("mempalace_delete_drawer", {"drawer_id": id}),
        }[self.dialect]
        return await self.call(tool, **arguments)


def token(data, subject, scopes):
    made = run(data, "token", "create", "--subject", subject, "--scopes", scopes, "--json")
    return json.loads(made.stdout)["token"]


@contextlib.asynccontextmanager
async def views(server, subject, user=None, scopes="read,write"):
    """Five clients, one of each dialect, of a subject, which acts for a user where a dialect asks for whom."""
    secret = token(server.data, subject, scopes)
    failure = None
    async with contextlib.AsyncExitStack() as stack:
        clients = [stack.enter_async_context(server.client(ERA, token=secret, dialect=dialect)) for dialect in TEXTS]
        made = [View(dialect, user or subject, await client) for dialect, client in zip(TEXTS, clients)]
        # The SDK would bury it in the groups of its tasks.
        try:
            yield dict(zip(TEXTS, made))
        except Exception as raised:
            failure = raised
    if failure:
        raise failure


async def until(view, query, condition):
    """Searches until the results are as a change by hand makes them."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition(found := await view.search(query, limit=5)):
        if time.monotonic() > deadline:
            raise AssertionError(f"{view.dialect}: {query}: still {found}")
        await asyncio.sleep(0.05)


class Views(AsyncTestCase):
    async def test_each_sees_what_the_others_wrote_in_its_next_call(self):
        with data_folder() as data, Server(data) as server:
            async with views(server, "ann") as mine:
                ids = {}
                for writer, (text, words, question) in TEXTS.items():
                    ids[writer] = await mine[writer].write(text)
                    for reader in mine.values():
                        for query in (words, question):
                            found = await reader.search(query)
                            self.assertEqual(found.get(ids[writer]), text, (writer, reader.dialect, query, found))

                # Changed by another one: seen by all, and of the note, in its file.
                changed = {
                    "vault": ("mememory", "update", {"id": ids["vault"], "content": "Our bread dough rests a day"}),
                    "engram": ("mememory", "update", {"id": ids["engram"], "content": "The password is never rotated"}),
                    "memory-mcp": ("engram", "update_memory", {"id": ids["memory-mcp"], "content": "I prefer the night train"}),
                    "mememory": ("mempalace", "mempalace_update_drawer", {"drawer_id": ids["mememory"], "content": "The physician forbids swimming"}),
                    "mempalace": ("engram", "update_memory", {"id": ids["mempalace"], "content": "The violin luthier sent a bill"}),
                }
                for writer, (dialect, tool, arguments) in changed.items():
                    await mine[dialect].call(tool, **arguments)
                    for reader in mine.values():
                        found = await reader.search(arguments["content"])
                        self.assertEqual(found.get(ids[writer]), arguments["content"], (writer, reader.dialect, found))
                [note] = (data / "vault").iterdir()
                self.assertTrue(note.read_text().endswith("---\nOur bread dough rests a day\n"), note.read_text())

                # Forgotten by the next one: gone for all, and the note's file says so.
                for writer, id in ids.items():
                    await mine[NEXT[writer]].forget(id)
                    for reader in mine.values():
                        self.assertNotIn(id, await reader.search(changed[writer][2]["content"], limit=5))
                self.assertIn("status: deleted\n", note.read_text())
                self.assertTrue(note.read_text().endswith("---\nOur bread dough rests a day\n"), note.read_text())
                self.assertEqual((await mine["mememory"].call("stats"))["total"], 0)

    async def test_all_write_and_read_at_once_while_a_person_edits_the_notes(self):
        rounds = 8
        with data_folder() as data, Server(data) as server:
            async with views(server, "ann") as mine:
                vault = data / "vault"
                edited = await mine["vault"].call("memory_append", title="Diary of Ann", body="The first line")

                async def work(writer):
                    reader = mine[NEXT[writer]]
                    for number in range(rounds):
                        text = f"The report of {writer} with number n{number} speaks of weather and tides"
                        id = await mine[writer].write(text)
                        found = await reader.search(f"report of {writer} number n{number}", limit=100)
                        self.assertEqual(found.get(id), text, (writer, reader.dialect))
                        reader = mine[NEXT[reader.dialect]]
                    return writer

                async def edit():
                    for number in range(rounds):
                        (vault / f"By hand {number}.md").write_text(f"A heron numbered h{number} stands on the jetty\n")
                        with open(vault / "diary-of-ann.md", "a") as diary:
                            diary.write(f"An otter numbered o{number} swims by\n")
                        for dialect in ("vault", "mempalace"):
                            seen = lambda found: any(f"h{number} " in text for text in found.values())
                            await until(mine[dialect], f"heron numbered h{number}", seen)
                            seen = lambda found: f"o{number} " in found.get(edited["id"], "")
                            await until(mine[dialect], f"otter numbered o{number}", seen)

                await asyncio.gather(edit(), *(work(writer) for writer in TEXTS))

                # Every one counts the same, and none is there twice.
                written = len(TEXTS) * rounds + rounds + 1
                stats, status = await mine["mememory"].call("stats"), await mine["mempalace"].call("mempalace_status")
                self.assertEqual((stats["total"], status["total_drawers"]), (written, written))
                drawers = (await mine["mempalace"].call("mempalace_list_drawers", limit=100))["drawers"]
                listed = await mine["mememory"].call("list", limit=1000)
                shown = (await mine["engram"].call("list_memory", scope="global", limit=100))["memories"]
                ids = {one["id"] for one in listed}
                self.assertEqual(len(ids), written)
                self.assertEqual(({one["drawer_id"] for one in drawers}, {one["id"] for one in shown}), (ids, ids))
                self.assertEqual(len(list(vault.iterdir())), 2 * rounds + 1)

    async def test_two_subjects_see_what_is_common_and_nothing_else_of_each_other(self):
        with data_folder() as data, Server(data) as server:
            async with (
                views(server, "ann") as anns,
                views(server, "bob") as bobs,
                views(server, "root", user="ann", scopes="admin") as admins,
            ):

                async def write(views, name):
                    """Each client of somebody writes, all at the same time."""
                    texts = {writer: f"{text}, says {name}" for writer, (text, _, _) in TEXTS.items()}
                    ids = await asyncio.gather(*(views[writer].write(texts[writer]) for writer in TEXTS))
                    return {writer: (id, texts[writer]) for writer, id in zip(TEXTS, ids)}

                async def check(views, whose, readable):
                    """What each client finds of somebody's, by words and by meaning."""
                    for writer, (id, text) in whose.items():
                        _, words, question = TEXTS[writer]
                        for reader in views.values():
                            for query in (words, question):
                                found = await reader.search(query, limit=100)
                                seen = found.get(id)
                                expected = text if writer in readable else None
                                self.assertEqual(seen, expected, (writer, reader.dialect, query))
                                self.assertEqual(text in found.values(), writer in readable)

                of_ann, of_bob = await asyncio.gather(write(anns, "Ann"), write(bobs, "Bob"))
                await asyncio.gather(
                    check(anns, of_ann, TEXTS),
                    check(bobs, of_bob, TEXTS),
                    check(anns, of_bob, COMMON),
                    check(bobs, of_ann, COMMON),
                )
                # Who administers the space sees all of it; where a view is one user's, all of that user's.
                await check(admins, of_ann, TEXTS)
                del admins["memory-mcp"]
                await check(admins, of_bob, TEXTS)

                counts = [(await views["mememory"].call("stats"))["total"] for views in (anns, bobs, admins)]
                self.assertEqual(counts, [8, 8, 10])
                counts = [(await views["mempalace"].call("mempalace_status"))["total_drawers"] for views in (anns, bobs, admins)]
                self.assertEqual(counts, [8, 8, 10])

                # Shared, it is read by all in the next call, and changed by none but its owner; then it is taken back.
                kept, _ = of_ann["engram"]
                await anns["engram"].call("set_visibility", id=kept, shared=True)
                await check(bobs, of_ann, (*COMMON, "engram"))
                for dialect in ("vault", "mememory", "engram", "mempalace"):
                    with self.assertRaises(AssertionError, msg=dialect):
                        await bobs[dialect].forget(kept)
                self.assertEqual((await bobs["memory-mcp"].forget(kept))["deleted_count"], 0)
                await anns["engram"].call("set_visibility", id=kept, shared=False)
                await asyncio.gather(check(bobs, of_ann, COMMON), check(anns, of_ann, TEXTS))

                # Ann's wipe leaves what is everyone's, and nothing of hers besides.
                await anns["memory-mcp"].call("wipe_user_data", user_id="ann", confirm=True)
                await asyncio.gather(check(anns, of_ann, COMMON), check(bobs, of_ann, COMMON), check(bobs, of_bob, TEXTS))


if __name__ == "__main__":
    unittest.main()

"""The engram dialect through the Python SDK: owned and shared memories, cited discoveries."""

import asyncio
import json
import unittest

from support import AsyncTestCase, Server, data_folder, failure, run, stdio_client, value

TOOLS = [
    "store_memory",
    "search_memory",
    "list_memory",
    "get_memory",
    "update_memory",
    "delete_memory",
    "delete_all",
    "store_discovery",
    "search_discovery",
    "set_visibility",
]
SCOPE = "eval-2026-05:project:cluster"
MEMORY = {"scope": SCOPE, "source": "user-said", "category": "decision"}
CITATION = {"kind": "file", "ref": "src/auth/jwks.rs", "locator": "10-40", "pin": "9f2c1ab"}
DISCOVERY = {
    "content": "Signing keys are kept in memory and fetched anew in the background",
    "kind": "map",
    "citations": [CITATION],
    "scope": "discovery:repo:loci",
}


def text(result):
    return result.content[0].text


class Scenarios(AsyncTestCase):
    async def test_memories_are_stored_found_changed_and_deleted(self):
        async def scenario(client):
            tools = (await client.list_tools()).tools
            self.assertEqual([tool.name for tool in tools], TOOLS)
            for tool in tools:
                self.assertTrue(tool.description and tool.output_schema, tool.name)

            stored = await client.call_tool(
                "store_memory", {**MEMORY, "content": "We deploy the gateway on Tuesdays", "tags": ["ops"], "repo": "r"}
            )
            self.assertEqual(json.loads(text(stored)), value(stored))
            identifier = value(stored)["id"]

            found = value(await client.call_tool("search_memory", {"query": "when is the gateway deployed?", "scope": SCOPE}))
            hit = found["memories"][0]
            self.assertEqual((hit["id"], hit["category"], hit["source"]), (identifier, "decision", "user-said"))
            self.assertEqual((hit["repo"], hit["tags"], hit["visibility"]), ("r", ["ops"], "private"))
            self.assertGreater(hit["score"], 0)

            updated = await client.call_tool(
                "update_memory", {"id": identifier, "content": "We deploy the gateway on Fridays", "shared": True}
            )
            self.assertEqual(text(updated), "updated")
            got = value(await client.call_tool("get_memory", {"id": identifier}))
            self.assertEqual((got["content"], got["visibility"]), ("We deploy the gateway on Fridays", "shared"))
            changed = await client.call_tool("set_visibility", {"id": identifier, "shared": False})
            self.assertEqual(text(changed), "visibility updated")
            listed = value(await client.call_tool("list_memory", {"scope": SCOPE}))["memories"]
            self.assertEqual([(one["id"], one["visibility"]) for one in listed], [(identifier, "private")])

            deleted = await client.call_tool("delete_memory", {"id": identifier})
            self.assertEqual(text(deleted), "deleted")
            gone = await client.call_tool("get_memory", {"id": identifier})
            self.assertTrue(gone.is_error)
            self.assertEqual(text(gone), f"not found: {identifier}")

            await client.call_tool("store_memory", {**MEMORY, "content": "one"})
            cleared = await client.call_tool("delete_all", {"scope": SCOPE})
            self.assertEqual((text(cleared), value(cleared)["deleted"]), ("scope cleared", 1))

        await self.each(scenario, "engram")

    async def test_discoveries_are_cited_replaced_and_kept_apart(self):
        async def scenario(client):
            identifier = value(await client.call_tool("store_discovery", DISCOVERY))["id"]
            search = {"query": "how are signing keys cached?", "scope": "discovery:repo:loci"}
            hit = value(await client.call_tool("search_discovery", search))["discoveries"][0]
            self.assertEqual((hit["id"], hit["kind"], hit["citations"]), (identifier, "map", [CITATION]))
            again = {**DISCOVERY, "id": identifier, "content": "Signing keys live in one immutable set", "kind": "fact"}
            self.assertEqual(value(await client.call_tool("store_discovery", again))["id"], identifier)
            for more, expected in [({"kind": "fact"}, [identifier]), ({"kind": "map"}, [])]:
                found = value(await client.call_tool("search_discovery", {**search, **more}))["discoveries"]
                self.assertEqual([one["id"] for one in found], expected)
            everywhere = {"query": "signing keys", "cross_spine": True}
            found = value(await client.call_tool("search_discovery", everywhere))["discoveries"][0]
            self.assertEqual((found["id"], found["created_at"]), (identifier, hit["created_at"]))

            faulty = {**DISCOVERY, "kind": "guess", "scope": "repo", "citations": [{"kind": "file"}, {**CITATION, "kind": "book"}]}
            refused = await client.call_tool("store_discovery", {**faulty, "owner": "me"})
            self.assertTrue(refused.is_error)
            for part in ["`kind`", "`scope`", "`citations.0.ref`", "`citations.1.kind`", "`owner`"]:
                self.assertIn(part, text(refused))

        await self.each(scenario, "engram")

    async def test_one_memory_for_the_command_line_and_other_tools(self):
        with data_folder() as data:
            async with stdio_client(data, "legacy", dialect="engram") as client:
                arguments = {**MEMORY, "scope": "harbor", "content": "The crane is painted yellow"}
                await client.call_tool("store_memory", arguments)
                await client.call_tool("store_discovery", DISCOVERY)
                run(data, "add", "Boats dock at pier nine", "--project", "harbor")
                found = value(await client.call_tool("search_memory", {"query": "where do boats dock", "scope": "harbor"}))
                self.assertEqual(found["memories"][0]["content"], "Boats dock at pier nine")
            listed = json.loads(run(data, "list", "--json").stdout)["memories"]
            self.assertEqual({one["content"] for one in listed}, {arguments["content"], "Boats dock at pier nine"})
            self.assertIn(b"yellow", run(data, "search", "colour of the crane").stdout)
            self.assertNotIn(b"Signing", run(data, "search", "signing keys in memory").stdout)


class Ownership(AsyncTestCase):
    async def test_two_people_on_one_server(self):
        def token(data, subject):
            return run(data, "token", "create", "--subject", subject).stdout.decode().strip()

        with data_folder() as data:
            ann, bob = token(data, "ann"), token(data, "bob")
            with Server(data) as server:
                async with (
                    server.client("2026-07-28", token=ann, dialect="engram") as ann,
                    server.client("legacy", token=bob, dialect="engram") as bob,
                ):
                    stored = await ann.call_tool("store_memory", {**MEMORY, "content": "Ann's plan is secret"})
                    identifier = value(stored)["id"]
                    looks = [("get_memory", {"id": identifier}), ("delete_memory", {"id": identifier})]
                    looks += [("update_memory", {"id": identifier, "content": "mine"})]
                    looks += [("set_visibility", {"id": identifier, "shared": True})]
                    for tool, arguments in looks:
                        refused = await bob.call_tool(tool, arguments)
                        self.assertEqual((refused.is_error, text(refused)), (True, f"not found: {identifier}"), tool)
                    search = {"query": "secret plan", "scope": SCOPE}
                    self.assertEqual(value(await bob.call_tool("search_memory", search))["memories"], [])
                    await ann.call_tool("set_visibility", {"id": identifier, "shared": True})
                    hit = value(await bob.call_tool("search_memory", search))["memories"][0]
                    self.assertEqual((hit["owner"], hit["actor"], hit["visibility"]), ("ann", "ann", "shared"))
                    refused = await bob.call_tool("delete_memory", {"id": identifier})
                    self.assertEqual(failure(refused)["code"], "forbidden")
                    cleared = await bob.call_tool("delete_all", {"scope": SCOPE})
                    self.assertEqual(value(cleared)["deleted"], 0)

                    async def store(client, number):
                        await client.call_tool("store_memory", {**MEMORY, "content": f"note {number}"})

                    await asyncio.gather(*(store(client, number) for client in (ann, bob) for number in range(8)))
                    listed = value(await bob.call_tool("list_memory", {"scope": SCOPE, "limit": 100}))["memories"]
                    self.assertEqual(sum(one["owner"] == "bob" for one in listed), 8)
                    self.assertEqual(sum(one["owner"] == "ann" for one in listed), 1)


if __name__ == "__main__":
    unittest.main()

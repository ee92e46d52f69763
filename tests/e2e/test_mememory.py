"""The mememory dialect through the Python SDK: both eras, both transports, the real model."""

import asyncio
import json
import unittest

from mcp.shared.exceptions import MCPError
from mcp_types import ResourceTemplateReference

from support import ERAS, AsyncTestCase, Server, configuration, data_folder, failure, stdio_client, value

TOOLS = ["remember", "recall", "forget", "update", "list", "stats", "help"]


class Mememory(AsyncTestCase):
    async def test_what_is_remembered_is_recalled_in_other_words(self):
        async def scenario(client):
            tools = (await client.list_tools()).tools
            self.assertEqual([tool.name for tool in tools], TOOLS)
            for tool in tools:
                self.assertTrue(tool.description and tool.title and tool.output_schema, tool.name)
                self.assertIsNotNone(tool.annotations.read_only_hint)

            texts = ["The cat sleeps on the sofa all day", "We deploy on Fridays after lunch", "My sister lives in Lisbon"]
            ids = []
            for text in texts:
                stored = await client.call_tool("remember", {"content": text, "project": "home"})
                self.assertFalse(stored.is_error)
                record = value(stored)
                self.assertEqual(record["content"], text)
                self.assertEqual(json.loads(stored.content[0].text), record)
                ids.append(record["id"])
            for query, expected in [("where does the pet rest?", ids[0]), ("release schedule", ids[1]), ("family in Portugal", ids[2])]:
                arguments = {"query": query, "project": "home"}
                recalled = await client.call_tool("recall", arguments, meta={"loci/hits": True})
                self.assertNotIn("loci/hits", (await client.call_tool("recall", arguments)).meta or {})
                hits = value(recalled)
                self.assertEqual(hits[0]["memory"]["id"], expected, query)
                self.assertLessEqual(hits[0]["score"], 1.0)
                reasons = recalled.meta["loci/hits"]
                self.assertEqual([reason["id"] for reason in reasons], [hit["memory"]["id"] for hit in hits])
                for key in ["cosine", "bm25", "context", "signals", "final"]:
                    self.assertIsInstance(reasons[0][key], (int, float), key)

            changed = value(await client.call_tool("update", {"id": ids[1], "content": "We deploy on Mondays"}))
            self.assertEqual(changed["content"], "We deploy on Mondays")
            gone = await client.call_tool("forget", {"id": ids[2]})
            self.assertEqual(gone.content[0].text, f"Memory {ids[2]} deleted")
            listed = value(await client.call_tool("list", {"project": "home"}))
            self.assertEqual([record["id"] for record in listed], [ids[1], ids[0]])
            counts = value(await client.call_tool("stats", {}))
            self.assertEqual((counts["total"], counts["by_project"]), (2, {"home": 2}))
            guide = await client.call_tool("help", {"topic": "scopes"})
            self.assertIn("# Scopes", guide.content[0].text)

        await self.each(scenario, "mememory")

    async def test_contradictions_are_told(self):
        async def scenario(client):
            first = value(await client.call_tool("remember", {"content": "The API listens on port 8080"}))
            second = await client.call_tool("remember", {"content": "The API listens on port 9090"})
            self.assertTrue(second.content[0].text.startswith("CONTRADICTION DETECTED\n"))
            self.assertEqual(value(second)["warnings"][0]["matches"][0]["id"], first["id"])

        await self.each(scenario, "mememory")

    async def test_a_missing_model_is_told_and_costs_no_memory(self):
        for mode in ERAS:
            with self.subTest(mode), data_folder() as data:
                # Nothing listens there.
                configuration(data).write_text(
                    '[embedding]\nprovider = "http"\nurl = "http://127.0.0.1:9/v1"\nmodel = "none"\n'
                )
                async with stdio_client(data, mode) as client:
                    stored = await client.call_tool("remember", {"content": "The boat is blue"})
                    self.assertFalse(stored.is_error)
                    self.assertEqual(value(stored)["warnings"][0]["kind"], "embedding_pending")
                    self.assertIn("not yet by its meaning", stored.meta["loci/notice"])
                    found = await client.call_tool("recall", {"query": "a blue boat"})
                    self.assertEqual(value(found)[0]["memory"]["id"], value(stored)["id"])
                    self.assertIn("words alone", found.meta["loci/notice"])
                    self.assertEqual(json.loads(found.content[0].text)[0], value(found)[0])
                    self.assertTrue(found.content[1].text.startswith("Note: "))

    async def test_failures_name_the_argument(self):
        async def scenario(client):
            rows = [
                ("remember", {}, "content"),
                ("remember", {"content": "x", "weight": 7}, "weight"),
                ("remember", {"content": "x", "colour": "red"}, "colour"),
                ("recall", {"query": "x", "limit": -1}, "limit"),
                ("forget", {"id": ["x"]}, "id"),
            ]
            for tool, arguments, argument in rows:
                failed = await client.call_tool(tool, arguments)
                self.assertTrue(failed.is_error, arguments)
                self.assertIn(f"`{argument}`", failed.content[0].text)
                self.assertEqual(failure(failed)["code"], "invalid_argument")
            unknown = await client.call_tool("forget", {"id": "nothing"})
            self.assertEqual(failure(unknown)["code"], "not_found")
            with self.assertRaises(MCPError):
                await client.call_tool("no_such_tool", {})

        await self.each(scenario, "mememory")

    async def test_resources_and_completions(self):
        async def scenario(client):
            for arguments in [
                {"content": "Answer in German", "type": "bootstrap"},
                {"content": "Ship on Monday", "type": "rule", "delivery": "bootstrap", "project": "my shop"},
            ]:
                await client.call_tool("remember", arguments)
            self.assertEqual([str(found.uri) for found in (await client.list_resources()).resources], ["mememory://bootstrap"])
            templates = (await client.list_resource_templates()).resource_templates
            self.assertEqual([found.uri_template for found in templates], ["mememory://bootstrap/{project}"])
            whole = (await client.read_resource("mememory://bootstrap")).contents[0]
            self.assertEqual(whole.mime_type, "text/markdown")
            self.assertIn("Answer in German", whole.text)
            self.assertNotIn("Ship on Monday", whole.text)
            project = (await client.read_resource("mememory://bootstrap/my%20shop")).contents[0]
            self.assertIn("Ship on Monday", project.text)
            reference = ResourceTemplateReference(type="ref/resource", uri="mememory://bootstrap/{project}")
            completion = await client.complete(reference, {"name": "project", "value": "my"})
            self.assertEqual(completion.completion.values, ["my shop"])
            with self.assertRaises(MCPError):
                await client.read_resource("mememory://nothing")

        await self.each(scenario, "mememory")

    async def test_changes_of_other_processes_are_notified(self):
        with data_folder() as data, Server(data) as server:
            connections = [("http", server.client("2026-07-28")), ("stdio", stdio_client(data, "2026-07-28"))]
            for name, listener in connections:
                with self.subTest(name):
                    async with listener as listener, stdio_client(data, "2026-07-28") as writer:
                        async with listener.listen(resource_subscriptions=["mememory://bootstrap"]) as changes:
                            await writer.call_tool("remember", {"content": f"Heard over {name}", "type": "bootstrap"})
                            event = await asyncio.wait_for(anext(aiter(changes)), 60)
                            self.assertEqual(str(event.uri), "mememory://bootstrap")
                        text = (await listener.read_resource("mememory://bootstrap", cache_mode="bypass")).contents[0].text
                        self.assertIn(f"Heard over {name}", text)

    async def test_processes_share_one_memory(self):
        with data_folder() as data, Server(data) as server:
            async with server.client("auto") as http, stdio_client(data, "auto") as stdio:
                for writer, reader, word in [(http, stdio, "heron"), (stdio, http, "otter")]:
                    stored = value(await writer.call_tool("remember", {"content": f"The {word} fishes at dawn"}))
                    hits = value(await reader.call_tool("recall", {"query": f"{word} at dawn", "limit": 1}))
                    self.assertEqual(hits[0]["memory"]["id"], stored["id"])

    async def test_processes_change_one_memory_at_the_same_time(self):
        with data_folder() as data:
            async with stdio_client(data, "auto") as one, stdio_client(data, "auto") as two:
                memory_id = value(await one.call_tool("remember", {"content": "The score is 0"}))["id"]
                texts = [f"The score is {number} for {side}" for number in range(20) for side in ["one", "two"]]
                changes = [
                    (one if text.endswith("one") else two).call_tool("update", {"id": memory_id, "content": text})
                    for text in texts
                ]
                for text, changed in zip(texts, await asyncio.gather(*changes)):
                    self.assertFalse(changed.is_error, changed.content)
                    self.assertEqual(value(changed)["content"], text)
                for client in [one, two]:
                    (record,) = value(await client.call_tool("list", {}))
                    self.assertEqual(record["id"], memory_id)
                    self.assertIn(record["content"], texts)


if __name__ == "__main__":
    unittest.main()

"""The small tool sets through the Python SDK: the reference server's, Anthropic's memory tool, and ChatGPT's two."""

import json
import unittest

from support import ERAS, AsyncTestCase, Server, data_folder, failure, run, stdio_client, value

TOOLS = {
    "reference": [
        "create_entities",
        "create_relations",
        "add_observations",
        "delete_entities",
        "delete_observations",
        "delete_relations",
        "read_graph",
        "search_nodes",
        "open_nodes",
    ],
    "anthropic": ["memory"],
    "openai": ["search", "fetch"],
}
ORLA = {"name": "Orla", "entityType": "person", "observations": ["keeps the lantern in shed 41"]}
HARBOUR = {"name": "Harbour", "entityType": "place", "observations": []}
WORKS = {"from": "Orla", "to": "Harbour", "relationType": "works at"}


def text(result):
    return result.content[0].text


class SmallSets(AsyncTestCase):
    async def test_each_set_has_its_tools(self):
        with data_folder() as data, Server(data) as server:
            for dialect, names in TOOLS.items():
                for mode in ERAS:
                    async with server.client(mode, dialect=dialect) as client:
                        tools = (await client.list_tools()).tools
                        self.assertEqual([tool.name for tool in tools], names)
                        for tool in tools:
                            self.assertTrue(tool.description and tool.output_schema, tool.name)

    async def test_what_an_import_brings_is_the_graph_that_it_was(self):
        with data_folder() as data:
            lines = [{"type": "entity", **ORLA}, {"type": "entity", **HARBOUR}, {"type": "relation", **WORKS}]
            file = data.parent / "memory.jsonl"
            file.write_text("\n".join(map(json.dumps, lines)))
            imported = run(data, "import", str(file))
            self.assertEqual(imported.returncode, 0, imported.stderr)
            async with stdio_client(data, "auto", dialect="reference") as client:
                graph = await client.call_tool("read_graph", {})
                self.assertEqual(value(graph), {"entities": [ORLA, HARBOUR], "relations": [WORKS]})
                self.assertEqual(json.loads(text(graph)), value(graph))
                again = await client.call_tool("create_entities", {"entities": [ORLA]})
                self.assertEqual((text(again), value(again)), ("[]", {"entities": []}))
                missing = {"observations": [{"entityName": "Nobody", "contents": ["x"]}]}
                refused = await client.call_tool("add_observations", missing)
                self.assertEqual(text(refused), "Entity with name Nobody not found")
                self.assertEqual(failure(refused)["code"], "not_found")

    async def test_a_file_of_the_memory_tool_is_found_by_chatgpt_and_leads_to_the_page(self):
        with data_folder() as data, Server(data) as server:
            create = {"command": "create", "path": "/memories/tea.md", "file_text": "Tea is at four."}
            async with server.client("auto", dialect="anthropic") as client:
                created = await client.call_tool("memory", create)
                self.assertEqual(text(created), "File created successfully at: /memories/tea.md")
                escaped = await client.call_tool("memory", {"command": "view", "path": "/memories/../x"})
                self.assertEqual((escaped.is_error, text(escaped)), (True, "Path /memories/../x would escape /memories directory"))
            async with server.client("auto", dialect="openai") as client:
                found = await client.call_tool("search", {"query": "when is tea?"})
                [result] = value(found)["results"]
                self.assertEqual(json.loads(text(found)), value(found))
                fetched = value(await client.call_tool("fetch", {"id": result["id"]}))
                self.assertEqual((fetched["title"], fetched["text"]), ("tea.md", "Tea is at four."))
                self.assertTrue(fetched["url"].endswith(f"/memory/{result['id']}"), fetched)

    def test_the_memory_tool_answers_a_line_with_a_line(self):
        with data_folder() as data:
            commands = [
                {"command": "create", "path": "/memories/tea.md", "file_text": "Tea is at four.\n"},
                {"command": "view", "path": "/memories/tea.md"},
                {"command": "fly", "path": "/memories"},
                {"command": "insert", "path": "/memories/tea.md", "insert_line": 9, "insert_text": "x"},
            ]
            lines = [*map(json.dumps, commands), "", "no JSON", "[]"]
            for language, error in [
                ("python", "It should be within the range [0, 1]."),
                ("typescript", "It should be within the range of lines of the file: [0, 2]"),
            ]:
                done = run(
                    data,
                    "memory-tool",
                    stdin="\n".join(lines).encode(),
                    variables={"LOCI_MEMORY_TOOL_HELPER": language},
                )
                self.assertEqual(done.returncode, 0, done.stderr)
                replies = [json.loads(line) for line in done.stdout.splitlines()]
                self.assertEqual(len(replies), 6)
                self.assertEqual(replies[1]["content"].splitlines()[1], "     1\tTea is at four.")
                self.assertEqual(replies[2]["is_error"], True)
                self.assertTrue(replies[3]["content"].endswith(error), replies[3])
                self.assertTrue(all("no command" in reply["content"] for reply in replies[4:]), replies)
            # The second time the file is there.
            self.assertEqual(replies[0], {"content": "File /memories/tea.md already exists", "is_error": True})


if __name__ == "__main__":
    unittest.main()

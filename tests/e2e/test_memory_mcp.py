"""The memory-mcp dialect through the Python SDK: users, tiers, cache, decisions, enrichment, audit."""

import asyncio
import http.client
import json
import re
import signal
import subprocess
import threading
import unittest

from support import LOCI, AsyncTestCase, Server, configuration, data_folder, environment, failure, run, service, stdio_client, value

TOOLS = [
    "store_memory",
    "recall_memory",
    "delete_memory",
    "check_cache",
    "store_cache",
    "hybrid_search",
    "search_web",
    "memory_health",
    "wipe_user_data",
    "cache_invalidate",
    "store_decision",
    "recall_decision",
]
# Arguments with which each tool would succeed, but for the user.
ARGUMENTS = {
    "store_memory": {"conversation_id": "c", "messages": [{"role": "human", "content": "hello"}]},
    "recall_memory": {"query": "hello"},
    "delete_memory": {"memory_id": "0123456789abcdef01234567"},
    "check_cache": {"query": "hello"},
    "store_cache": {"query": "hello", "response": "world"},
    "hybrid_search": {"query": "hello"},
    "search_web": {"query": "hello"},
    "memory_health": {},
    "wipe_user_data": {"confirm": True},
    "cache_invalidate": {"invalidate_all": True},
    "store_decision": {"key": "k", "value": "v"},
    "recall_decision": {"key": "k"},
}
SAID = [
    "I prefer dark mode in every editor that I use",
    "We decided to deploy the billing service on Fridays after lunch",
    "My sister Anna moved to Lisbon in March 2024",
]
LOOKS_MAX = 600


async def store(client, user, texts=SAID, conversation="c-1"):
    messages = [{"role": "human", "content": text} for text in texts]
    arguments = {"user_id": user, "conversation_id": conversation, "messages": messages}
    return value(await client.call_tool("store_memory", arguments))


async def enriched(client, user):
    """Waits until the background has judged everything of a user; returns the user's health."""
    for _ in range(LOOKS_MAX):
        health = value(await client.call_tool("memory_health", {"user_id": user}))
        if health["enrichment_stats"]["pending"] == 0:
            return health
        await asyncio.sleep(0.05)
    raise AssertionError(f"the background did not finish: {health}")


class MemoryMcp(AsyncTestCase):
    async def test_messages_become_memories_that_are_found(self):
        async def scenario(client):
            tools = (await client.list_tools()).tools
            self.assertEqual([tool.name for tool in tools], TOOLS)
            self.assertEqual([tool.name for tool in tools if tool.annotations.open_world_hint], ["search_web"])
            stored = await store(client, "ann")
            self.assertEqual(stored["count"], 3)
            self.assertTrue(all(re.fullmatch("[0-9a-f]{24}", name) for name in stored["stm_ids"]))
            health = await enriched(client, "ann")
            self.assertEqual(health["tier_stats"], {"stm": 3, "ltm": 3})
            self.assertEqual(health["enrichment_stats"]["completed"], 3)
            for query, expected in [("which theme does she like?", SAID[0]), ("release schedule", SAID[1]), ("family in Portugal", SAID[2])]:
                found = value(await client.call_tool("recall_memory", {"user_id": "ann", "query": query}))
                self.assertEqual(found["results"][0]["content"], expected, query)
                self.assertEqual(found["count"], len({hit["content"] for hit in found["results"]}), "a pair came twice")
                merged = value(await client.call_tool("hybrid_search", {"user_id": "ann", "query": query, "tier": ["ltm"]}))
                self.assertEqual(merged["results"][0]["content"], expected, query)
            kinds = {hit["content"]: hit["memory_type"] for hit in merged["results"]}
            self.assertEqual(kinds[SAID[0]], "preference")
            self.assertEqual(kinds[SAID[1]], "decision")
            first = value(await client.call_tool("recall_memory", {"user_id": "ann", "query": "dark mode", "tier": ["ltm"]}))
            again = value(await client.call_tool("recall_memory", {"user_id": "ann", "query": "dark mode", "tier": ["ltm"]}))
            self.assertEqual(again["results"][0]["access_count"], first["results"][0]["access_count"] + 1)

            nothing = value(await client.call_tool("recall_memory", {"user_id": "bob", "query": "dark mode"}))
            self.assertEqual(nothing, {"results": [], "count": 0})
            wiped = value(await client.call_tool("wipe_user_data", {"user_id": "ann", "confirm": True}))
            self.assertEqual(wiped["memories_deleted"], 6)
            health = value(await client.call_tool("memory_health", {"user_id": "ann"}))
            self.assertEqual(health["total_memories"], 0)

        await self.each(scenario, "memory-mcp", no_auth=True)

    async def test_answers_and_decisions_are_kept(self):
        async def scenario(client):
            question = "When is the deadline of the project?"
            answer = {"user_id": "ann", "query": question, "response": "On 31 March."}
            value(await client.call_tool("store_cache", answer))
            hit = value(await client.call_tool("check_cache", {"user_id": "ann", "query": question}))
            self.assertEqual((hit["cache_hit"], hit["response"], hit["score"]), (True, "On 31 March.", 1.0))
            near = {"user_id": "ann", "query": "When is the project deadline?", "similarity_threshold": 0.8}
            self.assertTrue(value(await client.call_tool("check_cache", near))["cache_hit"])
            for other in [{"user_id": "bob", "query": question}, {"user_id": "ann", "query": "What does Anna eat?"}]:
                self.assertEqual(value(await client.call_tool("check_cache", other)), {"cache_hit": False})
            dropped = value(await client.call_tool("cache_invalidate", {"user_id": "ann", "pattern": "^When .*project"}))
            self.assertEqual(dropped["deleted_count"], 1)

            decision = {"user_id": "ann", "key": "language", "value": "Rust", "ttl_days": 7}
            self.assertEqual(value(await client.call_tool("store_decision", decision))["action"], "created")
            self.assertEqual(value(await client.call_tool("store_decision", decision))["action"], "updated")
            kept = value(await client.call_tool("recall_decision", {"user_id": "ann", "key": "language"}))
            self.assertEqual(kept["decision"]["value"], "Rust")
            lost = value(await client.call_tool("recall_decision", {"user_id": "bob", "key": "language"}))
            self.assertEqual(lost, {"key": "language", "found": False})

        await self.each(scenario, "memory-mcp", no_auth=True)

    async def test_failures_have_the_shape_of_this_dialect(self):
        async def scenario(client):
            rows = [
                ("recall_memory", {"user_id": "ann", "query": "x", "tier": ["warm"]}, "tier"),
                ("recall_memory", {"user_id": " ", "query": "x"}, "user_id"),
                ("delete_memory", {"user_id": "ann", "confirm": True}, "memory_id"),
                ("wipe_user_data", {"user_id": "ann"}, "confirm=true"),
                ("store_decision", {"user_id": "ann", "key": "k", "value": "v", "ttl_days": 0}, "ttl_days"),
            ]
            for tool, arguments, says in rows:
                result = await client.call_tool(tool, arguments)
                self.assertEqual(failure(result)["code"], "invalid_argument", tool)
                self.assertIn(says, result.content[0].text)

        await self.each(scenario, "memory-mcp", no_auth=True)

    async def test_nobody_acts_for_another(self):
        with data_folder() as data, Server(data) as server:
            made = json.loads(run(data, "token", "create", "--subject", "ann", "--json").stdout)
            root = json.loads(run(data, "token", "create", "--subject", "root", "--scopes", "admin", "--json").stdout)
            async with server.client("auto", token=root["token"], dialect="memory-mcp") as admin:
                await store(admin, "bob")
                before = await enriched(admin, "bob")
                async with server.client("auto", token=made["token"], dialect="memory-mcp") as client:
                    for tool, arguments in ARGUMENTS.items():
                        with self.subTest(tool):
                            refused = await client.call_tool(tool, {"user_id": "bob", **arguments})
                            self.assertEqual(failure(refused)["code"], "forbidden")
                            own = await client.call_tool(tool, {"user_id": "ann", **arguments})
                            self.assertFalse(own.is_error, own.content)
                self.assertEqual(value(await admin.call_tool("memory_health", {"user_id": "bob"})), before)

    async def test_every_call_is_audited(self):
        with data_folder() as data:
            async with stdio_client(data, "auto", dialect="memory-mcp") as client:
                await store(client, "ann")
                await client.call_tool("recall_memory", {"user_id": "ann", "query": "dark mode"})
                await client.call_tool("recall_memory", {"user_id": "ann", "query": "x", "limit": -1})
                await client.call_tool("check_cache", {"user_id": "bob", "query": "deadline"})
            async with stdio_client(data, "auto") as client:
                await client.call_tool("remember", {"content": "Tea is green"})
            entries = json.loads(run(data, "audit", "--json").stdout)["entries"]
            seen = [(entry["dialect"], entry["tool_name"], entry["user_id"], entry["status"]) for entry in entries]
            self.assertEqual(
                seen,
                [
                    ("memory-mcp", "store_memory", "ann", "success"),
                    ("memory-mcp", "recall_memory", "ann", "success"),
                    ("memory-mcp", "recall_memory", "ann", "error"),
                    ("memory-mcp", "check_cache", "bob", "success"),
                    ("mememory", "remember", "local", "success"),
                ],
            )
            self.assertEqual(entries[1]["metadata"]["query"], "dark mode")
            self.assertEqual(entries[2]["metadata"]["error_code"], "invalid_argument")
            for secret in [*SAID, "Tea is green"]:
                self.assertNotIn(secret, json.dumps(entries))
            for flags, count in [(["--user", "bob"], 1), (["--tool", "recall_memory"], 2), (["--since", "1h"], 5), (["--limit", "2"], 2)]:
                self.assertEqual(len(json.loads(run(data, "audit", "--json", *flags).stdout)["entries"]), count, flags)

    def test_a_signal_loses_no_note(self):
        for name in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(name.name), data_folder() as data:
                command = [LOCI, "mcp", "memory-mcp"]
                pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
                with subprocess.Popen(command, env=environment(data), **pipes) as process:
                    info = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
                    call = {"name": "memory_health", "arguments": {"user_id": "ann"}}
                    for number, (method, params) in enumerate([("initialize", info), ("tools/call", call)]):
                        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
                        process.stdin.write(json.dumps(message) + "\n")
                        process.stdin.flush()
                        self.assertEqual(json.loads(process.stdout.readline())["id"], number)
                    process.send_signal(name)
                    self.assertEqual(process.wait(timeout=60), 0)
                entries = json.loads(run(data, "audit", "--json").stdout)["entries"]
                self.assertEqual([entry["tool_name"] for entry in entries], ["memory_health"])

    async def test_what_was_stored_before_a_kill_is_enriched_after_it(self):
        with data_folder() as data:
            with Server(data, "--no-auth") as server:
                async with server.client("auto", token=None, dialect="memory-mcp") as client:
                    await store(client, "ann", [f"{text}, number {number}" for number in range(20) for text in SAID])
                server.process.send_signal(signal.SIGKILL)
                server.process.wait(timeout=60)
            # What the killed process had leased comes back when the lease runs out, so the rest is looked at.
            async with stdio_client(data, "auto", dialect="memory-mcp") as client:
                health = value(await client.call_tool("memory_health", {"user_id": "ann"}))
                self.assertEqual(health["tier_stats"], {"stm": 60, "ltm": 60})
                for _ in range(LOOKS_MAX):
                    health = value(await client.call_tool("memory_health", {"user_id": "ann"}))
                    if health["enrichment_stats"]["completed"] >= 40:
                        break
                    await asyncio.sleep(0.05)
                self.assertGreaterEqual(health["enrichment_stats"]["completed"], 40)
                self.assertEqual(health["tier_stats"], {"stm": 60, "ltm": 60})

    def test_a_client_that_goes_away_leaves_no_error_in_the_log(self):
        begun, goes_on = threading.Event(), threading.Event()

        def tavily(path, headers, body):
            begun.set()
            goes_on.wait(60)
            return 200, {"results": []}

        with data_folder() as data, service(tavily) as url:
            variables = {"TAVILY_API_KEY": "tvly-sesame", "TAVILY_BASE_URL": url}
            with Server(data, variables=variables) as server:
                params = {"name": "search_web", "arguments": {"user_id": "local", "query": "x"}}
                message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
                headers = {
                    "Authorization": f"Bearer {server.token()}",
                    "Content-Type": "application/json",
                    "Accept": "application/json, text/event-stream",
                }
                connection = http.client.HTTPConnection(server.url.removeprefix("http://"))
                connection.request("POST", "/mcp/memory-mcp", json.dumps(message), headers)
                self.assertTrue(begun.wait(60))
                connection.close()
                goes_on.set()
                self.assertEqual(server.status(server.token()), 200)
            self.assertEqual([line for line in server.log if "ERROR" in line], [])

    async def test_the_web_is_searched_through_the_service(self):
        asked = []

        def tavily(path, headers, body):
            asked.append((path, headers["Authorization"], body["query"]))
            page = {"title": "Tea", "url": "https://example.org/tea", "content": "Green.", "score": 0.9, "raw_content": None}
            return 200, {"query": body["query"], "results": [page], "response_time": 0.1}

        with data_folder() as data, service(tavily) as url:
            async with stdio_client(data, "auto", dialect="memory-mcp") as client:
                missing = await client.call_tool("search_web", {"user_id": "ann", "query": "tea"})
                self.assertFalse(missing.is_error)
                self.assertEqual(value(missing), {"error": "Web search service unavailable: Tavily API key not configured"})
            variables = {"TAVILY_API_KEY": "tvly-sesame", "TAVILY_BASE_URL": url}
            async with stdio_client(data, "auto", dialect="memory-mcp", variables=variables) as client:
                found = value(await client.call_tool("search_web", {"user_id": "ann", "query": "tea"}))
            page = {"title": "Tea", "url": "https://example.org/tea", "content": "Green.", "score": 0.9}
            self.assertEqual(found, {"query": "tea", "results": [page]})
            self.assertEqual(asked, [("/search", "Bearer tvly-sesame", "tea")])

    async def test_a_language_model_judges_and_rules_stand_in_for_it(self):
        asked = []

        def model(path, headers, body):
            asked.append((path, body["model"], body["response_format"]["type"]))
            text = body["messages"][-1]["content"]
            if "Lisbon" in text:
                return 200, {"choices": [{"message": {"role": "assistant", "content": "no idea"}}]}
            judged = {"importance": 0.93, "summary": "Judged by the zebra.", "memory_type": "preference"}
            return 200, {"choices": [{"message": {"role": "assistant", "content": json.dumps(judged)}}]}

        with data_folder() as data, service(model) as url:
            configuration(data).write_text(f'[llm]\nurl = "{url}/v1"\nmodel = "judge"\n')
            async with stdio_client(data, "auto", dialect="memory-mcp") as client:
                await store(client, "ann", [SAID[0], SAID[2]])
                await enriched(client, "ann")
                found = value(await client.call_tool("recall_memory", {"user_id": "ann", "query": "zebra", "tier": ["ltm"]}))
                judged = found["results"][0]
                self.assertEqual((judged["content"], judged["summary"]), (SAID[0], "Judged by the zebra."))
                self.assertEqual((judged["importance"], judged["memory_type"]), (0.93, "preference"))
                by_rules = found["results"][1]
                self.assertEqual((by_rules["content"], by_rules["summary"]), (SAID[2], SAID[2]))
            self.assertEqual(set(asked), {("/v1/chat/completions", "judge", "json_schema")})

    async def test_durable_memories_are_shared_with_the_other_dialects(self):
        with data_folder() as data:
            async with stdio_client(data, "auto") as client:
                await client.call_tool("remember", {"content": "The staging server is called heron", "type": "fact"})
            async with stdio_client(data, "auto", dialect="memory-mcp") as client:
                found = value(await client.call_tool("recall_memory", {"user_id": "ann", "query": "staging server name"}))
                self.assertEqual(found["results"][0]["content"], "The staging server is called heron")
                await store(client, "ann")
                await enriched(client, "ann")
            async with stdio_client(data, "auto") as client:
                hits = value(await client.call_tool("recall", {"query": "dark mode", "project": "c-1", "limit": 100}))
                self.assertEqual([hit["memory"]["content"] for hit in hits].count(SAID[0]), 1)
                self.assertEqual(hits[0]["memory"]["type"], "preference")

    def test_the_originals_environment_names_work(self):
        with data_folder() as data:
            variables = {
                "STM_TTL_HOURS": "1",
                "MAX_RESULTS_PER_QUERY": "7",
                "SOFT_DELETE_PURGE_DAYS": "3",
                "CACHE_SIMILARITY_THRESHOLD": "0.9",
                "CACHE_TTL_SECONDS": "60",
                "RRF_VECTOR_WEIGHT": "0.4",
                "RRF_TEXT_WEIGHT": "0.6",
                "TAVILY_API_KEY": "tvly-sesame",
            }
            shown = run(data, "config", "--json", variables=variables).stdout.decode()
            self.assertNotIn("sesame", shown)
            origins = {row["origin"]: row["value"] for row in json.loads(shown).values()}
            for name, setting in variables.items():
                self.assertEqual(origins[f"env {name}"], "set" if name == "TAVILY_API_KEY" else setting)


if __name__ == "__main__":
    unittest.main()

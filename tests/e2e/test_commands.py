"""The command line beside running agents, and tokens over HTTP."""

import json
import unittest

from mcp.shared.exceptions import MCPError

from support import AsyncTestCase, Server, data_folder, run, stdio_client, value


class Commands(AsyncTestCase):
    async def test_a_person_and_an_agent_share_one_memory(self):
        with data_folder() as data:
            added = run(data, "add", "The spare key hangs in the garage", "--project", "home", "--json")
            self.assertEqual(added.returncode, 0, added.stderr)
            memory_id = json.loads(added.stdout)["id"]
            async with stdio_client(data, "auto") as client:
                hits = value(await client.call_tool("recall", {"query": "where is the spare key?", "project": "home"}))
                self.assertEqual(hits[0]["memory"]["id"], memory_id)
                stored = value(await client.call_tool("remember", {"content": "Milk is in the fridge", "project": "home"}))
            found = run(data, "search", "something to drink", "--project", "home", "--explain", "--json")
            self.assertEqual(found.returncode, 0, found.stderr)
            self.assertIn(stored["id"], found.stdout.decode())
            self.assertEqual(run(data, "forget", memory_id).returncode, 0)
            self.assertEqual(run(data, "show", memory_id).returncode, 3)

    async def test_tokens_open_and_close(self):
        with data_folder() as data, Server(data) as server:
            made = run(data, "token", "create", "--subject", "ann", "--scopes", "read", "--json")
            self.assertEqual(made.returncode, 0, made.stderr)
            token = json.loads(made.stdout)
            async with server.client("auto", token=token["token"]) as client:
                self.assertEqual(value(await client.call_tool("list", {})), [])
                with self.assertRaisesRegex(MCPError, "needs the scope `write`"):
                    await client.call_tool("remember", {"content": "x"})
                self.assertEqual(run(data, "token", "revoke", token["id"]).returncode, 0)
                self.assertEqual(server.status(token["token"]), 401)
                with self.assertRaisesRegex(MCPError, "was revoked; get a new one with `loci token create`"):
                    await client.call_tool("list", {})
            for wrong, says in [(None, "make a token with `loci token create`"), ("loci_wrong", "token")]:
                self.assertEqual(server.status(wrong), 401)
                async with server.client("2026-07-28", token=wrong) as client:
                    with self.assertRaisesRegex(MCPError, says):
                        await client.list_tools()
            # None of this kept anybody else out.
            self.assertEqual(server.status(server.token()), 200)
            async with server.client("auto") as client:
                self.assertEqual(value(await client.call_tool("list", {})), [])

    def test_the_server_stops_on_request(self):
        with data_folder() as data:
            server = Server(data)
            self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    unittest.main()

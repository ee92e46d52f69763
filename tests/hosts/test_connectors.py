"""Clients that log in to `loci serve --oauth` by themselves, as their own OAuth clients do it, and mcp-remote."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]

import consent
import features
import install
import support

TIMEOUT = 120
TOOLS = {"remember", "recall", "list"}


class Login:
    """A program that logs in and lists the tools."""

    def __init__(self, command, home):
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            command,
            env=features.environment(home),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
        )
        self.timer = threading.Timer(TIMEOUT, self.process.kill)
        self.timer.start()

    def next(self):
        line = self.process.stdout.readline()
        if not line:
            self.process.wait()
            self.errors.seek(0)
            raise AssertionError(f"the client ended:\n{self.errors.read()}")
        return json.loads(line)

    def run(self, person):
        """Has a person do what the program asks for; gives the tools, and how often a person was asked."""
        asked = 0
        try:
            while "tools" not in (said := self.next()):
                asked += 1
                self.process.stdin.write(person.visit(said["visit"]) + "\n")
                self.process.stdin.flush()
            return set(said["tools"]), asked
        finally:
            self.timer.cancel()
            self.process.kill()
            self.process.communicate()
            self.errors.close()


def tokens(data):
    listed = json.loads(support.run(data, "token", "list", "--json").stdout)["tokens"]
    return [token for token in listed if token["client"]]


class Logins(unittest.TestCase):
    def folder(self, client):
        folder, reason = features.installation(client)
        if folder is None:
            self.skipTest(reason)
        return folder

    def check(self, command, name):
        """Logs in, goes on after the server was started again, and is out after a revocation."""
        with support.data_folder() as data, tempfile.TemporaryDirectory() as home:
            kept = pathlib.Path(home, "kept")

            def log_in(server, person):
                program = [*command, f"{server.url}/mcp/mememory", str(kept)]
                return Login(program, home).run(person)

            with support.Server(data, "--oauth") as server:
                port = int(server.url.rpartition(":")[2])
                person = consent.Person(server.token())
                found, asked = log_in(server, person)
                self.assertEqual((found >= TOOLS, asked), (True, 1))
                self.assertIn(name, person.shown)
                [token] = tokens(data)
                self.assertEqual((token["subject"], token["client"]), ("local", f"{name} (127.0.0.1)"))
                self.assertEqual(token["resource"], f"{server.url}/mcp/mememory")
            state = json.loads(kept.read_text())
            with support.Server(data, "--oauth", port=port) as server:
                # Its token is good still; then only its refresh token is, of which the first use gives both anew.
                self.assertEqual(log_in(server, person)[1], 0)
                state["tokens"]["access_token"] = "loci_" + "0" * 64
                state["tokens"]["expires_in"] = 0
                kept.write_text(json.dumps(state))
                found, again = log_in(server, person)
                self.assertTrue(found >= TOOLS)
                for token in tokens(data):
                    self.assertEqual(support.run(data, "token", "revoke", token["id"]).returncode, 0)
                self.assertEqual(log_in(server, person)[1], 1)
            return again

    def test_python_1(self):
        python = self.folder("python-1") / "bin" / "python"
        self.check([python, HERE / "sdks" / "login-python.py"], "Python SDK")

    def test_python_2(self):
        python = self.folder("python-2") / "bin" / "python"
        self.check([python, HERE / "sdks" / "login-python.py"], "Python SDK")

    def test_typescript_1(self):
        folder = self.folder("typescript-1")
        again = self.check([install.TOOLS / "node", HERE / "sdks" / "login-typescript-1.mjs", folder], "TypeScript SDK")
        self.assertEqual(again, 0, "the refresh token was not used")

    def test_mcp_remote(self):
        program = self.folder("mcp-remote") / "node_modules" / ".bin" / "mcp-remote"
        with support.data_folder() as data, tempfile.TemporaryDirectory() as home:
            with support.Server(data, "--oauth") as server:
                process = subprocess.Popen(
                    [program, f"{server.url}/mcp/mememory"],
                    env={**features.environment(home), "MCP_REMOTE_CONFIG_DIR": home, "BROWSER": "none"},
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                )
                timer = threading.Timer(TIMEOUT, process.kill)
                timer.start()
                try:
                    for text in MESSAGES:
                        process.stdin.write(json.dumps({"jsonrpc": "2.0", **text}) + "\n")
                    process.stdin.flush()
                    person = consent.Person(server.token())
                    self.visit(process, person, server.url)
                    rest = threading.Thread(target=process.stderr.read, daemon=True)
                    rest.start()
                    names = self.listed(process)
                    self.assertGreaterEqual(names, TOOLS)
                    self.assertEqual(len(tokens(data)), 1)
                finally:
                    timer.cancel()
                    process.kill()
                    process.wait()

    def visit(self, process, person, server):
        """Opens the address that the program prints, and the one on this machine that it waits at."""
        printed = []
        for line in process.stderr:
            printed.append(line)
            if found := re.search(rf"{re.escape(server)}/authorize\S+", line):
                back = person.visit(found.group())
                opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
                opener.open(back, timeout=60).read()
                return
        raise AssertionError("no address was printed:\n" + "".join(printed))

    def listed(self, process):
        for line in process.stdout:
            said = json.loads(line)
            if said.get("id") == 2:
                return {tool["name"] for tool in said["result"]["tools"]}
        raise AssertionError("the tools were not listed")


MESSAGES = [
    {
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "tests", "version": "1"},
        },
    },
    {"method": "notifications/initialized"},
    {"id": 2, "method": "tools/list"},
]


if __name__ == "__main__":
    unittest.main()

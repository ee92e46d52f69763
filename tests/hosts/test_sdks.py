"""Libraries and tools for MCP against the built binary: a program in sdks/ drives each, in its own environment."""

import asyncio
import contextlib
import functools
import json
import os
import pathlib
import queue
import subprocess
import sys
import tempfile
import threading
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]

import install
import support
from features import ClientTests, connect_line, environment, feature

# Seconds; more than a client needs on a busy machine.
TIMEOUT = 120
SENTENCE = "The boat in the harbour is blue."
# Calls of each tool set that store something and find it, and a call whose answer is the same each time.
CALLS = {
    "vault": [
        ("memory_append", {"title": "Boat", "body": SENTENCE}),
        ("memory_search", {"query": "boat"}),
        ("memory_recall", {"phases": ["boat"]}),
    ],
    "mememory": [("remember", {"content": SENTENCE}), ("recall", {"query": "boat"}), ("list", {})],
    "memory-mcp": [
        (
            "store_memory",
            {"user_id": "local", "conversation_id": "c", "messages": [{"role": "user", "content": SENTENCE}]},
        ),
        ("store_decision", {"user_id": "local", "key": "boat", "value": SENTENCE}),
        ("recall_memory", {"user_id": "local", "query": "boat"}),
        ("recall_decision", {"user_id": "local", "key": "boat"}),
    ],
    "engram": [
        (
            "store_memory",
            {"content": SENTENCE, "scope": "global", "source": "user-said", "category": "decision"},
        ),
        ("search_memory", {"query": "boat", "scope": "global"}),
        ("list_memory", {"scope": "global"}),
    ],
    "mempalace": [
        ("mempalace_add_drawer", {"wing": "harbour", "room": "boats", "content": SENTENCE}),
        ("mempalace_search", {"query": "boat"}),
        ("mempalace_list_drawers", {}),
    ],
}
# For each tool set a number that is out of range, and an argument that is unknown.
MISTAKES = {
    "vault": [("memory_search", {"query": "boat"}, "top_k")],
    "mememory": [("recall", {"query": "boat"}, "limit")],
    "memory-mcp": [("recall_memory", {"user_id": "local", "query": "boat"}, "limit")],
    "engram": [("search_memory", {"query": "boat", "scope": "global"}, "k")],
    "mempalace": [("mempalace_search", {"query": "boat"}, "limit")],
}
MISTAKES = {
    dialect: [
        call
        for tool, arguments, number in mistakes
        for call in [(tool, {**arguments, number: -1}, number), (tool, {**arguments, "colour": "blue"}, "colour")]
    ]
    for dialect, mistakes in MISTAKES.items()
}


def call(tool, arguments):
    return {"tool": tool, "arguments": arguments}


def asked(data, dialect, question):
    """The result of `question(client)`, of a client that hands on what loci says."""

    async def ask():
        async with support.stdio_client(data, "2026-07-28", dialect=dialect) as client:
            return await question(client)

    return asyncio.run(ask())


def said(data, dialect, tool, arguments):
    """The text that loci answers to a call."""
    result = asked(data, dialect, lambda client: client.call_tool(tool, arguments))
    return result.content[0].text


@functools.cache
def known_schemas(dialect):
    """The tools of a tool set, with the schemas of their arguments."""
    with support.data_folder() as data:
        tools = asked(data, dialect, lambda client: client.list_tools()).tools
    return {tool.name: tool.input_schema for tool in tools}


@functools.cache
def known_errors(dialect):
    """The sentences for the mistakes in a tool set, in their order."""
    with support.data_folder() as data:
        return [said(data, dialect, tool, arguments) for tool, arguments, _ in MISTAKES[dialect]]


def types(schema):
    """The JSON types that a schema allows, whatever a client writes for a choice between them; null counts for none."""
    named = schema.get("type", [])
    found = {name.lower() for name in ([named] if isinstance(named, str) else named)}
    return found.union(*(types(choice) for key in ("anyOf", "any_of") for choice in schema.get(key, []))) - {"null"}


class Program:
    """A program of sdks/, which does jobs until it is stopped."""

    def __init__(self, command, home, variables):
        self.printed = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            command,
            cwd=home,
            env={**environment(home), **variables},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.printed,
            text=True,
        )
        self.lines = queue.Queue()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(json.loads(line))
        self.lines.put(None)

    def write(self, text):
        self.process.stdin.write(f"{text}\n")
        self.process.stdin.flush()

    def next(self):
        try:
            line = self.lines.get(timeout=TIMEOUT)
        except queue.Empty:
            line = None
        if line is None:
            self.printed.seek(0)
            raise AssertionError(f"the client gave no answer:\n{self.printed.read()}")
        return line

    def ask(self, jobs, while_paused=None):
        """Has jobs done at once; gives their results."""
        self.write(json.dumps(jobs))
        line = self.next()
        if line == {"paused": True}:
            while_paused()
            self.write("")
            line = self.next()
        return line

    def stop(self):
        self.process.stdin.close()
        try:
            self.process.wait(timeout=TIMEOUT)
        finally:
            self.process.kill()
            self.process.wait()
            self.reader.join()
            self.process.stdout.close()
            self.printed.close()


class Sdk(ClientTests):
    """Tests of a library or tool, whose program is started once for all of them."""

    # Its program in sdks/.
    program = None
    started = None
    # The revision of the protocol that it comes to speak with loci, if it says.
    protocol = None
    # Variables of its environment, beside those that every client has.
    variables = {}
    # Whether it hands on the text of a result as it is, and not the structured content in its stead.
    text = True

    def setUp(self):
        super().setUp()
        if self.started is None:
            type(self).started = self.start()
            self.addClassCleanup(setattr, type(self), "started", None)

    def start(self):
        home = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.addClassCleanup(home.cleanup)
        path = HERE / "sdks" / self.program
        if install.CLIENTS[self.client]["registry"] == "pypi":
            command = [self.folder / "bin" / "python", path]
        else:
            command = [install.TOOLS / ("node" if path.suffix == ".mjs" else "python"), path, self.folder]
        started = Program(command, home.name, self.variables)
        self.addClassCleanup(started.stop)
        return started

    @contextlib.contextmanager
    def stores(self):
        """A data folder for each tool set, so that none shows what another one stores."""
        with contextlib.ExitStack() as stack:
            yield {dialect: stack.enter_context(support.data_folder()) for dialect in CALLS}

    def stdio(self, data, dialect, **job):
        variables = {"LOCI_DATA": str(data), "LOCI_CONFIG": str(support.configuration(data))}
        return {"transport": "stdio", "command": [support.LOCI, "mcp", dialect], "env": variables, **job}

    def http(self, server, dialect, token=True, **job):
        headers = {"Authorization": f"Bearer {server.token()}"} if token else {}
        return {"transport": "http", "url": f"{server.url}/mcp/{dialect}", "headers": headers, **job}

    def connect(self, stack, data, dialect, **job):
        """A job over the transport that the tests prefer, which needs no server."""
        return self.stdio(data, dialect, **job)

    def each(self, stores, job):
        """Does `job(dialect)` for every tool set, at once; gives the results."""
        with contextlib.ExitStack() as stack:
            jobs = [self.connect(stack, data, dialect, **job(dialect)) for dialect, data in stores.items()]
            return dict(zip(stores, self.started.ask(jobs)))

    def check_list(self, results):
        for dialect, result in results.items():
            with self.subTest(dialect):
                self.assertIsNone(result["raised"])
                self.assertEqual(result["protocol"], self.protocol)
                tools = {tool["name"]: tool["description"] for tool in result["tools"]}
                self.assertEqual(sorted(tools), sorted(known_schemas(dialect)))
                self.assertTrue(all(tools.values()))

    def check_found(self, result):
        self.assertIsNone(result["raised"])
        self.assertFalse(result["is_error"], result["text"])
        self.assertIn(SENTENCE, result["text"])


class OverStdio(Sdk):
    @feature("stdio")
    def test_stdio(self):
        with self.stores() as stores:
            self.check_list(self.each(stores, lambda _: {"list": True}))


class OverHttp(Sdk):
    @feature("HTTP")
    def test_http(self):
        with support.data_folder() as data, support.Server(data) as server:
            jobs = [self.http(server, dialect, list=True) for dialect in CALLS]
            self.check_list(dict(zip(CALLS, self.started.ask(jobs))))

    @feature("restart")
    def test_restart(self):
        store, find, _ = [call(*known) for known in CALLS["mememory"]]
        with support.data_folder() as data, contextlib.ExitStack() as running:
            server = running.enter_context(support.Server(data))
            port = int(server.url.rpartition(":")[2])

            def restart():
                running.pop_all().close()
                running.enter_context(support.Server(data, port=port))

            job = self.http(server, "mememory", calls=[store, {"pause": True}, find])
            [result] = self.started.ask([job], restart)
            self.assertIsNone(result["raised"])
            self.check_found(result["results"][-1])


class Calls(Sdk):
    @feature("calls")
    def test_calls(self):
        with self.stores() as stores:
            results = self.each(stores, lambda dialect: {"calls": [call(*known) for known in CALLS[dialect]]})
            for dialect, result in results.items():
                with self.subTest(dialect):
                    self.assertIsNone(result["raised"])
                    *stored, found, read = result["results"]
                    for answer in stored:
                        self.assertIsNone(answer["raised"])
                        self.assertFalse(answer["is_error"], answer["text"])
                    self.check_found(found)
                    self.check_found(read)
                    if self.text:
                        expected = said(stores[dialect], dialect, *CALLS[dialect][-1])
                        self.assertEqual(read["text"].strip(), expected.strip())

    @feature("errors")
    def test_errors(self):
        self.check_errors()

    def check_errors(self):
        def mistakes(dialect):
            # Some clients check results against the output schemas once they have listed the tools.
            return {"list": True, "calls": [call(tool, arguments) for tool, arguments, _ in MISTAKES[dialect]]}

        with self.stores() as stores:
            for dialect, result in self.each(stores, mistakes).items():
                expected = zip(MISTAKES[dialect], known_errors(dialect), result["results"], strict=True)
                for (tool, _, argument), sentence, answer in expected:
                    with self.subTest(f"{dialect}, {argument}"):
                        self.assertIn(f"`{argument}`", sentence)
                        known = known_schemas(dialect)[tool]["properties"]
                        self.check_error(known.get(argument), sentence, answer)

    def check_error(self, schema, sentence, answer):
        """Checks what a client makes of the sentence about an argument, which has a schema if it is known."""
        self.assertIn(sentence, answer["text"] or answer["raised"])
        # None, if the client leaves it to the text.
        self.assertIsNot(answer["is_error"], False)


class NoToken(Sdk):
    """A client that hands on what a server says to a caller without a token."""

    # Whether it connects as it is, and with the login that it has for servers that want one.
    logins = [False]

    @feature("no token")
    def test_no_token(self):
        with support.data_folder() as data, support.Server(data) as server:
            for login in self.logins:
                with self.subTest(login=login):
                    [result] = self.started.ask([self.http(server, "mememory", token=False, oauth=login, list=True)])
                    self.assertEqual(result["tools"], [])
                    self.assertIn("loci token create", result["raised"])


class Schemas(Sdk):
    @feature("schemas")
    def test_schemas(self):
        with self.stores() as stores:
            for dialect, result in self.each(stores, lambda _: {"convert": True}).items():
                self.assertIsNone(result["raised"])
                converted = {tool["name"]: tool for tool in result["converted"]}
                self.assertEqual(sorted(converted), sorted(known_schemas(dialect)))
                for name, known in known_schemas(dialect).items():
                    with self.subTest(f"{dialect}, {name}"):
                        self.assertIsNone(converted[name]["raised"])
                        self.check_schema(known, converted[name]["schema"])

    def check_schema(self, known, schema):
        arguments, wanted = schema.get("properties", {}), known.get("properties", {})
        self.assertEqual({name: types(arguments[name]) for name in arguments}, {n: types(wanted[n]) for n in wanted})
        self.assertLessEqual(set(known.get("required", [])), set(schema.get("required", [])))


class LeftOut(Sdk):
    """A client that makes strict schemas, by which a model has to send a value for every argument."""

    @feature("left out")
    def test_left_out(self):
        arguments = known_schemas("mememory")["remember"]["properties"]
        optional = [name for name in arguments if name != "content"]
        empty = {name: [] if "array" in types(arguments[name]) else "" for name in optional}
        ways = {
            "null": dict.fromkeys(optional),
            "empty": empty,
            "global": {**empty, "scope": "global"},
            "objects": dict.fromkeys(optional, {}),
        }
        for way, given in ways.items():
            with self.subTest(way), support.data_folder() as data:
                calls = [call("remember", {"content": SENTENCE, **given}), call("list", {"scope": "global"})]
                [result] = self.started.ask([self.stdio(data, "mememory", calls=calls)])
                self.assertIsNone(result["raised"])
                for answer in result["results"]:
                    self.check_found(answer)


class Inspector0(OverStdio, Calls, unittest.TestCase):
    # Over HTTP it asks for /mcp, whatever the path of the URL.
    client = "inspector-0"
    program = "drive-inspector.py"


class Inspector2(OverStdio, OverHttp, Calls, NoToken, Schemas, unittest.TestCase):
    client = "inspector-2"
    program = "drive-inspector.py"
    logins = [False, True]


class McpRemote(OverHttp, Calls, NoToken, unittest.TestCase):
    client = "mcp-remote"
    program = "drive-mcp-remote.py"
    protocol = "2026-07-28"

    def connect(self, stack, data, dialect, **job):
        return self.http(stack.enter_context(support.Server(data)), dialect, **job)


class Mcporter(OverStdio, OverHttp, Calls, NoToken, unittest.TestCase):
    client = "mcporter"
    program = "drive-mcporter.py"
    # Without it, it shows no more than the status, and says how to log in.
    logins = [True]

    @feature("setup")
    def test_setup(self):
        with tempfile.TemporaryDirectory() as folder:
            programs = pathlib.Path(folder, "bin")
            programs.mkdir()
            (programs / "loci").symlink_to(support.LOCI)
            (programs / "mcporter").symlink_to(self.folder / "node_modules" / ".bin" / "mcporter")
            environ = environment(folder)
            environ["PATH"] = f"{programs}{os.pathsep}{environ['PATH']}"
            for line, expected in [(connect_line(self.client), "loci"), ("mcporter list loci", "remember")]:
                done = subprocess.run(
                    ["sh", "-c", line], cwd=folder, env=environ, capture_output=True, text=True, timeout=TIMEOUT
                )
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn(expected, done.stdout)


class TypeScript1(OverStdio, OverHttp, Calls, NoToken, unittest.TestCase):
    client = "typescript-1"
    program = "drive-typescript-1.mjs"
    logins = [False, True]


class TypeScript2(OverStdio, OverHttp, Calls, NoToken, unittest.TestCase):
    client = "typescript-2"
    program = "drive-typescript-2.mjs"
    protocol = "2026-07-28"
    # Without it, it says that the server wants authorization, and nothing that comes from the server.
    logins = [True]


class Python1(OverStdio, OverHttp, Calls, NoToken, unittest.TestCase):
    client = "python-1"
    program = "drive-python-1.py"
    protocol = "2025-11-25"
    # Without it, it reads no more than the status.
    logins = [True]


class Python2(OverStdio, OverHttp, Calls, NoToken, unittest.TestCase):
    client = "python-2"
    program = "drive-python-2.py"
    protocol = "2026-07-28"
    logins = [False, True]


class Fastmcp(OverStdio, OverHttp, Calls, NoToken, unittest.TestCase):
    client = "fastmcp"
    program = "drive-fastmcp.py"
    protocol = "2026-07-28"
    logins = [False, True]


class OpenAiAgents(OverStdio, OverHttp, Calls, NoToken, Schemas, LeftOut, unittest.TestCase):
    client = "openai-agents"
    program = "drive-openai-agents.py"


class PydanticAi(OverStdio, OverHttp, Calls, NoToken, Schemas, unittest.TestCase):
    client = "pydantic-ai"
    program = "drive-pydantic-ai.py"
    text = False


class LangChain(OverStdio, OverHttp, Calls, Schemas, LeftOut, unittest.TestCase):
    # It brings Python mcp 1.x, which reads no more than the status of a refusal.
    client = "langchain"
    program = "drive-langchain.py"


class LlamaIndex(OverStdio, OverHttp, Calls, NoToken, Schemas, unittest.TestCase):
    client = "llama-index"
    program = "drive-llama-index.py"


class GoogleGenAi(OverStdio, OverHttp, Calls, Schemas, unittest.TestCase):
    # Its user connects the session, with Python mcp, and is told what that tells.
    client = "google-genai"
    program = "drive-google-genai.py"
    protocol = "2025-11-25"


class GoogleAdk(OverStdio, OverHttp, Calls, NoToken, Schemas, unittest.TestCase):
    client = "google-adk"
    program = "drive-google-adk.py"


if __name__ == "__main__":
    unittest.main()

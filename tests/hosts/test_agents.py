"""Agent hosts, driven without a person against a scripted model: loci works in them, and files what is said."""

import asyncio
import collections
import concurrent.futures
import contextlib
import functools
import os
import pathlib
import re
import shutil
import sys
import threading
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]

import install
import support
from agents.claude_code import ClaudeCode
from agents.cline import Cline
from agents.codex import Codex
from agents.copilot import Copilot
from agents.gemini_cli import GeminiCli
from agents.host import WING, Failed
from agents.opencode import Opencode
from agents.qwen_code import QwenCode
from endpoint import Answer, Endpoint, plain
from features import CHOICE, ClientTests, connect_line, feature

LONG = "x" * 300
# For each tool set what the model stores, how it finds it again, and what it then reads.
CALLS = {
    "vault": (
        ("memory_append", {"title": "Owl posts", "body": "Owls hunt at post 12."}),
        ("memory_search", {"query": "owls"}),
        "Owls hunt at post 12.",
    ),
    "mememory": (
        ("remember", {"content": "Kestrels nest at post 4711."}),
        ("recall", {"query": "kestrels"}),
        "Kestrels nest at post 4711.",
    ),
    "memory-mcp": (
        ("store_decision", {"user_id": "local", "key": "larks", "value": "Larks sing at post 13."}),
        ("recall_decision", {"user_id": "local", "key": "larks"}),
        "Larks sing at post 13.",
    ),
    "engram": (
        (
            "store_memory",
            {"content": "Gulls cry at post 14.", "scope": "birds", "source": "user-said", "category": "decision"},
        ),
        ("search_memory", {"query": "gulls", "scope": "birds"}),
        "Gulls cry at post 14.",
    ),
    "mempalace": (
        ("mempalace_add_drawer", {"wing": "birds", "room": "posts", "content": "Terns dive at post 15."}),
        ("mempalace_search", {"query": "terns"}),
        "Terns dive at post 15.",
    ),
}
# A call of each tool set with a name that is too long, which no schema of an argument forbids, and loci's sentence.
MISTAKES = {
    "vault": (("memory_append", {"title": LONG, "body": "Owls."}), "`title` must have at most 256 characters"),
    "mememory": (("remember", {"content": "Kestrels.", "project": LONG}), "`project` must have at most 256 characters"),
    "memory-mcp": (
        ("store_decision", {"user_id": "local", "key": LONG, "value": "Larks."}),
        "`key` must have at most 256 characters",
    ),
    "engram": (("search_memory", {"query": "gulls", "scope": LONG}), "`scope` must have at most 256 characters"),
    "mempalace": (
        ("mempalace_add_drawer", {"wing": LONG, "room": "posts", "content": "Terns."}),
        "`wing` must have at most 128 characters",
    ),
}
# The server that the lines of docs/hosts connect to.
LINE_URL = "http://127.0.0.1:7821"
# How many sessions of each kind the soak runs.
SESSIONS = int(os.environ.get("LOCI_HOSTS_SESSIONS") or (20 if CHOICE == "all" else 1))
# Seconds that the model takes over an answer that is interrupted: more than the host lives after that.
SLOW = 60


@functools.cache
def known_tools(dialect):
    """The names of the tools of a tool set."""

    async def ask(data):
        async with support.stdio_client(data, "2026-07-28", dialect=dialect) as client:
            return [tool.name for tool in (await client.list_tools()).tools]

    with support.data_folder() as data:
        return asyncio.run(ask(data))


def greet(_request):
    """A model that has nothing to do."""
    return "At your service."


# The questions after which a host has to name the tools of all servers.
QUESTIONS_MAX = 3


class Caller:
    """A model that calls tools, round by round, and then is done; between two rounds the test may do something."""

    def __init__(self, host, *rounds):
        self.host, self.rounds = host, list(rounds)
        # The results of each round.
        self.results = []
        self.waits = self.has_searched = False

    def __call__(self, request):
        if self.waits:
            self.results.append("\n".join(request.results))
            self.waits = self.has_searched = False
        while self.rounds and callable(self.rounds[0]):
            self.rounds.pop(0)()
        if not self.rounds:
            return "Done."
        calls = self.rounds[0]
        if not self.has_searched and (search := self.host.discover(request, [call[:2] for call in calls])):
            self.has_searched = True
            return Answer(calls=search)
        self.waits = True
        del self.rounds[0]
        return Answer(calls=[self.host.call(request, *call) for call in calls])


class Speaker:
    """A model that knows the answers to some questions."""

    def __init__(self, answers):
        self.answers = answers
        self.asked = {question: threading.Event() for question in answers}

    def __call__(self, request):
        for text in reversed(request.texts("user")):
            # Gemini CLI puts what hooks say before the question.
            question = text.rpartition("</hook_context>")[2].strip()
            if question in self.answers:
                self.asked[question].set()
                return self.answers[question]
        raise KeyError(f"no question among {request.texts('user')}")


class HostTests(ClientTests):
    """Tests of one host, each in a home of its own."""

    host_class = None
    maxDiff = None

    def setUp(self):
        super().setUp()
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)
        self.endpoint = self.stack.enter_context(Endpoint(greet))
        self.host = self.stack.enter_context(self.host_class(self.folder, self.endpoint))

    def ask(self, prompt, **how):
        """Asks the host; what failed in the script fails the test."""
        try:
            self.host.ask(prompt, **how)
        finally:
            self.check_script()

    def check_script(self):
        for failure in self.endpoint.failures:
            raise failure


class Agent(HostTests):
    """Tests of every host."""

    # The endpoint and the host that some tests share, since some hosts take seconds to add a server.
    shared = None

    def connect_all(self):
        """Goes on with a host that all tool sets are connected to."""
        cls = type(self)
        if cls.shared is None:
            stack = contextlib.ExitStack()
            cls.addClassCleanup(stack.close)
            endpoint = stack.enter_context(Endpoint(greet))
            host = stack.enter_context(self.host_class(self.folder, endpoint))
            for dialect in CALLS:
                host.add(f"loci-{dialect}", dialect)
            cls.shared = endpoint, host
        self.endpoint, self.host = cls.shared
        self.endpoint.script = greet
        self.endpoint.failures.clear()

    def check_connected(self, servers):
        """Checks what the host lists, and which tools of each server the model is told of."""
        if (listed := self.host.mcp_list()) is not None:
            self.assertEqual(sorted(listed), sorted(servers))
        # On a busy machine a host may name the tools of a server that is slow to start from a later question on.
        for _ in range(QUESTIONS_MAX):
            self.ask("Are you there?")
            named = {server: self.host.offered(self.endpoint.requests[-1], server) for server in servers}
            counts = {server: len(known_tools(dialect)) for server, dialect in servers.items()}
            if not self.host.names_tools or counts == {server: len(named[server]) for server in servers}:
                break
        for server, dialect in servers.items():
            with self.subTest(dialect):
                offered = named[server]
                self.assertTrue(offered)
                if self.host.names_tools:
                    known = known_tools(dialect)
                    self.assertEqual(len(offered), len(known), offered)
                    unknown = [tool for tool in known if not any(name.endswith(plain(tool)) for name in offered)]
                    self.assertEqual(unknown, [])

    @feature("setup")
    def test_setup(self):
        self.host.shell(connect_line(self.client))
        self.check_connected({"loci": "mememory"})

    @feature("stdio")
    def test_stdio(self):
        self.connect_all()
        self.check_connected({f"loci-{dialect}": dialect for dialect in CALLS})

    @feature("HTTP")
    def test_http(self):
        # Some hosts take seconds to add a server, and over stdio all of them are tried as well.
        further = [dialect for dialect in CALLS if dialect != "mememory"] if CHOICE == "all" else []
        with support.data_folder() as data, support.Server(data) as server:
            self.host.environment["LOCI_TOKEN"] = server.token()
            self.host.shell(connect_line(self.client, "over HTTP").replace(LINE_URL, server.url))
            # Some hosts prefix tools with the server's name, so that none is the beginning of another.
            for dialect in further:
                self.host.add(f"by-{dialect}", dialect, f"{server.url}/mcp/{dialect}", server.token())
            self.check_connected({"loci": "mememory", **{f"by-{dialect}": dialect for dialect in further}})

    @feature("calls")
    def test_calls(self):
        self.connect_all()
        stores = [(f"loci-{dialect}", *store) for dialect, (store, _, _) in CALLS.items()]
        finds = [(f"loci-{dialect}", *find) for dialect, (_, find, _) in CALLS.items()]
        model = self.endpoint.script = Caller(self.host, stores, finds)
        self.ask("Keep what I say about birds, and find it again.")
        for dialect, (_, _, sentence) in CALLS.items():
            with self.subTest(dialect):
                self.assertIn(sentence, model.results[1])

    # How often the model is given a list, and a record.
    given = [1, 1]

    @feature("calls")
    def test_a_result_comes_once(self):
        self.connect_all()
        self.host.loci("add", "--project", "birds", "Swifts sleep in the air.")
        find = ("recall", {"query": "swifts", "project": "birds", "limit": 1})
        keep = ("remember", {"content": "Swans sing once.", "weight": 1.0})
        model = self.endpoint.script = Caller(self.host, [("loci-mememory", *find)], [("loci-mememory", *keep)])
        self.ask("Find what I said about swifts, and keep what I say about swans.")
        sentences = ["Swifts sleep in the air.", "Swans sing once."]
        self.assertEqual([result.count(said) for said, result in zip(sentences, model.results)], self.given)

    @feature("errors")
    def test_errors(self):
        self.connect_all()
        mistakes = [(f"loci-{dialect}", *mistake) for dialect, (mistake, _) in MISTAKES.items()]
        model = self.endpoint.script = Caller(self.host, mistakes)
        self.ask("Keep what I say about birds.")
        for dialect, (_, sentence) in MISTAKES.items():
            with self.subTest(dialect):
                self.assertIn(sentence, model.results[0])

    @feature("restart")
    def test_restart(self):
        store, find, sentence = CALLS["mememory"]
        with support.data_folder() as data, contextlib.ExitStack() as running:
            server = running.enter_context(support.Server(data))
            port = int(server.url.rpartition(":")[2])

            def restart():
                running.pop_all().close()
                running.enter_context(support.Server(data, port=port))

            self.host.add("loci", "mememory", f"{server.url}/mcp/mememory", server.token())
            model = self.endpoint.script = Caller(self.host, [("loci", *store)], restart, [("loci", *find)])
            self.ask("Keep what I say about birds, and find it again.")
            self.assertIn(sentence, model.results[1])


class Connected(HostTests):
    """Tests of a host that `loci connect` knows under the name of the client."""

    def files(self):
        """Every file and folder in the home, but what loci stores."""
        left_out = [self.host.home / "bin", self.host.home / ".local" / "share" / "loci"]
        paths = sorted(self.host.home.rglob("*"))
        kept = [path for path in paths if not any(path.is_relative_to(folder) for folder in left_out)]
        return {str(path): path.read_bytes() if path.is_file() else None for path in kept}

    @feature("setup")
    def test_loci_connect(self):
        # The hooks that other tests of this host begin with.
        self.host.loci("connect", self.client, "--undo")
        before = self.files()
        self.host.loci("connect", self.client, "--hooks", "--instructions")
        once = self.files()
        self.assertNotEqual(once, before)
        self.host.loci("connect", self.client, "--hooks", "--instructions")
        self.assertEqual(self.files(), once)
        self.host.loci("connect", self.client, "--undo")
        self.assertEqual(self.files(), before)

        self.host.loci("connect", self.client)
        self.check_connected({"loci": "mememory"})
        checked = self.host.loci("connect", self.client, "--check")
        self.assertIn(f"{self.client}: connected", checked)
        if self.host.listed_pattern is not None:
            self.assertIn(" mcp list`", checked)
        self.host.loci("connect", self.client, "--undo")
        if (listed := self.host.mcp_list()) is not None:
            self.assertEqual(listed, [])
        with self.assertRaises(Failed):
            self.host.loci("connect", self.client, "--check")

    @feature("HTTP")
    def test_loci_connect_over_http(self):
        with support.data_folder() as data, support.Server(data) as server:
            self.host.environment["LOCI_TOKEN"] = server.token()
            self.host.loci("connect", self.client, "--http", server.url)
            self.check_connected({"loci": "mememory"})
            holding = [path for path, text in self.files().items() if text and server.token().encode() in text]
            self.assertEqual(holding, [])


class Conversations(HostTests):
    """Tests of the messages that are filed."""

    QUESTION, ANSWER = "Where do kestrels nest?", "Kestrels nest at post 4711."
    SECOND_QUESTION, SECOND_ANSWER = "And when do the owls hunt?", "The owls hunt after midnight."

    def speak(self):
        self.endpoint.script = Speaker({self.QUESTION: self.ANSWER, self.SECOND_QUESTION: self.SECOND_ANSWER})

    def check_filed(self, *texts, wing=WING):
        """Checks that these are filed and nothing else: questions and answers by turns."""
        speakers = ["user", "assistant"] * len(texts)
        self.check_messages([(wing, speaker, text) for speaker, text in zip(speakers, texts)])

    def check_messages(self, messages):
        filed, expected = collections.Counter(self.host.filed()), collections.Counter(messages)
        self.assertEqual(
            {"missing": list((expected - filed).elements()), "too many": list((filed - expected).elements())},
            {"missing": [], "too many": []},
        )


class Hooks(Conversations):
    """Tests of hooks in a host that loci installs them into."""

    def setUp(self):
        super().setUp()
        self.host.install_hooks()

    def check_told(self, request):
        self.assertTrue(self.ANSWER in request.everything, "the model is not told what was said before")

    @feature("hooks")
    def test_hooks(self):
        self.speak()
        self.ask(self.QUESTION)
        self.check_filed(self.QUESTION, self.ANSWER)
        self.ask(self.SECOND_QUESTION)
        self.check_filed(self.QUESTION, self.ANSWER, self.SECOND_QUESTION, self.SECOND_ANSWER)

    @feature("hooks")
    def test_the_words_of_the_host_are_not_filed(self):
        self.endpoint.script = lambda _: Answer("The model is away.", status=400)
        with self.assertRaises(Failed):
            self.host.ask(self.QUESTION)
        self.check_filed(self.QUESTION)

    @feature("session start")
    def test_session_start(self):
        self.speak()
        self.ask(self.QUESTION)
        self.ask(self.SECOND_QUESTION)
        request = self.endpoint.requests[-1]
        self.assertEqual(request.texts("assistant"), [])
        self.check_told(request)
        # docs/hosts connects mememory, so that the agent has no tools of mempalace.
        self.assertEqual(re.findall(r"mempalace_\w+", request.everything), [])

    @feature("prompts")
    def test_a_prompt_brings_up_memories(self):
        fact = "The lighthouse keeper feeds the gulls at seven."
        self.host.loci("add", fact)
        question = "When does the lighthouse keeper feed the gulls?"
        self.endpoint.script = Speaker({question: "At seven."})
        self.ask(question)
        told = self.endpoint.requests[-1].everything
        _, frame, brought_up = told.partition("Memories of loci that may concern this prompt.")
        self.assertTrue(frame, told)
        self.assertIn(fact, brought_up)
        self.check_filed(question, "At seven.")

    @feature("resume")
    def test_resume(self):
        self.speak()
        self.ask(self.QUESTION)
        self.ask(self.SECOND_QUESTION, resume=True)
        # The session went on, or the model would not read what it said before.
        self.assertIn(self.ANSWER, self.endpoint.requests[-1].texts("assistant"))
        self.check_filed(self.QUESTION, self.ANSWER, self.SECOND_QUESTION, self.SECOND_ANSWER)

    def add_plugin(self):
        checkout = self.host.home / "checkout"
        for folder in (".agents", ".claude-plugin", "plugins"):
            shutil.copytree(install.ROOT / folder, checkout / folder)
        self.host.add_plugin(checkout)

    @feature("plug-in")
    def test_plugin(self):
        self.host.loci("hook", "uninstall", "--host", self.host.hook_name)
        self.add_plugin()
        if (listed := self.host.mcp_list()) is not None:
            self.assertEqual([name.rpartition(":")[2] for name in listed], ["loci"])
        self.speak()
        self.ask(self.QUESTION)
        self.ask(self.SECOND_QUESTION)
        self.check_told(self.endpoint.requests[-1])
        self.check_filed(self.QUESTION, self.ANSWER, self.SECOND_QUESTION, self.SECOND_ANSWER)

    @feature("plug-in")
    def test_a_plugin_beside_the_hooks(self):
        self.add_plugin()
        self.speak()
        self.ask(self.QUESTION)
        self.ask(self.SECOND_QUESTION)
        request = self.endpoint.requests[-1]
        self.assertEqual(request.everything.count("Notes of earlier sessions"), 1, request.everything)
        self.check_filed(self.QUESTION, self.ANSWER, self.SECOND_QUESTION, self.SECOND_ANSWER)
        self.assertIn("has loci twice", self.host.loci("doctor"))


class Told(HostTests):
    """Tests of hooks that tell the model what loci knows, in a host whose sessions loci does not read."""

    RULE = "Write the harbour log in blue ink."

    def setUp(self):
        super().setUp()
        self.host.install_hooks()

    @feature("session start")
    def test_session_start(self):
        self.host.loci("add", "--bootstrap", self.RULE)
        self.ask("Are you there?")
        self.assertIn(self.RULE, self.endpoint.requests[-1].everything)
        # What it was told is a part of the session.
        self.ask("And are you still there?", resume=True)
        self.assertEqual(self.endpoint.requests[-1].everything.count(self.RULE), 1)

    @feature("prompts")
    def test_a_prompt_brings_up_memories(self):
        self.host.loci("add", "The lighthouse keeper feeds the gulls at seven.")
        self.ask("When does the lighthouse keeper feed the gulls?")
        frame = "Memories of loci that may concern this prompt."
        self.assertEqual(self.endpoint.requests[-1].everything.count(frame), 1)

    @feature("prompts")
    def test_without_loci_the_prompt_goes_on(self):
        plugin = self.host.home / ".config" / "opencode" / "plugins" / "loci.js"
        plugin.write_text(re.sub(r'const command = \["[^"]+"', 'const command = ["/no/such/loci"', plugin.read_text()))
        self.ask("When does the lighthouse keeper feed the gulls?")
        self.assertIn("When does the lighthouse keeper", self.endpoint.requests[-1].everything)


class Compaction(Hooks):
    """Tests of hooks in a host that begins a session again when it compacts it."""

    # Whether the host tells its hooks the summary.
    names_summary = False

    @feature("compaction")
    def test_compaction(self):
        self.speak()
        self.ask(self.QUESTION)
        self.host.ask_compacted(self.SECOND_QUESTION)
        self.check_script()
        self.assertTrue(self.endpoint.summaries)
        self.check_told(self.endpoint.requests[-1])
        self.check_filed(self.QUESTION, self.ANSWER, self.SECOND_QUESTION, self.SECOND_ANSWER)
        self.assertEqual(len(self.host.summaries()), int(self.names_summary))


class ClaudeCodeTest(Agent, Connected, Compaction, unittest.TestCase):
    names_summary = True
    client = "claude-code"
    host_class = ClaudeCode

    @feature("hooks")
    def test_what_was_said_is_filed_while_the_session_goes_on(self):
        self.speak()
        with self.host.session() as ask:
            ask(self.QUESTION)
            self.check_filed(self.QUESTION, self.ANSWER)
            ask(self.SECOND_QUESTION)
            self.check_filed(self.QUESTION, self.ANSWER, self.SECOND_QUESTION, self.SECOND_ANSWER)
        self.check_filed(self.QUESTION, self.ANSWER, self.SECOND_QUESTION, self.SECOND_ANSWER)

    @feature("hooks")
    def test_the_same_answer_is_filed_each_time(self):
        self.endpoint.script = Speaker({self.QUESTION: "Done.", self.SECOND_QUESTION: "Done."})
        with self.host.session() as ask:
            ask(self.QUESTION)
            ask(self.SECOND_QUESTION)
            self.check_filed(self.QUESTION, "Done.", self.SECOND_QUESTION, "Done.")


class CodexTest(Agent, Connected, Compaction, unittest.TestCase):
    client = "codex"
    host_class = Codex


class GeminiCliTest(Agent, Connected, Hooks, unittest.TestCase):
    client = "gemini-cli"
    host_class = GeminiCli

    @feature("transcripts")
    def test_transcripts(self):
        # What the hooks would file is what is mined.
        self.host.loci("hook", "uninstall", "--host", "gemini-cli")
        self.speak()
        self.ask(self.QUESTION)
        self.ask(self.SECOND_QUESTION, resume=True)
        for _ in range(2):
            self.host.loci("palace", "mine", str(self.host.home / ".gemini" / "tmp"), "--mode", "convos", "--no-wait")
            self.check_filed(self.QUESTION, self.ANSWER, self.SECOND_QUESTION, self.SECOND_ANSWER)


class OpencodeTest(Agent, Connected, Told, unittest.TestCase):
    client = "opencode"
    host_class = Opencode


class CopilotTest(Agent, unittest.TestCase):
    client = "copilot"
    host_class = Copilot


class ClineTest(Agent, unittest.TestCase):
    client = "cline"
    host_class = Cline
    # It hands on the whole result of a tool, as JSON.
    given = [2, 2]


class QwenCodeTest(Agent, unittest.TestCase):
    client = "qwen-code"
    host_class = QwenCode
    # It hands on text and structured content unless they are the same, and the revision that it speaks wraps lists.
    given = [2, 1]


class ClaudeCodeSoak(Conversations, unittest.TestCase):
    """Many sessions of Claude Code, of each kind two at a time, in one store: all that was said is filed, and once."""

    client = "claude-code"
    host_class = ClaudeCode

    def setUp(self):
        super().setUp()
        self.host.install_hooks()

    def soak(self, session, turns=1, **answer):
        """Runs `session(host, *questions)` many times, each in a project of its own; gives questions and answers."""
        said = {
            f"session_{number}": [
                (f"Question {turn} of {number}?", f"Answer {turn} of {number}.") for turn in range(1, turns + 1)
            ]
            for number in range(1, SESSIONS + 1)
        }
        answers = {
            question: Answer(text, **answer) for conversation in said.values() for question, text in conversation
        }
        self.endpoint.script = self.model = Speaker(answers)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            runs = [
                pool.submit(session, self.host.elsewhere(project), *(question for question, _ in conversation))
                for project, conversation in said.items()
            ]
        for run in runs:
            run.result()
        self.check_script()
        return said

    def check_said(self, said):
        self.check_messages(
            [
                (project, speaker, text)
                for project, conversation in said.items()
                for turn in conversation
                for speaker, text in zip(("user", "assistant"), turn)
            ]
        )

    @feature("hooks")
    def test_answered_at_once(self):
        self.check_said(self.soak(ClaudeCode.ask))

    @feature("hooks")
    def test_answered_after_one_second(self):
        self.check_said(self.soak(ClaudeCode.ask, delay=1))

    @feature("hooks")
    def test_answered_after_two_seconds(self):
        self.check_said(self.soak(ClaudeCode.ask, delay=2))

    @feature("hooks")
    def test_interrupted(self):
        said = self.soak(lambda host, question: host.interrupt(question, self.model.asked[question]), delay=SLOW)
        self.check_said({project: [(question,)] for project, [(question, _)] in said.items()})

    @feature("resume")
    def test_resumed(self):
        def session(host, first, second):
            host.ask(first)
            host.ask(second, resume=True)

        self.check_said(self.soak(session, turns=2))

    @feature("compaction")
    def test_compacted(self):
        def session(host, first, second):
            host.ask(first)
            host.ask_compacted(second)

        self.check_said(self.soak(session, turns=2))
        self.assertGreaterEqual(len(self.endpoint.summaries), SESSIONS)


if __name__ == "__main__":
    unittest.main()

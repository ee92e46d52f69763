"""Frameworks for agents: what of a call reaches a server, and what of an answer a model, which a program plays."""

import json
import pathlib
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]

import echo
import support
from features import CHOICE, feature
from test_sdks import CALLS, SENTENCE, Calls, NoToken, OverHttp, OverStdio, Schemas, Sdk, call, known_schemas, said

# What a program sets for itself that starts a framework.
OWN = {"LOCI_DATA": "/of/the/program", "XDG_DATA_HOME": "/of/the/person"}
# Names of arguments that mean something to some framework.
NAMES = """
    _meta agent args arguments callbacks chat_options config context conversation_id copy ctx execution_settings id input
    json kernel kwargs metadata model_config name options response_format run_manager schema self service session state
    thread tool_choice tool_name tools type user_id
""".split()


def example(schema):
    """A value that a schema allows."""
    if "enum" in schema:
        return schema["enum"][0]
    if "anyOf" in schema:
        return example(schema["anyOf"][0])
    kind = schema.get("type", "string")
    if kind == "object":
        return {name: example(known) for name, known in schema.get("properties", {}).items()}
    if kind == "array":
        return [example(schema.get("items", {}))] * max(1, schema.get("minItems", 1))
    return {"string": "text", "integer": max(1, schema.get("minimum", 1)), "number": 0.5, "boolean": True}[kind]


def listed(name, schema):
    """A tool of a listing."""
    return {"name": name, "description": "A tool.", "inputSchema": schema}


class Reach(Sdk):
    """A framework before a server that answers with what reached it."""

    variables = OWN
    # The names of arguments that it keeps for itself: a model that gives one calls with less than it thinks, or not.
    kept = frozenset()
    # What it gives an argument that a model leaves out, by its schema; none, if it leaves it out, too.
    filled = None

    def ask_echo(self, jobs):
        """Has lists of calls made, each of tools of its own; gives their results."""
        with tempfile.TemporaryDirectory() as folder:

            def job(number, tools, calls, environment):
                path = pathlib.Path(folder, f"{number}.json")
                path.write_text(json.dumps(tools))
                command = [sys.executable, str(HERE / "echo.py"), str(path)]
                return {"transport": "stdio", "command": command, "env": environment, "calls": calls}

            return self.started.ask([job(number, *asked) for number, asked in enumerate(jobs)])

    def reached(self, result):
        """The arguments that reached the server by each of the calls of a job; none where the call didn't."""

        def of(answer):
            try:
                return echo.reached(answer["text"])["arguments"]
            except TypeError:
                return None

        return [of(answer) for answer in result["results"]]

    def check_arguments(self):
        """Checks the calls of all tools, with all their arguments and with those that they need."""
        for dialect in CALLS if CHOICE == "all" else ("memory-mcp", "mememory"):
            known = known_schemas(dialect)
            tools = [listed(name, schema) for name, schema in known.items()]
            full = {name: example(schema) for name, schema in known.items()}
            least = {name: {key: full[name][key] for key in known[name].get("required", [])} for name in full}
            calls = [[call(*named) for named in given.items()] for given in (full, least)]
            results = self.ask_echo([(tools, made, None) for made in calls])
            for made, result in zip(calls, results):
                self.assertIsNone(result["raised"])
                for asked, arguments in zip(made, self.reached(result), strict=True):
                    with self.subTest(f"{dialect}, {asked['tool']}"):
                        self.assertEqual(arguments, self.expected(known[asked["tool"]], asked["arguments"]))

    def expected(self, schema, given):
        """What reaches the server of a call."""
        sent = {name: value for name, value in given.items() if name not in self.kept}
        if self.filled is None:
            return sent
        return {**{name: self.filled(known) for name, known in schema.get("properties", {}).items()}, **sent}

    @feature("arguments")
    def test_arguments(self):
        self.check_arguments()

    def test_names_that_it_keeps(self):
        text = {"type": "string", "description": "A text."}
        tools = {name: listed(f"take_{name}", {"type": "object", "properties": {name: text}}) for name in NAMES}

        def kept(names):
            calls = [call(tools[name]["name"], {name: "text"}) for name in names]
            [result] = self.ask_echo([([tools[name] for name in names], calls, None)])
            reached = [arguments or {} for arguments in self.reached(result)]
            found = {name for name in names if {name: "text"} not in reached}
            if len(found) == len(names) > 1:
                # One of these tools may keep it from having any.
                return kept(names[::2]) | kept(names[1::2])
            return found

        self.assertEqual(kept(NAMES), self.kept)

    def test_variables_of_the_program_do_not_reach_a_server_that_it_starts(self):
        """What it names does, beside HOME and PATH; loci is told its data folder by that, or by its arguments."""
        job = ([listed("take", {"type": "object", "properties": {}})], [call("take", {})])
        alone, named = [
            echo.reached(result["results"][0]["text"])["environment"]
            for result in self.ask_echo([(*job, None), (*job, {"LOCI_DATA": "/named"})])
        ]
        self.assertEqual(OWN.keys() & alone.keys(), set())
        self.assertEqual(named["LOCI_DATA"], "/named")
        self.assertLessEqual({"HOME", "PATH"}, set(alone))
        self.assertLessEqual({"HOME", "PATH"}, set(named))

    @feature("notices")
    def test_notices(self):
        self.check_notice(True)

    def check_notice(self, told):
        schema = {"type": "object", "properties": {}}
        [result] = self.ask_echo([([listed("take", schema)], [call("take", {})], None)])
        [answer] = result["results"]
        self.assertTrue(echo.reached(answer["text"]))
        self.assertEqual(echo.NOTICE in answer["text"], told)


class OneText(Reach):
    """A framework whose model reads one of the texts of an answer, or the structured content in their stead."""

    def test_notices(self):
        self.check_notice(False)


class OwnErrors(Calls):
    """A framework that holds arguments against the schema, and does not ask the server about what doesn't fit."""

    # What it says of an argument that is not in the schema; none, if the server is asked.
    unknown = None
    # Whether it leaves out an argument that is not in the schema, in silence.
    drops_unknown = False

    def test_errors(self):
        self.check_errors()

    def check_error(self, schema, sentence, answer):
        told = answer["text"] or answer["raised"]
        if schema is None and self.drops_unknown:
            self.assertIsNot(answer["is_error"], True)
            self.assertNotIn(sentence, told)
        elif schema is None and self.unknown:
            self.assertIn(self.unknown, told)
        else:
            super().check_error(schema, sentence, answer)


class AgentFramework(OneText, OwnErrors, OverStdio, OverHttp, NoToken, Schemas, unittest.TestCase):
    client = "agent-framework"
    program = "drive-agent-framework.py"
    # Its model reads the structured content.
    text = False
    drops_unknown = True
    kept = frozenset(
        """
        _meta chat_options conversation_id ctx options response_format self session thread tool_choice tool_name tools
        """.split()
    )

    def test_arguments(self):
        self.check_arguments()

    def test_a_conversation_is_deleted_by_the_name_that_arrives(self):
        """Without it, the tags would choose, in every conversation."""
        with support.data_folder() as data:
            for conversation in ("harbour", "garden"):
                message = {"role": "user", "content": f"{SENTENCE} Said in the {conversation}.", "tags": ["boat"]}
                stored = {"user_id": "local", "conversation_id": conversation, "messages": [message]}
                said(data, "memory-mcp", "store_memory", stored)
            conditions = {"user_id": "local", "conversation": "harbour", "tags": ["boat"], "confirm": True}
            deleted = {"calls": [call("delete_memory", conditions)]}
            [result] = self.started.ask([self.stdio(data, "memory-mcp", **deleted)])
            self.assertFalse(result["results"][0]["is_error"], result["results"][0]["text"])
            left = said(data, "memory-mcp", "recall_memory", {"user_id": "local", "query": "boat"})
            self.assertNotIn("Said in the harbour", left)
            self.assertIn("Said in the garden", left)

    def test_errors_are_hidden_unless_asked_for(self):
        [dialect, mistake] = "mememory", call("recall", {"query": ""})
        with support.data_folder() as data:
            jobs = [self.stdio(data, dialect, calls=[mistake], plain=plain) for plain in (False, True)]
            told, plain = [result["results"][0]["text"] for result in self.started.ask(jobs)]
        self.assertIn("`query`", told)
        self.assertEqual(plain, "Error: Function failed.")


class SemanticKernel(Reach, OwnErrors, OverStdio, OverHttp, Schemas, unittest.TestCase):
    # Without a token its `connect` never ends.
    client = "semantic-kernel"
    program = "drive-semantic-kernel.py"
    # Its model reads how Python writes a list of contents, each text twice.
    text = False
    kept = frozenset(("arguments", "execution_settings", "kernel", "self", "service", "tool_name"))
    unknown = "Received unexpected argument(s): ['colour']."


class Smolagents(OneText, Calls, OverStdio, OverHttp, Schemas, unittest.TestCase):
    # Without a token it waits for 30 seconds, and says that it could not connect.
    client = "smolagents"
    program = "drive-smolagents.py"
    kept = frozenset(("self",))


class Strands(Reach, Calls, OverStdio, OverHttp, NoToken, Schemas, unittest.TestCase):
    client = "strands"
    program = "drive-strands.py"


class McpUse(Reach, OwnErrors, OverStdio, OverHttp, Schemas, unittest.TestCase):
    # Without a token it tells the status, and to provide an auth configuration.
    client = "mcp-use"
    program = "drive-mcp-use.py"
    drops_unknown = True
    kept = frozenset(("_meta", "model_config", "self"))

    @staticmethod
    def filled(schema):
        """It sends what a schema names as the value that is meant, or null, for each argument that is left out."""
        return schema.get("default")


class LangChainJs(Reach, Calls, OverStdio, OverHttp, NoToken, Schemas, unittest.TestCase):
    client = "langchain-js"
    program = "drive-langchain-js.mjs"
    # Of one text with structured content beside it, its model reads a JSON object with both.
    text = False


class Genkit(OneText, Calls, OverStdio, OverHttp, Schemas, unittest.TestCase):
    client = "genkit"
    program = "drive-genkit.mjs"
    # Its model reads the structured content.
    text = False

    def test_without_a_token_it_has_no_tools_and_no_error(self):
        with support.data_folder() as data, support.Server(data) as server:
            [result] = self.started.ask([self.http(server, "mememory", token=False, list=True)])
        self.assertEqual((result["tools"], result["raised"]), ([], None))


class OpenAiAgents(Reach, unittest.TestCase):
    client = "openai-agents"
    program = "drive-openai-agents.py"


class PydanticAi(OneText, unittest.TestCase):
    client = "pydantic-ai"
    program = "drive-pydantic-ai.py"


class LangChain(Reach, unittest.TestCase):
    client = "langchain"
    program = "drive-langchain.py"
    kept = frozenset(("config", "run_manager", "self"))


class LlamaIndex(Reach, unittest.TestCase):
    client = "llama-index"
    program = "drive-llama-index.py"
    kept = frozenset(("_meta", "model_config", "self"))


class GoogleGenAi(Reach, unittest.TestCase):
    client = "google-genai"
    program = "drive-google-genai.py"


class GoogleAdk(Reach, unittest.TestCase):
    client = "google-adk"
    program = "drive-google-adk.py"


if __name__ == "__main__":
    unittest.main()

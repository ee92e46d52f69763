"""Questions to the person, as the Python SDK's callbacks get and answer them, in both eras over both transports."""

import asyncio
import contextlib
import json
import pathlib
import tempfile

from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client
from mcp_types import ElicitResult
from support import LOCI, AsyncTestCase, Server, data_folder, environment, run, stored, texts, value

OLD = "The crane lifts 40 tons at the north pier."
NEW = "The crane lifts 55 tons at the north pier."
MODES = ("auto", "legacy")
# The shortest time for an answer, so that silence takes no minute.
IMPATIENT = {"LOCI_QUESTION_SECONDS": "5"}


class Person:
    """Answers each question in turn, and keeps what it was asked."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []
        self.was_asked = asyncio.Event()

    async def __call__(self, context, parameters):
        self.asked.append(parameters)
        self.was_asked.set()
        answer = self.answers[min(len(self.asked), len(self.answers)) - 1]
        if callable(answer):
            answer = answer(parameters.message)
        if answer is None:
            await asyncio.sleep(3600)
        if answer in ("decline", "cancel"):
            return ElicitResult(action=answer)
        return ElicitResult(action="accept", content={"answer": answer})


@contextlib.asynccontextmanager
async def client(place, mode, person, dialect="mememory", variables=None, folder=None):
    """A client whose person is asked: of a server, or of a process of its own on a data folder."""
    options = {"mode": mode, "elicitation_callback": person}
    if isinstance(place, Server):
        headers = {"Authorization": f"Bearer {place.token()}"}
        async with create_mcp_http_client(headers=headers) as http_client:
            transport = streamable_http_client(f"{place.url}/mcp/{dialect}", http_client=http_client)
            async with Client(transport, **options) as made:
                yield made
    else:
        environ = environment(place, variables)
        parameters = StdioServerParameters(command=LOCI, args=["mcp", dialect], env=environ, cwd=folder)
        async with Client(parameters, **options) as made:
            yield made


def said(result):
    return "\n".join(part.text for part in result.content)


class Questions(AsyncTestCase):
    async def everywhere(self, scenario, variables=None):
        """Runs a scenario on a fresh store in both eras over both transports."""
        for mode in MODES:
            with self.subTest(f"stdio {mode}"), data_folder() as data:
                await scenario(data, data, mode, variables)
            with self.subTest(f"http {mode}"), data_folder() as data, Server(data, variables=variables) as server:
                await scenario(data, server, mode, None)

    async def test_a_contradiction_is_decided_in_the_call(self):
        async def scenario(data, place, mode, variables):
            stored(data, OLD)
            person = Person("replace_old")
            async with client(place, mode, person, variables=variables) as agent:
                result = await agent.call_tool("remember", {"content": NEW})
                self.assertEqual(len(person.asked), 1)
                self.assertIn("55 tons", person.asked[0].message)
                self.assertIn("40 tons", person.asked[0].message)
                field = person.asked[0].requested_schema["properties"]["answer"]
                self.assertEqual(len(field["oneOf"]), 4)
                self.assertIn("the person was asked, and decided", said(result))
                self.assertNotIn("CONTRADICTION", said(result))
                found = value(await agent.call_tool("recall", {"query": "crane"}))
                self.assertEqual(found[0]["memory"]["content"], NEW)
                self.assertNotIn(OLD, [hit["memory"]["content"] for hit in found])

        await self.everywhere(scenario)

    async def test_declined_and_cancelled_questions_leave_things_as_they_are(self):
        async def scenario(data, place, mode, variables):
            doomed = stored(data, "The anchor is in the shed.")
            stored(data, OLD)
            person = Person("decline", "cancel", "keep")
            async with client(place, mode, person, variables=variables) as agent:
                contradiction = await agent.call_tool("remember", {"content": NEW})
                self.assertIn("CONTRADICTION DETECTED", said(contradiction))
                self.assertIn("does not decide it now", said(contradiction))
                for _ in range(2):
                    kept = await agent.call_tool("forget", {"id": doomed})
                    self.assertTrue(kept.is_error)
                    self.assertIn("nothing was deleted", said(kept))
                    self.assertIn("loci forget", said(kept))
                # Three questions are enough for a session.
                gone = await agent.call_tool("forget", {"id": doomed})
                self.assertFalse(gone.is_error, said(gone))
                self.assertEqual(len(person.asked), 3)

        await self.everywhere(scenario)

    async def test_an_agreed_deletion_and_a_wipe_are_done(self):
        async def scenario(data, place, mode, variables):
            doomed = stored(data, "The anchor is in the shed.")
            person = Person("delete")
            async with client(place, mode, person, variables=variables) as agent:
                gone = await agent.call_tool("forget", {"id": doomed})
                self.assertEqual(said(gone), f"Memory {doomed} deleted")
            self.assertIn("The anchor is in the shed.", person.asked[0].message)
            self.assertEqual(texts(data), [])

        await self.everywhere(scenario)

    async def test_silence_ends_as_if_nobody_could_be_asked(self):
        async def scenario(data, place, mode, variables):
            stored(data, OLD)
            person = Person(None)
            async with client(place, mode, person, variables=variables) as agent:
                call = asyncio.create_task(agent.call_tool("remember", {"content": NEW}))
                await person.was_asked.wait()
                if mode == "legacy":
                    result = await asyncio.wait_for(call, 60)
                    self.assertIn("CONTRADICTION DETECTED", said(result))
                    self.assertIn("gave no answer in time", said(result))
                else:
                    # The server is not asked again before the person answers.
                    call.cancel()
                    with contextlib.suppress(asyncio.CancelledError):
                        await call
            self.assertEqual(texts(data), [OLD, NEW])

        await self.everywhere(scenario, IMPATIENT)

    async def test_a_client_that_leaves_with_a_question_deletes_nothing(self):
        async def scenario(data, place, mode, variables):
            kept = stored(data, OLD)
            person = Person(None)
            async with client(place, mode, person, variables=variables) as agent:
                call = asyncio.create_task(agent.call_tool("forget", {"id": kept}))
                await person.was_asked.wait()
                call.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await call
            self.assertEqual(texts(data), [OLD])

        await self.everywhere(scenario)

    async def test_two_questions_at_once_get_their_own_answers(self):
        async def scenario(data, place, mode, variables):
            first, second = stored(data, "The first anchor."), stored(data, "The second anchor.")
            person = Person(lambda message: "delete" if "first" in message else "keep")
            async with client(place, mode, person, variables=variables) as agent:
                calls = [agent.call_tool("forget", {"id": one}) for one in (first, second)]
                gone, kept = await asyncio.gather(*calls)
                self.assertFalse(gone.is_error)
                self.assertTrue(kept.is_error)
            self.assertEqual(texts(data), ["The second anchor."])

        await self.everywhere(scenario)

    async def test_the_setting_turns_questions_off(self):
        async def scenario(data, place, mode, variables):
            doomed = stored(data, OLD)
            person = Person("keep")
            async with client(place, mode, person, variables=variables) as agent:
                gone = await agent.call_tool("forget", {"id": doomed})
                self.assertEqual(said(gone), f"Memory {doomed} deleted")
            self.assertEqual(person.asked, [])

        await self.everywhere(scenario, {"LOCI_QUESTIONS": "false"})

    async def test_a_checkout_that_names_its_wing_asks_once_and_an_answer_is_remembered(self):
        for answer, agreed in (("yes", True), ("no", False)):
            for mode in MODES:
                with self.subTest(answer=answer, mode=mode), data_folder() as data:
                    folder = stack_folder(self)
                    (folder / ".loci-palace.toml").write_text('wing = "quay"\n')
                    asked = []
                    for _ in range(2):
                        person = Person(answer)
                        async with client(data, mode, person, dialect="mempalace", folder=folder) as agent:
                            for _ in range(2):
                                result = await agent.call_tool("mempalace_search", {"query": "crane"})
                                self.assertFalse(result.is_error, said(result))
                        asked.append(len(person.asked))
                    self.assertEqual(asked, [1, 0])
                    trusted = run(data, "palace", "trust", "--list").stdout.decode()
                    self.assertEqual(str(folder) in trusted, agreed, trusted)

    async def test_the_first_directive_of_a_stranger_is_asked_about_once(self):
        for answer, followed, first in (("yes", True, "auto"), ("no", False, "legacy")):
            with self.subTest(answer=answer), data_folder() as data, Server(data) as server:
                made = run(data, "token", "create", "--subject", "ann", "--json")
                self.assertEqual(made.returncode, 0, made.stderr)
                token = json.loads(made.stdout)["token"]
                async with server.client("auto", token=token) as ann:
                    rule = {"content": "Write in British English.", "type": "bootstrap"}
                    self.assertFalse((await ann.call_tool("remember", rule)).is_error)
                made = run(data, "token", "create", "--subject", "bob", "--json")
                server.token = lambda token=json.loads(made.stdout)["token"]: token
                # The background looks at what is stored a moment later.
                for _ in range(120):
                    if b"British English" in run(data, "review", "list").stdout:
                        break
                    await asyncio.sleep(0.5)
                asked = []
                for mode in (first, *MODES):
                    person = Person(answer)
                    async with client(server, mode, person) as bob:
                        result = await bob.call_tool("recall", {"query": "English"})
                        self.assertFalse(result.is_error, said(result))
                    asked += person.asked
                self.assertEqual(len(asked), 1)
                self.assertIn("ann wrote this", asked[0].message)
                self.assertIn("Write in British English.", asked[0].message)
                trusted = run(data, "trust", "--reader", "bob").stdout.decode()
                self.assertEqual("ann" in trusted, followed, trusted)

    async def test_a_wipe_of_a_user_is_asked_about(self):
        async def scenario(data, place, mode, variables):
            person = Person("keep", "delete")
            user = {"user_id": "local"}
            async with client(place, mode, person, dialect="memory-mcp", variables=variables) as agent:
                said_by_ann = [{"role": "human", "content": "Ann drinks tea"}]
                await agent.call_tool("store_memory", {**user, "messages": said_by_ann})
                kept = await agent.call_tool("wipe_user_data", {**user, "confirm": True})
                self.assertTrue(kept.is_error, said(kept))
                found = await agent.call_tool("recall_memory", {**user, "query": "tea"})
                self.assertIn("Ann drinks tea", said(found))
                gone = await agent.call_tool("wipe_user_data", {**user, "confirm": True})
                self.assertFalse(gone.is_error, said(gone))
                self.assertIn("all data of local", person.asked[0].message)

        await self.everywhere(scenario)


def stack_folder(test):
    """A folder that goes with the test."""
    folder = tempfile.TemporaryDirectory(prefix="loci-e2e-")
    test.addCleanup(folder.cleanup)
    return pathlib.Path(folder.name).resolve()

"""Questions to the person, as the TypeScript SDK gets and answers them, in both eras over both transports."""

import json
import pathlib
import subprocess
import sys
import unittest

from browser import LOCI, ROOT, Server, environment

sys.path.insert(0, "tests/e2e")
from support import data_folder, stored, texts  # noqa: E402

FOLDER = pathlib.Path(__file__).resolve().parent
NODE = ROOT / ".venv" / "bin" / "node"
OLD = "The crane lifts 40 tons at the north pier."
NEW = "The crane lifts 55 tons at the north pier."
MODES = ("auto", "legacy")


class Questions(unittest.TestCase):
    def everywhere(self, scenario, variables=None):
        """Runs a scenario on a fresh store in both eras over both transports."""
        for mode in MODES:
            with self.subTest(f"stdio {mode}"), data_folder() as data:
                command = [LOCI, "mcp", "mememory"]
                scenario(data, {"mode": mode, "command": command, "env": environment(data, variables)})
            with self.subTest(f"http {mode}"), data_folder() as data:
                server = Server(data, variables=variables)
                try:
                    scenario(data, {"mode": mode, "url": f"{server.url}/mcp/mememory", "token": server.token()})
                finally:
                    server.stop()

    def asked(self, place, answers, *calls, **options):
        """What a person was asked who gives these answers, and the results of the calls."""
        given = json.dumps({**place, "answers": answers, "calls": calls, **options})
        command = [NODE, FOLDER / "questions_client.mjs"]
        done = subprocess.run(command, cwd=FOLDER, input=given, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        told = json.loads(done.stdout)
        return told["asked"], told["results"]

    def test_a_contradiction_is_decided_in_the_call(self):
        def scenario(data, place):
            stored(data, OLD)
            asked, [result] = self.asked(place, ["update_old"], ("remember", {"content": NEW}))
            self.assertEqual(len(asked), 1)
            self.assertIn("55 tons", asked[0]["message"])
            self.assertIn("the person was asked, and decided", result["text"])
            self.assertEqual(texts(data), [NEW])

        self.everywhere(scenario)

    def test_declined_and_cancelled_questions_leave_things_as_they_are(self):
        def scenario(data, place):
            doomed = stored(data, "The anchor is in the shed.")
            stored(data, OLD)
            forget = ("forget", {"id": doomed})
            asked, results = self.asked(place, ["decline", "cancel", "keep"], ("remember", {"content": NEW}), forget, forget)
            self.assertEqual(len(asked), 3)
            self.assertIn("does not decide it now", results[0]["text"])
            for kept in results[1:]:
                self.assertTrue(kept["isError"])
                self.assertIn("nothing was deleted", kept["text"])
            self.assertEqual(texts(data), ["The anchor is in the shed.", OLD, NEW])

        self.everywhere(scenario)

    def test_an_agreed_deletion_is_done(self):
        def scenario(data, place):
            doomed = stored(data, OLD)
            asked, [gone] = self.asked(place, ["delete"], ("forget", {"id": doomed}))
            self.assertIn(OLD, asked[0]["message"])
            self.assertEqual(gone, {"text": f"Memory {doomed} deleted", "isError": False})
            self.assertEqual(texts(data), [])

        self.everywhere(scenario)

    def test_silence_ends_as_if_nobody_could_be_asked(self):
        def scenario(data, place):
            stored(data, OLD)
            remember = ("remember", {"content": NEW})
            if place["mode"] == "legacy":
                _, [result] = self.asked(place, [None], remember)
                self.assertIn("gave no answer in time", result["text"])
            else:
                self.asked(place, [None], remember, leaves=True)
            self.assertEqual(texts(data), [OLD, NEW])

        self.everywhere(scenario, {"LOCI_QUESTION_SECONDS": "5"})

    def test_a_client_that_leaves_with_a_question_deletes_nothing(self):
        def scenario(data, place):
            kept = stored(data, OLD)
            self.asked(place, [None], ("forget", {"id": kept}), leaves=True)
            self.assertEqual(texts(data), [OLD])

        self.everywhere(scenario)

    def test_two_questions_at_once_get_an_answer_each(self):
        def scenario(data, place):
            ids = [stored(data, "The first anchor."), stored(data, "The second anchor.")]
            calls = [("forget", {"id": one}) for one in ids]
            asked, results = self.asked(place, ["delete", "keep"], *calls, together=True)
            gone = ["first" in params["message"] for params in asked].index(True)
            self.assertEqual([result["isError"] for result in results], [gone != 0, gone != 1])
            self.assertEqual(texts(data), ["The second anchor." if gone == 0 else "The first anchor."])

        self.everywhere(scenario)


if __name__ == "__main__":
    unittest.main()

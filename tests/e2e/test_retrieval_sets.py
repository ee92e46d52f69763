"""The parts of `scripts/retrieval-sets` that make questions and texts of what packages ship."""

import importlib.machinery
import importlib.util
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts/retrieval-sets"


def script():
    loader = importlib.machinery.SourceFileLoader("retrieval_sets", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


class RetrievalSets(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.script = script()

    def test_the_first_sentence_is_the_question_and_the_rest_the_text(self):
        rows = {
            "Opens a file. It must exist.": ("Opens a file.", "It must exist."),
            "Opens a file.\n\nIt must exist.": ("Opens a file.", "It must exist."),
            "Opens\na file": ("Opens a file", ""),
            "Reads e.g. a file. Fails else.": ("Reads e.g. a file.", "Fails else."),
        }
        for text, expected in rows.items():
            self.assertEqual(self.script.sentences(text), expected)

    def test_halves_are_of_one_size_and_stay(self):
        halves = [self.script.half_of(f"question {number}") for number in range(1_000)]
        self.assertTrue(450 < halves.count("train") < 550)
        self.assertEqual(halves, [self.script.half_of(f"question {number}") for number in range(1_000)])

    def test_a_question_has_one_answer_that_does_not_repeat_it(self):
        pairs = [
            ("a", "How to open it", "Turn the key."),
            ("b", "how to  open it", "Push the door."),
            ("c", "How to close it", "How to close it: pull."),
            ("d", "How to lock it", "Slide the bolt."),
            ("e", "How to lift it", "Slide the bolt."),
            ("f", "How to paint it", "Brush twice."),
        ]
        texts, questions = self.script.pairs_to_set(pairs)
        self.assertEqual(([text["id"] for text in texts], [row["answers"] for row in questions]), (["f"], [["f"]]))

    def test_sections_know_the_headings_above_them(self):
        text = "=====\nTitle\n=====\n\n.. _label:\n\nPart\n====\n\nSee :setting:`DEBUG`.\n\nSmall\n-----\n\nText ``x``.\n"
        found = list(self.script.sections_of(text))
        self.assertEqual(found[1:], [("Title", "Part", "See DEBUG."), ("Title: Part", "Small", "Text x.")])

    def test_the_docstring_that_is_the_question_is_not_in_the_file(self):
        source = '"""Short."""\n\nclass Reader:\n    """Reads rows of a file in order. Then ends."""\n\n    size = 1\n'
        question, rest = self.script.without_docstring(source)
        self.assertEqual(question, "Reads rows of a file in order.")
        self.assertEqual(rest, '"""Short."""\n\nclass Reader:\n\n    size = 1\n')

    def test_a_commit_is_answered_by_what_led_to_it(self):
        session = (
            "2024-08-06 08:47:10\n\n#### add a flag\n\nHere is the flag.\n\n"
            "> Commit 1234567 chore: tidy what was changed by hand\n> Applied edit to main.py\n"
            "> Commit 89abcde feat: Add a flag to the program\n"
        )
        messages, commits = self.script.messages_of("session 1", session)
        self.assertEqual([message["role"] for message in messages], ["human", "ai", "tool"])
        self.assertEqual(commits, [("Add a flag to the program", ["session 1, 1", "session 1, 2"])])


if __name__ == "__main__":
    unittest.main()

"""The book of docs, without mdBook: how its links are turned, and that its charts are what their figures say."""

import importlib.machinery
import importlib.util
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def program(name):
    loader = importlib.machinery.SourceFileLoader(name, str(ROOT / "scripts" / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


def chapter(source, text, path=None, inner=()):
    return {"Chapter": {"content": text, "path": path or source, "source_path": source, "sub_items": list(inner)}}


class Book(unittest.TestCase):
    def turned(self, text, source="hosts/README.md"):
        """What becomes of the text of a page in a book of three others."""
        others = [chapter("faq.md", ""), chapter("../SECURITY.md", ""), chapter("../README.md", "", "../index.md")]
        page = chapter(source, text, source.replace("README", "index"))
        within = chapter("a.md", "", inner=[page])
        program("book").preprocess({"items": [{"PartTitle": "Start"}, "Separator", within, *others]})
        self.assertEqual(others[1]["Chapter"]["path"], "SECURITY.md")
        return page["Chapter"]["content"]

    def test_links_within_the_book_lead_to_its_pages(self):
        for text, expected in (
            ("[a](../faq.md#two)", "[a](../faq.md#two)"),
            ("[a](../../SECURITY.md)", "[a](../SECURITY.md)"),
            ("[`a`](../../README.md) and [b](.)", "[`a`](../index.md) and [b](index.md)"),
            ("![Now](../page/now.png)", "![Now](../page/now.png)"),
            ("[![Now](../page/now.png)](../faq.md)", "[![Now](../page/now.png)](../faq.md)"),
            ("[a](#here) [b](https://example.org/x.md)", "[a](#here) [b](https://example.org/x.md)"),
        ):
            with self.subTest(text):
                self.assertEqual(self.turned(text), expected)

    def test_of_links_out_of_the_book_the_text_stays(self):
        self.assertEqual(self.turned("see [`main.rs`](../../crates/loci/src/main.rs)."), "see `main.rs`.")
        self.assertEqual(self.turned("[a](../SUMMARY.md)"), "a")
        self.assertEqual(self.turned("[crates](../../crates)"), "crates")

    def test_code_stays_as_it_is(self):
        for code in ("`[a](../../crates/x.rs)`", "```\n[a](../../crates/x.rs)\n```\n"):
            self.assertEqual(self.turned(code), code)

    def test_a_chart_has_a_bar_as_long_as_its_figure(self):
        charts = program("charts")
        kind = {"kind": "names", "ranking": "words alone", "questions": 60}
        kind |= {"hit_at_1": 0.25, "hit_at_5": 0.5, "hit_at_10": 1.0}
        drawn = charts.needles({"kinds": [kind]})
        for share in (0.25, 0.5, 1):
            self.assertIn(f'width="{charts.BAR * share:.1f}"', drawn)
        self.assertIn("names (60)", drawn)
        self.assertIn("words only", drawn)
        costs = [
            {"name": "a <start>", "p50": 5.0, "p95": 6.0, "unit": "ms", "goal": "10"},
            {"name": "memory", "p50": 20.0, "p95": None, "unit": "MiB", "goal": "10"},
            {"name": "no goal", "p50": 1.0, "p95": None, "unit": "ms", "goal": ""},
        ]
        drawn = charts.speed(costs)
        # The longest bar is twice its goal, and that of a quarter of it has a quarter of the length.
        lengths = [float(length) for length in re.findall(r'<rect x="330.0"[^>]* width="([0-9.]+)"', drawn)]
        self.assertEqual(len(lengths), 2)
        self.assertEqual(lengths[1] / lengths[0], 4)
        self.assertIn("a &lt;start&gt;", drawn)
        self.assertNotIn("no goal", drawn)

    def test_charts_are_what_their_figures_say(self):
        checked = subprocess.run(
            [sys.executable, ROOT / "scripts" / "charts", "--check"], capture_output=True, text=True, timeout=60
        )
        self.assertEqual((checked.returncode, checked.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()

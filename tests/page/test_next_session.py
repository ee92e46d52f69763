"""Story 38: what the next session begins with, byte for byte, and its order."""

import contextlib
import sys
import unittest

from browser import Browser, Server, add, axe, entrance, looks, programs, run

sys.path.insert(0, "tests/e2e")
from support import data_folder  # noqa: E402

AXE = axe()
# Drags the last row onto the upper half of the one before it, as a mouse does.
DRAG = """
const rows = [...document.querySelectorAll(".starts li[draggable]")].slice(-2);
const box = rows[0].getBoundingClientRect();
const dataTransfer = new DataTransfer();
const send = (row, kind) => row.dispatchEvent(new DragEvent(kind, {
  bubbles: true, cancelable: true, dataTransfer, clientX: box.left + 9, clientY: box.top + 2,
}));
send(rows[1], "dragstart");
send(rows[0], "dragover");
send(rows[0], "drop");
"""


@unittest.skipUnless(programs(), "page: SKIPPED: there is no Chromium here; run scripts/setup")
class NextSession(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        stack = contextlib.ExitStack()
        cls.addClassCleanup(stack.close)
        cls.data = stack.enter_context(data_folder())
        cls.server = Server(cls.data)
        stack.callback(cls.server.stop)
        add(cls.data, "Answer in British English.", "--type", "rule", "--bootstrap")
        for text in ("Run the tests before a commit.", "Never push on a Friday.", "Names of branches are short."):
            add(cls.data, text, "--type", "rule", "--project", "shop", "--bootstrap")
        add(cls.data, "The staging server restarts every Monday at six.", "--project", "shop")

    def printed(self):
        done = run(self.data, "bootstrap", "--project", "shop")
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.decode()

    def shown(self, browser):
        return browser.find("#session-text").get_property("textContent")

    def test_the_text_is_what_loci_bootstrap_prints_and_the_order_changes_both(self):
        for look in looks():
            with self.subTest(**look):
                browser = Browser(self.server.url, **look)
                self.addCleanup(browser.close)
                browser.open(entrance(self.data, self.server.url))
                self.changes(browser)

    def changes(self, browser):
        browser.open("/next-session?project=shop")
        before = self.printed()
        self.assertEqual(self.shown(browser), before)
        self.assertEqual(len(browser.all("figure.chart rect")), 4)
        last = browser.all("ol.starts li")[-1]
        moved = last.find_element("css selector", "a").text
        browser.click(last.find_element("css selector", "button[value=up]"))
        browser.says("The order was changed.")
        after = self.printed()
        self.assertNotEqual(after, before)
        self.assertEqual(self.shown(browser), after)
        self.assertEqual(browser.all("ol.starts li a")[-2].text, moved)
        browser.press("Undo")
        browser.says("Undone")
        self.assertEqual(self.printed(), before)

        # The same by dragging the last one onto the one before it.
        browser.loaded(".starts")
        browser.driver.execute_script(DRAG)
        browser.says("The order was changed.")
        self.assertEqual(self.printed(), after)
        browser.press("Undo")
        browser.says("Undone")
        self.assertEqual(self.printed(), before)

        browser.open("/next-session?project=shop")
        browser.fill("content", "Ask before you delete.")
        browser.press("Begin sessions with it")
        browser.says("Ask before you delete.")
        self.assertIn("Ask before you delete.", self.printed())
        browser.click(browser.all("ol.starts li")[-1].find_element("css selector", "button[formaction$=unpin]"))
        browser.says("found by searches alone now")
        self.assertEqual(self.printed(), before)

        browser.open("/next-session?project=shop")
        browser.fill("prompt", "When does the staging server restart?")
        browser.click(browser.find("textarea[name=prompt]").find_element("xpath", "ancestor::form//button"))
        self.assertIn("every Monday at six", browser.find("#prompt-text").text)

        scrolls = "return document.documentElement.scrollWidth > document.documentElement.clientWidth"
        self.assertFalse(browser.driver.execute_script(scrolls))
        if AXE:
            self.assertEqual(browser.violations(AXE), [])
        self.assertEqual(browser.faults(), [])


if __name__ == "__main__":
    unittest.main()

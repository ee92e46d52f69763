"""What keys do in each view, the palette, and the results of changes: announced, hidden, looked up again."""

import contextlib
import sys
import tempfile
import time
import unittest

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from browser import LOOKS, Browser, Server, add, axe, entrance, programs

sys.path.insert(0, "tests/e2e")
from support import data_folder  # noqa: E402

AXE = axe()
# The clipboard of a headless browser is not that of the machine.
CATCH_COPIES = "navigator.clipboard.writeText = async (text) => { window.copied = text; };"
HIDDEN_AFTER_SECONDS = 10


@unittest.skipUnless(programs(), "page: SKIPPED: there is no Chromium here; run scripts/setup")
class Keyboard(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stack = contextlib.ExitStack()
        cls.addClassCleanup(cls.stack.close)
        cls.data = cls.stack.enter_context(data_folder())
        home = cls.stack.enter_context(tempfile.TemporaryDirectory(prefix="loci-page-home-"))
        cls.server = Server(cls.data, variables={"HOME": home})
        cls.stack.callback(cls.server.stop)
        cls.kept = []

    def browsers(self):
        """A browser of each look, which has signed in; each is started once."""
        for number, look in enumerate(LOOKS):
            if len(self.kept) == number:
                browser = Browser(self.server.url, **look)
                self.addClassCleanup(browser.close)
                browser.open(entrance(self.data, self.server.url))
                browser.find(".bar .menu")
                self.kept.append(browser)
            browser = self.kept[number]
            browser.number = number
            yield browser
            self.assertEqual(browser.faults(), [])

    def keys(self, browser, text):
        browser.driver.switch_to.active_element.send_keys(text)

    def room(self, browser, name):
        """A project of two memories, at its first row."""
        name = f"{name}{browser.number}"
        ids = [add(self.data, f"The {number} of {name}.", "--project", name) for number in ("first", "second")]
        browser.open(f"/browse/room?wing={name}")
        browser.loaded("[data-row]")
        self.keys(browser, "j")
        return ids

    def test_a_row_is_edited_tagged_moved_forgotten_and_copied_by_keys(self):
        for browser in self.browsers():
            with self.subTest(look=LOOKS[browser.number]):
                first, second = self.room(browser, "attic")
                browser.driver.execute_script(CATCH_COPIES)
                self.keys(browser, "c")
                copied = browser.until(lambda browser=browser: browser.driver.execute_script("return window.copied"), "the copy")
                self.assertEqual(copied, f"The second of attic{browser.number}.")
                browser.until(lambda browser=browser: browser.find("#said").text == "Copied", "the word about it")
                self.keys(browser, "t")
                browser.says("1 selected")
                self.keys(browser, f"brass{browser.number}")
                browser.press("Change tags")
                browser.until(lambda browser=browser: "Tagged 1 memory" in browser.text(), "the tag")
                browser.open(f"/memory/{second}")
                browser.says(f"brass{browser.number}")
                browser.driver.back()
                browser.loaded("[data-row]")
                self.keys(browser, "j")
                self.keys(browser, "e")
                browser.until(lambda browser=browser: browser.driver.switch_to.active_element.get_dom_attribute("name") == "content", "the text")
                self.assertEqual(browser.path(), f"/memory/{second}")
                del first

    def test_a_memory_has_the_same_keys(self):
        for browser in self.browsers():
            with self.subTest(look=LOOKS[browser.number]):
                memory = add(self.data, f"The bell of {browser.number} rings at noon.", "--project", "bells")
                browser.open(f"/memory/{memory}")
                browser.loaded(".memory")
                browser.driver.execute_script(CATCH_COPIES)
                self.keys(browser, "c")
                copied = browser.until(lambda browser=browser: browser.driver.execute_script("return window.copied"), "the copy")
                self.assertEqual(copied, f"The bell of {browser.number} rings at noon.")
                for key, name in (("e", "content"), ("t", "add"), ("m", "wing")):
                    browser.open(f"/memory/{memory}")
                    browser.loaded(".memory")
                    self.keys(browser, key)
                    focused = browser.driver.switch_to.active_element
                    self.assertEqual(focused.get_dom_attribute("name"), name)
                browser.open(f"/memory/{memory}")
                browser.loaded(".memory")
                self.keys(browser, "#")
                browser.says("Forgot 1 memory")
                browser.loaded("[data-undo]")
                browser.find("body").send_keys("z")
                browser.says("Undone")

    def test_the_keys_of_a_view_are_listed(self):
        for browser in self.browsers():
            browser.open("/browse/room")
            browser.loaded("main")
            browser.find("body").send_keys("?")
            for key in ("space", "X", "e", "t", "m", "#", "c", "z"):
                browser.until(lambda browser=browser, key=key: key in [shown.text for shown in browser.all("#keys kbd")], key)
            self.keys(browser, Keys.ESCAPE)

    def test_a_result_is_announced_hidden_and_looked_up_again(self):
        for browser in self.browsers():
            with self.subTest(look=LOOKS[browser.number]):
                self.room(browser, "cellar")
                self.keys(browser, "#")
                browser.says("Forgot 1 memory")
                started = time.monotonic()
                if AXE:
                    self.assertEqual(browser.violations(AXE), [])
                browser.until(lambda browser=browser: not browser.find(".outcome").is_displayed(), "the end of the toast")
                self.assertGreater(time.monotonic() - started, HIDDEN_AFTER_SECONDS / 2)
                browser.open("/history")
                if AXE:
                    self.assertEqual(browser.violations(AXE), [])
                wide = browser.driver.execute_script("return [document.documentElement.scrollWidth, innerWidth]")
                self.assertLessEqual(wide[0], wide[1])
                browser.click(browser.find(".past button"))
                browser.says("Undone")
                browser.open(f"/browse/room?wing=cellar{browser.number}")
                browser.until(lambda browser=browser: len(browser.all(".rows tbody tr")) == 2, "both again")

    def test_the_history_needs_no_scripts(self):
        browser = Browser(self.server.url, scripts=False)
        self.addCleanup(browser.close)
        browser.open(entrance(self.data, self.server.url))
        memory = add(self.data, "The loft is dry.", "--project", "loft")
        browser.open(f"/memory/{memory}")
        browser.press("Forget")
        browser.says("Forgot 1 memory")
        browser.find(".outcome a[href='/history']").click()
        browser.press("Undo")
        browser.says("Undone")
        browser.open("/browse/room?wing=loft")
        browser.says("The loft is dry.")

    def test_the_palette_has_places_saved_searches_actions_and_memories(self):
        for browser in self.browsers():
            with self.subTest(look=LOOKS[browser.number]):
                memory = add(self.data, f"The dovecote {browser.number} is white.", "--project", "birds")
                browser.open("/search?q=dovecote&wing=birds")
                if browser.number == 0:
                    browser.fill("name", "white birds")
                    browser.press("Save this search")
                    browser.says("The search was saved.")
                browser.open(f"/memory/{memory}")
                browser.loaded(".memory")

                def entries(browser=browser):
                    return [entry.text for entry in browser.all("#palette-list li")]

                browser.find("body").send_keys(Keys.CONTROL + "k")
                browser.until(lambda entries=entries: "white birds" in entries() and "Browse" in entries(), "places and searches")
                self.assertIn("History", entries())
                self.keys(browser, f"dovecote {browser.number}")
                browser.until(lambda entries=entries: any("is white" in entry for entry in entries()), "memories")
                self.keys(browser, Keys.CONTROL + "a")
                self.keys(browser, "edit the")
                browser.until(lambda entries=entries: "Edit the text" in entries(), "an action")
                self.keys(browser, Keys.ENTER)
                browser.until(lambda browser=browser: browser.driver.switch_to.active_element.get_dom_attribute("name") == "content", "the text to edit")
                self.assertEqual(browser.driver.find_elements(By.CSS_SELECTOR, "dialog[open]"), [])


if __name__ == "__main__":
    unittest.main()

"""Stories of Search and Browse in a real browser, at two widths, by day and by night."""

import contextlib
import sys
import tempfile
import unittest
import urllib.parse

from selenium.webdriver.common.keys import Keys

from browser import LOOKS, NARROW, WIDE, Browser, Server, add, axe, call, day, entrance, programs, run

sys.path.insert(0, "tests/e2e")
from support import data_folder  # noqa: E402

AXE = axe()
VIEWS = (
    "/search",
    "/search?q=how+hot+is+kiln+2",
    "/search?q=kiln&type=rule&wing=",
    "/search/agent?q=how+hot+is+kiln+2",
    "/explain?q=kiln",
    "/browse",
    "/browse/room",
    "/browse/room?wing=pottery",
    "/browse/room?forgotten=true",
    "/browse/overview",
)
# Targets that a finger cannot miss; a link in running text may be as high as its line.
SMALL_TARGETS = """
const shown = (element) => element.checkVisibility() && element.getBoundingClientRect().width > 0;
const controls = [...document.querySelectorAll("main :is(button, input, select, summary, .tabs a, .chips a, .tree a, .rows th a)")];
return controls.filter(shown).filter((element) => {
  const box = element.closest("label")?.getBoundingClientRect() ?? element.getBoundingClientRect();
  return box.height < 23.5 || box.width < 23.5;
}).map((element) => element.outerHTML.slice(0, 120));
"""
# A word is broken where a cell is lower than its text would need in one line and still has no space.
BROKEN_WORDS = """
return [...document.querySelectorAll("td, th")].filter((cell) => cell.checkVisibility())
  .filter((cell) => getComputedStyle(cell).whiteSpace !== "nowrap" && getComputedStyle(cell).overflowWrap === "anywhere")
  .filter((cell) => {
    const probe = document.createElement("span");
    probe.style.cssText = "position:absolute;visibility:hidden;white-space:nowrap";
    probe.style.font = getComputedStyle(cell).font;
    document.body.append(probe);
    const widest = Math.max(0, ...cell.innerText.split(/\\s+/).map((word) => { probe.textContent = word; return probe.offsetWidth; }));
    probe.remove();
    return widest > cell.clientWidth + 1;
  }).map((cell) => cell.innerText.slice(0, 60));
"""


class Stories:
    """The stories on a screen of one size and theme, with a store of its own."""

    look = WIDE

    @classmethod
    def setUpClass(cls):
        if cls.look not in LOOKS:
            raise unittest.SkipTest("left to `just page`")
        cls.stack = contextlib.ExitStack()
        cls.addClassCleanup(cls.stack.close)
        cls.data = cls.stack.enter_context(data_folder())
        cls.home = tempfile.TemporaryDirectory(prefix="loci-page-home-")
        cls.stack.callback(cls.home.cleanup)
        cls.server = Server(cls.data, variables={"HOME": cls.home.name})
        cls.stack.callback(cls.server.stop)
        lines = []
        for number in range(1, 31):
            add_to = "pottery" if number <= 25 else "bakery"
            lines.append((f"Kiln {number} of the {add_to} fires at {1200 + number} degrees.", add_to))
        for text, project in lines:
            add(cls.data, text, "--project", project, "--tags", "kiln")
        add(cls.data, "Always glaze twice.", "--type", "rule", "--project", "pottery")
        add(cls.data, "Answer in short sentences.", "--type", "rule")
        cls.browser = cls.signed_in(**cls.look)

    @classmethod
    def signed_in(cls, **options):
        browser = Browser(cls.server.url, **options)
        cls.addClassCleanup(browser.close)
        browser.open(entrance(cls.data, cls.server.url))
        return browser

    def tearDown(self):
        self.assertEqual(self.browser.faults(), [])

    def total(self, browser):
        return int(browser.find("[data-total]").get_dom_attribute("data-total"))

    def place(self, name, count=3):
        """Makes a project with memories of its own, and opens it."""
        for number in range(1, count + 1):
            add(self.data, f"Number {number} of {name}.", "--project", name)
        self.browser.open(f"/browse/room?wing={name}")
        return self.browser

    def keys(self, text):
        self.browser.driver.switch_to.active_element.send_keys(text)

    def test_11_typing_shows_results_and_escape_returns(self):
        browser = self.browser
        browser.open("/search")
        field = browser.find("#search-form input[name=q]")
        field.send_keys("kiln 7 of the pottery")
        browser.until(lambda: "fires at 1207" in browser.find("#results .hits li").text, "results while typing")
        browser.until(lambda: "q=kiln" in browser.driver.current_url, "the address of the search")
        browser.open("/browse/room")
        browser.find("body").send_keys("/")
        browser.until(lambda: browser.driver.switch_to.active_element.get_dom_attribute("type") == "search", "the field")

    def test_what_is_typed_into_the_bar_is_searched_by_the_button_of_the_view_at_once(self):
        browser = self.browser
        browser.open("/search")
        browser.loaded("#search-form")
        browser.driver.execute_script(
            """
            const field = document.querySelector("form.find input[name=q]");
            field.value = "how hot is kiln 7";
            field.dispatchEvent(new Event("input", { bubbles: true }));
            document.querySelector("#search-form").requestSubmit();
            """
        )
        browser.says("best first")
        self.assertIn("fires at 1207", browser.find(".hits li").text)

    def test_12_a_filter_is_set_without_typing_a_name(self):
        for scripts in (True, False):
            browser = self.browser if scripts else self.signed_in(scripts=False, **self.look)
            browser.open("/search?q=kiln")
            value = browser.find("input[name=type][value=rule]")
            row = value.find_element("xpath", "ancestor::li")
            count = int(row.find_element("css selector", ".count").text)
            browser.click(value)
            if not scripts:
                browser.press("Apply filters")
            browser.until(lambda: "type=rule" in browser.driver.current_url, "the filter")
            self.assertEqual(self.total(browser), count)
            browser.click(browser.find(".chips a[aria-label='Remove the filter Type: rule']"))
            browser.until(lambda: "type=rule" not in browser.driver.current_url, "no filter")

    def test_the_app_that_filed_it_is_a_filter_with_a_number(self):
        text = f"Ash glazes run, says {self.id()}."
        call(self.server, "mememory", "remember", {"content": text, "project": "pottery"}, client="claude-code")
        self.browser.open("/search?wing=pottery")
        value = self.browser.find("input[name=program][value=claude-code]")
        row = value.find_element("xpath", "ancestor::li")
        self.assertIn("Claude Code", row.text)
        count = int(row.find_element("css selector", ".count").text)
        self.browser.click(value)
        self.browser.until(lambda: "program=claude-code" in self.browser.driver.current_url, "the filter")
        self.assertEqual(self.total(self.browser), count)
        hits = [hit.text for hit in self.browser.all(".hits li")]
        self.assertEqual(len(hits), count)
        self.assertTrue(any(text in hit for hit in hits), hits)
        self.assertTrue(all("Claude Code" in hit for hit in hits), hits)
        self.browser.click(self.browser.find(".chips a[aria-label='Remove the filter App: Claude Code']"))
        self.browser.until(lambda: "program=" not in self.browser.driver.current_url, "no filter")
        self.browser.open("/browse/room?wing=pottery&sort=newest")
        row = next(row for row in self.browser.all("[data-row]") if text in row.text)
        self.assertEqual(row.find_element("css selector", ".host").get_attribute("textContent"), "Claude Code")

    def test_results_are_shown_as_they_were_known_on_a_day(self):
        text = f"The soda kiln is rented, says {self.id()}."
        add(self.data, text, "--project", "pottery")
        then = day(-2)
        for scripts in (True, False):
            browser = self.browser if scripts else self.signed_in(scripts=False, **self.look)
            browser.open("/search?q=soda+kiln+rented")
            browser.says(text)
            browser.pick("as_of", then)
            if not scripts:
                browser.press("Apply filters")
            browser.until(lambda: "as_of=" in browser.driver.current_url, "the day")
            self.assertNotIn(text, browser.text())
            browser.click(browser.find(f".chips a[aria-label*='{then}']"))
            browser.says(text)

    def test_13_words_of_the_question_are_marked(self):
        self.browser.open("/search?q=how+hot+is+kiln+3")
        marks = [mark.text.lower() for mark in self.browser.find(".hits li").find_elements("css selector", "mark")]
        self.assertIn("kiln", marks)

    def test_14_nonsense_is_only_loosely_related(self):
        self.browser.open("/search?q=zorblat+quimby")
        self.browser.says("Only loosely related")
        shown = [hit for hit in self.browser.all(".hits li") if hit.is_displayed()]
        self.assertEqual(shown, [])
        self.browser.click(self.browser.find(".loose summary"))
        self.browser.until(lambda: any(hit.is_displayed() for hit in self.browser.all(".hits li")), "the loose ones")

    def test_15_all_results_can_be_reached(self):
        browser = self.browser
        browser.open("/search?tag=kiln")
        self.assertEqual((self.total(browser), len(browser.all(".hits > li"))), (30, 20))
        browser.link("More results")
        browser.until(lambda: len(browser.all(".hits > li")) == 10, "the rest")

    def test_16_a_search_is_saved_and_run_again(self):
        browser = self.browser
        browser.open("/search?q=glaze&type=rule")
        browser.fill("name", "glazes")
        browser.press("Save this search")
        browser.says("The search was saved.")
        browser.open("/search")
        browser.link("glazes")
        browser.until(lambda: "type=rule" in browser.driver.current_url, "the search")
        browser.says("Always glaze twice.")

    def test_17_the_project_that_an_agent_did_not_name_is_the_reason(self):
        browser = self.browser
        browser.open("/search/agent?q=how+hot+does+kiln+4+of+the+pottery+fire")
        reason = browser.find("[data-missing=project]").text
        self.assertIn("pottery", reason)
        self.assertIn("without a project", reason)
        browser.link("Run with the project pottery")
        browser.until(lambda: "project=pottery" in browser.driver.current_url, "the project")
        self.assertEqual(browser.all("[data-missing]"), [])

    def test_18_four_reasons_why_a_memory_is_missing(self):
        forgotten = add(self.data, "The vault in the north has a red door.", "--project", "vaults")
        run(self.data, "forget", forgotten)
        old = add(self.data, "The vault in the south has a red door.", "--project", "vaults", "--again")
        add(self.data, "The vault in the south has a blue door.", "--project", "vaults", "--supersedes", old)
        elsewhere = add(self.data, "The vault in the east has a red door.", "--project", "vaults", "--again")
        run(self.data, "token", "create", "--subject", "bob")
        rows = (
            (forgotten, "", "forgotten"),
            (old, "", "replaced"),
            (elsewhere, "&project=global", "scope"),
        )
        for memory, more, cause in rows:
            self.browser.open(f"/explain?q=which+vault+has+a+red+door&id={memory}{more}")
            shown = self.browser.find("[data-cause]")
            self.assertEqual(shown.get_dom_attribute("data-cause"), cause)
            self.assertEqual(len(self.browser.all(".conclusion .button, .conclusion form")), 1, "one action")
        self.browser.open("/explain?q=red+door&id=a+secret+of+somebody")
        self.browser.says("private to somebody else")

    def test_20_a_list_is_sorted_without_scripts(self):
        browser = self.signed_in(scripts=False, **self.look)
        call(self.server, "mememory", "recall", {"query": "kiln 9 of the pottery", "project": "pottery"})
        self.place("sizes", 0)
        add(self.data, "A rather long memory about sizes. " * 9, "--project", "sizes")
        add(self.data, "Short.", "--project", "sizes")
        browser.open("/browse/room?wing=sizes")
        first = lambda: browser.find(".rows tbody tr .text").text  # noqa: E731
        self.assertEqual(first(), "Short.")
        browser.link("Text")
        self.assertIn("rather long", first())
        browser.link("Created")
        browser.link("Created")
        self.assertIn("rather long", first())
        browser.says("oldest first")

    def test_21_two_are_selected_by_keys_and_come_back(self):
        browser = self.place("keyed")
        self.assertFalse(browser.find(".bulk").is_displayed(), "story 22: nothing is selected")
        browser.find("body").send_keys("j")
        self.keys("x")
        self.keys("j")
        self.keys("x")
        browser.says("2 selected")
        browser.press("Forget")
        browser.says("Forgot 2 memories")
        self.assertEqual(self.total(browser), 1)
        browser.find("[data-undo]")
        browser.find("body").send_keys("z")
        browser.until(lambda: self.total(browser) == 3, "all three again")

    def test_23_all_of_a_list_is_moved_and_comes_back(self):
        browser = self.place("many", 55)
        browser.click(browser.find(".rows input[name=id]"))
        browser.click(browser.find("[data-all-of]"))
        browser.fill("wing", "moved")
        browser.press("Move")
        browser.says("Moved 55 memories")
        browser.open("/browse/room?wing=moved")
        self.assertEqual(self.total(browser), 55)

    def test_24_a_preview_follows_the_keys(self):
        browser = self.place("seen")
        browser.find("body").send_keys("j")
        self.keys(" ")
        browser.until(lambda: "Number 3 of seen." in browser.find("#preview .text").text, "the preview")
        self.keys("j")
        browser.until(lambda: "Number 2 of seen." in browser.find("#preview .text").text, "the next one")
        if AXE:
            self.assertEqual(browser.violations(AXE), [])
        self.keys(Keys.ESCAPE)
        browser.until(lambda: not browser.find("#preview").is_displayed(), "no preview")

    def test_25_a_place_of_the_treemap_opens(self):
        browser = self.browser
        browser.open("/browse/overview")
        places = browser.all(".treemap [data-place]")
        counts = [int(place.get_dom_attribute("data-memories")) for place in places]
        size = "const box = arguments[0].getBoundingClientRect(); return box.width * box.height;"
        areas = [browser.driver.execute_script(size, place.find_element("css selector", "rect")) for place in places]
        self.assertEqual(counts, sorted(counts, reverse=True))
        # Places are drawn in whole tenths of a unit.
        self.assertTrue(all(one >= other * 0.99 for one, other in zip(areas, areas[1:])), areas)
        path = places[0].get_dom_attribute("href")
        browser.driver.execute_script("arguments[0].dispatchEvent(new MouseEvent('click', {bubbles: true, cancelable: true}))", places[0])
        browser.until(lambda: urllib.parse.urlsplit(browser.driver.current_url).path == "/browse/room", path)


@unittest.skipUnless(programs(), "page: SKIPPED: there is no Chromium here; run scripts/setup")
class OnALargeScreen(Stories, unittest.TestCase):
    look = {**WIDE, "dark": False}

    def test_26_every_view_fits_and_is_accessible(self):
        for look in LOOKS:
            browser = self.signed_in(**look)
            for path in VIEWS:
                browser.open(path)
                browser.find("h1")
                if look["width"] == NARROW["width"]:
                    wide = browser.driver.execute_script("return document.documentElement.scrollWidth")
                    self.assertLessEqual(wide, 390, path)
                    self.assertEqual(browser.driver.execute_script(BROKEN_WORDS), [], path)
                self.assertEqual(browser.driver.execute_script(SMALL_TARGETS), [], path)
                for details in browser.all("details"):
                    browser.driver.execute_script("arguments[0].open = true", details)
                if AXE:
                    self.assertEqual(browser.violations(AXE), [], f"{path}, {look}")
            self.assertEqual(browser.faults(), [])

    def test_one_pane_at_a_time_on_a_small_screen(self):
        browser = self.signed_in(**NARROW)
        browser.open("/browse")
        self.assertTrue(browser.find(".tree").is_displayed())
        self.assertFalse(browser.find(".list").is_displayed())
        browser.link("pottery")
        browser.until(lambda: browser.find(".list").is_displayed() and not browser.find(".tree").is_displayed(), "the list")


@unittest.skipUnless(programs(), "page: SKIPPED: there is no Chromium here; run scripts/setup")
class OnALargeScreenByNight(Stories, unittest.TestCase):
    look = {**WIDE, "dark": True}


@unittest.skipUnless(programs(), "page: SKIPPED: there is no Chromium here; run scripts/setup")
class OnASmallScreen(Stories, unittest.TestCase):
    look = {**NARROW, "dark": False}


@unittest.skipUnless(programs(), "page: SKIPPED: there is no Chromium here; run scripts/setup")
class OnASmallScreenByNight(Stories, unittest.TestCase):
    look = {**NARROW, "dark": True}


if __name__ == "__main__":
    unittest.main()

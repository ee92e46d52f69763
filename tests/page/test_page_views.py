"""Stories of a memory, facts, review, activity and settings, at two widths, by day and by night."""

import contextlib
import hashlib
import json
import sys
import tempfile
import textwrap
import time
import unittest
import urllib.request

from browser import WIDE, Browser, Server, add, axe, call, day, entrance, looks, programs, run

sys.path.insert(0, "tests/e2e")
from support import data_folder  # noqa: E402

AXE = axe()
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"


@unittest.skipUnless(programs(), "page: SKIPPED: there is no Chromium here; run scripts/setup")
class Views(unittest.TestCase):
    """One server; each story makes its own memories for each browser."""

    @classmethod
    def setUpClass(cls):
        cls.stack = contextlib.ExitStack()
        cls.addClassCleanup(cls.stack.close)
        cls.data = cls.stack.enter_context(data_folder())
        cls.home = tempfile.TemporaryDirectory(prefix="loci-page-home-")
        cls.stack.callback(cls.home.cleanup)
        cls.server = Server(cls.data, variables={"HOME": cls.home.name, "LOCI_IDEMPOTENCY_HOURS": "25"})
        cls.stack.callback(cls.server.stop)
        cls.kept = {}

    @classmethod
    def browser(cls, **options):
        """A browser that has signed in; each kind is started once."""
        options = {**WIDE, "dark": False, "scripts": True, "language": "en", **options}
        key = tuple(options.values())
        if key not in cls.kept:
            browser = Browser(cls.server.url, **options)
            cls.addClassCleanup(browser.close)
            browser.open(entrance(cls.data, cls.server.url))
            cls.kept[key] = browser
        return cls.kept[key]

    def browsers(self, without_scripts=False):
        """The browsers of a story, and without scripts where it needs none."""
        for number, look in enumerate(looks(plain=without_scripts), 1):
            browser = self.browser(**look)
            browser.number = number
            yield browser
            if look["scripts"]:
                self.assertEqual(browser.expected_faults(), [])

    def agent(self, dialect, tool, arguments):
        reply = call(self.server, dialect, tool, arguments)
        self.assertFalse(reply.get("isError"), reply)
        return reply

    def edit(self, memory, text):
        """Changes a memory as somebody else does."""
        headers = {"Authorization": f"Bearer {self.server.token()}", "Content-Type": "application/json"}
        path = f"{self.server.url}/api/v1/memory/{memory}"
        with urllib.request.urlopen(urllib.request.Request(path, headers=headers), timeout=60) as reply:
            revision = json.load(reply)["revision"]
        change = json.dumps({"content": text, "revision": revision}).encode()
        with urllib.request.urlopen(urllib.request.Request(f"{path}/edit", change, headers), timeout=60) as reply:
            self.assertEqual(json.load(reply)["changed"], 1)

    def fact(self, subject, predicate, value, since, until=None):
        fact = {"subject": subject, "predicate": predicate, "object": value, "valid_from": since}
        self.agent("mempalace", "mempalace_kg_add", fact | ({"valid_to": until} if until else {}))

    def fits(self, browser):
        """No view scrolls sideways."""
        wide = browser.driver.execute_script("return [document.documentElement.scrollWidth, innerWidth]")
        self.assertLessEqual(wide[0], wide[1], browser.path())

    # A memory

    def test_27_a_memory_is_said_once_and_copied_as_it_is(self):
        for browser in self.browsers(without_scripts=True):
            text = f"# Kiln {browser.number}\n\n- fires at **1240** degrees\n- cools for a day\n"
            memory = add(self.data, text, "--project", "pottery", "--again")
            browser.open(f"/memory/{memory}")
            browser.says("fires at 1240 degrees")
            self.assertEqual(browser.find("main").text.count(f"Kiln {browser.number}"), 1)
            self.assertEqual(browser.find("pre.content").get_property("textContent"), text)
            self.fits(browser)
            if not browser.scripts:
                continue
            grant = {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"], "origin": self.server.url}
            browser.driver.execute_cdp_cmd("Browser.grantPermissions", grant)
            button = browser.find("pre.content + [data-copy]")
            browser.reveal(button)
            browser.until(button.is_displayed, "the button")
            button.click()
            read = "const done = arguments[0]; navigator.clipboard.readText().then(done, (error) => done(`${error}`));"
            browser.until(lambda: browser.driver.execute_async_script(read) == text, "the copy")

    def test_28_an_edit_is_seen_and_the_version_restored(self):
        for browser in self.browsers():
            before, after = (f"The ferry {browser.number} leaves at {hour}." for hour in ("seven", "eight"))
            memory = add(self.data, before, "--project", "travel")
            browser.open(f"/memory/{memory}")
            browser.fill("content", after)
            browser.press("Save")
            browser.says(after)
            browser.find("section[aria-labelledby=former] summary").click()
            browser.says(f"\u2212 {before}")
            browser.says(f"+ {after}")
            browser.press("Restore this version")
            browser.until(lambda: browser.find("pre.content").text == before, "the former text")
            self.assertEqual(json.loads(run(self.data, "show", memory, "--json").stdout)["content"], before)

    def test_29_a_second_tab_is_refused_with_both_texts(self):
        for browser in self.browsers(without_scripts=True):
            memory = add(self.data, f"Pier {browser.number} is open.", "--project", "travel")
            browser.open(f"/memory/{memory}")
            self.edit(memory, f"Pier {browser.number} is shut.")
            browser.fill("content", f"Pier {browser.number} is repaired.")
            browser.press("Save")
            browser.says("Your text is not saved")
            marked = [mark.text for mark in browser.all("main mark")]
            self.assertEqual(marked, ["shut.", "repaired."])
            browser.press("Save my text")
            browser.until(lambda: browser.find("pre.content").text == f"Pier {browser.number} is repaired.", "my text")
            # The console names the request that was refused.
            self.assertLessEqual(len(browser.faults()), 1)

    def test_30_a_secret_is_masked_and_revealed_by_one_click(self):
        memory = add(self.data, f"The token of the mirror is {SECRET}, says Ann.", "--project", "mirror")
        self.agent("mememory", "recall", {"query": f"whose is {SECRET}"})
        for browser in self.browsers():
            browser.until_at("/review?kind=secret", lambda: "mirror" in browser.text(), "the secret")
            self.assertNotIn(SECRET, browser.driver.page_source)
            browser.open("/activity")
            browser.says("whose is")
            self.assertNotIn(SECRET, browser.driver.page_source)
            browser.open("/review?kind=secret")
            browser.press("Reveal")
            browser.until(lambda: browser.path() == f"/memory/{memory}", "the memory")
            browser.says(SECRET)
        log = run(self.data, "audit", "--json").stdout.decode()
        self.assertIn('"reveal"', log)

    # Facts

    def test_31_labels_stay_in_the_view_and_ticks_are_round(self):
        long = "the municipal office for the maintenance of fountains, wells and other public waters"
        for subject, since, until in (("Ann", -900, -500), (long, -499, -3), ("Bob", -2, None)):
            self.fact(subject, "runs", "the waterworks", day(since), until and day(until))
        self.fact("the waterworks", "stand in", "the old town", day(-40))
        for browser in self.browsers(without_scripts=True):
            browser.open("/facts?entity=the+waterworks")
            browser.says("Bob runs the waterworks")
            self.fits(browser)
            outside = browser.driver.execute_script(
                """
                const far = [];
                for (const svg of document.querySelectorAll(".lanes > .wide svg, svg.around")) {
                  const box = svg.getBoundingClientRect();
                  for (const text of svg.querySelectorAll("text")) {
                    const own = text.getBoundingClientRect();
                    if (own.left < box.left - 1 || own.right > box.right + 1) {
                      far.push([text.textContent, own.left - box.left, own.right - box.right]);
                    }
                  }
                }
                return far;
                """
            )
            self.assertEqual(outside, [])
            ticks = [tick.get_property("textContent") for tick in browser.all(".lanes > .wide .tick")]
            self.assertIn("today", ticks)
            for tick in ticks:
                self.assertRegex(tick, r"^(today|\d{4}(-\d\d)?)$")

    def test_32_a_fact_that_ends_is_of_the_past_and_comes_back(self):
        for browser in self.browsers():
            name = f"Cleo{browser.number}"
            self.fact(name, "mends", "nets", day(-100))
            browser.open(f"/facts?entity={name}")
            browser.says(f"{name} mends nets")
            browser.pick("ended", day(-10))
            browser.press("No longer true")
            browser.until(
                lambda: name in browser.find("[data-other-list]").get_property("textContent"), "the past"
            )
            self.assertNotIn(name, browser.find("[data-holding-list]").text)
            browser.press("Undo")
            browser.until(
                lambda: name in browser.find("[data-holding-list]").get_property("textContent"), "the present"
            )

    def test_facts_are_shown_as_they_were_known_on_a_day(self):
        for browser in self.browsers(without_scripts=True):
            name = f"Fritz{browser.number}"
            self.fact(name, "sails", "the cutter", day(-100))
            browser.open(f"/facts?entity={name}")
            browser.says(f"{name} sails the cutter")
            # It held then, and nobody had said it.
            browser.pick("known_at", day(-2))
            browser.click(browser.find("form:has([name=known_at]) button"))
            browser.until(lambda: "known_at=" in browser.driver.current_url, "the day")
            self.assertNotIn(f"{name} sails the cutter", browser.text())
            browser.link("As known now")
            browser.says(f"{name} sails the cutter")

    def test_33_a_click_on_the_graph_goes_to_the_neighbour_and_back(self):
        self.fact("the mill", "grinds", "rye", day(-30))
        self.fact("the baker", "buys", "rye", day(-30))
        for browser in self.browsers(without_scripts=True):
            browser.open("/facts?entity=the+mill")
            node = next(link for link in browser.all("svg.around a") if "rye" in link.text)
            browser.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", node)
            node.find_element("css selector", "circle").click()
            browser.until(lambda: "the baker" in browser.find("svg.around").text, "the neighbour")
            self.assertIn("rye", browser.find("svg.around .center").text)
            browser.driver.back()
            browser.until(lambda: "the mill" in browser.find("svg.around .center").text, "the first entity")

    def test_a_slider_plays_and_goes_back_to_today(self):
        for runner, since, until in (("Dora", -300, -100), ("Emil", -99, None)):
            self.fact(runner, "leads", "the choir", day(since), until and day(until))
        browser = self.browser()
        browser.open("/facts?entity=the+choir")
        holding = browser.find("[data-holding-list]")
        browser.until(lambda: "Emil" in holding.text, "today")
        browser.press("Play")
        browser.until(lambda: "Dora" in holding.text, "the past")
        browser.until(lambda: "Emil" in holding.text and "Dora" not in holding.text, "the end")
        browser.driver.execute_script(
            "const slider = arguments[0]; slider.value = slider.min;"
            " slider.dispatchEvent(new Event('input', {bubbles: true}));",
            browser.find("[data-day]"),
        )
        browser.until(lambda: "Emil" not in holding.text, "the first day")
        browser.press("today")
        browser.until(lambda: "Emil" in holding.text, "today")

    def test_two_values_at_one_time_are_marked(self):
        self.fact("the bridge", "opens at", "nine", day(-50))
        self.fact("the bridge", "opens at", "ten", day(-20))
        browser = self.browser()
        browser.open("/facts?entity=the+bridge")
        if "at the same time" in browser.text():
            browser.link("at the same time: ")
            browser.until(lambda: browser.path() == "/review", "the review")

    # Review

    def test_34_the_badge_counts_a_secret_before_many_others(self):
        add(self.data, f"The key of the cellar is {SECRET[:-1]}9.", "--project", "cellar")
        # Texts without a word in common, because like ones would be contradictions before those of later tests.
        digests = [hashlib.sha256(str(number).encode()).hexdigest() for number in range(400)]
        texts = [" ".join(textwrap.wrap(digest[:30], 6)) for digest in digests]
        lines = "".join(json.dumps({"content": text}) + "\n" for text in texts)
        imported = run(self.data, "import", "-", "--no-wait", stdin=lines.encode())
        self.assertEqual(imported.returncode, 0, imported.stderr)
        for browser in self.browsers(without_scripts=True):
            browser.until_at("/review?kind=secret", lambda: "cellar" in browser.text(), "the secret")
            self.assertGreater(int(browser.find(".kinds [aria-current] .badge").text), 0)
            browser.open("/activity")
            # Small screens have it at the bottom.
            shown = [badge.text for badge in browser.all(":is(.places, .bottom) .badge") if badge.is_displayed()]
            self.assertGreater(int(shown[0]), 0)

    def test_35_a_key_decides_and_the_next_one_opens(self):
        for browser in self.browsers():
            number = browser.number
            for what in (f"museum {number}", f"library {number}"):
                for hour in ("nine", "eleven"):
                    add(self.data, f"The {what} opens at {hour}.", "--project", f"hours{number}", "--again")
            path = "/review?kind=contradiction"
            browser.until_at(
                path, lambda: all(f"{what} {number}" in browser.text() for what in ("museum", "library")), "the pairs"
            )

            def opened():
                return browser.find("details.decision[open]").text

            def pairs():
                # Only the first ones are shown, so that their number may stay.
                fields = [browser.all(f"details.decision input[name={name}]") for name in ("one", "other")]
                return [tuple(field.get_dom_attribute("value") for field in pair) for pair in zip(*fields)]

            first, text = pairs()[0], opened()
            self.assertEqual(len(browser.all("details.decision[open]")), 1)
            self.assertIn("Agents get the right one", text)
            self.fits(browser)
            browser.find("body").send_keys("2")
            browser.until(lambda: first not in pairs() and opened() != text, "the next one")
            browser.loaded("[data-undo]")
            browser.find("body").send_keys("z")
            browser.until(lambda: not browser.all("[data-undo]"), "the answer to the undoing")
            browser.until_at(path, lambda: first in pairs(), "the pair again")
            for memory in json.loads(run(self.data, "list", "--project", f"hours{number}", "--json").stdout)["memories"]:
                run(self.data, "delete", memory["id"], "--forever", "--yes")

    def test_36_an_unrelated_pair_of_one_topic_is_not_sure(self):
        for text in ("The harbour wall is made of granite.", "The harbour wall is three metres high."):
            add(self.data, text, "--project", "harbour", "--again")
        time.sleep(8)
        for browser in self.browsers(without_scripts=True):
            browser.open("/review?kind=contradiction")
            browser.says("Contradictions")
            for row in browser.all("details.decision"):
                text = row.get_property("textContent")
                if "granite" in text:
                    self.assertFalse(row.find_element("css selector", "summary").text.startswith("sure"), text)

    # Activity

    def test_37_figures_name_their_range_and_equal_the_log(self):
        for number in range(3):
            self.agent("mememory", "recall", {"query": "how high is the belfry of Lübeck"})
            self.agent("mememory", "remember", {"content": f"Belfry {number} was painted."})
        add(self.data, "The belfry of Bruges is 83 metres high.")
        for browser in self.browsers(without_scripts=True):
            browser.open("/activity?days=7")
            browser.says(day(-6))
            self.fits(browser)
            tile = next(tile for tile in browser.all(".figures > div") if tile.text.startswith("Questions"))
            self.assertIn("7 days", tile.text)
            log = json.loads(run(self.data, "audit", "--json", "--limit", "1000").stdout)
            self.assertIsNone(log["more"])
            by_agents = [entry for entry in log["entries"] if entry["client"] != "loci page"]
            shown = self.figures(7)
            self.assertEqual(shown["totals"]["calls"], len(by_agents))
            self.assertEqual(int(tile.find_element("css selector", "dd").text), shown["totals"]["recalls"])
            browser.says("belfry of Lübeck")

    def figures(self, days):
        headers = {"Authorization": f"Bearer {self.server.token()}"}
        path = f"{self.server.url}/api/v1/insights?days={days}"
        with urllib.request.urlopen(urllib.request.Request(path, headers=headers), timeout=60) as reply:
            return json.load(reply)

    # Settings

    def test_10_charts_have_tables_with_the_same_sums(self):
        self.agent("mememory", "remember", {"content": "The chart has a table."})
        self.agent("mememory", "recall", {"query": "what has a table"})
        headers = {"Authorization": f"Bearer {self.server.token()}"}
        for browser in self.browsers(without_scripts=True):
            browser.open("/activity?days=7")
            path = f"{self.server.url}/api/v1/insights?days=7"
            with urllib.request.urlopen(urllib.request.Request(path, headers=headers), timeout=60) as reply:
                shown = json.load(reply)
            charts = browser.all("figure.chart")
            self.assertGreaterEqual(len(charts), 3)
            for chart in charts:
                self.assertEqual(len(chart.find_elements("css selector", "svg ~ details table, svg ~ ul ~ details table")), 1)
            for chart, series in ((charts[0], shown["recalls"]), (charts[1], shown["calendar"])):
                cells = chart.find_elements("css selector", "tfoot td")
                sums = [int(cell.get_property("textContent")) for cell in cells]
                self.assertEqual(sums, [sum(one["values"]) for one in series["series"]])
                rows = [
                    [int(cell.get_property("textContent")) for cell in row.find_elements("css selector", "td")]
                    for row in chart.find_elements("css selector", "tbody tr")[-1:]
                ]
                self.assertEqual(rows, [[one["values"][-1] for one in series["series"]]])

    def test_what_was_missing_is_added(self):
        for browser in self.browsers(without_scripts=True):
            question = f"which key opens locker {browser.number}"
            self.agent("mememory", "recall", {"query": f"{question} zorblat"})
            browser.open("/activity?days=1")
            row = browser.until(
                lambda browser=browser, question=question: next(row for row in browser.all("tr[data-row]") if question in row.text), question
            )
            browser.click(row.find_element("css selector", ".missing summary"))
            answer = f"The brass key opens locker {browser.number}."
            row.find_element("css selector", "textarea").send_keys(answer)
            browser.click(row.find_element("css selector", ".missing button"))
            browser.says("Stored")
            browser.open(f"/search?q=which+key+opens+locker+{browser.number}")
            browser.says(answer)
            browser.open("/history")
            browser.click(browser.find(".past button"))
            browser.says("Undone")
            browser.open(f"/search?q=which+key+opens+locker+{browser.number}")
            self.assertNotIn(answer, browser.text())

    def test_39_changed_settings_come_first_and_a_member_is_told_who_can(self):
        made = run(self.data, "token", "create", "--subject", "bob", "--json")
        token = json.loads(made.stdout)["token"]
        for browser in self.browsers(without_scripts=True):
            browser.open("/settings/all")
            browser.says("LOCI_IDEMPOTENCY_HOURS")
            self.fits(browser)
            first = browser.find("section[aria-labelledby=settings] tbody").text
            self.assertIn("idempotency_hours", first)
            browser.open("/settings/all?filter=otlp")
            self.assertNotIn("idempotency_hours", browser.find("main").text)
        bob = Browser(self.server.url)
        self.addCleanup(bob.close)
        bob.open("/sign-in")
        bob.fill("token", token)
        bob.press("Sign in")
        bob.find(".bar .menu")
        bob.open("/settings")
        bob.says("owner")

    def test_the_parts_of_the_settings(self):
        for browser in self.browsers(without_scripts=True):
            for path, said in (
                ("/settings", "Connected apps"),
                ("/settings/data", "crontab"),
                ("/settings/access", "Tokens"),
                ("/settings/model", "with the model"),
                ("/settings/about", "What leaves this machine"),
            ):
                browser.open(path)
                browser.says(said)
                self.fits(browser)
        browser = self.browser()
        browser.open("/settings/about")
        browser.link("Check everything")
        browser.until(lambda: len(browser.all(".checks li")) > 5, "the checks")

    def test_another_model_is_offered_for_other_languages(self):
        texts = (
            "Der Ofen brennt bei zwölfhundert Grad und kühlt einen ganzen Tag lang ab.",
            "Die Fähre legt morgens um sieben Uhr am alten Hafen der Stadt an.",
            "Unsere Werkstatt bleibt im August wegen der Ferien geschlossen.",
        )
        with data_folder() as data:
            for text in texts:
                add(data, text)
            server = Server(data, variables={"HOME": self.home.name})
            browser = Browser(server.url)
            try:
                browser.open(entrance(data, server.url))
                browser.open("/settings/model")
                browser.says("does not know the languages of")
                browser.says("loci model install")
                self.assertIn(
                    browser.find(".offer code").text.removeprefix("loci model install "),
                    run(data, "doctor").stdout.decode(),
                )
            finally:
                browser.close()
                server.stop()

    def test_every_view_is_accessible(self):
        if AXE is None:
            self.skipTest("axe-core cannot be fetched from here")
        self.fact("the tower", "stands in", "the square", day(-400), day(-100))
        self.fact("the tower", "stands in", "the park", day(-99))
        memory = add(self.data, "# Clay\n\nIs *wet* earth, see [[the pit]].", "--project", "pottery")
        self.edit(memory, "# Clay\n\nIs *wet* earth.")
        paths = (
            *("/facts", "/facts?entity=the+tower", "/facts/entities", "/review", "/activity", f"/memory/{memory}"),
            *("/settings", "/settings/data", "/settings/access", "/settings/model", "/settings/all"),
            "/settings/about?examine=true",
        )
        for browser in self.browsers():
            for path in paths:
                browser.open(path)
                for details in browser.all("details"):
                    browser.driver.execute_script("arguments[0].open = true", details)
                self.assertEqual(browser.violations(AXE), [], path)
                self.fits(browser)

    def test_it_speaks_german(self):
        browser = self.browser(language="de")
        for path, said in (("/review", "Tasten"), ("/settings/data", "Speicher"), ("/facts", "Sachen")):
            browser.open(path)
            browser.says(said)


if __name__ == "__main__":
    unittest.main()

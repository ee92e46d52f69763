"""Stories of the shell, the sign-in and *Home*, on a large screen and a small one, in light and dark."""

import contextlib
import hashlib
import http.server
import json
import pathlib
import sys
import tempfile
import threading
import time
import unittest
import urllib.request

from browser import Browser, Server, add, call, entrance, looks, programs, run

sys.path.insert(0, "tests/e2e")
from support import configuration, data_folder  # noqa: E402

MANY = 3_700
# The views with the bar.
VIEWS = ("/", "/search", "/browse", "/browse/room", "/browse/overview", "/facts", "/review", "/activity", "/settings", "/nowhere")
# A link in a sentence may be as low as its line.
SMALL_TARGETS = """
return [...document.querySelectorAll("a, button, input:not([type=hidden]), select, summary, textarea")]
  .filter((element) => element.checkVisibility({ visibilityProperty: true }))
  .filter((element) => !(element.matches("p a, li a") && getComputedStyle(element).display === "inline"))
  .map((element) => [element, element.getBoundingClientRect()])
  .filter(([, box]) => box.width > 1 && (box.width < 24 || box.height < 24))
  .map(([element, box]) => `${element.outerHTML.slice(0, 120)}: ${box.width} x ${box.height}`);
"""

# Where the parts that belong on the first screen end.
BOTTOMS = """
const parts = [document.querySelector(".state"), ...document.querySelectorAll(".tile, .plot svg")];
return parts.map((part) => part.getBoundingClientRect().bottom + scrollY);
"""
# The sums of recalls and the last numbers of the growth in the tables, and the paths of each picture.
PLOTTED = """
const all = (selector, part = document) => [...part.querySelectorAll(selector)];
const numbers = (selector) => all(selector).map((cell) => Number(cell.textContent));
return [
  numbers(".plot tfoot td"),
  numbers(".plot:first-child tbody tr:last-child td"),
  all(".plot").map((plot) => all("svg path", plot).length),
];
"""


class SlowModel(http.server.BaseHTTPRequestHandler):
    """An embedding model of the protocol of OpenAI that takes half a second for each request."""

    DIMENSIONS = 8
    SECONDS = 0.5

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        texts = [request["input"]] if isinstance(request["input"], str) else request["input"]
        time.sleep(self.SECONDS)
        rows = [{"index": index, "embedding": self.vector(text)} for index, text in enumerate(texts)]
        body = json.dumps({"data": rows, "model": request["model"]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def vector(self, text):
        return [byte / 255 for byte in hashlib.sha256(text.encode()).digest()[: self.DIMENSIONS]]

    def log_message(self, *_):
        pass


def slow_model(test):
    """The address of a slow model, by a name of this machine that loci takes for that of another one."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), SlowModel)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    test.addCleanup(server.server_close)
    test.addCleanup(server.shutdown)
    return f"http://127.1:{server.server_port}/v1"


class Place:
    """A server on a store of its own."""

    def __init__(self, test, settings=""):
        stack = contextlib.ExitStack()
        test.addCleanup(stack.close)
        self.data = stack.enter_context(data_folder())
        configuration(self.data).write_text(settings)
        home = stack.enter_context(tempfile.TemporaryDirectory(prefix="loci-page-home-"))
        self.server = Server(self.data, variables={"HOME": home})
        stack.callback(self.server.stop)
        self.stack = stack

    def signed_in(self, **options):
        browser = Browser(self.server.url, **options)
        self.stack.callback(browser.close)
        browser.open(entrance(self.data, self.server.url))
        return browser

    def json(self, path):
        headers = {"Authorization": f"Bearer {self.server.token()}"}
        request = urllib.request.Request(f"{self.server.url}/api/v1{path}", headers=headers)
        with urllib.request.urlopen(request, timeout=60) as reply:
            return json.load(reply)

    def remember(self, text):
        reply = call(self.server, "mememory", "remember", {"content": text})
        if reply.get("isError"):
            raise AssertionError(reply)


def visible(browser, selector):
    return [element for element in browser.all(selector) if element.is_displayed()]


@unittest.skipUnless(programs(), "page: SKIPPED: there is no Chromium here; run scripts/setup")
class Home(unittest.TestCase):
    def test_a_first_start_shows_three_steps_which_tick_themselves(self):
        place = Place(self)
        for look in looks(plain=True):
            with self.subTest(**look):
                browser = place.signed_in(**look)
                steps = browser.find(".checklist ol").text
                for step in ("Connect an app", "Ask your agent to remember something", "Ask for it in a new session"):
                    self.assertIn(step, steps)
                self.assertIn("loci connect", steps)
                self.assertEqual(browser.all(".checklist .done"), [])
                if look["scripts"]:
                    self.assertTrue(browser.find("[data-copy]").is_displayed())
                self.fits(browser, look)
        browser = place.signed_in()
        browser.find(".checklist")
        call(place.server, "mememory", "stats", {})
        browser.until(lambda: len(browser.all(".checklist .done")) == 1, "the first step to be ticked")
        place.remember("Our staging server is 10.0.4.21.")
        browser.until(lambda: len(browser.all(".checklist .done")) == 2, "the second step to be ticked")
        call(place.server, "mememory", "recall", {"query": "what is the address of the staging server"})
        browser.until(lambda: browser.all(".tiles"), "the tiles after the last step")
        self.assertEqual(browser.faults(), [])

    def test_19_what_waits_for_the_model_is_grey_and_goes(self):
        address = slow_model(self)
        settings = f'[embedding]\nprovider = "http"\nurl = "{address}"\nmodel = "slow"\n'
        place = Place(self, settings)
        seen_in = list(looks(plain=True))
        browsers = [place.signed_in(**look) for look in seen_in]
        lines = "".join(json.dumps({"content": f"Entry {number} waits."}) + "\n" for number in range(800))
        imported = run(place.data, "import", "-", "--no-wait", stdin=lines.encode())
        self.assertEqual(imported.returncode, 0, imported.stderr)
        browsers[0].until_at("/", lambda: "min" in browsers[0].find(".state.waiting").text, "the time left")
        for look, browser in zip(seen_in, browsers):
            with self.subTest(**look):
                browser.open("/")
                self.assertIn("found by words", browser.find(".state.waiting").text)
                self.assertEqual(browser.all(".state.warn, .state.problem"), [])
                self.fits(browser, look)
                browser.open("/search?q=entry")
                browser.says("still")
        gone = "return !document.querySelector('.state.waiting') && !!document.querySelector('.state')"
        browsers[0].until_at("/", lambda: browsers[0].driver.execute_script(gone), "the end")
        for look, browser in zip(seen_in, browsers):
            with self.subTest(**look):
                browser.open("/search?q=entry")
                self.assertNotIn("still", browser.find("main").text)

    def test_what_left_this_machine_is_counted_by_host(self):
        for settings in ("", f'[embedding]\nprovider = "http"\nurl = "{slow_model(self)}"\nmodel = "slow"\n'):
            place = Place(self, settings)
            place.remember("The lighthouse keeper is called Inga.")
            seen_in = list(looks(plain=True))
            # Where nothing is sent there is no table, whose width the look decides.
            for look in seen_in if settings else seen_in[:1]:
                with self.subTest(**look, settings=settings):
                    browser = place.signed_in(**look)
                    browser.open("/settings/about")
                    browser.says("Version of the tables")
                    outside = browser.find("section[aria-labelledby=outside]").text
                    if not settings:
                        self.assertIn("Nothing left this machine in the last 30 days", outside)
                        continue
                    row = browser.find("section[aria-labelledby=outside] tbody tr").text
                    self.assertIn("127.1", row)
                    sent = place.json("/settings/about")["sent"]
                    self.assertEqual([(one["purpose"], one["host"]) for one in sent], [("embedding", "127.1")])
                    self.assertGreater(sent[0]["requests"], 0)
                    self.fits(browser, look)

    def test_a_code_lets_in_once_and_a_wrong_token_is_explained(self):
        place = Place(self)
        for look in looks(plain=True):
            with self.subTest(**look):
                address = entrance(place.data, place.server.url)
                first, second = (Browser(place.server.url, **look) for _ in range(2))
                self.addCleanup(first.close)
                self.addCleanup(second.close)
                first.open(address)
                first.find(".bar .menu")
                second.open(address)
                second.says("used already")
                second.fill("token", "wrong")
                second.press("Sign in")
                second.says("This token isn’t valid. Make one with “loci token create”.")
                focused = second.driver.switch_to.active_element
                self.assertEqual(focused.get_dom_attribute("name"), "token")
                self.assertEqual(focused.get_dom_attribute("aria-invalid"), "true")
                self.fits(second, look)

    def test_after_signing_out_the_way_back_shows_nothing(self):
        place = Place(self)
        add(place.data, "Only behind the door.")
        for look in looks():
            with self.subTest(**look):
                browser = place.signed_in(**look)
                browser.says("Only behind the door.")
                browser.press("Sign out")
                browser.says("paste a token")
                browser.driver.back()
                browser.says("paste a token")
                self.assertNotIn("Only behind the door.", browser.text())

    def test_many_memories_are_a_look(self):
        place = Place(self)
        file = pathlib.Path(place.data).parent / "many.jsonl"
        lines = [{"content": f"Note {number} says what the day was like.", "project": f"p{number % 9}"} for number in range(MANY)]
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
        imported = run(place.data, "import", str(file), "--no-wait")
        self.assertEqual(imported.returncode, 0, imported.stderr)
        call(place.server, "mememory", "recall", {"query": "what was the day like"})
        for number in range(12):
            place.remember(f"A kiln of type {number} is fired on day {number}.")
        for look in looks(plain=True):
            with self.subTest(**look):
                browser = place.signed_in(**look)
                browser.open("/")
                browser.find(".plot svg")
                # All at once, because the view follows what the background reads.
                browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
                bottoms = browser.driver.execute_script(BOTTOMS)
                browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not look["scripts"]})
                self.assertEqual(len(bottoms), 1 + 4 + 2)
                if look["width"] == 1280:
                    self.assertLessEqual(max(bottoms), 800)
                    self.assertLess(browser.find(".groups li").rect["y"], 800)
                height = browser.driver.execute_script("return document.documentElement.scrollHeight")
                self.assertLessEqual(height, 1600 if look["width"] == 1280 else 3200)
                self.assertIn("3,712", browser.find(".tile .figure").text)
                self.fits(browser, look)
        # The pictures have tables with the same sums.
        shown = place.json("/home")
        browser = place.signed_in()
        browser.driver.execute_cdp_cmd("Network.clearBrowserCache", {})
        browser.open("/")
        browser.find(".plot")
        parts = browser.wire_bytes()
        self.assertLess(sum(size for _, size in parts), 60_000, parts)
        self.assertEqual(len(shown["imports"]), 1)
        self.assertEqual(len(browser.all(".plot:first-child line.import")), 1)
        self.assertIn("something was imported", browser.find(".plot:first-child .imports").get_property("textContent"))
        recalls, growth, drawn = browser.driver.execute_script(PLOTTED)
        self.assertEqual(recalls, [sum(series["values"]) for series in shown["recalls"]["series"]])
        self.assertEqual(growth, [series["values"][-1] for series in shown["growth"]["series"]])
        charts = (shown["growth"], shown["recalls"])
        self.assertEqual(drawn, [sum(any(series["values"]) for series in chart["series"]) for chart in charts])

    def test_memories_of_a_session_are_one_row_and_follow_live(self):
        place = Place(self)
        for text in ("One is there.", "Two is there.", "Three is there.", "Four is there."):
            add(place.data, text, "--project", "before")
        browser = place.signed_in()
        browser.find(".groups")
        for number in range(30):
            place.remember(f"Kiln {number} is fired on day {number}, in session one.")

        def row():
            return next(row.text for row in browser.all(".groups > li") if "30 memories" in row.text)

        self.assertIn("Python-urllib", browser.until(row, "one row for thirty memories"))
        started = time.monotonic()
        place.remember("A comet was seen over the harbour.")
        browser.until(lambda: "31 memories" in browser.text(), "the memory in its group")
        self.assertLess(time.monotonic() - started, 3)
        self.assertEqual(browser.faults(), [])

    def test_a_missing_backup_is_made_from_home(self):
        place = Place(self)
        for number in range(5):
            add(place.data, f"Fact {number}.")
        call(place.server, "mememory", "recall", {"query": "facts"})
        for look in looks():
            with self.subTest(**look):
                browser = place.signed_in(**look)
                browser.until_at("/", lambda: not browser.all(".state progress:not(.busy *)"), "everything read")
                if look == next(looks()):
                    self.assertIn("warn", browser.find(".state").get_dom_attribute("class"))
                    browser.says("No backup yet.")
                    browser.press("Back up now")
                    browser.says("Backed up")
                browser.until(lambda: "ok" in browser.find(".state").get_dom_attribute("class"), "the green sentence")
                browser.says("All good.")

    def fits(self, browser, look):
        """No part is wider than the screen, and every target is large enough."""
        browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
        wide = browser.driver.execute_script("return document.documentElement.scrollWidth")
        self.assertLessEqual(wide, look["width"])
        self.assertEqual(browser.driver.execute_script(SMALL_TARGETS), [])
        browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not look["scripts"]})


@unittest.skipUnless(programs(), "page: SKIPPED: there is no Chromium here; run scripts/setup")
class Shell(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stack = contextlib.ExitStack()
        cls.addClassCleanup(cls.stack.close)
        cls.addCleanup = cls.addClassCleanup
        cls.place = Place(cls)
        for number in range(5):
            add(cls.place.data, f"Fact {number}.", "--project", "shell")

    def test_the_bar_is_one_row_on_every_view(self):
        for look in looks():
            browser = self.place.signed_in(**look)
            for view in VIEWS:
                with self.subTest(view=view, **look):
                    browser.open(view)
                    self.assertEqual(len(visible(browser, ".bar .find input")), 1)
                    self.assertLessEqual(browser.find(".bar").rect["height"], 64)
                    names = [link.text.split("\n")[0] for link in visible(browser, ".places > ul > li, .bottom > ul > li")]
                    if look["width"] == 1280:
                        self.assertEqual([name.split(" ")[0] for name in names], ["Home", "Browse", "Facts", "Review", "Activity", "Settings"])
                    else:
                        self.assertEqual([name.split(" ")[0] for name in names], ["Home", "Search", "Browse", "Review", "More"])
                    wide = browser.driver.execute_script("return document.documentElement.scrollWidth")
                    self.assertLessEqual(wide, look["width"])

    def test_the_looks_are_chosen_without_scripts_and_stay(self):
        browser = self.place.signed_in(scripts=False)
        browser.press("Dark")
        browser.until(lambda: browser.all("html[data-theme='dark']"), "the dark page")
        browser.press("Deutsch")
        browser.says("Stöbern")
        browser.press("Eng")
        browser.until(lambda: browser.all("html[data-dense]"), "the dense page")
        browser.open("/browse")
        page = browser.find("html")
        self.assertEqual((page.get_dom_attribute("data-theme"), page.get_dom_attribute("lang")), ("dark", "de"))
        self.assertIsNotNone(page.get_dom_attribute("data-dense"))
        self.assertEqual(browser.find("body").value_of_css_property("background-color"), "rgba(18, 22, 27, 1)")

    def test_former_paths_and_unknown_ones_lead_on(self):
        browser = self.place.signed_in()
        for former, present in (("/palace", "/browse"), ("/time", "/facts"), ("/keep", "/settings"), ("/recalls", "/activity"), ("/now", "/")):
            browser.open(former)
            self.assertEqual(browser.path(), present)
        browser.open("/brows")
        browser.says("Did you mean")
        browser.find("main a[href='/browse']").click()
        browser.until(lambda: browser.path() == "/browse", "the place near it")

    def test_who_may_not_open_settings_does_not_see_them(self):
        made = run(self.place.data, "token", "create", "--subject", "bob", "--json")
        bob = Browser(self.place.server.url)
        self.addCleanup(bob.close)
        bob.open("/sign-in")
        bob.fill("token", json.loads(made.stdout)["token"])
        bob.press("Sign in")
        bob.find(".bar .menu")
        self.assertEqual(bob.all("a[href='/settings']"), [])
        bob.open("/settings")
        bob.says("Only the owner can open this.")
        bob.find(".bar .find")


if __name__ == "__main__":
    unittest.main()

"""The views of the conversation in a host that the SDKs of MCP Apps make: what they show, do, and tell the model."""

import base64
import contextlib
import functools
import http.server
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from browser import AXE_FOLDER, Browser, Server, add, axe, call, programs, run

sys.path.insert(0, "tests/e2e")
from support import data_folder  # noqa: E402

FOLDER = pathlib.Path(__file__).resolve().parent
ESBUILD = FOLDER / "node_modules" / ".bin" / "esbuild"
AXE = axe()
WIDTHS = (320, 560, 900)
# The pictures, and the largest difference of two, which comes from fonts and times.
DOCS = FOLDER.parents[1] / "docs" / "conversation"
DISTANCE_MAX = 12
# Texts that would do something if any view took them for more than texts: those of the page's own tests, which
# `crates/loci-page/tests/it/attacks.rs` reads too, and some that are meant for a view.
OF_PAGE = json.loads((FOLDER.parents[1] / "crates/loci-page/tests/it/attacks.json").read_text())
OF_VIEWS = [
    "<img src=x onerror=\"parent.postMessage({jsonrpc: '2.0', id: 1, method: 'evil'}, '*')\">",
    "<script>document.body.textContent = 'taken'</script>",
    "</script><script>document.title = 'taken'</script>",
    "${document.title} {{constructor.constructor('alert(1)')()}} <%= 7 * 7 %>",
    "\u202eevil\u202c \u2028 &lt;b&gt; &#x3c;b&#x3e;",
]
ATTACKS = [f"kiln {attack}" for attack in OF_VIEWS + OF_PAGE]
# The elements and attributes by which a text would run, load or send something.
DANGERS = """return [...document.querySelectorAll('#view *')].filter((one) =>
    ['A', 'BASE', 'EMBED', 'FORM', 'IFRAME', 'IMG', 'INPUT', 'LINK', 'MATH', 'META', 'OBJECT', 'SCRIPT', 'STYLE', 'ANIMATE'].includes(one.tagName.toUpperCase())
    || [...one.attributes].some(({ name }) => name.startsWith('on') || name.startsWith('hx-') || ['href', 'src', 'srcdoc', 'action', 'form'].includes(name))
).map((one) => one.outerHTML)"""


class Pages(http.server.BaseHTTPRequestHandler):
    """The page of the host, whose policy its frames inherit, as the hosts have one for views."""

    policy = "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'unsafe-inline'; connect-src http://127.0.0.1:*"

    def __init__(self, script, *arguments):
        self.script = script
        super().__init__(*arguments)

    def do_GET(self):
        is_script = self.path == "/host.js"
        page = b'<!doctype html><html lang="en"><title>Host</title><style>body { margin: 0 } iframe { border: 0; width: 100% }</style>'
        body = self.script if is_script else page + b'<body><script type="module" src="/host.js"></script></body></html>'
        self.send_response(200)
        self.send_header("Content-Type", "text/javascript" if is_script else "text/html; charset=utf-8")
        self.send_header("Content-Security-Policy", self.policy)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@unittest.skipUnless(programs(), "page: SKIPPED: there is no Chromium here; run scripts/setup")
class InHost(unittest.TestCase):
    """A server, and a browser with a page that is the host of its views."""

    @classmethod
    def setUpClass(cls):
        stack = contextlib.ExitStack()
        cls.addClassCleanup(stack.close)
        AXE_FOLDER.mkdir(parents=True, exist_ok=True)
        bundle = AXE_FOLDER / "conversation_host.js"
        command = [ESBUILD, "conversation_host.js", "--bundle", "--format=esm", "--log-level=error", f"--outfile={bundle}"]
        subprocess.run(command, cwd=FOLDER, check=True, capture_output=True, timeout=60)
        pages = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Pages, bundle.read_bytes()))
        stack.callback(pages.server_close)
        threading.Thread(target=pages.serve_forever, daemon=True).start()
        stack.callback(pages.shutdown)
        origin = f"http://127.0.0.1:{pages.server_port}"
        cls.data = stack.enter_context(data_folder())
        home = stack.enter_context(tempfile.TemporaryDirectory(prefix="loci-page-home-"))
        cls.server = Server(cls.data, variables={"HOME": home, "LOCI_ALLOWED_ORIGINS": origin})
        stack.callback(cls.server.stop)
        cls.browser = Browser(origin)
        stack.callback(cls.browser.close)

    def show(self, tool, given, dialect="mememory", width=560, mode="auto", **context):
        """Shows the view of a call, and leads into its frame once it has something to say."""
        browser = self.browser
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        browser.driver.switch_to.default_content()
        browser.open("/")
        browser.says("ready")
        wanted = {"url": f"{self.server.url}/mcp/{dialect}", "token": self.server.token(), "mode": mode, "tool": tool}
        wanted |= {"given": given, "context": {"theme": "light", "locale": "en-GB", **context}}
        script = "const [wanted, done] = arguments; window.show(wanted).then(done, (error) => done({ error: String(error.stack) }));"
        shown = browser.driver.execute_async_script(script, wanted)
        self.assertNotIn("error", shown)
        browser.driver.switch_to.frame(browser.find("iframe"))
        browser.until(lambda: browser.find("#view").text.strip(), "a view")
        return shown

    def of_host(self, expression):
        """A value of the page of the host."""
        driver = self.browser.driver
        frame = driver.execute_script("return true")
        self.assertTrue(frame)
        driver.switch_to.default_content()
        value = driver.execute_script(f"return {expression}")
        driver.switch_to.frame(self.browser.find("iframe"))
        return value

    def told(self, words):
        """Waits until the model was told something."""
        self.browser.until(lambda: any(words in told for told in self.of_host("window.told")), f"{words!r} told to the model")

    def recalled(self, query):
        """The texts that an agent gets in the attic."""
        found = call(self.server, "mememory", "recall", {"query": query, "project": "attic"})
        texts = [hit["memory"]["content"] for hit in found["structuredContent"]["result"]]
        return [text for text in texts if query in text]


class Conversation(InHost):
    def test_what_was_found_is_shown_as_texts_at_every_width_in_both_themes(self):
        for text in ATTACKS:
            add(self.data, text, "--project", "shop")
        for width in WIDTHS:
            for theme in ("light", "dark"):
                with self.subTest(width=width, theme=theme):
                    mode = "auto" if theme == "light" else "legacy"
                    shown = self.show("recall", {"query": "kiln", "project": "shop", "limit": 50}, width=width, theme=theme, mode=mode)
                    self.assertLessEqual(shown["bytes"], 40_000)
                    texts = [element.get_property("textContent") for element in self.browser.all(".memory .text")]
                    self.assertEqual(sorted(text for text in texts if text.startswith("kiln")), sorted(ATTACKS))
                    fits = "return [document.documentElement.scrollWidth <= innerWidth, document.title, document.documentElement.dataset.theme]"
                    self.assertEqual(self.browser.driver.execute_script(fits), [True, "What was found", theme])
                    self.assertEqual(self.browser.driver.execute_script(DANGERS), [])
                    if AXE and width != 560:
                        self.assertEqual(self.violations(), [])
                    self.browser.until(lambda: self.of_host("window.height") > 100, "the size of the view")
        self.assertEqual(self.faults(), [])

    def faults(self):
        """What the console says, but that the SDK asks whether the server has a stream to listen to, which it has not."""
        return [fault for fault in self.browser.faults() if "status of 405" not in fault]

    def violations(self):
        self.browser.driver.execute_script(AXE)
        script = "const done = arguments[0]; axe.run().then(({ violations }) => done(violations.map((rule) => [rule.id, rule.nodes.map((node) => node.html)])));"
        return self.browser.driver.execute_async_script(script)

    def test_a_memory_is_pinned_edited_forgotten_and_each_is_taken_back(self):
        add(self.data, "The lathe is oiled on Fridays.", "--project", "attic")
        self.show("recall", {"query": "lathe", "project": "attic"}, locale="de-AT")
        browser = self.browser
        self.assertIn("Was gefunden wurde", browser.text())
        self.assertEqual(browser.driver.execute_script("return document.documentElement.lang"), "de")
        self.show("recall", {"query": "lathe", "project": "attic"})
        browser.press("Pin to every session")
        browser.until(lambda: browser.all(".pinned"), "the pin")
        self.told("pinned")
        browser.press("Undo")
        browser.until(lambda: not browser.all(".pinned"), "no pin")
        browser.press("Edit the text")
        field = browser.find("textarea")
        field.clear()
        field.send_keys("The lathe is oiled on Mondays.")
        browser.press("Save")
        browser.says("Done.")
        self.assertEqual(self.recalled("lathe"), ["The lathe is oiled on Mondays."])
        browser.press("Undo")
        browser.says("Undone")
        self.assertEqual(self.recalled("lathe"), ["The lathe is oiled on Fridays."])
        browser.press("Forget")
        browser.until(lambda: browser.all("[data-forgotten]"), "what is forgotten")
        self.assertEqual(self.recalled("lathe"), [])
        browser.press("Undo")
        browser.until(lambda: not browser.all("[data-forgotten]"), "what is restored")
        self.assertEqual(self.recalled("lathe"), ["The lathe is oiled on Fridays."])
        browser.press("Show me more of this")
        browser.until(lambda: "oiled on Fridays" in "".join(self.of_host("window.said")), "the message")
        self.assertEqual(self.faults(), [])

    def test_a_private_memory_is_shared_by_keys(self):
        stored = {"content": "The safe is behind the shelf.", "scope": "global", "category": "convention", "source": "user-said"}
        call(self.server, "engram", "store_memory", stored)
        self.show("search_memory", {"query": "safe", "scope": "global"}, dialect="engram")
        browser = self.browser
        browser.click(browser.find("h1"))
        browser.driver.switch_to.active_element.send_keys("j")
        browser.until(lambda: browser.driver.switch_to.active_element.get_attribute("class") == "memory", "the first memory")
        share = "return [...document.querySelectorAll('button')].find((button) => button.textContent === 'Share')"
        for _ in range(9):
            browser.driver.switch_to.active_element.send_keys(Keys.TAB)
            if browser.driver.switch_to.active_element == browser.driver.execute_script(share):
                break
        browser.driver.switch_to.active_element.send_keys(Keys.ENTER)
        browser.until(lambda: browser.all(".shared"), "that it is shared")
        self.assertEqual(browser.driver.switch_to.active_element.text, "Undo")
        browser.driver.switch_to.active_element.send_keys(Keys.ENTER)
        browser.until(lambda: not browser.all(".shared"), "that it is not shared")

    def test_a_contradiction_is_decided_in_four_ways_and_each_is_taken_back(self):
        ways = {
            "Keep both": ("are both right", 2),
            "Update the old one": ("has the new text now", 1),
            "Replace the old one": ("replaces memory", 1),
            "Forget the old one": ("is forgotten", 1),
        }
        browser = self.browser
        for number, (way, (words, left)) in enumerate(ways.items()):
            with self.subTest(way=way):
                project = f"dock{number}"
                add(self.data, "The crane lifts 40 tons at the north pier.", "--project", project)
                given = {"content": "The crane lifts 55 tons at the north pier.", "project": project, "scope": "project"}
                shown = self.show("remember", given, width=320 if number else 900, theme="dark" if number else "light")
                self.assertIn("CONTRADICTION DETECTED", shown["texts"][0])
                self.assertEqual([mark.text for mark in browser.all("mark")], ["55", "40"])
                if AXE:
                    self.assertEqual(self.violations(), [])
                query = {"query": "crane", "project": project}
                texts = lambda query=query: sorted(  # noqa: E731
                    hit["memory"]["content"]
                    for hit in call(self.server, "mememory", "recall", query)["structuredContent"]["result"]
                    if "crane" in hit["memory"]["content"]
                )
                before = texts()
                browser.press(way)
                self.told(words)
                after = texts()
                self.assertEqual(len(after), left, after)
                self.assertIn("The crane lifts 55 tons at the north pier.", after)
                browser.press("Undo")
                browser.says("Undone")
                self.told("open again")
                self.assertEqual(texts(), before)
        self.assertEqual(self.faults(), [])

    def looks(self, tool, given, dialect="mememory", check=lambda: None):
        """Shows a view at every width in both themes, where it fits and has no fault of accessibility."""
        for width in WIDTHS:
            for theme in ("light", "dark"):
                with self.subTest(width=width, theme=theme):
                    mode = "auto" if theme == "light" else "legacy"
                    shown = self.show(tool, given, dialect=dialect, width=width, theme=theme, mode=mode)
                    self.assertLessEqual(shown["bytes"], 40_000)
                    self.assertTrue(self.browser.driver.execute_script("return document.documentElement.scrollWidth <= innerWidth"))
                    check()
                    if AXE and width != 560:
                        self.assertEqual(self.violations(), [])

    def started(self):
        """The texts that sessions start with, in order, as a command says them."""
        lines = run(self.data, "bootstrap", "--project", "mill").stdout.decode().splitlines()
        return [word for line in lines for word in ("anvil", "bellows", "chisel") if f"the {word} rule" in line]

    def test_the_next_session_is_put_in_order_and_unpinned(self):
        for word in ("anvil", "bellows", "chisel"):
            add(self.data, f"Keep to the {word} rule.", "--project", "mill", "--type", "rule", "--bootstrap")
        self.assertEqual(self.started(), ["anvil", "bellows", "chisel"])
        browser = self.browser
        self.looks("mempalace_status", {}, "mempalace")
        self.show("stats", {})
        self.assertIn("What the next session begins with", browser.text())
        select = browser.find("select")
        browser.driver.execute_script("arguments[0].value = 'mill'; arguments[0].dispatchEvent(new Event('change'))", select)
        browser.says("Keep to the chisel rule.")
        # By the keyboard: to the first memory, and it goes down past the second.
        memories = browser.all(".memory")
        browser.driver.execute_script("arguments[0].focus()", memories[0])
        browser.driver.switch_to.active_element.send_keys(Keys.SHIFT + Keys.ARROW_DOWN)
        browser.until(lambda: self.started() == ["bellows", "anvil", "chisel"], "the new order")
        browser.says("Done.")
        self.told("moved memory")
        self.assertIn("anvil", browser.driver.switch_to.active_element.text)
        browser.press("Undo")
        browser.says("Undone")
        self.assertEqual(self.started(), ["anvil", "bellows", "chisel"])
        last = browser.all(".memory")[2]
        browser.click(last.find_element("xpath", ".//button[text()='Move up']"))
        browser.until(lambda: self.started() == ["anvil", "chisel", "bellows"], "the new order")
        browser.says("Done.")
        first = browser.all(".memory")[0]
        browser.click(first.find_element("xpath", ".//button[text()='Unpin']"))
        browser.until(lambda: self.started() == ["chisel", "bellows"], "what is left")
        self.told("unpinned memory")
        browser.press("Undo")
        browser.says("Undone")
        self.assertEqual(sorted(self.started()), ["anvil", "bellows", "chisel"])
        self.show("mempalace_status", {}, dialect="mempalace", locale="de-AT")
        self.assertIn("Womit die nächste Sitzung beginnt", browser.text())
        self.assertEqual(self.faults(), [])

    def test_facts_lie_along_the_time_and_lead_to_each_other(self):
        facts = [("crane", "stands at", "north pier"), ("crane", "stands at", "south pier"), ("ship", "waits for", "crane")]
        for subject, predicate, other in facts:
            given = {"subject": subject, "predicate": predicate, "object": other, "valid_from": "2024-01-01"}
            call(self.server, "mempalace", "mempalace_kg_add", given)
        ended = {"subject": "crane", "predicate": "stands at", "object": "north pier", "ended": "2025-03-01"}
        call(self.server, "mempalace", "mempalace_kg_invalidate", ended)
        browser = self.browser
        self.looks("mempalace_kg_query", {"entity": "crane"}, "mempalace", lambda: browser.says("north pier"))
        self.show("mempalace_kg_query", {"entity": "crane"}, dialect="mempalace")
        self.assertEqual([lane.text for lane in browser.all(".lane h2")], ["stands at →", "← waits for"])
        self.assertEqual([bar.get_attribute("class") for bar in browser.all(".bar")], ["bar", "bar holds", "bar holds"])
        widths = [bar.size["width"] for bar in browser.all(".bar")]
        self.assertLess(widths[0], widths[1])
        self.assertEqual(browser.find("svg").get_attribute("aria-label"), "Leads to: north pier, south pier, ship")
        self.assertEqual(len(browser.all("svg line")), 3)
        # One of the others is looked at by the keyboard.
        browser.driver.execute_script("arguments[0].focus()", browser.find(".actions button:nth-child(3)"))
        browser.driver.switch_to.active_element.send_keys(Keys.ENTER)
        browser.until(lambda: browser.find("select").get_property("value") == "ship", "the ship")
        browser.says("waits for →")
        self.show("mempalace_kg_stats", {}, dialect="mempalace", locale="de")
        self.assertIn("Fakten im Lauf der Zeit", browser.text())
        self.assertEqual(browser.find("select").get_property("value"), "crane")
        self.assertEqual(self.faults(), [])

    def test_the_palace_is_a_picture_of_its_places(self):
        for number in range(6):
            add(self.data, f"Beam {number} of the barn.", "--project", "barn", "--type", "fact" if number else "rule")
        browser = self.browser
        self.looks("mempalace_get_taxonomy", {}, "mempalace", lambda: browser.says("barn · 6"))
        self.show("mempalace_list_wings", {}, dialect="mempalace", width=900)
        sizes = lambda: {box.text: box.size["width"] * box.size["height"] for box in browser.all(".area")}  # noqa: E731
        whole = browser.find(".areas").size
        self.assertAlmostEqual(sum(sizes().values()) / (whole["width"] * whole["height"]), 1, delta=0.05)
        browser.driver.execute_script("arguments[0].focus()", browser.find("[title='barn · 6']"))
        browser.driver.switch_to.active_element.send_keys(Keys.ENTER)
        browser.says("fact · 5")
        self.assertGreater(sizes()["fact · 5"], 3 * sizes()["rule · 1"])
        browser.press("fact · 5")
        browser.until(lambda: "barn / fact" in "".join(self.of_host("window.said")), "the message")
        browser.press("All places")
        browser.says("The palace")
        self.assertEqual(self.faults(), [])

    def test_the_review_is_decided_by_keys_and_each_is_taken_back(self):
        add(self.data, "The winch pulls 20 tons at the old gate.", "--project", "yard")
        add(self.data, "The winch pulls 90 tons at the old gate.", "--project", "yard")
        browser = self.browser
        winch = lambda: [text for text in self.texts("winch", "yard") if "winch" in text]  # noqa: E731
        examined = lambda: "winch" in self.reviewed()  # noqa: E731
        browser.until(examined, "the examination")
        self.looks("memory_health", {"user_id": "local"}, "memory-mcp", lambda: browser.until(lambda: browser.all(".ways button"), "an item"))
        self.show("help", {})
        browser.click(browser.find("h1"))
        for _ in range(30):
            if "winch" in browser.text():
                break
            browser.driver.switch_to.active_element.send_keys("j")
        self.assertIn("20 tons", browser.text())
        self.assertIn("seem to contradict", browser.text())
        self.assertEqual(len(winch()), 2)
        browser.driver.switch_to.active_element.send_keys("2")
        browser.says("Done.")
        self.told("replaces memory")
        self.assertEqual(winch(), ["The winch pulls 90 tons at the old gate."])
        browser.driver.switch_to.active_element.send_keys("z")
        browser.says("Undone")
        self.assertEqual(len(winch()), 2)
        self.show("mempalace_memories_filed_away", {}, dialect="mempalace", locale="de")
        self.assertIn("Durchsehen", browser.text())
        self.assertEqual(self.faults(), [])

    def texts(self, query, project):
        """The texts that an agent gets."""
        found = call(self.server, "mememory", "recall", {"query": query, "project": project})
        return [hit["memory"]["content"] for hit in found["structuredContent"]["result"]]

    def reviewed(self):
        """What a command lists that waits for a decision."""
        return run(self.data, "review", "list").stdout.decode()

    def test_no_stored_text_is_more_than_a_text_in_any_view(self):
        browser = self.browser

        def is_text(name, *shown):
            """Checks that a view has these texts, and nothing that they would make of it."""
            with self.subTest(view=name):
                texts = browser.driver.execute_script("return document.querySelector('#view').textContent")
                for text in shown:
                    self.assertIn(text, texts)
                self.assertEqual(browser.driver.execute_script(DANGERS), [])
                self.assertNotIn("taken", browser.driver.execute_script("return document.title"))

        names = ["".join(character for character in attack if character.isprintable())[:80] for attack in OF_PAGE]
        for name, attack in zip(names, OF_PAGE):
            given = {"content": f"oven {attack}", "project": f"wing {name}", "tags": [f"tag {name}"], "type": "rule", "delivery": "bootstrap"}
            stored = call(self.server, "mememory", "remember", given)
            self.assertFalse(stored.get("isError"), stored)
            fact = {"subject": "oven hub", "predicate": "stands at", "object": f"at {name}", "source_closet": name}
            self.assertFalse(call(self.server, "mempalace", "mempalace_kg_add", fact).get("isError"), fact)
        self.show("mempalace_status", {}, dialect="mempalace")
        for name, attack in zip(names, OF_PAGE):
            select = browser.find("select")
            chosen = f"wing {name}"
            browser.driver.execute_script("arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('change'))", select, chosen)
            browser.until(lambda: f"oven {attack}" in browser.driver.execute_script("return document.querySelector('#view').textContent"), attack)
            is_text(f"next: {attack}", chosen)
        self.show("mempalace_kg_query", {"entity": "oven hub"}, dialect="mempalace")
        is_text("facts", *(f"at {name}" for name in names))
        self.show("mempalace_kg_query", {"entity": f"at {names[0]}"}, dialect="mempalace")
        is_text("facts of an attack", names[0])
        self.show("mempalace_list_wings", {}, dialect="mempalace")
        is_text("palace", "wing ")
        for number, attack in enumerate(OF_PAGE[:6] + OF_VIEWS):
            older = {"content": f"The oven{number} is at 200 degrees. {attack}", "project": "bakery"}
            call(self.server, "mememory", "remember", older)
            self.show("remember", {**older, "content": f"The oven{number} is at 250 degrees. {attack}"})
            is_text(f"contradiction: {attack}", attack)
        browser.until(lambda: "oven0" in self.reviewed(), "the examination")
        self.show("help", {})
        browser.click(browser.find("h1"))
        seen = 0
        for _ in range(30):
            seen += "oven" in browser.text()
            is_text("review")
            browser.driver.switch_to.active_element.send_keys("j")
        self.assertGreater(seen, 0)
        self.assertEqual(self.faults(), [])

    def test_a_view_hears_its_host_alone_and_takes_no_harm_from_what_that_says(self):
        add(self.data, "The anvil is in the yard.", "--project", "forge")
        self.show("recall", {"query": "anvil", "project": "forge"})
        browser = self.browser
        evil = {"content": [{"type": "text", "text": "taken"}]}
        message = json.dumps({"jsonrpc": "2.0", "method": "ui/notifications/tool-result", "params": evil})
        # A frame beside the view, and one within it, speak as the host would.
        beside = f"<script>parent.frames[0].postMessage({message}, '*')</script>".replace("</", "<\\/")
        self.of_host(f"(() => {{ const f = document.createElement('iframe'); f.sandbox = 'allow-scripts'; f.srcdoc = {json.dumps(beside)}; document.body.append(f); return 1; }})()")
        odd = [None, 5, "x", {"memories": "all"}, {"memories": [None, 5, {"id": {}}, {"id": "no-such"}], "user_id": {}}]
        for beside in odd:
            self.of_host(f"(window.bridge.sendToolResult({{content: [], _meta: {{'loci/view': {json.dumps(beside)}}}}}), 1)")
        browser.until(lambda: browser.find("#view").text.strip(), "some words")
        self.assertNotIn("taken", browser.text())
        self.of_host("(window.bridge.sendToolResult(window.result), 1)")
        browser.says("The anvil is in the yard.")

    def test_ten_messages_of_a_hostile_host_break_no_view(self):
        views = [
            ("recall", {"query": "bench", "project": "studio"}, "mememory", "The bench is in the studio."),
            ("remember", {"content": "The bench is of oak.", "project": "studio", "again": True}, "mememory", "The bench is of oak."),
            ("stats", {}, "mememory", "What the next session begins with"),
            ("mempalace_kg_stats", {}, "mempalace", "Facts over time"),
            ("mempalace_list_wings", {}, "mempalace", "The palace"),
            ("help", {}, "mememory", "Review"),
        ]
        notify = lambda method, params: {"jsonrpc": "2.0", "method": f"ui/notifications/{method}", "params": params}  # noqa: E731
        evil = "<img src=x onerror=alert(1)>"
        messages = [
            notify("tool-result", None),
            notify("tool-result", {"content": "taken", "_meta": {"loci/view": "x"}}),
            notify("tool-result", {"content": [None, 5, {"text": evil}], "isError": True, "_meta": {"loci/view": {"memories": []}}}),
            notify("tool-input", {"arguments": [evil]}),
            notify("host-context-changed", {"theme": evil, "locale": {"x": 1}, "timeZone": "Nowhere/Land", "styles": {"variables": {"--font-sans": "url(//evil.example/x)"}}}),
            notify("host-context-changed", "taken"),
            {"jsonrpc": "2.0", "id": 1, "result": {"structuredContent": {"memories": [{"text": evil}]}}},
            {"jsonrpc": "2.0", "id": 99, "error": "taken"},
            {"jsonrpc": "2.0", "id": "evil", "method": "tools/call", "params": {"name": "rm"}},
            {"jsonrpc": "1.0", "method": "ui/notifications/tool-result", "params": {"content": [{"text": "taken"}]}},
        ]
        self.assertEqual(len(messages), 10)
        add(self.data, "The bench is in the studio.", "--project", "studio")
        browser = self.browser
        for tool, given, dialect, words in views:
            with self.subTest(tool=tool):
                self.show(tool, given, dialect=dialect)
                browser.says(words)
                self.of_host("(window.answers = [], window.addEventListener('message', ({ data }) => window.answers.push(data)), 1)")
                for message in messages:
                    self.of_host(f"(window.frame.contentWindow.postMessage({json.dumps(message)}, '*'), 1)")
                refused = "window.answers.some(({ id, error }) => id === 'evil' && error && error.code === -32601)"
                browser.until(lambda: self.of_host(refused), "a refusal of the method")
                self.of_host("(window.bridge.sendToolResult(window.result), 1)")
                browser.says(words)
                self.assertEqual(browser.driver.execute_script(DANGERS), [])
                self.assertEqual(browser.driver.execute_script("return document.querySelectorAll('[data-theme]').length"), 1)
        self.assertEqual(self.faults(), [])

    def test_the_setting_turns_views_off(self):
        for value, has in (("true", True), ("false", False)):
            shown = run(self.data, "config", variables={"LOCI_CONVERSATION_VIEWS": value})
            self.assertEqual(shown.returncode, 0, shown.stderr)
            request = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {"extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]}}},
            }}}
            answer = run(self.data, "mcp", "mememory", stdin=json.dumps(request).encode() + b"\n", variables={"LOCI_CONVERSATION_VIEWS": value})
            self.assertEqual("resourceUri" in answer.stdout.decode(), has, answer.stderr)


class Pictures(InHost):
    """The pictures of docs/conversation.md are what the views look like; `just pictures` takes them again."""

    def test_the_views_look_as_in_the_documentation(self):
        for text, *arguments in (
            ("The large kiln fires at 1240 degrees.", "--project", "pottery", "--tags", "kiln"),
            ("Glaze twice, and let it dry for a day.", "--project", "pottery"),
            ("The shop opens at nine.", "--project", "shop"),
            ("We deliver on Fridays.", "--project", "shop", "--type", "decision"),
            ("Answer in short sentences.", "--type", "rule", "--bootstrap"),
            ("Name the kiln in every report.", "--type", "rule", "--bootstrap"),
        ):
            add(self.data, text, *arguments)
        for subject, since, until in (("Ann", "2020-01-01", "2022-12-31"), ("Bob", "2023-01-01", None)):
            fact = {"subject": subject, "predicate": "runs", "object": "the bakery", "valid_from": since}
            call(self.server, "mempalace", "mempalace_kg_add", fact | ({"valid_to": until} if until else {}))
        stored = {"content": "The large kiln fires at 1260 degrees.", "project": "pottery"}
        shown = {
            "contradiction": ("remember", stored, "mememory"),
            "found": ("recall", {"query": "how hot does the large kiln become", "project": "pottery", "limit": 3}, "mememory"),
            "next": ("mempalace_status", {}, "mempalace"),
            "facts": ("mempalace_kg_query", {"entity": "the bakery"}, "mempalace"),
            "palace": ("mempalace_get_taxonomy", {}, "mempalace"),
            "review": ("help", {}, "mememory"),
        }
        browser = self.browser
        for name, (tool, given, dialect) in shown.items():
            with self.subTest(view=name):
                if name == "review":
                    waits = lambda: b"kiln" in run(self.data, "review", "list").stdout  # noqa: E731
                    browser.until(waits, "the examination")
                self.show(tool, given, dialect=dialect, width=720)
                browser.until(lambda: self.of_host("window.height") > 100, "the size of the view")
                browser.driver.switch_to.default_content()
                taken = browser.find("iframe").screenshot_as_base64
                file = DOCS / f"{name}.png"
                if os.environ.get("LOCI_BLESS"):
                    DOCS.mkdir(exist_ok=True)
                    file.write_bytes(base64.b64decode(taken))
                kept = base64.b64encode(file.read_bytes()).decode()
                browser.driver.get("about:blank")
                self.assertLess(browser.distance(taken, kept), DISTANCE_MAX, f"docs/conversation/{name}.png looks different")


if __name__ == "__main__":
    unittest.main()

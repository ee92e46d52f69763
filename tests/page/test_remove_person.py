"""Story 40: a person is counted, removed by the typed name, and found nowhere afterwards. Also without scripts."""

import contextlib
import json
import sys
import unittest
import urllib.error
import urllib.request

from browser import Browser, Server, axe, entrance, looks, programs, run

sys.path.insert(0, "tests/e2e")
from support import data_folder  # noqa: E402

AXE = axe()
VIEWS = ("/", "/search?q=kiln", "/browse", "/browse/room", "/browse/room?forgotten=true", "/facts", "/review", "/activity")
SETTINGS = ("/settings", "/people", "/next-session")


@unittest.skipUnless(programs(), "page: SKIPPED: there is no Chromium here; run scripts/setup")
class RemovePerson(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        stack = contextlib.ExitStack()
        cls.addClassCleanup(stack.close)
        cls.data = stack.enter_context(data_folder())
        cls.server = Server(cls.data)
        stack.callback(cls.server.stop)

    def token(self, name):
        made = run(self.data, "token", "create", "--subject", name, "--scopes", "read,write", "--json")
        self.assertEqual(made.returncode, 0, made.stderr)
        return json.loads(made.stdout)["token"]

    def ask(self, token, method, path, fields=None):
        body = None if fields is None else json.dumps(fields).encode()
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.server.url}/api/v1{path}", body, headers, method=method)
        with urllib.request.urlopen(request, timeout=60) as reply:
            return json.load(reply)

    def filled(self, name):
        """Stores something of every kind for a person, and returns the person's token."""
        token = self.token(name)
        for text, shared in (("The kiln is mine alone.", False), ("The kiln is for all.", True)):
            new = {"content": text, "wing": "pottery", "shared": shared, "idempotency_key": text}
            self.ask(token, "POST", "/memories", new)
        self.ask(token, "POST", "/facts/add", {"subject": "kiln", "predicate": "stands in", "object": f"yard of {len(name)}"})
        self.ask(token, "GET", "/search?q=kiln")
        self.ask(token, "GET", "/home")
        return token

    def nowhere(self, name, token):
        """Holds that nothing which a person or a program can read has the name."""
        owner = self.server.token()
        for path in ("/home", "/memories", "/browse/room", "/facts?entity=kiln", "/review", "/activity", "/settings", "/people"):
            with self.subTest(path=path):
                self.assertNotIn(name, json.dumps(self.ask(owner, "GET", path)))
        for words in (("export", "-"), ("audit",), ("token", "list"), ("audit", "--json")):
            with self.subTest(words=words):
                done = run(self.data, *words)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertNotIn(name, done.stdout.decode())
        with self.assertRaises(urllib.error.HTTPError) as refused:
            self.ask(token, "GET", "/home")
        self.assertEqual(refused.exception.code, 401)
        # But for the row that keeps calls which are under way from storing anything, for a day.
        for file in self.data.rglob("*"):
            if file.is_file() and not file.name.startswith("loci.db"):
                with self.subTest(file=file.name):
                    self.assertNotIn(name.encode(), file.read_bytes())

    def test_a_person_is_removed_by_the_typed_name(self):
        for number, look in enumerate(looks(plain=True)):
            with self.subTest(**look):
                name = f"wilhelmina{number}"
                token = self.filled(name)
                browser = Browser(self.server.url, **look)
                self.addCleanup(browser.close)
                browser.open(entrance(self.data, self.server.url))
                browser.open("/people")
                browser.fill("name", name)
                browser.press("Count")
                browser.says(f"What goes with {name}")
                rows = {row.find_element("css selector", "dt").text: row.find_element("css selector", "dd").text
                        for row in browser.all("dl.facts div")}
                self.assertEqual(rows["Memories and messages"], "2")
                self.assertEqual(rows["Tokens"], "1")
                self.assertEqual(rows["Cached answers and kept replies"], "2")
                self.assertGreaterEqual(int(rows["Calls in the audit log"]), 4)
                browser.fill("confirm", name.upper())
                browser.press("Remove forever")
                browser.says("is not the name")
                counted = self.ask(self.server.token(), "DELETE", f"/people/{name}?dry_run")
                self.assertEqual((counted["memories"], counted["dry_run"]), (2, True))
                browser.open(f"/people?name={name}")
                browser.fill("confirm", name)
                browser.press("Remove forever")
                browser.says("Receipt")
                if AXE and look["scripts"]:
                    self.assertEqual(browser.violations(AXE), [])
                self.nowhere(name, token)
                for view in (*VIEWS, *SETTINGS):
                    browser.open(view)
                    self.assertNotIn(name, browser.driver.page_source, view)

    def test_a_program_removes_in_one_call(self):
        token = self.filled("leopoldine")
        removed = self.ask(self.server.token(), "DELETE", "/people/leopoldine")
        self.assertEqual((removed["memories"], removed["tokens"], removed["dry_run"]), (2, 1, False))
        self.nowhere("leopoldine", token)


if __name__ == "__main__":
    unittest.main()

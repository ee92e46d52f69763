"""The pictures of docs/page.md are what the views look like; `just pictures` takes them again."""

import base64
import contextlib
import os
import unittest

from browser import ROOT, Browser, Server, add, call, entrance, programs

from support import data_folder

FOLDER = ROOT / "docs" / "page"
# The largest difference of two pictures, which comes from fonts, times and ids.
DISTANCE_MAX = 12
VIEWS = {
    "now": "/",
    "search": "/search?q=how+hot+does+the+large+kiln+become",
    "as-agent": "/search/agent?q=how+hot+does+the+large+kiln+become",
    "palace": "/browse",
    "room": "/browse/room?wing=pottery",
    "map": "/browse/overview",
    "time": "/facts?entity=the+bakery&as_of=2021-06-01",
    "review": "/review?kind=contradiction",
    "recalls": "/activity",
    "keep": "/settings",
}


@unittest.skipUnless(programs(), "page: SKIPPED: there is no Chromium here; run scripts/setup")
class Pictures(unittest.TestCase):
    def test_the_views_look_as_in_the_documentation(self):
        with contextlib.ExitStack() as stack:
            data = stack.enter_context(data_folder())
            for text, *arguments in (
                ("The large kiln fires at 1240 degrees.", "--project", "pottery", "--tags", "kiln"),
                ("The small kiln fires at 980 degrees.", "--project", "pottery", "--tags", "kiln"),
                ("Glaze twice, and let it dry for a day.", "--project", "pottery", "--type", "rule"),
                ("The shop opens at nine.", "--project", "shop"),
                ("We deliver on Fridays.", "--project", "shop", "--type", "decision"),
                ("Answer in short sentences.", "--type", "rule"),
            ):
                add(data, text, *arguments)
            memory = add(data, "The large kiln fires at 1260 degrees.", "--project", "pottery", "--again")
            server = Server(data, variables={"HOME": str(data.parent)})
            stack.callback(server.stop)
            browser = Browser(server.url, width=1000, height=700)
            stack.callback(browser.close)
            browser.open(entrance(data, server.url))
            for subject, since, until in (("Ann", "2020-01-01", "2022-12-31"), ("Bob", "2023-01-01", None)):
                fact = {"subject": subject, "predicate": "runs", "object": "the bakery", "valid_from": since}
                call(server, "mempalace", "mempalace_kg_add", fact | ({"valid_to": until} if until else {}))
            for query in ("which kiln is hotter", "when do we deliver"):
                call(server, "mememory", "recall", {"query": query})
            for name, path in {**VIEWS, "memory": f"/memory/{memory}"}.items():
                browser.open(path)
                browser.find("h1")
                self.compare(browser, name)

    def compare(self, browser, name):
        taken = browser.driver.get_screenshot_as_base64()
        file = FOLDER / f"{name}.png"
        if os.environ.get("LOCI_BLESS"):
            FOLDER.mkdir(exist_ok=True)
            file.write_bytes(base64.b64decode(taken))
        kept = base64.b64encode(file.read_bytes()).decode()
        browser.driver.get("about:blank")
        self.assertLess(browser.distance(taken, kept), DISTANCE_MAX, f"docs/page/{name}.png looks different")


if __name__ == "__main__":
    unittest.main()

"""The commands of README end in a found fact, and its picture shows that; `just pictures` takes it again."""

import base64
import contextlib
import html
import json
import os
import pty
import re
import shlex
import subprocess
import unittest
import urllib.parse

from browser import ROOT, Browser, Server, entrance, environment, programs
from support import LOCI, data_folder
from test_pictures import DISTANCE_MAX

PICTURE = ROOT / "docs" / "pictures" / "readme.webp"
# What all pictures of README may have together.
BYTES_MAX = 150_000
WIDTH, HEIGHT = 1240, 392
# The page is shown smaller, and the terminal beside it.
PAGE_WIDTH, PAGE_HEIGHT, PAGE_SCALE = 940, 580, 0.62
# Looks that a terminal gives texts, by the numbers that programs ask for them with.
STYLES = {1: "font-weight:bold", 2: "opacity:.6", 4: "text-decoration:underline", 7: "background:#ffe08a;color:#111"}
COLOURS = ("#8b949e", "#ff7b72", "#7ee787", "#e3b341", "#79c0ff", "#d2a8ff", "#76e3ea", "#e6edf3")

SCENE = """<!doctype html><meta charset="utf-8"><style>
body {{ margin: 0; background: #fff; width: {width}px; height: {height}px; position: relative; overflow: hidden; }}
pre {{ position: absolute; left: 16px; top: 16px; width: 600px; height: 360px; margin: 0; padding: 18px 20px;
  border-radius: 10px; box-sizing: border-box; background: #161b22; color: #e6edf3;
  font: 14px/1.6 "DejaVu Sans Mono", monospace; white-space: pre-wrap; }}
pre i {{ color: #7ee787; font-style: normal; }}
img {{ position: absolute; right: 16px; top: 16px; width: {shown}px; border: 1px solid #c9ced6; border-radius: 10px; }}
</style><pre>{terminal}</pre><img src="data:image/png;base64,{page}">"""


README = (ROOT / "README.md").read_text()


def commands():
    """The lines of README that start with `loci`, each as its words."""
    blocks = re.findall(r"^```\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
    block = next(block for block in blocks if "loci add" in block)
    return [shlex.split(line) for line in block.splitlines() if line.startswith("loci ")]


def on_terminal(data, arguments, variables):
    """What a command prints on a terminal of 74 columns."""
    ours, theirs = pty.openpty()
    environ = environment(data, variables | {"COLUMNS": "74", "TERM": "xterm-256color"})
    process = subprocess.Popen([LOCI, *arguments], env=environ, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    printed = b""
    # The end of the program ends the terminal, which Linux tells as an error.
    with contextlib.suppress(OSError):
        while part := os.read(ours, 4096):
            printed += part
    os.close(ours)
    return process.wait(timeout=60), printed.decode().replace("\r\n", "\n")


def shown(text):
    """The text of a terminal as HTML."""
    parts, is_open = [], False
    for part in re.split(r"(\x1b\[[0-9;]*m)", text):
        asked = re.fullmatch(r"\x1b\[([0-9;]*)m", part)
        if not asked:
            parts.append(html.escape(part))
            continue
        parts.append("</span>" if is_open else "")
        numbers = [int(number or 0) for number in asked[1].split(";")]
        styles = [STYLES[number] for number in numbers if number in STYLES]
        styles += [f"color:{COLOURS[number % 10]}" for number in numbers if 30 <= number <= 37 or 90 <= number <= 97]
        is_open = bool(styles)
        parts.append(f'<span style="{";".join(styles)}">' if is_open else "")
    return "".join(parts) + ("</span>" if is_open else "")


class ReadmePicture(unittest.TestCase):
    def test_the_commands_end_in_a_found_fact(self):
        with data_folder() as data:
            # A home with one host.
            (data.parent / ".codex").mkdir()
            home = {"HOME": str(data.parent)}
            self.assertEqual([words[1] for words in commands()], ["add", "search", "connect"])
            for _, *arguments in commands():
                code, printed = on_terminal(data, arguments, home)
                self.assertEqual(code, 0, printed)
            searched = subprocess.run(
                [LOCI, *commands()[1][1:], "--json"], env=environment(data, home), capture_output=True, check=True
            )
            self.assertIn(commands()[0][2], json.loads(searched.stdout)["results"][0]["memory"]["content"])

    def test_its_pictures_are_small(self):
        files = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", README)
        self.assertIn(str(PICTURE.relative_to(ROOT)), files)
        self.assertLess(sum((ROOT / file).stat().st_size for file in files), BYTES_MAX)

    @unittest.skipUnless(programs(), "page: SKIPPED: there is no Chromium here; run scripts/setup")
    def test_the_picture_is_what_the_terminal_and_the_page_show(self):
        with contextlib.ExitStack() as stack:
            data = stack.enter_context(data_folder())
            home = {"HOME": str(data.parent)}
            terminal = ""
            for words in commands()[:2]:
                code, printed = on_terminal(data, words[1:], home)
                self.assertEqual(code, 0, printed)
                typed = f"{words[0]} {words[1]} \"{words[2]}\""
                terminal += f"<i>$</i> <b>{html.escape(typed)}</b>\n{shown(printed)}\n"
            server = Server(data, variables=home)
            stack.callback(server.stop)
            browser = Browser(server.url, width=PAGE_WIDTH, height=PAGE_HEIGHT)
            stack.callback(browser.close)
            browser.open(entrance(data, server.url))
            browser.open(f"/search?q={urllib.parse.quote_plus(commands()[1][2])}")
            browser.says(commands()[0][2])
            page = browser.driver.get_screenshot_as_base64()
            self.compare(browser, self.taken(browser, terminal, page))

    def taken(self, browser, terminal, page):
        """The picture of both, in base 64."""
        scene = SCENE.format(
            width=WIDTH, height=HEIGHT, shown=round(PAGE_WIDTH * PAGE_SCALE), terminal=terminal, page=page
        )
        metrics = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1.5, "mobile": False}
        browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        browser.driver.get("about:blank")
        browser.driver.execute_script("document.open(); document.write(arguments[0]); document.close();", scene)
        is_loaded = "return document.images[0].complete"
        browser.until(lambda: browser.driver.execute_script(is_loaded), "the picture of the page")
        form = {"format": "webp", "quality": 82}
        return browser.driver.execute_cdp_cmd("Page.captureScreenshot", form)["data"]

    def compare(self, browser, taken):
        if os.environ.get("LOCI_BLESS"):
            PICTURE.parent.mkdir(exist_ok=True)
            PICTURE.write_bytes(base64.b64decode(taken))
        kept = base64.b64encode(PICTURE.read_bytes()).decode()
        browser.driver.get("about:blank")
        distance = browser.distance(taken, kept)
        self.assertLess(distance, DISTANCE_MAX, f"{PICTURE.name} looks different: run `just pictures`")


if __name__ == "__main__":
    unittest.main()

"""Measures in Chromium how long the first view takes: `python tests/page/speed.py DATA`, with LOCI_BIN.

DATA is a data folder that nothing else serves. Run it with the optimised build, in `.venv`.
"""

import os
import pathlib
import sys

from browser import Browser
from support import Server

LOOKS = 20
# Milliseconds since the browser began to ask: the first byte, and the end of the scripts, after which the page reacts.
TIMES = """
const view = performance.getEntriesByType("navigation")[0];
return [view.responseStart, view.domContentLoadedEventEnd];
"""


def main():
    if len(sys.argv) != 2 or not pathlib.Path(sys.argv[1]).is_dir():
        sys.exit(__doc__)
    nothing = {"LOCI_CONFIG": os.devnull}
    server = Server(pathlib.Path(sys.argv[1]), "--no-auth", "--log", "info", variables=nothing)
    browser = Browser(server.url)
    try:
        looks = []
        for _ in range(LOOKS):
            browser.driver.execute_cdp_cmd("Network.clearBrowserCache", {})
            browser.open("/")
            looks.append(browser.driver.execute_script(TIMES))
    finally:
        browser.close()
        server.process.terminate()
        server.process.wait(timeout=60)
    for name, times in zip(("first byte", "interactive"), zip(*looks, strict=True), strict=True):
        median, most = sorted(times)[LOOKS // 2], max(times)
        print(f"{name}: the first {times[0]:.0f} ms, median {median:.0f} ms, at most {most:.0f} ms")


if __name__ == "__main__":
    main()

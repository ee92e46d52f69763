"""A headless Chromium on the page of a server, and what the stories do with it."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
import urllib.parse
import urllib.request

from selenium import webdriver
from selenium.common.exceptions import TimeoutException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

from support import LOCI, Server, environment, run  # noqa: E402

# The checker of accessibility, as npm has it.
AXE_VERSION = "4.14.1"
AXE_FOLDER = ROOT / "target" / "page"
DAY = 86_400
# The background of a debug build is slow on a machine that does more.
WAIT_SECONDS = 60
WIDE, NARROW = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
LOOKS = [{**size, "dark": dark} for size in (WIDE, NARROW) for dark in (False, True)]
# Each width and each theme are in a check; their other two pairs are left to `just page`.
if os.environ.get("LOCI_PAGE") == "quick":
    LOOKS = [{**WIDE, "dark": False}, {**NARROW, "dark": True}]


def looks(plain=False):
    """What a story is seen in; with `plain`, at both widths without scripts as well."""
    yield from ({**look, "scripts": True} for look in LOOKS)
    if plain:
        yield {**WIDE, "dark": False, "scripts": False}
        yield {**NARROW, "dark": True, "scripts": False}


def programs():
    """The paths of Chromium and its driver; none where one of them is missing."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    return (chromium, driver) if chromium and driver else None


def axe():
    """The source of axe-core; none where npm cannot be reached."""
    source = AXE_FOLDER / "node_modules" / "axe-core" / "axe.min.js"
    package = source.with_name("package.json")
    if not package.exists() or json.loads(package.read_text())["version"] != AXE_VERSION:
        AXE_FOLDER.mkdir(parents=True, exist_ok=True)
        install = ["npm", "install", "--silent", "--prefix", AXE_FOLDER, f"axe-core@{AXE_VERSION}"]
        if subprocess.run(install, capture_output=True, timeout=300).returncode != 0:
            return None
    return source.read_text()


def entrance(data, url):
    """An address that lets a browser in once, as `loci page` prints it."""
    address = url.removeprefix("http://")
    asked = subprocess.run(
        [LOCI, "page", "--print"],
        env=environment(data, {"LOCI_BIND": address}),
        capture_output=True,
        text=True,
        timeout=60,
    )
    if asked.returncode != 0:
        raise AssertionError(asked.stderr)
    return asked.stdout.strip()


def call(server, dialect, tool, arguments, client="Python-urllib"):
    """Calls a tool as an agent of that program does."""
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "Authorization": f"Bearer {server.token()}",
        "User-Agent": f"{client}/1.0",
    }
    request = urllib.request.Request(f"{server.url}/mcp/{dialect}", json.dumps(message).encode(), headers)
    with urllib.request.urlopen(request, timeout=60) as reply:
        return json.load(reply)["result"]


class Browser:
    """A browser of its own, with its own cookies."""

    def __init__(self, url, width=1100, height=900, dark=False, language="en", scripts=True):
        options = webdriver.ChromeOptions()
        options.binary_location, driver = programs()
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        arguments = ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars"]
        for argument in [*arguments, f"--window-size={width},{height}", f"--lang={language}"]:
            options.add_argument(argument)
        options.add_experimental_option("prefs", {"intl.accept_languages": language})
        self.driver = webdriver.Chrome(service=Service(driver), options=options)
        self.url, self.scripts = url, scripts
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        if dark:
            feature = {"name": "prefers-color-scheme", "value": "dark"}
            self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
        if not scripts:
            self.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})

    def open(self, path):
        self.driver.get(path if path.startswith("http") else self.url + path)

    def find(self, selector):
        """The first element of a selector, waited for."""
        return self.until(lambda: (self.all(selector) or [None])[0], selector)

    def loaded(self, selector):
        """Waits until the page has a part and hears keys, which it does not while it is loading."""
        ready = "return document.readyState === 'complete'"
        self.until(lambda: self.driver.execute_script(ready) and self.all(selector), f"a loaded page with {selector}")

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def until_at(self, path, holds, what):
        """Opens a path until a condition holds there, because a step in the background looks at what was stored."""

        def looked():
            self.open(path)
            return holds()

        return self.until(looked, what)

    def until(self, holds, what="that"):
        """Waits until a condition holds, and returns what it returned."""

        def tried(_):
            try:
                return holds()
            except Exception:  # An element may be replaced while it is read.
                return None

        try:
            return WebDriverWait(self.driver, WAIT_SECONDS, poll_frequency=0.05).until(tried)
        except TimeoutException:
            raise AssertionError(f"waited for {what}; the page says:\n{self.text()[:4000]}") from None

    def text(self):
        return self.driver.find_element(By.TAG_NAME, "body").text

    def says(self, text):
        """Waits until the page has a text."""
        self.until(lambda: text in self.text(), repr(text))

    def link(self, text):
        """Follows the first link with a text."""
        self.click(self.until(lambda: self.driver.find_elements(By.PARTIAL_LINK_TEXT, text), text)[0])

    def press(self, text):
        """Presses the button with a text, after what hides it is opened."""

        def pressed():
            # An event may replace the part with the button: then nothing was pressed, and the new one is looked for.
            button = next(button for button in self.all("button") if button.get_property("textContent").strip() == text)
            self.reveal(button)
            self.click(button)
            return True

        self.until(pressed, text)

    def click(self, element):
        """Clicks an element, which may lie behind the bar of a small screen before it is scrolled to."""
        self.execute("arguments[0].scrollIntoView({block: 'center'})", element)
        element.click()

    def execute(self, script, *arguments):
        """Runs a script of the test, also where the page's do not run."""
        if not self.scripts:
            self.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
        self.driver.execute_script(script, *arguments)
        if not self.scripts:
            self.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})

    def reveal(self, element):
        """Opens the details around an element."""
        for details in element.find_elements(By.XPATH, "ancestor::details[not(@open)]"):
            details.find_element(By.TAG_NAME, "summary").click()

    def fill(self, name, text):
        field = self.find(f"[name={name}]:not([type=hidden])")
        self.reveal(field)
        field.clear()
        field.send_keys(text)

    def pick(self, name, day):
        """Sets the date in a field, which each language of a browser has keys of its own for."""
        field = self.find(f"[name={name}]")
        set_it = "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('change', {bubbles: true}))"
        self.execute(set_it, field, day)

    def select(self, *texts):
        """Selects the memories with these texts in a room."""
        for text in texts:
            row = next(row for row in self.all("[data-row]") if text in row.text)
            row.find_element(By.CSS_SELECTOR, "input[name=id]").click()

    def wire_bytes(self):
        """The bytes of this view on the wire, as the browser counts them: after compression and with headers."""
        kinds = "['navigation', 'resource'].flatMap((kind) => performance.getEntriesByType(kind))"
        return self.driver.execute_script(f"return {kinds}.map((part) => [part.name, part.transferSize])")

    def path(self):
        return urllib.parse.urlsplit(self.driver.current_url).path

    def faults(self):
        """What the console says beside what a story expects."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]

    def expected_faults(self):
        """The same without the requests that were refused, which the console names."""
        return [fault for fault in self.faults() if "the server responded with a status of 409" not in fault]

    def violations(self, source):
        """What axe-core finds against the rules of accessibility."""
        self.driver.execute_script(source)
        found = self.driver.execute_async_script(
            "const done = arguments[0]; axe.run().then((result) => done(result.violations));"
        )
        return [(rule["id"], [node["html"][:200] for node in rule["nodes"]]) for rule in found]

    def distance(self, one, other):
        """How far two pictures in base 64 are from each other: the mean difference of 48 times 48 fields, 0 to 255."""
        return self.driver.execute_async_script(
            """
            const [one, other, done] = arguments;
            const fields = async (picture) => {
              const image = new Image();
              image.src = `data:image/png;base64,${picture}`;
              await image.decode();
              const canvas = document.createElement("canvas");
              canvas.width = canvas.height = 48;
              const context = canvas.getContext("2d");
              context.imageSmoothingQuality = "high";
              context.drawImage(image, 0, 0, 48, 48);
              return context.getImageData(0, 0, 48, 48).data;
            };
            Promise.all([fields(one), fields(other)]).then(([one, other]) => {
              let sum = 0;
              one.forEach((value, index) => { sum += Math.abs(value - other[index]); });
              done(sum / one.length);
            });
            """,
            one,
            other,
        )

    def close(self):
        self.driver.quit()


def add(data, text, *arguments):
    """Stores a memory, and returns its id."""
    stored = run(data, "add", text, "--json", *arguments)
    if stored.returncode != 0:
        raise AssertionError(stored.stderr)
    return json.loads(stored.stdout)["id"]


def day(offset):
    """A day in UTC, so many days from today."""
    return time.strftime("%Y-%m-%d", time.gmtime(time.time() + offset * DAY))


def settle():
    """Leaves the page the time for one more look at the store."""
    time.sleep(2.5)


__all__ = ["Browser", "LOOKS", "NARROW", "Server", "WIDE", "add", "axe", "call", "entrance", "environment", "looks", "os", "programs", "run", "settle"]

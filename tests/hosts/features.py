"""Features that clients are tried for, and what a test needs that belongs to one client."""

import functools
import os
import re
import sys
import unittest

import install

# In the order of the table in docs/hosts.md, each with what it means there.
FEATURES = {
    "setup": "The line that docs/hosts shows for it adds loci; where `loci connect` knows it, that does, too, and leaves no trace.",
    "stdio": "It starts `loci mcp` by itself and is shown every tool of every tool set.",
    "HTTP": "It connects to `loci serve` with a token and is shown every tool of every tool set.",
    "calls": "It stores something and finds it again through every tool set, and hands on what loci says.",
    "errors": "Of a wrong argument it tells in loci's own words, through every tool set.",
    "no token": "Without a token it says what to do about it.",
    "restart": "It goes on when the server was started again in between.",
    "schemas": "It makes of every tool what the API of a model takes, with every argument and its type.",
    "arguments": "Every argument of every tool reaches the server as its model gave it.",
    "notices": "A second text of an answer, such as a notice, reaches its model.",
    "left out": "Null and empty values, which strict schemas have a model send, mean that an argument is left out.",
    "hooks": "The hooks that loci installs file every question and every answer once.",
    "session start": "Its model begins a session with what earlier ones filed.",
    "prompts": "Its model reads with a prompt the memories that concern it.",
    "resume": "A session that is resumed is filed once, too.",
    "compaction": "A session that is compacted is filed once, too, and its model told again what matters.",
    "plug-in": "Its own tools accept the plug-in of loci, whose server it lists and whose hooks it runs.",
    "transcripts": "`loci palace mine` files its sessions in the wing of the project, and only what was said.",
}
# How much to try: `quick` for the clients marked so in clients.json, or `all`. tests/hosts/run.py chooses by itself.
CHOICE = os.environ.get("LOCI_HOSTS", "quick")
CLIENTS = install.chosen(CHOICE == "all")
# Nothing listens there: what a client wants of the network fails at once.
NO_NETWORK = "http://127.0.0.1:9"


def feature(name):
    """Says which feature a test is about."""
    if name not in FEATURES:
        raise KeyError(f"{name} is no feature; FEATURES lists them")

    def mark(test):
        test.feature = name
        return test

    return mark


@functools.cache
def installation(name):
    """The folder of a client and None, or None and the reason why it cannot be installed."""
    try:
        return install.install(name), None
    except install.Unavailable as unavailable:
        print(f"SKIPPED: {install.CLIENTS[name]['title']}: {unavailable}", file=sys.stderr, flush=True)
        return None, str(unavailable)


def environment(home):
    """The environment of a client: nothing of the developer's own but the path, and no network."""
    proxies = {"HTTP_PROXY": NO_NETWORK, "HTTPS_PROXY": NO_NETWORK, "NO_PROXY": "127.0.0.1,localhost"}
    return {
        "PATH": install.environment()["PATH"],
        "HOME": str(home),
        "TMPDIR": str(home),
        "LANG": "C.UTF-8",
        **proxies,
        **{name.lower(): value for name, value in proxies.items()},
    }


def connect_line(name, way="over stdio"):
    """The line of docs/hosts/README.md that connects a client in that way, which is the head of the table that the line is in."""
    title = re.escape(install.CLIENTS[name]["title"])
    table = (install.ROOT / "docs/hosts/README.md").read_text().partition(f"| host | {way} |")[2].partition("\n\n")[0]
    if found := re.search(rf"^\| {title} \| `([^`]+)` \|", table, re.MULTILINE):
        return found.group(1)
    raise AssertionError(f"docs/hosts/README.md has no line that connects {title} {way}")


class ClientTests:
    """Tests of one client, skipped where it is not among the chosen ones or cannot be installed."""

    # Its name in clients.json.
    client = None
    # Where it is installed.
    folder = None

    def setUp(self):
        super().setUp()
        if self.client not in CLIENTS:
            raise unittest.SkipTest("not in the quick half; LOCI_HOSTS=all runs it")
        self.folder, reason = installation(self.client)
        if self.folder is None:
            raise unittest.SkipTest(reason)

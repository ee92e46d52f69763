"""Installs the clients of clients.json, each into a folder of its own under target/hosts.

    python tests/hosts/install.py [--all] [NAME…]    the quick half, all, or those named
"""

import argparse
import concurrent.futures
import contextlib
import fcntl
import functools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FOLDER = ROOT / "target" / "hosts"
# Where scripts/setup puts Node.js, npm and this Python.
TOOLS = ROOT / ".venv" / "bin"
CLIENTS = {client["name"]: client for client in json.loads((HERE / "clients.json").read_text())}
# Characters of a reason, which goes into one line.
REASON_MAX = 300
# More than the largest client takes on a slow line; a registry that says nothing shall not hold up the tests.
TIMEOUT = 300


class Unavailable(Exception):
    """The reason why a client cannot be installed here."""


def version(client):
    """The version of a client: that of its first package."""
    return client["packages"][0].rpartition("=" if client["registry"] == "pypi" else "@")[2]


def chosen(everything):
    """The names of all clients, or of those in the quick half."""
    return [name for name, client in CLIENTS.items() if everything or client["quick"]]


def environment():
    """The environment of what an installed client is started with: Node.js of `.venv` comes first."""
    return {**os.environ, "PATH": f"{TOOLS}{os.pathsep}{os.environ.get('PATH', '')}"}


@functools.cache
def install(name):
    """Installs a client if it is not there yet; gives its folder, or raises `Unavailable`."""
    client = CLIENTS[name]
    folder, stamp = FOLDER / name, FOLDER / name / "installed"
    FOLDER.mkdir(parents=True, exist_ok=True)
    with lock(FOLDER / f"{name}.lock"):
        if stamp.exists() and stamp.read_text().splitlines() == client["packages"]:
            return folder
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        {"npm": from_npm, "pypi": from_pypi}[client["registry"]](folder, client["packages"])
        # The stamp comes last: a folder without it is half of an installation.
        stamp.write_text("\n".join(client["packages"]) + "\n")
    return folder


@contextlib.contextmanager
def lock(path):
    """Lets one process at a time install a client."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def from_npm(folder, packages):
    wanted = dict(package.rsplit("@", 1) for package in packages)
    (folder / "package.json").write_text(json.dumps({"private": True, "dependencies": wanted}))
    quiet = ["--no-audit", "--no-fund", "--no-package-lock", "--no-update-notifier", "--loglevel=error"]
    patience = ["--fetch-retries=1", "--fetch-timeout=30000"]
    # The fault comes first, advice and the place of a log after it.
    if failed := command([str(TOOLS / "npm"), "install", "--prefix", str(folder), *patience, *quiet]):
        raise Unavailable(" ".join(failed)[:REASON_MAX])


def from_pypi(folder, packages, python=sys.executable):
    # The pip that is here installs into the new environment, which then needs none of its own.
    if failed := command([python, "-m", "venv", "--symlinks", "--without-pip", str(folder)]):
        raise Unavailable(failed[-1][:REASON_MAX])
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python")]
    # Python compiles what is used at its first use, which is a small part of most clients.
    quiet = ["--quiet", "--disable-pip-version-check", "--no-input", "--no-compile", "--retries", "1"]
    if failed := command([*pip, "install", *quiet, *packages]):
        raise Unavailable(failed[-1][:REASON_MAX])


def command(arguments):
    """Runs a command; gives the lines that say why it failed, if it did."""
    try:
        done = subprocess.run(arguments, env=environment(), capture_output=True, text=True, timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        return [f"the installation took longer than {TIMEOUT} s"]
    if done.returncode == 0:
        return []
    return done.stderr.strip().splitlines() or [f"the installation ended with {done.returncode}"]


def install_all(names):
    """Installs clients, two at a time, and says how long each took; gives the number of those that are unavailable."""

    def attempt(name):
        begin = time.monotonic()
        try:
            install(name)
            outcome = "ok"
        except Unavailable as reason:
            outcome = f"UNAVAILABLE: {reason}"
        print(f"{name}: {outcome}, {time.monotonic() - begin:.1f} s", file=sys.stderr, flush=True)
        return outcome != "ok"

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return sum(pool.map(attempt, names))


def main():
    parser = argparse.ArgumentParser(description="Installs the clients that the tests run against loci.")
    parser.add_argument("--all", action="store_true", help="all clients, not the quick half alone")
    parser.add_argument("names", nargs="*", metavar="NAME", help="clients of clients.json")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(CLIENTS):
        parser.error(f"no such client: {', '.join(sorted(unknown))}")
    return 1 if install_all(arguments.names or chosen(arguments.all)) else 0


if __name__ == "__main__":
    sys.exit(main())

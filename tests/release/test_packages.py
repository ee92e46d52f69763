"""Installs each package in a new place without a network, and remembers and recalls through what it installed.

The packages are in the folder LOCI_PACKAGES. `just release-check` makes them first.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
import urllib.request
import zipfile

PACKAGES = pathlib.Path(os.environ["LOCI_PACKAGES"]).resolve()
FACT = "The lighthouse keeper's cat is called Bartholomew"


def only(pattern):
    found = sorted(PACKAGES.glob(pattern))
    assert len(found) == 1, f"{pattern} in {PACKAGES}: {found}"
    return found[0]


class Packages(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="loci-release-")
        self.addCleanup(folder.cleanup)
        self.place = pathlib.Path(folder.name)

    def ran(self, *command, **options):
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300, **options)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def remembers(self, *command, environ=None):
        """Drives `COMMAND mcp mememory` through a remember, and another through the recall of it."""
        environ = environ or {**os.environ, "LOCI_DATA": str(self.place / "data"), "HOME": str(self.place)}

        def call(name, arguments):
            opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
            process = subprocess.Popen(
                [*map(str, command), "mcp", "mememory"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=environ,
            )

            def send(message):
                process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
                process.stdin.flush()

            def answer(number):
                for line in process.stdout:
                    message = json.loads(line)
                    if message.get("id") == number:
                        return message
                self.fail(f"no answer: {process.stderr.read()}")

            try:
                send({"id": 1, "method": "initialize", "params": opening})
                answer(1)
                send({"method": "notifications/initialized"})
                send({"id": 2, "method": "tools/call", "params": {"name": name, "arguments": arguments}})
                result = answer(2)["result"]
            finally:
                _, rest = process.communicate(timeout=60)
            self.assertFalse(result.get("isError"), f"{result} {rest}")
            self.assertEqual(process.returncode, 0, rest)
            return json.dumps(result)

        call("remember", {"content": FACT})
        self.assertIn("Bartholomew", call("recall", {"query": "what pet lives in the tower by the sea"}))

    def test_wheel(self):
        self.ran(sys.executable, "-m", "venv", self.place / "venv")
        programs = self.place / "venv/bin"
        self.ran(programs / "pip", "install", "--no-index", "--disable-pip-version-check", only("*.whl"))
        self.assertIn("loci", self.ran(programs / "loci", "--version"))
        self.remembers(programs / "loci-memory")

    def test_npm(self):
        npm = shutil.which("npm")
        if npm is None:
            self.skipTest("npm is not installed")
        # Both packages at once: npm takes the binary of this platform from its file and has no other one to fetch.
        environ = {**os.environ, "npm_config_cache": str(self.place / "cache")}
        tarballs = [only("loci-memory-[0-9]*.tgz"), only("loci-memory-linux-x64-*.tgz")]
        self.ran(npm, "install", "--offline", "--no-audit", "--prefix", self.place / "p", *tarballs, env=environ)
        launcher = self.place / "p/node_modules/.bin/loci-memory"
        self.remembers(launcher)
        done = subprocess.run([launcher, "no-such-command"], capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 2, done.stderr)

    def test_debian(self):
        self.ran("lintian", "--fail-on", "error,warning", only("*.deb"))
        tree = self.place / "root"
        self.ran("dpkg-deb", "--extract", only("*.deb"), tree)
        for path in ("lib/systemd/user/loci.service", "share/man/man1/loci.1.gz"):
            self.assertTrue((tree / "usr" / path).is_file(), path)
        self.remembers(tree / "usr/bin/loci")

    def test_mcpb(self):
        with zipfile.ZipFile(only("*.mcpb")) as bundle:
            bundle.extractall(self.place / "bundle")
        manifest = json.loads((self.place / "bundle/manifest.json").read_text())
        program = self.place / "bundle" / manifest["server"]["entry_point"]
        program.chmod(0o755)
        self.remembers(program)

    def test_image(self):
        archive = only("*.oci.tar")
        seen = json.loads(self.ran("skopeo", "inspect", f"oci-archive:{archive}"))
        self.assertEqual((seen["Os"], seen["Architecture"]), ("linux", "amd64"))
        # Raw, since skopeo leaves out what OCI does not name.
        config = json.loads(self.ran("skopeo", "inspect", "--config", "--raw", f"oci-archive:{archive}"))["config"]
        # skopeo compares each layer with its digest as it copies it.
        self.ran("skopeo", "copy", f"oci-archive:{archive}", f"dir:{self.place}/copy")
        tree = self.place / "root"
        tree.mkdir()
        for layer in seen["Layers"]:
            blob = self.place / "copy" / layer.partition(":")[2]
            self.ran("tar", "--extract", "--gzip", "--numeric-owner", "--file", blob, "--directory", tree)

        # The temporary folder is for this user alone, and the other one has to pass through it.
        self.place.chmod(0o711)
        user, group = config["User"].split(":")
        inside = ["unshare", f"--root={tree}", f"--wd={config['WorkingDir']}"]
        if os.getuid() == 0:
            inside += [f"--setgid={group}", f"--setuid={user}"]
        else:
            inside += ["--user", f"--map-user={user}", f"--map-group={group}"]
        environ = {"PATH": os.environ["PATH"], **dict(value.split("=", 1) for value in config["Env"])}
        self.assertEqual(environ["LOCI_DATA"], "/data")
        self.assertEqual(list(config["Volumes"]), ["/data"])
        # A namespace of networks that has none but itself.
        self.remembers(*inside, "--net", *config["Entrypoint"], environ=environ)
        self.assertTrue(list((tree / "data").iterdir()))

        # The command that a container starts with, on an address that this machine alone reaches.
        self.assertTrue(environ["LOCI_BIND"].startswith("0.0.0.0:"))
        environ["LOCI_BIND"] = "127.0.0.1:0"
        command = [*inside, *config["Entrypoint"], *config["Cmd"]]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
        server = subprocess.Popen(command, env=environ, **quiet)
        try:
            for line in server.stderr:
                if found := re.search(r"listening on (http://\S+)", line):
                    break
            with urllib.request.urlopen(f"{found[1]}/readyz", timeout=60) as answer:
                self.assertEqual(answer.status, 200)
            kind, *check = config["Healthcheck"]["Test"]
            self.assertEqual(kind, "CMD")
            asks = {"env": {**environ, "LOCI_BIND": found[1].removeprefix("http://")}, "capture_output": True}
            healthy = subprocess.run([*inside, *check], **asks)
            self.assertEqual(healthy.returncode, 0, healthy)
        finally:
            server.send_signal(getattr(signal, config.get("StopSignal", "SIGTERM")))
            _, rest = server.communicate(timeout=60)
        self.assertEqual(server.returncode, 0, rest)
        self.assertEqual(subprocess.run([*inside, *check], **asks).returncode, 1)

    def test_formula(self):
        done = self.ran(
            "ruby", pathlib.Path(__file__).parent / "formula.rb", only("*.rb"), only("loci-*.tar.xz"), self.place
        )
        self.assertIn("installed and tested", done)

    def test_sizes(self):
        for path in PACKAGES.iterdir():
            # The goal is 30 MB; it may shrink to that, and not grow. The image has libraries, too.
            most = 36_000_000 if path.name.endswith(".oci.tar") else 34_000_000
            self.assertLessEqual(path.stat().st_size, most, path.name)


if __name__ == "__main__":
    unittest.main()

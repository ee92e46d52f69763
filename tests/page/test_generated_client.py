"""A client that a generator made from the description of the JSON interface."""

import contextlib
import importlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.request

from browser import ROOT, Server, add

sys.path.insert(0, "tests/e2e")
from support import data_folder  # noqa: E402

FOLDER = pathlib.Path(__file__).resolve().parent
GENERATOR = pathlib.Path(sys.executable).parent / "openapi-python-client"


class GeneratedClient(unittest.TestCase):
    """Typed calls of views and changes, and an error that has its declared type."""

    @classmethod
    def setUpClass(cls):
        stack = contextlib.ExitStack()
        cls.addClassCleanup(stack.close)
        data = stack.enter_context(data_folder())
        server = Server(data)
        stack.callback(server.stop)
        cls.memory = add(data, "The staging server restarts every Monday at six.", "--project", "shop")
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="loci-client-")))
        document = folder / "openapi.json"
        with urllib.request.urlopen(f"{server.url}/api/v1/openapi.json", timeout=60) as reply:
            document.write_bytes(reply.read())
        command = [GENERATOR, "generate", "--path", document, "--output-path", folder / "loci_client", "--meta", "none"]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
        sys.path.insert(0, str(folder))
        stack.callback(sys.path.remove, str(folder))
        package = importlib.import_module("loci_client")
        token = (data / "token").read_text().strip()
        cls.client = package.AuthenticatedClient(base_url=f"{server.url}/api/v1", token=token)

    def call(self, operation, *arguments, **named):
        module = importlib.import_module(f"loci_client.api.{operation}")
        return module.sync_detailed(*arguments, client=self.client, **named)

    def test_views_and_changes_are_typed(self):
        found = self.call("search.search", q="when is staging down?").parsed
        self.assertEqual(found.hits[0].memory.id, self.memory)
        models = importlib.import_module("loci_client.models")
        tagged = self.call("browse.selected_tag", body=models.Tags(id=[self.memory], add="ops", remove=""))
        self.assertEqual(tagged.parsed.changed, 1)
        shown = self.call("browse.memory", self.memory).parsed
        self.assertIn("ops", shown.memory.tags)
        added = models.Add(subject="staging", predicate="restarts_on", object_="Monday")
        self.assertEqual(self.call("facts.time_add", body=added).parsed.changed, 1)
        listed = self.call("browse.memories", limit=1, wing="shop").parsed
        self.assertEqual((len(listed.items), listed.total), (1, 1))
        for view in ("home.home", "browse.browse", "facts.time_entities", "review.review", "activity.insights"):
            with self.subTest(view):
                self.assertEqual(self.call(view).status_code, 200)

    def test_an_error_has_the_declared_type(self):
        refused = self.call("search.search", q="staging", from_="soon")
        self.assertEqual(refused.status_code, 400)
        self.assertEqual((refused.parsed.error.code, refused.parsed.error.argument), ("invalid_argument", "from"))
        missing = self.call("browse.memory", "00000000-0000-7000-8000-000000000000")
        self.assertEqual((missing.status_code, missing.parsed.error.code), (404, "not_found"))


class GeneratedTypescriptClient(unittest.TestCase):
    """Calls by the client of another generator, which the TypeScript compiler checks."""

    def test_ten_calls_are_typed(self):
        node, packages = ROOT / ".venv/bin/node", FOLDER / "node_modules"
        with data_folder() as data, tempfile.TemporaryDirectory(prefix="loci-client-") as name:
            folder = pathlib.Path(name)
            server = Server(data)
            self.addCleanup(server.stop)
            document = folder / "openapi.json"
            with urllib.request.urlopen(f"{server.url}/api/v1/openapi.json", timeout=60) as reply:
                document.write_bytes(reply.read())
            generator = packages / "@hey-api/openapi-ts/bin/run.js"
            self.run_in(folder, node, generator, "--input", document, "--output", folder / "client", "--no-log-file")
            shutil.copy(FOLDER / "calls.ts", folder)
            os.symlink(packages, folder / "node_modules")
            options = ["--strict", "--target", "es2022", "--module", "commonjs", "--moduleResolution", "node10"]
            options += ["--lib", "es2022,dom,dom.iterable", "--types", "node", "--outDir", "made"]
            self.run_in(folder, node, packages / "typescript/bin/tsc", *options, "calls.ts")
            token = (data / "token").read_text().strip()
            said = self.run_in(folder, node, "made/calls.js", server.url, token)
            self.assertGreaterEqual(len(said.splitlines()), 10, said)

    def run_in(self, folder, *command):
        """Runs a program to its end, and returns what it printed."""
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout


if __name__ == "__main__":
    unittest.main()

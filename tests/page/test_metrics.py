"""The figures for monitoring are what Prometheus reads and what the dashboard shows."""

import contextlib
import json
import re
import shutil
import socket
import subprocess
import sys
import time
import unittest
import urllib.request

from browser import ROOT, Server, call

from support import data_folder

PROMTOOL = shutil.which("promtool") or shutil.which(ROOT / "target" / "tools" / "bin" / "promtool")
if PROMTOOL is None:
    print("page: SKIPPED: there is no promtool here, so the format of the figures is not checked", file=sys.stderr)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


# A key that opens nothing, in two parts so that no scanner of sources takes it for one.
KEY = "ghp_" + "f4Kq9ZtX2mW7cVbN1sLd8RyH3jPg6TaE0uQo"


def read(address):
    """The figures as text, and each of those that have a number as such."""
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=60) as reply:
        text = reply.read().decode()
    return text, {name: float(value) for name, value in re.findall(r"^(loci_[^ ]+) ([0-9.e+-]+)$", text, re.MULTILINE)}


class Metrics(unittest.TestCase):
    def serve(self, stack):
        data = stack.enter_context(data_folder())
        address = f"127.0.0.1:{free_port()}"
        variables = {"LOCI_METRICS_BIND": address, "LOCI_REDACT_SECRETS": "all"}
        server = Server(data, "--log-format", "json", variables=variables)
        stack.callback(server.stop)
        return server, address

    def test_the_parts_of_calls_are_counted(self):
        with contextlib.ExitStack() as stack:
            server, address = self.serve(stack)
            _, before = read(address)
            call(server, "mememory", "remember", {"content": f"The key of the kiln is {KEY}, in the cellar."})
            call(server, "mempalace", "mempalace_search", {"query": "how hot is the kiln"})
            _, after = read(address)
            # The background says at its start that it uses the model.
            held = 'loci_leases_total{outcome="taken",work="model"}'
            deadline = time.monotonic() + 20
            while held not in after and time.monotonic() < deadline:
                time.sleep(0.05)
                _, after = read(address)

        def grew(name, labels):
            name = f"{name}{{{labels}}}"
            self.assertIn(name, after.keys())
            return after[name] - before.get(name, 0)

        self.assertEqual(grew("loci_embedded_texts_total", 'texts="passages"'), 1)
        self.assertEqual(grew("loci_embedded_texts_total", 'texts="questions"'), 1)
        self.assertEqual(grew("loci_embedding_duration_seconds_count", 'outcome="ok",texts="questions"'), 1)
        self.assertGreater(grew("loci_embedding_duration_seconds_sum", 'outcome="ok",texts="passages"'), 0)
        self.assertEqual(grew("loci_index_loads_total", 'outcome="tables"'), 1)
        self.assertEqual(grew("loci_index_loads_total", 'outcome="failed"'), 0)
        operation = "loci_store_operation_duration_seconds_count"
        self.assertEqual(grew(operation, 'operation="commit",outcome="ok"'), 1)
        self.assertGreater(grew(operation, 'operation="nearest",outcome="ok"'), 0)
        self.assertEqual(grew("loci_redacted_secrets_total", 'kind="github-token"'), 1)
        self.assertGreaterEqual(after[held], 1)
        self.assertIn("loci_sweep_steps_total", after)

    def test_figures(self):
        with contextlib.ExitStack() as stack:
            server, address = self.serve(stack)
            call(server, "mememory", "remember", {"content": f"The kiln fires at 1240 degrees, with {KEY}."})
            call(server, "mememory", "remember", {"wrong": "argument"})
            call(server, "mempalace", "mempalace_search", {"query": "how hot is the kiln"})
            figures, _ = read(address)
            with self.assertRaises(urllib.error.HTTPError):
                urllib.request.urlopen(f"http://{address}/mcp/mememory", timeout=60)
        counted = dict(re.findall(r"^(loci_call_duration_seconds_count\{.*\}) (\d+)$", figures, re.MULTILINE))
        of = 'loci_call_duration_seconds_count{{dialect="{}",outcome="{}",tool="{}"}}'
        self.assertEqual(counted[of.format("mememory", "ok", "remember")], "1", figures)
        self.assertEqual(counted[of.format("mememory", "invalid_argument", "remember")], "1")
        self.assertEqual(counted[of.format("mempalace", "ok", "mempalace_search")], "1")
        dashboard = (ROOT / "packaging" / "grafana" / "loci.json").read_text()
        for panel in json.loads(dashboard)["panels"]:
            for target in panel["targets"]:
                # Of a store on PostgreSQL alone: crates/loci/tests/it/figures.rs.
                for name in re.findall(r"loci_(?!server|space)[a-z_]+", target["expr"]):
                    name = re.sub("_(count|bucket|sum)$", "", name)
                    # One that has happened never has no line with a value.
                    self.assertIn(name, figures + "loci_leases_total", panel["title"])
        if PROMTOOL:
            checked = subprocess.run(
                [PROMTOOL, "check", "metrics"], input=figures, capture_output=True, text=True, timeout=60
            )
            self.assertEqual((checked.returncode, checked.stderr), (0, ""))

    @unittest.skipUnless(PROMTOOL, "page: SKIPPED: there is no promtool here")
    def test_alerts_are_rules_that_fire(self):
        for words in (("check", "rules", "alerts.yaml"), ("test", "rules", "alerts_test.yaml")):
            with self.subTest(words=words):
                checked = subprocess.run(
                    [PROMTOOL, *words], cwd=ROOT / "packaging" / "prometheus", capture_output=True, text=True, timeout=60
                )
                self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)


if __name__ == "__main__":
    unittest.main()

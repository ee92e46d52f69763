"""The figures for monitoring are what Prometheus reads and what the dashboard shows."""

import contextlib
import json
import re
import shutil
import socket
import subprocess
import sys
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


class Metrics(unittest.TestCase):
    def test_figures(self):
        with contextlib.ExitStack() as stack:
            data = stack.enter_context(data_folder())
            address = f"127.0.0.1:{free_port()}"
            server = Server(data, "--log-format", "json", variables={"LOCI_METRICS_BIND": address})
            stack.callback(server.stop)
            call(server, "mememory", "remember", {"content": "The kiln fires at 1240 degrees."})
            call(server, "mememory", "remember", {"wrong": "argument"})
            call(server, "mempalace", "mempalace_search", {"query": "how hot is the kiln"})
            with urllib.request.urlopen(f"http://{address}/metrics", timeout=60) as reply:
                figures = reply.read().decode()
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
                for name in re.findall(r"loci_[a-z_]+", target["expr"]):
                    self.assertIn(name.removesuffix("_count").removesuffix("_bucket"), figures, panel["title"])
        if PROMTOOL:
            checked = subprocess.run(
                [PROMTOOL, "check", "metrics"], input=figures, capture_output=True, text=True, timeout=60
            )
            self.assertEqual((checked.returncode, checked.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()

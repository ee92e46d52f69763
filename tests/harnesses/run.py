"""Runs two public harnesses of agent memory against loci, over MCP, and compares with what is expected.

    python tests/harnesses/run.py [NAME…]    both, or those named

`benchd` speaks MCP by itself. `memtrust` calls the functions of the package mempalace, in whose place
`bridge` calls the tools of loci. What the scores say, and what they cannot tell: docs/retrieval.md.
"""

import argparse
import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "hosts"))

import install  # noqa: E402

LOCI = os.environ["LOCI_BIN"]
FOLDER = ROOT / "target" / "harnesses"
# Each with what it needs, as its package index resolved it on the day of the pin.
PACKAGES = {
    "memtrust": ["memtrust-cli==0.3.8", "click==8.5.1", "cryptography==50.0.2", "httpx==0.28.1", "rich==15.0.0"],
    "benchd": ["benchd-harness==0.2.0", "click==8.5.1", "pynacl==1.6.2", "requests==2.34.2"],
}
# More than a run takes: one that hangs shall fail.
TIMEOUT = 600
# Figures of a report that have to be as here. Others need a language model, or are told in docs/retrieval.md.
MEMTRUST = {
    ("contradiction", "served_stale_rate"): 0.0,
    ("contradiction", "empty_or_lost_rate"): 0.0,
    ("embedding_drift", "drift_rate"): 0.0,
    ("result_consistency", "inconsistent_rate"): 0.0,
    ("temporal_kg_boundary", "double_count_rate"): 0.0,
    ("temporal_kg_boundary", "clean_rate"): 1.0,
    ("extraction_quality", "valid_lost_rate"): 0.0,
}
# How many of the answers that need no language model are right at least, of how many.
BENCHD = {"smoke-memory-v0": (7, 7), "reliability-v1": (16, 25)}


def installed(name):
    """Installs a harness if it is not there yet; gives the folder of its programs."""
    folder, stamp = FOLDER / name, FOLDER / name / "installed"
    if not stamp.exists() or stamp.read_text().split() != PACKAGES[name]:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        install.from_pypi(folder, PACKAGES[name])
        stamp.write_text("\n".join(PACKAGES[name]) + "\n")
    return folder / "bin"


@contextlib.contextmanager
def server():
    """A server over an empty store; gives its address, and its token."""
    with tempfile.TemporaryDirectory(prefix="loci-harness-") as folder:
        data = pathlib.Path(folder) / "data"
        kept = {name: value for name, value in os.environ.items() if not name.startswith("LOCI_")}
        # An empty file, so that none of the user's own settings counts.
        (settings := pathlib.Path(folder) / "config.toml").touch()
        variables = {**kept, "LOCI_DATA": str(data), "LOCI_CONFIG": str(settings)}
        command = [LOCI, "serve", "--bind", "127.0.0.1:0"]
        process = subprocess.Popen(command, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            address = listening(process)
            # It never waits for room in the pipe.
            threading.Thread(target=process.stderr.read, daemon=True).start()
            yield address, (data / "token").read_text().strip()
        finally:
            process.terminate()
            process.wait(timeout=30)


def listening(process):
    """Reads the address in what a server says; it also says where its token is before it answers."""
    said, address = [], None
    for line in process.stderr:
        said.append(line)
        if found := re.search(r"listening on (http://\S+)", line):
            address = found[1]
        if address and "loci connect" in line:
            return address
    raise RuntimeError(f"the server ended: {''.join(said)}")


def run(program, arguments, variables):
    command = [str(program), *arguments]
    done = subprocess.run(
        command, env={**os.environ, **variables}, capture_output=True, text=True, timeout=TIMEOUT, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"{program.name} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def memtrust(programs, results):
    """Runs every evaluation of memtrust; gives rows of name, figure and what was expected."""
    report = results / "memtrust.json"
    with server() as (address, token):
        variables = {
            "LOCI_ENDPOINT": f"{address}/mcp/mempalace",
            "LOCI_TOKEN": token,
            # Where the palace would be; the bridge has none.
            "MEMPALACE_STORAGE_PATH": str(results),
            "PYTHONPATH": str(HERE / "bridge"),
        }
        arguments = ["run", "--backends", "mempalace", "--eval", "all", "--output", str(report)]
        (results / "memtrust.txt").write_text(run(programs / "memtrust", arguments, variables))
    evaluations = json.loads(report.read_text())["results"]["mempalace"]["evals"]
    for (evaluation, figure), expected in MEMTRUST.items():
        yield f"{evaluation} {figure}", evaluations[evaluation][figure], expected


def benchd(programs, results):
    """Runs what benchd has without a download, each over an empty store; gives the same rows."""
    for benchmark, expected in BENCHD.items():
        folder = results / benchmark
        shutil.rmtree(folder, ignore_errors=True)
        with server() as (address, token):
            endpoint = json.dumps({"endpoint": f"{address}/mcp/mememory", "api_key": token})
            arguments = ["run", "--adapter", "mcp", "--benchmark", benchmark, "--out", str(folder)]
            said = run(programs / "benchd", [*arguments, "--adapter-config", endpoint], {})
        (results / f"{benchmark}.txt").write_text(said)
        (manifest,) = folder.glob("*/manifest.signed.json")
        traces = json.loads(manifest.read_text())["manifest"]["traces"]
        scored = [trace for trace in traces if trace["status"] == "scored"]
        yield benchmark, (sum(trace["scored_correct"] for trace in scored), len(scored)), expected


def main():
    harnesses = {"memtrust": memtrust, "benchd": benchd}
    parser = argparse.ArgumentParser(description="Runs two public harnesses of agent memory against loci.")
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[[], *harnesses], help=", ".join(harnesses))
    names = parser.parse_args().names or list(harnesses)
    results = FOLDER / "results"
    results.mkdir(parents=True, exist_ok=True)
    differing = 0
    for name in names:
        try:
            programs = installed(name)
        except install.Unavailable as reason:
            print(f"{name}: UNAVAILABLE: {reason}", file=sys.stderr)
            differing += 1
            continue
        for figure, found, expected in harnesses[name](programs, results):
            # Of counts, more is better; rates have to be equal.
            is_right = found >= expected if isinstance(found, tuple) else found == expected
            differing += not is_right
            verdict = "ok" if is_right else f"EXPECTED {expected}"
            print(f"{PACKAGES[name][0]} {figure}: {found} {verdict}", flush=True)
    print(f"what they said is in {results}", file=sys.stderr)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())

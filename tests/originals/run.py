"""Compares loci's small tool sets with their originals, as `just originals` does.

 - `reference`: the suite of the reference memory server, of a pinned commit of its repository, with
   `loci mcp reference` in the place of its class.
 - `anthropic`: the memory tool's own helpers of both SDKs, and loci as the backend of the tool: the same commands
   must have the same replies, byte for byte.

The packages, at pinned versions, and the suite are put into a temporary folder. `LOCI_SUITE` names a clone of the
suite's repository to read it from.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
LOCI = os.environ.get("LOCI_BIN", str(HERE.parent.parent / "target" / "debug" / "loci"))
COMMIT = "76d64c822f5125032f89eb71dbdb94e42b434821"
SUITE = "src/memory/__tests__/knowledge-graph.test.ts"
RAW = "https://raw.githubusercontent.com/modelcontextprotocol/servers"
# These read the file that the original writes, which loci has not.
LEFT_OUT = ["should handle JSONL format correctly", "should strip type field from entities when loading from file"]


def run(command, folder, **environment):
    settings = {**os.environ, "LOCI_BIN": LOCI, **environment}
    return subprocess.run(command, cwd=folder, env=settings, check=False).returncode


def suite():
    clone = os.environ.get("LOCI_SUITE")
    if clone:
        shown = subprocess.run(["git", "-C", clone, "show", f"{COMMIT}:{SUITE}"], check=True, capture_output=True)
        return shown.stdout.decode()
    with urllib.request.urlopen(f"{RAW}/{COMMIT}/{SUITE}") as reply:
        return reply.read().decode()


def reference(folder):
    packages = ["vitest@4.1.8", "@modelcontextprotocol/sdk@1.30.0"]
    subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", *packages], cwd=folder, check=True)
    tests = folder / "__tests__"
    tests.mkdir()
    (folder / "index.ts").write_text((HERE / "knowledge_graph.ts").read_text())
    text = suite()
    for name in LEFT_OUT:
        if f"it('{name}'" not in text:
            sys.exit(f"the suite has no test {name!r}")
        text = text.replace(f"it('{name}'", f"it.skip('{name}'")
    (tests / "knowledge-graph.test.ts").write_text(text)
    return run(["npx", "vitest", "run", "--testTimeout=60000", "--hookTimeout=60000"], folder)


def memory_tool(folder):
    subprocess.run([sys.executable, "-m", "venv", "python"], cwd=folder, check=True)
    python = str(folder / "python" / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "--quiet", "anthropic==2.14.0"], cwd=folder, check=True)
    packages = ["@anthropic-ai/sdk@1.14.0"]
    subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", *packages], cwd=folder, check=True)
    in_python = run([python, str(HERE / "memory_tool.py")], folder)
    in_typescript = run(["node", str(HERE / "memory_tool.mjs")], folder)
    return in_python or in_typescript


ORIGINALS = {"reference": reference, "anthropic": memory_tool}


def main():
    failed = []
    for name in sys.argv[1:] or ORIGINALS:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            (path / "package.json").write_text('{"type": "module", "private": true}')
            if ORIGINALS[name](path):
                failed.append(name)
    if failed:
        sys.exit(f"differs: {', '.join(failed)}")


main()

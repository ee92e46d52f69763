"""Lets other memory systems read what `loci export --format` writes for them, and loci read it again.

    python tests/peers/run.py [NAME…]    all, or those named

Each package is installed once, as pinned, into target/peers. It reads by its own code: the reference server over
MCP, basic-memory by its command, mempalace and mem0 by their classes.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "hosts"))

import install  # noqa: E402

LOCI = os.environ["LOCI_BIN"]
FOLDER = pathlib.Path(os.environ.get("PEERS_FOLDER", ROOT / "target" / "peers"))
PACKAGES = {
    "basic-memory": ["basic-memory==0.24.1"],
    "mem0": ["mem0ai==2.2.1"],
    "mempalace": ["mempalace==3.11.0"],
    "server-memory": ["@modelcontextprotocol/server-memory@2026.8.31"],
}
# The oldest Python that a package runs on, where the one of the tests may be older.
OLDEST_PYTHON = {"basic-memory": (3, 12)}
TIMEOUT = 600
# Texts that a form may lose a byte of.
TEXTS = {
    "m-1": "Tea is at four.",
    "m-2": "  Two spaces, a tab\tand a line end\r\nof Windows, and none at the end",
    "m-3": "---\ntitle: no frontmatter\n---\nGröße – naïve 🍵 \\ \" ' <b>[[Tea]]</b>\n\n",
    "m-4": "- [x] done\n- [note] Tea #hot (daily)\n```\nfence\n```\n",
}
MEMORIES = [
    {
        "id": key,
        "content": text,
        "type": "fact",
        "project": "acme" if key != "m-2" else None,
        "tags": ["tea", "four o'clock"] if key == "m-1" else [],
        "created_at": f"2025-0{number}-01T10:00:00.123456Z",
        "updated_at": f"2025-0{number}-02T10:00:00Z",
    }
    for number, (key, text) in enumerate(TEXTS.items(), 1)
]
# Over mempalace's tools: who, how, whom, from when.
FACTS = [
    {"subject": "Orla", "predicate": "works at", "object": "Harbour"},
    {"subject": "Orla", "predicate": "keeps", "object": "Lantern", "valid_from": "2026-01-01"},
]


def loci(data, *arguments, answer=None):
    """Runs loci on that data folder; gives what it prints as JSON."""
    command = [LOCI, *arguments, "--data", str(data), "--search", "words", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, input=answer, check=False)
    if done.returncode:
        raise SystemExit(f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}")
    return json.loads(done.stdout) if done.stdout.strip() else None


def exported(data, kind, into):
    """Exports the store in that form."""
    report = loci(data, "export", "--format", kind, str(into))
    same(report["exported"]["memory"], len(TEXTS), f"{kind}: memories")
    print(f"{kind}: left out: {report['left_out']}")
    return report


def same(found, expected, what):
    if found != expected:
        raise SystemExit(f"FAIL: {what}: {found!r} instead of {expected!r}")


def program(name):
    """Installs a package if it is not there yet; gives the folder of its programs."""
    folder, stamp = FOLDER / name, FOLDER / name / "installed"
    if not stamp.exists() or stamp.read_text().split() != PACKAGES[name]:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        if name == "server-memory":
            install.from_npm(folder, PACKAGES[name])
        else:
            install.from_pypi(folder, PACKAGES[name], python_for(name))
        stamp.write_text("\n".join(PACKAGES[name]) + "\n")
    return folder / "bin"


def python_for(name):
    """Gives a Python that the package runs on; None if there is none here."""
    oldest = OLDEST_PYTHON.get(name, (3, 0))
    for python in [sys.executable, *(f"python3.{minor}" for minor in range(20, oldest[1] - 1, -1))]:
        code = f"import sys, venv; sys.exit(sys.version_info < {oldest})"
        try:
            if subprocess.run([python, "-c", code], capture_output=True, check=False).returncode == 0:
                return python
        except FileNotFoundError:
            continue
    return None


def asked(name, code, *arguments, environment=None):
    """Runs code with the packages of a system; gives what it prints as JSON."""
    done = subprocess.run(
        [str(program(name) / "python"), "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        env={**os.environ, **(environment or {})},
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{name}: {done.stderr}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def read_by_server_memory(path, _):
    """The reference server, over MCP."""
    bin_folder = program("server-memory")
    script = next(bin_folder.parent.rglob("server-memory/dist/index.js"))
    calls = [
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "loci", "version": "1"},
            },
        },
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "read_graph", "arguments": {}}},
    ]
    server = subprocess.Popen(
        ["node", str(script)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "MEMORY_FILE_PATH": str(path)},
    )
    with server:
        for call in calls:
            server.stdin.write(json.dumps(call) + "\n")
        server.stdin.flush()
        for line in server.stdout:
            message = json.loads(line)
            if message.get("id") == 2:
                break
        server.stdin.close()
    graph = json.loads(message["result"]["content"][0]["text"])
    observations = [text for entity in graph["entities"] for text in entity["observations"]]
    same(sorted(observations), sorted(TEXTS.values()), "server-memory: observations")
    relations = [(it["from"], it["relationType"], it["to"]) for it in graph["relations"]]
    same(sorted(relations), sorted((it["subject"], it["predicate"], it["object"]) for it in FACTS), "relations")


def read_by_mem0(path, _):
    """mem0's own class of a memory, and a store of its own that they are added to."""
    code = """
import json, sys
from mem0.configs.base import MemoryItem
items = [MemoryItem(**item) for item in json.load(open(sys.argv[1], encoding="utf-8", newline=""))["results"]]
print(json.dumps([[item.id, item.memory, item.metadata.get("tags", []), item.created_at] for item in items]))
"""
    found = asked("mem0", code, path, environment={"MEM0_TELEMETRY": "False"})
    expected = [[it["id"], it["content"], it["tags"], it["created_at"]] for it in MEMORIES]
    same(sorted(found), sorted(expected), "mem0: items")


def read_by_basic_memory(path, home):
    """The index that basic-memory makes of the folder, which its tools answer from."""
    bin_folder = program("basic-memory")
    environment = {**os.environ, "HOME": str(home), "BASIC_MEMORY_HOME": str(home / "main")}
    command = [str(bin_folder / "basic-memory"), "project", "add", "kept", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, env=environment, check=False)
    same(done.returncode, 0, f"basic-memory: {done.stdout} {done.stderr}")
    code = """
import json, sqlite3, sys
database = sqlite3.connect(sys.argv[1])
notes = database.execute("SELECT e.file_path, n.markdown_content FROM entity e JOIN note_content n ON n.entity_id = e.id")
relations = database.execute("SELECT f.title, r.relation_type, r.to_name FROM relation r JOIN entity f ON f.id = r.from_id")
print(json.dumps([notes.fetchall(), relations.fetchall()]))
"""
    notes, relations = asked("basic-memory", code, home / ".basic-memory" / "memory.db")
    files = {str(file.relative_to(path)): file.read_bytes().decode() for file in path.rglob("*.md")}
    same(dict(notes), files, "basic-memory: notes")
    for text in TEXTS.values():
        same(sum(text in note for note in files.values()), 1, f"basic-memory: {text!r}")
    same(["Orla", "works at", "Harbour"] in relations, True, f"basic-memory: relations {relations}")


def read_by_mempalace(path, home):
    """The backend that mempalace opens for the palace, and its graph."""
    code = """
import json, sys
from mempalace.backends.sqlite_exact import SQLiteExactBackend
from mempalace.knowledge_graph import KnowledgeGraph
palace = sys.argv[1]
assert SQLiteExactBackend.detect(palace)
drawers = SQLiteExactBackend().get_collection(palace, "mempalace_drawers", create=False).get()
facts = KnowledgeGraph(palace + "/knowledge_graph.sqlite3").query_entity("Orla")
rows = [[i, d, m["wing"], m["room"]] for i, d, m in zip(drawers["ids"], drawers["documents"], drawers["metadatas"])]
print(json.dumps([rows, [[f["subject"], f["predicate"], f["object"], f.get("valid_from")] for f in facts]]))
"""
    palace = path / "palace"
    drawers, facts = asked("mempalace", code, palace, environment={"HOME": str(home)})
    expected = [[it["id"], it["content"], it["project"] or "global", it["type"]] for it in MEMORIES]
    same(sorted(drawers), sorted(expected), "mempalace: drawers")
    keys = sorted(f[1] for f in facts)
    same(keys, ["keeps", "works_at"], f"mempalace: facts {facts}")


READERS = {
    "server-memory": read_by_server_memory,
    "mem0": read_by_mem0,
    "basic-memory": read_by_basic_memory,
    "mempalace": read_by_mempalace,
}


def round_trip(kind, path, folder):
    """What loci reads of it is what it wrote."""
    data = folder / "again"
    report = loci(data, "import", "--from", kind, str(path))
    same((report["stored"] >= len(TEXTS), report["refused"]), (True, 0), f"{kind}: import {report}")
    memories = {it["content"]: it for it in loci(data, "list", "--limit", "50")["memories"]}
    same(sorted(memories), sorted(TEXTS.values()), f"{kind}: texts")
    if kind == "server-memory":
        return
    for it in MEMORIES:
        found = memories[it["content"]]
        same(found["id"], it["id"], f"{kind}: id")
        same(found["type"], it["type"], f"{kind}: type")
        same(found.get("project"), it["project"], f"{kind}: project")
        same(found.get("tags", []), it["tags"], f"{kind}: tags")
        for key in ("created_at", "updated_at"):
            same(found[key].rstrip("Z")[:19], it[key][:19], f"{kind}: {key}")


def main(names):
    for kind in names or READERS:
        if python_for(kind) is None:
            oldest = ".".join(map(str, OLDEST_PYTHON[kind]))
            print(f"SKIPPED: {kind} needs Python {oldest}, which is not here, so that it read nothing")
            continue
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            data, home = folder / "data", folder / "home"
            home.mkdir()
            lines = "".join(json.dumps(memory) + "\n" for memory in MEMORIES)
            loci(data, "import", "-", answer=lines)
            asserted(data)
            target = folder / ("export.json" if kind == "mem0" else "export")
            exported(data, kind, target)
            round_trip(kind, target, folder)
            READERS[kind](target, home)
            print(f"{kind}: reads what loci wrote")


def asserted(data):
    """Asserts the facts through the tools of mempalace."""
    calls = [
        {
            "jsonrpc": "2.0",
            "id": 0,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"},
            },
        },
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
    ]
    for number, fact in enumerate(FACTS, 1):
        call = {"name": "mempalace_kg_add", "arguments": fact}
        calls.append({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call})
    command = [LOCI, "mcp", "mempalace", "--data", str(data), "--search", "words"]
    pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
    server = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=nothing, text=True)
    with server:
        for call in calls:
            server.stdin.write(json.dumps(call) + "\n")
        server.stdin.flush()
        for line in server.stdout:
            if json.loads(line).get("id") == len(FACTS):
                break
        server.stdin.close()


if __name__ == "__main__":
    main(sys.argv[1:])

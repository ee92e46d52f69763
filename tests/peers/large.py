"""Writes large stores of other memory systems, and tells what an import of one needs.

    python tests/peers/large.py write KIND MEGABYTES PATH     a store of about that size
    python tests/peers/large.py import PATH [ARGUMENT…]       records a minute, and the most memory in use

KIND is one of those in `KINDS`. LOCI_BIN names the program; its memory folder is a new one, which is removed.
"""

import datetime
import json
import os
import pathlib
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

WORDS = [a + b for a in "ba ke li mo nu ra se ti vo zu".split() for b in "den fal gor him jus kel lam mer nos pir".split()]
START = datetime.datetime(2025, 1, 1, tzinfo=datetime.timezone.utc)
MEGABYTE = 1 << 20
DIMENSIONS = 384


def text(chance, size):
    """A text of about that many bytes, of which no two are alike."""
    count = size // 6
    return " ".join(chance.choices(WORDS, k=count - 1)) + f" {chance.getrandbits(64):x}."


def moment(number):
    return START + datetime.timedelta(seconds=number)


def numbers(path, size):
    """Numbers until the file, or the files in the folder, have that size."""
    number = 0
    while number % 256 or written(path) < size:
        yield number
        number += 1


def written(path):
    if path.is_dir():
        return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    return path.stat().st_size if path.exists() else 0


def graph(path, size, chance, length, observations):
    with path.open("w") as file:
        for number in numbers(path, size):
            line = {
                "type": "entity",
                "name": f"Entity {number}",
                "entityType": "person",
                "observations": [text(chance, length) for _ in range(observations)],
            }
            file.write(json.dumps(line) + "\n")


def memory_jsonl(path, size, chance):
    """The reference server: observations of 90 bytes, four to an entity."""
    graph(path, size, chance, 90, 4)


def memory_jsonl_long(path, size, chance):
    """The same, with observations of 90 kB."""
    graph(path, size, chance, 90_000, 1)


def memory_jsonl_line(path, size, chance):
    """The same, where one line is all of that size, between two of 90 bytes."""
    graph(path, 1, chance, 90, 1)
    with path.open("a") as file:
        file.write('{"type": "entity", "name": "Long", "entityType": "person", "observations": ["')
        for _ in range(size // MEGABYTE):
            file.write(text(chance, MEGABYTE))
        file.write('"]}\n{"type": "entity", "name": "Last", "entityType": "person", "observations": ["stands"]}\n')


def claude_mem(path, size, chance):
    """claude-mem, with observations of 3 kB."""
    path.mkdir()
    file = path / "claude-mem.db"
    database = sqlite3.connect(file)
    database.executescript(
        """CREATE TABLE sdk_sessions (id INTEGER PRIMARY KEY, project TEXT);
        CREATE TABLE observations (id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT, text TEXT, type TEXT,
            title TEXT, subtitle TEXT, facts TEXT, narrative TEXT, concepts TEXT, files_read TEXT,
            files_modified TEXT, created_at TEXT, created_at_epoch INTEGER);"""
    )
    for number in numbers(file, size):
        facts = json.dumps([text(chance, 300) for _ in range(3)])
        row = ("s", "shop", "discovery", f"Title {number}", facts, text(chance, 2_000), '["knots"]', number * 1_000)
        database.execute(
            "INSERT INTO observations (memory_session_id, project, type, title, facts, narrative, concepts,"
            " created_at_epoch) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            row,
        )
        if number % 1_024 == 0:
            database.commit()
    database.commit()


def slices(number, chance):
    """A drawer of 4 kB in slices of 800 characters, as mempalace writes it: ids, texts and metadata."""
    whole = text(chance, 4_000)
    for place, start in enumerate(range(0, len(whole), 800)):
        metadata = {
            "wing": "shop",
            "room": "notes",
            "chunk_index": place,
            "parent_drawer_id": f"drawer_{number}",
            "filed_at": moment(number).replace(tzinfo=None).isoformat(),
        }
        yield f"drawer_{number}_{place}", whole[start : start + 800], metadata


def mempalace(path, size, chance):
    """mempalace on sqlite_exact; the slices of a drawer do not stand together."""
    path.mkdir()
    file = path / "sqlite_exact.sqlite3"
    database = sqlite3.connect(file)
    database.executescript(
        """CREATE TABLE collections (id INTEGER PRIMARY KEY, name TEXT UNIQUE, dimension INTEGER, created_at TEXT);
        CREATE TABLE documents (collection_id INTEGER, id TEXT, document TEXT, metadata_json TEXT, embedding BLOB,
            dim INTEGER, created_at TEXT, updated_at TEXT, PRIMARY KEY (collection_id, id));
        INSERT INTO collections VALUES (1, 'mempalace_drawers', 384, '');"""
    )
    waiting = []
    for number in numbers(file, size):
        waiting += slices(number, chance)
        if number % 1_024 == 0:
            chance.shuffle(waiting)
            for key, part, metadata in waiting:
                at = moment(number).isoformat()
                row = (1, key, part, json.dumps(metadata), bytes(4 * DIMENSIONS), DIMENSIONS, at, at)
                database.execute("INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
            database.commit()
            waiting = []
    database.commit()


def mempalace_chroma(path, size, chance):
    """mempalace on Chroma."""
    path.mkdir()
    file = path / "chroma.sqlite3"
    database = sqlite3.connect(file)
    database.executescript(
        """CREATE TABLE collections (id TEXT PRIMARY KEY, name TEXT, dimension INTEGER);
        CREATE TABLE segments (id TEXT PRIMARY KEY, type TEXT, scope TEXT, collection TEXT);
        CREATE TABLE embeddings (id INTEGER PRIMARY KEY, segment_id TEXT, embedding_id TEXT, seq_id BLOB,
            created_at TIMESTAMP);
        CREATE TABLE embedding_metadata (id INTEGER, key TEXT, string_value TEXT, int_value INTEGER,
            float_value REAL, bool_value INTEGER, PRIMARY KEY (id, key));
        INSERT INTO collections VALUES ('c', 'mempalace_drawers', 384);
        INSERT INTO segments VALUES ('s', '', 'METADATA', 'c');"""
    )
    place = 0
    for number in numbers(file, size):
        for key, part, metadata in slices(number, chance):
            place += 1
            row = (place, "s", key, b"", moment(number).strftime("%Y-%m-%d %H:%M:%S"))
            database.execute("INSERT INTO embeddings VALUES (?, ?, ?, ?, ?)", row)
            for name, value in {"chroma:document": part, **metadata}.items():
                column = "int_value" if isinstance(value, int) else "string_value"
                database.execute(
                    f"INSERT INTO embedding_metadata (id, key, {column}) VALUES (?, ?, ?)", (place, name, value)
                )
        if number % 1_024 == 0:
            database.commit()
    database.commit()


def basic_memory(path, size, chance):
    """A folder of notes of 10 kB, each with a link to the one before it."""
    path.mkdir()
    total = number = 0
    while total < size:
        folder = path / f"folder{number % 100}"
        folder.mkdir(exist_ok=True)
        note = (
            f"---\ntitle: Note {number}\ntype: note\npermalink: main/folder{number % 100}/note-{number}\n---\n\n"
            f"{text(chance, 10_000)}\n- relates to [[Note {number - 1}]]\n"
        )
        (folder / f"note-{number}.md").write_text(note)
        total += len(note)
        number += 1


def mem0_json(path, size, chance):
    """What `get_all` of mem0 gives, over many lines."""
    with path.open("w") as file:
        file.write('{"results": [\n')
        for number in numbers(path, size):
            memory = {
                "id": f"{number:032x}",
                "memory": text(chance, 500),
                "user_id": "orla",
                "created_at": moment(number).isoformat(),
            }
            file.write((",\n" if number else "") + json.dumps(memory, indent=1))
        file.write("\n]}\n")


def chat_gpt(path, size, chance):
    """The conversations of a ChatGPT account, in one line, with ten messages of 2 kB each."""
    path.mkdir()
    path = path / "conversations.json"
    with path.open("w") as file:
        file.write("[")
        for number in numbers(path, size):
            mapping, parent = {}, None
            for place in range(10):
                node = f"{number}-{place}"
                role = "assistant" if place % 2 else "user"
                message = {
                    "id": node,
                    "author": {"role": role},
                    "create_time": number * 100 + place,
                    "content": {"content_type": "text", "parts": [text(chance, 2_000)]},
                    "recipient": "all",
                }
                mapping[node] = {"id": node, "parent": parent, "children": [], "message": message}
                if parent:
                    mapping[parent]["children"].append(node)
                parent = node
            conversation = {"conversation_id": f"c{number}", "title": "Knots", "create_time": number, "mapping": mapping}
            file.write(("," if number else "") + json.dumps(conversation))
        file.write("]")


KINDS = {
    "server-memory": memory_jsonl,
    "server-memory-long": memory_jsonl_long,
    "server-memory-line": memory_jsonl_line,
    "claude-mem": claude_mem,
    "mempalace": mempalace,
    "mempalace-chroma": mempalace_chroma,
    "basic-memory": basic_memory,
    "mem0": mem0_json,
    "chatgpt": chat_gpt,
}


def most_memory(process, found):
    """Notes the most memory of its own that a process had, and the most with the files that it maps."""
    while process.poll() is None:
        try:
            status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
        except OSError:
            return
        values = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
        for name in ("VmHWM", "RssAnon"):
            if name in values:
                found[name] = max(found.get(name, 0), int(values[name].split()[0]))
        time.sleep(0.05)


def imported(path, arguments):
    data = tempfile.mkdtemp(prefix="loci-large-", dir=os.environ.get("LARGE_FOLDER"))
    command = [os.environ["LOCI_BIN"], "import", path, *arguments, "--data", data, "--search", "words", "--json"]
    begun, found = time.monotonic(), {}
    try:
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            watch = threading.Thread(target=most_memory, args=(process, found))
            watch.start()
            said = json.loads(process.communicate()[0])
            watch.join()
        seconds = time.monotonic() - begun
        size = written(pathlib.Path(data))
    finally:
        shutil.rmtree(data)
    stored = said["stored"] + said.get("conversations", {}).get("drawers", {}).get("added", 0)
    print(
        f"{stored} records in {seconds:.0f} s, {stored / seconds * 60:.0f} a minute;"
        f" most memory {found['VmHWM'] / 1024:.0f} MB, of its own {found['RssAnon'] / 1024:.0f} MB;"
        f" on the disk {size / MEGABYTE:.0f} MB; left out {said.get('left_out')}"
    )


def main(arguments):
    match arguments:
        case ["write", kind, megabytes, path] if kind in KINDS:
            KINDS[kind](pathlib.Path(path), int(megabytes) * MEGABYTE, random.Random(int(megabytes)))
        case ["import", path, *rest]:
            imported(path, rest)
        case _:
            raise SystemExit(__doc__)


main(sys.argv[1:])

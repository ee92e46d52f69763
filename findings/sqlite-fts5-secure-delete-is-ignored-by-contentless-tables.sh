#!/usr/bin/env bash
# Package: SQLite 3.54.1 with FTS5, as apsw (PyPI) 3.54.1.0 bundles it. Seen on 2026-11-28.
#
# Behaviour: a table with `content='', contentless_delete=1` takes the setting `secure-delete` without an
# error. A deleted row is no longer found, but its words stay in the database file, with
# `PRAGMA secure_delete = ON` as well, until 'optimize' rewrites the index. Tables that keep their text, or
# name another table that does, overwrite the words at once.
#
# Why a good guess misses it: `contentless_delete=1` is what lets an index without texts delete rows by
# `DELETE`, and the setting exists so that a deletion removes the words from the index, not only adds a
# mark. Both are accepted together, and every query behaves as if it had worked. An index beside a store
# of memories, whose texts are in other tables, is the usual reason for such a table.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check apsw==3.54.1.0
"$folder/venv/bin/pip" list --disable-pip-version-check 2>/dev/null | grep -E '^apsw '
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import pathlib
import sys

import apsw

print("SQLite", apsw.sqlite_lib_version())
kinds = {
    "own texts": "",
    "texts of another table": ", content='memory', content_rowid='id'",
    "contentless": ", content='', contentless_delete=1",
}
seen = {}
for kind, options in kinds.items():
    path = pathlib.Path(sys.argv[1], kind)
    database = apsw.Connection(str(path))
    database.execute("PRAGMA secure_delete = ON")
    database.execute("CREATE TABLE memory(id INTEGER PRIMARY KEY, text TEXT)")
    database.execute(f"CREATE VIRTUAL TABLE words USING fts5(text{options})")
    database.execute("INSERT INTO words(words, rank) VALUES ('secure-delete', 1)")
    database.execute("BEGIN")
    for row in range(400):
        database.execute("INSERT INTO words(rowid, text) VALUES (?, ?)", (row, f"kiln glaze{row} tray{row % 9}"))
    secret = (1000, "the kiln belongs to quillfeather")
    database.execute("INSERT INTO words(rowid, text) VALUES (?, ?)", secret)
    database.execute("COMMIT")
    if kind == "texts of another table":
        database.execute("INSERT INTO words(words, rowid, text) VALUES ('delete', ?, ?)", secret)
    else:
        database.execute("DELETE FROM words WHERE rowid = 1000")
    found = database.execute("SELECT count(*) FROM words WHERE words MATCH 'quillfeather'").get
    after_delete = b"quillfeather" in path.read_bytes()
    database.execute("INSERT INTO words(words) VALUES ('optimize')")
    after_optimize = b"quillfeather" in path.read_bytes()
    print(f"{kind}: rows found {found}, in the file after the deletion {after_delete}, after 'optimize' {after_optimize}")
    seen[kind] = (found, after_delete, after_optimize)
assert seen["own texts"] == (0, False, False)
assert seen["texts of another table"] == (0, False, False)
assert seen["contentless"] == (0, True, False)
PYTHON
echo "as described"

#!/usr/bin/env bash
# Package: kuzu 0.11.3 (PyPI), the embedded graph database of graphiti.
# Behaviour: a Python datetime with an offset, given as a parameter for a TIMESTAMP, is stored as the time on its clock:
#   09:00+02:00 becomes 09:00, and two datetimes that are equal in Python become two moments two hours apart. The same
#   time as a text, `timestamp('… 09:00+02:00')`, becomes 07:00. Nothing is logged.
# Why a good guess misses it: the text form goes by the moment and converts it to UTC, equal datetimes should be equal
#   parameters, and what is read back is naive in both cases, so that a program that takes it for UTC shifts each time by
#   the offset of whoever wrote it. A column of TIMESTAMP_TZ does not help: the datetime is bound as a TIMESTAMP, and
#   refused there.
# Date: 2026-11-29
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check kuzu==0.11.3
cat > times.py <<'PYTHON'
from datetime import datetime, timedelta, timezone

import kuzu

connection = kuzu.Connection(kuzu.Database("graph"))
connection.execute("CREATE NODE TABLE Fact(id STRING, at TIMESTAMP, PRIMARY KEY(id))")
there = datetime(2026, 3, 1, 9, 0, tzinfo=timezone(timedelta(hours=2)))
utc = there.astimezone(timezone.utc)
assert there == utc
for name, at in [("with an offset", there), ("in UTC", utc)]:
    connection.execute("CREATE (:Fact {id: $id, at: $at})", {"id": name, "at": at})
connection.execute("CREATE (:Fact {id: 'as a text', at: timestamp('2026-03-01T09:00:00+02:00')})")
rows = connection.execute("MATCH (f:Fact) RETURN f.id, f.at")
stored = {}
while rows.has_next():
    name, at = rows.get_next()
    stored[name] = at
print(f"kuzu {kuzu.__version__}: one moment, 09:00+02:00, stored as")
for name, at in sorted(stored.items()):
    print(f"  {name}: {at}")
nine, seven = datetime(2026, 3, 1, 9, 0), datetime(2026, 3, 1, 7, 0)
expected = {"with an offset": nine, "in UTC": seven, "as a text": seven}
assert stored == expected, f"the behaviour changed: {stored}"
try:
    connection.execute("CREATE NODE TABLE Zoned(id STRING, at TIMESTAMP_TZ, PRIMARY KEY(id))")
    connection.execute("CREATE (:Zoned {id: 'a', at: $at})", {"at": there})
except RuntimeError as error:
    print(f"  a TIMESTAMP_TZ refuses it: {error}")
else:
    raise SystemExit("the behaviour changed: a TIMESTAMP_TZ takes it")
PYTHON
venv/bin/python times.py

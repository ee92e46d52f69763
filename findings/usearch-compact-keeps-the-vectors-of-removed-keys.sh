#!/usr/bin/env bash
# Package: usearch (PyPI), version 2.26.6. Seen on 2026-11-28.
#
# Behaviour: `Index.remove(key)` followed by `Index.save(path)` writes the vector of the removed key into
# the file, byte for byte, and `remove(key, compact=True)` changes nothing about that. The index says that
# it has fewer entries and that the key is not in it. Loading the file and saving it again keeps the
# vector as well.
#
# Why a good guess misses it: "compact" is said to rebuild the storage of the vectors, and in other stores it is
# the step that drops what was deleted. Here it only takes away the links to removed entries. A vector of
# a text tells much of the text, so that what a user asked to be forgotten stays in the file, and in each
# copy of it, until another entry happens to take the place or the index is built anew.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check usearch==2.26.6 numpy==2.4.6
"$folder/venv/bin/pip" list --disable-pip-version-check 2>/dev/null | grep -E '^usearch '
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import pathlib
import sys

import numpy
from usearch.index import Index

folder = pathlib.Path(sys.argv[1])
vectors = numpy.random.default_rng(7).standard_normal((300, 48)).astype(numpy.float32)
index = Index(ndim=48, metric="cos", dtype="f32")
index.add(numpy.arange(300), vectors)
index.remove(41)
index.remove(42, compact=True)
index.save(str(folder / "first.usearch"))
again = Index.restore(str(folder / "first.usearch"))
again.save(str(folder / "second.usearch"))
print("entries:", len(index), "has 41:", 41 in index, "has 42:", 42 in index)
for name in ["first.usearch", "second.usearch"]:
    data = (folder / name).read_bytes()
    for key in [41, 42]:
        is_there = vectors[key].tobytes() in data
        print(f"{name}: the vector of {key} is in the file: {is_there}")
        assert is_there
assert len(index) == 298 and 41 not in index and 42 not in index
PYTHON
echo "as described"

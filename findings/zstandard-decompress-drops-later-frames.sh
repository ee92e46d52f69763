#!/usr/bin/env bash
# Package: zstandard (PyPI), version 0.25.0. Seen on 2026-11-28.
#
# Behaviour: `ZstdDecompressor().decompress(data)` returns the first frame of a file with several
# frames, and neither an error nor a sign that more follows. `stream_reader()` and `open()` of the same
# package, and `zstd -dc`, return all of them.
#
# Why a good guess misses it: the format says that frames may follow each other and that decoding yields
# all of their contents, `cat a.zst b.zst` is the usual way to append, and the other functions of the
# package do so. A reader of compressed session logs (`.jsonl.zst`) that uses the short call loses
# everything that was appended after the first compression, and what it gets is whole lines.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check zstandard==0.25.0
"$folder/venv/bin/pip" list --disable-pip-version-check 2>/dev/null | grep -E '^zstandard '
"$folder/venv/bin/python" - "$folder/log.jsonl.zst" <<'PYTHON'
import io
import sys

import zstandard

lines = [b'{"said": "one"}\n', b'{"said": "two"}\n']
data = b"".join(zstandard.ZstdCompressor().compress(line) for line in lines)
with open(sys.argv[1], "wb") as file:
    file.write(data)
decompressor = zstandard.ZstdDecompressor()
short = decompressor.decompress(data)
streamed = decompressor.stream_reader(io.BytesIO(data)).read()
with zstandard.open(sys.argv[1], "rb") as file:
    opened = file.read()
print("decompress():   ", short)
print("stream_reader():", streamed)
print("open():         ", opened)
assert short == lines[0]
assert streamed == opened == b"".join(lines)
PYTHON
echo "as described"

#!/bin/sh
# Runs the official MCP conformance suite against the fixture (on the product's own stack) and,
# where a binary is named, against the product. Fails on any unexpected result, either way.
#
#   LOCI_FIXTURE_BIN  the fixture; default: built from crates/loci-server
#   LOCI_BIN          the product; without it, the fixture alone is tested
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$root/target/conformance
mkdir -p "$work"
scratch=$(mktemp -d)
server=
stop() {
    if [ -n "$server" ]; then
        kill "$server" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
        server=
    fi
}
trap 'stop; rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM

suite=$here/node_modules/@modelcontextprotocol/conformance
[ -d "$suite" ] || { echo "the suite is not installed: run scripts/setup" >&2; exit 2; }
case $(node --version) in
    v2[2-9].*|v[3-9][0-9].*) ;;
    *) echo "node 22 or later is needed: put .venv/bin, which scripts/setup fills, on the PATH" >&2; exit 2 ;;
esac

# start COMMAND...: starts a server and sets `url` to where it listens.
start() {
    : >"$scratch/server.log" # or the address of the server before it could be read
    "$@" 2>>"$scratch/server.log" &
    server=$!
    tries=0
    until url=$(sed -n 's|.*listening on \(http://[^ ]*\).*|\1|p' "$scratch/server.log" | head -n 1) && [ -n "$url" ]; do
        tries=$((tries + 1))
        if [ "$tries" -gt 300 ] || ! kill -0 "$server" 2>/dev/null; then
            echo "the server did not start:" >&2
            cat "$scratch/server.log" >&2
            exit 1
        fi
        sleep 0.1
    done
}

failed=0
# run NAME ARGUMENT...: runs a part of the suite and remembers whether it failed.
run() {
    name=$1
    shift
    if (cd "$work" && node "$suite/dist/index.js" server -o "$scratch/results" "$@") >"$work/$name.log" 2>&1; then
        echo "ok      $name"
    else
        failed=1
        echo "FAILED  $name"
        cat "$work/$name.log" "$scratch/server.log"
        kill -0 "$server" 2>/dev/null || echo "the server is gone"
    fi
}

if [ -z "${LOCI_FIXTURE_BIN:-}" ]; then
    (cd "$root" && cargo build --quiet --package loci-server --example conformance_fixture)
    LOCI_FIXTURE_BIN=${CARGO_TARGET_DIR:-$root/target}/debug/examples/conformance_fixture
fi

start "$LOCI_FIXTURE_BIN"
run fixture-2026-07-28 --url "$url/mcp/fixture" --suite all --spec-version 2026-07-28 \
    --expected-failures "$here/fixture-baseline.yml"
stop

start env LOCI_FIXTURE_SESSIONS=1 "$LOCI_FIXTURE_BIN"
run fixture-2025-11-25 --url "$url/mcp/fixture" --requirements 2025-11-25 \
    --expected-failures "$here/fixture-baseline.yml"
# The frozen set runs these without counting them. Its third one, server-sse-polling, cuts a stream
# of a session in the middle of a call, which nothing here ever does.
for scenario in server-session-lifecycle json-schema-2020-12; do
    run "fixture-2025-11-25-$scenario" --url "$url/mcp/fixture" --scenario "$scenario" --spec-version 2025-11-25
done
stop

if [ -n "${LOCI_BIN:-}" ]; then
    start "$LOCI_BIN" serve --no-auth --bind 127.0.0.1:0 --data "$scratch/data"
    for version in 2026-07-28 2025-11-25; do
        run "product-$version" --url "$url/mcp/mememory" --suite all --spec-version "$version" \
            --expected-failures "$here/product-baseline.yml"
    done
    stop
fi
exit "$failed"

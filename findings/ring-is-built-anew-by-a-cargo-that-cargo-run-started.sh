#!/usr/bin/env bash
# Package:   ring 0.17.14 (crates.io), with cargo
# Behaviour: ring is compiled again, and with it all that depends on it (rustls, ureq, ...), when the
#            same `cargo build` is started by a program that `cargo run` started, and again by the
#            next `cargo build` from a shell. No file, feature, profile or flag differs.
# Surprise:  Its build script asks cargo to watch CARGO_PKG_NAME, CARGO_PKG_VERSION_*, CARGO_MANIFEST_DIR
#            and CARGO_MANIFEST_LINKS, which cargo sets for the build script itself and which nobody
#            exports. Cargo compares them with its own environment, though, and `cargo run` exports
#            those of the package that it runs. Tasks in the xtask pattern that call cargo pay for ring
#            twice at each turn; a crate without such a build script is up to date in the same place.
# Date:      2026-11-29
set -euo pipefail
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT; cd "$work"
mkdir -p app/src task/src
cat > Cargo.toml <<'T'
[workspace]
members = ["app", "task"]
resolver = "3"
T
cat > app/Cargo.toml <<'T'
[package]
name = "app"
version = "0.1.0"
edition = "2024"
[dependencies]
ring = "=0.17.14"
libc = "0.2"
T
echo 'fn main() {}' > app/src/main.rs
cat > task/Cargo.toml <<'T'
[package]
name = "task"
version = "0.1.0"
edition = "2024"
T
cat > task/src/main.rs <<'T'
fn main() {
    let build = std::process::Command::new("cargo").args(["build", "--package", "app"]).status();
    assert!(build.unwrap().success());
}
T
unset RUSTC_WRAPPER; export CARGO_TARGET_DIR=$work/target CARGO_TERM_COLOR=never
unset "${!CARGO_PKG_@}" "${!CARGO_MANIFEST_@}"
compiled() { "$@" 2>&1 | { grep -oE 'Compiling (ring|libc) ' || true; } | sort -u | tr -d '\n'; }
cargo build -q --package app --package task
cargo --version; grep -A1 'name = "ring"' Cargo.lock | tail -1
shell=$(compiled cargo build --package app)
nested=$(compiled cargo run --package task)
again=$(compiled cargo build --package app)
echo "  the same build from the shell compiles: ${shell:-nothing}"
echo "  from a program that cargo run started:  ${nested:-nothing}"
echo "  from the shell after that:              ${again:-nothing}"
[ "$shell" = "" ] && [ "$nested" = "Compiling ring " ] && [ "$again" = "Compiling ring " ]

#!/usr/bin/env bash
# Package: utoipa 6.0.0 with utoipa-gen 6.0.1, serde 1 (crates.io).
# Behaviour: a field with `#[serde(skip_serializing)]` is missing in what `IntoParams` says of the query of a request,
#   and in the schema of a request's body, though the program reads it there. The document then describes a request
#   without it, and a generated client cannot send it.
# Why a good guess misses it: the attribute speaks of what a program writes, and parameters are only read; serde itself
#   reads the field. A query that is written too, e.g. into the links of a list, leaves out there what must not be
#   repeated, such as a confirmation or a token.
# Date: 2026-11-30
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
mkdir src
cat > Cargo.toml <<'TOML'
[package]
name = "tried"
version = "0.0.0"
edition = "2024"

[dependencies]
serde = { version = "1", features = ["derive"] }
serde_json = "1"
utoipa = { version = "=6.0.0", default-features = false, features = ["macros"] }
utoipa-gen = "=6.0.1"

[workspace]
TOML
cat > src/main.rs <<'RUST'
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

#[derive(Serialize, Deserialize, IntoParams, ToSchema)]
struct Wanted {
    page: u32,
    #[serde(skip_serializing)]
    confirmed: bool,
}

fn main() {
    let read: Wanted = serde_json::from_str(r#"{"page": 2, "confirmed": true}"#).unwrap();
    println!("serde reads confirmed: {}", read.confirmed);
    let names: Vec<String> = Wanted::into_params(|| None).into_iter().map(|parameter| parameter.name).collect();
    println!("parameters: {}", names.join(" "));
    let schema = serde_json::to_value(<Wanted as utoipa::PartialSchema>::schema()).unwrap();
    let names: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
    println!("properties of a body: {names:?}");
}
RUST
cargo run --quiet > said
grep -A1 '^name = "utoipa"' Cargo.lock
cat said
[ "$(cat said)" = 'serde reads confirmed: true
parameters: page
properties of a body: ["page"]' ]

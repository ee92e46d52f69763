#!/usr/bin/env bash
# Package:   rten-gemm 0.27.0 (crates.io), the matrix product of the rten runtime
# Behaviour: A product of u8 and i8 with a zero point for each row of the left matrix
#            (`GemmOptions::a_quant`) is right in the first 8 rows and wrong in all later ones. No error
#            is returned. With one value for all rows every row is right.
# Surprise:  The parameter is a slice with a length for each row, and a slice of another length is
#            refused, so a caller takes rows that differ for supported. Models of ONNX quantise the left
#            side with one zero point (DynamicQuantizeLinear), so no model of a runtime test shows it;
#            quantising each token by itself, as an encoder in int8 wants, does from the ninth token on.
#            Short inputs pass a test. Seen on x86-64.
# Date:      2026-11-29
set -euo pipefail
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT; cd "$work"
mkdir src
cat > Cargo.toml <<'T'
[package]
name = "g"
version = "0.1.0"
edition = "2024"
[dependencies]
rten-gemm = "=0.27.0"
rten-tensor = "=0.27.0"
T
cat > src/main.rs <<'T'
use rten_gemm::{GemmExecutor, GemmInputA, GemmInputB, GemmOptions, QuantParams};
use rten_tensor::NdTensorView;

const ROWS: usize = 16;
const DEPTH: usize = 64;
const COLUMNS: usize = 32;

/// Returns the number of rows that are not what the definition gives.
fn wrong_rows(zeros: &[u8]) -> Vec<usize> {
    let a: Vec<u8> = (0..ROWS * DEPTH).map(|i| (i * 7 % 100) as u8).collect();
    let b: Vec<i8> = (0..DEPTH * COLUMNS).map(|i| (i * 5 % 41) as i8 - 20).collect();
    let mut out = vec![0_i32; ROWS * COLUMNS];
    let gemm = GemmExecutor::<u8, i8, i32>::new();
    let options = GemmOptions { a_quant: Some(QuantParams { zero_point: zeros }), ..GemmOptions::default() };
    gemm.gemm(
        &mut out,
        GemmInputA::Unpacked(NdTensorView::from_data([ROWS, DEPTH], &a[..])),
        GemmInputB::Unpacked(NdTensorView::from_data([DEPTH, COLUMNS], &b[..])),
        options,
    )
    .unwrap();
    (0..ROWS)
        .filter(|&row| {
            (0..COLUMNS).any(|column| {
                let sum: i32 = (0..DEPTH)
                    .map(|k| (i32::from(a[row * DEPTH + k]) - i32::from(zeros[row])) * i32::from(b[k * COLUMNS + column]))
                    .sum();
                out[row * COLUMNS + column] != sum
            })
        })
        .collect()
}

fn main() {
    let same = vec![9_u8; ROWS];
    let differing: Vec<u8> = (0..ROWS).map(|row| row as u8 + 1).collect();
    println!("  one zero point for all rows: wrong rows {:?}", wrong_rows(&same));
    println!("  a zero point for each row:   wrong rows {:?}", wrong_rows(&differing));
}
T
unset RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER; export CARGO_TARGET_DIR=$work/target
cargo build -q --release
grep -A1 'name = "rten-gemm"' Cargo.lock | tr '\n' ' '; echo
said=$("$work/target/release/g"); echo "$said"
grep -q 'all rows: wrong rows \[\]' <<< "$said"
grep -q 'each row:   wrong rows \[8, 9, 10, 11, 12, 13, 14, 15\]' <<< "$said"

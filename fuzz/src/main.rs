//! Runs the target that `LOCI_FUZZ_TARGET` names in libFuzzer, which has the `main` and reads the
//! arguments.

#![no_main]

use std::env;
use std::sync::LazyLock;

use loci_fuzz::TARGETS;

static RUN: LazyLock<fn(&[u8])> = LazyLock::new(|| {
    let wanted = env::var("LOCI_FUZZ_TARGET").unwrap_or_default();
    let target = TARGETS.iter().find(|(name, _)| *name == wanted);
    let names = TARGETS.iter().map(|(name, _)| *name);
    let (_, run) = target.unwrap_or_else(|| {
        let names = names.collect::<Vec<_>>().join(", ");
        panic!("LOCI_FUZZ_TARGET must name a target: {names}")
    });
    *run
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| RUN(data));

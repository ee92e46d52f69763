//! Converts the vocabulary `o200k_base` to tables that are used in place in the binary, so that
//! counting tokens has no load time and needs no memory of its own.

use std::error::Error;
use std::io::Write;
use std::path::PathBuf;
use std::{env, fs};

#[path = "src/hash.rs"]
mod hash;

use hash::{EMPTY, ENTRY_BYTES, RANK, SLOTS, place};

fn main() -> Result<(), Box<dyn Error>> {
    writeln!(
        std::io::stdout(),
        "cargo::rerun-if-changed=build.rs\ncargo::rerun-if-changed=src/hash.rs"
    )?;
    let vocabulary = tiktoken_rs::o200k_base()?;
    let (mut bytes, mut ends, mut slots) = (Vec::new(), Vec::new(), vec![EMPTY; SLOTS]);
    // Special tokens come after a gap, and do not occur in texts.
    let tokens = (0u32..).map_while(|rank| Some((rank, vocabulary.decode_bytes(&[rank]).ok()?)));
    for (rank, token) in tokens {
        let (mut slot, fingerprint) = place(&token);
        while slots[slot] != EMPTY {
            slot = (slot + 1) % SLOTS;
        }
        slots[slot] = fingerprint | rank;
        bytes.extend(token);
        ends.push(u32::try_from(bytes.len())?);
        if rank >= RANK || bytes.len() > EMPTY as usize {
            return Err("the vocabulary is too large for the entries of the tables".into());
        }
    }
    let folder = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?);
    fs::write(folder.join("bytes"), bytes)?;
    fs::write(folder.join("ends"), in_little_endian(&ends))?;
    fs::write(folder.join("slots"), in_little_endian(&slots))?;
    Ok(())
}

fn in_little_endian(numbers: &[u32]) -> Vec<u8> {
    numbers
        .iter()
        .flat_map(|number| number.to_le_bytes().into_iter().take(ENTRY_BYTES))
        .collect()
}

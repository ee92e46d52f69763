//! The machine that has the source file of a memory.

use std::collections::BTreeMap;

use loci_core::{SOURCE_FILE, SOURCE_MACHINE};

/// Notes in the attributes of a memory which machine has its source file, if it has one.
pub(crate) fn note_machine(attributes: &mut BTreeMap<String, String>, machine: &str) {
    if !machine.is_empty() && attributes.contains_key(SOURCE_FILE) {
        attributes.insert(SOURCE_MACHINE.to_owned(), machine.to_owned());
    }
}

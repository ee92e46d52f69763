//! Types and files have nouns of the field as names: a name says what a thing is, e.g.
//! `SearchResults`, and not what happened to it, e.g. `Found`.
//!
//! The words below may not be such a name by themselves, because each would fit any part of the
//! program; as a part of a name, e.g. `AskedBy`, they are not looked at. Names that are still there are
//! in the ratchet file, as a file or as `file::Type`; a line may go, none may come.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};
use syn::{Ident, ItemEnum, ItemMod, ItemStruct, ItemTrait, ItemType};

use super::rust_source::{RustSource, is_test_only};
use super::{Fault, Tree};

const RATCHET: &str = "xtask/names-ratchet.txt";

/// Words that say what happened to a thing, or that are no term of the field.
const VAGUE: [&str; 53] = [
    "accepted",
    "accident",
    "apart",
    "asked",
    "asking",
    "away",
    "before",
    "both",
    "collected",
    "deed",
    "displaced",
    "entered",
    "entrance",
    "errand",
    "followed",
    "found",
    "gate",
    "given",
    "gone",
    "heard",
    "held",
    "how",
    "keep",
    "keeper",
    "kept",
    "lacking",
    "left",
    "look",
    "looked",
    "lying",
    "made",
    "meant",
    "moment",
    "moments",
    "now",
    "opened",
    "prepared",
    "said",
    "seen",
    "shown",
    "since",
    "taken",
    "thing",
    "tied",
    "told",
    "touch",
    "turned",
    "unforgotten",
    "via",
    "wanted",
    "way",
    "whose",
    "wish",
];

/// Names each type and file with a vague name that is not in the ratchet file, and each line there
/// that is out of date.
pub fn check(tree: &Tree, sources: &BTreeMap<String, RustSource>) -> Vec<Fault> {
    let mut found = BTreeSet::new();
    for (path, source) in sources.iter().filter(|(_, source)| !source.is_test) {
        let file = path.rsplit('/').next().unwrap_or_default();
        if is_vague(file.trim_end_matches(".rs")) {
            found.insert(path.clone());
        }
        let mut types = Types {
            path,
            found: &mut found,
        };
        types.visit_file(&source.syntax);
    }
    let known: BTreeSet<String> = (tree.text(RATCHET).unwrap_or_default().lines())
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(str::to_owned)
        .collect();
    let new = found.difference(&known).map(|name| {
        let message = "this word says nothing by itself: name what it is, with a noun of the field";
        Fault::new(name, message)
    });
    let gone = known
        .difference(&found)
        .map(|name| Fault::new(RATCHET, format!("{name} is gone: remove the line")));
    new.chain(gone).collect()
}

fn is_vague(name: &str) -> bool {
    VAGUE.iter().any(|word| name.eq_ignore_ascii_case(word))
}

/// Collects the vague names of the types of a file, but for tests.
struct Types<'a> {
    path: &'a str,
    found: &'a mut BTreeSet<String>,
}

impl Types<'_> {
    fn see(&mut self, name: &Ident) {
        if is_vague(&name.to_string()) {
            self.found.insert(format!("{}::{name}", self.path));
        }
    }
}

impl<'ast> Visit<'ast> for Types<'_> {
    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if !is_test_only(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_enum(&mut self, item: &'ast ItemEnum) {
        self.see(&item.ident);
    }

    fn visit_item_struct(&mut self, item: &'ast ItemStruct) {
        self.see(&item.ident);
    }

    fn visit_item_trait(&mut self, item: &'ast ItemTrait) {
        self.see(&item.ident);
        visit::visit_item_trait(self, item);
    }

    fn visit_item_type(&mut self, item: &'ast ItemType) {
        self.see(&item.ident);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::rust_source::parse_all;

    fn faults_of(path: &str, text: &str, ratchet: &str) -> Vec<String> {
        let tree = Tree::from([(path, text), (RATCHET, ratchet)]);
        let (sources, _) = parse_all(&tree);
        check(&tree, &sources)
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn names_that_say_what_a_thing_is_pass() {
        let text = "pub struct FoundHit;\nenum Outcome {\n    Found,\n}\n#[cfg(test)]\nmod tests {\n    struct Seen;\n}\n";
        assert_eq!(
            faults_of("crates/a/src/timekeeper.rs", text, ""),
            Vec::<String>::new()
        );
        assert_eq!(
            faults_of("crates/a/tests/keeper.rs", "struct Told;", ""),
            Vec::<String>::new()
        );
    }

    #[test]
    fn a_vague_name_is_a_fault_unless_the_ratchet_has_it() {
        for text in [
            "pub struct Told;",
            "enum Told {}",
            "trait Told {}",
            "type Told = u8;",
            "fn f() {\n    struct Told;\n}",
        ] {
            let faults = faults_of("crates/a/src/b.rs", text, "");
            assert_eq!(faults.len(), 1, "{text}");
            assert!(faults[0].starts_with("crates/a/src/b.rs::Told: "));
            let ratchet = "# names\ncrates/a/src/b.rs::Told\n";
            assert_eq!(
                faults_of("crates/a/src/b.rs", text, ratchet),
                Vec::<String>::new()
            );
        }
        assert_eq!(faults_of("crates/a/src/keeper.rs", "", "").len(), 1);
        let gone = faults_of("crates/a/src/b.rs", "", "crates/a/src/b.rs::Told\n");
        assert!(gone[0].contains("remove the line"));
    }
}

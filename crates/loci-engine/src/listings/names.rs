//! Names of locations as callers give them, matched with existing ones.

use std::collections::BTreeSet;

use loci_core::{CollectionFilter, Error, Filter, Result, Scope, Tier};

use crate::graph::knowledge_graph::name_key;
use crate::listings::Listings;

/// The most names that a message proposes.
const ALIKE_MAX: usize = 5;
/// The characters of two names that are compared.
const COMPARED_MAX: usize = 64;

/// The words of a tool set for the parts of a location, for messages.
#[derive(Debug, Clone, Copy)]
pub struct LocationNouns {
    /// The word for a collection: `project`, `wing`.
    pub collection: &'static str,
    /// The word for a section: `room`.
    pub section: &'static str,
}

/// The locations to search, by existing names as far as the caller's could be matched.
#[derive(Debug, Clone, PartialEq)]
pub struct ResolvedLocations {
    /// The collections.
    pub collections: CollectionFilter,
    /// The sections; all if empty.
    pub sections: Vec<String>,
    /// A sentence about the names that do not exist, with the names searched in their place or
    /// similar ones; `None` if all exist.
    pub notice: Option<String>,
}

impl Listings<'_> {
    /// Matches a caller's names of collections and sections with locations where the caller can
    /// read a memory of these tiers. A missing name is replaced by the one that differs from it
    /// only in case, if there is exactly one; otherwise it stays, and matches nothing.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn named(
        &self,
        nouns: LocationNouns,
        tiers: &[Tier],
        mut collections: CollectionFilter,
        mut sections: Vec<String>,
    ) -> Result<ResolvedLocations> {
        let everywhere = Filter {
            tiers: tiers.to_vec(),
            ..self.access.filter(CollectionFilter::Any)
        };
        let mut notices = Vec::new();
        if let CollectionFilter::Only(name) | CollectionFilter::GlobalAnd(name) = &mut collections {
            let there = Filter {
                collections: CollectionFilter::Only(name.clone()),
                ..everywhere.clone()
            };
            if self.store.count_by_location(&there)?.is_empty() {
                let places = self.store.count_by_location(&everywhere)?;
                let names = places
                    .iter()
                    .filter_map(|place| place.collection.as_deref())
                    .collect();
                notices.push(matched(nouns.collection, name, &names));
            }
        }
        let within = Filter {
            collections: collections.clone(),
            ..everywhere
        };
        for name in &mut sections {
            let there = Filter {
                sections: vec![name.clone()],
                ..within.clone()
            };
            if self.store.count_by_location(&there)?.is_empty() {
                let places = self.store.count_by_location(&within)?;
                let names = places.iter().map(|place| place.section.as_str()).collect();
                notices.push(matched(nouns.section, name, &names));
            }
        }
        Ok(ResolvedLocations {
            collections,
            sections,
            notice: (!notices.is_empty()).then(|| notices.join("; ")),
        })
    }

    /// Returns a notice if a name of a location for a write is new and differs only in case from an
    /// existing one; `None` for a caller without the scope `read`. To be called before the write.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub fn differing_in_case(
        &self,
        nouns: LocationNouns,
        collection: Option<&str>,
        section: Option<&str>,
    ) -> Result<Option<String>> {
        let has_names = collection.is_some() || section.is_some();
        if !has_names || !self.caller.principal.scopes.allow(Scope::Read) {
            return Ok(None);
        }
        let everywhere = self.access.places_filter();
        let there = collection.map_or(CollectionFilter::Global, |name| {
            CollectionFilter::Only(name.to_owned())
        });
        let places = self.store.count_by_location(&Filter {
            collections: there,
            ..everywhere.clone()
        })?;
        if let Some(name) = collection.filter(|_| places.is_empty()) {
            let places = self.store.count_by_location(&everywhere)?;
            let names = places
                .iter()
                .filter_map(|place| place.collection.as_deref())
                .collect();
            return Ok(variants(nouns.collection, name, &names));
        }
        let names = places.iter().map(|place| place.section.as_str()).collect();
        Ok(section.and_then(|name| variants(nouns.section, name, &names)))
    }
}

/// Replaces a missing name by the one that was meant; returns a sentence about that, or with
/// similar names.
fn matched(noun: &str, name: &mut String, names: &BTreeSet<&str>) -> String {
    let problem = format!("there is no {noun} `{name}`");
    let key = folded(name);
    let fitting: Vec<&&str> = names.iter().filter(|other| folded(other) == key).collect();
    if let [meant] = fitting[..] {
        (*meant).clone_into(name);
        return format!("{problem}; it was read as `{meant}`, which differs in case alone");
    }
    let near = alike(name, names.iter().copied());
    if near.is_empty() {
        problem
    } else {
        problem + &hint(&near)
    }
}

/// Returns a notice about existing names that differ from a new one only in case.
fn variants(noun: &str, name: &str, names: &BTreeSet<&str>) -> Option<String> {
    let key = folded(name);
    let differing: Vec<String> = names
        .iter()
        .filter(|other| folded(other) == key)
        .map(|other| format!("`{other}`"))
        .collect();
    let is_new = !differing.is_empty() && !names.contains(name);
    is_new.then(|| {
        format!(
            "the {noun} `{name}` is new; there is {} already",
            differing.join(" and ")
        )
    })
}

/// Folds the case of a name. Upper-cased first, so that ς becomes σ and ß becomes SS.
fn folded(name: &str) -> String {
    name.to_uppercase().to_lowercase()
}

/// Returns at most five names with the fewest edits from another one, nearest first; a swap of two
/// neighbours is one edit. Names of which more than half of the longer one differs are left out.
pub(crate) fn alike<'a>(name: &str, others: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let key = |name: &str| {
        name_key(name)
            .chars()
            .take(COMPARED_MAX)
            .collect::<Vec<char>>()
    };
    let wanted = key(name);
    let measured = others.filter_map(|other| {
        let other_key = key(other);
        let distance = strsim::generic_damerau_levenshtein(&wanted, &other_key);
        (distance * 2 <= wanted.len().max(other_key.len())).then_some((distance, other))
    });
    let mut measured: Vec<(usize, &str)> = measured.collect();
    measured.sort_unstable();
    measured
        .into_iter()
        .take(ALIKE_MAX)
        .map(|(_, other)| other)
        .collect()
}

/// The error for a name that is not there: names similar ones, or advises to list them all.
pub(crate) fn nothing_there(problem: &str, similar: &[&str]) -> Error {
    if similar.is_empty() {
        Error::not_found(problem).advising("list what there is", "")
    } else {
        Error::not_found(problem.to_owned() + &hint(similar))
    }
}

/// The part of a message that names similar names, of which there is at least one.
fn hint(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    format!("; these sound alike: {}", quoted.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_proposed() {
        let names = [
            "auth",
            "auth-flow",
            "Auth_Migration",
            "billing",
            "oauth",
            "aut",
            "authz",
            "auht",
            "at",
        ];
        let rows: [(&str, &[&str]); 6] = [
            ("auth", &["auth", "auht", "aut", "authz", "oauth"]),
            ("ＡＵＴＨ migration", &["Auth_Migration"]),
            ("biling", &["billing"]),
            ("iblling", &["billing"]),
            ("zzz", &[]),
            ("", &[]),
        ];
        for (name, expected) in rows {
            assert_eq!(alike(name, names.into_iter()), expected, "{name}");
        }
        let long = "x".repeat(10 * COMPARED_MAX);
        assert_eq!(alike(&long, [long.as_str()].into_iter()), [long.as_str()]);
    }

    #[test]
    fn one_that_differs_in_case_alone_is_meant() {
        let rows: [(&str, &[&str], &str, &str); 6] = [
            (
                "Shop",
                &["shop", "web"],
                "shop",
                "there is no project `Shop`; it was read as `shop`, which differs in case alone",
            ),
            (
                "ΟΔΟΣ",
                &["οδος"],
                "οδος",
                "there is no project `ΟΔΟΣ`; it was read as `οδος`, which differs in case alone",
            ),
            (
                "Shop",
                &["shop", "SHOP"],
                "Shop",
                "there is no project `Shop`; these sound alike: `SHOP`, `shop`",
            ),
            (
                "shpo",
                &["shop", "web"],
                "shpo",
                "there is no project `shpo`; these sound alike: `shop`",
            ),
            (
                "my-shop",
                &["my shop"],
                "my-shop",
                "there is no project `my-shop`; these sound alike: `my shop`",
            ),
            ("other", &["shop"], "other", "there is no project `other`"),
        ];
        for (given, names, meant, said) in rows {
            let mut name = given.to_owned();
            assert_eq!(
                matched("project", &mut name, &names.iter().copied().collect()),
                said
            );
            assert_eq!(name, meant);
        }
    }
}

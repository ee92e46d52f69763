//! The rules of `deny.toml` about licences, sources and banned crates, held against `Cargo.lock`.
//!
//! `cargo deny check` says the same and more, but it takes minutes to build, so a check runs this, and
//! `just check-all` runs that.

use anyhow::{Context, Result, bail};
use cargo_metadata::{Metadata, MetadataCommand, Package};
use spdx::{Expression, ParseMode};
use toml::{Table, Value};

const FILE: &str = "deny.toml";
/// The only place that crates come from.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Checks every dependency, with all features and on every platform.
///
/// # Errors
/// If a dependency has a licence that `deny.toml` does not allow, comes from another place than the registry, or is
/// banned; the message names each.
pub fn run() -> Result<()> {
    let text = std::fs::read_to_string(FILE).with_context(|| format!("cannot read {FILE}"))?;
    let rules = text
        .parse::<Table>()
        .with_context(|| format!("{FILE} is no TOML"))?;
    let mut faults = Vec::new();
    for manifest in ["Cargo.toml", "fuzz/Cargo.toml"] {
        let metadata = MetadataCommand::new()
            .manifest_path(manifest)
            .other_options(["--locked".to_owned(), "--all-features".to_owned()])
            .exec()
            .with_context(|| format!("cannot read the dependencies of {manifest}"))?;
        faults.extend(faults_in(&metadata, &rules));
    }
    if faults.is_empty() {
        return Ok(());
    }
    bail!("{}", faults.join("\n"));
}

fn faults_in(metadata: &Metadata, rules: &Table) -> Vec<String> {
    let dependencies = metadata
        .packages
        .iter()
        .filter(|package| package.source.is_some());
    dependencies
        .filter_map(|package| fault(package, rules))
        .collect()
}

/// Returns what is wrong with a dependency, in words.
fn fault(package: &Package, rules: &Table) -> Option<String> {
    let name = format!("{} {}", package.name, package.version);
    if package
        .source
        .as_ref()
        .is_some_and(|source| source.repr != REGISTRY)
    {
        return Some(format!("{name} does not come from the registry"));
    }
    if entry_of(rules, "bans", "deny", &package.name).is_some() {
        return Some(format!("{name} is banned by {FILE}"));
    }
    let Some(licence) = &package.license else {
        return Some(format!("{name} names no licence"));
    };
    let allowed = list(rules, "licenses", "allow").chain(
        entry_of(rules, "licenses", "exceptions", &package.name)
            .and_then(|entry| entry.get("allow"))
            .and_then(Value::as_array)
            .into_iter()
            .flatten(),
    );
    let allowed: Vec<&str> = allowed.filter_map(Value::as_str).collect();
    match Expression::parse_mode(licence, ParseMode::LAX) {
        Err(error) => Some(format!("{name} has a licence that cannot be read: {error}")),
        Ok(expression) => expression
            .evaluate(|requirement| allowed.contains(&requirement.license.to_string().as_str()))
            .then_some(())
            .map_or_else(
                || {
                    Some(format!(
                        "{name} has the licence {licence}, which {FILE} does not allow"
                    ))
                },
                |()| None,
            ),
    }
}

/// Returns the values of the list `key` in the table `table`.
fn list<'a>(rules: &'a Table, table: &str, key: &str) -> impl Iterator<Item = &'a Value> {
    let list = rules
        .get(table)
        .and_then(|table| table.get(key))
        .and_then(Value::as_array);
    list.into_iter().flatten()
}

/// Returns the entry of such a list that is about a crate.
fn entry_of<'a>(rules: &'a Table, table: &str, key: &str, package: &str) -> Option<&'a Value> {
    list(rules, table, key)
        .find(|entry| entry.get("crate").and_then(Value::as_str) == Some(package))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(manifest: &str, rules: &str) -> Option<String> {
        let package = serde_json::from_str(manifest).expect("the manifest of the test");
        fault(&package, &rules.parse().expect("the rules of the test"))
    }

    fn manifest(licence: &str, source: &str) -> String {
        format!(
            r#"{{"name": "kiln", "version": "1.0.0", "id": "kiln", "license": "{licence}", "source": "{source}",
                "dependencies": [], "targets": [], "features": {{}}, "manifest_path": "/kiln/Cargo.toml"}}"#
        )
    }

    #[test]
    fn licences_sources_and_bans_are_held() {
        let allows = "licenses.allow = ['MIT']";
        assert_eq!(of(&manifest("MIT OR GPL-3.0-only", REGISTRY), allows), None);
        assert_eq!(of(&manifest("MIT/Apache-2.0", REGISTRY), allows), None);
        let refused = of(&manifest("MIT AND GPL-3.0-only", REGISTRY), allows);
        assert!(refused.is_some_and(|fault| fault.contains("GPL-3.0-only")));
        let excepted = "licenses.exceptions = [{ crate = 'kiln', allow = ['MIT'] }]";
        assert_eq!(of(&manifest("MIT", REGISTRY), excepted), None);
        assert!(of(&manifest("MIT", "git+https://example.org/kiln"), allows).is_some());
        let banned = "licenses.allow = ['MIT']\nbans.deny = [{ crate = 'kiln' }]";
        assert!(
            of(&manifest("MIT", REGISTRY), banned).is_some_and(|fault| fault.contains("banned"))
        );
    }
}

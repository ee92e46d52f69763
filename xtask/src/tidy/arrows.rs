//! The crates that a crate may know: dependencies, including tests', point to a strictly lower
//! level.

use std::collections::BTreeMap;

use cargo_metadata::Metadata;

use super::Fault;

/// A crate of the workspace as its manifest declares it.
pub struct Crate {
    /// Its name.
    pub name: String,
    /// The folder of its manifest, relative to the root.
    pub folder: String,
    /// The packages it depends on directly, of every kind.
    pub dependencies: Vec<String>,
}

impl Crate {
    /// The crates of the workspace, by name.
    pub fn all(metadata: &Metadata) -> Vec<Self> {
        let folder = |manifest: &cargo_metadata::camino::Utf8Path| {
            let folder = manifest.parent().unwrap_or(manifest);
            folder
                .strip_prefix(&metadata.workspace_root)
                .unwrap_or(folder)
                .as_str()
                .replace('\\', "/")
        };
        let mut crates: Vec<Crate> = metadata
            .workspace_packages()
            .into_iter()
            .map(|package| Crate {
                name: package.name.to_string(),
                folder: folder(&package.manifest_path),
                dependencies: package
                    .dependencies
                    .iter()
                    .map(|dependency| dependency.name.clone())
                    .collect(),
            })
            .collect();
        crates.sort_by(|a, b| a.name.cmp(&b.name));
        crates
    }
}

/// The tables that the crates are held against. A name in them that exists nowhere is itself a
/// fault, so that a misspelt one cannot pass for a rule that holds.
pub struct Rules {
    /// Each crate of the workspace and its level.
    pub levels: &'static [(&'static str, u32)],
    /// Packages that only the named crates may use directly. A `*` at the end stands for any
    /// ending.
    pub only_in: &'static [(&'static str, &'static [&'static str])],
    /// Packages that the named crates may not use directly.
    pub never_in: &'static [(&'static str, &'static [&'static str])],
}

/// The layout of `ARCHITECTURE.md`. A new crate gets its row when it is made.
pub static RULES: Rules = Rules {
    levels: &[
        ("xtask", 0),
        ("loci-core", 0),
        ("loci-databases", 0),
        ("loci-json", 0),
        ("loci-keys", 0),
        ("loci-text", 1),
        ("loci-admission", 1),
        ("loci-embed", 1),
        ("loci-http", 1),
        ("loci-mine", 1),
        ("loci-peers", 1),
        ("loci-secrets", 1),
        ("loci-tokens", 1),
        ("loci-vault", 1),
        ("loci-testkit", 1),
        ("loci-hosts", 2),
        ("loci-index", 2),
        ("loci-oidc", 2),
        ("loci-otlp", 2),
        ("loci-engine", 2),
        ("loci-store-postgres", 3),
        ("loci-store-sqlite", 3),
        ("loci-archive", 3),
        ("loci-dialects", 4),
        ("loci-ingest", 5),
        ("loci-hooks", 6),
        ("loci-page", 5),
        ("loci-server", 5),
        ("loci", 7),
        ("loci-fuzz", 7),
        ("loci-bench", 8),
    ],
    only_in: &[
        ("rmcp", &["loci-server"]),
        ("axum", &["loci-page", "loci-server"]),
        (
            "rusqlite",
            &[
                "loci-store-sqlite",
                "loci-databases",
                "loci-mine",
                "loci-peers",
                // Its tests write stores of other systems.
                "loci",
            ],
        ),
        ("refinery", &["loci-store-sqlite"]),
        ("tokio-postgres*", &["loci-store-postgres", "loci-bench"]),
        ("deadpool-postgres", &["loci-store-postgres"]),
        ("rten*", &["loci-embed"]),
        ("ort", &["loci-embed"]),
        ("ureq", &["loci-http"]),
        ("opentelemetry*", &["loci-otlp"]),
        ("tracing-opentelemetry", &["loci-otlp"]),
        ("gix-ignore", &["loci-mine"]),
        ("ring", &["loci-keys", "loci-oidc", "loci"]),
    ],
    never_in: &[("serde*", &["loci-core", "loci-text", "loci-engine"])],
};

/// Holds the crates against the rules.
pub fn check(crates: &[Crate], rules: &Rules) -> Vec<Fault> {
    let levels: BTreeMap<&str, u32> = rules.levels.iter().copied().collect();
    let mut faults = Vec::new();
    for one in crates {
        let manifest = format!("{}/Cargo.toml", one.folder);
        if one.folder.rsplit('/').next() != Some(&one.name) {
            let message = format!(
                "the crate is called {}: give the folder the same name",
                one.name
            );
            faults.push(Fault::new(&manifest, message));
        }
        let Some(level) = levels.get(one.name.as_str()) else {
            let message = format!(
                "{} has no level: add it to RULES in xtask/src/tidy/arrows.rs",
                one.name
            );
            faults.push(Fault::new(manifest, message));
            continue;
        };
        for dependency in &one.dependencies {
            if let Some(below) = levels.get(dependency.as_str())
                && below >= level
            {
                let message = format!(
                    "{} (level {level}) depends on {dependency} (level {below}): arrows point to a lower level, so \
                     move what is shared down",
                    one.name
                );
                faults.push(Fault::new(&manifest, message));
            }
            faults.extend(
                forbidden(&one.name, dependency, rules)
                    .map(|message| Fault::new(&manifest, message)),
            );
        }
    }
    faults.extend(unknown_names(crates, rules));
    faults
}

fn forbidden(name: &str, dependency: &str, rules: &Rules) -> Option<String> {
    let only_in = rules
        .only_in
        .iter()
        .find(|(package, allowed)| matches(package, dependency) && !allowed.contains(&name));
    if let Some((_, allowed)) = only_in {
        return Some(format!(
            "{dependency} may be used in {} alone: remove it here",
            allowed.join(", ")
        ));
    }
    let never_in = rules
        .never_in
        .iter()
        .any(|(package, barred)| matches(package, dependency) && barred.contains(&name));
    never_in.then(|| format!("{name} must not know {dependency}: remove it here"))
}

fn unknown_names(crates: &[Crate], rules: &Rules) -> Vec<Fault> {
    let is_crate = |name: &str| crates.iter().any(|one| one.name == name);
    let is_used = |package: &str| {
        crates
            .iter()
            .flat_map(|one| &one.dependencies)
            .any(|dependency| matches(package, dependency))
    };
    let bans = || rules.only_in.iter().chain(rules.never_in);
    let crate_names = rules
        .levels
        .iter()
        .map(|(name, _)| name)
        .chain(bans().flat_map(|(_, names)| *names));
    let unknown_crates = crate_names
        .filter(|name| !is_crate(name))
        .map(|name| (name, "no crate of the workspace"));
    let unused = bans()
        .map(|(package, _)| package)
        .filter(|package| !is_used(package));
    unknown_crates
        .chain(unused.map(|package| (package, "a dependency of no crate")))
        .map(|(name, why)| {
            Fault::new(
                "xtask/src/tidy/arrows.rs",
                format!("{name} in RULES is {why}: correct or remove it"),
            )
        })
        .collect()
}

fn matches(pattern: &str, name: &str) -> bool {
    pattern
        .strip_suffix('*')
        .map_or(pattern == name, |prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    static SMALL: Rules = Rules {
        levels: &[("core", 0), ("store", 1), ("engine", 1), ("app", 2)],
        only_in: &[("sql*", &["store"])],
        never_in: &[("serde", &["core"])],
    };

    fn crates(extra: &[(&str, &str)]) -> Vec<Crate> {
        let base = [
            ("core", ""),
            ("store", "core"),
            ("store", "sqlite"),
            ("engine", "core"),
            ("app", "engine"),
            ("app", "serde"),
        ];
        ["core", "store", "engine", "app"]
            .map(|name| Crate {
                name: name.to_owned(),
                folder: format!("crates/{name}"),
                dependencies: base
                    .iter()
                    .chain(extra)
                    .filter(|(from, to)| *from == name && !to.is_empty())
                    .map(|(_, to)| (*to).to_owned())
                    .collect(),
            })
            .into()
    }

    fn only_fault(crates: &[Crate], rules: &Rules) -> String {
        let faults = check(crates, rules);
        assert_eq!(faults.len(), 1, "{faults:?}");
        faults[0].to_string()
    }

    #[test]
    fn downward_arrows_pass() {
        assert_eq!(check(&crates(&[]), &SMALL), []);
    }

    #[test]
    fn an_arrow_up_or_sideways_is_a_fault() {
        assert!(
            only_fault(&crates(&[("core", "engine")]), &SMALL)
                .starts_with("crates/core/Cargo.toml: core (level 0)")
        );
        assert!(
            only_fault(&crates(&[("engine", "store")]), &SMALL)
                .contains("depends on store (level 1)")
        );
    }

    #[test]
    fn a_forbidden_package_is_a_fault() {
        assert!(only_fault(&crates(&[("app", "sqlite")]), &SMALL).contains("in store alone"));
        assert!(
            only_fault(&crates(&[("core", "serde")]), &SMALL).contains("core must not know serde")
        );
    }

    #[test]
    fn a_crate_outside_the_table_is_a_fault() {
        let mut crates = crates(&[]);
        crates.push(Crate {
            name: "web".to_owned(),
            folder: "crates/web".to_owned(),
            dependencies: Vec::new(),
        });
        assert!(only_fault(&crates, &SMALL).contains("web has no level"));
    }

    #[test]
    fn a_folder_with_another_name_is_a_fault() {
        let mut crates = crates(&[]);
        crates[0].folder = "crates/kernel".to_owned();
        assert!(only_fault(&crates, &SMALL).contains("called core"));
    }

    #[test]
    fn a_misspelt_name_in_the_tables_is_a_fault() {
        let misspelt_level = Rules {
            levels: &[
                ("core", 0),
                ("store", 1),
                ("engine", 1),
                ("app", 2),
                ("stroe", 1),
            ],
            ..SMALL
        };
        assert!(only_fault(&crates(&[]), &misspelt_level).contains("stroe in RULES is no crate"));
        let misspelt_package = Rules {
            only_in: &[("sql*", &["store"]), ("axmu", &["app"])],
            ..SMALL
        };
        assert!(
            only_fault(&crates(&[]), &misspelt_package)
                .contains("axmu in RULES is a dependency of no crate")
        );
        let misspelt_crate = Rules {
            never_in: &[("serde", &["croe"])],
            ..SMALL
        };
        assert!(only_fault(&crates(&[]), &misspelt_crate).contains("croe in RULES"));
    }
}

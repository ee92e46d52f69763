//! The phases of an agent's work, with the knowledge that each needs.

use std::collections::BTreeMap;

/// A phase of work.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Phase {
    /// The query for memories of the phase.
    pub query: String,
    /// Tags of memories that matter more in it.
    pub tags: Vec<String>,
    /// Kinds of memories that matter in it whatever they say, e.g. `decision`; a memory has the kind
    /// by its [kind](loci_core::Memory::kind) or by the name of its section, in any case, in the
    /// singular or the plural.
    pub kinds: Vec<String>,
}

/// The known phases, by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phases(pub BTreeMap<String, Phase>);

/// A phase that every installation knows.
struct KnownPhase {
    name: &'static str,
    query: &'static str,
    tags: &'static [&'static str],
    kinds: &'static [&'static str],
}

/// The phases that every installation knows.
const KNOWN: [KnownPhase; 7] = [
    KnownPhase {
        name: "setup",
        query: "how to install, configure and start the project: prerequisites, environment, tools, accounts, first steps",
        tags: &[
            "setup",
            "install",
            "environment",
            "configuration",
            "onboarding",
            "tooling",
        ],
        kinds: &[],
    },
    KnownPhase {
        name: "plan",
        query: "goals, requirements and constraints, architecture, design decisions and their reasons, priorities, open questions",
        tags: &[
            "plan",
            "planning",
            "architecture",
            "decision",
            "design",
            "requirement",
            "roadmap",
        ],
        kinds: &["decision", "open-question"],
    },
    KnownPhase {
        name: "work",
        query: "how code is written here: structure, conventions, patterns, interfaces, commands to build and test, pitfalls",
        tags: &[
            "work",
            "convention",
            "pattern",
            "code",
            "style",
            "build",
            "pitfall",
        ],
        kinds: &["decision", "known-issue"],
    },
    KnownPhase {
        name: "review",
        query: "what to check in a review: correctness, tests, security, performance, style rules, mistakes made before",
        tags: &[
            "review",
            "quality",
            "test",
            "testing",
            "security",
            "performance",
            "checklist",
        ],
        kinds: &[],
    },
    KnownPhase {
        name: "release",
        query: "how to release: version numbers, changelog, packaging, deployment, publishing, checks before it, rollback",
        tags: &[
            "release",
            "deploy",
            "deployment",
            "changelog",
            "version",
            "ci",
            "packaging",
        ],
        kinds: &["decision"],
    },
    KnownPhase {
        name: "bugfix",
        query: "known bugs, errors and their causes, how to reproduce and debug them, workarounds, fixes, regressions",
        tags: &[
            "bugfix",
            "bug",
            "debugging",
            "error",
            "incident",
            "regression",
            "workaround",
        ],
        kinds: &["known-issue"],
    },
    KnownPhase {
        name: "documenter",
        query: "how documentation is written here: readers, structure, terms, style, examples, where each document is",
        tags: &[
            "documenter",
            "documentation",
            "docs",
            "readme",
            "glossary",
            "guide",
            "writing",
        ],
        kinds: &["decision", "wiki-style"],
    },
];

impl Default for Phases {
    /// Returns `setup`, `plan`, `work`, `review`, `release`, `bugfix` and `documenter`.
    fn default() -> Self {
        let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
        let phase = |known: KnownPhase| {
            let phase = Phase {
                query: known.query.to_owned(),
                tags: owned(known.tags),
                kinds: owned(known.kinds),
            };
            (known.name.to_owned(), phase)
        };
        Phases(KNOWN.into_iter().map(phase).collect())
    }
}

impl Phases {
    /// Returns the phase of this name, to change it; an unknown one is added, and its query is the
    /// name.
    pub fn phase_mut(&mut self, name: String) -> &mut Phase {
        self.0.entry(name).or_insert_with_key(|name| Phase {
            query: name.clone(),
            ..Phase::default()
        })
    }

    /// Returns the phase of this name; for an unknown one, a phase whose query is the name.
    pub(crate) fn named(&self, name: &str) -> Phase {
        self.0.get(name).cloned().unwrap_or_else(|| Phase {
            query: name.to_owned(),
            ..Phase::default()
        })
    }
}

impl Phase {
    /// Reports whether a name is one of its kinds, in any case, in the singular or the plural, with
    /// hyphens, underscores or spaces.
    pub(crate) fn has_kind(&self, name: &str) -> bool {
        let name = kind_key(name);
        self.kinds.iter().any(|kind| kind_key(kind) == name)
    }
}

/// Returns the form of the name of a kind in which two spellings are equal.
fn kind_key(name: &str) -> String {
    let key = name.trim().to_lowercase().replace(['_', ' '], "-");
    key.strip_suffix('s').map_or(key.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_a_kind() {
        let phase = Phase {
            kinds: vec!["known-issue".to_owned()],
            ..Phase::default()
        };
        let rows = [
            ("known-issue", true),
            ("Known Issues", true),
            ("known_issues", true),
            ("issue", false),
            ("known-issue-2", false),
            ("", false),
        ];
        for (name, expected) in rows {
            assert_eq!(phase.has_kind(name), expected, "{name}");
        }
    }
}

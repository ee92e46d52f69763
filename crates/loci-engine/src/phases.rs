//! The phases of an agent's work, with the knowledge that each needs.

use std::collections::BTreeMap;

/// A phase of work.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Phase {
    /// The query for memories of the phase.
    pub query: String,
    /// Tags of memories that matter more in it.
    pub tags: Vec<String>,
}

/// The known phases, by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phases(pub BTreeMap<String, Phase>);

/// The name, query and tags of each phase that every installation knows.
const KNOWN: [(&str, &str, &[&str]); 7] = [
    (
        "setup",
        "how to install, configure and start the project: prerequisites, environment, tools, accounts, first steps",
        &[
            "setup",
            "install",
            "environment",
            "configuration",
            "onboarding",
            "tooling",
        ],
    ),
    (
        "plan",
        "goals, requirements and constraints, architecture, design decisions and their reasons, priorities, open questions",
        &[
            "plan",
            "planning",
            "architecture",
            "decision",
            "design",
            "requirement",
            "roadmap",
        ],
    ),
    (
        "work",
        "how code is written here: structure, conventions, patterns, interfaces, commands to build and test, pitfalls",
        &[
            "work",
            "convention",
            "pattern",
            "code",
            "style",
            "build",
            "pitfall",
        ],
    ),
    (
        "review",
        "what to check in a review: correctness, tests, security, performance, style rules, mistakes made before",
        &[
            "review",
            "quality",
            "test",
            "testing",
            "security",
            "performance",
            "checklist",
        ],
    ),
    (
        "release",
        "how to release: version numbers, changelog, packaging, deployment, publishing, checks before it, rollback",
        &[
            "release",
            "deploy",
            "deployment",
            "changelog",
            "version",
            "ci",
            "packaging",
        ],
    ),
    (
        "bugfix",
        "known bugs, errors and their causes, how to reproduce and debug them, workarounds, fixes, regressions",
        &[
            "bugfix",
            "bug",
            "debugging",
            "error",
            "incident",
            "regression",
            "workaround",
        ],
    ),
    (
        "documenter",
        "how documentation is written here: readers, structure, terms, style, examples, where each document is",
        &[
            "documenter",
            "documentation",
            "docs",
            "readme",
            "glossary",
            "guide",
            "writing",
        ],
    ),
];

impl Default for Phases {
    /// Returns `setup`, `plan`, `work`, `review`, `release`, `bugfix` and `documenter`.
    fn default() -> Self {
        let phase = |(name, query, tags): (&str, &str, &[&str])| {
            let tags = tags.iter().map(|&tag| tag.to_owned()).collect();
            (
                name.to_owned(),
                Phase {
                    query: query.to_owned(),
                    tags,
                },
            )
        };
        Phases(KNOWN.into_iter().map(phase).collect())
    }
}

impl Phases {
    /// Returns the phase of this name; for an unknown one, a phase whose query is the name.
    pub(crate) fn named(&self, name: &str) -> Phase {
        self.0.get(name).cloned().unwrap_or_else(|| Phase {
            query: name.to_owned(),
            tags: Vec::new(),
        })
    }
}

//! Arguments that several tools share.

use loci_core::{CollectionFilter, Delivery, Error, Result};
use loci_engine::{LocationNouns, check};
use schemars::JsonSchema;
use serde::Deserialize;

/// The project name that stands for no project.
const GLOBAL: &str = "global";

/// The parts of a place, as messages name them.
pub const NOUNS: LocationNouns = LocationNouns {
    collection: "project",
    section: "type",
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    Global,
    Project,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MemoryType {
    Fact,
    Rule,
    Decision,
    Feedback,
    Context,
    Bootstrap,
}

impl MemoryType {
    pub fn name(self) -> &'static str {
        match self {
            MemoryType::Fact => "fact",
            MemoryType::Rule => "rule",
            MemoryType::Decision => "decision",
            MemoryType::Feedback => "feedback",
            MemoryType::Context => "context",
            MemoryType::Bootstrap => "bootstrap",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryArgument {
    Bootstrap,
    OnDemand,
    Pinned,
}

impl From<DeliveryArgument> for Delivery {
    fn from(delivery: DeliveryArgument) -> Self {
        match delivery {
            DeliveryArgument::Bootstrap | DeliveryArgument::Pinned => Delivery::Bootstrap,
            DeliveryArgument::OnDemand => Delivery::OnDemand,
        }
    }
}

/// Returns the sections for a `type` argument; all sections if it is absent.
pub fn sections(kind: Option<MemoryType>) -> Vec<String> {
    kind.map(|kind| kind.name().to_owned())
        .into_iter()
        .collect()
}

/// Returns the collection in which `remember` files a memory: a project, or `None` for a global
/// memory.
pub fn collection_to_write(
    scope: Option<Scope>,
    project: Option<String>,
) -> Result<Option<String>> {
    match (scope, project) {
        (Some(Scope::Project), None) => Err(Error::invalid(
            "project",
            "is missing; scope=project needs the name of the project",
        )),
        (Some(Scope::Global), Some(_)) => Err(Error::invalid(
            "project",
            "does not go with scope=global; leave out one of the two",
        )),
        (_, Some(project)) => {
            check::name("project", &project)?;
            if project == GLOBAL {
                let problem =
                    "cannot be `global`, which means no project; leave it out for a global memory";
                return Err(Error::invalid("project", problem));
            }
            Ok(Some(project))
        }
        (_, None) => Ok(None),
    }
}

/// Returns the collections that `recall` searches: a project together with the global memories.
pub fn collections_to_search(
    scope: Option<Scope>,
    project: Option<String>,
) -> Result<CollectionFilter> {
    Ok(match scope_to_read(scope, project)? {
        (None, None) | (Some(Scope::Global), _) => CollectionFilter::Global,
        (None, Some(project)) => CollectionFilter::GlobalAnd(project),
        (Some(Scope::Project), None) => CollectionFilter::AnyNamed,
        (Some(Scope::Project), Some(project)) => CollectionFilter::Only(project),
    })
}

/// Returns the collections that `list` shows: exactly the ones that the arguments name.
pub fn collections_to_list(
    scope: Option<Scope>,
    project: Option<String>,
) -> Result<CollectionFilter> {
    Ok(match scope_to_read(scope, project)? {
        (None, None) => CollectionFilter::Any,
        (Some(Scope::Global), _) => CollectionFilter::Global,
        (Some(Scope::Project), None) => CollectionFilter::AnyNamed,
        (_, Some(project)) => CollectionFilter::Only(project),
    })
}

/// Checks the project. Without a scope, the name `global` means the global scope, since no project
/// may have it.
fn scope_to_read(
    scope: Option<Scope>,
    project: Option<String>,
) -> Result<(Option<Scope>, Option<String>)> {
    if let Some(project) = &project {
        check::name("project", project)?;
    }
    let is_global = project.as_deref() == Some(GLOBAL) && scope != Some(Scope::Project);
    Ok(if is_global {
        (Some(Scope::Global), None)
    } else {
        (scope, project)
    })
}

/// Returns the project for a name; `None` for `global`.
pub fn project_of_name(name: &str) -> Option<&str> {
    (name != GLOBAL).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_of_recall_and_list() {
        let project = || Some("x".to_owned());
        let only = CollectionFilter::Only("x".into());
        let rows = [
            (None, None, CollectionFilter::Global, CollectionFilter::Any),
            (
                Some(Scope::Global),
                None,
                CollectionFilter::Global,
                CollectionFilter::Global,
            ),
            (
                Some(Scope::Global),
                project(),
                CollectionFilter::Global,
                CollectionFilter::Global,
            ),
            (
                None,
                project(),
                CollectionFilter::GlobalAnd("x".into()),
                only.clone(),
            ),
            (
                Some(Scope::Project),
                None,
                CollectionFilter::AnyNamed,
                CollectionFilter::AnyNamed,
            ),
            (Some(Scope::Project), project(), only.clone(), only),
        ];
        for (scope, project, search, list) in rows {
            assert_eq!(
                collections_to_search(scope, project.clone()).unwrap(),
                search,
                "{scope:?} {project:?}"
            );
            assert_eq!(
                collections_to_list(scope, project.clone()).unwrap(),
                list,
                "{scope:?} {project:?}"
            );
        }
    }
}

//! Projects: the places of memories as people know them.
//!
//! The tool set engram files what belongs to a repository under `repo:shop`, the others under `shop`.
//! For a person that is one place, so views show and count both together, and a filter by one of the
//! names takes both. What agents get is shown as their tool set has it.

use loci_core::CollectionFilter;

/// The start of the name that engram gives to the place of a repository.
const REPOSITORY: &str = "repo:";

/// Returns the project that a collection belongs to.
pub(crate) fn project_of(collection: &str) -> &str {
    match collection.strip_prefix(REPOSITORY) {
        None | Some("") => collection,
        Some(project) => project,
    }
}

/// Returns the collections of a project.
pub(crate) fn collections_in(project: &str) -> [String; 2] {
    let project = project_of(project);
    [project.to_owned(), format!("{REPOSITORY}{project}")]
}

/// Returns the projects of these collections, each once, in order.
pub(crate) fn projects_of(collections: Vec<String>) -> Vec<String> {
    let mut projects: Vec<String> = collections
        .iter()
        .map(|collection| project_of(collection).to_owned())
        .collect();
    projects.sort();
    projects.dedup();
    projects
}

/// Returns the collections that a parameter `wing` names: all without it, those without a name if
/// it is empty.
pub(crate) fn collections_of(wing: Option<&str>) -> CollectionFilter {
    match wing {
        None => CollectionFilter::Any,
        Some("") => CollectionFilter::Global,
        Some(name) => CollectionFilter::AnyOf(collections_in(name).map(Some).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_names_of_a_repository_are_one_project() {
        let rows = [
            ("shop", "shop"),
            ("repo:shop", "shop"),
            ("repo:", "repo:"),
            ("discovery:repo:shop", "discovery:repo:shop"),
        ];
        for (collection, project) in rows {
            assert_eq!(project_of(collection), project);
            assert!(collections_of(Some(collection)).admits(Some(collection)));
            assert!(collections_of(Some(project)).admits(Some(collection)));
        }
        let named = ["repo:shop", "bakery", "shop"].map(str::to_owned);
        assert_eq!(projects_of(named.into()), ["bakery", "shop"]);
    }
}

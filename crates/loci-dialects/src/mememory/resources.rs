//! The resources for the bootstrap of a session.

use loci_core::Result;
use percent_encoding::percent_decode_str;

use super::arguments::project_of_name;
use crate::{Resource, Resources};
use loci_engine::Call;

const BOOTSTRAP: &str = "mememory://bootstrap";
const EMPTY: &str = "No memory is read at the start of each session yet; `remember` with type `bootstrap` stores one.\n";
const PROJECT_TEMPLATE: &str = "mememory://bootstrap/{project}";

pub const RESOURCES: Resources = Resources {
    fixed: &[Resource {
        uri: BOOTSTRAP,
        name: "bootstrap",
        title: "Session start",
        description: "The global memories that every session should start with, as Markdown.",
        mime_type: "text/markdown",
    }],
    templates: &[Resource {
        uri: PROJECT_TEMPLATE,
        name: "project-bootstrap",
        title: "Session start for a project",
        description: "The global and the project's memories that a session should start with, as Markdown.",
        mime_type: "text/markdown",
    }],
    read,
    complete,
};

fn read(call: &Call<'_>, uri: &str) -> Result<Option<String>> {
    let Some(rest) = uri.strip_prefix(BOOTSTRAP) else {
        return Ok(None);
    };
    if rest.is_empty() {
        return markdown(call, None).map(Some);
    }
    let project = rest.strip_prefix('/').filter(|project| !project.is_empty());
    let Some(project) = project.and_then(|project| percent_decode_str(project).decode_utf8().ok())
    else {
        return Ok(None);
    };
    markdown(call, project_of_name(&project)).map(Some)
}

/// Returns the bootstrap of a session. An empty one says so, since a host or its user would take an
/// empty text for an error.
fn markdown(call: &Call<'_>, project: Option<&str>) -> Result<String> {
    let bootstrap = call.context().bootstrap(project)?;
    Ok(if bootstrap.memories + bootstrap.held_back == 0 {
        EMPTY.to_owned()
    } else {
        bootstrap.markdown
    })
}

fn complete(
    call: &Call<'_>,
    uri: &str,
    argument: &str,
    prefix: &str,
) -> Result<Option<Vec<String>>> {
    if uri != PROJECT_TEMPLATE || argument != "project" {
        return Ok(None);
    }
    let mut projects = call.listings().collections()?;
    projects.retain(|project| project.starts_with(prefix));
    Ok(Some(projects))
}

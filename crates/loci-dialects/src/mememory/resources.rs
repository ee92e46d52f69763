//! The bootstrap of a session as resources.

use loci_core::Result;
use percent_encoding::percent_decode_str;

use super::arguments::project_of_name;
use crate::{Context, Resource, Resources};

const BOOTSTRAP: &str = "mememory://bootstrap";
const PROJECT_TEMPLATE: &str = "mememory://bootstrap/{project}";

pub const RESOURCES: Resources = Resources {
    fixed: &[Resource {
        uri: BOOTSTRAP,
        name: "bootstrap",
        title: "Session start",
        description: "The global memories that every session should begin with, as Markdown.",
        mime_type: "text/markdown",
    }],
    templates: &[Resource {
        uri: PROJECT_TEMPLATE,
        name: "project-bootstrap",
        title: "Session start for a project",
        description: "The global and the project's memories that a session should begin with, as Markdown.",
        mime_type: "text/markdown",
    }],
    read,
    complete,
};

fn read(context: Context<'_>, uri: &str) -> Result<Option<String>> {
    let Some(rest) = uri.strip_prefix(BOOTSTRAP) else { return Ok(None) };
    if rest.is_empty() {
        return Ok(Some(context.engine.bootstrap(context.caller, None)?.markdown));
    }
    let project = rest.strip_prefix('/').filter(|project| !project.is_empty());
    let Some(project) = project.and_then(|project| percent_decode_str(project).decode_utf8().ok()) else {
        return Ok(None);
    };
    Ok(Some(context.engine.bootstrap(context.caller, project_of_name(&project))?.markdown))
}

fn complete(context: Context<'_>, uri: &str, argument: &str, prefix: &str) -> Result<Option<Vec<String>>> {
    if uri != PROJECT_TEMPLATE || argument != "project" {
        return Ok(None);
    }
    let mut projects = context.engine.collections(context.caller)?;
    projects.retain(|project| project.starts_with(prefix));
    Ok(Some(projects))
}

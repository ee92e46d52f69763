//! MCP Apps: whether a client shows views of the conversation, and what it gets then.
//!
//! A client that does not declare the extension gets nothing of this, not even the tools of views, so
//! that its model pays for nothing.

use loci_dialects::apps::{self, AppView};
use rmcp::model::{
    ClientCapabilities, MetaObject, Resource, ResourceContents, Tool as ProtocolTool,
};
use serde_json::{Value, json};

use crate::catalog;
use crate::tool_form::ServedDialect;

/// The page of a view, whose scripts call the tools of views with this text before their names.
pub type AppPages = fn(view: &AppView, tool_prefix: &str) -> String;

/// The extension that a client declares.
const EXTENSION: &str = "io.modelcontextprotocol/ui";
/// The media type of pages, which the client has to name.
const MEDIA_TYPE: &str = "text/html;profile=mcp-app";
/// The key of the metadata for hosts.
const UI: &str = "ui";
/// The key by which the first hosts found the page of a tool; they still read it.
const UI_RESOURCE: &str = "ui/resourceUri";

/// Returns true if a client with these capabilities shows views.
pub(crate) fn are_shown_by(capabilities: &ClientCapabilities) -> bool {
    let extensions = capabilities.extensions.as_ref();
    let declared = extensions.and_then(|extensions| extensions.get(EXTENSION));
    let types = declared.and_then(|declared| declared.get("mimeTypes")?.as_array());
    types.is_some_and(|types| types.iter().any(|one| one == MEDIA_TYPE))
}

/// Adds the views of the tools to their list, in the dialect's order, and the tools of views.
pub(crate) fn add_to_list(served: &ServedDialect, listed: &mut Vec<ProtocolTool>) {
    for (tool, listed) in served.dialect.tools.iter().zip(&mut *listed) {
        let Some(view) = apps::view_of(tool) else {
            continue;
        };
        let meta = listed.meta.get_or_insert_default();
        meta.insert(UI.to_owned(), json!({"resourceUri": view.uri}));
        meta.insert(UI_RESOURCE.to_owned(), view.uri.into());
    }
    listed.extend(apps::TOOLS.iter().map(|tool| {
        let mut listed = catalog::tool_of_views(served, tool);
        let meta = listed.meta.get_or_insert_default();
        meta.insert(UI.to_owned(), json!({"visibility": ["app"]}));
        listed
    }));
}

/// Returns the pages as resources.
pub(crate) fn resources() -> impl Iterator<Item = Resource> {
    apps::VIEWS.iter().map(|view| {
        Resource::new(view.uri, view.name)
            .with_title(view.title)
            .with_description(view.description)
            .with_mime_type(MEDIA_TYPE)
            .with_meta(page_meta())
    })
}

/// Returns a page as the content of its resource.
pub(crate) fn contents(
    view: &AppView,
    pages: AppPages,
    served: &ServedDialect,
) -> ResourceContents {
    let page = pages(view, &served.name_prefix());
    ResourceContents::text(page, view.uri)
        .with_mime_type(MEDIA_TYPE)
        .with_meta(page_meta())
}

/// Returns the metadata of a page: it loads nothing, so it needs no origin, and wants a border.
fn page_meta() -> MetaObject {
    let mut meta = MetaObject::new();
    let ui: Value = json!({"prefersBorder": true});
    meta.insert(UI.to_owned(), ui);
    meta
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_shows_views_if_it_names_their_media_type() {
        let rows = [
            (json!({EXTENSION: {"mimeTypes": [MEDIA_TYPE]}}), true),
            (
                json!({EXTENSION: {"mimeTypes": ["text/html", MEDIA_TYPE]}}),
                true,
            ),
            (json!({EXTENSION: {"mimeTypes": ["text/html"]}}), false),
            (json!({EXTENSION: {"mimeTypes": MEDIA_TYPE}}), false),
            (json!({EXTENSION: {}}), false),
            (json!({"io.example/ui": {"mimeTypes": [MEDIA_TYPE]}}), false),
            (json!({}), false),
        ];
        for (extensions, expected) in rows {
            let capabilities =
                serde_json::from_value(json!({"extensions": extensions.clone()})).unwrap();
            assert_eq!(are_shown_by(&capabilities), expected, "{extensions}");
        }
        assert!(!are_shown_by(&ClientCapabilities::default()));
    }
}

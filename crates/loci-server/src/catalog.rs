//! The lists of a dialect in the protocol's types, built once.

use std::collections::HashSet;
use std::sync::Arc;

use loci_dialects::{Dialect, Reply, Tool};
use rmcp::model::{
    CallToolResult, ContentBlock, MetaObject, ProtocolVersion, Resource, ResourceTemplate,
    Tool as ProtocolTool, ToolAnnotations,
};
use serde_json::{Map, Value, json};

use crate::tool_form::ServedDialect;

/// Key in the `_meta` of a tool: the host shows the tool to its model from the start. Claude Code
/// hides other tools behind a search.
const ALWAYS_LOAD: &str = "anthropic/alwaysLoad";

/// True if the revision allows any type for `structuredContent` and its schema.
pub(crate) fn is_modern(version: Option<&ProtocolVersion>) -> bool {
    version.is_some_and(|version| !version.has_initialize())
}

/// The tools of a dialect, for modern and for legacy revisions.
pub(crate) struct Catalog {
    modern: Vec<ProtocolTool>,
    legacy: Vec<ProtocolTool>,
    wrapped: HashSet<&'static str>,
}

impl Catalog {
    pub(crate) fn of(served: &ServedDialect) -> Self {
        let mut catalog = Catalog {
            modern: Vec::new(),
            legacy: Vec::new(),
            wrapped: HashSet::new(),
        };
        for tool in served.dialect.tools {
            let modern = tool.published_output_schema();
            let legacy = if modern.get("type").is_some_and(|name| name == "object") {
                modern.clone()
            } else {
                catalog.wrapped.insert(tool.name);
                wrapped_schema(&modern)
            };
            let input = Arc::new(tool.input_schema());
            catalog
                .modern
                .push(protocol_tool(served, tool, Arc::clone(&input), modern));
            catalog
                .legacy
                .push(protocol_tool(served, tool, input, legacy));
        }
        catalog
    }

    /// Returns the tools in the dialect's order; in the compact form, without the schemas of their
    /// replies.
    pub(crate) fn tools(&self, modern: bool, is_compact: bool) -> Vec<ProtocolTool> {
        let mut tools = if modern {
            self.modern.clone()
        } else {
            self.legacy.clone()
        };
        if is_compact {
            for tool in &mut tools {
                tool.output_schema = None;
            }
        }
        tools
    }

    /// Returns the tool of this name.
    pub(crate) fn tool(&self, name: &str) -> Option<ProtocolTool> {
        self.modern.iter().find(|tool| tool.name == name).cloned()
    }

    /// Converts a reply of the tool `name` into a result of the protocol. The compact form is only
    /// the texts.
    pub(crate) fn result(
        &self,
        name: &str,
        reply: Reply,
        modern: bool,
        is_compact: bool,
    ) -> CallToolResult {
        let texts = reply.texts().map(ContentBlock::text).collect();
        let mut result = CallToolResult::success(texts);
        if is_compact {
            return result;
        }
        let structured = reply.structured;
        let wrap = !modern && (self.wrapped.contains(name) || !structured.is_object());
        result.structured_content = Some(if wrap {
            json!({"result": structured})
        } else {
            structured
        });
        result
    }
}

/// Returns the tools of a dialect in JSON as `tools/list` lists them for clients of revision
/// 2026-07-28.
pub fn listed_tools(dialect: &'static Dialect) -> Vec<Value> {
    Catalog::of(&dialect.into())
        .modern
        .iter()
        .map(|tool| json!(tool))
        .collect()
}

fn protocol_tool(
    served: &ServedDialect,
    tool: &Tool,
    input: Arc<Map<String, Value>>,
    output: Map<String, Value>,
) -> ProtocolTool {
    let annotations = ToolAnnotations::new()
        .read_only(tool.hints.read_only)
        .destructive(tool.hints.destructive)
        .idempotent(tool.hints.idempotent)
        .open_world(tool.hints.open_world);
    let description = served.text_about_tools(&tool.description());
    let listed = ProtocolTool::new(served.name_of(tool), description, input)
        .with_title(tool.title)
        .with_raw_output_schema(Arc::new(output))
        .with_annotations(annotations);
    if served.dialect.usual_tools.include(tool.name) {
        listed.with_meta(MetaObject(object(json!({ALWAYS_LOAD: true}))))
    } else {
        listed
    }
}

/// Returns a tool of views in the protocol's type.
pub(crate) fn tool_of_views(served: &ServedDialect, tool: &Tool) -> ProtocolTool {
    let (input, output) = (tool.input_schema(), tool.published_output_schema());
    protocol_tool(served, tool, Arc::new(input), output)
}

fn object(schema: Value) -> Map<String, Value> {
    match schema {
        Value::Object(schema) => schema,
        // `true` and `false` are schemas too, but contain nothing that a client could use.
        _ => Map::new(),
    }
}

fn wrapped_schema(schema: &Map<String, Value>) -> Map<String, Value> {
    object(json!({"type": "object", "properties": {"result": schema}, "required": ["result"]}))
}

/// Returns the resources with a fixed URI.
pub(crate) fn fixed_resources(resources: &loci_dialects::Resources) -> Vec<Resource> {
    let fixed = resources.fixed.iter().map(|resource| {
        Resource::new(resource.uri, resource.name)
            .with_title(resource.title)
            .with_description(resource.description)
            .with_mime_type(resource.mime_type)
    });
    fixed.collect()
}

/// Returns the resources with a variable in the URI.
pub(crate) fn resource_templates(resources: &loci_dialects::Resources) -> Vec<ResourceTemplate> {
    let templates = resources.templates.iter().map(|template| {
        ResourceTemplate::new(template.uri, template.name)
            .with_title(template.title)
            .with_description(template.description)
            .with_mime_type(template.mime_type)
    });
    templates.collect()
}

/// Returns the resource or template that the form of a URI matches.
pub(crate) fn resource_at<'a>(
    resources: &'a loci_dialects::Resources,
    uri: &str,
) -> Option<&'a loci_dialects::Resource> {
    let fixed = resources.fixed.iter().find(|resource| resource.uri == uri);
    fixed.or_else(|| {
        resources
            .templates
            .iter()
            .find(|template| matches_template(template.uri, uri))
    })
}

/// True if the URI has the template's text before and after its one variable, and a value for it.
fn matches_template(template: &str, uri: &str) -> bool {
    let Some((before, rest)) = template.split_once('{') else {
        return template == uri;
    };
    let Some((_variable, after)) = rest.split_once('}') else {
        return false;
    };
    uri.strip_prefix(before)
        .and_then(|rest| rest.strip_suffix(after))
        .is_some_and(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_matches_its_template() {
        let rows = [
            ("memory://project/{project}", "memory://project/loci", true),
            ("memory://project/{project}", "memory://project/", false),
            ("memory://{name}/rules", "memory://loci/rules", true),
            ("memory://{name}/rules", "memory://rules", false),
        ];
        for (template, uri, expected) in rows {
            assert_eq!(
                matches_template(template, uri),
                expected,
                "{template} {uri}"
            );
        }
    }
}

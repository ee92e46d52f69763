//! The tool `help`: explains how to use the memory.

use loci_core::Result;
use loci_engine::Call;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Hints, Reply, TypedTool};

pub struct Help;

/// Explain how to use this memory: everything, or one topic.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The subject to explain; everything, if left out.
    topic: Option<Topic>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Topic {
    Overview,
    Tools,
    Scopes,
    Types,
    Examples,
    BestPractices,
}

impl Topic {
    const ALL: [Topic; 6] = [
        Topic::Overview,
        Topic::Tools,
        Topic::Scopes,
        Topic::Types,
        Topic::Examples,
        Topic::BestPractices,
    ];

    fn markdown(self) -> String {
        match self {
            Topic::Overview => include_str!("help/overview.md").to_owned(),
            Topic::Tools => tools_reference(),
            Topic::Scopes => include_str!("help/scopes.md").to_owned(),
            Topic::Types => include_str!("help/types.md").to_owned(),
            Topic::Examples => include_str!("help/examples.md").to_owned(),
            Topic::BestPractices => include_str!("help/best-practices.md").to_owned(),
        }
    }
}

/// The explanation.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// Markdown.
    markdown: String,
}

impl TypedTool for Help {
    const NAME: &'static str = "help";
    const TITLE: &'static str = "Help";
    const SCOPE: loci_core::Scope = loci_core::Scope::Read;
    const HINTS: Hints = Hints::READS;
    const OPERATION: &'static str = "help";
    type Arguments = Arguments;
    type Output = Output;

    fn run(_: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let markdown = match arguments.topic {
            Some(topic) => topic.markdown(),
            None => Topic::ALL.map(Topic::markdown).join("\n"),
        };
        let structured = crate::tool::to_value(&Output {
            markdown: markdown.clone(),
        })?;
        Ok(Reply::new(markdown, structured, None))
    }
}

/// Returns the reference of the tools, from the descriptions that hosts show to models.
fn tools_reference() -> String {
    let mut markdown = "# Tools\n".to_owned();
    for tool in super::DIALECT.tools {
        markdown.push_str(&format!("\n## {}\n\n{}\n", tool.name, tool.description()));
        let schema = tool.input_schema();
        let required: Vec<&str> = schema
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let properties = schema.get("properties").and_then(Value::as_object);
        for (index, (name, property)) in properties.into_iter().flatten().enumerate() {
            let text = property
                .get("description")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let presence = if required.contains(&name.as_str()) {
                "required"
            } else {
                "optional"
            };
            let border = if index == 0 { "\n" } else { "" };
            markdown.push_str(&format!("{border}- `{name}` ({presence}): {text}\n"));
        }
    }
    markdown
}

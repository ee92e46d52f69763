//! `loci reference`: prints the reference page, generated from the definitions that the program
//! uses.

use std::fmt::Write;

use clap::{Arg, Command, CommandFactory};
use loci_core::{ErrorCode, TokenCounter};
use loci_dialects::DIALECTS;
use loci_tokens::BpeTokens;
use serde_json::{Map, Value, json};

use crate::cli::{Cli, examples};
use crate::exit::{Exit, Failure};
use crate::output::print;
use crate::settings::{CONFIG_FLAG, CONFIG_VARIABLE, DefaultValue, Setting, ValueType, settings};

pub fn run() -> Result<(), Failure> {
    Ok(print(page())?)
}

fn page() -> String {
    let mut page = "# Reference\n\nMade by `loci reference`; do not edit.\n".to_owned();
    commands(&mut page);
    settings_tables(&mut page);
    codes(&mut page);
    costs(&mut page);
    for dialect in DIALECTS {
        tools(&mut page, dialect);
    }
    page
}

fn commands(page: &mut String) {
    let mut program = Cli::command();
    program.build();
    page.push_str("\n## Commands\n");
    page.push_str("\nEvery command takes these options:\n\n");
    for argument in program
        .get_arguments()
        .filter(|argument| argument.is_global_set())
    {
        argument_line(page, argument);
    }
    for command in program.get_subcommands() {
        command_part(page, command);
    }
}

fn command_part(page: &mut String, command: &Command) {
    if command.is_hide_set() {
        return;
    }
    let subcommands: Vec<_> = command
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .collect();
    if !subcommands.is_empty() {
        for command in subcommands {
            command_part(page, command);
        }
        return;
    }
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    let about = command
        .get_long_about()
        .or_else(|| command.get_about())
        .map(ToString::to_string)
        .unwrap_or_default();
    let _ = write!(page, "\n### {name}\n\n{}\n", about.trim());
    let own = |argument: &&Arg| {
        !argument.is_global_set() && !["help", "version"].contains(&argument.get_id().as_str())
    };
    let mut arguments = command.get_arguments().filter(own).peekable();
    if arguments.peek().is_some() {
        page.push('\n');
    }
    arguments.for_each(|argument| argument_line(page, argument));
    let words = name.strip_prefix("loci ").unwrap_or(name);
    if let Some(examples) = examples(words) {
        let _ = write!(page, "\n```sh\n{}\n```\n", examples.join("\n"));
    }
}

fn argument_line(page: &mut String, argument: &Arg) {
    let names = argument.get_value_names().unwrap_or_default();
    let value = names
        .first()
        .filter(|_| argument.get_action().takes_values());
    let shown = match (argument.get_long(), value) {
        (Some(flag), Some(value)) => format!("--{flag} {value}"),
        (Some(flag), None) => format!("--{flag}"),
        (None, value) => value.map_or_else(|| argument.get_id().to_string(), ToString::to_string),
    };
    let required = if argument.is_required_set() && argument.get_long().is_some() {
        " (required)"
    } else {
        ""
    };
    let help = argument
        .get_help()
        .map(ToString::to_string)
        .unwrap_or_default();
    let default: Vec<_> = argument
        .get_default_values()
        .iter()
        .map(|value| value.to_string_lossy())
        .collect();
    let default = if default.is_empty() || !argument.get_action().takes_values() {
        String::new()
    } else {
        format!(" [default: {}]", default.join(","))
    };
    let _ = writeln!(page, "- `{shown}`{required}: {help}{default}");
}

fn settings_tables(page: &mut String) {
    page.push_str(
        "\n## Settings\n\nA value comes from the flag, else the environment, else the configuration file, else the \
         default; `loci config` prints each with its origin. The file is TOML; a dot in a name stands for a table. In \
         the environment, an empty value counts as none, and items of a list are separated by commas.\n\n",
    );
    let _ = writeln!(
        page,
        "| setting | flag | environment | default | meaning |\n|---|---|---|---|---|"
    );
    let file = "the configuration file; one that is named must be there";
    let default = "`loci/config.toml` in the platform's configuration folder";
    let _ = writeln!(
        page,
        "| | `--{CONFIG_FLAG}` | `{CONFIG_VARIABLE}` | {default} | {file} |"
    );
    for setting in settings() {
        let Setting { key, meaning, .. } = setting;
        let variables = setting
            .variables()
            .map(|variable| format!("`{variable}`"))
            .collect::<Vec<_>>()
            .join(", ");
        let flag = setting
            .flag
            .map_or_else(String::new, |flag| format!("`--{flag}`"));
        let default = match setting.default {
            DefaultValue::Words(words) => words.to_owned(),
            _ => match setting.default.text() {
                Some(text) if !text.is_empty() => format!("`{text}`"),
                _ => String::new(),
            },
        };
        let form = match setting.form {
            ValueType::List => " (a list)",
            ValueType::Secret => " (a secret)",
            ValueType::Text
            | ValueType::Seconds
            | ValueType::Boolean
            | ValueType::Whole { .. }
            | ValueType::Number { .. }
            | ValueType::Choice(_) => "",
        };
        let _ = writeln!(
            page,
            "| `{key}` | {flag} | {variables} | {default} | {meaning}{form} |"
        );
    }
}

fn codes(page: &mut String) {
    page.push_str("\n## Exit codes\n\n| code | meaning |\n|---|---|\n| 0 | success |\n");
    for (exit, meaning) in Exit::ALL {
        let _ = writeln!(page, "| {} | {meaning} |", exit as u8);
    }
    page.push_str(
        "\n## Error codes\n\nA tool that fails says so in its result (`isError`), with a sentence as text. It has no \
         structured content; for programs, `_meta[\"loci/error\"]` is `{\"code\": …, \"status\": …, \"argument\": …}`, the \
         last where one argument is at fault.\n\n| code | HTTP status |\n|---|---|\n",
    );
    for code in ErrorCode::ALL {
        let _ = writeln!(page, "| `{code}` | {} |", code.http_status());
    }
}

fn costs(page: &mut String) {
    page.push_str(
        "\n## Tokens of the tools\n\nA host gives its model the names, descriptions and parameters of the tools; titles, \
         hints and the types of replies are for programs. Counted with the vocabulary `o200k_base`.\n\n\
         | dialect | tools | tokens that a model reads | tokens of `tools/list` | ratio |\n|---|---|---|---|---|\n",
    );
    for dialect in DIALECTS {
        let ToolTokens { read, listed } = ToolTokens::of(dialect);
        let (name, tools, ratio) = (
            dialect.name,
            dialect.tools.len(),
            listed as f64 / read as f64,
        );
        let _ = writeln!(
            page,
            "| {name} | {tools} | {read} | {listed} | {ratio:.2} |"
        );
    }
}

/// The numbers of tokens of the list of a dialect's tools.
struct ToolTokens {
    /// The tokens that a model reads.
    read: usize,
    /// The tokens of the whole list.
    listed: usize,
}

impl ToolTokens {
    fn of(dialect: &'static loci_dialects::Dialect) -> Self {
        let read = |tool: &loci_dialects::Tool| {
            json!({"name": tool.name, "description": tool.description(), "parameters": tool.input_schema()}).to_string()
        };
        ToolTokens {
            read: dialect
                .tools
                .iter()
                .map(|tool| BpeTokens.count(&read(tool)))
                .sum(),
            listed: BpeTokens.count(&Value::from(loci_server::listed_tools(dialect)).to_string()),
        }
    }
}

fn tools(page: &mut String, dialect: &loci_dialects::Dialect) {
    let _ = write!(
        page,
        "\n## Dialect {}\n\n{}\n",
        dialect.name, dialect.instructions
    );
    for tool in dialect.tools {
        let schema = tool.input_schema();
        let empty = Map::new();
        let required = schema
            .get("required")
            .and_then(Value::as_array)
            .map_or(&[][..], Vec::as_slice);
        let arguments = schema
            .get("properties")
            .and_then(Value::as_object)
            .unwrap_or(&empty);
        let description = tool.description();
        let scopes: Vec<_> = tool
            .scopes()
            .iter()
            .map(|scope| format!("`{}`", scope.name()))
            .collect();
        let _ = write!(
            page,
            "\n### {}: {}\n\n{description}\n\nNeeds the scope {}.\n",
            dialect.name,
            tool.name,
            scopes.join(" and ")
        );
        if !arguments.is_empty() {
            page.push_str("\n| argument | type | meaning |\n|---|---|---|\n");
        }
        for (name, schema) in arguments {
            let need = if required.iter().any(|known| known == name) {
                " (required)"
            } else {
                ""
            };
            let meaning = schema["description"]
                .as_str()
                .unwrap_or_default()
                .replace('\n', " ");
            let mut names = vec![format!("`{name}`")];
            let aliases = tool.aliases.iter().filter(|(_, named)| named == name);
            names.extend(aliases.map(|(alias, _)| format!("`{alias}`")));
            let _ = writeln!(
                page,
                "| {}{need} | {} | {meaning} |",
                names.join(" or "),
                type_of(schema)
            );
        }
        reply(page, &tool.output_schema());
    }
    if let Some(resources) = &dialect.resources {
        page.push_str("\n### Resources\n\n");
        for resource in resources.fixed.iter().chain(resources.templates) {
            let _ = writeln!(page, "- `{}`: {}", resource.uri, resource.description);
        }
    }
}

/// Writes the fields of a reply: of an object, or of the items of an array.
fn reply(page: &mut String, schema: &Value) {
    let (record, kind) = match schema.get("items") {
        Some(items) => (items, "an array of objects"),
        None => (schema, "an object"),
    };
    let Some(fields) = record
        .get("properties")
        .and_then(Value::as_object)
        .filter(|fields| !fields.is_empty())
    else {
        return;
    };
    let _ = write!(
        page,
        "\nReplies with {kind}:\n\n| field | type | meaning |\n|---|---|---|\n"
    );
    for (name, schema) in fields {
        let meaning = schema["description"]
            .as_str()
            .unwrap_or_default()
            .replace('\n', " ");
        let _ = writeln!(page, "| `{name}` | {} | {meaning} |", type_of(schema));
    }
}

/// Returns the type of an argument, or its choices; its description has its range.
fn type_of(schema: &Value) -> String {
    let choices = schema["enum"].as_array().or_else(|| {
        // These choices have their own descriptions.
        schema["oneOf"].as_array()
    });
    if let Some(choices) = choices {
        let choices = choices
            .iter()
            .map(|choice| choice.get("const").unwrap_or(choice));
        let choices: Vec<_> = choices
            .map(|choice| format!("`{}`", choice.as_str().unwrap_or_default()))
            .collect();
        return choices.join(", ");
    }
    let of = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match &schema["type"] {
        Value::Array(types) => types.iter().map(of).collect::<Vec<_>>().join(" or "),
        value => of(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tools_of_a_dialect_cost_a_model_little_and_the_wire_not_much_more() {
        /// The most tokens that a model reads of one dialect, and the highest ratio of listed to
        /// read tokens.
        const READ_MAX: usize = 4_500;
        const RATIO_MAX: f64 = 1.6;
        /// Two tools have few words beside their schemas, and cost little either way.
        const LISTED_FEW: usize = 500;
        for dialect in DIALECTS {
            let ToolTokens { read, listed } = ToolTokens::of(dialect);
            assert!(read <= READ_MAX, "{}: {read} tokens", dialect.name);
            let ratio = listed as f64 / read as f64;
            assert!(
                ratio <= RATIO_MAX || listed <= LISTED_FEW,
                "{}: {listed} tokens are {ratio:.2} times {read}",
                dialect.name
            );
        }
    }
}

//! Tests of the tools as hosts see them.

use loci_dialects::{DIALECTS, UsualTools};
use serde_json::Value;

/// Checks that every schema is inlined, described, valid JSON Schema, and free of keywords that
/// hosts reject, and that every name fits the protocol.
#[test]
fn every_tool_is_well_described() {
    for dialect in DIALECTS {
        assert!(
            dialect.instructions.len() <= 2_048,
            "{}: hosts cut instructions at 2,048",
            dialect.name
        );
        let first = dialect.instructions.split("\n\n").next().unwrap();
        assert!(
            first.len() <= 512,
            "{}: Codex reads no more than 512 of the {}",
            dialect.name,
            first.len()
        );
        let UsualTools { find, store, .. } = &dialect.usual_tools;
        let has_needed = [find, store]
            .iter()
            .all(|tool| first.contains(&format!("`{tool}`")));
        assert!(
            has_needed && first.ends_with('.'),
            "{}: {first}",
            dialect.name
        );
        for tool in dialect.tools {
            let place = format!("{}.{}", dialect.name, tool.name);
            assert!(
                tool.name.len() <= 64
                    && tool
                        .name
                        .bytes()
                        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            );
            assert!(
                !tool.description().is_empty() && !tool.title.is_empty(),
                "{place} has no description"
            );
            assert!(
                tool.description().len() <= 1_024,
                "{place}: the description is long"
            );
            let input = Value::Object(tool.input_schema());
            assert_eq!(input["type"], "object", "{place}");
            for keyword in ["\"additionalProperties\":false", "\"type\":["] {
                assert!(
                    !input.to_string().contains(keyword),
                    "{place}: converters refuse {keyword}: {input}"
                );
            }
            for schema in [&input, &tool.output_schema()] {
                jsonschema::meta::validate(schema)
                    .unwrap_or_else(|error| panic!("{place}: {error}"));
                let text = schema.to_string();
                assert!(
                    !text.contains("$ref") && !text.contains("\"format\""),
                    "{place}: {text}"
                );
            }
            // A caller omits an argument rather than sending null.
            assert!(!input.to_string().contains("\"null\""), "{place}: {input}");
            for (name, property) in input["properties"].as_object().into_iter().flatten() {
                let description = property["description"].as_str();
                let description =
                    description.unwrap_or_else(|| panic!("{place}: {name} has no description"));
                let is_count =
                    |bound: &&Value| property.get("maximum").is_some() || bound.as_u64() > Some(1);
                let bounds = ["minimum", "maximum"]
                    .iter()
                    .filter_map(|keyword| property.get(keyword));
                for bound in bounds.filter(is_count) {
                    assert!(
                        description.contains(&bound.to_string()),
                        "{place}: {name} does not say {bound}"
                    );
                }
                assert!(
                    !description.contains('\n'),
                    "{place}: {name} has a line break of its source"
                );
            }
        }
    }
}

/// Checks that a read-only tool needs no more than `read`, and that a writing tool needs `write`.
#[test]
fn every_tool_declares_the_scope_that_its_hints_imply() {
    for tool in DIALECTS.iter().flat_map(|dialect| dialect.tools) {
        // It shows settings with `read`, and needs more to change them.
        let only_shows = tool.name == "mempalace_hook_settings";
        let needed = if tool.hints.read_only || only_shows {
            loci_core::Scope::Read
        } else {
            loci_core::Scope::Write
        };
        assert!(
            tool.scope >= needed,
            "{} declares {:?}",
            tool.name,
            tool.scope
        );
        assert!(
            !(tool.hints.read_only && tool.hints.destructive),
            "{} is both read-only and destructive",
            tool.name
        );
    }
}

/// Checks that every tool of a dialect with a user argument requires that argument.
#[test]
fn every_tool_names_the_user_where_its_dialect_does() {
    for dialect in DIALECTS {
        let Some(user) = dialect.user_argument else {
            continue;
        };
        for tool in dialect.tools {
            let input = Value::Object(tool.input_schema());
            assert_eq!(input["properties"][user]["type"], "string", "{}", tool.name);
            assert!(
                input["required"].as_array().unwrap().contains(&user.into()),
                "{} does not need it",
                tool.name
            );
        }
    }
}

/// Checks the words by which the audit log distinguishes kinds of calls.
#[test]
fn every_operation_is_a_word_or_two() {
    for tool in DIALECTS.iter().flat_map(|dialect| dialect.tools) {
        let words: Vec<&str> = tool.operation.split(':').collect();
        let is_word =
            |word: &&str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase());
        assert!(
            words.len() <= 2 && words.iter().all(is_word),
            "{}: {:?}",
            tool.name,
            tool.operation
        );
    }
}

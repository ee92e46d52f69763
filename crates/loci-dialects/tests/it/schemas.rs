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
            // Converters refuse the first two, and some clients check the others in their own words.
            for keyword in [
                "\"additionalProperties\":false",
                "\"type\":[",
                "\"minimum\":",
                "\"maximum\":",
                "\"minItems\":",
                "\"maxItems\":",
                "\"minLength\":",
                "\"maxLength\":",
                "\"pattern\":\"",
            ] {
                assert!(
                    !input.to_string().contains(keyword),
                    "{place}: {keyword} is in {input}"
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
                assert!(
                    !description.contains('\n'),
                    "{place}: {name} has a line break of its source"
                );
            }
        }
    }
}

/// Names of arguments that a framework keeps for itself: it drops them without a word, or takes them
/// for its own. Sources: `_prepare_call_kwargs` of `agent_framework/_mcp.py`, `call_tool` of
/// `langchain_mcp_adapters/tools.py` and of `agno/utils/mcp.py`, `_run` of `langchain_core`, and
/// `gather_function_parameters` of Semantic Kernel.
const RESERVED_NAMES: [(&str, &[&str]); 5] = [
    (
        "Microsoft Agent Framework",
        &[
            "chat_options",
            "conversation_id",
            "options",
            "response_format",
            "session",
            "thread",
            "tool_choice",
            "tool_name",
            "tools",
        ],
    ),
    (
        "LangChain",
        &["callbacks", "config", "run_manager", "runtime"],
    ),
    ("Agno", &["agent", "run_context", "team"]),
    (
        "Semantic Kernel",
        &["arguments", "execution_settings", "kernel", "service"],
    ),
    (
        "Python",
        &[
            "and", "as", "assert", "async", "await", "break", "class", "cls", "continue", "def",
            "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import",
            "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "self",
            "try", "while", "with", "yield",
        ],
    ),
];

/// An argument with a reserved name that a contract asks for.
struct ReservedException {
    dialect: &'static str,
    tool: &'static str,
    name: &'static str,
    /// The listed argument that means the same.
    second_name: &'static str,
}

const RESERVED_EXCEPTIONS: [ReservedException; 1] = [ReservedException {
    dialect: "memory-mcp",
    tool: "store_memory",
    name: "conversation_id",
    second_name: "conversation",
}];

/// Checks that no tool has an argument that a framework would drop: what is left of a call may then
/// do more than was said, as a deletion by tags without its conversation.
#[test]
fn no_argument_has_a_name_that_a_framework_keeps_for_itself() {
    let mut excepted = 0;
    for dialect in DIALECTS {
        for tool in dialect.tools {
            let input = tool.input_schema();
            let properties = input["properties"].as_object().unwrap();
            for name in properties.keys() {
                let keeper = RESERVED_NAMES
                    .iter()
                    .find(|(_, names)| names.contains(&name.as_str()));
                let Some((framework, _)) = keeper else {
                    assert!(!name.starts_with('_'), "{}: {name}", tool.name);
                    continue;
                };
                let exception = RESERVED_EXCEPTIONS.iter().find(|exception| {
                    (exception.dialect, exception.tool, exception.name)
                        == (dialect.name, tool.name, name)
                });
                let Some(exception) = exception else {
                    panic!(
                        "{}.{}: {framework} keeps `{name}` for itself; take another name, and this one as an alias",
                        dialect.name, tool.name
                    );
                };
                let second = exception.second_name;
                let required = input["required"].as_array();
                assert!(
                    properties.contains_key(second)
                        && !required.is_some_and(|names| names.contains(&name.as_str().into())),
                    "{}: `{name}` must be optional and have the second name `{second}`",
                    tool.name
                );
                excepted += 1;
            }
        }
    }
    assert_eq!(excepted, RESERVED_EXCEPTIONS.len());
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

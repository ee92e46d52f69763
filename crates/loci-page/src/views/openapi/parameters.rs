//! The examples and meanings of parameters and fields.

use serde_json::Value;

/// The parameters and fields of requests with an example of each, by name. A name means one
/// thing at every path, so that the example holds for all.
const EXAMPLES: &[(&str, &str)] = &[
    ("add", "glaze, kiln"),
    ("again", "false"),
    ("arguments", r#"{"project": "pottery"}"#),
    ("as_of", "2026-11-28"),
    ("backup", "2026-11-29T12-00-00Z.tar"),
    ("batch", "68960efe"),
    ("before", "1200"),
    ("budget", "800"),
    ("by", "day"),
    ("client", "claude-code"),
    ("command", "str_replace"),
    ("confirm", "bob"),
    ("confirmed", "true"),
    ("content", "The kiln fires at 1240 degrees."),
    ("cursor", "X2c1dV9pAAAAAAAAACo"),
    ("days", "30"),
    ("dialect", "mememory"),
    ("direction", "up"),
    ("dry_run", "true"),
    ("ended", "2026-11-28"),
    ("entity", "kiln"),
    ("examine", "false"),
    ("file_text", "Prefers celadon glazes.\n"),
    ("forgotten", "false"),
    ("from", "2026-11-01"),
    ("global", "false"),
    ("host", "codex"),
    ("id", "01a21af2-5795-756a-b1ad-fd9e373aba38"),
    ("idempotency_key", "order-4711"),
    ("insert_line", "0"),
    ("insert_text", "# Glazes"),
    ("item", "0123456789abcdef"),
    ("keep", "01a21af2-5795-756a-b1ad-fd9e373aba38"),
    ("kind", "contradiction"),
    ("known_at", "2026-11-28"),
    ("limit", "20"),
    ("name", "bob"),
    ("new_path", "/memories/glazes.md"),
    ("new_str", "tenmoku"),
    ("next", "/browse"),
    ("object", "1240 degrees"),
    ("offset", "50"),
    ("old_path", "/memories/glaze.md"),
    ("old_str", "celadon"),
    ("on", "true"),
    ("one", "01a21af2-5795-756a-b1ad-fd9e373aba38"),
    ("order", "newest"),
    ("other", "01a21af3-1c02-7b6e-9d3c-0a4f6a2f2c11"),
    ("path", "/memories/glazes.md"),
    ("pinned", "true"),
    ("predicate", "fires at"),
    ("program", "claude-code"),
    ("project", "pottery"),
    ("prompt", "how do we fire the kiln?"),
    ("q", "how hot is the kiln"),
    ("remove", "old"),
    ("revision", "1"),
    ("right_object", "1260 degrees"),
    ("right_predicate", "fires at"),
    ("right_subject", "kiln"),
    ("room", "kiln"),
    ("scope", "read write"),
    ("shared", "false"),
    ("source", "the manual, page 12"),
    ("subject", "kiln"),
    ("system", "claude-mem"),
    ("tag", "glaze"),
    ("tags", "glaze kiln"),
    ("task", "backup"),
    ("text", "kiln"),
    ("token", "0a1b2c3d"),
    ("tool", "recall"),
    ("type", "fact"),
    ("until", "2026-11-30"),
    ("upload", "6f1e0c7b9a5d4e32"),
    ("via", "mememory"),
    ("view_range", "1 -1"),
    ("who", "ann"),
    ("wing", "pottery"),
    ("zone", "Europe/Berlin"),
    ("all_of", "wing=shop&type=fact"),
    ("filter", "vault"),
    ("query", "q=kiln&type=fact"),
    ("sort", "used"),
    ("typed", "DELETE"),
    ("version", "3"),
];

/// The meanings of parameters and fields that have no comment where they are declared, by name.
const MEANINGS: &[(&str, &str)] = &[
    (
        "as_of",
        "The day or instant to show the facts of afterwards.",
    ),
    ("content", "The text."),
    ("dialect", "The name of the tool set."),
    ("entity", "The entity to show afterwards."),
    ("from", "The first day or instant."),
    ("id", "The id of the record, or the ids."),
    (
        "next",
        "The path of the page to show afterwards; for forms.",
    ),
    ("object", "The object of the fact."),
    (
        "offset",
        "The number of records to skip; a list with a cursor skips nothing by mistake.",
    ),
    ("one", "The id of one memory of the pair."),
    ("other", "The id of the other memory of the pair."),
    ("pinned", "True to start every session with it."),
    ("predicate", "The relation of the fact."),
    ("q", "The question."),
    ("right_object", "The object as it should be."),
    ("right_predicate", "The relation as it should be."),
    ("room", "The room."),
    ("shared", "True to let the others in the space read it."),
    ("source", "The source of the fact."),
    ("subject", "The subject of the fact."),
    ("tag", "A tag."),
    ("tool", "The name of the tool."),
    ("type", "The type."),
    ("until", "The last day or instant."),
    (
        "all_of",
        "The parameters of a list, to take all of it in the place of ids.",
    ),
    ("filter", "A text in the names of settings."),
    ("query", "The parameters of the search."),
    ("sort", "The order of the list."),
    ("typed", "The word `DELETE`, which a person typed."),
    ("version", "The revision of the former text."),
];

/// Returns the example of a parameter in the type of its schema; null if it has none.
pub(super) fn example(name: &str, schema: &Value) -> Value {
    let Some((_, text)) = EXAMPLES.iter().find(|(known, _)| *known == name) else {
        return Value::Null;
    };
    let is = |kind: &str| {
        let named = &schema["type"];
        named == kind
            || named
                .as_array()
                .is_some_and(|kinds| kinds.contains(&kind.into()))
    };
    if is("array") {
        let of_numbers = schema["items"]["type"] == "integer";
        let item = |text: &str| {
            if of_numbers {
                serde_json::from_str(text).unwrap_or_default()
            } else {
                Value::from(text)
            }
        };
        Value::Array(text.split(' ').map(item).collect())
    } else if is("integer") || is("boolean") {
        serde_json::from_str(text).unwrap_or_default()
    } else {
        Value::from(*text)
    }
}

/// Returns the meaning of a name in the table.
pub(super) fn meaning_of(name: &str) -> Option<&'static str> {
    let found = MEANINGS.iter().find(|(known, _)| *known == name);
    found.map(|(_, meaning)| *meaning)
}

//! The form of a question on the wire, and its answer.

use loci_dialects::questions::{Choice, PersonAnswer, Question};
use rmcp::ErrorData;
use rmcp::model::{InputRequests, ProtocolVersion};
use serde_json::{Value, json};

/// The name of the only question of a call among the input that a result asks for.
pub(crate) const ANSWER_KEY: &str = "person";
/// The name of the only field of the form.
const FIELD: &str = "answer";

/// Returns the parameters of `elicitation/create` in a revision. Revision 2025-06-18 knows one way to
/// ask, and has the words of an enumeration beside it.
pub(crate) fn request_parameters(question: &Question, version: &ProtocolVersion) -> Value {
    let choices = question.choices();
    let words = |word: fn(&Choice) -> &'static str| choices.iter().map(word).collect::<Vec<_>>();
    let is_first = *version < ProtocolVersion::V_2025_11_25;
    let field = if is_first {
        json!({"type": "string", "title": "Answer", "enum": words(|choice| choice.value), "enumNames": words(|choice| choice.title)})
    } else {
        let options = choices
            .iter()
            .map(|choice| json!({"const": choice.value, "title": choice.title}));
        json!({"type": "string", "title": "Answer", "oneOf": options.collect::<Vec<_>>()})
    };
    let schema = json!({"type": "object", "properties": {FIELD: field}, "required": [FIELD]});
    let mut parameters = json!({"message": question.message, "requestedSchema": schema});
    if !is_first {
        parameters["mode"] = "form".into();
    }
    parameters
}

/// Returns what a result asks for in revision 2026-07-28.
///
/// # Errors
/// If the SDK knows no such request, which a test rules out.
pub(crate) fn input_requests(question: &Question) -> serde_json::Result<InputRequests> {
    let parameters = request_parameters(question, &ProtocolVersion::V_2026_07_28);
    let request = json!({"method": "elicitation/create", "params": parameters});
    serde_json::from_value(json!({ANSWER_KEY: request}))
}

/// Returns true if a client says by this error that it cannot ask: it knows no such request, or failed
/// to show it. Any other says that the client or its connection ended.
pub(crate) fn is_inability(error: &ErrorData) -> bool {
    (-32_768..=-32_600).contains(&error.code.0)
}

/// Returns the answer in the result of `elicitation/create`. One that was not to choose from counts as a
/// refusal, so that nothing is deleted by it.
pub(crate) fn answer_in(result: &Value, question: &Question) -> PersonAnswer {
    match result["action"].as_str() {
        Some("accept") => {
            let value = result["content"][FIELD].as_str();
            let choices = question.choices().iter();
            let chosen = choices
                .map(|choice| choice.value)
                .find(|one| value == Some(one));
            chosen.map_or(PersonAnswer::Refused, PersonAnswer::Chosen)
        }
        Some("decline" | "cancel") => PersonAnswer::Refused,
        _ => PersonAnswer::Missing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question() -> Question {
        Question::of_checkout("plan", "wing", "0123456789abcdef".to_owned())
    }

    #[test]
    fn each_revision_gets_its_own_form() {
        let of = |version| request_parameters(&question(), &version);
        let first = of(ProtocolVersion::V_2025_06_18);
        assert_eq!(first["mode"], Value::Null);
        let field = &first["requestedSchema"]["properties"]["answer"];
        assert_eq!(field["enum"], json!(["no", "yes"]));
        assert_eq!(field["enumNames"].as_array().unwrap().len(), 2);
        let second = of(ProtocolVersion::V_2025_11_25);
        assert_eq!(second["mode"], "form");
        let field = &second["requestedSchema"]["properties"]["answer"];
        assert_eq!(field["oneOf"][1]["const"], "yes");
        let asked = serde_json::to_value(input_requests(&question()).unwrap()).unwrap();
        assert_eq!(asked["person"]["method"], "elicitation/create");
        assert_eq!(asked["person"]["params"], of(ProtocolVersion::V_2026_07_28));
    }

    #[test]
    fn an_answer_is_one_of_the_list_or_none() {
        for (result, expected) in [
            (
                json!({"action": "accept", "content": {"answer": "yes"}}),
                PersonAnswer::Chosen("yes"),
            ),
            (
                json!({"action": "accept", "content": {"answer": "maybe"}}),
                PersonAnswer::Refused,
            ),
            (
                json!({"action": "accept", "content": {"answer": ["yes"]}}),
                PersonAnswer::Refused,
            ),
            (json!({"action": "accept"}), PersonAnswer::Refused),
            (json!({"action": "decline"}), PersonAnswer::Refused),
            (
                json!({"action": "cancel", "content": {"answer": "yes"}}),
                PersonAnswer::Refused,
            ),
            (json!({"action": "shrug"}), PersonAnswer::Missing),
            (json!({}), PersonAnswer::Missing),
            (json!([1]), PersonAnswer::Missing),
            (Value::Null, PersonAnswer::Missing),
        ] {
            assert_eq!(answer_in(&result, &question()), expected, "{result}");
        }
    }
}

use loci_core::limits::SUMMARY_WORDS_MAX;
use loci_core::{Enricher, Enrichment, ErrorCode, MEMORY_KINDS};
use loci_http::{ChatModel, ChatModelOptions};
use serde_json::{Value, json};

use crate::support::{Act, BACKOFF, Endpoint, TEXT, check, ok};

fn model(endpoint: &Endpoint) -> ChatModel {
    ChatModel::new(ChatModelOptions {
        backoff: BACKOFF,
        ..ChatModelOptions::new(&endpoint.url, "some-model")
    })
    .unwrap()
}

/// Returns a reply with this message of the model.
fn says(content: &str) -> Act {
    ok(&json!({
        "id": "1",
        "choices": [{ "index": 0, "finish_reason": "stop", "message": { "role": "assistant", "content": content } }],
        "usage": {},
    }))
}

fn judgement(importance: &str, summary: &str, kind: &str) -> String {
    let (summary, kind) = (json!(summary), json!(kind));
    format!(r#"{{"importance": {importance}, "summary": {summary}, "memory_type": {kind}}}"#)
}

#[test]
fn asks_for_json_by_a_schema() {
    let endpoint = Endpoint::new(vec![says(&judgement("0.75", " likes tea ", "preference"))]);
    let enrichment = model(&endpoint).enrich(TEXT).unwrap();
    let expected = Enrichment {
        importance: 0.75,
        summary: "likes tea".to_owned(),
        kind: "preference".to_owned(),
    };
    assert_eq!(enrichment, expected);

    let body = &endpoint.requests()[0].body;
    let instructions = body["messages"][0]["content"].as_str().unwrap();
    for word in
        MEMORY_KINDS
            .iter()
            .chain(&["importance", "summary", "memory_type", "data", "100 words"])
    {
        assert!(instructions.contains(word), "no {word} in: {instructions}");
    }
    let schema = json!({
        "type": "object",
        "properties": {
            "importance": { "type": "number" },
            "summary": { "type": "string" },
            "memory_type": { "type": "string", "enum": MEMORY_KINDS },
        },
        "required": ["importance", "summary", "memory_type"],
        "additionalProperties": false,
    });
    let expected = json!({
        "model": "some-model",
        "temperature": 0,
        "messages": [{ "role": "system", "content": instructions }, { "role": "user", "content": TEXT }],
        "response_format": {
            "type": "json_schema",
            "json_schema": { "name": "judgement", "strict": true, "schema": schema },
        },
    });
    assert_eq!(body, &expected);
}

#[test]
fn finds_the_json_in_an_answer() {
    let plain = judgement("1", "braces } and { in it", "fact");
    let answers = [
        format!("```json\n{plain}\n```"),
        format!("``` {plain} ```"),
        format!("Here it is:\n\n{plain}\nDone."),
    ];
    for answer in answers {
        let endpoint = Endpoint::new(vec![says(&answer)]);
        assert_eq!(
            model(&endpoint).enrich(TEXT).unwrap().summary,
            "braces } and { in it",
            "{answer}"
        );
        endpoint.requests();
    }
}

#[test]
fn takes_judgements_up_to_the_limits() {
    let longest = "word ".repeat(SUMMARY_WORDS_MAX);
    for (importance, summary) in [("0", "a"), ("1.0", longest.as_str())] {
        for kind in MEMORY_KINDS {
            let endpoint = Endpoint::new(vec![says(&judgement(importance, summary, kind))]);
            assert_eq!(model(&endpoint).enrich(TEXT).unwrap().kind, kind);
            endpoint.requests();
        }
    }
}

#[test]
fn refuses_answers_that_are_no_judgement() {
    let rows = [
        (TEXT.to_owned(), "no JSON object"),
        (String::new(), "no JSON object"),
        ("}{".to_owned(), "no JSON object"),
        (
            judgement("0.5", TEXT, "fact").replace("summary", "gist"),
            "no JSON object",
        ),
        (judgement("\"high\"", TEXT, "fact"), "no JSON object"),
        (judgement("NaN", TEXT, "fact"), "no JSON object"),
        (judgement("1e999", TEXT, "fact"), "no JSON object"),
        (
            judgement("1.01", TEXT, "fact"),
            "importance that is not within 0 to 1",
        ),
        (
            judgement("-0.01", TEXT, "fact"),
            "importance that is not within 0 to 1",
        ),
        (judgement("0.5", " \n", "fact"), "summary that is blank"),
        (
            judgement("0.5", "nul \0", "fact"),
            "summary that is blank or no text",
        ),
        (
            judgement("0.5", &"word ".repeat(SUMMARY_WORDS_MAX + 1), "fact"),
            "more than 100 words",
        ),
        (
            judgement("0.5", &"字".repeat(2_001), "fact"),
            "more than 100 words",
        ),
        (
            judgement("0.5", "a gist", TEXT),
            "not one of fact, preference",
        ),
        (
            judgement("0.5", "a gist", "Fact"),
            "not one of fact, preference",
        ),
    ];
    for (answer, words) in rows {
        let endpoint = Endpoint::new(vec![says(&answer)]);
        let error = model(&endpoint).enrich(TEXT).unwrap_err();
        check(
            &error,
            ErrorCode::Unavailable,
            &["the chat model some-model at", words],
        );
        endpoint.requests();
    }
}

#[test]
fn refuses_replies_without_an_answer() {
    for choices in [
        json!([]),
        json!([{ "message": { "content": null } }]),
        json!([{ "message": {} }]),
    ] {
        let endpoint = Endpoint::new(vec![ok(&json!({ "choices": choices }))]);
        check(
            &model(&endpoint).enrich(TEXT).unwrap_err(),
            ErrorCode::Unavailable,
            &["gave no answer"],
        );
        endpoint.requests();
    }
}

#[test]
fn sends_the_beginning_of_a_long_text() {
    let sent = |text: &str| -> Value {
        let endpoint = Endpoint::new(vec![says(&judgement("0.5", "a gist", "fact"))]);
        model(&endpoint).enrich(text).unwrap();
        endpoint.requests()[0].body["messages"][1]["content"].clone()
    };
    let longest = "é".repeat(16_000);
    assert_eq!(sent(&longest), longest);
    assert_eq!(sent(&format!("{longest}é")), longest);
}

#[test]
fn refuses_no_model() {
    let error = ChatModel::new(ChatModelOptions::new("http://host", ""))
        .err()
        .unwrap();
    check(&error, ErrorCode::InvalidArgument, &["`llm.model`"]);
}

use loci_core::limits::REFERENCE_BYTES_MAX;
use loci_core::{Embedder, ErrorCode};
use loci_http::{HttpModel, HttpModelOptions};
use serde_json::{Value, json};

use crate::support::{Act, BACKOFF, Endpoint, TEXT, check, ok};

fn options(endpoint: &Endpoint) -> HttpModelOptions {
    HttpModelOptions {
        backoff: BACKOFF,
        ..HttpModelOptions::new(&endpoint.url, "some-model")
    }
}

fn model(endpoint: &Endpoint) -> HttpModel {
    HttpModel::new(options(endpoint)).unwrap()
}

fn vectors(data: &Value) -> Act {
    ok(&json!({ "object": "list", "data": data }))
}

#[test]
fn embeds_in_order_and_normalises() {
    let reply = json!([{ "index": 1, "embedding": [0, 5] }, { "index": 0, "embedding": [3, 4] }]);
    let endpoint = Endpoint::new(vec![vectors(&reply)]);
    let embedded = model(&endpoint).embed(&["first", "second"]).unwrap();
    assert_eq!(embedded, [[0.6, 0.8], [0.0, 1.0]]);
    let requests = endpoint.requests();
    assert!(!requests[0].head.contains("authorization"));
    let body =
        json!({ "model": "some-model", "input": ["first", "second"], "encoding_format": "float" });
    assert_eq!(requests[0].body, body);
}

#[test]
fn splits_into_requests_of_bounded_size() {
    let two = json!([{ "embedding": [1, 0] }, { "embedding": [0, 1] }]);
    let endpoint = Endpoint::new(vec![
        vectors(&two),
        vectors(&json!([{ "embedding": [-1, 0] }])),
    ]);
    let model = HttpModel::new(HttpModelOptions {
        texts_per_request_max: 2,
        ..options(&endpoint)
    })
    .unwrap();
    assert!(model.embed(&[]).unwrap().is_empty());
    assert_eq!(
        model.embed(&["a", "b", "c"]).unwrap(),
        [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]
    );
    let inputs: Vec<_> = endpoint
        .requests()
        .into_iter()
        .map(|request| request.body["input"].clone())
        .collect();
    assert_eq!(inputs, [json!(["a", "b"]), json!(["c"])]);
}

#[test]
fn the_first_reply_fixes_the_dimension() {
    let three = json!([{ "index": 0, "embedding": [0.0, 2.0, 0.0] }]);
    let endpoint = Endpoint::new(vec![
        vectors(&three),
        vectors(&json!([{ "index": 0, "embedding": [1, 1] }])),
    ]);
    let model = model(&endpoint);
    assert_eq!(model.probe().unwrap(), 3);
    check(
        &model.embed(&["text"]).unwrap_err(),
        ErrorCode::Unavailable,
        &["2 components", "3 before"],
    );
    endpoint.requests();
}

#[test]
fn refuses_replies_that_do_not_fit() {
    let rows = [
        (
            json!([{ "index": 0, "embedding": [1] }, { "index": 1, "embedding": [1] }]),
            "2 embeddings for 1 texts",
        ),
        (json!([]), "0 embeddings"),
        (json!([{ "index": 7, "embedding": [1] }]), "index 7"),
        (
            json!([{ "index": 0, "embedding": [] }]),
            "empty, zero or not finite",
        ),
        (
            json!([{ "index": 0, "embedding": [0, 0] }]),
            "empty, zero or not finite",
        ),
        (
            json!([{ "index": 0, "embedding": [1e39, 1] }]),
            "empty, zero or not finite",
        ),
        (
            json!([{ "index": 0, "embedding": "AACAPw==" }]),
            "no list of embeddings",
        ),
    ];
    for (data, expected) in rows {
        let endpoint = Endpoint::new(vec![vectors(&data)]);
        let error = model(&endpoint).embed(&[TEXT]).unwrap_err();
        check(
            &error,
            ErrorCode::Unavailable,
            &[expected, "some-model", &endpoint.url],
        );
        endpoint.requests();
    }
}

#[test]
fn refuses_an_index_given_twice() {
    let twice = json!([{ "index": 0, "embedding": [1, 0] }, { "index": 0, "embedding": [0, 1] }]);
    let endpoint = Endpoint::new(vec![vectors(&twice)]);
    check(
        &model(&endpoint).embed(&["a", "b"]).unwrap_err(),
        ErrorCode::Unavailable,
        &["index 0 twice"],
    );
    endpoint.requests();
}

#[test]
fn the_name_is_known_without_a_connection() {
    let model = HttpModel::new(HttpModelOptions::new(
        "https://models.example/v1/",
        "m:latest",
    ))
    .unwrap();
    assert_eq!(
        model.model().as_str(),
        "http:m:latest@https://models.example/v1"
    );
}

#[test]
fn refuses_no_model_and_empty_requests() {
    let long_url = format!("http://host/{}", "a".repeat(REFERENCE_BYTES_MAX));
    for (url, name, setting) in [
        ("http://host", " ", "`embedding.model`"),
        ("http://host", "a\0b", "`embedding.model`"),
        ("http://host", &*"a".repeat(257), "`embedding.model`"),
        (&*long_url, "m", "`embedding.url`"),
    ] {
        let refused = HttpModel::new(HttpModelOptions::new(url, name));
        check(
            &refused.err().unwrap(),
            ErrorCode::InvalidArgument,
            &[setting],
        );
    }
    let options = HttpModelOptions {
        texts_per_request_max: 0,
        ..HttpModelOptions::new("http://host", "m")
    };
    check(
        &HttpModel::new(options).err().unwrap(),
        ErrorCode::InvalidArgument,
        &["batch size"],
    );
}

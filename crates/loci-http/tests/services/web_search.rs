use std::time::Duration;

use loci_core::{ErrorCode, WebPage, WebSearch};
use loci_http::{TavilySearch, TavilySearchOptions};
use serde_json::json;

use crate::support::{BACKOFF, Endpoint, KEY, TEXT, check, ok, refusal};

fn options(endpoint: &Endpoint) -> TavilySearchOptions {
    let base_url = endpoint.url.clone();
    TavilySearchOptions {
        base_url,
        backoff: BACKOFF,
        ..TavilySearchOptions::new(KEY)
    }
}

fn search(endpoint: &Endpoint) -> TavilySearch {
    TavilySearch::new(options(endpoint)).unwrap()
}

#[test]
fn asks_for_pages_and_keeps_their_order() {
    let endpoint = Endpoint::new(vec![ok(&json!({
        "query": "weather",
        "answer": null,
        "images": [],
        "results": [
            { "title": "One", "url": "https://one.example/", "content": "Rain", "score": 0.5, "raw_content": null },
            { "url": "https://two.example/", "title": null },
        ],
        "response_time": 1.67,
        "request_id": "1",
    }))]);
    let page = |title: &str, url: &str, content: &str, score| WebPage {
        title: title.to_owned(),
        url: url.to_owned(),
        content: content.to_owned(),
        score,
    };
    let expected = [
        page("One", "https://one.example/", "Rain", Some(0.5)),
        page("", "https://two.example/", "", None),
    ];
    assert_eq!(search(&endpoint).search("weather").unwrap(), expected);
    assert_eq!(
        endpoint.requests()[0].body,
        json!({ "query": "weather", "max_results": 5 })
    );
}

#[test]
fn finding_nothing_is_no_failure() {
    let endpoint = Endpoint::new(vec![ok(&json!({ "results": [] }))]);
    assert_eq!(search(&endpoint).search(TEXT).unwrap(), []);
    endpoint.requests();
}

#[test]
fn refuses_pages_without_an_address() {
    for results in [
        json!([{ "title": TEXT, "content": TEXT }]),
        json!([{ "url": 7 }]),
        json!(null),
        json!(TEXT),
    ] {
        let endpoint = Endpoint::new(vec![ok(&json!({ "results": results }))]);
        check(
            &search(&endpoint).search(TEXT).unwrap_err(),
            ErrorCode::Unavailable,
            &["no list of pages"],
        );
        endpoint.requests();
    }
}

#[test]
fn the_time_of_a_call_holds_for_all_its_tries() {
    let endpoint = Endpoint::new(vec![refusal(500)]);
    let (timeout, backoff) = (Duration::from_secs(3), Duration::from_secs(4));
    let search = TavilySearch::new(TavilySearchOptions {
        timeout,
        backoff,
        ..options(&endpoint)
    })
    .unwrap();
    let error = search.search(TEXT).unwrap_err();
    check(&error, ErrorCode::Unavailable, &["HTTP 500"]);
    assert!(!error.message.contains("tries"), "{error}");
    endpoint.requests();
}

#[test]
fn a_plan_that_is_used_up_is_told_apart() {
    for status in [432, 433] {
        let endpoint = Endpoint::new(vec![refusal(status)]);
        check(
            &search(&endpoint).search(TEXT).unwrap_err(),
            ErrorCode::Unavailable,
            &["plan", &status.to_string()],
        );
        endpoint.requests();
    }
}

#[test]
fn needs_a_key_and_knows_where_to_ask() {
    let error = TavilySearch::new(TavilySearchOptions::new(" "))
        .err()
        .unwrap();
    check(
        &error,
        ErrorCode::InvalidArgument,
        &["`web_search.api_key`"],
    );
    assert_eq!(
        TavilySearchOptions::new(KEY).base_url,
        "https://api.tavily.com"
    );
}

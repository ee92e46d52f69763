//! Searches and facts as they stood at a time.

use axum::body::Body;
use http::header::AUTHORIZATION;
use http::{Request, StatusCode};
use loci_core::MemoryId;
use serde_json::{Value, json};

use crate::support::{TestPage, caller};

async fn get(page: &TestPage, path: &str) -> Value {
    let request = Request::get(format!("/api/v1{path}")).header(AUTHORIZATION, "Bearer ann");
    let mut stranger = page.stranger();
    let reply = stranger.send(request.body(Body::empty()).unwrap()).await;
    reply.json()
}

fn texts(hits: &Value) -> Vec<String> {
    let hits = hits.as_array().unwrap().iter();
    let passage = |hit: &Value| {
        let pieces = hit["passage"].as_array().unwrap().iter();
        pieces
            .map(|piece| piece["text"].as_str().unwrap())
            .collect()
    };
    hits.map(passage).collect()
}

/// A page with kilns that were changed after the first minute.
fn with_past() -> TestPage {
    let page = TestPage::new();
    let changed = page.remember("ann", "the kiln is hot");
    let gone = page.remember("ann", "the kiln is old");
    page.clock.advance(60);
    let ann = page.engine.system(&caller("ann"));
    let memories = ann.memories();
    memories
        .update(&MemoryId::new(changed), "the kiln is cold", None)
        .unwrap();
    memories.forget_softly(&MemoryId::new(gone)).unwrap();
    for number in 0..3 {
        page.remember("ann", &format!("the kiln number {number}"));
    }
    page
}

const THEN: &str = "2026-01-01T00:00:30Z";

#[tokio::test]
async fn a_search_has_what_was_known_in_parts_each_once() {
    let page = with_past();
    let then = ["the kiln is hot", "the kiln is old"];
    let sorted = |mut texts: Vec<String>| {
        texts.sort();
        texts
    };
    for path in ["/search?q=kiln&", "/search?"] {
        let found = get(&page, &format!("{path}as_of={THEN}")).await;
        assert_eq!(sorted(texts(&found["hits"])), then, "{path}");
        assert_eq!(
            (&found["total"], &found["strength"]),
            (&json!(2), &Value::Null)
        );
        assert_eq!(found["hits"][0]["why"], Value::Null);
        let filter = &found["filters"][0];
        assert_eq!(
            (&filter["name"], &filter["value"]),
            (&json!("as_of"), &json!(THEN))
        );
    }
    let mut all = Vec::new();
    let mut cursor = String::new();
    loop {
        let path = format!("/search/hits?q=kiln&as_of={THEN}&limit=1{cursor}");
        let part = get(&page, &path).await;
        all.extend(texts(&part["items"]));
        let Some(next) = part["next_cursor"].as_str() else {
            break;
        };
        let other = get(&page, &format!("/search/hits?q=kiln&cursor={next}")).await;
        assert_eq!(other["error"]["argument"], "cursor", "{other}");
        cursor = format!("&cursor={next}");
    }
    assert_eq!(sorted(all), then);
    for (time, words) in [
        ("soon", "must be a day"),
        ("2026-02-01", "future"),
        ("2025-11-01", "history_days"),
    ] {
        for path in [
            "/search?q=kiln",
            "/search?",
            "/search/hits?q=kiln",
            "/search/results?q=kiln",
        ] {
            let refused = get(&page, &format!("{path}&as_of={time}")).await;
            assert_eq!(
                refused["error"]["argument"], "as_of",
                "{path} {time}: {refused}"
            );
            let message = refused["error"]["message"].as_str().unwrap();
            assert!(message.contains(words), "{message}");
        }
    }
    // Today is now, not its end.
    let today = get(&page, "/search?q=kiln&as_of=2026-01-01").await;
    assert_eq!(today["total"], json!(4), "{today}");
    let mut browser = page.browser("ann").await;
    let shown = browser.get(&format!("/search?q=kiln&as_of={THEN}")).await;
    assert_eq!(shown.status, StatusCode::OK);
    for part in ["name=\"as_of\"", "value=\"2026-01-01\"", "As known on"] {
        assert!(shown.text.contains(part), "{part}: {}", shown.text);
    }
}

#[tokio::test]
async fn facts_are_shown_as_they_were_known() {
    let page = TestPage::new();
    let mut browser = page.browser("ann").await;
    let rome = [
        ("subject", "Max"),
        ("predicate", "lives in"),
        ("object", "Rome"),
    ];
    browser.post("/facts/add", &rome).await;
    page.clock.advance(60);
    let view = get(&page, "/facts?entity=max").await;
    let id = view["lanes"][0]["facts"][0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let end = [
        &rome[..],
        &[("id", &*id), ("ended", "2025-06-30"), ("entity", "Max")],
    ]
    .concat();
    let ended = browser.post("/facts/end", &end).await;
    assert_eq!(ended.status, StatusCode::SEE_OTHER, "{}", ended.text);
    let bonn = [
        ("subject", "Max"),
        ("predicate", "lives in"),
        ("object", "Bonn"),
    ];
    browser.post("/facts/add", &bonn).await;

    let known = |facts: &Value| -> Vec<(String, Value)> {
        let facts = facts.as_array().unwrap().iter();
        facts
            .map(|fact| {
                (
                    fact["object"].as_str().unwrap().to_owned(),
                    fact["valid_to"].clone(),
                )
            })
            .collect()
    };
    let then = [("Rome".to_owned(), Value::Null)];
    let view = get(&page, &format!("/facts?entity=max&known_at={THEN}")).await;
    assert_eq!(known(&view["lanes"][0]["facts"]), then);
    assert_eq!(view["known_at"], THEN);
    for path in ["/facts/list?", "/facts/list?entity=max&"] {
        let list = get(&page, &format!("{path}known_at={THEN}&limit=1")).await;
        assert_eq!(known(&list["items"]), then, "{path}");
        assert_eq!(list["next_cursor"], Value::Null);
        let now = get(&page, &format!("{path}known_at=2026-01-01&limit=1")).await;
        let cursor = now["next_cursor"].as_str().unwrap();
        let rest = get(&page, &format!("{path}known_at=2026-01-01&cursor={cursor}")).await;
        assert_eq!(
            (known(&now["items"]).len(), known(&rest["items"]).len()),
            (1, 1)
        );
        for time in ["soon", "2026-02-01", "2025-11-01"] {
            let refused = get(&page, &format!("{path}known_at={time}")).await;
            assert_eq!(
                refused["error"]["argument"], "known_at",
                "{time}: {refused}"
            );
        }
    }
    let shown = browser
        .get(&format!("/facts?entity=max&known_at={THEN}"))
        .await
        .text;
    assert!(
        shown.contains("As known on 2026-01-01T00:00:30Z"),
        "{shown}"
    );
    assert!(
        !shown.contains("/facts/end"),
        "nothing of the past can be ended"
    );
}

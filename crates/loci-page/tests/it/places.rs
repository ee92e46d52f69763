//! A memory, activity and the settings, as people see them.

use std::borrow::Cow;
use std::sync::Arc;

use http::StatusCode;
use loci_core::{AuditEntry, RedactedText, Redactor, RemovedSecret, Space};
use loci_engine::RedactionScope;

use crate::support::{Reply, TestPage};

/// Returns the marked words of a page.
fn marked(page: &Reply) -> Vec<&str> {
    let parts = page.text.split("<mark>").skip(1);
    parts
        .map(|part| part.split("</mark>").next().unwrap_or_default())
        .collect()
}

#[tokio::test]
async fn an_edit_of_an_old_version_is_refused_with_both_texts() {
    let installation = TestPage::new();
    let id = installation.remember("ann", "The pier is open.");
    let mut browser = installation.browser("ann").await;
    let edit = format!("/memory/{id}/edit");
    let mine = |text| [("content", text), ("revision", "1")];
    let first = browser.post(&edit, &mine("The pier is shut.")).await;
    assert_eq!(first.status, StatusCode::SEE_OTHER, "{}", first.text);
    let second = browser.post(&edit, &mine("The pier is repaired.")).await;
    assert_eq!(second.status, StatusCode::CONFLICT);
    assert_eq!(marked(&second), ["shut.", "repaired."]);
    assert!(second.text.contains("name=\"revision\" value=\"2\""));
    let again = [("content", "The pier is repaired."), ("revision", "2")];
    let saved = browser.post(&edit, &again).await;
    assert_eq!(saved.status, StatusCode::SEE_OTHER);
    let page = browser.get(&format!("/memory/{id}")).await.text;
    assert!(page.contains("The pier is repaired."));
    // A program is told what is wrong.
    let of_program = browser.post(&format!("/api/v1{edit}"), &mine("x")).await;
    assert_eq!(of_program.status, StatusCode::CONFLICT);
    assert_eq!(of_program.json()["error"]["code"], "conflict");
}

#[tokio::test]
async fn a_former_text_is_restored_and_that_is_taken_back() {
    let installation = TestPage::new();
    let id = installation.remember("ann", "The ferry leaves at seven.");
    let mut browser = installation.browser("ann").await;
    let path = |verb: &str| format!("/memory/{id}/{verb}");
    let fields = [("content", "The ferry leaves at eight."), ("revision", "1")];
    browser.post(&path("edit"), &fields).await;
    let text = |shown: &Reply| shown.json()["content"].as_str().unwrap().to_owned();
    let api = format!("/api/v1/memory/{id}");
    for (version, revision, expected) in [
        ("1", "1", StatusCode::CONFLICT),
        ("7", "2", StatusCode::BAD_REQUEST),
    ] {
        let fields = [("version", version), ("revision", revision)];
        let refused = browser.post(&path("restore"), &fields).await;
        assert_eq!(refused.status, expected, "{}", refused.text);
    }
    let fields = [("version", "1"), ("revision", "2")];
    let restored = browser.post(&path("restore"), &fields).await;
    assert_eq!(restored.status, StatusCode::SEE_OTHER, "{}", restored.text);
    assert_eq!(text(&browser.get(&api).await), "The ferry leaves at seven.");
    browser.undo_of(&restored).await;
    assert_eq!(text(&browser.get(&api).await), "The ferry leaves at eight.");
    let mut reader = installation.browser("reader").await;
    let refused = reader.post(&path("restore"), &fields).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
}

/// Finds one secret.
pub(crate) struct Finder;

impl Redactor for Finder {
    fn redact<'a>(&self, text: &'a str) -> RedactedText<'a> {
        let Some(at) = text.find("s3cret") else {
            return RedactedText::unchanged(text);
        };
        RedactedText {
            text: Cow::Owned(text.replace("s3cret", "[redacted: word]")),
            removed: vec![RemovedSecret {
                at,
                kind: "word",
                lines: 0,
            }],
        }
    }
}

fn entry(page: &TestPage, tool: &str, session: &str, query: Option<&str>) -> AuditEntry {
    AuditEntry {
        space: Space::default(),
        at: page.engine.now(),
        user: Some("ann".to_owned()),
        caller: None,
        client: Some("codex".to_owned()),
        session: Some(session.to_owned()),
        dialect: "engram".to_owned(),
        tool: tool.to_owned(),
        operation: "memory:write".to_owned(),
        duration_microseconds: 1_500,
        query: query.map(str::to_owned),
        results: query.map(|_| 0),
        reply_tokens: Some(10),
        failure: None,
        records: Vec::new(),
        further_records: 0,
        further_stored: 0,
    }
}

#[tokio::test]
async fn equal_calls_are_one_row_and_questions_without_an_answer_are_counted() {
    let page =
        TestPage::with(|engine| engine.with_redactor(Arc::new(Finder), RedactionScope::Mined));
    let audit = page.engine.audit();
    for number in 0..8 {
        let session = if number < 5 { "one" } else { "two" };
        audit.record(entry(&page, "store_memory", session, None));
    }
    for query in [
        "who has the s3cret",
        "which zebra",
        "Which  zebra",
        "which zebra",
    ] {
        audit.record(entry(&page, "search_memory", "two", Some(query)));
    }
    let mut browser = page.browser("ann").await;
    let shown = browser.get("/api/v1/activity?days=1").await.json();
    let rows: Vec<_> = shown["calls"].as_array().unwrap().iter().collect();
    let repeated: Vec<_> = rows.iter().map(|row| row["repeated"].as_u64()).collect();
    assert_eq!(
        repeated,
        [Some(1), Some(1), Some(1), Some(1), Some(3), Some(5)]
    );
    let questions = shown["questions"].as_array().unwrap();
    assert_eq!(questions[0]["query"], "which zebra", "{shown}");
    assert_eq!(questions[0]["asked"], 3);
    assert_eq!(questions[1]["query"], "who has the [redacted: word]");
    assert_eq!(shown["looked_at"], 12);
    let sessions = &shown["sessions"][0];
    assert_eq!(
        (&sessions["sessions"], &sessions["median"], &sessions["p90"]),
        (&2.into(), &50.into(), &70.into())
    );
    let html = browser.get("/activity?days=1").await.text;
    assert!(
        html.contains("store_memory × 5") && !html.contains("s3cret"),
        "{html}"
    );
    let other = browser.get("/api/v1/activity?client=zed").await.json();
    assert_eq!(other["calls"].as_array().unwrap().len(), 0);
    let mut bob = page.browser("bob").await;
    let of_bob = bob.get("/api/v1/activity").await.json();
    assert_eq!(of_bob["questions"].as_array().unwrap().len(), 0);
}

#[tokio::test]
async fn the_parts_of_the_settings_are_for_the_owner() {
    let page = TestPage::new();
    let parts = [
        "/settings",
        "/settings/data",
        "/settings/access",
        "/settings/model",
        "/settings/all",
        "/settings/about",
    ];
    let mut admin = page.browser("admin").await;
    let mut ann = page.browser("ann").await;
    for part in parts {
        let shown = admin.get(part).await;
        assert_eq!(shown.status, StatusCode::OK, "{part} {}", shown.text);
        let current = format!("href=\"{part}\" aria-current=\"page\"");
        assert!(shown.text.contains(&current), "{part} {}", shown.text);
        assert_eq!(ann.get(part).await.status, StatusCode::FORBIDDEN, "{part}");
    }
    let model = admin.get("/settings/model").await.text;
    assert!(model.contains("loci model install another"), "{model}");
    let api = admin.get("/api/v1/settings/model").await.json();
    assert_eq!(api["model"]["languages"][0]["code"], "de");
    let data = admin.get("/settings/data").await.text;
    assert!(data.contains("0 3 * * * loci backup"), "{data}");
}

#[tokio::test]
async fn what_is_decided_shows_the_words_that_differ_and_what_each_answer_does() {
    let page = TestPage::new();
    let mut browser = page.browser("ann").await;
    let clear = browser.get("/review").await;
    assert!(clear.text.contains("All clear") && clear.text.contains("<time datetime="));
    page.remember("ann", "The API listens on port 8080.");
    page.remember("ann", "The API listens on port 9090.");
    page.examine();
    let shown = browser.get("/review").await;
    assert_eq!(marked(&shown), ["8080.", "9090."]);
    assert!(!shown.text.contains("All clear"));
    let opened = shown.text.matches("class=\"decision\" open").count();
    assert_eq!(opened, 1, "{}", shown.text);
    for key in ["1", "2", "3"] {
        assert!(shown.text.contains(&format!("data-key=\"{key}\"")), "{key}");
    }
}

//! The bar around every view, the former paths, and the looks of the page.

use http::StatusCode;
use http::header::SET_COOKIE;

use crate::support::TestPage;

#[tokio::test]
async fn former_paths_lead_to_the_present_ones() {
    let installation = TestPage::new();
    let mut browser = installation.browser("ann").await;
    let rows = [
        ("/palace/room?wing=a", "/browse/room?wing=a"),
        ("/time?entity=max", "/facts?entity=max"),
        ("/recalls", "/activity"),
        ("/keep", "/settings"),
        ("/now", "/"),
        ("/api/v1/now", "/api/v1/home"),
        ("/api/v1/palace/map", "/api/v1/browse/overview"),
    ];
    for (former, present) in rows {
        let led = browser.get(former).await;
        assert_eq!(led.status, StatusCode::PERMANENT_REDIRECT, "{former}");
        assert_eq!(led.location(), present, "{former}");
    }
}

#[tokio::test]
async fn an_error_keeps_the_bar_and_says_what_to_do() {
    let installation = TestPage::new();
    let mut browser = installation.browser("ann").await;
    let failed = browser.get("/memory/unknown").await;
    assert_eq!(failed.status, StatusCode::NOT_FOUND);
    assert!(failed.text.contains("class=\"places\""), "{}", failed.text);
    assert!(
        failed.text.contains("It may have been deleted"),
        "{}",
        failed.text
    );
    let refused = browser.get("/settings").await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    assert!(refused.text.contains("Only the owner can open this."));
    assert!(refused.text.contains("class=\"places\""));
    assert!(!refused.text.contains("href=\"/settings\""));
    let mut admin = installation.browser("admin").await;
    assert!(admin.get("/").await.text.contains("href=\"/settings\""));
}

#[tokio::test]
async fn looks_are_chosen_and_kept_by_the_browser() {
    let installation = TestPage::new();
    let mut browser = installation.browser("ann").await;
    let fields = [("theme", "dark"), ("next", "/browse")];
    let chosen = browser.post("/looks", &fields).await;
    assert_eq!(
        (chosen.status, chosen.location()),
        (StatusCode::SEE_OTHER, "/browse")
    );
    let kept = chosen.headers[SET_COOKIE].to_str().unwrap();
    assert!(
        kept.starts_with("loci-looks=dark.system.roomy; HttpOnly"),
        "{kept}"
    );
    let mut stranger = installation.stranger();
    stranger.cookie = Some("loci-looks=light.de.dense".to_owned());
    let shown = stranger.get("/sign-in").await.text;
    let root = "<html lang=\"de\" data-theme=\"light\" data-dense>";
    assert!(shown.contains(root), "{shown}");
    let mut other = installation.browser("ann").await;
    let fields = [("theme", "dark"), ("next", "//evil.example")];
    assert_eq!(other.post("/looks", &fields).await.location(), "/");
}

#[tokio::test]
async fn what_was_done_is_looked_up_and_taken_back_later() {
    let installation = TestPage::new();
    let ids = ["one", "two"].map(|text| installation.remember("ann", text));
    let mut browser = installation.browser("ann").await;
    let nothing = browser.get("/history").await.text;
    assert!(nothing.contains("You changed nothing"), "{nothing}");
    for id in &ids {
        browser.post("/selected/forget", &[("id", id)]).await;
    }
    // The result is shown once, with the way to all of them.
    let shown = browser.get("/browse").await.text;
    assert!(shown.contains("Forgot 1 memory"), "{shown}");
    assert!(shown.contains("<a href=\"/history\">"), "{shown}");
    let ways_back = |text: &str| -> Vec<String> {
        let numbers = text.split("name=\"number\" value=\"").skip(1);
        numbers
            .map(|rest| rest.split('"').next().unwrap().to_owned())
            .collect()
    };
    let history = browser.get("/history").await.text;
    let numbers = ways_back(&history);
    assert_eq!(numbers.len(), 2, "{history}");
    // The first change is the last one in the list.
    let fields = [("number", numbers[1].as_str()), ("next", "/history")];
    let undone = browser.post("/undo", &fields).await;
    assert_eq!(undone.location(), "/history", "{}", undone.text);
    let history = browser.get("/history").await.text;
    assert_eq!(ways_back(&history), [numbers[0].as_str()], "{history}");
    assert!(history.contains("Undone"), "{history}");
    let found = browser.get("/api/v1/browse/room").await.json();
    assert_eq!(
        (&found["total"], &found["memories"][0]["id"]),
        (&1.into(), &ids[0].as_str().into())
    );
    // A session knows its own changes alone.
    let other = installation.browser("ann").await.get("/history").await.text;
    assert!(other.contains("You changed nothing"), "{other}");
}

#[tokio::test]
async fn an_error_names_the_field_and_not_the_parameter() {
    let installation = TestPage::new();
    let id = installation.remember("ann", "one");
    let mut browser = installation.browser("ann").await;
    let long = "x".repeat(2_000);
    let fields = [("id", id.as_str()), ("wing", long.as_str())];
    let moved = browser.post("/selected/move", &fields).await;
    let shown = match moved.status {
        StatusCode::SEE_OTHER => browser.get(moved.location()).await.text,
        _ => moved.text,
    };
    assert!(!shown.contains("<code>wing</code>"), "{shown}");
    let refused = browser.post("/selected/delete", &[("id", &id)]).await;
    assert!(
        refused.text.contains("Type DELETE to confirm") && !refused.text.contains("confirmed"),
        "{}",
        refused.text
    );
    let refused = browser.get("/facts?entity=max&as_of=soon").await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST);
    assert!(
        refused.text.contains("Date: ") && !refused.text.contains("as_of` "),
        "{}",
        refused.text
    );
}

/// A new session, e.g. after a restart, knows what was done on the page before.
#[tokio::test]
async fn a_change_of_an_earlier_session_is_taken_back() {
    let installation = TestPage::new();
    let id = installation.remember("ann", "The ferry leaves at seven.");
    installation.clock.advance(60);
    let mut before = installation.browser("ann").await;
    before.post("/selected/forget", &[("id", &id)]).await;
    installation.clock.advance(60);
    let mut after = installation.browser("ann").await;
    let history = after.get("/history").await.text;
    assert!(history.contains("Earlier sessions"), "{history}");
    assert!(history.contains("The ferry leaves at seven"), "{history}");
    let number = history.split("name=\"number\" value=\"").nth(1).unwrap();
    let number = number.split('"').next().unwrap();
    // Nobody else sees it, or takes it back.
    let mut bob = installation.browser("bob").await;
    let others = bob.get("/history").await.text;
    assert!(!others.contains("Earlier sessions"), "{others}");
    let fields = [("number", number), ("next", "/history")];
    bob.post("/undo", &fields).await;
    let shown = after.get("/api/v1/memories").await.json();
    assert_eq!(shown["total"], 0, "{shown}");
    let undone = after.post("/undo", &fields).await;
    assert_eq!(undone.location(), "/history", "{}", undone.text);
    let shown = after.get("/api/v1/memories").await.json();
    assert_eq!(shown["items"][0]["id"], id.as_str(), "{shown}");
}

/// So does a fact that was added or ended then.
#[tokio::test]
async fn a_fact_of_an_earlier_session_is_taken_back() {
    let installation = TestPage::new();
    let mut before = installation.browser("ann").await;
    let fact = [
        ("subject", "Ada"),
        ("predicate", "works at"),
        ("object", "Acme"),
    ];
    before.post("/facts/add", &fact).await;
    let facts = before.get("/api/v1/facts?entity=Ada").await.json();
    let id = facts["lanes"][0]["facts"][0]["id"].as_str().unwrap();
    installation.clock.advance(60);
    let end = [&fact[..], &[("id", id), ("ended", "2026-01-31")]].concat();
    before.post("/facts/end", &end).await;
    installation.clock.advance(60);
    let mut after = installation.browser("ann").await;
    let number = |history: &str| -> Vec<String> {
        let parts = history.split("name=\"number\" value=\"").skip(1);
        let numbers = parts.map(|part| part.split('"').next().unwrap().to_owned());
        numbers.collect()
    };
    let history = after.get("/history").await.text;
    assert!(history.contains("Ada works at Acme"), "{history}");
    let numbers = number(&history);
    assert_eq!(numbers.len(), 2, "{history}");
    let shown = |facts: &serde_json::Value| facts["lanes"][0]["facts"][0].clone();
    let ended = after.get("/api/v1/facts?entity=Ada").await.json();
    assert_ne!(
        shown(&ended)["valid_to"],
        serde_json::Value::Null,
        "{ended}"
    );
    let undo = |number: &str| {
        [
            ("number", number.to_owned()),
            ("next", "/history".to_owned()),
        ]
    };
    for (number, left) in [(&numbers[0], 1), (&numbers[1], 0)] {
        let fields = undo(number);
        let fields = fields
            .each_ref()
            .map(|(name, value)| (*name, value.as_str()));
        let undone = after.post("/undo", &fields).await;
        assert_eq!(undone.location(), "/history", "{}", undone.text);
        let facts = after.get("/api/v1/facts?entity=Ada").await.json();
        let lanes = facts["lanes"].as_array().unwrap();
        assert_eq!(lanes.len(), left, "{facts}");
        if left > 0 {
            assert_eq!(
                shown(&facts)["valid_to"],
                serde_json::Value::Null,
                "{facts}"
            );
            assert_eq!(shown(&facts)["id"], id, "{facts}");
        }
    }
}

#[tokio::test]
async fn programs_ask_what_was_known() {
    let installation = TestPage::new();
    let ids = ["The ferry leaves at seven.", "The ferry is blue."]
        .map(|text| installation.remember("ann", text));
    let then = installation.clock.advance(60);
    installation.clock.advance(60);
    let mut browser = installation.browser("ann").await;
    let edit = [("content", "The ferry leaves at eight."), ("revision", "1")];
    browser
        .post(&format!("/memory/{}/edit", ids[0]), &edit)
        .await;
    browser.post("/selected/forget", &[("id", &ids[1])]).await;
    installation.remember("ann", "The ferry has a bar.");
    let as_of = jiff::Timestamp::from_microsecond(then.microseconds()).unwrap();
    let list = |more: &str| format!("/api/v1/memories?as_of={as_of}{more}");
    let titles = |part: &serde_json::Value| -> Vec<String> {
        let items = part["items"].as_array().unwrap().iter();
        items
            .map(|item| item["title"].as_str().unwrap().to_owned())
            .collect()
    };
    let first = browser.get(&list("&limit=1")).await.json();
    let cursor = format!("&limit=1&cursor={}", first["next_cursor"].as_str().unwrap());
    let second = browser.get(&list(&cursor)).await.json();
    assert_eq!(second["next_cursor"], serde_json::Value::Null, "{second}");
    let mut listed = [titles(&first), titles(&second)].concat();
    listed.sort();
    assert_eq!(listed, ["The ferry is blue.", "The ferry leaves at seven."]);
    let found = browser.get(&list("&q=when+does+the+ferry+leave")).await;
    assert_eq!(titles(&found.json())[0], "The ferry leaves at seven.");
    for refused in [
        "/api/v1/memories?q=ferry".to_owned(),
        "/api/v1/memories?as_of=2999-01-01".to_owned(),
        list("&forgotten=true"),
    ] {
        let reply = browser.get(&refused).await;
        assert_eq!(
            reply.status,
            StatusCode::BAD_REQUEST,
            "{refused}: {}",
            reply.text
        );
    }
    // The view of the memory has what changed, and a version comes back.
    let path = format!("/api/v1/memory/{}", ids[0]);
    let view = browser.get(&path).await.json();
    assert_eq!(view["versions"][0]["changed"], serde_json::json!(["text"]));
    let restore = [("version", "1"), ("revision", "2")];
    browser
        .post(&format!("/memory/{}/restore", ids[0]), &restore)
        .await;
    let view = browser.get(&path).await.json();
    assert_eq!(view["content"], "The ferry leaves at seven.");
}

//! Imports with a dry run, exports, and backups.

use std::time::Duration;

use axum::body::Body;
use futures_util::StreamExt as _;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{Request, StatusCode};
use loci_core::limits::UPLOAD_BYTES_MAX;
use loci_core::{AuditQuery, Space};

use crate::support::{Browser, Reply, TestPage};

/// Returns the form of an upload with these fields in their order, as a browser sends it.
fn form(path: &str, fields: &[(&str, &str)]) -> Request<Body> {
    let mut body = String::new();
    for (name, value) in fields {
        let file = if *name == "file" {
            "; filename=\"a.jsonl\"\r\nContent-Type: text/plain"
        } else {
            ""
        };
        body += &format!(
            "--border\r\nContent-Disposition: form-data; name=\"{name}\"{file}\r\n\r\n{value}\r\n"
        );
    }
    body += "--border--\r\n";
    Request::post(path)
        .header(CONTENT_TYPE, "multipart/form-data; boundary=border")
        .header("sec-fetch-site", "same-origin")
        .body(Body::from(body))
        .unwrap()
}

async fn upload(browser: &mut Browser, text: &str) -> Reply {
    let csrf = browser.get("/browse").await.csrf();
    let fields = [("csrf", csrf.as_str()), ("file", text)];
    browser.send(form("/settings/import", &fields)).await
}

#[tokio::test]
async fn an_import_is_tried_confirmed_and_run_once() {
    let installation = TestPage::new();
    let mut browser = installation.browser("admin").await;
    // Larger than other requests may be.
    let large = "a line\n".repeat(2_000_000);
    let tried = upload(&mut browser, &large).await;
    assert_eq!(tried.status, StatusCode::OK, "{}", tried.text);
    assert!(tried.text.contains("would be stored</th><td>2000000"));
    assert!(tried.text.contains("name=\"upload\" value=\"upload\""));
    let fields = [("upload", "upload")];
    let ran = browser.post("/settings/import/run", &fields).await;
    assert!(ran.text.contains(">stored</th><td>2000000"), "{}", ran.text);
    let again = browser.post("/settings/import/run", &fields).await;
    assert_eq!(again.status, StatusCode::NOT_FOUND);
    let log = installation.engine.audit().entries(&AuditQuery {
        space: Space::default(),
        limit: 10,
        ..AuditQuery::default()
    });
    let tools: Vec<_> = log
        .unwrap()
        .into_iter()
        .map(|(_, entry)| entry.tool)
        .collect();
    assert_eq!(tools, ["import_dry_run", "import", "import"]);
}

#[tokio::test]
async fn what_was_forgotten_is_imported_again_if_a_person_wants_it() {
    let installation = TestPage::new();
    let mut browser = installation.browser("admin").await;
    let none = upload(&mut browser, "one").await;
    assert!(!none.text.contains("name=\"again\""), "{}", none.text);
    for (again, stored) in [(None, 1), (Some("true"), 2)] {
        let tried = upload(&mut browser, "one\nforgotten\n").await;
        assert!(
            tried
                .text
                .contains("type=\"checkbox\" name=\"again\" value=\"true\""),
            "{}",
            tried.text
        );
        assert!(tried.text.contains("what was forgotten here (1)"));
        let mut fields = vec![("upload", "upload")];
        fields.extend(again.map(|again| ("again", again)));
        let ran = browser.post("/settings/import/run", &fields).await;
        let row = format!(">stored</th><td>{stored}");
        assert!(ran.text.contains(&row), "{again:?} {}", ran.text);
    }
}

#[tokio::test]
async fn a_file_that_is_not_wanted_is_removed() {
    let installation = TestPage::new();
    let mut browser = installation.browser("admin").await;
    upload(&mut browser, "one").await;
    let fields = [("upload", "upload")];
    let discarded = browser.post("/settings/import/discard", &fields).await;
    assert_eq!(discarded.location(), "/settings/data");
    let gone = browser.post("/settings/import/run", &fields).await;
    assert_eq!(gone.status, StatusCode::NOT_FOUND);
    let broken = upload(&mut browser, "broken").await;
    assert!(
        broken.text.contains("Something went wrong"),
        "{}",
        broken.text
    );
    assert!(!broken.text.contains("name=\"upload\""));
}

#[tokio::test]
async fn an_upload_comes_from_a_page_of_an_owner() {
    let installation = TestPage::new();
    let mut browser = installation.browser("admin").await;
    let csrf = browser.get("/browse").await.csrf();
    let csrf = ("csrf", csrf.as_str());
    let file = ("file", "one");
    let rows: [(&[(&str, &str)], StatusCode); 5] = [
        (&[file], StatusCode::FORBIDDEN),
        (&[("csrf", "wrong"), file], StatusCode::FORBIDDEN),
        // The file would be kept before its sender is known.
        (&[file, csrf], StatusCode::FORBIDDEN),
        (&[csrf], StatusCode::BAD_REQUEST),
        (&[csrf, file], StatusCode::OK),
    ];
    for (fields, expected) in rows {
        let reply = browser.send(form("/settings/import", fields)).await;
        assert_eq!(reply.status, expected, "{fields:?} {}", reply.text);
    }
    for user in ["ann", "reader", "other admin"] {
        let mut browser = installation.browser(user).await;
        let refused = upload(&mut browser, "one").await;
        assert_eq!(refused.status, StatusCode::FORBIDDEN, "{user}");
        let refused = browser.get("/settings/export").await;
        assert_eq!(refused.status, StatusCode::FORBIDDEN, "{user}");
    }
    let mut cut_off = form("/settings/import", &[csrf, file]);
    *cut_off.body_mut() =
        Body::from("--border\r\nContent-Disposition: form-data; name=\"csrf\"\r\n\r\nx");
    let refused = browser.send(cut_off).await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST);
    let mut large = form("/settings/import", &[csrf, file]);
    let length = (UPLOAD_BYTES_MAX + 1).to_string();
    large
        .headers_mut()
        .insert("content-length", length.parse().unwrap());
    let refused = browser.send(large).await;
    assert_eq!(refused.status, StatusCode::PAYLOAD_TOO_LARGE);
}

#[tokio::test]
async fn a_program_imports_with_a_token() {
    let installation = TestPage::new();
    let mut program = installation.stranger();
    let mut request = form("/api/v1/settings/import", &[("file", "one\ntwo\n")]);
    let headers = request.headers_mut();
    headers.insert(AUTHORIZATION, "Bearer admin".parse().unwrap());
    let tried = program.send(request).await.json();
    assert_eq!(
        (&tried["counts"]["stored"], &tried["upload"]),
        (&2.into(), &"upload".into())
    );
}

#[tokio::test]
async fn an_export_is_a_file_to_keep() {
    let installation = TestPage::new();
    let mut browser = installation.browser("admin").await;
    let export = browser.get("/settings/export").await;
    assert_eq!(export.text, "one\ntwo\n");
    let header = |name: &str| export.headers[name].to_str().unwrap();
    assert_eq!(header("content-type"), "application/octet-stream");
    assert_eq!(
        header("content-disposition"),
        "attachment; filename=\"loci-export.jsonl\""
    );
    assert_eq!(header("x-content-type-options"), "nosniff");
    assert!(header("content-security-policy").starts_with("default-src 'none'"));
}

#[tokio::test]
async fn a_backup_is_restored_into_a_new_folder() {
    let installation = TestPage::new();
    let mut browser = installation.browser("admin").await;
    let shown = browser.get("/settings/data").await.text;
    assert!(
        shown.contains("value=\"a.tar\"") && shown.contains("1.5 kB"),
        "{shown}"
    );
    let fields = [("backup", "a.tar")];
    let restored = browser.post("/settings/restore", &fields).await.text;
    for words in ["restored a.tar", "a new folder", "look at it"] {
        assert!(restored.contains(words), "{words}: {restored}");
    }
    assert!(!restored.contains("in the place of the store"));
    let mut ann = installation.browser("ann").await;
    let refused = ann.post("/settings/restore", &fields).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn the_owner_sees_what_others_keep_private_only_by_choice() {
    let installation = TestPage::new();
    let id = installation.remember("ann", "The walrus sleeps.");
    let path = format!("/memory/{id}");
    let mut owner = installation.browser("local").await;
    for on in ["false", "true", "false"] {
        let changed = owner.post("/settings/all-users", &[("on", on)]).await;
        assert_eq!(changed.location(), "/settings/access");
        let (status, is_shown) = match on {
            "true" => (StatusCode::OK, true),
            _ => (StatusCode::NOT_FOUND, false),
        };
        assert_eq!(owner.get(&path).await.status, status, "{on}");
        let found = owner.get("/search?query=walrus").await;
        assert_eq!(found.text.contains("walrus sleeps"), is_shown, "{on}");
    }
    // The choice is of one session.
    let mut other = installation.browser("local").await;
    owner.post("/settings/all-users", &[("on", "true")]).await;
    assert_eq!(other.get(&path).await.status, StatusCode::NOT_FOUND);
    let log = installation.engine.audit().entries(&AuditQuery {
        space: Space::default(),
        limit: 100,
        ..AuditQuery::default()
    });
    let choices = log.unwrap().into_iter();
    let choices = choices.filter(|(_, entry)| entry.tool == "show_all_users");
    assert_eq!(choices.count(), 2);
    let mut ann = installation.browser("ann").await;
    let refused = ann.post("/settings/all-users", &[("on", "true")]).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
}

/// Reads events until one has this text; panics if none does within seconds.
async fn event(reply: &mut axum::body::BodyDataStream, text: &str) -> String {
    let mut said = String::new();
    while !said.contains(text) {
        let next = tokio::time::timeout(Duration::from_secs(10), reply.next()).await;
        let bytes = next
            .unwrap_or_else(|_| panic!("no {text:?} in {said:?}"))
            .unwrap()
            .unwrap();
        said.push_str(&String::from_utf8_lossy(&bytes));
    }
    said
}

#[tokio::test]
async fn who_may_back_up_is_told_how_far_a_backup_is() {
    let installation = TestPage::new();
    installation.backups.close();
    let listen = async |user: &str| {
        let request = Request::get("/events").header(AUTHORIZATION, format!("Bearer {user}"));
        let request = request.body(Body::empty()).unwrap();
        let router = installation.stranger().router;
        let reply = tower::ServiceExt::oneshot(router, request).await.unwrap();
        reply.into_body().into_data_stream()
    };
    let (mut admin, mut ann) = (listen("admin").await, listen("ann").await);
    event(&mut admin, "event: change").await;
    let mut browser = installation.browser("admin").await;
    let making = tokio::spawn(async move { browser.post("/home-backup", &[]).await.status });
    let begun = event(&mut admin, "event: backup").await;
    assert!(!begun.contains("data: 100"), "{begun}");
    installation.backups.open();
    assert_eq!(making.await.unwrap(), StatusCode::SEE_OTHER);
    event(&mut admin, "event: backup\ndata: 100").await;
    // The audit log has the call by then, so that there is something to tell Ann as well.
    installation.remember("ann", "The end.");
    let mut told = event(&mut ann, "event: change").await;
    while let Ok(Some(Ok(bytes))) = tokio::time::timeout(Duration::from_secs(2), ann.next()).await {
        told.push_str(&String::from_utf8_lossy(&bytes));
    }
    assert!(!told.contains("backup"), "{told}");
}

#[tokio::test]
async fn a_store_of_another_system_is_previewed_imported_and_taken_back() {
    let installation = TestPage::new();
    let mut browser = installation.browser("admin").await;
    let shown = browser.get("/settings/data").await;
    assert!(shown.text.contains("<option>claude-mem</option>"));
    let csrf = shown.csrf();
    let fields = [
        ("csrf", csrf.as_str()),
        ("system", "mem0"),
        ("zone", "Europe/Berlin"),
        ("file", "the first <text>\nanother\nthird\n"),
    ];
    let tried = browser.send(form("/settings/import", &fields)).await;
    for words in [
        "This is of mem0.",
        "replaced by a later text</th><td>1",
        "left out: what nobody wants</th><td>3",
        "Europe/Berlin \u{b7} fact",
        "the first &#60;text&#62;",
        "name=\"system\" value=\"mem0\"",
        "name=\"zone\" value=\"Europe/Berlin\"",
    ] {
        assert!(tried.text.contains(words), "{words}: {}", tried.text);
    }
    assert!(!tried.text.contains("/settings/import/undo"));
    let fields = [("upload", "upload"), ("system", "mem0"), ("zone", "UTC")];
    let ran = browser.post("/settings/import/run", &fields).await;
    for words in [">stored</th><td>3", "name=\"batch\" value=\"batch-1\""] {
        assert!(ran.text.contains(words), "{words}: {}", ran.text);
    }
    let undone = browser
        .post("/settings/import/undo", &[("batch", "batch-1")])
        .await;
    assert!(undone.text.contains("UndoImport"), "{}", undone.text);
    for batch in ["", "--list", "a b", "a/b"] {
        let refused = browser
            .post("/settings/import/undo", &[("batch", batch)])
            .await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{batch}");
    }
    let mut ann = installation.browser("ann").await;
    let refused = ann
        .post("/settings/import/undo", &[("batch", "batch-1")])
        .await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn a_wrong_word_about_a_file_is_named_and_the_file_removed() {
    let installation = TestPage::new();
    let mut browser = installation.browser("admin").await;
    let csrf = browser.get("/browse").await.csrf();
    let long = "x".repeat(2_000);
    for (name, value, status, words) in [
        (
            "system",
            "--version",
            StatusCode::BAD_REQUEST,
            "must be one of mem0, claude-mem",
        ),
        ("zone", "a\u{7}b", StatusCode::BAD_REQUEST, "zone"),
        ("zone", &long, StatusCode::PAYLOAD_TOO_LARGE, "zone"),
    ] {
        let fields = [("csrf", csrf.as_str()), (name, value), ("file", "one")];
        let refused = browser.send(form("/settings/import", &fields)).await;
        assert_eq!(refused.status, status, "{name} {}", refused.text);
        assert!(refused.text.contains(words), "{name} {}", refused.text);
        let fields = [("upload", "upload")];
        let gone = browser.post("/settings/import/run", &fields).await;
        assert_eq!(gone.status, StatusCode::NOT_FOUND, "{name}");
    }
}

//! The changes that people make, and how they are undone.

use http::StatusCode;
use loci_core::{AuditQuery, Forgotten, MemoryId, Space};
use loci_engine::Remember;

use crate::support::{Reply, TestPage, caller};

fn memory(installation: &TestPage, id: &str) -> Option<loci_core::Memory> {
    let ann = installation.engine.system(&caller("ann"));
    ann.memories()
        .show_among(&MemoryId::new(id), Forgotten::Show)
        .ok()
}

/// The fields of a memory that the changes below affect.
fn state(installation: &TestPage, id: &str) -> Option<String> {
    let memory = memory(installation, id)?;
    Some(format!(
        "{:?} {:?} {:?} {:?} {:?} {:?}",
        memory.content,
        memory.location,
        memory.tags,
        memory.visibility,
        memory.delivery,
        memory.forgotten_at.is_some()
    ))
}

fn two(installation: &TestPage) -> [String; 2] {
    ["one", "two"].map(|text| {
        let request = Remember {
            collection: Some("pottery".to_owned()),
            tags: vec!["old".to_owned()],
            ..Remember::new(text, "fact")
        };
        installation.remember_as("ann", request)
    })
}

#[tokio::test]
async fn each_change_of_many_is_taken_back() {
    let rows: [(&str, &[(&str, &str)]); 7] = [
        ("/selected/move", &[("wing", "bread"), ("room", "oven")]),
        ("/selected/move", &[("global", "true")]),
        ("/selected/tag", &[("add", "new, other"), ("remove", "old")]),
        ("/selected/share", &[("shared", "true")]),
        ("/selected/forget", &[]),
        ("/memory/ID/pin", &[("pinned", "true")]),
        (
            "/memory/ID/edit",
            &[("content", "another text"), ("revision", "1")],
        ),
    ];
    for (path, fields) in rows {
        let installation = TestPage::new();
        let ids = two(&installation);
        let of_one = path.contains("ID");
        let path = path.replace("ID", &ids[0]);
        let changed_ids = if of_one { &ids[..1] } else { &ids[..] };
        let mut fields = fields.to_vec();
        if !of_one {
            fields.extend(ids.iter().map(|id| ("id", id.as_str())));
        }
        let before = ids.clone().map(|id| state(&installation, &id));
        let mut browser = installation.browser("ann").await;
        let changed = browser.post(&path, &fields).await;
        for (id, before) in changed_ids.iter().zip(&before) {
            assert_ne!(&state(&installation, id), before, "{path} {fields:?}");
        }
        let undone = browser.undo_of(&changed).await;
        assert_eq!(undone.status, StatusCode::SEE_OTHER, "{}", undone.text);
        let after = ids.clone().map(|id| state(&installation, &id));
        assert_eq!(after, before, "{path} {fields:?}");
    }
}

#[tokio::test]
async fn tags_change_what_searches_find() {
    let installation = TestPage::new();
    let [id, _] = two(&installation);
    let mut browser = installation.browser("ann").await;
    let fields = [("id", id.as_str()), ("add", "celadon")];
    browser.post("/selected/tag", &fields).await;
    let found = browser.get("/api/v1/search?q=celadon").await.json();
    assert_eq!(found["hits"][0]["memory"]["id"], id.as_str());
    assert!(found["hits"][0]["why"]["rank_by_words"].is_u64());
}

#[tokio::test]
async fn what_was_deleted_for_good_was_confirmed() {
    let installation = TestPage::new();
    let ids = two(&installation);
    let mut browser = installation.browser("ann").await;
    let refused = browser.post("/selected/delete", &[("id", &ids[0])]).await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST);
    assert!(memory(&installation, &ids[0]).is_some());
    let fields = [("id", ids[0].as_str()), ("confirmed", "true")];
    let deleted = browser.post("/selected/delete", &fields).await;
    assert_eq!(deleted.status, StatusCode::SEE_OTHER);
    assert!(memory(&installation, &ids[0]).is_none());
    let shown = browser.get(deleted.location()).await;
    assert!(shown.text.contains("Deleted 1 memory forever"));
    assert!(
        !shown.text.contains("name=\"number\""),
        "there is no way back"
    );
}

#[tokio::test]
async fn what_is_forgotten_is_listed_and_brought_back() {
    let installation = TestPage::new();
    let ids = two(&installation);
    let mut browser = installation.browser("ann").await;
    browser.post("/selected/forget", &[("id", &ids[0])]).await;
    let listed = |reply: Reply| reply.json()["total"].as_u64().unwrap();
    assert_eq!(listed(browser.get("/api/v1/browse/room").await), 1);
    let path = "/api/v1/browse/room?forgotten=true";
    assert_eq!(listed(browser.get(path).await), 1);
    browser.post("/selected/unforget", &[("id", &ids[0])]).await;
    assert_eq!(listed(browser.get("/api/v1/browse/room").await), 2);
}

#[tokio::test]
async fn what_an_agent_deleted_is_listed_and_brought_back() {
    let installation = TestPage::new();
    let ids = two(&installation);
    let discard = loci_engine::Discard::of(MemoryId::new(&*ids[0]));
    let deleted = installation
        .engine
        .system(&caller("ann"))
        .memories()
        .discard(&discard);
    assert_eq!(deleted, Ok(1));
    let mut browser = installation.browser("ann").await;
    let path = "/api/v1/browse/room?forgotten=true";
    let listed = browser.get(path).await.json();
    assert_eq!(listed["total"], 0);
    assert_eq!(listed["deleted"][0]["id"], *ids[0]);
    let shown = browser.get("/browse/room?forgotten=true").await;
    assert!(shown.text.contains("Deleted messages"));
    browser.post("/selected/unforget", &[("id", &ids[0])]).await;
    let left = browser.get(path).await.json();
    assert_eq!(left["deleted"], serde_json::json!([]));
    assert!(memory(&installation, &ids[0]).is_some());
}

#[tokio::test]
async fn an_edit_of_an_old_version_is_refused() {
    let installation = TestPage::new();
    let [id, _] = two(&installation);
    let mut browser = installation.browser("ann").await;
    let path = format!("/memory/{id}/edit");
    let edit = |text| [("content", text), ("revision", "1")];
    let first = browser.post(&path, &edit("a first edit")).await;
    assert_eq!(first.status, StatusCode::SEE_OTHER);
    let second = browser.post(&path, &edit("a second edit")).await;
    assert_eq!(second.status, StatusCode::CONFLICT);
    let shown = browser.get(&format!("/api/v1/memory/{id}")).await.json();
    assert_eq!(shown["versions"][0]["content"], "one");
    assert_eq!(shown["versions"][0]["diff"][1]["text"], "a first edit");
    assert_eq!(memory(&installation, &id).unwrap().content, "a first edit");
}

#[tokio::test]
async fn what_cannot_change_does_not_keep_the_rest_from_it() {
    let installation = TestPage::new();
    let [own, _] = two(&installation);
    let foreign = installation.remember("bob", "of Bob");
    let mut browser = installation.browser("ann").await;
    let fields = [("id", own.as_str()), ("id", &foreign), ("id", "no such id")];
    let changed = browser.post("/selected/forget", &fields).await;
    let shown = browser.get(changed.location()).await.text;
    assert!(shown.contains("Forgot 1 memory"), "{shown}");
    assert!(shown.contains("2 memories were not changed"), "{shown}");
}

#[tokio::test]
async fn a_change_is_taken_back_once_and_by_its_own_session() {
    let installation = TestPage::new();
    let [id, _] = two(&installation);
    let mut browser = installation.browser("ann").await;
    browser.post("/selected/forget", &[("id", &id)]).await;
    let mut other = installation.browser("ann").await;
    let refused = other.post("/undo", &[("number", "1")]).await;
    assert_eq!(refused.status, StatusCode::NOT_FOUND);
    let undone = browser.post("/undo", &[("number", "1")]).await;
    assert_eq!(undone.status, StatusCode::SEE_OTHER);
    let again = browser.post("/undo", &[("number", "1")]).await;
    assert_eq!(again.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn the_audit_log_names_every_change() {
    let installation = TestPage::new();
    let [id, _] = two(&installation);
    let mut browser = installation.browser("ann").await;
    browser.post("/selected/forget", &[("id", &id)]).await;
    browser.post("/undo", &[("number", "1")]).await;
    browser.get(&format!("/memory/{id}")).await;
    browser.get("/search?q=what+is+one").await;
    let log = installation.engine.audit().entries(&AuditQuery {
        space: Space::default(),
        limit: 10,
        ..AuditQuery::default()
    });
    let log: Vec<_> = log
        .unwrap()
        .into_iter()
        .map(|(_, entry)| {
            let ids: Vec<_> = entry
                .records
                .iter()
                .map(|record| &record.id)
                .cloned()
                .collect();
            (entry.dialect, entry.tool, entry.query, ids.contains(&id))
        })
        .collect();
    let page = |tool: &str, query: Option<&str>, names| {
        (
            "page".to_owned(),
            tool.to_owned(),
            query.map(str::to_owned),
            names,
        )
    };
    assert_eq!(
        log,
        [
            page("forget", None, true),
            page("undo", None, true),
            page("memory", None, true),
            page("search", Some("what is one"), log[3].3),
        ]
    );
}

//! The content of the views.

use axum::body::Body;
use http::StatusCode;
use http::header::ACCEPT_LANGUAGE;
use http::{Request, header};
use loci_engine::Remember;

use crate::support::{TestPage, caller};

#[tokio::test]
async fn a_user_sees_what_that_user_may_read() {
    let installation = TestPage::new();
    let secret = installation.remember("ann", "Only Ann knows the word marigold.");
    let mut bob = installation.browser("bob").await;
    for path in [
        "/".to_owned(),
        "/search?q=marigold".to_owned(),
        "/browse".to_owned(),
        "/browse/room".to_owned(),
        format!("/memory/{secret}"),
    ] {
        let reply = bob.get(&path).await;
        assert!(!reply.text.contains("Only Ann"), "{path}");
    }
    let mut ann = installation.browser("ann").await;
    let found = ann.get("/search?q=which+word+is+marigold").await;
    assert!(found.text.contains("Only Ann knows"));
    let mut admin = installation.browser("admin").await;
    assert!(admin.get("/browse/room").await.text.contains("Only Ann"));
}

#[tokio::test]
async fn a_search_takes_filters_and_says_why() {
    let installation = TestPage::new();
    let kept = |text: &str, wing: &str, kind: &str| Remember {
        collection: Some(wing.to_owned()),
        tags: vec![format!("tag-{wing}")],
        ..Remember::new(text, kind)
    };
    installation.remember_as("ann", kept("The kiln fires at 1240.", "pottery", "fact"));
    installation.remember_as(
        "ann",
        kept("The kiln is never opened hot.", "pottery", "rule"),
    );
    installation.remember_as("ann", kept("The kiln of the bakery.", "bread", "fact"));
    let mut browser = installation.browser("ann").await;
    let rows = [
        ("q=kiln", 3),
        ("q=kiln&wing=*", 3),
        ("q=kiln&wing=pottery", 2),
        ("q=kiln&wing=", 0),
        ("q=kiln&type=rule", 1),
        ("q=kiln&tag=tag-bread", 1),
        ("q=kiln&who=ann", 3),
        ("q=kiln&who=bob", 0),
        ("q=kiln&via=loci", 3),
        ("q=kiln&via=vault", 0),
        ("q=kiln&until=1960-01-01", 0),
        ("wing=pottery", 2),
        ("wing=pottery&type=fact", 1),
    ];
    for (query, expected) in rows {
        let reply = browser.get(&format!("/api/v1/search?{query}")).await;
        let found = reply.json();
        assert_eq!(found["hits"].as_array().unwrap().len(), expected, "{query}");
        if query.contains("q=") && expected > 0 {
            let why = &found["hits"][0]["why"];
            assert!(why["relevance"].as_f64().unwrap() > 0.0, "{query}: {why}");
        }
    }
    let refused = browser.get("/api/v1/search?q=kiln&from=soon").await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST);
    assert_eq!(refused.json()["error"]["argument"], "from");
}

#[tokio::test]
async fn a_question_without_an_answer_is_told_so() {
    let installation = TestPage::new();
    installation.remember("ann", "The kiln fires at 1240 degrees.");
    let mut browser = installation.browser("ann").await;
    for (question, is_weak) in [("kiln+fires", false), ("zorblat+quimby", true)] {
        let found = browser.get(&format!("/api/v1/search?q={question}")).await;
        let found = found.json();
        assert_eq!(found["is_weak"], is_weak, "{found}");
        assert_eq!(found["hits"].as_array().unwrap().len(), 1);
        assert_eq!(found["strength"], found["hits"][0]["why"]["strength"]);
        let page = browser.get(&format!("/search?q={question}")).await;
        assert_eq!(page.text.contains("Only loosely related"), is_weak);
    }
}

#[tokio::test]
async fn a_question_says_why_it_does_not_find_a_memory() {
    let installation = TestPage::new();
    let of_pottery = Remember {
        collection: Some("pottery".to_owned()),
        ..Remember::new("The kiln fires at 1240.", "fact")
    };
    let id = installation.remember_as("ann", of_pottery);
    let mut browser = installation.browser("ann").await;
    let rows = [
        ("", "shown"),
        ("&project=pottery", "shown"),
        ("&project=global", "scope"),
        ("&type=rule", "filters"),
        ("&limit=0", "shown"),
    ];
    for (query, cause) in rows {
        let path = format!("/api/v1/explain?q=kiln&id={id}{query}");
        let why = browser.get(&path).await.json();
        assert_eq!(why["cause"], cause, "{query}: {why}");
        for text in ["sentence", "action"] {
            assert!(why[text].as_str().unwrap().ends_with(['.', '?']), "{why}");
        }
        assert_eq!(why["place"], 1, "{query}: {why}");
    }
    let short = browser
        .get(&format!("/explain?q=kiln&id={}", &id[id.len() - 8..]))
        .await;
    assert!(
        short.text.contains("The question finds it"),
        "{}",
        short.text
    );
    assert!(
        browser
            .get(&format!("/memory/{id}"))
            .await
            .text
            .contains("action=\"/explain\"")
    );

    // Another user gets the answer of an id that no memory has.
    let mut bob = installation.browser("bob").await;
    let mut answers = Vec::new();
    for id in [id.as_str(), "0123456789-0123456789"] {
        let reply = bob.get(&format!("/api/v1/explain?q=kiln&id={id}")).await;
        assert_eq!(reply.status, StatusCode::NOT_FOUND);
        answers.push(reply.text.replace(id, "ID"));
    }
    assert_eq!(answers[0], answers[1]);
}

#[tokio::test]
async fn an_agent_sees_the_same_reply() {
    let installation = TestPage::new();
    installation.remember("ann", "The kiln fires at 1240 degrees.");
    let mut browser = installation.browser("ann").await;
    for dialect in loci_dialects::DIALECTS {
        let path = format!("/api/v1/search/agent?q=kiln&dialect={}", dialect.name);
        let shown = browser.get(&path).await.json();
        let Some(tool) = shown["tool"].as_str() else {
            assert_eq!(
                dialect.name, "anthropic",
                "has a tool that searches: {shown}"
            );
            continue;
        };
        let tool = dialect.tool(tool).unwrap();
        let arguments = serde_json::from_str(shown["arguments"].as_str().unwrap()).unwrap();
        let context = loci_dialects::Context {
            engine: &installation.engine,
            caller: &caller("ann"),
        };
        let reply = dialect.call(tool, context, arguments);
        let (text, failed) = match reply {
            Ok(reply) => (reply.text, false),
            Err(error) => (error.message, true),
        };
        assert_eq!(shown["reply"]["text"], text, "{}", dialect.name);
        assert_eq!(shown["reply"]["failed"], failed);
        assert!(shown["reply"]["tokens"].as_u64().unwrap() > 0);
    }
    let refused = browser
        .get("/api/v1/search/agent?q=kiln&dialect=mememory&arguments=%5B%5D")
        .await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_memory_is_shown_byte_for_byte() {
    let installation = TestPage::new();
    let text = "  two lines\r\n\twith tabs \u{202e}and signs <b>&amp;</b>\n";
    let id = installation.remember("ann", text);
    let mut browser = installation.browser("ann").await;
    let shown = browser.get(&format!("/api/v1/memory/{id}")).await.json();
    assert_eq!(shown["content"], text);
    let part = browser
        .get(&format!("/memory/{}", &id[id.len() - 8..]))
        .await;
    assert_eq!(part.status, StatusCode::OK, "a part of an id is enough");
    let unknown = browser.get("/memory/nowhere-to-be-found").await;
    assert_eq!(unknown.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_room_has_pages() {
    let installation = TestPage::new();
    for number in 0..60 {
        installation.remember("ann", &format!("Memory number {number}."));
    }
    let mut browser = installation.browser("ann").await;
    let first = browser
        .get("/api/v1/browse/room?wing=&room=fact")
        .await
        .json();
    assert_eq!(first["total"], 60);
    assert_eq!(first["memories"].as_array().unwrap().len(), 50);
    let page = browser.get("/browse/room?wing=&room=fact").await.text;
    assert!(page.contains("wing=&#38;room=fact&#38;offset=50"), "{page}");
    let second = browser
        .get("/api/v1/browse/room?wing=&room=fact&offset=50")
        .await
        .json();
    assert_eq!(second["memories"].as_array().unwrap().len(), 10);
}

#[tokio::test]
async fn the_page_speaks_the_language_of_the_browser() {
    let installation = TestPage::new();
    let mut browser = installation.browser("ann").await;
    let request = Request::get("/browse").header(ACCEPT_LANGUAGE, "de");
    let german = browser.send(request.body(Body::empty()).unwrap()).await;
    assert!(german.text.contains("<html lang=\"de\">") && german.text.contains("Stöbern"));
    assert_eq!(german.headers[header::CACHE_CONTROL], "no-store");
}

#[tokio::test]
async fn what_is_new_is_what_was_filed_since_the_last_look() {
    let installation = TestPage::new();
    installation.remember("ann", "Filed before.");
    let mut browser = installation.browser("ann").await;
    let first = browser.get("/api/v1/home").await.json();
    assert_eq!(first["since"], serde_json::Value::Null);
    assert_eq!(first["health"]["memories"], 1);
    assert_eq!(first["groups"].as_array().unwrap().len(), 1);
    for _ in 0..2 {
        installation.clock.advance(600);
        for number in 0..60 {
            installation.remember(
                "ann",
                &format!("Filed at {:?} as {number}.", installation.engine.now()),
            );
        }
        let second = browser.get("/api/v1/home").await.json();
        assert_eq!(second["stored_count"], 60);
        assert_ne!(second["since"], serde_json::Value::Null);
        // A reload within minutes is the same look.
        let again = browser.get("/api/v1/home").await.json();
        assert_eq!(
            (&again["stored_count"], &again["since"]),
            (&second["stored_count"], &second["since"])
        );
    }
}

#[tokio::test]
async fn a_failed_view_speaks_the_language_of_the_visitor() {
    let installation = TestPage::new();
    let mut browser = installation.browser("ann").await;
    for (language, title) in [("de", "Etwas ging schief"), ("en", "Something went wrong")] {
        let context = Request::get("/memory/unknown").header(ACCEPT_LANGUAGE, language);
        let failed = browser.send(context.body(Body::empty()).unwrap()).await;
        assert_eq!(failed.status, StatusCode::NOT_FOUND);
        let tag = format!("<html lang=\"{language}\">");
        assert!(failed.text.contains(&tag), "{}", failed.text);
        assert!(failed.text.contains(title), "{}", failed.text);
    }
}

#[tokio::test]
async fn an_installation_is_kept_by_its_owner() {
    let installation = TestPage::new();
    for (user, expected) in [
        ("ann", StatusCode::FORBIDDEN),
        ("local", StatusCode::OK),
        ("admin", StatusCode::OK),
        ("other admin", StatusCode::FORBIDDEN),
    ] {
        let mut browser = installation.browser(user).await;
        assert_eq!(browser.get("/settings").await.status, expected, "{user}");
        let ran = browser.post("/settings/run", &[("task", "backup")]).await;
        assert_eq!(ran.status, expected, "{user}");
        assert_eq!(ran.text.contains("BackUp"), expected == StatusCode::OK);
    }
}

#[tokio::test]
async fn recalls_name_what_came_back_and_the_empty_ones_first() {
    let installation = TestPage::new();
    let id = installation.remember("ann", "The kiln fires at 1240 degrees.");
    let dialect = &loci_dialects::mememory::DIALECT;
    let recall = dialect.tool("recall").unwrap();
    for (query, project) in [("which kiln", None), ("which zebra", Some("nowhere"))] {
        let mut arguments = serde_json::Map::new();
        arguments.insert("query".to_owned(), query.into());
        if let Some(project) = project {
            arguments.insert("project".to_owned(), project.into());
        }
        let context = loci_dialects::Context {
            engine: &installation.engine,
            caller: &loci_core::Caller {
                client: Some("an agent".to_owned()),
                ..caller("ann")
            },
        };
        let _ = dialect.call(recall, context, arguments);
    }
    let mut browser = installation.browser("ann").await;
    browser.get("/search?q=on+the+page").await;
    let shown = browser.get("/api/v1/activity").await.json();
    let of = |index: usize| &shown["calls"][index];
    let context = [&of(0)["call"]["query"], &of(1)["call"]["query"]];
    assert_eq!(shown["figures"]["totals"]["recalls"], 2, "{shown}");
    assert!(
        context.contains(&&serde_json::json!("which kiln")),
        "{shown}"
    );
    let kiln = if of(0)["call"]["query"] == "which kiln" {
        of(0)
    } else {
        of(1)
    };
    assert_eq!(kiln["returned"][0]["id"], id.as_str());
    assert_eq!(kiln["is_weak"], false);
    let zebra = of(0);
    assert_eq!(zebra["call"]["query"], "which zebra", "{shown}");
    assert_eq!(
        (&zebra["is_empty"], &zebra["is_weak"]),
        (&true.into(), &true.into())
    );
    assert_eq!(kiln["call"]["client"], "an agent");
    assert!(kiln["call"]["tokens"].as_u64().unwrap() > 0);
    let mut bob = installation.browser("bob").await;
    let of_bob = bob.get("/api/v1/activity").await.json();
    let recalls = &of_bob["figures"]["totals"]["recalls"];
    assert_eq!(*recalls, 0, "a user sees only the calls of that user");
    assert_eq!(of_bob["calls"].as_array().unwrap().len(), 0);
}

#[tokio::test]
async fn a_search_is_narrowed_to_what_a_program_filed() {
    let installation = TestPage::new();
    let dialect = &loci_dialects::mememory::DIALECT;
    let remember = dialect.tool("remember").unwrap();
    for (program, text) in [
        ("zed", "The kiln fires at 1240 degrees."),
        ("codex", "The kiln cools for a day."),
        ("codex", "The door of the studio is green."),
        ("claude-code", "The glaze is ash."),
    ] {
        let mut arguments = serde_json::Map::new();
        arguments.insert("content".to_owned(), text.into());
        let context = loci_dialects::Context {
            engine: &installation.engine,
            caller: &loci_core::Caller {
                client: Some(program.to_owned()),
                ..caller("ann")
            },
        };
        let _ = dialect.call(remember, context, arguments);
    }
    let mut browser = installation.browser("ann").await;
    let rows: [(&str, &[&str]); 6] = [
        (
            "program=codex",
            &[
                "The door of the studio is green.",
                "The kiln cools for a day.",
            ],
        ),
        ("program=zed", &["The kiln fires at 1240 degrees."]),
        (
            "program=claude-code&program=unknown",
            &["The glaze is ash."],
        ),
        ("q=kiln&program=codex", &["The kiln cools for a day."]),
        ("program=codex&type=note", &[]),
        ("program=unknown", &[]),
    ];
    for (query, expected) in rows {
        let found = browser.get(&format!("/api/v1/search?{query}")).await.json();
        let hits = found["hits"].as_array().unwrap().iter();
        let titles: Vec<_> = hits
            .map(|hit| hit["memory"]["title"].as_str().unwrap())
            .collect();
        let zed = "The kiln fires at 1240 degrees.";
        assert_eq!(titles.contains(&zed), query == "program=zed", "{query}");
        // A question finds others of the program by their meaning, after these.
        let others = if query.starts_with("q=") {
            titles.len() - expected.len()
        } else {
            0
        };
        assert_eq!(titles[..titles.len() - others], *expected, "{query}");
    }
    let facets = browser.get("/api/v1/facets").await.json();
    let facets = facets["facets"].as_array().unwrap();
    let apps = facets.iter().find(|facet| facet["name"] == "program");
    let apps = apps.unwrap()["values"].as_array().unwrap().iter();
    let counts: Vec<_> = apps
        .map(|app| {
            let title = app["title"].as_str().unwrap_or_default();
            (app["value"].as_str().unwrap(), title, &app["memories"])
        })
        .collect();
    let (one, two) = (1.into(), 2.into());
    assert_eq!(
        counts,
        [
            ("codex", "", &two),
            ("claude-code", "Claude Code", &one),
            ("zed", "", &one)
        ]
    );
    let listed = ["/memories?program=codex", "/browse/room?program=codex"];
    for path in listed {
        let list = browser.get(&format!("/api/v1{path}")).await.json();
        assert_eq!(list["total"], 2, "{path}");
    }
    let shown = browser.get("/search?program=claude-code").await.text;
    assert!(shown.contains("App: Claude Code"), "{shown}");
    assert!(shown.contains("· Claude Code"), "{shown}");
    // The memories are for everyone, and so is the app.
    let mut bob = installation.browser("bob").await;
    let found = bob.get("/api/v1/search?program=codex").await.json();
    assert_eq!(found["hits"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_memory_shows_whom_it_stands_for() {
    let installation = TestPage::new();
    let kept = installation.remember(
        "ann",
        "The kiln of the yard fires at 1240 degrees on Monday",
    );
    let repeated = installation.remember("ann", "Note: the kiln of the yard fires at 1240 degrees");
    let caller = caller("ann");
    let system = installation.engine.system(&caller);
    let report = system.consolidation().consolidate(false).unwrap();
    assert_eq!(report.put_behind.len(), 1);
    let mut browser = installation.browser("ann").await;
    let shown = browser.get(&format!("/memory/{kept}")).await;
    assert!(
        shown.text.contains("Searches show it in the place of"),
        "{}",
        shown.text
    );
    assert!(shown.text.contains(&format!("/memory/{repeated}")));
    let shown = browser.get(&format!("/memory/{repeated}")).await;
    assert!(
        shown.text.contains("Searches show this one in its place"),
        "{}",
        shown.text
    );
    assert!(
        shown.text.contains("stands behind another memory"),
        "the version before says why"
    );
    assert!(!shown.text.contains("stands_behind"), "no raw attribute");
    let value = browser.get(&format!("/api/v1/memory/{kept}")).await.json();
    assert_eq!(value["stands_for"][0]["id"], repeated);
    assert_eq!(value["links"].as_array().unwrap().len(), 0);
    let value = browser
        .get(&format!("/api/v1/memory/{repeated}"))
        .await
        .json();
    assert_eq!(value["stands_behind"]["id"], kept);
    let found = browser.get("/api/v1/search?q=kiln").await.json();
    assert_eq!(found["hits"].as_array().unwrap().len(), 1, "{found}");
    assert_eq!(found["hits"][0]["why"]["times_said"], 2, "{found}");
}

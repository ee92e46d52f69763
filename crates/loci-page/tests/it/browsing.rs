//! Search and Browse: filters with counts, pages, orders, and what is done with a selection.

use http::StatusCode;
use loci_core::{MemoryId, Visibility};
use loci_engine::Remember;
use serde_json::Value;

use crate::support::TestPage;

/// Stores memories of two projects, of which two are private to Ann.
fn stocked() -> TestPage {
    let page = TestPage::new();
    let kept = |text: &str, wing: Option<&str>, kind: &str, tags: &[&str]| Remember {
        collection: wing.map(str::to_owned),
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        ..Remember::new(text, kind)
    };
    for number in 0..5 {
        let text = format!("Kiln {number} fires at {} degrees.", 1_200 + number);
        page.remember_as("ann", kept(&text, Some("pottery"), "fact", &["kiln"]));
        page.clock.advance(86_400);
    }
    page.remember_as(
        "ann",
        kept("Glaze twice.", Some("pottery"), "rule", &["glaze", "kiln"]),
    );
    page.clock.advance(40 * 86_400);
    page.remember_as(
        "ann",
        kept("Bake at dawn.", Some("bread"), "rule", &["oven"]),
    );
    page.remember_as("ann", kept("Answer in short sentences.", None, "rule", &[]));
    page.remember_as(
        "bob",
        kept("The oven of Bob is old.", Some("bread"), "fact", &["oven"]),
    );
    page
}

fn names(list: &Value) -> Vec<&str> {
    let list = list.as_array().unwrap().iter();
    list.map(|one| one["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn the_count_of_a_filter_is_that_of_its_results() {
    let page = stocked();
    let mut browser = page.browser("ann").await;
    for query in [
        "",
        "q=kiln",
        "type=rule",
        "wing=pottery&wing=",
        "tag=kiln&type=rule",
        "q=kiln&wing=bread",
        "who=ann",
    ] {
        let facets = browser.get(&format!("/api/v1/facets?{query}")).await.json();
        let all = browser.get(&format!("/api/v1/search?{query}")).await.json();
        assert_eq!(facets["memories"], all["total"], "{query}: {facets}");
        for facet in facets["facets"].as_array().unwrap() {
            let name = facet["name"].as_str().unwrap();
            for value in facet["values"].as_array().unwrap() {
                if value["is_chosen"] == true {
                    continue;
                }
                // Another value of a filter takes the place of the chosen ones; a tag is added.
                let others = query
                    .split('&')
                    .filter(|pair| name == "tag" || !pair.starts_with(&format!("{name}=")));
                let others: Vec<&str> = others.collect();
                let chosen = serde_html_form::to_string([(name, value["value"].as_str().unwrap())]);
                let path = format!("/api/v1/search?{}&{}", others.join("&"), chosen.unwrap());
                let found = browser.get(&path).await.json();
                assert_eq!(found["total"], value["memories"], "{path}: {found}");
            }
        }
        let times = facets["times"].as_array().unwrap().iter();
        let sum: u64 = times.map(|span| span["memories"].as_u64().unwrap()).sum();
        assert_eq!(sum, facets["memories"].as_u64().unwrap(), "{query}");
    }
}

#[tokio::test]
async fn filters_count_what_the_visitor_may_see() {
    let page = stocked();
    let mut bob = page.browser("bob").await;
    let facets = bob.get("/api/v1/facets").await.json();
    assert_eq!(facets["memories"], 1, "{facets}");
    assert_eq!(
        facets["facets"],
        serde_json::json!([]),
        "one value is no choice"
    );
    let mut admin = page.browser("admin").await;
    let facets = admin.get("/api/v1/facets").await.json();
    assert_eq!(facets["memories"], 9);
    assert_eq!(names(&facets["facets"]), ["wing", "type", "tag", "who"]);
    let refused = bob.get("/api/v1/facets?colour=red").await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_filter_needs_no_script_and_can_be_unset() {
    let page = stocked();
    let mut browser = page.browser("ann").await;
    let shown = browser.get("/search?q=kiln").await.text;
    let box_of_rules = "<input type=\"checkbox\" name=\"type\" value=\"rule\" form=\"search-form\"";
    assert!(shown.contains(box_of_rules), "{shown}");
    let shown = browser.get("/search?q=kiln&type=rule&wing=").await.text;
    assert!(
        shown.contains("href=\"/search?q=kiln&#38;type=rule\""),
        "{shown}"
    );
    assert!(
        shown.contains("href=\"/search?q=kiln&#38;wing=\""),
        "{shown}"
    );
}

#[tokio::test]
async fn results_beyond_the_first_page_can_be_reached_and_words_are_marked() {
    let page = TestPage::new();
    for number in 0..57 {
        page.remember("ann", &format!("The kiln of house {number} is hot."));
    }
    let mut browser = page.browser("ann").await;
    for query in ["q=kiln", "type=fact"] {
        let (mut offset, mut seen) = (0, Vec::new());
        loop {
            let path = format!("/api/v1/search?{query}&offset={offset}");
            let found = browser.get(&path).await.json();
            assert_eq!(found["total"], 57, "{path}");
            let hits = found["hits"].as_array().unwrap();
            seen.extend(hits.iter().map(|hit| hit["memory"]["id"].to_string()));
            offset += 20;
            let html = browser
                .get(&format!("/search?{query}&offset={}", offset - 20))
                .await;
            if hits.len() < 20 {
                assert!(!html.text.contains("rel=\"next\""), "{path}");
                break;
            }
            assert!(html.text.contains("rel=\"next\""), "{path}");
        }
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 57, "{query}");
    }
    let typed = browser.get("/search/results?q=kiln").await.text;
    assert!(typed.contains("The <mark>kiln</mark> of house"), "{typed}");
    assert!(!typed.contains("<html"), "{typed}");
}

#[tokio::test]
async fn a_search_is_kept_and_removed() {
    let page = stocked();
    let mut browser = page.browser("ann").await;
    let fields = [("query", "q=kiln&type=rule"), ("name", "kilns")];
    let saved = browser.post("/search/save", &fields).await;
    assert_eq!(saved.location(), "/search?q=kiln&type=rule");
    let listed = browser.get("/search").await.text;
    assert!(
        listed.contains("href=\"/search?q=kiln&#38;type=rule\">kilns</a>"),
        "{listed}"
    );
    let mut bob = page.browser("bob").await;
    assert!(!bob.get("/search").await.text.contains("kilns"));
    browser.post("/search/unsave", &[("name", "kilns")]).await;
    assert!(!browser.get("/search").await.text.contains(">kilns</a>"));
    for (fields, argument) in [
        (&[("query", "?"), ("name", "all")][..], "query"),
        (&[("query", "type=rule")], "name"),
    ] {
        let refused = browser.post("/api/v1/search/save", fields).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST);
        assert_eq!(refused.json()["error"]["argument"], argument);
    }
}

#[tokio::test]
async fn the_last_questions_of_a_person_and_of_agents_are_offered() {
    let page = stocked();
    let dialect = &loci_dialects::mememory::DIALECT;
    let agent = loci_core::Caller {
        client: Some("an agent".to_owned()),
        ..crate::support::caller("ann")
    };
    let context = loci_dialects::Context {
        engine: &page.engine,
        caller: &agent,
    };
    let query = serde_json::Map::from_iter([("query".to_owned(), "what agents ask".into())]);
    let _ = dialect.call(dialect.tool("recall").unwrap(), context, query);
    let mut browser = page.browser("ann").await;
    browser.get("/search?q=what+a+person+asks").await;
    browser.get("/search/results?q=what+is+only+typed").await;
    let shown = browser.get("/search").await.text;
    for (text, is_there) in [
        ("what a person asks", true),
        ("what agents ask", true),
        ("what is only typed", false),
    ] {
        assert_eq!(
            shown.contains(&format!(">{text}</a>")),
            is_there,
            "{text}: {shown}"
        );
    }
}

#[tokio::test]
async fn a_list_has_orders_and_types() {
    let page = stocked();
    let mut browser = page.browser("ann").await;
    let mut first = async |query: &str| {
        let listed = browser
            .get(&format!("/api/v1/browse/room?{query}"))
            .await
            .json();
        let memories = listed["memories"].as_array().unwrap();
        let first = memories[0]["title"].as_str().unwrap().to_owned();
        (
            first,
            listed["total"].as_u64().unwrap(),
            listed["sort"].clone(),
        )
    };
    let rows = [
        ("", "Answer in short sentences.", 8, "newest"),
        ("sort=oldest", "Kiln 0 fires at 1200 degrees.", 8, "oldest"),
        ("sort=smallest", "Glaze twice.", 8, "smallest"),
        (
            "sort=largest&wing=",
            "Answer in short sentences.",
            1,
            "largest",
        ),
        ("wing=pottery&type=rule", "Glaze twice.", 1, "newest"),
        ("tag=kiln&sort=type", "Kiln 4", 6, "type"),
    ];
    for (query, title, total, sort) in rows {
        let (first, count, order) = first(query).await;
        assert!(first.starts_with(title), "{query}: {first}");
        assert_eq!((count, order), (total, sort.into()), "{query}");
    }
    let refused = browser.get("/api/v1/browse?sort=loudest").await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST);
    let shown = browser.get("/browse/room?wing=pottery").await.text;
    assert!(
        shown.contains("newest first") && shown.contains("aria-sort=\"descending\""),
        "{shown}"
    );
    assert!(shown.contains("type=rule\">rule"), "{shown}");
}

#[tokio::test]
async fn all_of_a_list_is_changed_at_once_and_comes_back() {
    let page = stocked();
    let mut browser = page.browser("ann").await;
    let fields = [("all_of", "wing=pottery&type=fact"), ("wing", "kitchen")];
    let moved = browser.post("/selected/move", &fields).await;
    assert_eq!(moved.status, StatusCode::SEE_OTHER, "{}", moved.text);
    let kitchen = browser.get("/api/v1/browse/room?wing=kitchen").await.json();
    assert_eq!(kitchen["total"], 5);
    browser.undo_of(&moved).await;
    let kitchen = browser.get("/api/v1/browse/room?wing=kitchen").await.json();
    assert_eq!(kitchen["total"], 0);
    let wrong = [("all_of", "offset=x")];
    let refused = browser.post("/api/v1/selected/forget", &wrong).await;
    assert_eq!(refused.json()["error"]["argument"], "all_of");
}

#[tokio::test]
async fn what_is_deleted_forever_is_confirmed_by_typing() {
    let page = stocked();
    let mut browser = page.browser("ann").await;
    let id = page.remember("ann", "Delete me.");
    for (typed, status) in [
        ("delete", StatusCode::BAD_REQUEST),
        ("DELETE", StatusCode::SEE_OTHER),
    ] {
        let fields = [("id", id.as_str()), ("typed", typed)];
        let reply = browser.post("/selected/delete", &fields).await;
        assert_eq!(reply.status, status, "{typed}");
    }
    let gone = browser.get(&format!("/memory/{id}")).await;
    assert_eq!(gone.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_selection_is_exported_whole() {
    let page = stocked();
    let long = "A long text. ".repeat(1_000);
    let id = page.remember("ann", &long);
    let mut browser = page.browser("ann").await;
    let file = browser.post("/selected/export", &[("id", &id)]).await;
    assert_eq!(file.status, StatusCode::OK);
    assert_eq!(file.headers["content-type"], "application/x-ndjson");
    let line: Value = serde_json::from_str(file.text.trim()).unwrap();
    assert_eq!(line["content"], long);
    let mut bob = page.browser("bob").await;
    let refused = bob.post("/selected/export", &[("id", &id)]).await;
    assert_eq!(refused.status, StatusCode::NOT_FOUND);
    let none = browser.post("/selected/export", &[]).await;
    assert_eq!(none.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn the_overview_counts_what_is_stored_and_used() {
    let page = stocked();
    page.clock.advance(100 * 86_400);
    page.remember("ann", "New and not used yet.");
    let mut browser = page.browser("ann").await;
    let shown = browser.get("/api/v1/browse/overview").await.json();
    assert_eq!(shown["places"][0]["name"], "pottery", "{shown}");
    let places = shown["places"].as_array().unwrap().iter();
    let sum: u64 = places
        .map(|place| place["memories"].as_u64().unwrap())
        .sum();
    assert_eq!(sum, 9);
    assert_eq!(names(&shown["tags"])[0], "kiln");
    assert_eq!(
        shown["unused"].as_array().unwrap().len(),
        8,
        "not the new one"
    );
    let html = browser.get("/browse/overview").await.text;
    assert!(html.contains("data-memories=\"6\""), "{html}");
}

#[tokio::test]
async fn a_person_learns_why_a_memory_is_missing() {
    let page = stocked();
    let mut browser = page.browser("ann").await;
    let of = |wing: &str| Remember {
        collection: Some(wing.to_owned()),
        ..Remember::new(format!("The vault of {wing} has a red door."), "fact")
    };
    let forgotten = page.remember_as("ann", of("forgotten"));
    browser
        .post("/selected/forget", &[("id", &forgotten)])
        .await;
    let elsewhere = page.remember_as("ann", of("elsewhere"));
    let old = page.remember_as("ann", of("former"));
    page.remember_as(
        "ann",
        Remember {
            supersedes: Some(MemoryId::new(&*old)),
            ..Remember::new("The vault of former has a blue door.", "fact")
        },
    );
    let private = page.remember_as(
        "bob",
        Remember {
            visibility: Visibility::Private,
            ..of("private")
        },
    );
    let rows = [
        (&forgotten, "", "data-cause=\"forgotten\""),
        (&elsewhere, "&project=global", "data-cause=\"scope\""),
        (&old, "", "data-cause=\"replaced\""),
        (&private, "", "private to somebody else"),
    ];
    for (id, more, expected) in rows {
        let path = format!("/explain?q=red+door&id={id}{more}");
        let shown = browser.get(&path).await.text;
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
    let words = browser
        .get("/explain?q=red+door&id=vault+of+elsewhere")
        .await
        .text;
    assert!(words.contains(&format!("id={elsewhere}")), "{words}");
}

#[tokio::test]
async fn an_agents_search_says_which_project_it_lacks() {
    let page = stocked();
    let mut browser = page.browser("ann").await;
    let path = "/api/v1/search/agent?q=how+hot+does+kiln+3+fire";
    let missing = browser.get(path).await.json()["missing"].clone();
    assert_eq!(missing["project"], "pottery", "{missing}");
    assert_eq!(missing["place"], 1, "{missing}");
    assert_eq!(
        (&missing["looked_at"], &missing["all"]),
        (&1.into(), &8.into())
    );
    let shown = browser.get(&format!("{path}&project=pottery")).await.json();
    assert_eq!(shown["missing"], Value::Null, "{shown}");
    assert!(
        shown["arguments"]
            .as_str()
            .unwrap()
            .contains("\"project\":\"pottery\"")
    );
    assert!(
        !shown["reply"]["parts"].as_array().unwrap().is_empty(),
        "{shown}"
    );
}

#[tokio::test]
async fn both_names_of_a_repository_are_one_project_in_every_view() {
    let page = TestPage::new();
    let kept = |text: &str, collection: &str| Remember {
        collection: Some(collection.to_owned()),
        ..Remember::new(text, "fact")
    };
    page.remember_as("ann", kept("The till opens at nine.", "shop"));
    let of_engram = page.remember_as("ann", kept("The till closes at six.", "repo:shop"));
    let mut browser = page.browser("ann").await;
    for path in ["/browse/room?wing=shop", "/browse/room?wing=repo%3Ashop"] {
        let list = browser.get(&format!("/api/v1{path}")).await.json();
        assert_eq!((&list["total"], &list["wing"]), (&2.into(), &"shop".into()));
        let wings: Vec<_> = list["wings"].as_array().unwrap().iter().collect();
        assert_eq!(wings.len(), 1, "{list}");
        assert_eq!(wings[0]["memories"], 2);
        assert_eq!(wings[0]["rooms"].as_array().unwrap().len(), 1);
    }
    let found = browser.get("/api/v1/search?wing=shop").await.json();
    assert_eq!(found["total"], 2);
    let asked = browser.get("/api/v1/search?q=till&wing=shop").await.json();
    assert_eq!(asked["hits"].as_array().unwrap().len(), 2, "{asked}");
    let overview = browser.get("/api/v1/browse/overview").await.json();
    assert_eq!(overview["places"].as_array().unwrap().len(), 1);
    assert_eq!(overview["places"][0]["memories"], 2);
    let home = browser.get("/api/v1/home").await.json();
    assert!(!home.to_string().contains("repo:shop"), "{home}");
    for path in [
        "/",
        "/search",
        "/browse",
        "/browse/overview",
        &format!("/memory/{of_engram}"),
    ] {
        let shown = browser.get(path).await.text;
        assert!(!shown.contains("repo:shop"), "{path}: {shown}");
    }
    // A topic is changed without a change of the name that the tool set gave.
    let fields = [
        ("id", of_engram.as_str()),
        ("wing", "shop"),
        ("room", "till"),
    ];
    browser.post("/selected/move", &fields).await;
    let memories = page.engine.system(&crate::support::caller("ann"));
    let moved = memories
        .memories()
        .show(&MemoryId::new(&of_engram))
        .unwrap();
    assert_eq!(moved.location.collection.as_deref(), Some("repo:shop"));
    assert_eq!(moved.location.section, "till");
}

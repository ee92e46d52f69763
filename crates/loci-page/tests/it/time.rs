//! The facts of an entity, and what people change there.

use axum::body::Body;
use http::header::ACCEPT;
use http::{Request, StatusCode};
use loci_core::{AuditQuery, Space};
use serde_json::{Value, json};

use crate::support::{Browser, Reply, TestPage};

const ROME: [(&str, &str); 5] = [
    ("subject", "Max"),
    ("predicate", "lives in"),
    ("object", "Rome"),
    ("from", "2020-03-01"),
    ("until", "2021-02-28"),
];

async fn with_facts(installation: &TestPage) -> Browser {
    let mut browser = installation.browser("ann").await;
    let bonn = [
        ("subject", "Max"),
        ("predicate", "lives in"),
        ("object", "Bonn"),
        ("from", "2021-03-01"),
    ];
    let knows = [
        ("subject", "Eva"),
        ("predicate", "knows"),
        ("object", "max"),
    ];
    for fields in [&ROME[..], &bonn, &knows] {
        let added = browser.post("/facts/add", fields).await;
        assert_eq!(added.status, StatusCode::SEE_OTHER, "{}", added.text);
    }
    browser
}

/// Returns a view as JSON.
async fn json_of(browser: &mut Browser, path: &str) -> Reply {
    let request = Request::get(path).header(ACCEPT, "application/json");
    browser.send(request.body(Body::empty()).unwrap()).await
}

async fn shown(browser: &mut Browser, query: &str) -> Value {
    let reply = json_of(browser, &format!("/facts?{query}")).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text);
    reply.json()
}

/// The parts of a fact, and whether it holds.
fn said(view: &Value) -> Vec<(String, bool)> {
    let lanes = view["lanes"].as_array().unwrap().iter();
    lanes
        .flat_map(|lane| lane["facts"].as_array().unwrap())
        .map(|fact| {
            let text = |name: &str| fact[name].as_str().unwrap_or("-").to_owned();
            let day = |name: &str| text(name).split('T').next().unwrap().to_owned();
            let line = format!(
                "{} {} {} {} {}",
                text("subject"),
                text("predicate"),
                text("object"),
                day("valid_from"),
                day("valid_to")
            );
            (line, fact["holds"].as_bool().unwrap())
        })
        .collect()
}

/// Returns the fields that name the fact with this object.
fn naming(view: &Value, object: &str) -> Vec<(&'static str, String)> {
    let lanes = view["lanes"].as_array().unwrap().iter();
    let fact = lanes
        .flat_map(|lane| lane["facts"].as_array().unwrap())
        .find(|fact| fact["object"] == object)
        .unwrap();
    ["id", "subject", "predicate", "object"]
        .map(|name| (name, fact[name].as_str().unwrap().to_owned()))
        .to_vec()
}

async fn post(
    browser: &mut Browser,
    path: &str,
    fact: &[(&'static str, String)],
    more: &[(&str, &str)],
) -> Reply {
    let named = fact.iter().map(|(name, value)| (*name, value.as_str()));
    let fields: Vec<_> = named.chain(more.iter().copied()).collect();
    browser.post(path, &fields).await
}

#[tokio::test]
async fn facts_lie_on_lanes_and_hold_on_days() {
    let installation = TestPage::new();
    let mut browser = with_facts(&installation).await;
    let view = shown(&mut browser, "entity=MAX&as_of=2021-02-28").await;
    assert_eq!(view["entity"], "Max", "as it was spelled first");
    assert_eq!(view["entities"], json!(["Bonn", "Eva", "Max", "Rome"]));
    assert_eq!(view["predicates"], json!(["knows", "lives in"]));
    let lanes: Vec<_> = view["lanes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|lane| (lane["predicate"].as_str(), lane["direction"].as_str()))
        .collect();
    let expected = [("lives in", "outgoing"), ("knows", "incoming")];
    assert_eq!(lanes, expected.map(|(name, way)| (Some(name), Some(way))));
    assert_eq!(
        said(&view),
        [
            ("Max lives in Rome 2020-03-01 2021-02-28".to_owned(), true),
            ("Max lives in Bonn 2021-03-01 -".to_owned(), false),
            ("Eva knows Max - -".to_owned(), true),
        ]
    );
    let later = shown(&mut browser, "entity=max&as_of=2021-03-01T12:00:00Z").await;
    let holding: Vec<_> = said(&later).into_iter().map(|(_, holds)| holds).collect();
    assert_eq!(
        (holding, &later["as_of"]),
        (vec![false, true, true], &json!("2021-03-01"))
    );
    let page = browser.get("/facts?entity=max&as_of=2021-02-28").await.text;
    for part in [
        "<svg ",
        "type=\"range\"",
        "type=\"date\"",
        "/time.js\" type=\"module\"",
        "aria-current=\"page\"",
        "<strong data-holding>2</strong>",
        "2020-03-01",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let refused = json_of(&mut browser, "/facts?entity=max&as_of=soon").await;
    assert_eq!(refused.json()["error"]["argument"], "as_of");
}

/// Of two facts that meet at an instant, one holds then, and both on its day.
#[tokio::test]
async fn an_instant_ends_one_fact_and_begins_the_next() {
    let installation = TestPage::new();
    let mut browser = installation.browser("ann").await;
    let moment = "2021-06-02T12:00:00Z";
    for (object, end, time) in [("Rome", "until", moment), ("Bonn", "from", moment)] {
        let fields = [
            ("subject", "Max"),
            ("predicate", "lives in"),
            ("object", object),
            (end, time),
        ];
        let added = browser.post("/facts/add", &fields).await;
        assert_eq!(added.status, StatusCode::SEE_OTHER, "{}", added.text);
    }
    for (as_of, expected) in [
        ("2021-06-02T11:59:59.999999Z", [true, false]),
        (moment, [false, true]),
        ("2021-06-02", [true, true]),
        ("2021-06-03", [false, true]),
    ] {
        let view = shown(&mut browser, &format!("entity=max&as_of={as_of}")).await;
        let holding: Vec<_> = said(&view).into_iter().map(|(_, holds)| holds).collect();
        assert_eq!(holding, expected, "{as_of}");
        assert_eq!(view["as_of"], as_of[..10], "the slider has whole days");
    }
}

#[tokio::test]
async fn without_an_entity_the_names_are_shown() {
    let installation = TestPage::new();
    let mut browser = with_facts(&installation).await;
    let page = browser.get("/facts").await.text;
    assert!(page.contains("href=\"/facts?entity=Rome"), "{page}");
    let unknown = browser.get("/facts?entity=unknown").await.text;
    assert!(unknown.contains("Nothing is noted of this entity."));
    let empty = TestPage::new();
    let mut browser = empty.browser("ann").await;
    assert!(
        browser
            .get("/facts")
            .await
            .text
            .contains("No facts are noted yet.")
    );
}

#[tokio::test]
async fn each_change_of_a_fact_is_taken_back() {
    type Fields<'a> = &'a [(&'a str, &'a str)];
    let right = [
        ("right_subject", "Max"),
        ("right_predicate", "lives in"),
        ("right_object", "Siena"),
        ("from", "2020-04-01"),
        ("source", "a letter"),
    ];
    let rows: [(&str, &str, Fields<'_>, &str); 4] = [
        (
            "/facts/end",
            "Bonn",
            &[("ended", "2022-01-31")],
            "Max lives in Bonn 2021-03-01 2022-01-31",
        ),
        (
            "/facts/end",
            "Rome",
            &[("ended", "2020-12-31")],
            "Max lives in Rome 2020-03-01 2020-12-31",
        ),
        (
            "/facts/correct",
            "Rome",
            &right,
            "Max lives in Siena 2020-04-01 -",
        ),
        (
            "/facts/correct",
            "Bonn",
            &right,
            "Max lives in Siena 2020-04-01 -",
        ),
    ];
    for (path, object, fields, expected) in rows {
        let installation = TestPage::new();
        let mut browser = with_facts(&installation).await;
        let before = shown(&mut browser, "entity=max").await;
        let fact = naming(&before, object);
        let changed = post(&mut browser, path, &fact, fields).await;
        let after = said(&shown(&mut browser, "entity=max").await);
        assert!(
            after.iter().any(|(fact, _)| fact == expected),
            "{path}: {after:?}"
        );
        assert_eq!(after.len(), 3);
        let undone = browser.undo_of(&changed).await;
        assert_eq!(undone.status, StatusCode::SEE_OTHER, "{}", undone.text);
        assert_eq!(
            said(&shown(&mut browser, "entity=max").await),
            said(&before),
            "{path}"
        );
        // A fact that is gone is not changed again.
        let again = post(&mut browser, path, &naming(&before, object), fields).await;
        assert_eq!(again.status, StatusCode::NOT_FOUND, "{}", again.text);
    }
}

/// The objects of facts and their authors.
fn authors(view: &Value) -> Vec<(String, Value)> {
    let lanes = view["lanes"].as_array().unwrap().iter();
    lanes
        .flat_map(|lane| lane["facts"].as_array().unwrap())
        .map(|fact| {
            let object = fact["object"].as_str().unwrap().to_owned();
            (object, fact["author"].clone())
        })
        .collect()
}

#[tokio::test]
async fn a_fact_names_who_asserted_it_also_after_a_change_that_is_taken_back() {
    let installation = TestPage::new();
    let mut ann = with_facts(&installation).await;
    let mut bob = installation.browser("bob").await;
    let oslo = [
        ("subject", "Max"),
        ("predicate", "lives in"),
        ("object", "Oslo"),
    ];
    bob.post("/facts/add", &oslo).await;
    let by = |rows: &[(&str, &str)]| -> Vec<(String, Value)> {
        let rows = rows.iter();
        rows.map(|(object, author)| ((*object).to_owned(), json!(author)))
            .collect()
    };
    let before = by(&[
        ("Oslo", "bob"),
        ("Rome", "ann"),
        ("Bonn", "ann"),
        ("Max", "ann"),
    ]);
    let view = shown(&mut ann, "entity=max").await;
    assert_eq!(authors(&view), before);
    let cells = |page: &str| {
        ["you", "bob", "ann"].map(|author| {
            let told = format!(" · Noted by {author}</p>");
            page.matches(&told).count()
        })
    };
    assert_eq!(cells(&ann.get("/facts?entity=max").await.text), [3, 1, 0]);
    assert_eq!(cells(&bob.get("/facts?entity=max").await.text), [1, 0, 3]);
    let right = [
        ("right_subject", "Max"),
        ("right_predicate", "lives in"),
        ("right_object", "Turin"),
    ];
    let ended = [("ended", "2022-01-31")];
    for (path, fields, changed) in [
        ("/facts/end", &ended[..], ("Oslo", "bob")),
        ("/facts/correct", &right[..], ("Turin", "ann")),
    ] {
        let oslo = naming(&shown(&mut ann, "entity=max").await, "Oslo");
        let done = post(&mut ann, path, &oslo, fields).await;
        let view = shown(&mut ann, "entity=max").await;
        let [expected] = &by(&[changed])[..] else {
            panic!("one row")
        };
        assert!(authors(&view).contains(expected), "{path}: {view}");
        ann.undo_of(&done).await;
        let view = shown(&mut ann, "entity=max").await;
        assert_eq!(authors(&view), before, "{path}");
    }
}

#[tokio::test]
async fn an_added_fact_is_taken_back_and_a_known_one_is_not_added() {
    let installation = TestPage::new();
    let mut browser = installation.browser("ann").await;
    let added = browser.post("/facts/add", &ROME).await;
    assert_eq!(added.location(), "/facts?entity=Max");
    let known = browser.post("/facts/add", &ROME).await;
    let page = browser.get(known.location()).await.text;
    assert!(page.contains("This fact was noted already.") && !page.contains("name=\"number\""));
    let undone = browser.post("/undo", &[("number", "1")]).await;
    assert_eq!(undone.status, StatusCode::SEE_OTHER, "{}", undone.text);
    assert_eq!(said(&shown(&mut browser, "entity=max").await), []);
    let tools: Vec<_> = installation
        .engine
        .audit()
        .entries(&AuditQuery {
            space: Space::default(),
            limit: 10,
            ..AuditQuery::default()
        })
        .unwrap()
        .into_iter()
        .map(|(_, entry)| (entry.tool, entry.records.len()))
        .collect();
    let expected = [("add_fact", 1), ("add_fact", 0), ("undo", 1)];
    assert_eq!(
        tools,
        expected.map(|(tool, records)| (tool.to_owned(), records))
    );
}

#[tokio::test]
async fn what_is_no_fact_is_refused() {
    let installation = TestPage::new();
    let mut browser = with_facts(&installation).await;
    let fact = naming(&shown(&mut browser, "entity=max").await, "Rome");
    let early = post(
        &mut browser,
        "/facts/end",
        &fact,
        &[("ended", "2019-01-01")],
    )
    .await;
    assert_eq!(early.status, StatusCode::BAD_REQUEST);
    let mut reversed = ROME.to_vec();
    reversed[4] = ("until", "2019-01-01");
    let refused = browser.post("/facts/add", &reversed).await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST);
    let mut reader = installation.browser("reader").await;
    let refused = reader.post("/facts/add", &ROME).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
}

/// A corrected fact that starts at an instant keeps it if the form keeps its day.
#[tokio::test]
async fn a_day_of_a_form_stands_for_the_instant_that_it_showed() {
    let installation = TestPage::new();
    let mut browser = installation.browser("ann").await;
    let mut noon = ROME.to_vec();
    noon[3] = ("from", "2020-03-01T12:00:00Z");
    browser.post("/facts/add", &noon).await;
    let fact = naming(&shown(&mut browser, "entity=max").await, "Rome");
    let right = [
        ("right_subject", "Max"),
        ("right_predicate", "lives in"),
        ("right_object", "Roma"),
        ("from", "2020-03-01"),
        ("until", "2021-02-28"),
    ];
    post(&mut browser, "/facts/correct", &fact, &right).await;
    let view = shown(&mut browser, "entity=max").await;
    let fact = &view["lanes"][0]["facts"][0];
    assert_eq!(fact["valid_from"], "2020-03-01T12:00:00Z");
    assert_eq!(fact["object"], "Roma");
}

#[tokio::test]
async fn all_entities_are_listed_with_the_numbers_of_their_facts() {
    let installation = TestPage::new();
    let mut browser = with_facts(&installation).await;
    let listed = json_of(&mut browser, "/facts/entities").await.json();
    let of = |listed: &Value| -> Vec<(String, u64, u64)> {
        let entities = listed["entities"].as_array().unwrap().iter();
        let number = |entity: &Value, name: &str| entity[name].as_u64().unwrap();
        entities
            .map(|entity| {
                let name = entity["name"].as_str().unwrap().to_owned();
                (name, number(entity, "current"), number(entity, "past"))
            })
            .collect()
    };
    let expected = [("Bonn", 1, 0), ("Eva", 1, 0), ("Max", 2, 1), ("Rome", 0, 1)];
    let expected = expected.map(|(name, current, past)| (name.to_owned(), current, past));
    assert_eq!(of(&listed), expected);
    assert_eq!(
        (&listed["total"], &listed["is_cut"]),
        (&json!(4), &json!(false))
    );
    let narrowed = json_of(&mut browser, "/facts/entities?text=%20MA")
        .await
        .json();
    assert_eq!(of(&narrowed), expected[2..3]);
    let beyond = json_of(&mut browser, "/facts/entities?offset=100")
        .await
        .json();
    assert_eq!((of(&beyond), &beyond["total"]), (Vec::new(), &json!(4)));
    let page = browser.get("/facts").await.text;
    assert!(page.contains("href=\"/facts/entities\""));
}

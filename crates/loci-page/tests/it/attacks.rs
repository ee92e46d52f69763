//! Stored texts that try to be more than texts.

use std::sync::LazyLock;

use loci_engine::{NewFact, Remember};

use crate::support::{TestPage, caller};

/// The attacks, which `tests/page/test_conversation.py` repeats in the views of the conversation.
static ATTACKS: LazyLock<Vec<String>> =
    LazyLock::new(|| serde_json::from_str(include_str!("attacks.json")).unwrap());

/// The elements and attributes that a page of loci may have, by what a browser would run or load
/// from them.
fn dangers(html: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = html;
    while let Some((_, tag)) = rest.split_once('<') {
        let end = tag.find('>').unwrap_or(tag.len());
        let inside = &tag[..end];
        rest = &tag[end..];
        let name = inside.split([' ', '\n', '/']).find(|part| !part.is_empty());
        let name = name.unwrap_or_default().to_ascii_lowercase();
        let is_own_script = name == "script" && inside.contains("src=\"/assets/");
        let is_danger = match name.as_str() {
            "script" => !is_own_script && !tag.starts_with('/'),
            "style" | "iframe" | "object" | "embed" | "base" | "img" | "animate" | "math" => {
                !tag.starts_with('/')
            }
            "link" => !inside.contains("href=\"/assets/"),
            "meta" => inside.contains("http-equiv"),
            _ => false,
        };
        let lower = inside.to_ascii_lowercase();
        let has_handler = [" on", "\"on", "'on", " style="]
            .iter()
            .any(|start| without_values(&lower).contains(start));
        let links = ["javascript:", "data:", "vbscript:"];
        let has_link = links.iter().any(|scheme| {
            ["href=\"", "src=\"", "action=\"", "formaction=\""]
                .iter()
                .any(|attribute| lower.contains(&format!("{attribute}{scheme}")))
        });
        if is_danger || has_handler || has_link {
            found.push(inside.to_owned());
        }
    }
    found
}

/// Returns a tag without what is between double quotes.
fn without_values(tag: &str) -> String {
    tag.split('"').step_by(2).collect::<Vec<_>>().join("\"")
}

#[tokio::test]
async fn no_stored_text_is_markup() {
    assert_eq!(ATTACKS.len(), 30);
    let installation = TestPage::new();
    let mut ids = Vec::new();
    for (number, attack) in ATTACKS.iter().enumerate() {
        let place: String = attack.chars().filter(|one| !one.is_control()).collect();
        let attributes = [("speaker".to_owned(), attack.clone())];
        let request = Remember {
            collection: Some(format!("wing {place}")),
            section: Some(place.clone()),
            tags: vec![format!("tag {number} {place}")],
            attributes: attributes.into(),
            ..Remember::new(attack, "fact")
        };
        ids.push(installation.remember_as("ann", request));
        installation.remember("ann", attack);
        let fact = NewFact {
            subject: place.clone(),
            predicate: place.clone(),
            object: format!("object {place}"),
            valid_from: None,
            valid_to: None,
            source: Some(place),
        };
        let ann = installation.engine.system(&caller("ann"));
        ann.graph().add_fact(fact).unwrap();
    }
    let mut browser = installation.browser("ann").await;
    let mut paths: Vec<String> = [
        "/",
        "/browse",
        "/browse/room",
        "/browse/overview",
        "/facts",
        "/review",
    ]
    .map(str::to_owned)
    .into();
    paths.extend(ids.iter().map(|id| format!("/memory/{id}")));
    for attack in ATTACKS.iter() {
        let text = serde_html_form::to_string([("q", attack), ("tag", attack)]).unwrap();
        paths.push(format!("/search?{text}"));
        paths.push(format!("/search/agent?{text}"));
        paths.push(format!("/explain?id={}&{text}", ids[0]));
        paths.push(format!("/sign-in?next={text}"));
        let text = serde_html_form::to_string([("entity", attack)]).unwrap();
        paths.push(format!("/facts?{text}"));
    }
    for path in paths {
        let page = browser.get(&path).await;
        assert_eq!(dangers(&page.text), Vec::<String>::new(), "{path}");
    }
}

#[test]
fn the_test_finds_what_it_looks_for() {
    let rows = [
        "<script>alert(1)</script>",
        "<p onclick=\"alert(1)\">",
        "<a href=\"javascript:alert(1)\">",
        "<img src=x>",
        "<p title=\"a\"onclick=alert(1)>",
        "<p style=\"color: red\">",
    ];
    for html in rows {
        assert!(!dangers(html).is_empty(), "{html}");
    }
    assert!(dangers("<p title=\" onclick=1\"><a href=\"/x\">&lt;script&gt;</a></p>").is_empty());
}

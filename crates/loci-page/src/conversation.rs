//! The pages of the views of the conversation, which hosts show beside the replies of tools (MCP
//! Apps).
//!
//! A page is one file that loads nothing: the tokens of colour of the page, the words in every
//! language, because only the host knows the person's, and scripts. A further view is one more script
//! in `assets/conversation`, one row in [`PAGES`], and one in `loci_dialects::apps::VIEWS`.

use std::collections::BTreeMap;

use data_encoding::BASE64;
use loci_dialects::apps::AppView;
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::text::{Language, Value};

/// The scripts of a page beside what all share, and the message with its title.
struct ViewPage {
    name: &'static str,
    title: &'static str,
    script: &'static str,
}

const PAGES: [ViewPage; 6] = [
    ViewPage {
        name: "found",
        title: "v-found",
        script: include_str!("../assets/conversation/found.js"),
    },
    ViewPage {
        name: "contradiction",
        title: "v-contradiction",
        script: include_str!("../assets/conversation/contradiction.js"),
    },
    ViewPage {
        name: "next",
        title: "v-next",
        script: include_str!("../assets/conversation/next.js"),
    },
    ViewPage {
        name: "facts",
        title: "v-facts",
        script: include_str!("../assets/conversation/facts.js"),
    },
    ViewPage {
        name: "palace",
        title: "v-palace",
        script: include_str!("../assets/conversation/palace.js"),
    },
    ViewPage {
        name: "review",
        title: "v-review",
        script: include_str!("../assets/conversation/review.js"),
    },
];

/// The scripts that all pages share.
const SHARED: &str = concat!(
    include_str!("../assets/conversation/host.js"),
    include_str!("../assets/conversation/memory.js"),
);

/// The style of all pages, behind the tokens.
const STYLE: &str = include_str!("../assets/conversation/view.css");
const PAGE_STYLE: &str = include_str!("../assets/page.css");
/// The beginning of the first rule of the page's style behind its tokens.
const BEHIND_TOKENS: &str = "\n* {";

/// The words of the page that views say, too; the others begin with `v-`.
const WORDS_OF_PAGE: [&str; 26] = [
    "b-match-fair",
    "b-match-strong",
    "b-match-weak",
    "b-why-by-meaning",
    "b-why-by-words",
    "b-why-open",
    "b-words-found",
    "by-app",
    "done-stored",
    "done-undone",
    "edit",
    "error-title",
    "filed-none",
    "forget",
    "global",
    "pin",
    "pinned",
    "replaced",
    "save",
    "share",
    "shared",
    "text",
    "undo",
    "unforget",
    "unpin",
    "unshare",
];

/// Returns the page of a view, whose scripts call the tools of views with `tool_prefix` before their
/// names. A view that has no page is an empty one, which a test rules out.
pub fn conversation_page(view: &AppView, tool_prefix: &str) -> String {
    let page = PAGES.iter().find(|page| page.name == view.name);
    let (title, script) = page.map_or(("error-title", ""), |page| (page.title, page.script));
    let script = [SHARED, script].concat();
    let hash = BASE64.encode(&Sha256::digest(&script));
    let words: BTreeMap<&str, BTreeMap<&str, String>> = Language::all()
        .map(|language| (language.tag(), words(language)))
        .collect();
    let settings = json!({
        "prefix": tool_prefix,
        "title": title,
        "version": env!("CARGO_PKG_VERSION"),
        "words": words,
    });
    // No text can end the element that it stands in.
    let settings = settings.to_string().replace('<', "\\u003c");
    let tokens = PAGE_STYLE.split(BEHIND_TOKENS).next().unwrap_or_default();
    let name = Language::default().message(title, &[]);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'sha256-{hash}'; \
         style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n\
         <title>{name}</title>\n<style>\n{tokens}{STYLE}</style>\n</head>\n<body>\n<main id=\"view\"></main>\n\
         <script type=\"application/json\" id=\"settings\">{settings}</script>\n<script>{script}</script>\n\
         </body>\n</html>\n"
    )
}

/// Returns the words of views in a language, with `{}` in the place of a value.
fn words(language: Language) -> BTreeMap<&'static str, String> {
    let place = || Value::Text("{}".to_owned());
    let own = crate::text::names_beginning("v-");
    own.chain(WORDS_OF_PAGE)
        .map(|name| (name, language.message(name, &[("value", place())])))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use loci_dialects::apps::VIEWS;

    use super::*;

    /// The most bytes of a page.
    const BYTES_MAX: usize = 40_000;

    #[test]
    fn every_view_has_a_page_that_is_small_and_loads_nothing() {
        assert_eq!(VIEWS.len(), PAGES.len());
        for view in VIEWS {
            assert!(PAGES.iter().any(|page| page.name == view.name));
            let page = conversation_page(view, "work_");
            assert!(page.len() <= BYTES_MAX, "{}: {}", view.name, page.len());
            // The name of the elements of pictures, which is not loaded.
            let loaded = page.replace("\"http://www.w3.org/2000/svg\"", "");
            for loads in [
                "src=", "href=", "@import", "url(", "import(", "fetch(", "http://", "https://",
            ] {
                assert!(!loaded.contains(loads), "{}: {loads}", view.name);
            }
            for interprets in [
                "innerHTML",
                "outerHTML",
                "insertAdjacentHTML",
                "document.write",
                "eval(",
            ] {
                assert!(!page.contains(interprets), "{}: {interprets}", view.name);
            }
            assert!(page.contains("\"prefix\":\"work_\""));
            assert!(page.contains("--danger: light-dark(#b3261e, #ff9a8f);"));
        }
    }

    #[test]
    fn scripts_say_no_word_that_is_not_there_and_every_word_is_said() {
        let known: BTreeSet<&str> = words(Language::default()).into_keys().collect();
        let scripts: String = PAGES.iter().map(|page| page.script).collect();
        let scripts = [SHARED, &scripts].concat();
        for rest in scripts.split("say(\"").skip(1) {
            let name = rest.split_once('"').unwrap().0;
            assert!(known.contains(name), "no word `{name}`");
        }
        for name in &known {
            let end = ["-how", "-done"]
                .iter()
                .find_map(|end| name.strip_suffix(end));
            let is_grade = name.starts_with("b-match-");
            let is_said = |name: &str| scripts.contains(&format!("\"{name}\""));
            assert!(
                is_grade || is_said(name) || end.is_some_and(is_said),
                "`{name}` is not said"
            );
        }
    }
}

//! Stored texts as HTML: Markdown by a list of what is allowed. Everything else is shown as text.

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

use crate::encoding::encoded;

/// The schemes of links that a reader can follow.
const SCHEMES: [&str; 3] = ["http://", "https://", "mailto:"];

/// Returns a text as HTML. HTML in the text is shown and not interpreted, images become their
/// descriptions, and links with other schemes than `http`, `https` and `mailto` become their texts.
pub(crate) fn rendered(text: &str) -> String {
    let mut hidden_links = Vec::new();
    let events = Parser::new_ext(
        text,
        Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS,
    )
    .filter_map(|event| match event {
        Event::Html(text) | Event::InlineHtml(text) => Some(Event::Text(text)),
        Event::Start(Tag::HtmlBlock) => Some(Event::Start(Tag::Paragraph)),
        Event::End(TagEnd::HtmlBlock) => Some(Event::End(TagEnd::Paragraph)),
        Event::Start(Tag::Image { .. }) | Event::End(TagEnd::Image) => None,
        Event::Start(Tag::Link { ref dest_url, .. }) => {
            let is_shown = is_followed(dest_url);
            hidden_links.push(!is_shown);
            is_shown.then_some(event)
        }
        Event::End(TagEnd::Link) => (!hidden_links.pop().unwrap_or_default()).then_some(event),
        // The policy of the page lets no text set an attribute but these.
        Event::Start(Tag::Heading { level, .. }) => Some(Event::Start(Tag::Heading {
            level,
            id: None,
            classes: Vec::new(),
            attrs: Vec::new(),
        })),
        Event::Start(Tag::CodeBlock(_)) => Some(Event::Start(Tag::CodeBlock(
            pulldown_cmark::CodeBlockKind::Fenced(CowStr::Borrowed("")),
        ))),
        event => Some(event),
    });
    let mut shown = String::with_capacity(text.len() * 2);
    html::push_html(&mut shown, events);
    shown
}

/// Returns true if a text has more of Markdown than paragraphs.
pub(crate) fn is_formatted(text: &str) -> bool {
    Parser::new_ext(
        text,
        Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS,
    )
    .any(|event| match event {
        Event::Start(tag) => !matches!(tag, Tag::Paragraph | Tag::HtmlBlock),
        Event::Code(_) => true,
        _ => false,
    })
}

/// Returns HTML that was made from Markdown with its wikilinks as links to a search for their names,
/// such as `[[Kiln 2|the kiln]]`.
pub(crate) fn with_links(html: &str) -> String {
    let mut shown = String::with_capacity(html.len());
    let mut rest = html;
    while let Some(start) = rest.find("[[") {
        let (before, link) = rest.split_at(start);
        shown.push_str(before);
        // The text between is escaped already, and has no tags: its quotation marks are entities.
        let inner = link[2..].split_once("]]");
        let is_link =
            |(inner, _): &(&str, &str)| !inner.is_empty() && !inner.contains(['<', '\n', '[']);
        if let Some((inner, after)) = inner.filter(is_link) {
            let (name, label) = inner.split_once('|').unwrap_or((inner, inner));
            let path = format!("/search?q={}", encoded(&unescaped(name)));
            shown.push_str(&format!("<a href=\"{path}\">{label}</a>"));
            rest = after;
        } else {
            shown.push_str("[[");
            rest = &link[2..];
        }
    }
    shown.push_str(rest);
    shown
}

fn unescaped(text: &str) -> String {
    let text = text.replace("&lt;", "<").replace("&gt;", ">");
    text.replace("&quot;", "\"").replace("&amp;", "&")
}

fn is_followed(url: &str) -> bool {
    let url = url.trim_start().to_ascii_lowercase();
    SCHEMES.iter().any(|scheme| url.starts_with(scheme))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wikilinks_lead_to_a_search() {
        let rows = [
            (
                "see [[Kiln 2]].",
                "<p>see <a href=\"/search?q=Kiln%202\">Kiln 2</a>.</p>",
            ),
            (
                "[[a&b|the \"x\"]]",
                "<p><a href=\"/search?q=a%26b\">the \"x\"</a></p>",
            ),
            (
                "[[<b>]]",
                "<p><a href=\"/search?q=%3Cb%3E\">&lt;b&gt;</a></p>",
            ),
            ("[[open", "<p>[[open</p>"),
            ("[[]] [[a\nb]]", "<p>[[]] [[a\nb]]</p>"),
        ];
        for (text, expected) in rows {
            assert_eq!(with_links(&rendered(text)).trim_end(), expected, "{text:?}");
        }
    }

    #[test]
    fn paragraphs_are_no_markdown() {
        let rows = [
            ("One.\n\nTwo <b>.", false),
            ("# a", true),
            ("- a", true),
            ("a `b`", true),
            ("**a**", true),
        ];
        for (text, expected) in rows {
            assert_eq!(is_formatted(text), expected, "{text:?}");
        }
    }

    #[test]
    fn what_is_stored_is_never_markup() {
        let rows = [
            (
                "<script>alert(1)</script>",
                "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>",
            ),
            (
                "a <img src=x onerror=alert(1)> b",
                "<p>a &lt;img src=x onerror=alert(1)&gt; b</p>",
            ),
            ("[x](javascript:alert(1))", "<p>x</p>"),
            ("[x](JaVaScRiPt:alert(1))", "<p>x</p>"),
            ("[x](data:text/html,1)", "<p>x</p>"),
            ("![alt](https://a.example/x.png)", "<p>alt</p>"),
            (
                "[x](https://a.example)",
                "<p><a href=\"https://a.example\">x</a></p>",
            ),
            ("# a", "<h1>a</h1>"),
            (
                "[a [b](javascript:x) c](https://a.example)",
                "<p>[a b c](https://a.example)</p>",
            ),
        ];
        for (text, expected) in rows {
            assert_eq!(rendered(text).trim_end(), expected, "{text:?}");
        }
    }
}

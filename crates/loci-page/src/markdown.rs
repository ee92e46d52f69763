//! Stored texts as HTML: Markdown by a list of what is allowed. Everything else is shown as text.

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

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

fn is_followed(url: &str) -> bool {
    let url = url.trim_start().to_ascii_lowercase();
    SCHEMES.iter().any(|scheme| url.starts_with(scheme))
}

#[cfg(test)]
mod tests {
    use super::*;

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

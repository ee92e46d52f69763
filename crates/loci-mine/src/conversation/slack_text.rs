//! Slack's own markup as words: mentions with names, links with their titles, and its escapes undone.

use std::collections::HashMap;

use serde_json::Value;

/// The escapes of Slack, and the ones that other programs add. `&amp;` is the last one, because
/// what it stands for starts no other.
const ESCAPES: [(&str, &str); 5] = [
    ("&lt;", "<"),
    ("&gt;", ">"),
    ("&#39;", "'"),
    ("&quot;", "\""),
    ("&amp;", "&"),
];
/// The deepest nesting of blocks that is read.
const DEPTH_MAX: usize = 16;

/// Names by ids.
pub(super) struct SlackNames {
    pub(super) people: HashMap<String, String>,
    pub(super) channels: HashMap<String, String>,
}

impl SlackNames {
    fn person(&self, id: &str) -> String {
        format!("@{}", self.people.get(id).map_or(id, String::as_str))
    }

    fn channel(&self, id: &str) -> String {
        format!("#{}", self.channels.get(id).map_or(id, String::as_str))
    }
}

/// The words of a text in Slack's markup.
pub(super) fn of_markup(text: &str, names: &SlackNames) -> String {
    let mut words = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        words.push_str(before);
        match after.split_once('>') {
            // In a text, Slack writes every other `<` as an escape.
            Some((mark, after)) if !mark.contains(['<', '\n']) => {
                words.push_str(&of_mark(mark, names));
                rest = after;
            }
            _ => {
                words.push('<');
                rest = after;
            }
        }
    }
    words.push_str(rest);
    unescaped(words)
}

fn unescaped(words: String) -> String {
    if !words.contains('&') {
        return words;
    }
    ESCAPES.iter().fold(words, |words, (escape, letter)| {
        words.replace(escape, letter)
    })
}

/// The words of what stands between `<` and `>`.
fn of_mark(mark: &str, names: &SlackNames) -> String {
    let (target, label) = match mark.split_once('|') {
        Some((target, label)) => (target, Some(label).filter(|label| !label.is_empty())),
        None => (mark, None),
    };
    let labelled = |sign: &str, label: &str| format!("{sign}{}", label.trim_start_matches(sign));
    if let Some(id) = target.strip_prefix('@') {
        match label.filter(|_| !names.people.contains_key(id)) {
            Some(label) => labelled("@", label),
            None => names.person(id),
        }
    } else if let Some(id) = target.strip_prefix('#') {
        label.map_or_else(|| names.channel(id), |label| labelled("#", label))
    } else if let Some(command) = target.strip_prefix('!') {
        let name = command.split('^').next().unwrap_or(command);
        match (name, label) {
            ("date", Some(label)) => label.to_owned(),
            (_, Some(label)) => labelled("@", label),
            (name, None) => format!("@{name}"),
        }
    } else {
        let address = target.strip_prefix("mailto:").unwrap_or(target);
        match label.filter(|label| *label != address && !address.ends_with(&format!("//{label}"))) {
            Some(label) => format!("{label} ({address})"),
            None => address.to_owned(),
        }
    }
}

/// The words of a block.
pub(super) fn of_block(block: &Value, names: &SlackNames) -> String {
    let mut words = String::new();
    add_block(block, names, &mut words, 0);
    words.trim_end().to_owned()
}

fn add_block(block: &Value, names: &SlackNames, words: &mut String, depth: usize) {
    if depth > DEPTH_MAX {
        return;
    }
    let text = |name: &str| block[name].as_str().unwrap_or_default();
    match text("type") {
        "text" => words.push_str(text("text")),
        "mrkdwn" => words.push_str(&of_markup(text("text"), names)),
        "plain_text" => words.push_str(&unescaped(text("text").to_owned())),
        "user" => words.push_str(&names.person(text("user_id"))),
        "channel" => words.push_str(&names.channel(text("channel_id"))),
        "usergroup" => words.push_str(&format!("@{}", text("usergroup_id"))),
        "broadcast" => words.push_str(&format!("@{}", text("range"))),
        "emoji" => words.push_str(&format!(":{}:", text("name"))),
        "link" => {
            let (address, title) = (text("url"), text("text"));
            words.push_str(&if title.is_empty() || title == address {
                address.to_owned()
            } else {
                format!("{title} ({address})")
            });
        }
        _ => {
            for name in ["text", "title", "label", "description"] {
                if block[name].is_object() {
                    add_block(&block[name], names, words, depth + 1);
                    words.push('\n');
                }
            }
            for name in ["fields", "elements"] {
                for inner in block[name].as_array().into_iter().flatten() {
                    add_block(inner, names, words, depth + 1);
                    if name == "fields" || block["type"] == "rich_text_list" {
                        words.push('\n');
                    }
                }
            }
            let ends = [
                "rich_text_section",
                "rich_text_quote",
                "rich_text_preformatted",
            ];
            if ends.contains(&text("type")) && !words.ends_with('\n') {
                words.push('\n');
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn names() -> SlackNames {
        let named = |id: &str, name: &str| HashMap::from([(id.to_owned(), name.to_owned())]);
        SlackNames {
            people: named("U7", "Cleo Brewer"),
            channels: named("C7", "leaves"),
        }
    }

    #[test]
    fn markup_becomes_words() {
        for (text, expected) in [
            ("Tea?", "Tea?"),
            ("<@U7> pours", "@Cleo Brewer pours"),
            ("<@U8>, <@U9|dora>", "@U8, @dora"),
            ("<#C7> <#C8|cups> <#C9>", "#leaves #cups #C9"),
            (
                "<!here> <!subteam^S1|@brewers> <!channel>",
                "@here @brewers @channel",
            ),
            ("at <!date^17^{time}|four>", "at four"),
            (
                "<https://example.org/a|the pot>",
                "the pot (https://example.org/a)",
            ),
            (
                "<https://example.org> <http://a.example|a.example>",
                "https://example.org http://a.example",
            ),
            ("<mailto:a@example.org|a@example.org>", "a@example.org"),
            ("1 &lt; 2 &amp;&amp; 3 &gt; 2", "1 < 2 && 3 > 2"),
            ("&amp;lt;", "&lt;"),
            ("a < b\n> c", "a < b\n> c"),
        ] {
            assert_eq!(of_markup(text, &names()), expected, "{text}");
        }
    }

    #[test]
    fn blocks_become_words() {
        let rich = json!({"type": "rich_text", "elements": [
            {"type": "rich_text_section", "elements": [
                {"type": "user", "user_id": "U7"}, {"type": "text", "text": " pours "},
                {"type": "link", "url": "https://example.org", "text": "tea"}, {"type": "emoji", "name": "tea"}]},
            {"type": "rich_text_list", "elements": [
                {"type": "rich_text_section", "elements": [{"type": "text", "text": "one"}]},
                {"type": "rich_text_section", "elements": [{"type": "text", "text": "two"}]}]}]});
        assert_eq!(
            of_block(&rich, &names()).replace("\n\n", "\n"),
            "@Cleo Brewer pours tea (https://example.org):tea:\none\ntwo"
        );
        let section = json!({"type": "section", "text": {"type": "mrkdwn", "text": "<@U7> &amp; co"},
            "fields": [{"type": "plain_text", "text": "four"}]});
        assert_eq!(of_block(&section, &names()), "@Cleo Brewer & co\nfour");
        assert_eq!(of_block(&json!({"type": "divider"}), &names()), "");
        assert_eq!(of_block(&json!(7), &names()), "");
    }
}

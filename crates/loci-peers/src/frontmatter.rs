//! The keys at the head of a Markdown file, as YAML.

use serde_json::{Map, Value};

/// The line before and after the keys.
const RULE: &str = "---";
/// The largest size of the keys in bytes.
const BYTES_MAX: usize = 64 << 10;

/// Returns the keys of a text and what follows them. A text whose head is no YAML has no keys, and
/// follows whole.
pub fn split(text: &str) -> (Map<String, Value>, &str) {
    let whole = text.strip_prefix('\u{feff}').unwrap_or(text);
    keys(whole).unwrap_or_else(|| (Map::new(), whole))
}

fn keys(text: &str) -> Option<(Map<String, Value>, &str)> {
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().filter(|line| line.trim_end() == RULE)?;
    let mut end = first.len();
    for line in lines {
        if line.trim_end() == RULE {
            let yaml = &text[first.len()..end];
            if yaml.len() > BYTES_MAX {
                return None;
            }
            let Ok(Value::Object(keys)) = serde_saphyr::from_str(yaml) else {
                return None;
            };
            return Some((keys, &text[end + line.len()..]));
        }
        end += line.len();
    }
    None
}

/// Returns the value of a key as a text that is not blank.
pub fn text(keys: &Map<String, Value>, key: &str) -> Option<String> {
    let text = match keys.get(key)? {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    (!text.trim().is_empty()).then_some(text)
}

/// Returns the tags: a list, or words with commas, each without its `#`.
pub fn tags(keys: &Map<String, Value>) -> Vec<String> {
    let tags: Vec<String> = match keys.get("tags") {
        Some(Value::Array(tags)) => tags
            .iter()
            .filter_map(|tag| match tag {
                Value::String(tag) => Some(tag.clone()),
                Value::Number(tag) => Some(tag.to_string()),
                _ => None,
            })
            .collect(),
        Some(Value::String(tags)) => tags.split(',').map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    let tags = tags
        .iter()
        .map(|tag| tag.trim().trim_start_matches('#').to_owned());
    tags.filter(|tag| !tag.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_told_from_the_text() {
        let (keys, body) = split("---\r\ntitle: 'a: b '\r\ntags: x\r\n---\r\n\r\nbody");
        assert_eq!(text(&keys, "title").as_deref(), Some("a: b "));
        assert_eq!(body, "\r\nbody");
        assert_eq!(
            tags(&split("---\ntags: [a, '#b', 7]\n---\n").0),
            ["a", "b", "7"]
        );
        assert_eq!(tags(&split("---\ntags: 'a, #b'\n---\n").0), ["a", "b"]);
        for whole in [
            "",
            "no head",
            "---\ntitle: never closed\n",
            "---\n: [\n---\n",
            "---\n- a list\n---\n",
        ] {
            let (keys, body) = split(whole);
            assert!(keys.is_empty(), "{whole}");
            assert_eq!(body, whole);
        }
    }
}

//! The keys and values of git's configuration, as git-config(1) has them. What a configuration
//! includes is not read.

/// A value of a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// The section in lower case and, after a dot, its own name: `core`, `remote.origin`.
    pub(super) section: String,
    /// The key in lower case.
    key: String,
    /// The value without its quotes, escapes and comment.
    pub(super) value: String,
}

impl Entry {
    /// Returns true if it is a value of this key, in lower case, in a section with this beginning.
    pub(super) fn is(&self, section: &str, key: &str) -> bool {
        self.section.starts_with(section) && self.key == key
    }
}

/// The values of a configuration, in order.
pub(super) fn entries(configuration: &str) -> Vec<Entry> {
    let (mut section, mut entries) = (String::new(), Vec::new());
    for mut line in configuration.lines().map(str::trim) {
        if let Some((name, rest)) = line.strip_prefix('[').and_then(header) {
            (section, line) = (name, rest.trim_start());
        }
        if let Some((key, value)) = line.split_once('=')
            && !key.trim_start().starts_with(['#', ';'])
        {
            entries.push(Entry {
                section: section.clone(),
                key: key.trim().to_lowercase(),
                value: value_of(value),
            });
        }
    }
    entries
}

/// The last value of a key in the section `core`.
pub(super) fn core_value(configuration: &str, key: &str) -> Option<String> {
    let key = key.to_lowercase();
    let all = entries(configuration).into_iter().rev();
    let mut of_core = all.filter(|entry| entry.section == "core" && entry.key == key);
    of_core.next().map(|entry| entry.value)
}

/// Returns whether a value means true.
pub(super) fn is_true(value: &str) -> bool {
    ["true", "yes", "on", "1"]
        .iter()
        .any(|word| value.eq_ignore_ascii_case(word))
}

/// The name of a section behind its `[`, and what follows its `]`.
fn header(text: &str) -> Option<(String, &str)> {
    let end = text.find(['"', ']'])?;
    let name = text[..end].trim().to_lowercase();
    let Some(quoted) = text[end..].strip_prefix('"') else {
        return Some((name, &text[end + 1..]));
    };
    let (mut own, mut characters) = (String::new(), quoted.char_indices());
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => {
                let rest = quoted[at + 1..].split_once(']')?.1;
                return Some((format!("{name}.{own}"), rest));
            }
            '\\' => own.extend(characters.next().map(|(_, character)| character)),
            _ => own.push(character),
        }
    }
    None
}

/// A value without its quotes, escapes and comment.
fn value_of(text: &str) -> String {
    let (mut value, mut is_quoted, mut end) = (String::new(), false, 0);
    let mut characters = text.trim_start().chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => is_quoted = !is_quoted,
            '#' | ';' if !is_quoted => break,
            '\\' => value.extend(characters.next()),
            _ => value.push(character),
        }
        if is_quoted || !character.is_whitespace() {
            end = value.len();
        }
    }
    value.truncate(end);
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_keys_and_values_are_read_as_git_does() {
        let text = "[Core] bare = false ; no\n# a = b\n[remote \"Tea]\\\"s\"]\n\tURL = \"a#b\" # c\n\
                    fetch\n[branch.x]\nremote=tea\n";
        let found: Vec<_> = entries(text)
            .into_iter()
            .map(|entry| (entry.section, entry.key, entry.value))
            .collect();
        let expected = [
            ("core", "bare", "false"),
            ("remote.Tea]\"s", "url", "a#b"),
            ("branch.x", "remote", "tea"),
        ];
        let expected =
            expected.map(|(section, key, value)| (section.into(), key.into(), value.into()));
        assert_eq!(found, expected);
        let odd = entries("[\n[a\n[b \"\n=\n");
        assert!(odd.iter().all(|entry| entry.section.is_empty()));
        assert_eq!(core_value("[core]\na=1\nA=2\n", "a").as_deref(), Some("2"));
    }
}

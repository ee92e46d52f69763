//! The entry of a server in the settings of a host: its common forms, and the question whether it
//! is an entry of loci.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value, json};

/// The keys of an entry that say how the host reaches the server. Hosts differ in the ones that
/// they have.
const CONNECTION_KEYS: [&str; 12] = [
    "type",
    "source",
    "transport",
    "command",
    "cmd",
    "args",
    "url",
    "httpUrl",
    "serverUrl",
    "uri",
    "headers",
    "bearer_token_env_var",
];
/// The keys that hold a program, or a program with its arguments.
const COMMAND_KEYS: [&str; 2] = ["command", "cmd"];
/// The keys that hold a URL.
const URL_KEYS: [&str; 4] = ["url", "httpUrl", "serverUrl", "uri"];
/// Characters that stay as they are in the value of a query.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Makes an entry of the form that most hosts have.
pub fn command_and_args(_name: &str, program: &str, arguments: &[String]) -> Value {
    json!({"command": program, "args": arguments})
}

/// Escapes a value for the query of a URL.
pub fn query_value(text: &str) -> String {
    utf8_percent_encode(text, PLAIN).to_string()
}

/// The server that an entry names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// The host starts the program with these arguments.
    Stdio {
        /// The program.
        program: String,
        /// The arguments.
        arguments: Vec<String>,
    },
    /// The host connects to the URL.
    Http {
        /// The URL.
        url: String,
    },
}

impl Target {
    /// Returns the server that an entry of any host names; `None` if it names none.
    pub fn of(entry: &Value) -> Option<Self> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let entry = entry.get("transport").unwrap_or(entry);
        let command = COMMAND_KEYS.into_iter().find_map(|key| entry.get(key));
        let words: Option<Vec<String>> = match command {
            Some(Value::Array(words)) => words.iter().map(text).collect(),
            Some(program) => {
                let arguments = entry.get("args").and_then(Value::as_array);
                let words = std::iter::once(program).chain(arguments.into_iter().flatten());
                words.map(text).collect()
            }
            None => None,
        };
        if let Some((program, arguments)) = words.as_deref().and_then(<[String]>::split_first) {
            return Some(Target::Stdio {
                program: program.clone(),
                arguments: arguments.to_vec(),
            });
        }
        let url = URL_KEYS.into_iter().find_map(|key| entry.get(key))?;
        Some(Target::Http { url: text(url)? })
    }
}

/// The marks by which an entry of loci is told from one of another program.
#[derive(Debug, Clone, Copy)]
pub struct OwnEntry<'a> {
    /// The name of the file of this program, which the user may have changed; `None` if it is
    /// unknown.
    pub file_name: Option<&'a str>,
    /// The names of all dialects.
    pub dialects: &'a [&'a str],
}

impl OwnEntry<'_> {
    /// Returns the dialect of an entry of loci; `None` for any other entry.
    pub fn dialect_of(&self, entry: &Value) -> Option<&str> {
        let last = match Target::of(entry)? {
            Target::Stdio { program, arguments } => {
                let name = program.rsplit(['/', '\\']).next().unwrap_or_default();
                let is_loci = ["loci", "loci.exe"].contains(&name) || self.file_name == Some(name);
                let [.., command, dialect] = arguments.as_slice() else {
                    return None;
                };
                (is_loci && command == "mcp").then(|| dialect.clone())?
            }
            Target::Http { url } => {
                let path = url.split(['?', '#']).next().unwrap_or_default();
                let (_, dialect) = path.rsplit_once("/mcp/")?;
                dialect.trim_end_matches('/').to_owned()
            }
        };
        self.dialects.iter().copied().find(|name| *name == last)
    }
}

/// Returns the entry `new` with the keys that the user added to the entry `old`, e.g. a timeout,
/// and without keys of another kind of connection.
pub fn merged(old: &Value, new: &Value) -> Value {
    let (Some(old), Some(new)) = (old.as_object(), new.as_object()) else {
        return new.clone();
    };
    let mut merged = Map::new();
    for (key, before) in old {
        match new.get(key) {
            Some(after) if CONNECTION_KEYS.contains(&key.as_str()) => {
                merged.insert(key.clone(), merged_part(before, after));
            }
            None if CONNECTION_KEYS.contains(&key.as_str()) => {}
            // The user may have switched the server off.
            _ => {
                merged.insert(key.clone(), before.clone());
            }
        }
    }
    for (key, value) in new {
        if !merged.contains_key(key) {
            merged.insert(key.clone(), value.clone());
        }
    }
    Value::Object(merged)
}

/// Returns the value of a key of the connection: a transport is an entry of its own, headers of the
/// user stay.
fn merged_part(old: &Value, new: &Value) -> Value {
    if new.get("type").is_some() {
        return merged(old, new);
    }
    match (old.as_object(), new.as_object()) {
        (Some(old), Some(new)) => {
            let mut all = old.clone();
            all.extend(new.clone());
            Value::Object(all)
        }
        _ => new.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: OwnEntry<'_> = OwnEntry {
        file_name: Some("loci-renamed"),
        dialects: &["mememory", "vault"],
    };

    #[test]
    fn entries_of_loci_are_told_from_others() {
        for (entry, expected) in [
            (
                json!({"command": "loci", "args": ["mcp", "vault"]}),
                Some("vault"),
            ),
            (
                json!({"command": r"C:\bin\loci.exe", "args": ["--data", "x", "mcp", "vault"]}),
                Some("vault"),
            ),
            (
                json!({"command": ["/b/loci-renamed", "mcp", "vault"]}),
                Some("vault"),
            ),
            (
                json!({"cmd": "loci", "args": ["mcp", "mememory"]}),
                Some("mememory"),
            ),
            (
                json!({"transport": {"command": "loci", "args": ["mcp", "mememory"]}}),
                Some("mememory"),
            ),
            (
                json!({"httpUrl": "http://127.0.0.1:7821/mcp/vault"}),
                Some("vault"),
            ),
            (
                json!({"uri": "https://h.example/x/mcp/vault/?a=b"}),
                Some("vault"),
            ),
            (json!({"url": "https://h.example/mcp/other"}), None),
            (json!({"url": "https://h.example/vault"}), None),
            (json!({"command": "loci", "args": ["mcp", "other"]}), None),
            (json!({"command": "loci", "args": ["serve"]}), None),
            (json!({"command": "tee", "args": ["mcp", "vault"]}), None),
            (json!({"command": "loci", "args": ["mcp", 3]}), None),
            (json!({"command": []}), None),
            (json!({}), None),
            (json!("loci"), None),
        ] {
            assert_eq!(OWN.dialect_of(&entry), expected, "{entry}");
        }
    }

    #[test]
    fn keys_of_the_user_stay() {
        let old = json!({"command": "old", "args": [], "timeout": 3, "enabled": false});
        let new = json!({"url": "u", "headers": {"Authorization": "x"}, "enabled": true});
        assert_eq!(
            merged(&old, &new),
            json!({"timeout": 3, "enabled": false, "url": "u", "headers": {"Authorization": "x"}})
        );
        let old = json!({"url": "u", "headers": {"X": "mine", "Authorization": "y"}});
        assert_eq!(
            merged(&old, &new),
            json!({"url": "u", "headers": {"X": "mine", "Authorization": "x"}, "enabled": true})
        );
        let old =
            json!({"transport": {"type": "a", "command": "loci", "args": []}, "disabled": true});
        let new = json!({"transport": {"type": "b", "url": "u"}});
        assert_eq!(
            merged(&old, &new),
            json!({"transport": {"type": "b", "url": "u"}, "disabled": true})
        );
    }
}

//! The form in which a client gets the tools of a dialect: their names, and how much of a reply.

use loci_core::{Error, Result};
use loci_dialects::{Dialect, Tool, apps};

/// The maximum length of a prefix: hosts take names of 64 characters, and the longest of a tool has
/// 29.
const PREFIX_CHARACTERS_MAX: usize = 32;

/// A dialect in the form in which a client gets it.
#[derive(Clone)]
pub struct ServedDialect {
    /// The dialect.
    pub dialect: &'static Dialect,
    /// True to leave out structured content and the schemas of replies: a host that shows its model
    /// both forms of a reply has it pay twice.
    pub is_compact: bool,
    /// The prefix of the names of the tools, if they have one.
    pub prefix: Option<ToolPrefix>,
}

impl From<&'static Dialect> for ServedDialect {
    fn from(dialect: &'static Dialect) -> Self {
        ServedDialect {
            dialect,
            is_compact: false,
            prefix: None,
        }
    }
}

impl ServedDialect {
    /// Returns the name of a tool as clients see it.
    pub(crate) fn name_of(&self, tool: &Tool) -> String {
        match &self.prefix {
            Some(prefix) => prefix.before(tool.name),
            None => tool.name.to_owned(),
        }
    }

    /// Returns the tool that has this name for clients.
    pub(crate) fn tool(&self, name: &str) -> Option<&'static Tool> {
        let name = match &self.prefix {
            Some(prefix) => name.strip_prefix(prefix.as_str())?.strip_prefix('_')?,
            None => name,
        };
        self.dialect.tool(name)
    }

    /// Returns the tool of views that has this name for clients.
    pub(crate) fn tool_of_views(&self, name: &str) -> Option<&'static Tool> {
        apps::tool(name.strip_prefix(&self.name_prefix())?)
    }

    /// Returns the text that stands before every name.
    pub(crate) fn name_prefix(&self) -> String {
        self.prefix
            .as_ref()
            .map_or_else(String::new, |prefix| prefix.before(""))
    }

    /// Returns a text about the tools with their names as clients see them.
    pub(crate) fn text_about_tools(&self, text: &str) -> String {
        let Some(prefix) = &self.prefix else {
            return text.to_owned();
        };
        let named = |text: String, tool: &Tool| {
            let seen = prefix.before(tool.name);
            text.replace(&format!("`{}`", tool.name), &format!("`{seen}`"))
        };
        self.dialect.tools.iter().fold(text.to_owned(), named)
    }

    /// Returns the instructions for a model.
    pub(crate) fn instructions(&self) -> String {
        let instructions = self.text_about_tools(self.dialect.instructions);
        match &self.prefix {
            Some(prefix) if !instructions.is_empty() => format!(
                "{instructions}\n\nHere the names of tools start with `{prefix}_`; replies name them without it.",
                prefix = prefix.as_str()
            ),
            _ => instructions,
        }
    }
}

/// What stands before the names of tools, so that an agent may have two tool sets with a tool of the
/// same name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolPrefix(String);

impl ToolPrefix {
    /// Takes a prefix of 1 to 32 letters, digits, `_` and `-` of ASCII, of which the first is a
    /// letter.
    ///
    /// # Errors
    /// `invalid_argument`, naming the argument, for another text.
    pub fn parse(argument: &str, text: &str) -> Result<Self> {
        let is_known = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        let fits = text.len() <= PREFIX_CHARACTERS_MAX
            && text.starts_with(|first: char| first.is_ascii_alphabetic())
            && text.bytes().all(is_known);
        if fits {
            return Ok(ToolPrefix(text.to_owned()));
        }
        let problem = format!(
            "must be 1 to {PREFIX_CHARACTERS_MAX} letters, digits, `_` and `-`, and start with a letter"
        );
        Err(Error::invalid(argument, problem))
    }

    fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the prefix, an underscore and the name.
    fn before(&self, name: &str) -> String {
        format!("{}_{name}", self.0)
    }
}

/// Returns true if the query of a URL asks for the compact form: `compact`, `compact=1` or any other
/// value but `0`, `false`, `no` and `off`.
pub(crate) fn asks_for_compact(query: Option<&str>) -> bool {
    let asks = |pair: &str| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let is_no = ["0", "false", "no", "off"].contains(&value.to_ascii_lowercase().as_str());
        key == "compact" && !is_no
    };
    query.unwrap_or_default().split('&').any(asks)
}

#[cfg(test)]
mod tests {
    use loci_dialects::{DIALECTS, memory_mcp};

    use super::*;

    #[test]
    fn a_prefix_is_before_every_name() {
        for dialect in DIALECTS {
            let served = ServedDialect {
                prefix: Some(ToolPrefix::parse("--prefix", &"p".repeat(32)).unwrap()),
                ..ServedDialect::from(*dialect)
            };
            for tool in dialect.tools {
                let name = served.name_of(tool);
                assert!(name.len() <= 64, "{name}");
                assert_eq!(served.tool(&name).unwrap().name, tool.name);
                assert!(served.tool(tool.name).is_none());
                let mention = format!("`{}`", tool.name);
                assert!(!served.instructions().contains(&mention), "{mention}");
            }
        }
        let plain = ServedDialect::from(&memory_mcp::DIALECT);
        assert_eq!(plain.instructions(), memory_mcp::DIALECT.instructions);
        assert!(plain.tool("store_memory").is_some());
    }

    #[test]
    fn prefixes() {
        for text in ["a", "work", "My-2nd_one", &"a".repeat(32)] {
            assert_eq!(ToolPrefix::parse("--prefix", text).unwrap().as_str(), text);
        }
        for text in ["", "_a", "1a", "a b", "ä", "a.b", &"a".repeat(33)] {
            let error = ToolPrefix::parse("--prefix", text).unwrap_err();
            assert!(error.message.starts_with("`--prefix` must be"), "{text}");
        }
    }

    #[test]
    fn queries() {
        for query in [
            "compact",
            "compact=1",
            "a=b&compact=true",
            "compact=0&compact",
        ] {
            assert!(asks_for_compact(Some(query)), "{query}");
        }
        for query in ["", "compact=0", "compact=False", "compacted", "a=compact"] {
            assert!(!asks_for_compact(Some(query)), "{query}");
        }
        assert!(!asks_for_compact(None));
    }
}

//! Marks of texts on a terminal: bold, dim and one colour, unless `NO_COLOR` asks for none.

use std::env;
use std::fmt::{self, Display, Formatter};
use std::io::{self, IsTerminal};

/// The marks that texts get, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Styles {
    is_on: bool,
}

/// A text between the codes of a mark. It must be escaped already.
pub struct Marked<T> {
    code: &'static str,
    text: T,
    is_on: bool,
}

impl Styles {
    /// Returns the marks for stdout: none if it is no terminal or one without them, or if
    /// `NO_COLOR` is set.
    pub fn of_stdout() -> Self {
        let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
        let has_marks = env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb")
            || cfg!(windows);
        Styles {
            is_on: io::stdout().is_terminal() && has_marks && !is_set("NO_COLOR"),
        }
    }

    /// Returns all marks, whatever stdout is.
    #[cfg(test)]
    pub const fn marking() -> Self {
        Styles { is_on: true }
    }

    /// Marks what a line is about.
    pub fn bold<T: Display>(self, text: T) -> Marked<T> {
        self.marked("\u{1b}[1m", text)
    }

    /// Marks what matters less.
    pub fn dim<T: Display>(self, text: T) -> Marked<T> {
        self.marked("\u{1b}[2m", text)
    }

    /// Marks what was looked for, or what needs attention.
    pub fn bright<T: Display>(self, text: T) -> Marked<T> {
        self.marked("\u{1b}[1;33m", text)
    }

    fn marked<T>(self, code: &'static str, text: T) -> Marked<T> {
        let is_on = self.is_on;
        Marked { code, text, is_on }
    }
}

impl<T: Display> Display for Marked<T> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        if self.is_on {
            write!(formatter, "{}{}\u{1b}[0m", self.code, self.text)
        } else {
            self.text.fmt(formatter)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_ends_where_its_text_does() {
        let on = Styles::marking();
        assert_eq!(on.bold("x").to_string(), "\u{1b}[1mx\u{1b}[0m");
        let off = Styles { is_on: false };
        assert_eq!(
            format!("{}{}{}", off.bold("x"), off.dim("y"), off.bright("z")),
            "xyz"
        );
    }
}

//! The values of settings, each parsed from its text.

use std::net::SocketAddr;
use std::time::Duration;

use super::{DefaultValue, Setting, ValueType};

/// A text setting without a flag, alias and default.
pub(super) const UNNAMED: Setting = Setting {
    key: "",
    flag: None,
    variable: "",
    alias: None,
    default: DefaultValue::Unset,
    form: ValueType::Text,
    meaning: "",
    check: |_, _| Ok(()),
};

/// A value of a setting.
pub trait Value: Sized {
    /// Parses the text of a value.
    ///
    /// # Errors
    /// A sentence about the value, without its subject, if it cannot be used.
    fn parse(form: ValueType, text: &str) -> Result<Self, String>;
}

impl Value for String {
    fn parse(form: ValueType, text: &str) -> Result<Self, String> {
        match form {
            ValueType::Choice(choices) if !choices.contains(&text) => {
                Err(format!("is `{text}`; give one of {}", choices.join(", ")))
            }
            _ => Ok(text.to_owned()),
        }
    }
}

impl Value for Vec<String> {
    fn parse(_: ValueType, text: &str) -> Result<Self, String> {
        let items = text.split(',').map(str::trim);
        Ok(items
            .filter(|item| !item.is_empty())
            .map(str::to_owned)
            .collect())
    }
}

impl Value for Duration {
    fn parse(_: ValueType, text: &str) -> Result<Self, String> {
        match text.parse::<u32>() {
            Ok(seconds) if seconds > 0 => Ok(Duration::from_secs(seconds.into())),
            _ => Err(format!(
                "is `{text}`; give a whole number of seconds above zero"
            )),
        }
    }
}

impl Value for u64 {
    fn parse(form: ValueType, text: &str) -> Result<Self, String> {
        let (min, max) = match form {
            ValueType::Whole { min, max } => (min, max),
            _ => (0, u64::MAX),
        };
        match text.parse() {
            Ok(number) if (min..=max).contains(&number) => Ok(number),
            _ => Err(format!(
                "is `{text}`; give a whole number from {min} to {max}"
            )),
        }
    }
}

impl Value for f64 {
    fn parse(form: ValueType, text: &str) -> Result<Self, String> {
        let max = match form {
            ValueType::Number { max } => max,
            _ => f64::MAX,
        };
        match text.parse() {
            Ok(number) if (0.0..=max).contains(&number) => Ok(number),
            _ => Err(format!("is `{text}`; give a number from 0 to {max}")),
        }
    }
}

impl Value for bool {
    fn parse(_: ValueType, text: &str) -> Result<Self, String> {
        text.parse()
            .map_err(|_| format!("is `{text}`; give true or false"))
    }
}

impl Value for SocketAddr {
    fn parse(_: ValueType, text: &str) -> Result<Self, String> {
        text.parse().map_err(|_| {
            format!(
                "is `{text}`; give an IP address with a port, such as 127.0.0.1:7821 or [::1]:7821"
            )
        })
    }
}

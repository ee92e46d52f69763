//! Ids and names of spaces: opaque, compared byte by byte.

use std::fmt;

use crate::limits::{ID_BYTES_MAX, NAME_CHARACTERS_MAX};
use crate::{Error, Result, check_name};

/// The id of a memory: opaque and unique in its space, in the format of the tool set that created
/// it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MemoryId(String);

impl MemoryId {
    /// Parses an id that a caller sent in the argument `argument`.
    ///
    /// # Errors
    /// `invalid_argument` if it is blank, holds a control character or is longer than
    /// [`ID_BYTES_MAX`].
    pub fn parse(argument: &str, id: &str) -> Result<Self> {
        if id.trim().is_empty() {
            return Err(Error::invalid(
                argument,
                "must not be blank; give the id of a memory",
            ));
        }
        if id.len() > ID_BYTES_MAX || id.chars().any(char::is_control) {
            let problem =
                format!("is no id: at most {ID_BYTES_MAX} bytes without control characters");
            return Err(Error::invalid(argument, problem));
        }
        Ok(MemoryId(id.to_owned()))
    }

    /// Wraps an id that loci itself created or stored.
    pub fn new(id: impl Into<String>) -> Self {
        MemoryId(id.into())
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for MemoryId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The unit of isolation: nothing in one space is visible from another.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Space(String);

impl Space {
    /// Parses the name of a space that a person entered.
    ///
    /// # Errors
    /// `invalid_argument` if it is blank, holds a control character or is longer than
    /// [`NAME_CHARACTERS_MAX`].
    pub fn parse(argument: &str, name: &str) -> Result<Self> {
        if check_name(argument, name).is_err() {
            let problem = format!(
                "must be 1 to {NAME_CHARACTERS_MAX} characters, not blank, without control characters"
            );
            return Err(Error::invalid(argument, problem));
        }
        Ok(Space(name.to_owned()))
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for Space {
    /// Returns the space of a single-user installation, `main`.
    fn default() -> Self {
        Space("main".to_owned())
    }
}

impl fmt::Display for Space {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

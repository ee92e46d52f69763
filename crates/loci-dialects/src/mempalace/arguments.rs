//! Names of wings, rooms and agents, and the validation of arguments.

use loci_core::characters::is_control;
use loci_core::{CollectionFilter, Error, MemoryId, Result, Tier};
use loci_engine::{Call, LocationNouns, ResolvedLocations};
use unicode_normalization::char::is_combining_mark;

use super::times::period;
use crate::window::WindowNames;

/// The wing of memories without a collection.
pub const GLOBAL_WING: &str = "global";
/// The maximum number of characters of a name.
const NAME_CHARACTERS_MAX: usize = 128;
/// The parts of a place, as messages name them.
pub const NOUNS: LocationNouns = LocationNouns {
    collection: "wing",
    section: "room",
};

/// The `reason` in a reply if nothing was added.
pub const ALREADY_EXISTS: &str = "already_exists";

/// The arguments with the time in which drawers were filed.
pub const FILED: WindowNames = WindowNames {
    since: "since",
    before: "before",
};

/// Validates and trims the name of a wing, a room or an agent that is to be written: 1 to 128
/// characters, the first and the last a letter or digit of any script, no `/`, `\`, `..` or control
/// character.
///
/// # Errors
/// `invalid_argument`, naming the argument.
pub fn place_name(argument: &str, name: &str) -> Result<String> {
    self::name(argument, name).map(|()| name.trim().to_owned())
}

/// Validates such a name. Ignores blanks around it.
///
/// # Errors
/// `invalid_argument`, naming the argument.
pub fn name(argument: &str, name: &str) -> Result<()> {
    let name = name.trim();
    if name.is_empty() {
        return Err(Error::invalid(argument, "must not be blank; give a name"));
    }
    if name.chars().count() > NAME_CHARACTERS_MAX {
        return Err(Error::invalid(
            argument,
            format!("must have at most {NAME_CHARACTERS_MAX} characters"),
        ));
    }
    if name.contains(['/', '\\']) || name.contains("..") || name.chars().any(is_control) {
        return Err(Error::invalid(
            argument,
            "must not hold `/`, `\\`, `..` or control characters",
        ));
    }
    // A combining mark after the last letter belongs to that letter.
    let last = name.trim_end_matches(is_combining_mark);
    if !name.starts_with(char::is_alphanumeric) || !last.ends_with(char::is_alphanumeric) {
        return Err(Error::invalid(
            argument,
            "must begin and end with a letter or a digit",
        ));
    }
    Ok(())
}

/// Returns the collection of the wing with exactly this name.
pub fn collection(wing: impl AsRef<str>) -> Option<String> {
    let wing = wing.as_ref();
    (wing != GLOBAL_WING).then(|| wing.to_owned())
}

/// Returns the wing of a collection.
pub fn wing(collection: Option<String>) -> String {
    collection.unwrap_or_else(|| GLOBAL_WING.to_owned())
}

/// Returns the filter only for this wing.
pub fn wing_filter(wing: &str) -> CollectionFilter {
    collection(wing).map_or(CollectionFilter::Global, CollectionFilter::Only)
}

/// Returns the filter only for this wing, or for every wing if `None`.
pub fn collections(wing: Option<&str>) -> CollectionFilter {
    wing.map_or(CollectionFilter::Any, wing_filter)
}

/// Returns a filter argument exactly as given, since names from other tool sets may have blanks
/// around them; `None` if it is blank.
pub fn asked(argument: Option<String>) -> Option<String> {
    argument.filter(|text| !text.trim().is_empty())
}

/// Returns a written argument without blanks around it; `None` if it is blank.
pub fn given(argument: Option<String>) -> Option<String> {
    argument
        .map(|text| text.trim().to_owned())
        .filter(|text| !text.is_empty())
}

/// The wing and the room that a filter resolves to.
pub struct ResolvedPlace {
    /// The wing; `None` for any.
    pub wing: Option<String>,
    /// The room; `None` for any.
    pub room: Option<String>,
    /// A notice if one of the names does not exist.
    pub notice: Option<String>,
}

/// Resolves a filter to existing names, as [`named`](loci_engine::Listings::named) does. The names
/// are taken exactly as given, since names from other tool sets may have blanks around them; a
/// blank name filters nothing.
///
/// # Errors
/// `unavailable` if the store cannot be read.
pub fn resolve_place(
    call: &Call<'_>,
    wing: Option<String>,
    room: Option<String>,
) -> Result<ResolvedPlace> {
    let (wing, room) = (asked(wing), asked(room));
    let (collections, sections) = (collections(wing.as_deref()), room.into_iter().collect());
    let tiers = [Tier::LongTerm, Tier::Unlisted];
    let ResolvedLocations {
        collections,
        mut sections,
        notice,
    } = call
        .listings()
        .named(NOUNS, &tiers, collections, sections)?;
    let wing = match collections {
        CollectionFilter::Only(name) | CollectionFilter::GlobalAnd(name) => Some(name),
        CollectionFilter::Global => Some(GLOBAL_WING.to_owned()),
        CollectionFilter::Any | CollectionFilter::AnyNamed | CollectionFilter::AnyOf(_) => None,
    };
    Ok(ResolvedPlace {
        wing,
        room: sections.pop(),
        notice,
    })
}

/// The rule of the id of a drawer.
///
/// # Errors
/// `invalid_argument` for a text that cannot be an id.
pub fn drawer_id(name: &str, id: &str) -> Result<()> {
    MemoryId::parse(name, id).map(drop)
}

/// The rule of a time of the knowledge graph.
///
/// # Errors
/// `invalid_argument` for a text that is no time.
pub fn time(name: &str, text: &str) -> Result<()> {
    period(name, Some(text)).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_any_script_are_taken_without_the_blanks_around_them() {
        let longest = "\u{e9}".repeat(NAME_CHARACTERS_MAX);
        for text in [
            "a",
            "7",
            "my project",
            "a-b_c.d",
            " padded\t",
            "e\u{301}",
            "日本語",
            "ที่",
            "हिन्दी",
            "O'Neil's",
            &longest,
        ] {
            assert_eq!(place_name("wing", text).unwrap(), text.trim(), "{text:?}");
        }
    }

    #[test]
    fn other_names_are_refused_with_what_is_wrong() {
        let too_long = "a".repeat(NAME_CHARACTERS_MAX + 1);
        let rows = [
            ("", "`room` must not be blank; give a name"),
            (" \t", "`room` must not be blank; give a name"),
            (&too_long, "`room` must have at most 128 characters"),
            (
                "a/b",
                "`room` must not hold `/`, `\\`, `..` or control characters",
            ),
            (
                "a\\b",
                "`room` must not hold `/`, `\\`, `..` or control characters",
            ),
            (
                "a..b",
                "`room` must not hold `/`, `\\`, `..` or control characters",
            ),
            (
                "a\0b",
                "`room` must not hold `/`, `\\`, `..` or control characters",
            ),
            (
                "a\nb",
                "`room` must not hold `/`, `\\`, `..` or control characters",
            ),
            (".a", "`room` must begin and end with a letter or a digit"),
            ("a-", "`room` must begin and end with a letter or a digit"),
            ("_", "`room` must begin and end with a letter or a digit"),
            (
                "\u{301}a",
                "`room` must begin and end with a letter or a digit",
            ),
        ];
        for (text, expected) in rows {
            assert_eq!(
                place_name("room", text).unwrap_err().message,
                expected,
                "{text:?}"
            );
        }
    }

    #[test]
    fn global_is_no_collection() {
        assert_eq!(
            (collection("global"), wing(None)),
            (None, "global".to_owned())
        );
        assert_eq!(
            collection(" global "),
            Some(" global ".to_owned()),
            "which other tools may have filed under"
        );
        assert_eq!(
            (collection("Global"), wing(Some("a".to_owned()))),
            (Some("Global".to_owned()), "a".to_owned())
        );
        assert_eq!(collections(None), CollectionFilter::Any);
        assert_eq!(collections(Some("global")), CollectionFilter::Global);
    }
}

//! Why a part of an export is no entry.

use std::str::Utf8Error;

/// The reason why a part of an export is no entry. Its text follows the place of the part, e.g.
/// `line 3`, and holds nothing of the record, which its source may quote.
#[derive(Debug, thiserror::Error)]
pub enum EntryProblem {
    /// It is larger than any part that loci writes.
    #[error("has more than {bytes_max} bytes, as no {noun} has")]
    TooLarge {
        /// The most bytes.
        bytes_max: u64,
        /// What such a part holds, e.g. a record.
        noun: &'static str,
    },
    /// It is no text.
    #[error("is damaged: it is no UTF-8")]
    NotText(#[from] Utf8Error),
    /// It is no JSON, or not that of a record.
    #[error("{}", problem(.0))]
    NotRecord(#[from] serde_json::Error),
    /// The file of a memory does not begin as loci writes it.
    #[error("is damaged: it has no frontmatter as exports have it")]
    NoFrontmatter,
    /// A field in the file of a memory is no JSON.
    #[error("is damaged: its `{name}` is no JSON")]
    Field {
        /// The name of the field.
        name: String,
        /// What the parser found.
        source: serde_json::Error,
    },
    /// A field is in the file of a memory twice.
    #[error("is damaged: it has `{0}` twice")]
    FieldTwice(String),
    /// A value is not one that loci writes.
    #[error("is damaged: {0}")]
    Value(#[from] ValueProblem),
    /// The note has no file in this folder of the export.
    #[error("is of a note whose file is missing among those in {0}")]
    NoFile(&'static str),
    /// The file of the note cannot be read.
    #[error("{}", .0.message)]
    File(#[from] loci_core::Error),
}

/// The reason why a value of a record is not one that loci writes.
#[derive(Debug, thiserror::Error)]
pub enum ValueProblem {
    /// A number is outside of its range.
    #[error("a weight is not from 0 to 1, or a similarity not from -1 to 1")]
    Number(#[from] loci_core::Error),
    /// Another reason.
    #[error("{0}")]
    Other(&'static str),
}

impl From<&'static str> for ValueProblem {
    fn from(problem: &'static str) -> Self {
        ValueProblem::Other(problem)
    }
}

/// Describes the problem of a record without any of its content.
pub fn problem(error: &serde_json::Error) -> String {
    // These messages only contain names of fields.
    const OF_FIELDS: [&str; 4] = [
        "unknown variant",
        "unknown field",
        "missing field",
        "duplicate field",
    ];
    let words = error.to_string();
    match error.classify() {
        serde_json::error::Category::Eof => "is cut off".to_owned(),
        serde_json::error::Category::Data
            if OF_FIELDS
                .iter()
                .any(|beginning| words.starts_with(beginning)) =>
        {
            let words = words.split(", expected").next().unwrap_or_default();
            let words = words.split(" at line").next().unwrap_or_default();
            format!(
                "is no record that this loci knows: {}",
                words.replace("variant", "kind")
            )
        }
        _ if error.column() == 0 => {
            "is damaged: it is no record as this loci knows them".to_owned()
        }
        _ => format!("is damaged, about at its character {}", error.column()),
    }
}

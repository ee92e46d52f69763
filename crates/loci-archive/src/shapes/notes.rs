//! The serde forms of files of notes in exports.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use loci_core::{
    ContentHash, FileProblem, FileProblemKind, FileStamp, MemoryId, NoteFile, Space, Timestamp,
};
use loci_vault::FileCopy;
use serde::{Deserialize, Serialize};
use serde_with::serde_as;

use crate::entry_problem::ValueProblem;
use crate::text_forms::{AsText, Rfc3339Time};
use crate::{Note, NoteBytes};

#[serde_as]
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportNote {
    #[serde_as(as = "AsText")]
    pub space: Space,
    pub path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known: Option<ExportKnownNote>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<ExportFile>,
}

#[serde_as]
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportKnownNote {
    bytes: u64,
    modified_nanoseconds: i64,
    is_settled: bool,
    #[serde_as(as = "AsText")]
    hash: ContentHash,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde_as(as = "Option<AsText>")]
    memory: Option<MemoryId>,
    says_id: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    links: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde_as(as = "Option<ProblemForm>")]
    problem: Option<FileProblem>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde_as(as = "Option<Rfc3339Time>")]
    missing_since: Option<Timestamp>,
}

#[serde_as]
#[derive(Serialize, Deserialize)]
#[serde(remote = "FileProblem", deny_unknown_fields)]
pub struct ProblemForm {
    #[serde_as(as = "AsText")]
    kind: FileProblemKind,
    message: String,
}

/// A file with neither text nor base64 lies next to the export.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportFile {
    #[serde(skip_serializing_if = "Option::is_none")]
    modified_nanoseconds: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
}

/// Returns the time of a stamp without the digits below a microsecond, which follow from the time of
/// change of the file here: wherever it is imported, it is another file.
fn to_microsecond(nanoseconds: i64) -> i64 {
    nanoseconds.div_euclid(1_000).saturating_mul(1_000)
}

impl From<Note> for ExportNote {
    fn from(note: Note) -> Self {
        let known = |file: NoteFile| ExportKnownNote {
            bytes: file.stamp.bytes,
            modified_nanoseconds: to_microsecond(file.stamp.modified_nanoseconds),
            is_settled: file.is_settled,
            hash: file.hash,
            memory: file.memory,
            says_id: file.says_id,
            links: file.links,
            problem: file.problem,
            missing_since: file.missing_since,
        };
        let file = |bytes: NoteBytes| match bytes {
            NoteBytes::Beside => ExportFile {
                modified_nanoseconds: None,
                text: None,
                base64: None,
            },
            NoteBytes::Inline(FileCopy {
                bytes,
                modified_nanoseconds,
            }) => {
                let (text, base64) = match String::from_utf8(bytes) {
                    Ok(text) => (Some(text), None),
                    Err(error) => (None, Some(BASE64_STANDARD.encode(error.as_bytes()))),
                };
                ExportFile {
                    modified_nanoseconds: Some(modified_nanoseconds),
                    text,
                    base64,
                }
            }
        };
        ExportNote {
            space: note.space,
            path: note.path,
            known: note.known.map(|file| known(*file)),
            file: note.file.map(file),
        }
    }
}

impl TryFrom<ExportNote> for Note {
    type Error = ValueProblem;

    fn try_from(
        ExportNote {
            space,
            path,
            known,
            file,
        }: ExportNote,
    ) -> Result<Self, ValueProblem> {
        let known = known.map(|known| {
            Box::new(NoteFile {
                path: path.clone(),
                stamp: FileStamp {
                    bytes: known.bytes,
                    modified_nanoseconds: known.modified_nanoseconds,
                },
                is_settled: known.is_settled,
                hash: known.hash,
                memory: known.memory,
                says_id: known.says_id,
                links: known.links,
                problem: known.problem,
                missing_since: known.missing_since,
            })
        });
        let file = file.map(
            |ExportFile {
                 modified_nanoseconds,
                 text,
                 base64,
             }|
             -> Result<NoteBytes, ValueProblem> {
                let bytes = match (text, base64) {
                    (None, None) => return Ok(NoteBytes::Beside),
                    (Some(text), None) => text.into_bytes(),
                    (None, Some(base64)) => match BASE64_STANDARD.decode(base64) {
                        Ok(bytes) => bytes,
                        Err(_) => return Err("its `base64` cannot be decoded".into()),
                    },
                    (Some(_), Some(_)) => return Err("it has `text` and `base64`".into()),
                };
                let modified_nanoseconds =
                    modified_nanoseconds.ok_or("its file has no `modified_nanoseconds`")?;
                Ok(NoteBytes::Inline(FileCopy {
                    bytes,
                    modified_nanoseconds,
                }))
            },
        );
        Ok(Note {
            space,
            path,
            known,
            file: file.transpose()?,
        })
    }
}

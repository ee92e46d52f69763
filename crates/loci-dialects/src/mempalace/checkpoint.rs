//! The tool `mempalace_checkpoint`: files the texts of a session and writes its diary entry.

use std::collections::BTreeMap;

use loci_core::{CollectionFilter, Error, ErrorCode, Result, Scope};
use loci_engine::{Call, SimilarMemory, SimilarQuery, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::add_drawer::{FiledDrawer, file};
use super::arguments::{given, name, place_name, wing};
use super::diary_write::{DiaryEntry, WrittenEntry, write_once};
use super::record::ADDED_BY;
use crate::wire::{both, rounded};
use crate::{Hints, Reply, TypedTool};

/// The most texts in one call.
const ITEMS_MAX: usize = 100;
/// The default of `dedup_threshold`.
const THRESHOLD_DEFAULT: f64 = 0.9;
/// The most drawers that are named as duplicates of a text.
const MATCHES_MAX: usize = 5;
/// The decimal places of a similarity, and the most that rounding to these adds.
const DIGITS: i32 = 4;
const ROUNDING: f64 = 0.000_1;
/// The topic of a diary entry if its writer gives none.
const TOPIC_DEFAULT: &str = "session-checkpoint";
/// Who files the texts, if neither they nor the diary name an agent.
const ADDED_BY_DEFAULT: &str = "checkpoint";

pub struct FileSession;

/// Save a session in one call: file each text that is not filed yet, in these words or others, and
/// write an entry in your diary. A repeated call adds nothing; a text that cannot be filed leaves
/// the others as they are.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The texts, word for word (100 at most).
    #[schemars(length(max = ITEMS_MAX))]
    items: Vec<Item>,
    /// The entry for your diary.
    diary: Option<Diary>,
    /// The similarity from which a text counts as filed: 0.9 if left out, 1 for the same text.
    #[schemars(range(min = 0.0, max = 1.0))]
    dedup_threshold: Option<f64>,
    /// Who files the texts: the agent of the diary, if left out.
    added_by: Option<String>,
}

/// A text to file.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// The person or project, or `global`.
    wing: String,
    /// Its subject.
    room: String,
    /// The text (at most 1 MiB). No secrets.
    content: String,
}

/// An entry for a diary.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Diary {
    /// Your name, the same each time.
    agent_name: String,
    /// The text. No secrets.
    entry: String,
    /// Its subject.
    topic: Option<String>,
    /// The wing to write it in; your own, if left out.
    wing: Option<String>,
}

/// The session as it was saved.
#[derive(Serialize, JsonSchema)]
pub struct SavedSession {
    /// The drawers that were filed, in the order of the texts.
    added: Vec<FiledDrawer>,
    /// The texts that were there already.
    duplicates: Vec<Duplicate>,
    /// The texts that were not filed, and the entry that was not written.
    errors: Vec<ItemError>,
    /// The entry of the diary.
    #[serde(skip_serializing_if = "Option::is_none")]
    diary: Option<WrittenEntry>,
}

#[derive(Serialize, JsonSchema)]
struct Duplicate {
    /// The number of the text in the list, from 0.
    item: usize,
    /// The room that was named for it.
    room: String,
    /// The drawers that say the same, nearest first: five at most.
    matches: Vec<NearDrawer>,
}

#[derive(Serialize, JsonSchema)]
struct NearDrawer {
    /// The id of the drawer.
    id: String,
    /// Its wing.
    wing: String,
    /// Its room.
    room: String,
    /// Its similarity, 0 to 1.
    similarity: f64,
}

#[derive(Serialize, JsonSchema)]
struct ItemError {
    /// The number of the text in the list, from 0; absent for the diary.
    #[serde(skip_serializing_if = "Option::is_none")]
    item: Option<usize>,
    /// The problem, and the remedy.
    error: String,
}

impl ItemError {
    /// Returns the error of a text or of the diary, which the others outlive.
    ///
    /// # Errors
    /// The error, if no argument is at fault: then all fail.
    fn of(item: Option<usize>, error: Error) -> Result<Self> {
        match error.code {
            ErrorCode::InvalidArgument | ErrorCode::TooLarge => Ok(ItemError {
                item,
                error: error.message,
            }),
            _ => Err(error),
        }
    }
}

impl TypedTool for FileSession {
    const NAME: &'static str = "mempalace_checkpoint";
    const TITLE: &'static str = "Save a session";
    const SCOPE: Scope = Scope::Write;
    // The reply names drawers that are there.
    const FURTHER_SCOPES: &'static [Scope] = &[Scope::Read];
    const HINTS: Hints = Hints::ADDS_ONCE;
    const OPERATION: &'static str = "memory:write";
    type Arguments = Arguments;
    type Output = SavedSession;

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let threshold = arguments.dedup_threshold.unwrap_or(THRESHOLD_DEFAULT);
        let agent = || {
            given(
                arguments
                    .diary
                    .as_ref()
                    .map(|diary| diary.agent_name.clone()),
            )
        };
        let added_by = given(arguments.added_by)
            .or_else(agent)
            .unwrap_or_else(|| ADDED_BY_DEFAULT.to_owned());
        let mut saved = SavedSession {
            added: Vec::new(),
            duplicates: Vec::new(),
            errors: Vec::new(),
            diary: None,
        };
        let mut notice = None;
        for (index, item) in arguments.items.into_iter().enumerate() {
            match saved.file(call, index, item, &added_by, threshold) {
                Ok(further) => notice = notice.or(further),
                Err(error) => saved.errors.push(ItemError::of(Some(index), error)?),
            }
        }
        if let Some(diary) = arguments.diary {
            match write(call, diary) {
                Ok((written, further)) => {
                    notice = notice.or(further);
                    saved.diary = Some(written);
                }
                Err(error) => saved.errors.push(ItemError::of(None, error)?),
            }
        }
        let unfiled = match saved.errors.len() {
            0 => None,
            errors => Some(format!(
                "{errors} of the texts were not saved: see `errors`, and repeat the call with these mended"
            )),
        };
        Ok(Reply::json(&saved, None)?.with_notice(both(unfiled, notice)))
    }
}

impl SavedSession {
    /// Files a text unless one like it is there; returns a notice about it.
    fn file(
        &mut self,
        call: &Call<'_>,
        index: usize,
        item: Item,
        added_by: &str,
        threshold: f64,
    ) -> Result<Option<String>> {
        let argument = |part: &str| format!("items.{index}.{part}");
        let place = [
            place_name(&argument("wing"), &item.wing)?,
            place_name(&argument("room"), &item.room)?,
        ];
        check::content(&argument("content"), &item.content)?;
        let query = SimilarQuery {
            collections: CollectionFilter::Any,
            limit: MATCHES_MAX,
            cosine_min: (threshold - ROUNDING) as f32,
        };
        let found = call.search().find_duplicates(&item.content, &query)?;
        let matches: Vec<NearDrawer> = found
            .similar
            .into_iter()
            .map(NearDrawer::from)
            .filter(|near| near.similarity >= threshold)
            .collect();
        if !matches.is_empty() {
            self.duplicates.push(Duplicate {
                item: index,
                room: item.room,
                matches,
            });
            return Ok(None);
        }
        let attributes = BTreeMap::from([(ADDED_BY.to_owned(), added_by.to_owned())]);
        let (drawer, notice) = file(call, place, &item.content, attributes)?;
        self.added.push(drawer);
        Ok(both(found.degraded, notice))
    }
}

impl From<SimilarMemory> for NearDrawer {
    fn from(SimilarMemory { memory, cosine, .. }: SimilarMemory) -> Self {
        NearDrawer {
            id: memory.id.to_string(),
            wing: wing(memory.location.collection),
            room: memory.location.section,
            similarity: rounded(f64::from(cosine).clamp(0.0, 1.0), DIGITS),
        }
    }
}

fn write(call: &Call<'_>, diary: Diary) -> Result<(WrittenEntry, Option<String>)> {
    name("diary.agent_name", &diary.agent_name)?;
    check::content("diary.entry", &diary.entry)?;
    let named = |part: &str, text: Option<String>| {
        let text = given(text);
        let fault = text.as_deref().map(|text| name(part, text));
        fault.transpose().map(|_| text)
    };
    let topic = named("diary.topic", diary.topic)?;
    let entry = DiaryEntry {
        agent: diary.agent_name.trim().to_owned(),
        entry: diary.entry,
        topic: topic.unwrap_or_else(|| TOPIC_DEFAULT.to_owned()),
        wing: named("diary.wing", diary.wing)?,
    };
    write_once(call, entry)
}

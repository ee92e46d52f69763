//! A memory in a list.

use std::borrow::Cow;

use loci_core::{Caller, Delivery, Memory, Timestamp};
use loci_engine::{owner_name, shown_title};
use loci_text::sentences;
use serde::Serialize;
use utoipa::ToSchema;

use crate::encoding::encoded;
use crate::projects::project_of;
use crate::request::RequestContext;
use crate::utc_timestamp::UtcTimestamp;

/// The characters of a text that are read for a list.
pub(crate) const CHARACTERS_READ: usize = 2_000;
/// The characters of a text that a list shows.
const OPENING_CHARACTERS: usize = 240;
/// Returns the path of a memory.
pub(crate) fn memory_path(id: &str) -> String {
    format!("/memory/{}", encoded(id))
}

/// Returns the path of a room; of no wing if `wing` is `None`.
pub(crate) fn room_path(wing: Option<&str>, room: &str) -> String {
    let wing = encoded(wing.unwrap_or_default());
    format!("/browse/room?wing={wing}&room={}", encoded(room))
}

/// A memory in a list.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(crate) struct Card {
    pub(crate) id: String,
    /// Its title, or its first words.
    pub(crate) title: String,
    /// The start of its text.
    pub(crate) opening: String,
    /// The wing, project or scope; `None` is global.
    pub(crate) wing: Option<String>,
    pub(crate) room: String,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) tags: Vec<String>,
    /// The dialect that it came in through.
    pub(crate) via: String,
    /// The app that filed it, by the name that people know; `None` if that is not known.
    pub(crate) app: Option<String>,
    /// Who said it: `user`, `agent`, `unknown`, `import`, `file`, `tool` or `web`.
    pub(crate) said_by: &'static str,
    /// The user who filed it.
    pub(crate) owner: Option<String>,
    /// `private`, `shared` or `common`, as its readers and writers are.
    pub(crate) visibility: &'static str,
    /// True if every session starts with it.
    pub(crate) pinned: bool,
    pub(crate) forgotten: bool,
    pub(crate) superseded_by: Option<String>,
    /// True if secrets in its texts are replaced here by marks.
    pub(crate) masked: bool,
    pub(crate) created_at: UtcTimestamp,
    pub(crate) updated_at: UtcTimestamp,
}

impl Card {
    /// Returns a memory as a list has it, with its texts as `mask` makes them.
    pub(crate) fn of(
        reader: &Caller,
        memory: &Memory,
        mask: &dyn for<'t> Fn(&'t str) -> Cow<'t, str>,
    ) -> Self {
        let masked = Memory {
            content: mask(&memory.content).into_owned(),
            title: memory.title.as_deref().map(mask).map(Cow::into_owned),
            summary: memory.summary.as_deref().map(mask).map(Cow::into_owned),
            tags: memory
                .tags
                .iter()
                .map(|tag| mask(tag).into_owned())
                .collect(),
            ..memory.clone()
        };
        let is_masked = masked.content != memory.content
            || masked.title != memory.title
            || masked.summary != memory.summary
            || masked.tags != memory.tags;
        let memory = &masked;
        Card {
            masked: is_masked,
            id: memory.id.as_str().to_owned(),
            title: shown_title(memory).into_owned(),
            opening: sentences::opening(&memory.content, OPENING_CHARACTERS),
            wing: memory
                .location
                .collection
                .as_deref()
                .map(|collection| project_of(collection).to_owned()),
            room: memory.location.section.clone(),
            kind: memory.kind.clone(),
            tags: memory.tags.clone(),
            via: memory.origin.clone(),
            app: None,
            said_by: memory.said_by().name(),
            owner: owner_name(reader, memory.owner.as_deref()),
            visibility: memory.visibility.name(),
            pinned: memory.delivery == Delivery::Bootstrap,
            forgotten: memory.forgotten_at.is_some(),
            superseded_by: memory
                .superseded_by
                .as_ref()
                .map(|id| id.as_str().to_owned()),
            created_at: UtcTimestamp(memory.created_at),
            updated_at: UtcTimestamp(memory.updated_at),
        }
    }

    /// Returns the app that filed it, or the tool set if the app is not known.
    pub(crate) fn filed_with(&self) -> &str {
        self.app.as_deref().unwrap_or(&self.via)
    }

    /// Returns the message that says who said it.
    pub(crate) fn said_label(&self) -> &'static str {
        match self.said_by {
            "user" => "said-user",
            "agent" => "said-agent",
            "import" => "said-import",
            "file" => "said-file",
            "tool" => "said-tool",
            "web" => "said-web",
            _ => "said-unknown",
        }
    }

    /// Returns its title, unless that only repeats the start of its text.
    pub(crate) fn own_title(&self) -> Option<&str> {
        let start = self.title.trim_end_matches(['…', ' ', '.']);
        let repeats = self.opening.trim_start().starts_with(start);
        (!repeats).then_some(self.title.as_str())
    }

    /// Returns what a list with one line for each memory says.
    pub(crate) fn line(&self) -> &str {
        self.own_title().unwrap_or(&self.opening)
    }

    /// Returns true if its room is a place, and not only the name of its type.
    pub(crate) fn has_room(&self) -> bool {
        self.room != self.kind
    }

    pub(crate) fn path(&self) -> String {
        memory_path(&self.id)
    }

    /// Returns the id as a part of a path.
    pub(crate) fn path_id(&self) -> String {
        encoded(&self.id)
    }

    pub(crate) fn room_path(&self) -> String {
        room_path(self.wing.as_deref(), &self.room)
    }
}

impl RequestContext<'_> {
    /// Returns a memory as a list has it, without secrets.
    pub(crate) fn card(&self, memory: &Memory) -> Card {
        let program = memory.provenance.program.as_deref();
        Card {
            app: program.map(|program| self.app_title(program)),
            ..Card::of(self.caller(), memory, &|text| self.masked(text))
        }
    }

    /// Returns the name of an app that people know, of the name that it gave itself, e.g. Claude Code
    /// of `claude-code`.
    pub(crate) fn app_title(&self, program: &str) -> String {
        let title = self.page.installation().app_title(program);
        title.unwrap_or(program).to_owned()
    }
}

/// Returns a time as a setting of a caller holds it.
pub(crate) fn stored(moment: Timestamp) -> String {
    moment.microseconds().to_string()
}

/// Returns the time in a setting of a caller.
pub(crate) fn read_back(text: &str) -> Option<Timestamp> {
    text.parse().ok().map(Timestamp::from_microseconds)
}

//! Notes that loci wrote for basic-memory, or for Obsidian.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::{Note, Reading, syntax};
use crate::write::{END_OF_TEXT, OWN_PROJECT, OWN_TITLE};
use crate::{PeerMemory, frontmatter, times};

impl Reading<'_> {
    /// Returns the memory of a note that loci wrote: the text without keys and links.
    pub(super) fn own(
        &self,
        note: &Note,
        own_id: &str,
        keys: &Map<String, Value>,
        body: &str,
        modified: Option<Timestamp>,
    ) -> PeerMemory {
        let body = body.strip_prefix('\n').unwrap_or(body);
        let mark = format!("\n\n{END_OF_TEXT}\n");
        let (text, links) = body.rsplit_once(&*mark).unwrap_or((body, ""));
        let mut memory = PeerMemory::new(note.id(), text);
        memory.own_id = Some(own_id.to_owned());
        memory.title = frontmatter::text(keys, OWN_TITLE);
        memory.container = frontmatter::text(keys, OWN_PROJECT);
        memory.kind = frontmatter::text(keys, "type");
        memory.tags = frontmatter::tags(keys);
        let time = |key: &str| frontmatter::text(keys, key).and_then(|text| times::utc(&text));
        memory.created_at = time("created").or(modified);
        memory.updated_at = time("updated").or(modified);
        for relation in syntax::read(links).relations {
            let target = self.target(relation.target).and_then(Note::own_id);
            if let Some(target) = target {
                memory
                    .links
                    .push((target.to_owned(), relation.kind.to_owned()));
            }
        }
        memory
    }
}

//! The file of the reference memory server: an entity for each title and type, and relations.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;

use serde_json::{Value, json};

use super::{Target, Written, make_file};
use crate::{PeerFact, PeerMemory};

/// The name of the entity of memories with neither a title nor a project.
const NAMELESS: &str = "memories";
/// The type of an entity whose memories have no type.
const KIND: &str = "fact";

/// The graph, which the server itself holds in memory, too.
pub struct Graph {
    file: BufWriter<File>,
    /// Names and types of entities, with their observations, in the order of the first ones.
    entities: Vec<(String, String, Vec<String>)>,
    places: HashMap<(String, String), usize>,
    relations: Vec<Value>,
}

impl Graph {
    pub fn create(path: &Path) -> io::Result<Self> {
        Ok(Graph {
            file: BufWriter::new(make_file(path)?),
            entities: Vec::new(),
            places: HashMap::new(),
            relations: Vec::new(),
        })
    }
}

impl Target for Graph {
    fn memory(&mut self, memory: &PeerMemory, _: &mut Written) -> io::Result<()> {
        let name = memory.title.as_deref().or(memory.container.as_deref());
        let name = name.unwrap_or(NAMELESS).to_owned();
        let kind = memory.kind.as_deref().unwrap_or(KIND).to_owned();
        let place = *self
            .places
            .entry((name.clone(), kind.clone()))
            .or_insert_with(|| {
                self.entities.push((name, kind, Vec::new()));
                self.entities.len() - 1
            });
        if let Some((_, _, observations)) = self.entities.get_mut(place) {
            observations.push(memory.text.clone());
        }
        Ok(())
    }

    fn fact(&mut self, fact: &PeerFact, written: &mut Written) -> io::Result<Option<&'static str>> {
        // Every relation in the file holds now.
        if fact.valid_to.is_some() {
            return Ok(Some("facts with an end"));
        }
        if fact.valid_from.is_some() {
            written.leave_out("times of facts");
        }
        self.relations.push(json!({
            "type": "relation", "from": fact.subject, "to": fact.object, "relationType": fact.predicate,
        }));
        Ok(None)
    }

    fn finish(&mut self) -> io::Result<()> {
        let entities = self.entities.drain(..).map(|(name, kind, observations)| {
            json!({"type": "entity", "name": name, "entityType": kind, "observations": observations})
        });
        let lines = entities.chain(self.relations.drain(..));
        for (number, line) in lines.enumerate() {
            // The server ends its file without a line feed.
            if number > 0 {
                self.file.write_all(b"\n")?;
            }
            serde_json::to_writer(&mut self.file, &line)?;
        }
        self.file.flush()?;
        self.file.get_ref().sync_all()
    }
}

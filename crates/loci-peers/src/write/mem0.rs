//! A list of memories as mem0 exports it. Keys of users stand in the metadata of a memory.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;

use serde_json::{Map, Value, json};

use super::{OWN_ID, OWN_PROJECT, Target, Written, make_file, moment};
use crate::{Owner, PeerFact, PeerMemory};

/// The user of a memory that has no owner.
const USER: &str = "local";

pub struct List {
    file: BufWriter<File>,
    is_begun: bool,
}

impl List {
    pub fn create(path: &Path) -> io::Result<Self> {
        let mut file = BufWriter::new(make_file(path)?);
        file.write_all(b"{\"results\":[")?;
        Ok(List {
            file,
            is_begun: false,
        })
    }
}

impl Target for List {
    fn memory(&mut self, memory: &PeerMemory, _: &mut Written) -> io::Result<()> {
        let attributes = memory.attributes.iter();
        let mut metadata: Map<String, Value> = attributes
            .map(|(name, value)| (name.clone(), json!(value)))
            .collect();
        metadata.insert(OWN_ID.to_owned(), json!(memory.id));
        if let Some(project) = &memory.container {
            metadata.insert(OWN_PROJECT.to_owned(), json!(project));
        }
        if let Some(title) = &memory.title {
            metadata.insert("title".to_owned(), json!(title));
        }
        if let Some(kind) = &memory.kind {
            metadata.insert("category".to_owned(), json!(kind));
        }
        if !memory.tags.is_empty() {
            metadata.insert("tags".to_owned(), json!(memory.tags));
        }
        let user = match &memory.owner {
            Owner::User(name) => name,
            Owner::Importer | Owner::Nobody => USER,
        };
        let entry = json!({
            "id": memory.id, "memory": memory.text, "hash": null, "metadata": metadata,
            "created_at": memory.created_at.map(moment), "updated_at": memory.updated_at.map(moment),
            "expiration_date": memory.expires_at.map(moment), "user_id": user,
        });
        let before: &[u8] = if self.is_begun { b",\n" } else { b"\n" };
        self.is_begun = true;
        self.file.write_all(before)?;
        Ok(serde_json::to_writer(&mut self.file, &entry)?)
    }

    fn fact(&mut self, _: &PeerFact, _: &mut Written) -> io::Result<Option<&'static str>> {
        Ok(Some("facts"))
    }

    fn finish(&mut self) -> io::Result<()> {
        self.file.write_all(b"\n]}\n")?;
        self.file.flush()?;
        self.file.get_ref().sync_all()
    }
}

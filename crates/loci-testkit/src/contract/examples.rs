//! Short ways to write down memories, passages, filters and batches.

use std::collections::BTreeMap;

use loci_core::{
    Batch, Change, CollectionFilter, Delivery, Expect, Filter, Memory, MemoryId, ModelId, Passage, Place, Reader,
    Space, Superseded, Term, Timestamp, Vector, Visibility,
};

/// The moment at which the examples happen.
pub(super) const NOW: Timestamp = Timestamp::from_microseconds(1_000_000_000);

/// A common global fact, first stored now, whose content names its id.
pub fn memory(id: &str) -> Memory {
    Memory {
        space: Space::default(),
        id: MemoryId::new(id),
        content: format!("the content of {id}"),
        place: Place { collection: None, section: "fact".to_owned() },
        kind: "fact".to_owned(),
        tags: Vec::new(),
        weight: 0.5,
        delivery: Delivery::OnDemand,
        owner: None,
        visibility: Visibility::Common,
        supersedes: None,
        superseded_by: None,
        expires_at: None,
        created_at: NOW,
        updated_at: NOW,
        revision: 1,
    }
}

/// A passage of these words, without a vector.
pub fn passage(words: &str) -> Passage {
    let mut counts = BTreeMap::new();
    for word in words.split_whitespace() {
        *counts.entry(word).or_insert(0) += 1;
    }
    let terms = counts.into_iter().map(|(text, count)| Term { text: text.to_owned(), count }).collect();
    Passage { range: 0..words.len(), terms, vector: None }
}

/// The same passage with a vector of the model `test`.
pub(super) fn with_vector(passage: Passage, values: &[i8]) -> Passage {
    Passage { vector: Some(vector("test", values)), ..passage }
}

pub(super) fn vector(model: &str, values: &[i8]) -> Vector {
    Vector { model: ModelId::new(model), scale: 1.0 / 127.0, values: values.to_vec() }
}

/// A batch that adds a memory with these passages.
pub fn put(memory: &Memory, passages: Vec<Passage>) -> Batch {
    let change = Change::Put { memory: Box::new(memory.clone()), passages: Some(passages), expect: Expect::Absent };
    Batch { space: memory.space.clone(), changes: vec![change] }
}

/// A batch that replaces a memory, whose revision is one less than this one's.
pub fn replace(memory: &Memory, passages: Option<Vec<Passage>>) -> Batch {
    let expect = Expect::Revision(memory.revision - 1);
    let change = Change::Put { memory: Box::new(memory.clone()), passages, expect };
    Batch { space: memory.space.clone(), changes: vec![change] }
}

pub(super) fn delete(memory: &Memory) -> Batch {
    let change = Change::Delete { id: memory.id.clone(), revision: memory.revision };
    Batch { space: memory.space.clone(), changes: vec![change] }
}

pub(super) fn embed(memory: &Memory, vectors: Vec<Vector>) -> Batch {
    let change = Change::Embed { id: memory.id.clone(), revision: memory.revision, vectors };
    Batch { space: memory.space.clone(), changes: vec![change] }
}

/// Everything in the default space that is live now, superseded or not, for a reader of everything.
pub fn filter() -> Filter {
    Filter {
        space: Space::default(),
        reader: Reader { subject: None, everything: true },
        live_at: NOW,
        collections: CollectionFilter::Any,
        sections: Vec::new(),
        tags: Vec::new(),
        delivery: None,
        superseded: Superseded::Show,
    }
}

/// The reader with this subject, not an administrator.
pub fn reader(subject: Option<&str>) -> Reader {
    Reader { subject: subject.map(str::to_owned), everything: false }
}

pub(super) fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

pub(super) fn space(name: &str) -> Space {
    Space::parse("space", name).expect("the name of an example is valid")
}

//! Tombstones: what was forgotten stays forgotten when its sources are read again.

use std::collections::{BTreeSet, HashSet};

use hmac::{Hmac, KeyInit, Mac};
use loci_core::{
    Change, Clock, ErrorCode, Filter, KeyedHash, LINES, Memory, MemoryId, Reader, Record, Result,
    SOURCE_FILE, Salt, Space, Store, Timestamp, Tombstone, Visibility,
};
use sha2::Sha256;
use unicode_normalization::UnicodeNormalization;

use crate::actor::Actor;
use crate::engine::Engine;

/// The number of memories whose tombstones are made at a time.
pub(crate) const PART: usize = 256;
/// The number of tombstones that are read or asked for at a time.
const PAGE: usize = 4_096;
/// Bytes of letters and digits from which a line of a file tells something by itself, and from
/// which one with a digit does. Lines of fewer, e.g. `else {`, occur everywhere.
const LINE_BYTES_MIN: usize = 8;
const NUMBERED_LINE_BYTES_MIN: usize = 4;

/// Whose text was forgotten, which decides whose later texts the tombstone holds against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum TombstoneScope<'a> {
    /// All of the space had it in common.
    Common,
    /// The owner who had it, if there was one.
    Owner(Option<&'a str>),
}

/// Tombstones: what was forgotten stays forgotten when its sources are read again.
#[derive(Clone, Copy)]
pub(crate) struct Tombstones<'a> {
    caller: Actor<'a>,
    store: &'a dyn Store,
    clock: &'a dyn Clock,
}

impl Engine {
    /// Returns the tombstones of forgotten texts.
    pub(crate) fn tombstones<'a>(&'a self, caller: Actor<'a>) -> Tombstones<'a> {
        Tombstones {
            caller,
            store: &*self.store,
            clock: &*self.clock,
        }
    }
}

impl Tombstones<'_> {
    /// Returns the tombstones of memories that the caller forgets: each holds against texts of its
    /// owner and of the caller, and that of a common memory against common ones.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub(crate) fn of<'m>(
        &self,
        memories: impl IntoIterator<Item = &'m Memory>,
        is_removed: bool,
    ) -> Result<Vec<Tombstone>> {
        let mut memories = memories.into_iter().peekable();
        if memories.peek().is_none() {
            return Ok(Vec::new());
        }
        let salt = self.own_salt(&self.caller.space)?;
        let forgotten_at = self.clock.now();
        let subject = self.caller.principal.subject.as_deref();
        let mut tombstones = Vec::new();
        for memory in memories {
            for text in texts_forgotten(&salt, subject, memory) {
                tombstones.push(Tombstone {
                    salt,
                    text,
                    memory: hash_of_id(&salt, &memory.id),
                    source: source_of(&salt, memory),
                    forgotten_at,
                    is_removed,
                });
            }
            let Some(file) = file_of_lines(&salt, memory) else {
                continue;
            };
            let mark = mark_of_lines(&salt, &file);
            tombstones.push(Tombstone {
                salt,
                text: mark,
                memory: mark,
                source: None,
                forgotten_at,
                is_removed: true,
            });
            let lines = lines_of(&memory.content).map(|line| Tombstone {
                salt,
                text: hash_of_line(&salt, &file, line),
                memory: hash_of_id(&salt, &memory.id),
                source: Some(file),
                forgotten_at,
                is_removed,
            });
            tombstones.extend(lines);
        }
        Ok(tombstones)
    }

    /// Returns the change that leaves these tombstones; `None` for none.
    ///
    /// # Errors
    /// As for [`of`](Self::of).
    pub(crate) fn put<'m>(
        &self,
        memories: impl IntoIterator<Item = &'m Memory>,
        is_removed: bool,
    ) -> Result<Option<Change>> {
        let tombstones = self.of(memories, is_removed)?;
        Ok((!tombstones.is_empty()).then_some(Change::PutTombstones(tombstones)))
    }

    /// Returns the same change for the memories with these ids that match the filter. Leaves out
    /// the ones that cannot be read because they are damaged.
    ///
    /// # Errors
    /// As for [`of`](Self::of).
    pub(crate) fn put_of_ids(&self, filter: &Filter, ids: &[MemoryId]) -> Result<Option<Change>> {
        self.put(&self.readable(filter, ids)?, true)
    }

    /// Returns the memories with these ids that match the filter, without damaged ones.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub(crate) fn readable(&self, filter: &Filter, ids: &[MemoryId]) -> Result<Vec<Memory>> {
        match self.store.get_all(filter, ids) {
            Err(error) if error.code == ErrorCode::Corrupt => {
                let one = |id| self.store.get_all(filter, std::slice::from_ref(id)).ok();
                Ok(ids.iter().filter_map(one).flatten().collect())
            }
            read => read,
        }
    }

    /// Returns the change that lifts the tombstones of memories that the caller brings back; `None`
    /// if the space has none.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub(crate) fn lift(&self, memories: &[Memory]) -> Result<Option<Change>> {
        let subject = self.caller.principal.subject.as_deref();
        let mut texts = Vec::new();
        for salt in self.store.tombstone_salts(&self.caller.space)? {
            for memory in memories {
                texts.extend(texts_forgotten(&salt, subject, memory));
                if let Some(file) = file_of_lines(&salt, memory) {
                    let lines = lines_of(&memory.content);
                    texts.extend(lines.map(|line| hash_of_line(&salt, &file, line)));
                }
            }
        }
        Ok((!texts.is_empty()).then_some(Change::DeleteTombstones { texts }))
    }

    /// Returns the salts of a space, with which [`among`](Self::among) recognises texts; none if
    /// nothing was forgotten there.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub(crate) fn salts(&self, space: &Space) -> Result<Vec<Salt>> {
        self.store.tombstone_salts(space)
    }

    /// Returns the hashes of the texts of the forgotten ones among the memories, for each memory;
    /// empty for one that was not. A memory that is out of sight itself was not, unless one with
    /// its text was removed for good.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub(crate) fn among(
        &self,
        space: &Space,
        salts: &[Salt],
        memories: &[&Memory],
    ) -> Result<Vec<Vec<KeyedHash>>> {
        if salts.is_empty() || memories.is_empty() {
            return Ok(vec![Vec::new(); memories.len()]);
        }
        let hashes: Vec<Vec<KeyedHash>> = memories
            .iter()
            .map(|memory| {
                let of_salt = |salt| texts_filed(salt, memory);
                salts.iter().flat_map(of_salt).collect()
            })
            .collect();
        let mut asked: Vec<KeyedHash> = hashes.iter().flatten().copied().collect();
        asked.sort_unstable();
        asked.dedup();
        let found = self.store.tombstones_of(space, &asked)?;
        let forgotten: HashSet<KeyedHash> = found.iter().map(|it| it.text).collect();
        let removed: HashSet<KeyedHash> = found
            .iter()
            .filter(|it| it.is_removed)
            .map(|it| it.text)
            .collect();
        let known = |memory: &Memory, hash: &KeyedHash| match memory.forgotten_at {
            Some(_) => removed.contains(hash),
            None => forgotten.contains(hash),
        };
        Ok(memories
            .iter()
            .zip(hashes)
            .map(|(memory, hashes)| {
                let mut hashes = hashes;
                hashes.retain(|hash| known(memory, hash));
                hashes
            })
            .collect())
    }

    /// Returns the hashes of the lines of these texts that were forgotten in the file of a project
    /// which has or had one of these paths.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub(crate) fn lines_among(
        &self,
        space: &Space,
        salts: &[Salt],
        (machine, paths): (&str, &[&str]),
        texts: &[&str],
    ) -> Result<Lines> {
        let mut files: Vec<(Salt, KeyedHash)> = Vec::new();
        for salt in salts {
            for path in paths {
                files.push((*salt, hash_of_source(salt, machine, path)));
            }
        }
        let marks: Vec<KeyedHash> = files
            .iter()
            .map(|(salt, file)| mark_of_lines(salt, file))
            .collect();
        let found: HashSet<KeyedHash> = match marks[..] {
            [] => HashSet::new(),
            _ => texts_of(self.store.tombstones_of(space, &marks)?),
        };
        files.retain(|(salt, file)| found.contains(&mark_of_lines(salt, file)));
        let mut asked: Vec<KeyedHash> = Vec::new();
        for (salt, file) in &files {
            let lines = texts.iter().flat_map(|text| lines_of(text));
            asked.extend(lines.map(|line| hash_of_line(salt, file, line)));
        }
        let mut tombstones = Vec::new();
        for part in asked.chunks(PAGE) {
            tombstones.extend(self.store.tombstones_of(space, part)?);
        }
        Ok(Lines {
            files,
            forgotten: tombstones.iter().map(|it| it.text).collect(),
            tombstones,
        })
    }

    /// Returns the change that leaves the tombstones of a wipe: they hold against older records of that owner and tool set
    /// in archives.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub(crate) fn of_wipe(
        &self,
        space: &Space,
        owner: &str,
        origin: Option<&str>,
    ) -> Result<Change> {
        let salt = self.own_salt(space)?;
        let forgotten_at = self.clock.now();
        let wipes = [Wipe::Any, Wipe::of(origin)];
        let tombstones = wipes.map(|wipe| {
            let text = hash_of_wipe(&salt, owner, wipe);
            Tombstone {
                salt,
                text,
                memory: text,
                source: None,
                forgotten_at,
                is_removed: true,
            }
        });
        Ok(Change::PutTombstones(tombstones.to_vec()))
    }

    /// Returns true if a record besides memories belonged to a user whose data was wiped after the
    /// record was last written.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub(crate) fn is_wiped(&self, space: &Space, salts: &[Salt], record: &Record) -> Result<bool> {
        let Some((owner, origin)) = record.whose() else {
            return Ok(false);
        };
        let written = match record {
            Record::Tunnel(tunnel) => tunnel.updated_at,
            Record::CacheEntry(entry) => entry.created_at,
            Record::Decision(decision) => decision.updated_at,
            Record::IdempotentReply(reply) => reply.created_at,
            Record::Setting { .. } => Timestamp::MIN,
            _ => return Ok(false),
        };
        let hashes: Vec<KeyedHash> = salts
            .iter()
            .flat_map(|salt| {
                let wipes = match origin {
                    None => vec![Wipe::Any],
                    Some(origin) => vec![Wipe::All, Wipe::ToolSet(origin)],
                };
                let hash = |wipe| hash_of_wipe(salt, owner, wipe);
                wipes.into_iter().map(hash).collect::<Vec<_>>()
            })
            .collect();
        if hashes.is_empty() {
            return Ok(false);
        }
        let found = self.store.tombstones_of(space, &hashes)?;
        Ok(found.iter().any(|wipe| wipe.forgotten_at >= written))
    }

    /// Passes all tombstones of a space to `visit`, a page at a time.
    ///
    /// # Errors
    /// `unavailable` if the store cannot be read.
    pub(crate) fn each(&self, space: &Space, mut visit: impl FnMut(&Tombstone)) -> Result<()> {
        let mut last: Option<Tombstone> = None;
        loop {
            let page = self.store.tombstones(space, last.as_ref(), PAGE)?;
            page.iter().for_each(&mut visit);
            if page.len() < PAGE {
                return Ok(());
            }
            last = page.into_iter().next_back();
        }
    }

    /// Returns the salt of the tombstones that this store makes in a space. It follows from the
    /// secret of the store, which it does not reveal.
    fn own_salt(&self, space: &Space) -> Result<Salt> {
        let secret = self.store.secret()?;
        let hash = keyed(&secret, "salt of tombstones", &[space.as_str().as_bytes()]);
        Ok(hash.first_chunk().copied().unwrap_or_default())
    }
}

/// The lines that were forgotten in a file of a project.
pub(crate) struct Lines {
    files: Vec<(Salt, KeyedHash)>,
    pub(crate) forgotten: HashSet<KeyedHash>,
    tombstones: Vec<Tombstone>,
}

impl Lines {
    /// Returns tombstones of the forgotten lines of these texts for a file that was moved to this
    /// path.
    pub(crate) fn of_moved(&self, machine: &str, path: &str, texts: &[&str]) -> Vec<Tombstone> {
        let mut moved = Vec::new();
        for (salt, file) in &self.files {
            let new = hash_of_source(salt, machine, path);
            for line in texts.iter().flat_map(|text| lines_of(text)) {
                let old = hash_of_line(salt, file, line);
                let known = self.tombstones.iter().filter(|it| it.text == old);
                moved.extend(known.map(|it| Tombstone {
                    text: hash_of_line(salt, &new, line),
                    source: Some(new),
                    ..it.clone()
                }));
            }
            let mark = mark_of_lines(salt, &new);
            moved.extend(self.tombstones.first().map(|it| Tombstone {
                salt: *salt,
                text: mark,
                memory: mark,
                source: None,
                forgotten_at: it.forgotten_at,
                is_removed: true,
            }));
        }
        moved
    }

    /// Returns the text without the forgotten lines that tell something by themselves, empty if no
    /// line is left but forgotten ones; `None` if it has no forgotten line.
    pub(crate) fn without(&self, text: &str) -> Option<String> {
        let is_forgotten = |line: &str| {
            let mut files = self.files.iter();
            files.any(|(salt, file)| self.forgotten.contains(&hash_of_line(salt, file, line)))
        };
        let left: String = text
            .split_inclusive('\n')
            .filter(|line| !(is_telling(line) && is_forgotten(line)))
            .collect();
        if left.len() == text.len() {
            return None;
        }
        let is_new = lines_of(&left).any(|line| !is_forgotten(line));
        Some(if is_new { left } else { String::new() })
    }
}

fn texts_of(tombstones: Vec<Tombstone>) -> HashSet<KeyedHash> {
    tombstones.into_iter().map(|it| it.text).collect()
}

/// Returns the lines of a text that have a letter or a digit.
fn lines_of(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .filter(|line| line.contains(char::is_alphanumeric))
}

/// Returns true for a line that tells something by itself.
fn is_telling(line: &str) -> bool {
    let is_word = |character: &char| character.is_alphanumeric();
    let bytes: usize = line.chars().filter(is_word).map(char::len_utf8).sum();
    let is_numbered = line.chars().any(char::is_numeric);
    bytes >= LINE_BYTES_MIN || is_numbered && bytes >= NUMBERED_LINE_BYTES_MIN
}

/// Returns the hash of the file of a project that a memory is a part of.
fn file_of_lines(salt: &Salt, memory: &Memory) -> Option<KeyedHash> {
    memory.attributes.get(LINES)?;
    source_of(salt, memory)
}

/// Returns the hash that says that lines of a file were forgotten.
fn mark_of_lines(salt: &Salt, file: &KeyedHash) -> KeyedHash {
    keyed(salt, "lines", &[file])
}

fn hash_of_line(salt: &Salt, file: &KeyedHash, line: &str) -> KeyedHash {
    keyed(salt, "line", &[file, normalised(line).as_bytes()])
}

/// Returns the hashes of a text that this subject forgets with a memory.
fn texts_forgotten(salt: &Salt, subject: Option<&str>, memory: &Memory) -> Vec<KeyedHash> {
    let of_memory = if memory.visibility == Visibility::Common {
        TombstoneScope::Common
    } else {
        TombstoneScope::Owner(memory.owner.as_deref())
    };
    hashes_of_text(
        salt,
        &memory.content,
        [of_memory, TombstoneScope::Owner(subject)],
    )
}

/// Returns the hashes that the text of a memory to be filed may have been forgotten under.
fn texts_filed(salt: &Salt, memory: &Memory) -> Vec<KeyedHash> {
    let of_owner = TombstoneScope::Owner(memory.owner.as_deref());
    let common = (memory.visibility == Visibility::Common).then_some(TombstoneScope::Common);
    hashes_of_text(salt, &memory.content, common.into_iter().chain([of_owner]))
}

fn hashes_of_text<'a>(
    salt: &Salt,
    text: &str,
    whose: impl IntoIterator<Item = TombstoneScope<'a>>,
) -> Vec<KeyedHash> {
    let text = normalised(text);
    let hash = |whose| match whose {
        TombstoneScope::Common => keyed(salt, "common text", &[text.as_bytes()]),
        TombstoneScope::Owner(None) => keyed(salt, "text of nobody", &[text.as_bytes()]),
        TombstoneScope::Owner(Some(owner)) => {
            keyed(salt, "text", &[owner.as_bytes(), text.as_bytes()])
        }
    };
    let whose: BTreeSet<TombstoneScope<'_>> = whose.into_iter().collect();
    whose.into_iter().map(hash).collect()
}

/// Returns the text as tombstones compare it: programs write the same text with other spaces, line
/// ends and composed characters.
fn normalised(text: &str) -> String {
    let composed: String = text.nfc().collect();
    let words: Vec<&str> = composed.split_whitespace().collect();
    words.join(" ")
}

/// Returns the hash of an id.
pub(crate) fn hash_of_id(salt: &Salt, id: &MemoryId) -> KeyedHash {
    keyed(salt, "id", &[id.as_str().as_bytes()])
}

/// Returns the hash of a file of a machine.
pub(crate) fn hash_of_source(salt: &Salt, machine: &str, path: &str) -> KeyedHash {
    keyed(salt, "source", &[machine.as_bytes(), path.as_bytes()])
}

fn source_of(salt: &Salt, memory: &Memory) -> Option<KeyedHash> {
    let path = memory.attributes.get(SOURCE_FILE)?;
    Some(hash_of_source(salt, memory.source_machine(), path))
}

/// The part of an owner's data that a wipe removed.
#[derive(Debug, Clone, Copy)]
enum Wipe<'a> {
    /// Everything, or the data of some tool set.
    Any,
    /// Everything.
    All,
    /// That of one tool set.
    ToolSet(&'a str),
}

impl<'a> Wipe<'a> {
    fn of(origin: Option<&'a str>) -> Self {
        origin.map_or(Wipe::All, Wipe::ToolSet)
    }
}

fn hash_of_wipe(salt: &Salt, owner: &str, wipe: Wipe<'_>) -> KeyedHash {
    let owner = owner.as_bytes();
    match wipe {
        Wipe::Any => keyed(salt, "any wipe", &[owner]),
        Wipe::All => keyed(salt, "wipe", &[owner]),
        Wipe::ToolSet(origin) => keyed(salt, "wipe of a tool set", &[owner, origin.as_bytes()]),
    }
}

/// Returns the hash of some parts, each after its length, for one purpose.
fn keyed(key: &[u8], purpose: &str, parts: &[&[u8]]) -> KeyedHash {
    // A key of at most 64 bytes is taken as it is, with zeros after it.
    let mut block = [0; 64];
    block[..key.len()].copy_from_slice(key);
    let mut hash: Hmac<Sha256> = Hmac::new(&block.into());
    for part in [purpose.as_bytes()].iter().chain(parts) {
        hash.update(&(part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().into_bytes().into()
}

/// Returns the filter for every memory of a space, of any reader and state.
pub(crate) fn everything(space: &Space) -> Filter {
    Filter::of(space.clone(), Reader::everything(), Timestamp::MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_the_same_however_it_is_spaced() {
        let salt = [3; 16];
        let hash = |text: &str| hashes_of_text(&salt, text, [TombstoneScope::Common]);
        let one = hash("The caf\u{e9} opens\nat nine.");
        assert_eq!(one, hash("  The cafe\u{301} opens\r\n at nine.\n"));
        assert_ne!(one, hash("The caf\u{e9} opens at ten."));
        assert_ne!(
            one,
            hashes_of_text(
                &[4; 16],
                "The caf\u{e9} opens at nine.",
                [TombstoneScope::Common]
            )
        );
        let of = |owner| hashes_of_text(&salt, "text", [TombstoneScope::Owner(owner)]);
        let different = [of(None), of(Some("")), of(Some("ann")), of(Some("annt"))];
        let different: HashSet<_> = different.into_iter().collect();
        assert_eq!(different.len(), 4);
    }
}

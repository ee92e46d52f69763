//! Importing many memories at once.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};
use std::slice;

use loci_core::{
    Caller, Change, Condition, Error, ErrorCode, Expect, Memory, MemoryId, Result, SaidBy, Scope,
    Timestamp, limits,
};
use loci_text::indexed;

use crate::authors::hold_orders;
use crate::check;
use crate::engine::SearchMode;
use crate::imports::Imports;
use crate::memories::remember::{Remember, check_request, new_memory};

/// A memory from another system.
#[derive(Debug, Clone)]
pub struct Import {
    /// The memory. `supersedes` is only recorded: the weight of the other memory does not change,
    /// because that happened in the source system. `compare_in` and `once` are ignored.
    pub memory: Remember,
    /// Its id, by which a second import recognises it; a new one if `None`.
    pub id: Option<MemoryId>,
    /// Its owner, which an `admin` may choose; the caller if `None`.
    pub owner: Option<String>,
    /// The author of its text, if that is neither the owner nor the caller.
    pub updated_by: Option<String>,
    /// The time at which it was first stored; now if `None`.
    pub created_at: Option<Timestamp>,
    /// The time at which its text last changed; that of its first storage if `None`.
    pub updated_at: Option<Timestamp>,
    /// The time at which it expires, instead of `memory.ttl_seconds`.
    pub expires_at: Option<Timestamp>,
}

/// The result of an import; durable when this exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ImportOutcome {
    /// Memories that were stored.
    pub stored: usize,
    /// Memories that were skipped, because their ids exist already.
    pub present: usize,
    /// Memories that were skipped, because their texts were forgotten.
    pub forgotten: usize,
}

impl Import {
    /// Creates an import of a memory of the caller, with a new id and the current time.
    pub fn new(memory: Remember) -> Self {
        Import {
            memory,
            id: None,
            owner: None,
            updated_by: None,
            created_at: None,
            updated_at: None,
            expires_at: None,
        }
    }

    /// # Errors
    /// `invalid_argument` or `too_large` if something exceeds its limits; `forbidden` if it belongs
    /// to another owner and the caller is not an `admin`.
    pub fn check(&self, caller: &Caller) -> Result<()> {
        check_request(&self.memory)?;
        self.updated_by
            .as_ref()
            .map_or(Ok(()), |writer| check::name("updated_by", writer))?;
        let Some(owner) = &self.owner else {
            return Ok(());
        };
        check::name("owner", owner)?;
        if caller.principal.subject.as_ref() == Some(owner)
            || caller.principal.scopes.allow(Scope::Admin)
        {
            return Ok(());
        }
        let message =
            format!("`owner` is `{owner}`; only an `admin` may import memories of others");
        Err(Error::new(ErrorCode::Forbidden, message))
    }
}

/// Checks the number of imports, and each import.
fn check_all(caller: &Caller, imports: &[Import]) -> Result<()> {
    if imports.len() > limits::IMPORT_MEMORIES_MAX {
        let message = format!(
            "{} memories at once; at most {}",
            imports.len(),
            limits::IMPORT_MEMORIES_MAX
        );
        return Err(Error::new(ErrorCode::TooLarge, message));
    }
    for (number, import) in (1..).zip(imports) {
        let named = |error: Error| {
            let message = format!("memory {number}: {}", error.message);
            error.with_message(message)
        };
        import.check(caller).map_err(named)?;
    }
    Ok(())
}

impl Imports<'_> {
    /// Stores memories in one transaction, but for those whose texts were
    /// [forgotten](crate::Memories::forget). Words find them at once, meaning after
    /// [`embed_pending`](crate::Background::embed_pending) has embedded them.
    ///
    /// Adds the counts to `imported`, even if it fails. If some of the ids exist already, memories
    /// are stored one by one, in order, and a failure keeps those before it.
    ///
    /// # Errors
    /// `too_large` for more than [`limits::IMPORT_MEMORIES_MAX`]; the errors of [`Import::check`],
    /// naming the memory by its number from 1; `conflict` if an id belongs to a deleted memory, or
    /// if the owner's data was wiped since the call started; `unavailable` if the store cannot be
    /// written.
    pub fn import(&self, imports: &[Import], imported: &mut ImportOutcome) -> Result<()> {
        let since = self.store.version(&self.caller.space)?;
        let imports = self.redacted_imports(imports);
        check_all(&self.caller, &imports)?;
        let imports = &*self.remembered(imports, imported)?;
        if imports.is_empty() {
            return Ok(());
        }
        let before = imported.stored;
        let outcome = match self.commit_imports(imports, since) {
            Ok(()) => {
                imported.stored += imports.len();
                Ok(())
            }
            Err(error) if error.code == ErrorCode::Conflict => {
                self.import_absent(imports, since, imported)
            }
            Err(error) => Err(error),
        };
        if imported.stored > before && self.search_mode != SearchMode::Words {
            self.to_embed.ring();
        }
        outcome
    }

    /// Adds to `imported` the counts that [`import`](Imports::import) would add now, and stores
    /// nothing.
    ///
    /// # Errors
    /// `too_large` for more than [`limits::IMPORT_MEMORIES_MAX`]; the errors of [`Import::check`],
    /// naming the memory by its number from 1; `unavailable` if the store cannot be read.
    pub fn count_import(&self, imports: &[Import], imported: &mut ImportOutcome) -> Result<()> {
        check_all(&self.caller, imports)?;
        let imports = self.remembered(Cow::Borrowed(imports), imported)?;
        for import in &*imports {
            if self.is_taken(import)? {
                imported.present += 1;
            } else {
                imported.stored += 1;
            }
        }
        Ok(())
    }

    /// Returns the imports without secrets, if the scope covers what callers write.
    fn redacted_imports<'a>(&self, imports: &'a [Import]) -> Cow<'a, [Import]> {
        if !self.redaction.redacts_everything() {
            return Cow::Borrowed(imports);
        }
        let redacted = |import: &Import| Import {
            memory: self.redaction.redacted_request(import.memory.clone()),
            ..import.clone()
        };
        imports.iter().map(redacted).collect()
    }

    /// Returns the imports whose texts were not forgotten, and counts the others. Imports that store
    /// them again all come back, after their tombstones are lifted.
    fn remembered<'a>(
        &self,
        imports: Cow<'a, [Import]>,
        imported: &mut ImportOutcome,
    ) -> Result<Cow<'a, [Import]>> {
        let salts = self.tombstones.salts(&self.caller.space)?;
        if salts.is_empty() || imports.is_empty() {
            return Ok(imports);
        }
        let memories: Vec<Memory> = imports.iter().map(|import| self.imported(import)).collect();
        let memories: Vec<&Memory> = memories.iter().collect();
        let forgotten = self
            .tombstones
            .among(&self.caller.space, &salts, &memories)?;
        if self.stores_again || forgotten.iter().all(Vec::is_empty) {
            return Ok(imports);
        }
        let mut left = Vec::with_capacity(imports.len());
        for (import, forgotten) in imports.iter().zip(&forgotten) {
            // One that is there is counted as such.
            if forgotten.is_empty() || self.is_taken(import)? {
                left.push(import.clone());
            } else {
                imported.forgotten += 1;
            }
        }
        Ok(Cow::Owned(left))
    }

    /// Returns the change that lifts the tombstones of memories that are stored again, if there are
    /// any, and the ids of these memories.
    fn lift(&self, memories: &[&Memory]) -> Result<(Option<Change>, HashSet<MemoryId>)> {
        if !self.stores_again {
            return Ok((None, HashSet::new()));
        }
        let salts = self.tombstones.salts(&self.caller.space)?;
        let found = self
            .tombstones
            .among(&self.caller.space, &salts, memories)?;
        let lifted = memories.iter().zip(&found);
        let lifted = lifted.filter(|(_, texts)| !texts.is_empty());
        let again = lifted.map(|(memory, _)| memory.id.clone()).collect();
        let texts: Vec<_> = found.into_iter().flatten().collect();
        let lift = (!texts.is_empty()).then_some(Change::DeleteTombstones { texts });
        Ok((lift, again))
    }

    /// Returns the memory that an import makes.
    fn imported(&self, import: &Import) -> Memory {
        let created_at = import.created_at.unwrap_or_else(|| self.clock.now());
        let mut memory = new_memory(&self.caller, import.memory.clone(), created_at);
        memory.id = import.id.clone().unwrap_or(memory.id);
        // An importing admin does not vouch for texts of other authors.
        memory.by_admin &= import
            .owner
            .as_ref()
            .is_none_or(|owner| memory.owner.as_ref() == Some(owner));
        memory.by_admin &= import.updated_by.is_none();
        memory.updated_by.clone_from(&import.updated_by);
        // A person may have typed it there; here it comes from a file.
        memory.provenance.said_by = memory.provenance.said_by.least(SaidBy::Import);
        memory.owner = import.owner.clone().or(memory.owner);
        memory.updated_at = import.updated_at.unwrap_or(created_at);
        memory.expires_at = import.expires_at.or(memory.expires_at);
        if !self.are_followed {
            hold_orders(&mut memory);
        }
        memory
    }

    fn commit_imports(&self, imports: &[Import], since: u64) -> Result<()> {
        let (mut owners, mut puts) = (BTreeSet::new(), Vec::with_capacity(imports.len()));
        for import in imports {
            let memory = Box::new(self.imported(import));
            owners.extend(memory.owner.clone());
            let passages = Some(indexed::passages(&memory));
            puts.push(Change::Put {
                memory,
                passages,
                expect: Expect::Absent,
            });
        }
        let memories: Vec<&Memory> = puts
            .iter()
            .filter_map(|put| match put {
                Change::Put { memory, .. } => Some(&**memory),
                _ => None,
            })
            .collect();
        let (lifted, again) = self.lift(&memories)?;
        let unwiped = owners.into_iter().map(|owner| Condition::NotWiped {
            owner,
            origin: self.caller.origin.to_owned(),
            since,
        });
        if let Some(batch) = self.batch {
            puts.push(self.noted(batch, &self.caller.space, &puts, &again)?);
        }
        puts.extend(lifted);
        // A batch notes what it brings.
        if self.batch.is_some() {
            self.access.commit_filed(unwiped.collect(), puts)?;
        } else {
            self.access.commit_if(unwiped.collect(), puts)?;
        }
        self.batch
            .inspect(|batch| batch.advance(&self.caller.space));
        Ok(())
    }

    /// Imports those whose ids do not exist yet.
    fn import_absent(
        &self,
        imports: &[Import],
        since: u64,
        imported: &mut ImportOutcome,
    ) -> Result<()> {
        for import in imports {
            if self.is_taken(import)? {
                imported.present += 1;
                continue;
            }
            match self.commit_imports(slice::from_ref(import), since) {
                Ok(()) => imported.stored += 1,
                Err(error) if error.code == ErrorCode::Conflict && self.is_taken(import)? => {
                    imported.present += 1;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reports whether a memory has the id, even an expired one.
    fn is_taken(&self, import: &Import) -> Result<bool> {
        let Some(id) = &import.id else {
            return Ok(false);
        };
        Ok(self.store.get(&self.caller.space, id)?.is_some())
    }
}

//! The data of a person, counted before it is removed, and its removal from every space.

use std::collections::BTreeSet;

use loci_core::{
    AuditQuery, Caller, Error, LOCAL, Principal, Record, Result, Scope, Scopes, Space, WipeCounts,
    is_pseudonym,
};

use crate::authors::TRUSTED_AUTHORS;
use crate::{Call, Engine};

/// The entries of the audit log that are read at a time.
const ENTRIES_AT_ONCE: usize = 1_000;

/// The counts of a person's data in a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PersonData {
    /// Memories that go.
    pub memories: u64,
    /// Memories and tunnels for everyone, and facts, which stay without the name.
    pub unnamed: u64,
    /// Tunnels that go.
    pub tunnels: u64,
    /// Cached answers and replies that are kept under keys.
    pub answers: u64,
    /// Decisions.
    pub decisions: u64,
    /// Settings, e.g. the order of what sessions start with.
    pub settings: u64,
    /// Calls in the audit log.
    pub calls: u64,
    /// Lists of others that name the person among the authors whom they trust.
    pub trusted_by: u64,
    /// Memories of others whose texts have the name as a word. They stay as they are.
    pub mentions: u64,
}

/// The owners of lists of trusted authors, by space, that name the person.
type Trusting = Vec<(Space, Option<String>)>;

/// The findings of one pass through a store about a person.
#[derive(Default)]
struct Traces {
    data: PersonData,
    spaces: Vec<Space>,
    trusting: Trusting,
}

impl Call<'_> {
    /// Counts what the store has of a person, in all spaces. Reads the whole store.
    ///
    /// # Errors
    /// `invalid_argument` for an invalid name; `unavailable` if the store cannot be read.
    pub fn person_data(&self, name: &str) -> Result<PersonData> {
        check(self.caller(), name)?;
        Ok(traces(self.engine(), name)?.data)
    }

    /// Permanently removes what the store has of a person in all spaces, as [a wipe](crate::Parts::wipe)
    /// by the person does in one, and takes the name off the lists of trusted authors of others.
    ///
    /// # Errors
    /// `invalid_argument` for an invalid name, for the owner of the installation, and for the
    /// caller, whose call would bring the name back into the log; `unavailable` if the store cannot
    /// be used. A repeated call removes the rest.
    pub fn remove_person(&self, name: &str) -> Result<WipeCounts> {
        check(self.caller(), name)?;
        let Traces {
            mut spaces,
            trusting,
            ..
        } = traces(self.engine(), name)?;
        // What is softly deleted or expired is in no archive, so the space of the call is always
        // among them.
        spaces.push(self.caller().space.clone());
        spaces.sort_unstable();
        spaces.dedup();
        for (space, owner) in trusting {
            let principal = owner.map_or_else(Principal::anonymous, |owner| {
                Principal::new(owner, Scopes::of(&[Scope::Read, Scope::Write]))
            });
            let owner = Caller::new(space, principal);
            self.engine()
                .system(&owner)
                .settings()
                .set_trusted(name, false)?;
        }
        let mut removed = WipeCounts::default();
        for space in spaces {
            let person = Principal::new(name, Scopes::of(&[Scope::Write]));
            // Not a call of its own, because its entry in the audit log would have the name.
            let wiped = self.engine().system(&Caller::new(space, person)).wipe()?;
            removed.memories += wiped.memories;
            removed.cache_entries += wiped.cache_entries;
            removed.audit_entries += wiped.audit_entries;
            removed.decisions += wiped.decisions;
        }
        Ok(removed)
    }
}

fn check(caller: &Caller, name: &str) -> Result<()> {
    crate::check::name("name", name)?;
    let problem = if name == LOCAL {
        "is the owner of the installation; delete the data folder to remove all that is there"
    } else if is_pseudonym(name) {
        "stands for a person who was removed before"
    } else if caller.principal.subject.as_deref() == Some(name) {
        "is your own; another administrator can remove you, because the log names who did it"
    } else {
        return Ok(());
    };
    Err(Error::invalid("name", problem))
}

fn traces(engine: &Engine, name: &str) -> Result<Traces> {
    // The entries that wait are counted and removed, too.
    engine.audit().flush()?;
    let mut found = Traces::default();
    let mut spaces: BTreeSet<Space> = BTreeSet::new();
    engine.store.archive(engine.now(), &mut |archived| {
        let data = &mut found.data;
        let is_of_person = archived
            .record
            .whose()
            .is_some_and(|(owner, _)| owner == name);
        match &archived.record {
            Record::Memory(memory) if is_of_person && memory.goes_with_owner() => {
                data.memories += 1;
            }
            Record::Memory(_) | Record::Fact(_) if is_of_person => data.unnamed += 1,
            Record::Memory(memory) => data.mentions += u64::from(mentions(&memory.content, name)),
            Record::Tunnel(tunnel) if is_of_person && tunnel.is_common => data.unnamed += 1,
            Record::Tunnel(_) if is_of_person => data.tunnels += 1,
            Record::CacheEntry(_) | Record::IdempotentReply(_) if is_of_person => data.answers += 1,
            Record::Decision(_) if is_of_person => data.decisions += 1,
            Record::Setting { .. } if is_of_person => data.settings += 1,
            Record::Setting {
                owner,
                name: setting,
                value,
            } if setting == TRUSTED_AUTHORS && value.lines().any(|author| author == name) => {
                data.trusted_by += 1;
                found.trusting.push((archived.space.clone(), owner.clone()));
            }
            _ => return Ok(()),
        }
        if is_of_person {
            spaces.insert(archived.space);
        }
        Ok(())
    })?;
    for space in engine.store.audited_spaces()? {
        let calls = calls(engine, &space, name)?;
        if calls > 0 {
            found.data.calls += calls;
            spaces.insert(space);
        }
    }
    found.spaces = spaces.into_iter().collect();
    Ok(found)
}

/// Counts the entries of the audit log with the name of the person in a space.
fn calls(engine: &Engine, space: &Space, name: &str) -> Result<u64> {
    let mut query = AuditQuery {
        space: space.clone(),
        user: Some(name.to_owned()),
        limit: ENTRIES_AT_ONCE,
        ..AuditQuery::default()
    };
    let mut calls = 0;
    loop {
        let entries = engine.store.audit(&query)?;
        calls += entries.len() as u64;
        let Some((first, _)) = entries.first().filter(|_| entries.len() == ENTRIES_AT_ONCE) else {
            return Ok(calls);
        };
        query.before = Some(*first);
    }
}

/// Returns true if the text has the name as a word.
fn mentions(text: &str, name: &str) -> bool {
    let (text, name) = (text.to_lowercase(), name.to_lowercase());
    text.match_indices(&name).any(|(start, found)| {
        let before = text[..start].chars().next_back();
        let after = text[start + found.len()..].chars().next();
        let is_outside = |character: Option<char>| !character.is_some_and(char::is_alphanumeric);
        is_outside(before) && is_outside(after)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_mentioned_as_a_word() {
        let rows = [
            ("Ask Bob about it.", true),
            ("bob's kiln", true),
            ("bobbin and kebob", false),
            ("", false),
            ("to bob", true),
        ];
        for (text, expected) in rows {
            assert_eq!(mentions(text, "bob"), expected, "{text:?}");
        }
    }
}

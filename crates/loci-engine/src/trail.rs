//! The records that a call accesses, collected for the audit log, and the secrets that were removed
//! from what it stores.

use std::mem;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use loci_core::limits::AUDIT_RECORDS_MAX;
use loci_core::{AuditRecord, RecordVerb, Redactions, Timestamp};
use uuid::Uuid;

/// Collects the records that one call returns from a search, reads by id, stores, changes or
/// deletes.
#[derive(Debug, Default)]
pub(crate) struct Trail {
    collected: Mutex<TrailRecords>,
    /// The tool of the call; not set where no call is made.
    tool: OnceLock<String>,
    /// The number of the call, once a change asked for it.
    number: OnceLock<u64>,
}

/// The bits of the number of a call that tell calls of the same microsecond apart.
const CALL_BITS: u32 = 10;

#[derive(Debug, Default)]
struct TrailRecords {
    records: Vec<AuditRecord>,
    further: u64,
    /// The number of these that were stored.
    further_stored: u64,
    redactions: Redactions,
}

impl Trail {
    /// Notes the tool of the call.
    pub(crate) fn set_tool(&self, tool: &str) {
        // A trail is of one call.
        let _ = self.tool.set(tool.to_owned());
    }

    /// Returns the tool of the call; empty where no call is made.
    pub(crate) fn tool(&self) -> &str {
        self.tool.get().map_or("", String::as_str)
    }

    /// Returns the number of the call, which is made at the time of its first change: later calls
    /// have higher ones.
    pub(crate) fn call(&self, now: Timestamp) -> u64 {
        *self.number.get_or_init(|| {
            let random = Uuid::now_v7().as_u128() as u64 & ((1 << CALL_BITS) - 1);
            (now.microseconds().cast_unsigned() << CALL_BITS) | random
        })
    }

    /// Adds a record; of several verbs for one record the strongest counts. `is_own` says if a wipe
    /// of the user would remove the record; `None` (unknown) counts as true. In a full list, a
    /// record that the call did more to takes the place of one that it only returned.
    pub(crate) fn note(&self, verb: RecordVerb, id: &str, is_own: Option<bool>) {
        let mut noted = self.noted();
        let is_full = noted.records.len() == AUDIT_RECORDS_MAX;
        if is_full && verb > RecordVerb::Returned && !noted.records.iter().any(|it| it.id == id) {
            let returned = |it: &AuditRecord| it.verb == RecordVerb::Returned;
            if let Some(last) = noted.records.iter().rposition(returned) {
                noted.records.remove(last);
                noted.further += 1;
            }
        }
        if let Some(record) = noted.records.iter_mut().find(|record| record.id == id) {
            record.verb = record.verb.max(verb);
            record.is_own &= is_own.unwrap_or(true);
        } else if noted.records.len() < AUDIT_RECORDS_MAX {
            noted.records.push(AuditRecord {
                id: id.to_owned(),
                verb,
                is_own: is_own.unwrap_or(true),
            });
        } else {
            noted.further += 1;
            noted.further_stored += u64::from(verb == RecordVerb::Stored);
        }
    }

    /// Returns the number of collected records.
    pub(crate) fn len(&self) -> u64 {
        let noted = self.noted();
        noted.records.len() as u64 + noted.further
    }

    /// Returns the ids of the collected records with these verbs, in their order.
    pub(crate) fn ids(&self, are_meant: impl Fn(RecordVerb) -> bool) -> Vec<String> {
        let noted = self.noted();
        let meant = noted.records.iter().filter(|it| are_meant(it.verb));
        meant.map(|it| it.id.clone()).collect()
    }

    /// Takes the collected records: the first ones, the number of the others, and how many of these were
    /// stored.
    pub(crate) fn take(&self) -> (Vec<AuditRecord>, (u64, u64)) {
        let mut noted = self.noted();
        let further = mem::take(&mut noted.further);
        let further_stored = mem::take(&mut noted.further_stored);
        (mem::take(&mut noted.records), (further, further_stored))
    }

    /// Adds secrets that were removed from a text before it is stored.
    pub(crate) fn note_redactions(&self, found: &Redactions) {
        self.noted().redactions.add_all(found);
    }

    /// Returns the secrets that were removed so far.
    pub(crate) fn redactions(&self) -> Redactions {
        self.noted().redactions.clone()
    }

    fn noted(&self) -> MutexGuard<'_, TrailRecords> {
        self.collected
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_named_once_by_its_strongest_verb() {
        let trail = Trail::default();
        trail.note(RecordVerb::Read, "a", Some(false));
        trail.note(RecordVerb::Deleted, "a", None);
        trail.note(RecordVerb::Stored, "b", None);
        trail.note(RecordVerb::Changed, "b", Some(true));
        let record = |id: &str, verb, is_own| AuditRecord {
            id: id.to_owned(),
            verb,
            is_own,
        };
        let expected = vec![
            record("a", RecordVerb::Deleted, false),
            record("b", RecordVerb::Stored, true),
        ];
        assert_eq!(trail.take(), (expected, (0, 0)));
        assert_eq!(trail.take(), (Vec::new(), (0, 0)));
    }

    #[test]
    fn a_change_takes_the_place_of_what_was_only_returned() {
        let trail = Trail::default();
        for number in 0..AUDIT_RECORDS_MAX {
            trail.note(RecordVerb::Returned, &number.to_string(), None);
        }
        trail.note(RecordVerb::Returned, "late", None);
        trail.note(RecordVerb::Changed, "7", None);
        trail.note(RecordVerb::Stored, "new", None);
        let (records, further) = trail.take();
        assert_eq!((records.len(), further), (AUDIT_RECORDS_MAX, (2, 0)));
        assert_eq!(records[7].verb, RecordVerb::Changed);
        let last: Vec<&str> = records[AUDIT_RECORDS_MAX - 2..]
            .iter()
            .map(|record| record.id.as_str())
            .collect();
        assert_eq!(last, ["98", "new"]);
    }

    #[test]
    fn records_beyond_the_bound_are_counted() {
        let trail = Trail::default();
        for number in 0..AUDIT_RECORDS_MAX + 7 {
            trail.note(RecordVerb::Read, &number.to_string(), None);
        }
        trail.note(RecordVerb::Stored, "new", None);
        // It is stored, too, but named.
        trail.note(RecordVerb::Stored, "0", None);
        let (records, further) = trail.take();
        assert_eq!((records.len(), further), (AUDIT_RECORDS_MAX, (8, 1)));
        assert_eq!(trail.take(), (Vec::new(), (0, 0)));
    }
}

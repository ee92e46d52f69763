//! Statements that bring back what an archive held, where it is not there.

use loci_core::{Decision, Passage, Record, Space, Timestamp};
use rusqlite::{Connection, params};

use crate::failure::{Result, assert_same_space, conflict};
use crate::statements::wipes::not_wiped;
use crate::statements::{
    answers, decisions, facts, idempotent_replies, note_files, settings, source_files, tombstones,
    tunnels, write,
};

pub(crate) fn import_record(
    connection: &Connection,
    space: &Space,
    record: &Record,
    passages: &[Passage],
    since: u64,
    now: Timestamp,
) -> Result<()> {
    if let Some((owner, origin)) = record.whose() {
        not_wiped(connection, space, owner, origin, since)?;
    }
    match record {
        Record::Memory(memory) => {
            assert_same_space(space, &memory.space, "a memory")?;
            write::import_memory(connection, memory, passages)
        }
        Record::NoteFolder(identity) => {
            absent(
                note_files::folder(connection, space)?.is_some(),
                "a folder of notes",
            )?;
            note_files::put_folder(connection, space, identity)
        }
        Record::NoteFile(file) => {
            // One that is missing makes room for one that is there.
            let sql = "SELECT 1 FROM note_file WHERE space = ?1 AND path = ?2 AND (missing_since IS NULL OR ?3)";
            let parameters = params![space.as_str(), file.path, file.missing_since.is_some()];
            absent(
                connection.prepare_cached(sql)?.exists(parameters)?,
                "a note with this path",
            )?;
            note_files::put(connection, space, file)
        }
        Record::Fact(fact) => {
            assert_same_space(space, &fact.space, "a fact")?;
            facts::put(connection, fact)
        }
        Record::Tunnel(tunnel) => {
            assert_same_space(space, &tunnel.space, "a tunnel")?;
            tunnels::put(connection, tunnel, None)
        }
        Record::Setting { owner, name, value } => {
            let owner = owner.as_deref();
            absent(
                settings::find(connection, space, owner, name)?.is_some(),
                "a setting of this name",
            )?;
            settings::put(connection, space, owner, name, value)
        }
        Record::SourceFile(file) => source_files::put(connection, space, file, None),
        Record::CacheEntry(entry) => {
            assert_same_space(space, &entry.space, "a cached answer")?;
            answers::put(connection, entry, since)
        }
        Record::Decision(decision) => import_decision(connection, space, decision, (since, now)),
        Record::IdempotentReply(answer) => {
            assert_same_space(space, &answer.space, "an answer")?;
            idempotent_replies::keep(connection, answer)
        }
        Record::Tombstone(tombstone) => tombstones::import(connection, space, tombstone),
    }
}

fn import_decision(
    connection: &Connection,
    space: &Space,
    decision: &Decision,
    (since, now): (u64, Timestamp),
) -> Result<()> {
    assert_same_space(space, &decision.space, "a decision")?;
    let (owner, key) = (&decision.owner, &decision.key);
    let make_room =
        "DELETE FROM decision WHERE space = ?1 AND owner = ?2 AND key = ?3 AND expires_at <= ?4";
    connection.prepare_cached(make_room)?.execute(params![
        space.as_str(),
        owner,
        key,
        now.microseconds()
    ])?;
    absent(
        decisions::find(connection, space, owner, key, now)?.is_some(),
        "a decision under this key",
    )?;
    decisions::put(connection, decision, since).map(|_| ())
}

fn absent(is_there: bool, what: &str) -> Result<()> {
    if is_there {
        Err(conflict(format!("there is {what} already; it stays")))
    } else {
        Ok(())
    }
}

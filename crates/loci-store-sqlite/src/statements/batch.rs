//! Applies a batch. It runs on the writer's thread, inside its transaction.

use loci_core::{Batch, Change, Condition, Error, Expect, Space};
use rusqlite::Connection;

use crate::failure::{Result, assert_same_space, memory_conflict};
use crate::statements::wipes::not_wiped;
use crate::statements::{
    facts, idempotent_replies, import_record, jobs, note_files, record_versions, settings,
    source_files, tombstones, tunnels, versions, write,
};

/// Checks a batch and applies all its changes.
pub(crate) fn commit(connection: &Connection, batch: &Batch) -> Result<()> {
    batch.check()?;
    apply(connection, batch)
}

/// Applies all changes of a batch that was checked, if its conditions hold.
pub(crate) fn apply(connection: &Connection, batch: &Batch) -> Result<()> {
    let space = &batch.space;
    for condition in &batch.conditions {
        require(connection, space, condition)?;
    }
    for change in &batch.changes {
        match change {
            Change::Put {
                memory,
                passages,
                expect,
            } => {
                assert_same_space(space, &memory.space, "a memory")?;
                write::put(connection, memory, passages.as_deref(), *expect)?;
            }
            Change::Delete { id, revision } => {
                let found = write::find(connection, space, id)?;
                if let Some(row) = write::expected(found, Expect::Revision(*revision), id)? {
                    write::delete(connection, row)?;
                }
            }
            Change::Undelete {
                id,
                deleted_at,
                passages,
            } => write::undelete(connection, space, id, *deleted_at, passages)?,
            Change::PutVersion(version) => versions::put(connection, space, version)?,
            Change::DeleteVersions { id } => versions::delete(connection, space, id)?,
            Change::Embed {
                id,
                revision,
                vectors,
            } => {
                if let Some(found) = write::find(connection, space, id)?
                    && found.has(*revision)
                {
                    write::embed(connection, found.row, vectors)?;
                }
            }
            Change::Enqueue { memory, due_at } => match write::find(connection, space, memory)? {
                Some(found) if !found.is_deleted => {
                    jobs::enqueue(connection, found.row, memory, *due_at)?;
                }
                _ => {
                    return Err(memory_conflict(memory, "is gone and needs no job"));
                }
            },
            Change::Settle { job, outcome } => {
                assert_same_space(space, &job.space, "a job")?;
                jobs::settle(connection, job, outcome)?;
            }
            Change::Import {
                record,
                passages,
                since,
                now,
            } => {
                import_record::import_record(connection, space, record, passages, *since, *now)?;
            }
            other => apply_to_records(connection, space, other)?,
        }
    }
    Ok(())
}

/// Checks a condition.
fn require(connection: &Connection, space: &Space, condition: &Condition) -> Result<()> {
    match condition {
        Condition::NotWiped {
            owner,
            origin,
            since,
        } => not_wiped(connection, space, owner, Some(origin), *since)?,
        Condition::NotNote { id } => note_files::none_of(connection, space, id)?,
        Condition::SettingIs { owner, name, value } => {
            settings::expect(connection, space, owner.as_deref(), name, value.as_deref())?;
        }
    }
    Ok(())
}

/// Applies a change of something besides memories.
fn apply_to_records(connection: &Connection, space: &Space, change: &Change) -> Result<()> {
    match change {
        Change::PutNoteFile(file) => note_files::put(connection, space, file)?,
        Change::ExpectNoteFile { file, expect } => {
            let id = file
                .memory
                .as_ref()
                .ok_or_else(|| Error::internal("a file that is expected is a memory"))?;
            write::expected(write::find(connection, space, id)?, *expect, id)?;
            note_files::expect(connection, space, file)?;
        }
        Change::DeleteNoteFile { path } => note_files::delete(connection, space, path)?,
        Change::PutNoteFolder { identity } => {
            note_files::put_folder(connection, space, identity)?;
        }
        Change::PutIdempotentReply(answer) => {
            assert_same_space(space, &answer.space, "an answer")?;
            idempotent_replies::keep(connection, answer)?;
        }
        Change::PutFact(fact) => {
            assert_same_space(space, &fact.space, "a fact")?;
            facts::put(connection, fact)?;
        }
        Change::EndFact {
            id,
            before,
            valid_to,
        } => facts::end(connection, space, id, *before, *valid_to)?,
        Change::DeleteFacts { facts } => facts::delete(connection, space, facts)?,
        Change::PutRecordVersion(version) => {
            assert_same_space(space, &version.space, "a former state")?;
            record_versions::put(connection, version)?;
        }
        Change::DeleteRecordVersions { kind, id } => {
            record_versions::delete(connection, space, *kind, id)?;
        }
        Change::PutTunnel { tunnel, expect } => {
            assert_same_space(space, &tunnel.space, "a tunnel")?;
            tunnels::put(connection, tunnel, expect.as_deref())?;
        }
        Change::DeleteTunnel { id } => tunnels::delete(connection, space, id)?,
        Change::PutSetting { owner, name, value } => {
            settings::put(connection, space, owner.as_deref(), name, value)?;
        }
        Change::DeleteSetting { owner, name } => {
            settings::delete(connection, space, owner.as_deref(), name)?;
        }
        Change::PutSourceFile { file, expect } => {
            source_files::put(connection, space, file, expect.as_deref())?;
        }
        Change::DeleteSourceFile { expect } => source_files::delete(connection, space, expect)?,
        Change::PutTombstones(tombstones) => tombstones::put(connection, space, tombstones)?,
        Change::DeleteTombstones { texts } => tombstones::delete(connection, space, texts)?,
        // The others are changes of memories and jobs.
        _ => return Err(Error::internal("this store does not know a change of this kind").into()),
    }
    Ok(())
}

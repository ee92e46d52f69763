//! Applies a batch in a transaction.

use loci_core::{
    Batch, Change, Condition, Error, Expect, Job, JobOutcome, MemoryId, Passage, Record, Space,
    Timestamp,
};

use crate::failure::{Result, assert_same_space, conflict, memory_conflict};
use crate::transaction::{Needs, Transaction};
use crate::value::values;
use crate::{
    cache_entries, decisions, facts, memories, notes, record_versions, replies, settings,
    source_files, tombstones, tunnels, versions,
};

/// Returns what the conditions and changes of a batch need to know before.
pub(crate) fn needs(batch: &Batch, needs: &mut Needs) {
    for condition in &batch.conditions {
        match condition {
            Condition::NotWiped { owner, .. } => needs.owners.push(owner.clone()),
            Condition::NotNote { id } => {
                needs.memories.push(id.clone());
                needs.notes.push(id.clone());
            }
            Condition::SettingIs { .. } => {}
        }
    }
    for change in &batch.changes {
        match change {
            Change::Put {
                memory, passages, ..
            } => {
                needs.memories.push(memory.id.clone());
                let mut passages = passages.iter().flatten();
                needs.models |= passages.any(|passage| passage.vector.is_some());
            }
            Change::Delete { id, .. }
            | Change::Undelete { id, .. }
            | Change::DeleteVersions { id } => {
                needs.memories.push(id.clone());
            }
            Change::PutVersion(version) => needs.memories.push(version.memory.clone()),
            Change::Embed { id, .. } => {
                needs.memories.push(id.clone());
                needs.models = true;
            }
            Change::Enqueue { memory, .. } => needs.memories.push(memory.clone()),
            Change::Settle { job, .. } => needs.memories.push(job.memory.clone()),
            Change::ExpectNoteFile { file, .. } => needs.memories.extend(file.memory.clone()),
            Change::PutTunnel { tunnel, .. } => {
                let ends = [&tunnel.source.memory, &tunnel.target.memory];
                needs.memories.extend(ends.into_iter().flatten().cloned());
            }
            Change::PutIdempotentReply(reply) => needs.memories.extend(reply.memories.clone()),
            Change::Import {
                record, passages, ..
            } => {
                let owner = record.whose().map(|(owner, _)| owner.to_owned());
                needs.owners.extend(owner);
                if let Record::Memory(memory) = &**record {
                    needs.memories.push(memory.id.clone());
                }
                needs.models |= passages.iter().any(|passage| passage.vector.is_some());
            }
            _ => {}
        }
    }
}

/// Applies all changes of a batch, if its conditions hold.
pub(crate) async fn apply(transaction: &mut Transaction<'_>, batch: &Batch) -> Result<()> {
    let space = &batch.space;
    for condition in &batch.conditions {
        match condition {
            Condition::NotWiped {
                owner,
                origin,
                since,
            } => transaction.not_wiped(owner, Some(origin), *since)?,
            Condition::NotNote { id } => notes::none_of(transaction, id).await?,
            Condition::SettingIs { owner, name, value } => {
                settings::expect(transaction, owner.as_deref(), name, value.as_deref()).await?;
            }
        }
    }
    for change in &batch.changes {
        match change {
            Change::Put {
                memory,
                passages,
                expect,
            } => {
                assert_same_space(space, &memory.space, "a memory")?;
                memories::put(transaction, memory, passages.as_deref(), *expect).await?;
            }
            Change::Delete { id, revision } => {
                let found = transaction.find(id).await?;
                memories::expected(found.as_ref(), Expect::Revision(*revision), id)?;
                memories::delete(transaction, found.as_slice());
            }
            Change::Undelete {
                id,
                deleted_at,
                passages,
            } => memories::undelete(transaction, id, *deleted_at, passages).await?,
            Change::PutVersion(version) => versions::put(transaction, version).await?,
            Change::DeleteVersions { id } => versions::delete(transaction, id).await?,
            Change::Embed {
                id,
                revision,
                vectors,
            } => {
                if let Some(found) = transaction.find(id).await?
                    && found.has(*revision)
                {
                    memories::embed(transaction, found.row, vectors).await?;
                }
            }
            Change::Enqueue { memory, due_at } => enqueue(transaction, memory, *due_at).await?,
            Change::Settle { job, outcome } => {
                assert_same_space(space, &job.space, "a job")?;
                settle(transaction, job, outcome).await?;
            }
            Change::Import {
                record,
                passages,
                since,
                now,
            } => import(transaction, space, record, passages, *since, *now).await?,
            other => apply_to_records(transaction, space, other).await?,
        }
    }
    Ok(())
}

/// Applies a change of something besides memories.
async fn apply_to_records(
    transaction: &mut Transaction<'_>,
    space: &Space,
    change: &Change,
) -> Result<()> {
    match change {
        Change::PutNoteFile(file) => notes::put(transaction, file),
        Change::ExpectNoteFile { file, expect } => {
            let id = file
                .memory
                .as_ref()
                .ok_or_else(|| Error::internal("a file that is expected is a memory"))?;
            memories::expected(transaction.find(id).await?.as_ref(), *expect, id)?;
            notes::expect(transaction, file).await?;
        }
        Change::DeleteNoteFile { path } => notes::delete(transaction, path),
        Change::PutNoteFolder { identity } => notes::put_folder(transaction, identity),
        Change::PutIdempotentReply(reply) => {
            assert_same_space(space, &reply.space, "an answer")?;
            replies::keep(transaction, reply).await?;
        }
        Change::PutFact(fact) => {
            assert_same_space(space, &fact.space, "a fact")?;
            facts::put(transaction, fact).await?;
        }
        Change::EndFact {
            id,
            before,
            valid_to,
        } => facts::end(transaction, id, *before, *valid_to).await?,
        Change::DeleteFacts { facts } => facts::delete(transaction, facts).await?,
        Change::PutRecordVersion(version) => {
            assert_same_space(space, &version.space, "a former state")?;
            record_versions::put(transaction, version);
        }
        Change::DeleteRecordVersions { kind, id } => {
            record_versions::delete(transaction, *kind, std::slice::from_ref(id));
        }
        Change::PutTunnel { tunnel, expect } => {
            assert_same_space(space, &tunnel.space, "a tunnel")?;
            tunnels::put(transaction, tunnel, expect.as_deref()).await?;
        }
        Change::DeleteTunnel { id } => tunnels::delete(transaction, id).await?,
        Change::PutSetting { owner, name, value } => {
            settings::put(transaction, owner.as_deref(), name, value);
        }
        Change::DeleteSetting { owner, name } => {
            settings::delete(transaction, owner.as_deref(), name);
        }
        Change::PutSourceFile { file, expect } => {
            source_files::put(transaction, file, expect.as_deref()).await?;
        }
        Change::DeleteSourceFile { expect } => {
            source_files::delete(transaction, expect).await?;
        }
        Change::PutTombstones(tombstones) => tombstones::put(transaction, tombstones),
        Change::DeleteTombstones { texts } => tombstones::delete(transaction, texts),
        // The others are changes of memories and jobs.
        _ => return Err(Error::internal("this store does not know a change of this kind").into()),
    }
    Ok(())
}

async fn enqueue(
    transaction: &mut Transaction<'_>,
    memory: &MemoryId,
    due_at: Timestamp,
) -> Result<()> {
    let found = transaction.find(memory).await?;
    let Some(found) = found.filter(|found| found.deleted_at.is_none()) else {
        return Err(memory_conflict(memory, "is gone and needs no job"));
    };
    let added = transaction
        .execute(
            "INSERT INTO @job AS j (space, memory, due_at, attempts) VALUES ($1, $2, $3, 0) \
             ON CONFLICT (space, memory) DO UPDATE SET due_at = excluded.due_at, attempts = 0, lease = NULL, \
             leased_until = NULL, problem = NULL WHERE j.due_at IS NULL",
            values![transaction.name(), found.row, due_at],
        )
        .await?;
    if added == 0 {
        return Err(conflict(format!("memory `{memory}` has a job already")));
    }
    Ok(())
}

async fn settle(transaction: &mut Transaction<'_>, job: &Job, outcome: &JobOutcome) -> Result<()> {
    let row = transaction.find(&job.memory).await?.map(|found| found.row);
    let name = transaction.name();
    // A parked job is under no lease.
    let held = "WHERE space = $1 AND memory = $2 AND lease = $3";
    let values = values![name, row, &job.lease];
    let with = |more: Vec<_>| values.iter().cloned().chain(more).collect();
    let wait = "UPDATE @job SET due_at = $4, lease = NULL, leased_until = NULL, problem = $5";
    let settled = match outcome {
        JobOutcome::Done => {
            let sql = format!("DELETE FROM @job {held}");
            transaction.execute(&sql, values).await?
        }
        JobOutcome::Retry { due_at, problem } => {
            let values = with(values![*due_at, problem]);
            transaction
                .execute(&format!("{wait} {held}"), values)
                .await?
        }
        JobOutcome::Failed { problem } => {
            let values = with(values![None::<i64>, problem]);
            transaction
                .execute(&format!("{wait} {held}"), values)
                .await?
        }
        JobOutcome::Release { due_at } => {
            let sql = format!(
                "UPDATE @job SET due_at = $4, attempts = attempts - 1, lease = NULL, leased_until = NULL {held}"
            );
            transaction.execute(&sql, with(values![*due_at])).await?
        }
    };
    if settled == 0 {
        return Err(conflict(format!(
            "the job of memory `{}` was leased again or removed; leave it to the process that has it now",
            job.memory
        )));
    }
    Ok(())
}

/// Restores a record of an archive, if its id or key is unused.
async fn import(
    transaction: &mut Transaction<'_>,
    space: &Space,
    record: &Record,
    passages: &[Passage],
    since: u64,
    now: Timestamp,
) -> Result<()> {
    if let Some((owner, origin)) = record.whose() {
        transaction.not_wiped(owner, origin, since)?;
    }
    match record {
        Record::Memory(memory) => {
            assert_same_space(space, &memory.space, "a memory")?;
            memories::import(transaction, memory, passages).await
        }
        Record::NoteFolder(identity) => {
            let is_there = notes::has_folder(transaction).await?;
            absent(is_there, "a folder of notes")?;
            notes::put_folder(transaction, identity);
            Ok(())
        }
        Record::NoteFile(file) => {
            let is_there = notes::is_known(transaction, file).await?;
            absent(is_there, "a note with this path")?;
            notes::put(transaction, file);
            Ok(())
        }
        Record::Fact(fact) => {
            assert_same_space(space, &fact.space, "a fact")?;
            facts::put(transaction, fact).await
        }
        Record::Tunnel(tunnel) => {
            assert_same_space(space, &tunnel.space, "a tunnel")?;
            tunnels::put(transaction, tunnel, None).await
        }
        Record::Setting { owner, name, value } => {
            let is_there = settings::is_known(transaction, owner.as_deref(), name).await?;
            absent(is_there, "a setting of this name")?;
            settings::put(transaction, owner.as_deref(), name, value);
            Ok(())
        }
        Record::SourceFile(file) => source_files::put(transaction, file, None).await,
        Record::CacheEntry(entry) => {
            assert_same_space(space, &entry.space, "a cached answer")?;
            cache_entries::put(transaction, entry, since).await
        }
        Record::Decision(decision) => {
            assert_same_space(space, &decision.space, "a decision")?;
            let is_there = decisions::find(transaction, decision, now).await?.is_some();
            absent(is_there, "a decision under this key")?;
            decisions::write(transaction, decision);
            Ok(())
        }
        Record::IdempotentReply(reply) => {
            assert_same_space(space, &reply.space, "an answer")?;
            replies::keep(transaction, reply).await
        }
        Record::Tombstone(tombstone) => {
            let is_there = tombstones::is_known(transaction, tombstone).await?;
            absent(is_there, "a tombstone like this")?;
            tombstones::insert(transaction, std::slice::from_ref(tombstone));
            Ok(())
        }
    }
}

fn absent(is_there: bool, noun: &str) -> Result<()> {
    if is_there {
        Err(conflict(format!("there is {noun} already; it stays")))
    } else {
        Ok(())
    }
}

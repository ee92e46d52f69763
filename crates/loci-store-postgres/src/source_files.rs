//! Statements over what is known of files that memories were made from.

use loci_core::{SourceFile, Space};

use crate::failure::{Result, conflict};
use crate::session::Session;
use crate::transaction::Transaction;
use crate::value::{Value, digest, read_record, values};

/// The columns of a file.
pub(crate) const COLUMNS: &str = "machine, collection, path, root, format, bytes, modified, bytes_read, hash, \
    parts, is_pending, is_whole";

fn key(machine: &str, collection: Option<&str>, path: &str) -> Vec<u8> {
    digest(&[Some(machine), collection, Some(path)])
}

fn key_of(file: &SourceFile) -> Vec<u8> {
    key(&file.machine, file.collection.as_deref(), &file.path)
}

fn key_at(machine: &str, path: &str) -> Vec<u8> {
    digest(&[Some(machine), Some(path)])
}

pub(crate) async fn put(
    transaction: &mut Transaction<'_>,
    file: &SourceFile,
    expect: Option<&SourceFile>,
) -> Result<()> {
    let key = key_of(file);
    expected(transaction, &key, expect).await?;
    let row = values![
        transaction.name(),
        key,
        key_at(&file.machine, &file.path),
        &file.machine,
        &file.collection,
        &file.path,
        &file.root,
        &file.format,
        file.stamp.bytes.cast_signed(),
        file.stamp.modified_nanoseconds,
        file.bytes_read.cast_signed(),
        file.hash.0,
        file.parts.cast_signed(),
        file.is_pending,
        file.is_whole,
    ];
    transaction.insert_rows(
        &format!("INSERT INTO @source_file (space, file, at_path, {COLUMNS})"),
        vec![row],
        " ON CONFLICT (space, file) DO UPDATE SET root = excluded.root, format = excluded.format, \
         bytes = excluded.bytes, modified = excluded.modified, bytes_read = excluded.bytes_read, \
         hash = excluded.hash, parts = excluded.parts, is_pending = excluded.is_pending, \
         is_whole = excluded.is_whole",
    );
    transaction.record_other_change();
    Ok(())
}

/// Fails unless that is what is known of the file with this key.
async fn expected(
    transaction: &mut Transaction<'_>,
    key: &[u8],
    expect: Option<&SourceFile>,
) -> Result<()> {
    let sql = format!("SELECT {COLUMNS} FROM @source_file WHERE space = $1 AND file = $2");
    let values = values![transaction.name(), key.to_vec()];
    let found = transaction.query(&sql, values).await?.pop();
    if found.as_ref().map(read_record).transpose()?.as_ref() == expect {
        return Ok(());
    }
    Err(conflict(
        "another process read the file first; read what is known about it again and retry",
    ))
}

pub(crate) async fn delete(transaction: &mut Transaction<'_>, expect: &SourceFile) -> Result<()> {
    let key = key_of(expect);
    expected(transaction, &key, Some(expect)).await?;
    transaction.queue(
        "DELETE FROM @source_file WHERE space = $1 AND file = $2",
        values![transaction.name(), key],
    );
    transaction.record_other_change();
    Ok(())
}

pub(crate) async fn find(
    session: &Session,
    space: &Space,
    machine: &str,
    collection: Option<&str>,
    path: &str,
) -> Result<Option<SourceFile>> {
    let values = values![space, key(machine, collection, path)];
    Ok(select(session, "file = $2", values).await?.pop())
}

pub(crate) async fn of_collection(
    session: &Session,
    space: &Space,
    machine: &str,
    collection: Option<&str>,
) -> Result<Vec<SourceFile>> {
    if let Some(name) = collection {
        let condition = "machine = $2 AND collection = $3 ORDER BY path";
        select(session, condition, values![space, machine, name]).await
    } else {
        let condition = "machine = $2 AND collection IS NULL ORDER BY path";
        select(session, condition, values![space, machine]).await
    }
}

pub(crate) async fn at(
    session: &Session,
    space: &Space,
    machine: &str,
    path: &str,
) -> Result<Vec<SourceFile>> {
    let condition = "at_path = $2 ORDER BY collection NULLS FIRST";
    select(session, condition, values![space, key_at(machine, path)]).await
}

pub(crate) async fn pending(
    session: &Session,
    space: &Space,
    machine: &str,
    limit: usize,
) -> Result<Vec<SourceFile>> {
    let condition = "machine = $2 AND is_pending ORDER BY path, collection NULLS FIRST LIMIT $3";
    select(session, condition, values![space, machine, limit]).await
}

async fn select(session: &Session, condition: &str, values: Vec<Value>) -> Result<Vec<SourceFile>> {
    let sql = format!("SELECT {COLUMNS} FROM @source_file WHERE space = $1 AND {condition}");
    session.records(&sql, &values).await
}

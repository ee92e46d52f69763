//! Statements over tokens.

use loci_core::{Error, ErrorCode, Scope, Timestamp, Token, TokenHash};
use rusqlite::{Connection, params};

use crate::failure::{Failure, Result};
use crate::statements::row::{none_broken, read_all, read_one};

const COLUMNS: &str = "id, hash, space, subject, scopes, created_at, expires_at, revoked_at";
/// The condition that a row is as it was written.
const HOLDS: &str = "checksum IS loci_checksum(id, hash, space, subject, scopes, created_at, expires_at, revoked_at)";

/// The columns of a token.
pub(crate) fn columns() -> String {
    format!("{HOLDS}, {COLUMNS}")
}

pub(crate) fn add(connection: &Connection, token: &Token) -> Result<()> {
    token.check()?;
    let sql = format!("INSERT INTO token ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)");
    let scopes: Vec<&str> = token.scopes.iter().map(Scope::name).collect();
    let parameters = params![
        token.id,
        token.hash,
        token.space.as_str(),
        token.subject,
        scopes.join(" "),
        token.created_at.microseconds(),
        token.expires_at.map(Timestamp::microseconds),
        token.revoked_at.map(Timestamp::microseconds),
    ];
    match connection.prepare_cached(&sql)?.execute(parameters) {
        Err(error)
            if error.sqlite_error_code() == Some(rusqlite::ErrorCode::ConstraintViolation) =>
        {
            let message = format!(
                "a token named `{}`, or with the same secret, exists; choose another",
                token.id
            );
            Err(Error::new(ErrorCode::Conflict, message).into())
        }
        outcome => outcome.map(|_| ()).map_err(Failure::from),
    }
}

pub(crate) fn all(connection: &Connection) -> Result<Vec<Token>> {
    let sql = format!("SELECT {} FROM token ORDER BY created_at, id", columns());
    read_all(connection, &sql, [])
}

pub(crate) fn by_hash(connection: &Connection, hash: &TokenHash) -> Result<Option<Token>> {
    let sql = format!("SELECT {} FROM token WHERE hash = ?1", columns());
    read_one(connection, &sql, [hash])
}

pub(crate) fn revoke(connection: &Connection, id: &str, now: Timestamp) -> Result<()> {
    let broken = format!("SELECT 1 FROM token WHERE id = ?1 AND NOT {HOLDS}");
    none_broken(connection, &broken, [id], "token", id)?;
    let sql = "UPDATE token SET revoked_at = coalesce(revoked_at, ?2) WHERE id = ?1";
    let revoked = connection
        .prepare_cached(sql)?
        .execute(params![id, now.microseconds()])?;
    if revoked == 0 {
        return Err(
            Error::not_found(format!("there is no token named `{id}`; list the tokens")).into(),
        );
    }
    Ok(())
}

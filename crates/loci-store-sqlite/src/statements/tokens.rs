//! Statements over tokens.

use loci_core::{ClientGrant, Error, ErrorCode, Scope, Timestamp, Token, TokenHash, check_texts};
use loci_index::records::TOKEN;
use rusqlite::{Connection, params};

use crate::failure::{Failure, Result};
use crate::statements::row::{none_broken, read_all, read_one};

/// The condition that a row is as it was written.
fn holds() -> String {
    format!("checksum IS loci_checksum(id, hash, space, {TOKEN})")
}

/// The columns of a token.
pub(crate) fn columns() -> String {
    format!("{}, id, hash, space, {TOKEN}", holds())
}

pub(crate) fn add(connection: &Connection, token: &Token) -> Result<()> {
    token.check()?;
    let sql = format!(
        "INSERT INTO token (id, hash, space, {TOKEN}) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)"
    );
    let scopes: Vec<&str> = token.scopes.iter().map(Scope::name).collect();
    let grant = token.grant.as_ref();
    let (redirect_uri, challenge) = code_of(grant);
    let parameters = params![
        token.id,
        token.hash,
        token.space.as_str(),
        token.subject,
        scopes.join(" "),
        token.created_at.microseconds(),
        token.expires_at.map(Timestamp::microseconds),
        token.revoked_at.map(Timestamp::microseconds),
        grant.map(|grant| &grant.client_id),
        grant.map(|grant| &grant.client),
        grant.map(|grant| &grant.resource),
        grant.map(|grant| &grant.parent),
        grant.map(|grant| grant.family),
        grant.map(|grant| grant.secret),
        grant.map(|grant| grant.renewable_until.microseconds()),
        redirect_uri,
        challenge,
    ];
    match connection.prepare_cached(&sql)?.execute(parameters) {
        Err(error) if is_taken(&error) => {
            let message = format!(
                "a token named `{}`, or with the same secret, exists; choose another",
                token.id
            );
            Err(Error::new(ErrorCode::Conflict, message).into())
        }
        outcome => outcome.map(|_| ()).map_err(Failure::from),
    }
}

/// The redirect URI and the challenge of a code that is to be redeemed.
fn code_of(grant: Option<&ClientGrant>) -> (Option<&str>, Option<&str>) {
    let code = grant.and_then(|grant| grant.code.as_ref());
    (
        code.map(|code| code.redirect_uri.as_str()),
        code.map(|code| code.challenge.as_str()),
    )
}

fn is_taken(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(rusqlite::ErrorCode::ConstraintViolation)
}

pub(crate) fn all(connection: &Connection) -> Result<Vec<Token>> {
    let sql = format!("SELECT {} FROM token ORDER BY created_at, id", columns());
    read_all(connection, &sql, [])
}

pub(crate) fn by_hash(connection: &Connection, hash: &TokenHash) -> Result<Option<Token>> {
    let sql = format!("SELECT {} FROM token WHERE hash = ?1", columns());
    read_one(connection, &sql, [hash])
}

pub(crate) fn by_family(connection: &Connection, family: &TokenHash) -> Result<Option<Token>> {
    let sql = format!("SELECT {} FROM token WHERE family = ?1", columns());
    read_one(connection, &sql, [family])
}

pub(crate) fn renew(connection: &Connection, secret: &TokenHash, renewed: &Token) -> Result<bool> {
    let Some(grant) = &renewed.grant else {
        return Ok(false);
    };
    renewed.check()?;
    let broken = format!("SELECT 1 FROM token WHERE id = ?1 AND NOT {}", holds());
    none_broken(connection, &broken, [&renewed.id], "token", &renewed.id)?;
    let sql = "UPDATE token SET hash = ?3, expires_at = ?4, secret = ?5, renewable_until = ?6, redirect_uri = ?7, \
         challenge = ?8 WHERE id = ?1 AND secret = ?2 AND revoked_at IS NULL";
    let (redirect_uri, challenge) = code_of(Some(grant));
    let parameters = params![
        renewed.id,
        secret,
        renewed.hash,
        renewed.expires_at.map(Timestamp::microseconds),
        grant.secret,
        grant.renewable_until.microseconds(),
        redirect_uri,
        challenge,
    ];
    match connection.prepare_cached(sql)?.execute(parameters) {
        Err(error) if is_taken(&error) => {
            let message = "a token with the same secret exists; make another";
            Err(Error::new(ErrorCode::Conflict, message).into())
        }
        outcome => Ok(outcome? == 1),
    }
}

pub(crate) fn remove_ended(connection: &Connection, before: Timestamp) -> Result<u64> {
    let sql = "DELETE FROM token WHERE renewable_until < ?1";
    let removed = connection
        .prepare_cached(sql)?
        .execute([before.microseconds()])?;
    Ok(removed as u64)
}

pub(crate) fn revoke(connection: &Connection, id: &str, now: Timestamp) -> Result<()> {
    let broken = format!(
        "SELECT 1 FROM token WHERE (id = ?1 OR parent = ?1) AND NOT {}",
        holds()
    );
    none_broken(connection, &broken, [id], "token", id)?;
    let sql = "UPDATE token SET revoked_at = coalesce(revoked_at, ?2) WHERE id = ?1 OR parent = ?1";
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

/// Damaged rows go, too: a name that stays because its row is broken would never go.
pub(crate) fn remove_of(connection: &Connection, subject: &str) -> Result<u64> {
    check_texts([("subject", Some(subject))])?;
    let removed = connection
        .prepare_cached("DELETE FROM token WHERE subject = ?1")?
        .execute([subject])?;
    Ok(removed as u64)
}

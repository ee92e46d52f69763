//! Statements over tokens.

use loci_core::{Error, ErrorCode, Scope, Timestamp, Token, TokenHash};

use crate::failure::Result;
use crate::session::Session;
use crate::transaction::Transaction;
use crate::value::values;

const COLUMNS: &str = "id, hash, of_space, subject, scopes, created_at, expires_at, revoked_at";

pub(crate) async fn add(transaction: &mut Transaction<'_>, token: &Token) -> Result<()> {
    token.check()?;
    let scopes: Vec<&str> = token.scopes.iter().map(Scope::name).collect();
    let sql = format!(
        "INSERT INTO @token (space, {COLUMNS}) VALUES ('', $1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING"
    );
    let values = values![
        &token.id,
        token.hash,
        &token.space,
        &token.subject,
        scopes.join(" "),
        token.created_at,
        token.expires_at,
        token.revoked_at,
    ];
    if transaction.execute(&sql, values).await? == 0 {
        let message = format!(
            "a token named `{}`, or with the same secret, exists; choose another",
            token.id
        );
        return Err(Error::new(ErrorCode::Conflict, message).into());
    }
    Ok(())
}

pub(crate) async fn all(session: &Session) -> Result<Vec<Token>> {
    let sql = format!("SELECT {COLUMNS} FROM @token WHERE space = '' ORDER BY created_at, id");
    session.records(&sql, &[]).await
}

pub(crate) async fn by_hash(session: &Session, hash: &TokenHash) -> Result<Option<Token>> {
    let sql = format!("SELECT {COLUMNS} FROM @token WHERE space = '' AND hash = $1");
    session.record(&sql, &values![*hash]).await
}

pub(crate) async fn revoke(
    transaction: &mut Transaction<'_>,
    id: &str,
    now: Timestamp,
) -> Result<()> {
    let sql =
        "UPDATE @token SET revoked_at = coalesce(revoked_at, $2) WHERE space = '' AND id = $1";
    if transaction.execute(sql, values![id, now]).await? == 0 {
        let message = format!("there is no token named `{id}`; list the tokens");
        return Err(Error::not_found(message).into());
    }
    Ok(())
}

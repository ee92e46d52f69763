//! Statements over tokens.

use loci_core::{Error, ErrorCode, Scope, Scopes, Timestamp, Token, TokenHash};
use loci_index::codec::damaged;
use tokio_postgres::Row;

use crate::failure::Result;
use crate::session::Session;
use crate::transaction::Transaction;
use crate::value::{Columns, values};

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
    let rows = session.query(&sql, &[]).await?;
    rows.iter().map(read).collect()
}

pub(crate) async fn by_hash(session: &Session, hash: &TokenHash) -> Result<Option<Token>> {
    let sql = format!("SELECT {COLUMNS} FROM @token WHERE space = '' AND hash = $1");
    let row = session.query_one(&sql, &values![*hash]).await?;
    row.as_ref().map(read).transpose()
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

fn read(row: &Row) -> Result<Token> {
    let mut columns = Columns::of(row);
    Ok(Token {
        id: columns.take()?,
        hash: columns.hash()?,
        space: columns.space()?,
        subject: columns.take()?,
        scopes: {
            let names: &str = columns.take()?;
            let scopes: Option<Vec<Scope>> =
                names.split_whitespace().map(Scope::from_name).collect();
            Scopes::of(&scopes.ok_or_else(damaged)?)
        },
        created_at: columns.instant()?,
        expires_at: columns.moment()?,
        revoked_at: columns.moment()?,
    })
}

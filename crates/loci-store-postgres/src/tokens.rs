//! Statements over tokens.

use loci_core::{ClientGrant, Error, ErrorCode, Scope, Timestamp, Token, TokenHash, check_texts};
use loci_index::records::TOKEN;

use crate::failure::Result;
use crate::session::Session;
use crate::transaction::Transaction;
use crate::value::values;

pub(crate) async fn add(transaction: &mut Transaction<'_>, token: &Token) -> Result<()> {
    token.check()?;
    let scopes: Vec<&str> = token.scopes.iter().map(Scope::name).collect();
    let sql = format!(
        "INSERT INTO @token (space, id, hash, of_space, {TOKEN}) VALUES ('', $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, \
         $11, $12, $13, $14, $15, $16, $17) ON CONFLICT DO NOTHING"
    );
    let grant = token.grant.as_ref();
    let (redirect_uri, challenge) = code_of(grant);
    let values = values![
        &token.id,
        token.hash,
        &token.space,
        &token.subject,
        scopes.join(" "),
        token.created_at,
        token.expires_at,
        token.revoked_at,
        grant.map(|grant| grant.client_id.as_str()),
        grant.map(|grant| grant.client.as_str()),
        grant.map(|grant| grant.resource.as_str()),
        grant.map(|grant| grant.parent.as_str()),
        grant.map(|grant| grant.family.to_vec()),
        grant.map(|grant| grant.secret.to_vec()),
        grant.map(|grant| grant.renewable_until),
        redirect_uri,
        challenge,
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

/// The redirect URI and the challenge of a code that is to be redeemed.
fn code_of(grant: Option<&ClientGrant>) -> (Option<&str>, Option<&str>) {
    let code = grant.and_then(|grant| grant.code.as_ref());
    (
        code.map(|code| code.redirect_uri.as_str()),
        code.map(|code| code.challenge.as_str()),
    )
}

pub(crate) async fn all(session: &Session) -> Result<Vec<Token>> {
    let sql = format!(
        "SELECT id, hash, of_space, {TOKEN} FROM @token WHERE space = '' ORDER BY created_at, id"
    );
    session.records(&sql, &[]).await
}

pub(crate) async fn by_hash(session: &Session, hash: &TokenHash) -> Result<Option<Token>> {
    let sql =
        format!("SELECT id, hash, of_space, {TOKEN} FROM @token WHERE space = '' AND hash = $1");
    session.record(&sql, &values![*hash]).await
}

pub(crate) async fn by_family(session: &Session, family: &TokenHash) -> Result<Option<Token>> {
    let sql =
        format!("SELECT id, hash, of_space, {TOKEN} FROM @token WHERE space = '' AND family = $1");
    session.record(&sql, &values![*family]).await
}

pub(crate) async fn renew(
    transaction: &mut Transaction<'_>,
    secret: &TokenHash,
    renewed: &Token,
) -> Result<bool> {
    let Some(grant) = &renewed.grant else {
        return Ok(false);
    };
    renewed.check()?;
    // Of two tokens with one hash the index would refuse the second with an error that ends the
    // transaction; so it is looked for first. A hash of random bytes never meets another.
    let sql = "UPDATE @token SET hash = $3, expires_at = $4, secret = $5, renewable_until = $6, redirect_uri = $7, \
         challenge = $8 WHERE space = '' AND id = $1 AND secret = $2 AND revoked_at IS NULL \
         AND NOT EXISTS (SELECT 1 FROM @token WHERE space = '' AND hash = $3 AND id <> $1)";
    let (redirect_uri, challenge) = code_of(Some(grant));
    let values = values![
        &renewed.id,
        *secret,
        renewed.hash,
        renewed.expires_at,
        grant.secret,
        grant.renewable_until,
        redirect_uri,
        challenge,
    ];
    if transaction.execute(sql, values).await? == 1 {
        return Ok(true);
    }
    let taken = "SELECT 1 FROM @token WHERE space = '' AND hash = $3 AND id <> $1 AND EXISTS \
         (SELECT 1 FROM @token WHERE space = '' AND id = $1 AND secret = $2 AND revoked_at IS NULL)";
    let values = values![&renewed.id, *secret, renewed.hash];
    if !transaction.query(taken, values).await?.is_empty() {
        let message = "a token with the same secret exists; make another";
        return Err(Error::new(ErrorCode::Conflict, message).into());
    }
    Ok(false)
}

pub(crate) async fn remove_ended(
    transaction: &mut Transaction<'_>,
    before: Timestamp,
) -> Result<u64> {
    let sql = "DELETE FROM @token WHERE space = '' AND renewable_until < $1";
    transaction.execute(sql, values![before]).await
}

pub(crate) async fn revoke(
    transaction: &mut Transaction<'_>,
    id: &str,
    now: Timestamp,
) -> Result<()> {
    let sql = "UPDATE @token SET revoked_at = coalesce(revoked_at, $2) \
         WHERE space = '' AND (id = $1 OR parent = $1)";
    if transaction.execute(sql, values![id, now]).await? == 0 {
        let message = format!("there is no token named `{id}`; list the tokens");
        return Err(Error::not_found(message).into());
    }
    Ok(())
}

pub(crate) async fn remove_of(transaction: &mut Transaction<'_>, subject: &str) -> Result<u64> {
    check_texts([("subject", Some(subject))])?;
    let sql = "DELETE FROM @token WHERE space = '' AND subject = $1";
    transaction.execute(sql, values![subject]).await
}

//! A token as a record, with the grant of a client.

use loci_core::{ClientGrant, CodeBinding, Scope, Scopes, Token};

use super::{ReadColumns, StoredRecord};
use crate::codec::damaged;

/// The columns of a [`Token`] after its space.
pub const TOKEN: &str = "subject, scopes, created_at, expires_at, revoked_at, client_id, client, resource, parent, \
    family, secret, renewable_until, redirect_uri, challenge";

impl StoredRecord for Token {
    const NOUN: &'static str = "token";
    const KEY: usize = 0;

    fn read<'a, C: ReadColumns<'a>>(columns: &mut C) -> Result<Self, C::Error> {
        let scopes = |names: &str| {
            let scopes: Option<Vec<Scope>> =
                names.split_whitespace().map(Scope::from_name).collect();
            scopes.map(|scopes| Scopes::of(&scopes))
        };
        Ok(Token {
            id: columns.string()?,
            hash: columns.array()?,
            space: columns.space()?,
            subject: columns.string()?,
            scopes: columns.named(scopes)?,
            created_at: columns.time()?,
            expires_at: columns.time_or_null()?,
            revoked_at: columns.time_or_null()?,
            grant: read_grant(columns)?,
        })
    }
}

/// Reads the grant of a token, which has all of its columns or none, and a code or none.
fn read_grant<'a, C: ReadColumns<'a>>(columns: &mut C) -> Result<Option<ClientGrant>, C::Error> {
    let (client_id, client) = (columns.string_or_null()?, columns.string_or_null()?);
    let (resource, parent) = (columns.string_or_null()?, columns.string_or_null()?);
    let (family, secret) = (columns.array_or_null()?, columns.array_or_null()?);
    let renewable_until = columns.time_or_null()?;
    let (redirect_uri, challenge) = (columns.string_or_null()?, columns.string_or_null()?);
    let code = redirect_uri
        .zip(challenge)
        .map(|(redirect_uri, challenge)| CodeBinding {
            redirect_uri,
            challenge,
        });
    let Some(client_id) = client_id else {
        return Ok(None);
    };
    Ok(Some(ClientGrant {
        client_id,
        client: client.ok_or_else(damaged)?,
        resource: resource.ok_or_else(damaged)?,
        parent: parent.ok_or_else(damaged)?,
        family: family.ok_or_else(damaged)?,
        secret: secret.ok_or_else(damaged)?,
        renewable_until: renewable_until.ok_or_else(damaged)?,
        code,
    }))
}

//! Grants: what a person allowed a client, from the code to the last refresh token.
//!
//! A grant is a token of the store. Its codes and refresh tokens are `loci_` with 64 digits as other
//! secrets, of which the first half is the same in all secrets of a grant. So a secret that was
//! used before is known as one of this grant that is not good now: another process has a secret
//! that it should not have, and the grant ends (RFC 9700, section 4.14.2).

use data_encoding::{BASE64URL_NOPAD, HEXLOWER};
use loci_core::{
    Caller, ClientGrant, CodeBinding, Principal, Scope, Scopes, Timestamp, Token, TokenHash,
};
use loci_engine::{CallInfo, Effect, Engine};
use loci_secrets::{TOKEN_BYTES, is_own_token, own_token};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::client::{Client, destination};
use super::{OAuth, Refusal, SCOPES, scope_name};
use crate::request::{CLIENT, ORIGIN_NAME};

/// The seconds for which a code is good.
const CODE_SECONDS: i64 = 60;
/// The seconds for which a token is good.
pub(super) const TOKEN_SECONDS: i64 = 3_600;
/// The seconds after which a refresh token that is not used is good no more: 90 days.
const REFRESH_SECONDS: i64 = 90 * 86_400;
/// The most grants of one subject that can be renewed.
const GRANTS_MAX: usize = 100;
/// The bytes that all secrets of a grant have in common.
const FAMILY_BYTES: usize = 16;
/// The digits of a public id, as of other tokens.
const ID_DIGITS: usize = 12;
/// The beginning of a secret, and the digits of its family.
const FAMILY_END: usize = "loci_".len() + 2 * FAMILY_BYTES;
/// The lengths of a code verifier (RFC 7636, section 4.1).
const VERIFIER_BYTES: std::ops::RangeInclusive<usize> = 43..=128;

/// The access that a person allows a client.
pub(super) struct Approval<'a> {
    pub(super) client: &'a Client,
    pub(super) redirect_uri: String,
    /// The `S256` challenge of PKCE.
    pub(super) challenge: String,
    pub(super) resource: String,
    pub(super) scopes: Scopes,
    /// The token with which the person signed in.
    pub(super) parent: &'a Token,
}

/// The tokens that a client gets for a code or a refresh token.
#[derive(Debug)]
pub(super) struct Issued {
    pub(super) access_token: String,
    pub(super) refresh_token: String,
    /// The seconds for which the token is good.
    pub(super) seconds: i64,
    /// The names of its scopes.
    pub(super) scope: String,
}

/// Returns true for a challenge that SHA-256 can have: 43 characters of base64url.
pub(super) fn is_challenge(text: &str) -> bool {
    BASE64URL_NOPAD
        .decode(text.as_bytes())
        .is_ok_and(|bytes| bytes.len() == 32)
}

fn hash(text: &str) -> TokenHash {
    Sha256::digest(text.as_bytes()).into()
}

/// Returns the hash of the family of a secret; `None` if the text is no secret.
fn family_of(secret: &str) -> Option<TokenHash> {
    if !is_own_token(secret) {
        return None;
    }
    secret.get(..FAMILY_END).map(hash)
}

fn random<const N: usize>() -> Result<[u8; N], Refusal> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| {
        tracing::error!(%error, "the system gives no randomness");
        Refusal::new("server_error", "the system gives no randomness; try again")
    })?;
    Ok(bytes)
}

/// Returns a number that tells apart registrations.
pub(super) fn registration_number() -> Result<[u8; 12], Refusal> {
    random()
}

/// Returns the next secret of a family.
fn next_secret(family: [u8; FAMILY_BYTES]) -> Result<String, Refusal> {
    let mut bytes = [0; TOKEN_BYTES];
    let rest: [u8; TOKEN_BYTES - FAMILY_BYTES] = random()?;
    let (first, second) = bytes.split_at_mut(FAMILY_BYTES);
    first.copy_from_slice(&family);
    second.copy_from_slice(&rest);
    Ok(own_token(&bytes))
}

/// Returns the bytes of the family in a secret.
fn family_bytes(secret: &str) -> Option<[u8; FAMILY_BYTES]> {
    let digits = secret.get("loci_".len()..FAMILY_END)?;
    let digits = digits.to_ascii_lowercase();
    HEXLOWER.decode(digits.as_bytes()).ok()?.try_into().ok()
}

fn scope_names(scopes: Scopes) -> String {
    let names: Vec<String> = scopes.iter().map(scope_name).collect();
    names.join(" ")
}

fn invalid_grant(description: &str) -> Refusal {
    Refusal::new("invalid_grant", description)
}

impl OAuth {
    /// Returns the scopes that a client asks for as far as the person has them. Without a request
    /// they are all that a client can have.
    pub(super) fn scopes(asked: Option<&str>, person: Scopes) -> Result<Scopes, Refusal> {
        let of_name = |name: &str| SCOPES.into_iter().find(|scope| scope_name(*scope) == name);
        let wanted: Vec<Scope> = match asked {
            None => SCOPES.to_vec(),
            // Clients ask for more that they read of elsewhere, e.g. `offline_access`.
            Some(names) => names.split(' ').filter_map(of_name).collect(),
        };
        let had: Vec<Scope> = wanted
            .iter()
            .copied()
            .filter(|scope| person.allow(*scope))
            .collect();
        if had.is_empty() {
            let names = scope_names(Scopes::of(&SCOPES));
            let problem = format!(
                "of the scopes of this server (`{names}`), the client asks for none, or for none that the person has"
            );
            return Err(Refusal::new("invalid_scope", problem));
        }
        Ok(Scopes::of(&had))
    }

    /// Returns the token of the store behind a session; `None` if that token lets no client in.
    ///
    /// A token that a client has does not, because a client would let in others.
    pub(super) fn parent(&self, bearer: &str) -> Result<Option<Token>, Refusal> {
        let found = self.tokens.token_by_hash(&hash(bearer))?;
        let now = self.clock.now();
        Ok(found.filter(|token| token.is_valid(now) && token.grant.is_none()))
    }

    /// Lets a client in, and returns its code.
    pub(super) fn approve(
        &self,
        engine: &Engine,
        approval: &Approval<'_>,
    ) -> Result<String, Refusal> {
        let now = self.clock.now();
        self.tokens.remove_ended_grants(now)?;
        let parent = approval.parent;
        let tokens = self.tokens.tokens()?;
        let is_theirs = |token: &&Token| {
            (&token.subject, &token.space) == (&parent.subject, &parent.space)
                && token.grant.is_some()
                && !token.is_over(now)
        };
        if tokens.iter().filter(is_theirs).count() >= GRANTS_MAX {
            let problem = format!(
                "{GRANTS_MAX} clients act for this person already; revoke some (`loci token list`, `loci token revoke`)"
            );
            return Err(Refusal::new("access_denied", problem));
        }
        let family: [u8; FAMILY_BYTES] = random()?;
        let code = next_secret(family)?;
        let grant = ClientGrant {
            client_id: approval.client.id.clone(),
            client: shown(approval.client, &approval.redirect_uri),
            resource: approval.resource.clone(),
            parent: parent.id.clone(),
            family: family_of(&code).unwrap_or_default(),
            secret: hash(&code),
            renewable_until: now.plus_seconds(CODE_SECONDS),
            code: Some(CodeBinding {
                redirect_uri: approval.redirect_uri.clone(),
                challenge: approval.challenge.clone(),
            }),
        };
        let mut id = HEXLOWER.encode(&grant.secret);
        id.truncate(ID_DIGITS);
        let token = Token {
            id,
            // Of no token, until the code is redeemed.
            hash: random()?,
            space: parent.space.clone(),
            subject: parent.subject.clone(),
            scopes: approval.scopes,
            created_at: now,
            expires_at: Some(now),
            revoked_at: None,
            grant: Some(grant),
        };
        Self::logged(engine, &token, ("client_approve", Effect::Write), || {
            Ok(self.tokens.add_token(&token)?)
        })?;
        // A revocation of the parent that came between found no grant to revoke.
        if self.living_parent(&parent.id)?.is_none() {
            self.tokens.revoke_token(&token.id, now)?;
            let problem = "the token with which you signed in was revoked";
            return Err(Refusal::new("access_denied", problem));
        }
        Ok(code)
    }

    /// Redeems a code: once, by the client that it was given to, at the redirect URI that it was
    /// sent to, with the verifier of its challenge.
    pub(super) fn redeem(
        &self,
        engine: &Engine,
        code: &str,
        client_id: &str,
        (redirect_uri, verifier): (&str, &str),
        resource: Option<&str>,
    ) -> Result<Issued, Refusal> {
        let token = self.of_secret(engine, code, client_id)?;
        let binding = token.grant.as_ref().and_then(|grant| grant.code.as_ref());
        let Some(binding) = binding else {
            return Err(invalid_grant("this is no code"));
        };
        let made = BASE64URL_NOPAD.encode(&Sha256::digest(verifier.as_bytes()));
        let is_verifier = VERIFIER_BYTES.contains(&verifier.len())
            && bool::from(made.as_bytes().ct_eq(binding.challenge.as_bytes()));
        let refused = if binding.redirect_uri != redirect_uri {
            Some(invalid_grant(
                "`redirect_uri` is another one than the code was sent to",
            ))
        } else if !is_verifier {
            Some(invalid_grant(
                "`code_verifier` does not belong to the `code_challenge`",
            ))
        } else {
            wrong_resource(&token, resource)
        };
        // A client that has a code and not what belongs to it has the code of another client.
        if let Some(refusal) = refused {
            self.end(engine, &token, "client_refuse")?;
            return Err(refusal);
        }
        self.renew(engine, &token, code, "client_redeem")
    }

    /// Renews a token, and replaces the refresh token.
    pub(super) fn refresh(
        &self,
        engine: &Engine,
        secret: &str,
        client_id: &str,
        (scope, resource): (Option<&str>, Option<&str>),
    ) -> Result<Issued, Refusal> {
        let token = self.of_secret(engine, secret, client_id)?;
        if token
            .grant
            .as_ref()
            .is_none_or(|grant| grant.code.is_some())
        {
            return Err(invalid_grant("this is no refresh token"));
        }
        if let Some(refusal) = wrong_resource(&token, resource) {
            return Err(refusal);
        }
        let is_had = |name: &str| {
            SCOPES
                .into_iter()
                .filter(|scope| scope_name(*scope) == name)
                .all(|scope| token.scopes.iter().any(|had| had == scope))
        };
        if !scope.is_none_or(|names| names.split(' ').all(is_had)) {
            let problem =
                "the person did not allow all of these scopes; ask for them at `/authorize`";
            return Err(Refusal::new("invalid_scope", problem));
        }
        self.renew(engine, &token, secret, "client_renew")
    }

    /// Revokes the grant that an access token or a refresh token is of. A secret that is known here
    /// no more is as good as revoked (RFC 7009, section 2.2).
    pub(super) fn revoke(
        &self,
        engine: &Engine,
        secret: &str,
        client_id: Option<&str>,
    ) -> Result<(), Refusal> {
        let by_token = self.tokens.token_by_hash(&hash(secret))?;
        let found = match (by_token, family_of(secret)) {
            (Some(token), _) => Some(token),
            (None, Some(family)) => self.tokens.token_by_family(&family)?,
            (None, None) => None,
        };
        let Some(token) = found else {
            return Ok(());
        };
        let Some(grant) = &token.grant else {
            let problem = "a token that a person handed out is revoked by `loci token revoke`";
            return Err(Refusal::new("unsupported_token_type", problem));
        };
        if client_id.is_some_and(|id| id != grant.client_id) {
            let problem = "the token was given to another client";
            return Err(Refusal::new("invalid_client", problem));
        }
        self.end(engine, &token, "client_revoke")
    }

    /// Returns the token that a code or a refresh token is of, if that is good now. One that was
    /// good before ends the grant.
    fn of_secret(&self, engine: &Engine, secret: &str, client_id: &str) -> Result<Token, Refusal> {
        let unknown = || {
            invalid_grant(
                "it is unknown, was used, revoked, or is too old; let the person sign in again",
            )
        };
        let family = family_of(secret).ok_or_else(unknown)?;
        let token = self.tokens.token_by_family(&family)?.ok_or_else(unknown)?;
        let grant = token.grant.as_ref().ok_or_else(unknown)?;
        if token.revoked_at.is_some() {
            return Err(unknown());
        }
        let is_good = bool::from(hash(secret).ct_eq(&grant.secret));
        if !is_good || grant.client_id != client_id {
            tracing::warn!(
                token = token.id,
                "a code or a refresh token came a second time, or from another client; what it gave is revoked"
            );
            self.end(engine, &token, "client_reuse")?;
            return Err(unknown());
        }
        if grant.renewable_until <= self.clock.now() {
            return Err(unknown());
        }
        Ok(token)
    }

    /// Replaces the token and the secret of a grant.
    fn renew(
        &self,
        engine: &Engine,
        token: &Token,
        secret: &str,
        tool: &str,
    ) -> Result<Issued, Refusal> {
        let lost = || invalid_grant("it is good no more; let the person sign in again");
        let now = self.clock.now();
        let grant = token.grant.as_ref().ok_or_else(lost)?;
        let Some(parent) = self.living_parent(&grant.parent)? else {
            self.end(engine, token, "client_refuse")?;
            return Err(lost());
        };
        let at_most = |time: Timestamp| parent.expires_at.map_or(time, |end| time.min(end));
        let access_token = own_token(&random()?);
        let refresh_token = next_secret(family_bytes(secret).ok_or_else(lost)?)?;
        let expires_at = at_most(now.plus_seconds(TOKEN_SECONDS));
        let renewed = Token {
            hash: hash(&access_token),
            expires_at: Some(expires_at),
            grant: Some(ClientGrant {
                secret: hash(&refresh_token),
                renewable_until: at_most(now.plus_seconds(REFRESH_SECONDS)),
                code: None,
                ..grant.clone()
            }),
            ..token.clone()
        };
        let is_first = Self::logged(engine, token, (tool, Effect::Write), || {
            Ok(self.tokens.renew_token(&grant.secret, &renewed)?)
        })?;
        if !is_first {
            // Another request was faster with the same secret.
            self.end(engine, token, "client_reuse")?;
            return Err(lost());
        }
        Ok(Issued {
            access_token,
            refresh_token,
            seconds: (expires_at.microseconds() - now.microseconds()) / 1_000_000,
            scope: scope_names(token.scopes),
        })
    }

    /// Returns the token with which the person signed in who let a client in, if it is still good.
    fn living_parent(&self, id: &str) -> Result<Option<Token>, Refusal> {
        let now = self.clock.now();
        let tokens = self.tokens.tokens()?;
        Ok(tokens
            .into_iter()
            .find(|token| token.id == id && token.is_valid(now)))
    }

    /// Ends a grant: its token, and all secrets.
    fn end(&self, engine: &Engine, token: &Token, tool: &str) -> Result<(), Refusal> {
        Self::logged(engine, token, (tool, Effect::Destroy), || {
            Ok(self.tokens.revoke_token(&token.id, self.clock.now())?)
        })
    }

    /// Does something with a grant as a call of its subject, so that it is in the audit log.
    fn logged<T>(
        engine: &Engine,
        token: &Token,
        (tool, effect): (&str, Effect),
        run: impl FnOnce() -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let caller = Caller {
            origin: ORIGIN_NAME,
            client: Some(CLIENT.to_owned()),
            ..Caller::new(
                token.space.clone(),
                Principal::new(token.subject.clone(), token.scopes),
            )
        };
        let client = token.grant.as_ref().map(|grant| grant.client.as_str());
        let info = CallInfo::new(ORIGIN_NAME, tool, "admin:token", effect, &[])
            .with_query(client)
            .by_a_person();
        let mut refusal = None;
        let outcome = engine.call(caller, info, |_| {
            run().map_err(|refused| {
                let error = loci_core::Error::unavailable(refused.description.clone());
                refusal = Some(refused);
                error
            })
        });
        outcome.map_err(|error| refusal.unwrap_or_else(|| error.into()))
    }
}

/// Returns the refusal of a resource that a token was not given for.
fn wrong_resource(token: &Token, resource: Option<&str>) -> Option<Refusal> {
    let given = token.grant.as_ref().map(|grant| grant.resource.as_str());
    let is_wrong = resource
        .map(|named| named.strip_suffix('/').unwrap_or(named))
        .is_some_and(|named| Some(named) != given);
    let problem = "`resource` is another one than the person allowed; ask for it at `/authorize`";
    is_wrong.then(|| Refusal::new("invalid_target", problem))
}

/// Returns a client as lists show it: by the host that its answers go to, and the name that it gives
/// itself.
fn shown(client: &Client, redirect_uri: &str) -> String {
    let (host, _) = destination(redirect_uri);
    match &client.name {
        Some(name) => format!("{name} ({host})"),
        None => host,
    }
}

//! Sessions of browsers, and the codes that start one.
//!
//! A session holds the `Authorization` header of its token, which is checked again for each
//! request, so that a revoked token ends its sessions. Sessions live in memory: they end with the
//! process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use data_encoding::HEXLOWER;
use http::HeaderValue;
use loci_core::{Error, Result};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::change::{Outcome, Undo};

/// The time after which an unused session ends.
const IDLE_MAX: Duration = Duration::from_hours(12);
/// The time for which a code is good.
const CODE_LIFETIME: Duration = Duration::from_mins(1);
/// The most sessions and codes that are kept; beyond it, the one that was used first is evicted.
const KEPT_MAX: usize = 1_000;
/// The changes of a session that can be undone; beyond it, the first is evicted.
const UNDOS_MAX: usize = 20;
/// The random bytes of a secret.
const SECRET_BYTES: usize = 32;

/// Returns a new random secret, in hexadecimal digits.
///
/// # Errors
/// `unavailable` if the system gives no randomness.
pub(crate) fn new_secret() -> Result<String> {
    let mut bytes = [0; SECRET_BYTES];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::unavailable(format!("the system gives no randomness: {error}")))?;
    Ok(HEXLOWER.encode(&bytes))
}

type Hash = [u8; 32];

fn hash(secret: &str) -> Hash {
    Sha256::digest(secret.as_bytes()).into()
}

/// Returns true if the texts are equal, in a time that does not depend on where they differ.
pub(crate) fn is_same(one: &str, other: &str) -> bool {
    hash(one).ct_eq(&hash(other)).into()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The session of a browser.
pub(crate) struct Session {
    credential: Mutex<Credential>,
    /// Held while the token is renewed: a provider may take a second use of a refresh token for a
    /// theft.
    pub(crate) renewing: tokio::sync::Mutex<()>,
    /// The secret that every change repeats.
    csrf: String,
    state: Mutex<State>,
}

/// The token of a session.
#[derive(Clone, Default, PartialEq)]
pub(crate) struct Credential {
    /// The header that its requests are admitted by; `None` on a server without tokens.
    pub(crate) header: Option<HeaderValue>,
    /// The token that renews it, if a provider gave one.
    pub(crate) refresh_token: Option<String>,
}

impl Credential {
    /// Returns the credential of a bearer token; `None` if it cannot be in a header.
    pub(crate) fn bearer(token: &str) -> Option<Self> {
        let mut header = HeaderValue::try_from(format!("Bearer {token}")).ok()?;
        header.set_sensitive(true);
        Some(Some(header).into())
    }
}

impl From<Option<HeaderValue>> for Credential {
    fn from(header: Option<HeaderValue>) -> Self {
        Credential {
            header,
            refresh_token: None,
        }
    }
}

#[derive(Default)]
struct State {
    outcome: Option<Outcome>,
    undos: Vec<(u64, Undo)>,
    last_undo: u64,
}

impl Session {
    /// Returns the token of this session.
    pub(crate) fn credential(&self) -> Credential {
        lock(&self.credential).clone()
    }

    /// Replaces the token of this session.
    pub(crate) fn set_credential(&self, credential: Credential) {
        *lock(&self.credential) = credential;
    }

    /// Returns the secret that a form of this session sends with a change.
    pub(crate) fn csrf(&self) -> &str {
        &self.csrf
    }

    /// Returns true if a change carries the secret of this session.
    pub(crate) fn is_csrf(&self, sent: &str) -> bool {
        is_same(&self.csrf, sent)
    }

    /// Keeps what a change did, to show it on the next page.
    pub(crate) fn put_outcome(&self, outcome: Outcome) {
        lock(&self.state).outcome = Some(outcome);
    }

    /// Takes what the last change did.
    pub(crate) fn take_outcome(&self) -> Option<Outcome> {
        lock(&self.state).outcome.take()
    }

    /// Keeps the way back from a change, and returns its number.
    pub(crate) fn keep_undo(&self, undo: Undo) -> u64 {
        let state = &mut *lock(&self.state);
        state.last_undo += 1;
        if state.undos.len() == UNDOS_MAX {
            drop(state.undos.remove(0));
        }
        state.undos.push((state.last_undo, undo));
        state.last_undo
    }

    /// Takes the way back from a change with this number.
    pub(crate) fn take_undo(&self, number: u64) -> Option<Undo> {
        let undos = &mut lock(&self.state).undos;
        let index = undos.iter().position(|(kept, _)| *kept == number)?;
        Some(undos.remove(index).1)
    }
}

/// The sessions and codes of this process, by the hashes of their secrets.
#[derive(Default)]
pub(crate) struct Sessions {
    sessions: Mutex<HashMap<Hash, (Instant, Arc<Session>)>>,
    codes: Mutex<HashMap<Hash, (Instant, Option<HeaderValue>)>>,
}

impl Sessions {
    /// Starts a session, and returns it with the secret of its cookie.
    ///
    /// # Errors
    /// `unavailable` if the system gives no randomness.
    pub(crate) fn begin(
        &self,
        credential: impl Into<Credential>,
    ) -> Result<(String, Arc<Session>)> {
        let secret = new_secret()?;
        let session = Arc::new(Session {
            credential: Mutex::new(credential.into()),
            renewing: tokio::sync::Mutex::default(),
            csrf: new_secret()?,
            state: Mutex::default(),
        });
        let kept = (Instant::now(), Arc::clone(&session));
        keep(&mut lock(&self.sessions), hash(&secret), kept, IDLE_MAX);
        Ok((secret, session))
    }

    /// Returns the session whose cookie has this secret, and notes that it was used.
    pub(crate) fn get(&self, secret: &str) -> Option<Arc<Session>> {
        let mut sessions = lock(&self.sessions);
        let (used_at, session) = sessions.get_mut(&hash(secret))?;
        if used_at.elapsed() > IDLE_MAX {
            sessions.remove(&hash(secret));
            return None;
        }
        *used_at = Instant::now();
        Some(Arc::clone(session))
    }

    /// Ends the session whose cookie has this secret.
    pub(crate) fn end(&self, secret: &str) {
        lock(&self.sessions).remove(&hash(secret));
    }

    /// Returns a code that starts one session with this credential.
    ///
    /// # Errors
    /// `unavailable` if the system gives no randomness.
    pub(crate) fn code(&self, credential: Option<HeaderValue>) -> Result<String> {
        let code = new_secret()?;
        let kept = (Instant::now(), credential);
        keep(&mut lock(&self.codes), hash(&code), kept, CODE_LIFETIME);
        Ok(code)
    }

    /// Starts the session of a code, and returns the secret of its cookie; `None` if the code is
    /// unknown, used or too old.
    ///
    /// # Errors
    /// `unavailable` if the system gives no randomness.
    pub(crate) fn redeem(&self, code: &str) -> Result<Option<String>> {
        match lock(&self.codes).remove(&hash(code)) {
            Some((made_at, credential)) if made_at.elapsed() <= CODE_LIFETIME => {
                self.begin(credential).map(|(secret, _)| Some(secret))
            }
            _ => Ok(None),
        }
    }
}

/// Keeps an entry, without entries that are too old, and without the oldest if there are too many.
fn keep<T>(
    kept: &mut HashMap<Hash, (Instant, T)>,
    key: Hash,
    value: (Instant, T),
    lifetime: Duration,
) {
    kept.retain(|_, (used_at, _)| used_at.elapsed() <= lifetime);
    if kept.len() >= KEPT_MAX
        && let Some(oldest) = kept
            .iter()
            .min_by_key(|(_, (used_at, _))| *used_at)
            .map(|(key, _)| *key)
    {
        kept.remove(&oldest);
    }
    kept.insert(key, value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_good_once() {
        let sessions = Sessions::default();
        let code = sessions.code(None).unwrap();
        let secret = sessions.redeem(&code).unwrap().unwrap();
        assert!(sessions.get(&secret).is_some());
        assert_eq!(sessions.redeem(&code), Ok(None));
        assert_eq!(sessions.redeem("another"), Ok(None));
    }

    #[test]
    fn a_session_ends_for_good() {
        let sessions = Sessions::default();
        let (secret, session) = sessions.begin(Credential::default()).unwrap();
        let again = sessions.get(&secret).unwrap();
        assert!(again.is_csrf(session.csrf()) && !again.is_csrf(""));
        sessions.end(&secret);
        assert!(sessions.get(&secret).is_none());
    }

    #[test]
    fn the_sessions_that_are_kept_are_bounded() {
        let sessions = Sessions::default();
        let (first, _) = sessions.begin(Credential::default()).unwrap();
        for _ in 0..KEPT_MAX {
            sessions.begin(Credential::default()).unwrap();
        }
        assert!(sessions.get(&first).is_none());
        assert_eq!(lock(&sessions.sessions).len(), KEPT_MAX);
    }
}

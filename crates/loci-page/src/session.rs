//! Sessions of browsers, and the codes that start one.
//!
//! A session holds the `Authorization` header of its token, which is checked again for each
//! request, so that a revoked token ends its sessions. Sessions live in memory: they end with the
//! process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use http::HeaderValue;
use loci_admission::{Subject, subject_to_evict};
use loci_core::{Error, Result, Timestamp};
use loci_secrets::{TOKEN_BYTES, own_token};
use serde::Serialize;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::change::{Outcome, Undo};
use crate::utc_timestamp::UtcTimestamp;

/// The time after which an unused session ends.
const IDLE_MAX: Duration = Duration::from_hours(12);
/// The time for which a code is good.
const CODE_LIFETIME: Duration = Duration::from_mins(1);
/// The most sessions and codes that are kept; beyond it, one is evicted.
const KEPT_MAX: usize = 1_000;
/// The changes of a session that are remembered and can be undone; beyond it, the first is evicted.
const UNDOS_MAX: usize = 20;

/// Returns a new random secret, in the form of a token: where it is pasted, it is recognised as a
/// secret.
///
/// # Errors
/// `unavailable` if the system gives no randomness.
pub(crate) fn new_secret() -> Result<String> {
    let mut bytes = [0; TOKEN_BYTES];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::unavailable(format!("the system gives no randomness: {error}")))?;
    Ok(own_token(&bytes))
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
pub(crate) struct BrowserSession {
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
    past: Vec<PastChange>,
    first_change: Option<Timestamp>,
    all_users: bool,
}

/// A change that was made in a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct PastChange {
    pub(crate) at: UtcTimestamp,
    /// The message that says it, with the number of records as `count`.
    pub(crate) message: &'static str,
    pub(crate) changed: u64,
    /// The number of records that did not change.
    pub(crate) refused: usize,
    /// The number by which it can be taken back, as long as it can.
    pub(crate) undo: Option<u64>,
}

impl BrowserSession {
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

    /// Returns the time of its first change, if it made one.
    pub(crate) fn first_change(&self) -> Option<Timestamp> {
        lock(&self.state).first_change
    }

    /// Returns true if this session shows the owner what others keep private.
    pub(crate) fn all_users(&self) -> bool {
        lock(&self.state).all_users
    }

    /// Sets whether this session shows the owner what others keep private.
    pub(crate) fn set_all_users(&self, all_users: bool) {
        lock(&self.state).all_users = all_users;
    }

    /// Keeps what a change did, to look it up later.
    pub(crate) fn note(&self, at: Timestamp, outcome: &Outcome) {
        let state = &mut *lock(&self.state);
        state.first_change.get_or_insert(at);
        let change = PastChange {
            at: UtcTimestamp(at),
            message: outcome.message,
            changed: outcome.changed,
            refused: outcome.refused.len(),
            undo: outcome.undo,
        };
        state.past.insert(0, change);
        state.past.truncate(UNDOS_MAX);
    }

    /// Returns what the last changes did, the last one first.
    pub(crate) fn past_changes(&self) -> Vec<PastChange> {
        let state = lock(&self.state);
        let kept = |number: &u64| state.undos.iter().any(|(kept, _)| kept == number);
        let past = state.past.iter().map(|past| PastChange {
            undo: past.undo.filter(kept),
            ..past.clone()
        });
        past.collect()
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

/// A session or a code.
struct SessionEntry<T> {
    used_at: Instant,
    /// Who started it.
    subject: Subject,
    value: T,
}

/// The sessions and codes of this process, by the hashes of their secrets.
#[derive(Default)]
pub(crate) struct BrowserSessions {
    sessions: Mutex<HashMap<Hash, SessionEntry<Arc<BrowserSession>>>>,
    codes: Mutex<HashMap<Hash, SessionEntry<Option<HeaderValue>>>>,
}

impl BrowserSessions {
    /// Starts a session of a subject, and returns it with the secret of its cookie.
    ///
    /// # Errors
    /// `unavailable` if the system gives no randomness.
    pub(crate) fn begin(
        &self,
        subject: Subject,
        credential: impl Into<Credential>,
    ) -> Result<(String, Arc<BrowserSession>)> {
        let secret = new_secret()?;
        let session = Arc::new(BrowserSession {
            credential: Mutex::new(credential.into()),
            renewing: tokio::sync::Mutex::default(),
            csrf: new_secret()?,
            state: Mutex::default(),
        });
        let value = Arc::clone(&session);
        keep(
            &mut lock(&self.sessions),
            hash(&secret),
            subject,
            value,
            IDLE_MAX,
        );
        Ok((secret, session))
    }

    /// Returns the session whose cookie has this secret, and notes that it was used.
    pub(crate) fn get(&self, secret: &str) -> Option<Arc<BrowserSession>> {
        let mut sessions = lock(&self.sessions);
        let kept = sessions.get_mut(&hash(secret))?;
        if kept.used_at.elapsed() > IDLE_MAX {
            sessions.remove(&hash(secret));
            return None;
        }
        kept.used_at = Instant::now();
        Some(Arc::clone(&kept.value))
    }

    /// Ends the session whose cookie has this secret.
    pub(crate) fn end(&self, secret: &str) {
        lock(&self.sessions).remove(&hash(secret));
    }

    /// Returns a code that starts one session with this credential.
    ///
    /// # Errors
    /// `unavailable` if the system gives no randomness.
    pub(crate) fn code(&self, subject: Subject, credential: Option<HeaderValue>) -> Result<String> {
        let code = new_secret()?;
        keep(
            &mut lock(&self.codes),
            hash(&code),
            subject,
            credential,
            CODE_LIFETIME,
        );
        Ok(code)
    }

    /// Returns the credential of a code, which stays good; `None` if the code is unknown, used or too
    /// old.
    pub(crate) fn credential_of_code(&self, code: &str) -> Option<Credential> {
        let codes = lock(&self.codes);
        let kept = codes.get(&hash(code))?;
        (kept.used_at.elapsed() <= CODE_LIFETIME).then(|| kept.value.clone().into())
    }

    /// Starts the session of a code, and returns the secret of its cookie; `None` if the code is
    /// unknown, used or too old.
    ///
    /// # Errors
    /// `unavailable` if the system gives no randomness.
    pub(crate) fn redeem(&self, code: &str) -> Result<Option<String>> {
        match lock(&self.codes).remove(&hash(code)) {
            Some(kept) if kept.used_at.elapsed() <= CODE_LIFETIME => {
                let (secret, _) = self.begin(kept.subject, kept.value)?;
                Ok(Some(secret))
            }
            _ => Ok(None),
        }
    }
}

/// Keeps an entry, without entries that are too old. If there are too many, the oldest goes of the
/// subject that has most, so that no subject signs out another.
fn keep<T>(
    kept: &mut HashMap<Hash, SessionEntry<T>>,
    key: Hash,
    subject: Subject,
    value: T,
    lifetime: Duration,
) {
    kept.retain(|_, entry| entry.used_at.elapsed() <= lifetime);
    if kept.len() >= KEPT_MAX {
        let subjects = kept.values().map(|entry| &entry.subject);
        let payer = subject_to_evict(subjects, &subject).unwrap_or(&subject);
        let of_payer = |entry: &SessionEntry<T>| entry.subject == *payer;
        let oldest = |of: &dyn Fn(&SessionEntry<T>) -> bool| {
            let entries = kept.iter().filter(|(_, entry)| of(entry));
            entries
                .min_by_key(|(_, entry)| entry.used_at)
                .map(|(key, _)| *key)
        };
        // A newcomer in a table where each other has as few has none of its own to give.
        if let Some(oldest) = oldest(&of_payer).or_else(|| oldest(&|_| true)) {
            kept.remove(&oldest);
        }
    }
    let used_at = Instant::now();
    kept.insert(
        key,
        SessionEntry {
            used_at,
            subject,
            value,
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(name: &str) -> Subject {
        Subject::User(loci_core::Space::default(), name.to_owned())
    }

    #[test]
    fn a_subject_with_many_sessions_and_codes_ends_only_its_own() {
        let sessions = BrowserSessions::default();
        let (first, _) = sessions.begin(user("bob"), Credential::default()).unwrap();
        let code = sessions.code(user("bob"), None).unwrap();
        for _ in 0..2 * KEPT_MAX {
            sessions.begin(user("ann"), Credential::default()).unwrap();
            sessions.code(user("ann"), None).unwrap();
        }
        assert!(sessions.get(&first).is_some());
        assert!(sessions.redeem(&code).unwrap().is_some());
    }

    #[test]
    fn a_code_is_good_once() {
        let sessions = BrowserSessions::default();
        let code = sessions.code(user("ann"), None).unwrap();
        let secret = sessions.redeem(&code).unwrap().unwrap();
        assert!(sessions.get(&secret).is_some());
        assert_eq!(sessions.redeem(&code), Ok(None));
        assert_eq!(sessions.redeem("another"), Ok(None));
    }

    #[test]
    fn a_session_ends_for_good() {
        let sessions = BrowserSessions::default();
        let (secret, session) = sessions.begin(user("ann"), Credential::default()).unwrap();
        let again = sessions.get(&secret).unwrap();
        assert!(again.is_csrf(session.csrf()) && !again.is_csrf(""));
        sessions.end(&secret);
        assert!(sessions.get(&secret).is_none());
    }

    #[test]
    fn the_sessions_that_are_kept_are_bounded() {
        let sessions = BrowserSessions::default();
        let (first, _) = sessions.begin(user("ann"), Credential::default()).unwrap();
        for _ in 0..KEPT_MAX {
            sessions.begin(user("ann"), Credential::default()).unwrap();
        }
        assert!(sessions.get(&first).is_none());
        assert_eq!(lock(&sessions.sessions).len(), KEPT_MAX);
    }
}

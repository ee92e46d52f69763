//! The cached keys, and the times of their fetches.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use loci_core::{Clock, Error, Result, Timestamp};

use crate::jwk::KeySet;
use crate::provider::Provider;

/// The seconds between two fetches that tokens with unknown keys cause, over all callers.
const UNKNOWN_KEY_SECONDS: i64 = 60;

/// The state of the provider's keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyStatus {
    /// The number of usable keys.
    pub keys: usize,
    /// The time of their fetch; `None` if they were never fetched.
    pub fetched_at: Option<Timestamp>,
    /// The problem of the last fetch; `None` if it succeeded.
    pub problem: Option<String>,
}

/// The keys of a provider: the last valid set, even while the provider fails.
pub(crate) struct Keys {
    provider: Provider,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    set: Option<Arc<KeySet>>,
    fetched_at: Option<Timestamp>,
    problem: Option<String>,
    is_fetching: bool,
    /// The time at which a token with an unknown key last caused a fetch.
    asked_at: Option<Timestamp>,
}

/// The right to fetch, which one caller has at a time.
struct FetchPermit<'a>(&'a Keys);

impl Drop for FetchPermit<'_> {
    fn drop(&mut self) {
        self.0.state().is_fetching = false;
    }
}

impl Keys {
    pub(crate) fn new(provider: Provider, clock: Arc<dyn Clock>) -> Self {
        Keys {
            provider,
            clock,
            state: Mutex::default(),
        }
    }

    pub(crate) fn issuer(&self) -> &str {
        self.provider.issuer()
    }

    /// Locks the state. Its fields are set one by one and valid after each step, so that a panic of
    /// another thread leaves them valid.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the cached keys.
    ///
    /// # Errors
    /// `unavailable` if none were fetched yet.
    pub(crate) fn current(&self) -> Result<Arc<KeySet>> {
        let message = "the identity provider's keys are not there yet; try again (`loci doctor` says what is wrong)";
        self.state()
            .set
            .clone()
            .ok_or_else(|| Error::unavailable(message))
    }

    /// Returns the keys after a token named an unknown one: fetches them again, unless such a token
    /// caused a fetch within the last minute.
    ///
    /// # Errors
    /// `unavailable` if they are being fetched just now, or if the last fetch failed, because it is
    /// unknown then whether the issuer has such a key.
    pub(crate) fn current_for_unknown_key(&self) -> Result<Arc<KeySet>> {
        let fetching = {
            let mut state = self.state();
            let now = self.clock.now();
            // A clock that was set back does not delay the next fetch.
            let is_recent = |asked_at: Timestamp| {
                asked_at <= now && now < asked_at.plus_seconds(UNKNOWN_KEY_SECONDS)
            };
            if state.is_fetching || !state.asked_at.is_some_and(is_recent) {
                let fetching = self.begin(&mut state)?;
                state.asked_at = Some(now);
                Some(fetching)
            } else {
                None
            }
        };
        // The outcome is kept in the state.
        let _fetched = fetching.map(|fetching| self.fetch(fetching));
        if self.state().problem.is_some() {
            let message =
                "the token's key is not known, and the identity provider did not answer; try again";
            return Err(Error::unavailable(message));
        }
        self.current()
    }

    /// Fetches the keys now.
    ///
    /// # Errors
    /// `unavailable` if they are being fetched already, or with the problem; also `not_found`.
    pub(crate) fn refresh(&self) -> Result<()> {
        let fetching = self.begin(&mut self.state())?;
        self.fetch(fetching)
    }

    pub(crate) fn status(&self) -> KeyStatus {
        let state = self.state();
        let keys = state.set.as_ref().map_or(0, |set| set.len());
        KeyStatus {
            keys,
            fetched_at: state.fetched_at,
            problem: state.problem.clone(),
        }
    }

    fn begin(&self, state: &mut State) -> Result<FetchPermit<'_>> {
        if state.is_fetching {
            return Err(Error::unavailable(
                "the identity provider's keys are just being fetched; try again",
            ));
        }
        state.is_fetching = true;
        Ok(FetchPermit(self))
    }

    fn fetch(&self, _fetching: FetchPermit<'_>) -> Result<()> {
        let fetched = self.provider.fetch();
        let mut state = self.state();
        let problem = fetched.as_ref().err().map(|error| error.message.clone());
        let before = std::mem::replace(&mut state.problem, problem);
        let issuer = self.issuer();
        match fetched {
            Ok(set) => {
                if state.set.is_none() || before.is_some() {
                    tracing::info!(
                        issuer,
                        keys = set.len(),
                        "the identity provider's keys were fetched"
                    );
                }
                state.set = Some(Arc::new(set));
                state.fetched_at = Some(self.clock.now());
                Ok(())
            }
            Err(error) => {
                // Logs a failure when it starts, not at every fetch.
                if before.is_none() {
                    let so_far = if state.set.is_some() {
                        "those known go on to serve"
                    } else {
                        "no token is accepted"
                    };
                    tracing::warn!(issuer, %error, "the identity provider's keys cannot be fetched; until then {so_far}");
                }
                Err(error)
            }
        }
    }
}

//! The page of one server: what its requests share.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use http::HeaderValue;
use loci_core::Result;
use loci_engine::Engine;
use tokio::sync::{Semaphore, watch};

use crate::session::Sessions;
use crate::{Authenticator, Installation};

/// The most requests of browsers that work at a time, so that agents' calls are not delayed.
const REQUESTS_MAX: usize = 4;
/// The most waits for the provider at a time, which strangers cause.
const SIGN_INS_MAX: usize = 2;
/// The time for which a model that was tried counts as it was: a try loads it, and takes a moment.
const MODEL_TRIED_FOR: Duration = Duration::from_mins(1);
/// The most browsers that are told of changes at a time.
const LISTENERS_MAX: usize = 16;

/// The page of one server.
pub struct Page {
    engine: Arc<Engine>,
    authenticator: Arc<dyn Authenticator>,
    installation: Arc<dyn Installation>,
    sessions: Sessions,
    requests: Arc<Semaphore>,
    sign_ins: Arc<Semaphore>,
    transfers: Arc<Semaphore>,
    listeners: Arc<Semaphore>,
    closing: watch::Sender<bool>,
    /// When the model was last tried, and its problem.
    model_tried: Mutex<Option<(Instant, Option<String>)>>,
}

impl Page {
    /// Returns a page of this engine. Starts nothing, and reads nothing.
    pub fn new(
        engine: Arc<Engine>,
        authenticator: Arc<dyn Authenticator>,
        installation: Arc<dyn Installation>,
    ) -> Arc<Self> {
        Arc::new(Page {
            engine,
            authenticator,
            installation,
            sessions: Sessions::default(),
            requests: Arc::new(Semaphore::new(REQUESTS_MAX)),
            sign_ins: Arc::new(Semaphore::new(SIGN_INS_MAX)),
            transfers: Arc::new(Semaphore::new(1)),
            listeners: Arc::new(Semaphore::new(LISTENERS_MAX)),
            closing: watch::channel(false).0,
            model_tried: Mutex::new(None),
        })
    }

    /// Returns the path, with a code that is good once and for a minute, which starts a session
    /// with this `Authorization` header.
    ///
    /// # Errors
    /// `unavailable` if the system gives no randomness.
    pub fn sign_in_path(&self, credential: Option<HeaderValue>) -> Result<String> {
        Ok(format!("/enter?code={}", self.sessions.code(credential)?))
    }

    /// Ends the streams that tell browsers of changes, so that a server can shut down.
    pub fn close(&self) {
        self.closing.send_replace(true);
    }

    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    pub(crate) fn authenticator(&self) -> &dyn Authenticator {
        &*self.authenticator
    }

    pub(crate) fn installation(&self) -> &dyn Installation {
        &*self.installation
    }

    pub(crate) fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    pub(crate) fn requests(&self) -> &Arc<Semaphore> {
        &self.requests
    }

    pub(crate) fn sign_ins(&self) -> &Arc<Semaphore> {
        &self.sign_ins
    }

    /// Returns the [problem](loci_engine::Models::model_problem) of the model, as of a minute ago
    /// at most.
    pub(crate) fn model_problem(&self) -> Option<String> {
        let mut tried = self
            .model_tried
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        match &*tried {
            Some((at, problem)) if at.elapsed() < MODEL_TRIED_FOR => problem.clone(),
            _ => {
                let problem = self.engine.models().model_problem();
                *tried = Some((Instant::now(), problem.clone()));
                problem
            }
        }
    }

    /// Returns the permit of whole files that come or go, one at a time.
    pub(crate) fn transfers(&self) -> &Arc<Semaphore> {
        &self.transfers
    }

    pub(crate) fn listeners(&self) -> &Arc<Semaphore> {
        &self.listeners
    }

    /// Returns a receiver that changes when the server shuts down.
    pub(crate) fn closing(&self) -> watch::Receiver<bool> {
        self.closing.subscribe()
    }
}

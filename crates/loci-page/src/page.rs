//! The page of one server: what its requests share.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use http::HeaderValue;
use loci_admission::{Pool, Subject};
use loci_core::Result;
use loci_engine::Engine;
use tokio::sync::watch;

use crate::session::BrowserSessions;
use crate::{Authenticator, Installation};

/// The most requests of browsers that work at a time, so that agents' calls are not delayed, and of
/// one subject.
const REQUESTS_MAX: (usize, usize) = (4, 3);
/// The most waits for the provider at a time, which strangers cause, and from one network.
const SIGN_INS_MAX: (usize, usize) = (4, 2);
/// The most whole files that come or go at a time, and of one subject.
const TRANSFERS_MAX: (usize, usize) = (4, 1);
/// The time for which a model that was tried counts as it was: a try loads it, and takes a moment.
const MODEL_TRIED_FOR: Duration = Duration::from_mins(1);
/// The most browsers that are told of changes at a time, and of one subject.
const LISTENERS_MAX: (usize, usize) = (64, 16);

/// The page of one server.
pub struct Page {
    engine: Arc<Engine>,
    authenticator: Arc<dyn Authenticator>,
    installation: Arc<dyn Installation>,
    sessions: BrowserSessions,
    requests: Pool,
    sign_ins: Pool,
    transfers: Pool,
    listeners: Pool,
    bodies: Arc<Pool>,
    closing: watch::Sender<bool>,
    /// When the model was last tried, and its problem.
    model_tried: Mutex<Option<(Instant, Option<String>)>>,
}

impl Page {
    /// Returns a page of this engine, whose requests share `bodies`, in bytes, with the rest of the
    /// server. Starts nothing, and reads nothing.
    pub fn new(
        engine: Arc<Engine>,
        authenticator: Arc<dyn Authenticator>,
        installation: Arc<dyn Installation>,
        bodies: Arc<Pool>,
    ) -> Arc<Self> {
        let pool = |(all, each)| Pool::new(all, each);
        Arc::new(Page {
            engine,
            authenticator,
            installation,
            sessions: BrowserSessions::default(),
            requests: pool(REQUESTS_MAX),
            sign_ins: pool(SIGN_INS_MAX),
            transfers: pool(TRANSFERS_MAX),
            listeners: pool(LISTENERS_MAX),
            bodies,
            closing: watch::channel(false).0,
            model_tried: Mutex::new(None),
        })
    }

    /// Returns the path, with a code that is good once and for a minute, which starts a session
    /// with this `Authorization` header.
    ///
    /// # Errors
    /// `unavailable` if the system gives no randomness.
    pub fn sign_in_path(
        &self,
        subject: Subject,
        credential: Option<HeaderValue>,
    ) -> Result<String> {
        let code = self.sessions.code(subject, credential)?;
        Ok(format!("/enter?code={code}"))
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

    pub(crate) fn sessions(&self) -> &BrowserSessions {
        &self.sessions
    }

    pub(crate) fn requests(&self) -> &Pool {
        &self.requests
    }

    pub(crate) fn sign_ins(&self) -> &Pool {
        &self.sign_ins
    }

    pub(crate) fn bodies(&self) -> &Pool {
        &self.bodies
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

    /// Returns the permits of whole files that come or go.
    pub(crate) fn transfers(&self) -> &Pool {
        &self.transfers
    }

    pub(crate) fn listeners(&self) -> &Pool {
        &self.listeners
    }

    /// Returns a receiver that changes when the server shuts down.
    pub(crate) fn closing(&self) -> watch::Receiver<bool> {
        self.closing.subscribe()
    }
}

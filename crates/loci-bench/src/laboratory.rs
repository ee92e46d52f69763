//! The stores of a benchmark, used by the same tool calls that agents make.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use loci::exit::{Exit, Failure};
use loci::models::embedder;
use loci::settings::Settings;
use loci::store::{StorePlace, StoreSettings, open_failure};
use loci::wiring::{Parts, Wiring, open_store};
use loci_core::{Clock, Embedder, Timestamp, limits};
use loci_engine::{CONSOLIDATE, Effect, Policy, SearchMode, Weights};
use serde_json::{Map, Value};

use crate::fitted_numbers::with_number;

/// The number of seconds in a day.
pub const DAY_SECONDS: u64 = 86_400;
/// The moment of the questions: noon (UTC) of Wednesday, 18 March 2026, in seconds since 1970.
const ASKED_AT_SECONDS: i64 = 1_773_835_200;

/// A clock that stands still until it is set, so that every run has the same times.
pub struct SetClock(AtomicI64);

impl SetClock {
    /// Returns a clock at the beginning of 1970.
    pub fn new() -> Arc<Self> {
        Arc::new(SetClock(AtomicI64::new(0)))
    }

    /// Sets the clock to noon of that many days before the questions.
    pub fn set(&self, days_ago: i64) {
        self.set_after_noon(days_ago, 0);
    }

    /// Sets the clock to that many milliseconds after noon of that many days before the questions.
    pub fn set_after_noon(&self, days_ago: i64, milliseconds: i64) {
        let day = i64::try_from(DAY_SECONDS).unwrap_or(i64::MAX);
        let noon = (ASKED_AT_SECONDS - days_ago * day) * 1_000;
        self.0
            .store((noon + milliseconds) * 1_000, Ordering::Relaxed);
    }
}

impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_microseconds(self.0.load(Ordering::Relaxed))
    }
}

/// The settings and the model that the stores of one run share.
pub struct Laboratory<'a> {
    settings: &'a Settings,
    embedder: Arc<dyn Embedder>,
    clock: Arc<dyn Clock>,
    weights: Weights,
}

impl<'a> Laboratory<'a> {
    /// Returns a laboratory with the user's settings for the model, the search and the ranking,
    /// without these steps, or with another value of a fitted number (`contrast=1.1`).
    ///
    /// # Errors
    /// As for [`weights`], and [`Exit::Usage`] if the model's endpoint is invalid.
    pub fn new(
        settings: &'a Settings,
        clock: Arc<dyn Clock>,
        without: &[String],
    ) -> Result<Self, Failure> {
        Ok(Laboratory {
            settings,
            embedder: embedder(&settings.embedding)?,
            clock,
            weights: weights(without)?,
        })
    }

    /// Returns the model.
    pub fn embedder(&self) -> &dyn Embedder {
        &*self.embedder
    }

    /// Returns the model that embeds, or `none`.
    pub fn model(&self) -> String {
        match self.settings.search {
            SearchMode::Words => "none".to_owned(),
            _ => self.embedder.model().to_string(),
        }
    }

    /// Returns the search mode.
    pub fn search(&self) -> &'static str {
        match self.settings.search {
            SearchMode::Hybrid => "hybrid",
            SearchMode::Vector => "vector",
            SearchMode::Words => "words",
        }
    }

    /// Opens a store. Messages do not expire during the run or before the next one.
    ///
    /// # Errors
    /// As for [`Parts::open`].
    pub fn open(&self, data: &Path) -> Result<Parts, Failure> {
        self.open_searching(data, self.settings.search)
    }

    /// Opens a store with this search mode. With the URL of a server as the setting `store`, one
    /// that was filled is copied into a schema of its own there, which stays.
    ///
    /// # Errors
    /// As for [`Parts::open`].
    pub fn open_searching(&self, data: &Path, search: SearchMode) -> Result<Parts, Failure> {
        let policy = Policy {
            message_ttl_seconds: limits::TTL_DAYS_MAX * DAY_SECONDS,
            ..self.settings.policy
        };
        let wiring = Wiring {
            embedder: Arc::clone(&self.embedder),
            clock: Arc::clone(&self.clock),
            policy,
            weights: self.weights,
            search_wait: None,
        };
        let mut settings = Settings {
            search,
            ..self.settings.clone()
        };
        let files = StoreSettings {
            place: StorePlace::Folder(data.to_owned()),
            ..settings.store.clone()
        };
        let files = files.location(data);
        let is_on_server = matches!(settings.store.place, StorePlace::Server(_));
        if is_on_server && files.files()?.database().is_file() {
            data.clone_into(&mut settings.data);
            settings.store.server.schema = schema_of(data);
            let filled = files.open().map_err(|error| open_failure(&error))?;
            loci::transfer(&*filled, open_store(&settings, data)?, String::new())?;
        }
        Parts::open_with(&settings, data, wiring)
    }
}

/// Returns the weights of the ranking without these steps, or with another value of a fitted number.
///
/// # Errors
/// [`Exit::Usage`] if there is no such step or number.
pub fn weights(without: &[String]) -> Result<Weights, Failure> {
    without
        .iter()
        .try_fold(Weights::default(), |weights, step| {
            let changed = match step.split_once('=') {
                Some((name, value)) => value
                    .parse()
                    .ok()
                    .and_then(|value| with_number(weights, name, value)),
                None => weights.without(step),
            };
            changed.ok_or_else(|| {
                let problem = format!(
                    "there is no step {step}; --without takes NUMBER=VALUE, with a number that `fusion --fit` names, or {}",
                    Weights::STEPS.join(", ")
                );
                Failure::new(Exit::Usage, problem)
            })
        })
}

/// Returns the schema for a folder of a run, so that each has a store of its own on the server.
fn schema_of(data: &Path) -> String {
    let mut hasher = DefaultHasher::new();
    data.hash(&mut hasher);
    format!("bench_{:016x}", hasher.finish())
}

/// Does the background work at once.
///
/// # Errors
/// The errors of the work.
pub fn settle(parts: &Parts) -> Result<(), Failure> {
    while parts.engine.background().embed_pending()? > 0 || parts.engine.background().enrich()? {}
    Ok(())
}

/// Consolidates a whole store; returns the number of memories that stand behind others.
///
/// # Errors
/// If the store cannot be used.
pub fn consolidate(parts: &Parts) -> Result<usize, Failure> {
    let info = (CONSOLIDATE, "memory:write", Effect::Write);
    let report =
        parts.logged_in_all(info, |call| Ok(call.consolidation().consolidate(false)?))?;
    Ok(report.behind)
}

/// Copies the folder of a store, so that questions to the copy do not change the original.
///
/// # Errors
/// If a file cannot be read or written.
pub fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// Returns the arguments of a tool.
pub fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

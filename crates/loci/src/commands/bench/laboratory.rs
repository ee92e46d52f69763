//! Stores of a benchmark's own, reached by the same tool calls that agents make.

use std::path::Path;
use std::sync::Arc;

use loci_core::{Clock, Embedder, limits};
use loci_engine::{Policy, SearchMode, Weights};
use serde_json::{Map, Value};

use crate::exit::{Exit, Failure};
use crate::settings::Settings;
use crate::wiring::{Parts, Wiring, embedder};

/// Seconds in a day.
pub const DAY_SECONDS: u64 = 86_400;

/// What the stores of one run have in common.
pub struct Laboratory<'a> {
    settings: &'a Settings,
    embedder: Arc<dyn Embedder>,
    clock: Arc<dyn Clock>,
    weights: Weights,
}

impl<'a> Laboratory<'a> {
    /// With the user's settings for the model, the search and the ranking, less these steps of it.
    ///
    /// # Errors
    /// [`Exit::Usage`] if there is no such step, or the model's endpoint cannot be one.
    pub fn new(settings: &'a Settings, clock: Arc<dyn Clock>, without: &[String]) -> Result<Self, Failure> {
        let weights = without.iter().try_fold(Weights::default(), |weights, step| {
            weights.without(step).ok_or_else(|| {
                let problem = format!("there is no step {step}; --without takes {}", Weights::STEPS.join(", "));
                Failure::new(Exit::Usage, problem)
            })
        })?;
        Ok(Laboratory { settings, embedder: embedder(&settings.embedding)?, clock, weights })
    }

    /// The model that embeds, or `none`.
    pub fn model(&self) -> String {
        match self.settings.search {
            SearchMode::Words => "none".to_owned(),
            _ => self.embedder.model().to_string(),
        }
    }

    /// How candidates are found.
    pub fn search(&self) -> &'static str {
        match self.settings.search {
            SearchMode::Hybrid => "hybrid",
            SearchMode::Vector => "vector",
            SearchMode::Words => "words",
        }
    }

    /// Opens a store. Messages stay, however long the run takes and whenever the next one is.
    ///
    /// # Errors
    /// As for [`Parts::open`].
    pub fn open(&self, data: &Path) -> Result<Parts, Failure> {
        let policy = Policy { message_ttl_seconds: limits::TTL_DAYS_MAX * DAY_SECONDS, ..self.settings.policy };
        let wiring = Wiring {
            embedder: Arc::clone(&self.embedder),
            clock: Arc::clone(&self.clock),
            policy,
            weights: self.weights,
            search_wait: None,
        };
        Parts::open_with(self.settings, data, wiring)
    }
}

/// Does at once what the background has to do.
///
/// # Errors
/// Those of the work.
pub fn settle(parts: &Parts) -> Result<(), Failure> {
    while parts.engine.embed_pending()? > 0 || parts.engine.enrich()? {}
    Ok(())
}

/// Arguments of a tool.
pub fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

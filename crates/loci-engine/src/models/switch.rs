//! The switch from one embedding model to another.

use std::collections::HashMap;
use std::sync::Arc;

use loci_core::{Embedder, Space, Timestamp};

/// The state of a switch of models, as this engine last saw it.
#[derive(Default)]
pub(crate) struct ModelSwitch {
    /// The time of the last comparison of the models; `None` before the first.
    pub(super) looked: Option<Timestamp>,
    /// The time of the last check whether the former model is still needed; `None` if texts were
    /// embedded since.
    pub(super) checked: Option<Timestamp>,
    /// The other available models of stored vectors, while memories wait for the engine's own.
    pub(super) others: Vec<Arc<dyn Embedder>>,
    /// The index of the one that is active.
    pub(super) former: Option<usize>,
    /// True if there may be memories that it has not embedded.
    pub(super) former_lacks: bool,
    /// True if other models have embedded anything, whether these are available or not.
    pub(super) has_several: bool,
    /// The time until which it is not called, because it failed.
    pub(super) pauses_until: Option<Timestamp>,
    /// The versions of spaces when a search in them last lacked vectors.
    pub(super) lacked: HashMap<Space, u64>,
}

impl ModelSwitch {
    pub(super) fn former(&self) -> Option<&Arc<dyn Embedder>> {
        self.others.get(self.former?)
    }

    /// Ends the switch: the engine's own model has embedded everything.
    pub(super) fn complete(&mut self) {
        (self.others, self.former) = (Vec::new(), None);
    }
}

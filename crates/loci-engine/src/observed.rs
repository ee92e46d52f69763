//! A store and models that tell an [`Observer`](crate::Observer) what they do, and are spans of
//! traces.
//!
//! An engine without an observer works with the store itself.

mod model;
mod store;

pub(crate) use model::{ObservedFormerModels, ObservedModel};
pub(crate) use store::ObservedStore;

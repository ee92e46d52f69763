//! Embedding models that run in this process, behind [`loci_core::Embedder`]: all-MiniLM-L6-v2
//! compiled into the binary, another model of the catalogue, or any ONNX model of the same kind in
//! a folder.
//!
//! The local model runs one text at a time on one core: its int8 kernels scale activations by the
//! largest value of the whole input, so in a batch a text's vector would depend on the other texts.
//! By itself, it depends only on the text and needs no padding, and many texts still use all cores,
//! one each.
//!
//! With the feature `ort`, an onnxruntime that the user installed can run the same files. In front
//! of any local or remote model, [`CachedEmbedder`] caches the vectors of queries.
//!
//! This crate does not depend on the network, stores, the engine or MCP.
//!
//! ```
//! use loci_core::Embedder;
//! use loci_embed::LocalModel;
//!
//! let model = LocalModel::bundled();
//! let query = model.embed_query("When is the kiln fired?")?;
//! assert_eq!(query.len(), 384);
//! # Ok::<(), loci_core::Error>(())
//! ```

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, reason = "a test that fails may panic")
)]

mod cached;
mod catalogue;
mod charsmap;
mod cores;
mod idle;
mod local;
mod network;
mod no_model;
#[cfg(feature = "ort")]
mod onnxruntime;
mod parallel;
mod program_file;
mod rten_network;
mod runtime;
mod token;
mod tokenizer;
mod unigram;
mod word_pieces;

pub use cached::CachedEmbedder;
pub use catalogue::{CATALOGUE, CatalogueModel, Languages, ModelFile};
pub use local::LocalModel;
pub use no_model::NoModel;

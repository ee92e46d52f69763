//! Embedding models that run in this process, behind [`loci_core::Embedder`]: all-MiniLM-L6-v2
//! compiled into the binary, another model of the catalogue, or any ONNX model of the same kind in
//! a folder.
//!
//! A model of the catalogue runs short texts together: each token's values are quantised by a scale
//! of their own, so that a text's vector depends only on the text, and nothing is padded. For a model
//! outside of the catalogue the graph says one scale for all values of a run, so that each text has a
//! run of its own. A run takes one core; many texts use all cores.
//!
//! A cross-encoder in a folder, behind [`loci_core::Reranker`], reads questions and texts together.
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

mod bundled;
mod cached;
mod catalogue;
mod charsmap;
mod cores;
mod cross_encoder;
mod encoder;
mod encoder_network;
mod idle;
mod local;
mod network;
mod no_model;
#[cfg(feature = "ort")]
mod onnxruntime;
mod parallel;
mod pools;
mod program_file;
mod rten_network;
mod runs;
mod runtime;
mod token;
mod tokenizer;
mod unigram;
mod word_pieces;

pub use cached::CachedEmbedder;
pub use catalogue::{CATALOGUE, CatalogueModel, Languages, ModelFile};
pub use cross_encoder::CrossEncoder;
pub use local::LocalModel;
pub use no_model::NoModel;

//! Tests of the local model through its public interface.

#![allow(clippy::unwrap_used, reason = "a test that fails may panic")]

mod catalogue;
mod cross_encoder;
mod local;
#[cfg(feature = "ort")]
mod onnxruntime;

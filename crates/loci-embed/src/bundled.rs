//! The bundled graph, as the build script has split it.

/// The graph, whose large tensors are in [`TENSORS`].
pub(crate) static GRAPH: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/graph.onnx"));
/// The large tensors of the graph.
pub(crate) static TENSORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/tensors.data"));

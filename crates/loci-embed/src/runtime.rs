//! The runtime of a model's graph.

use std::borrow::Cow;
#[cfg(feature = "ort")]
use std::path::PathBuf;

use crate::encoder_network::EncoderNetwork;
use crate::network::Network;
#[cfg(feature = "ort")]
use crate::onnxruntime::{self, OnnxruntimeNetwork};
use crate::rten_network::RtenNetwork;

/// The file of the bundled graph. The built-in runtime has its own form.
#[cfg(feature = "ort")]
static BUNDLED_GRAPH: &[u8] = include_bytes!("../model/model_int8.onnx");

/// The way in which the built-in runtime quantises the values that are multiplied by weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scales {
    /// With a scale for each token.
    PerToken,
    /// With one scale for all tokens, as the graph says: for graphs outside of the catalogue, and
    /// for vectors of former versions.
    PerText,
}

pub(crate) enum Runtime {
    /// The runtime inside this binary.
    BuiltIn {
        /// True if the process embeds one short text, so that its weights are not packed before.
        for_one_text: bool,
        scales: Scales,
    },
    /// An installed onnxruntime.
    #[cfg(feature = "ort")]
    Onnxruntime { library: Option<PathBuf> },
}

impl Runtime {
    /// Makes sure that it is available.
    ///
    /// # Errors
    /// `unavailable` if it is not, with the software to install.
    #[cfg(feature = "ort")]
    pub(crate) fn start(&self) -> loci_core::Result<()> {
        match self {
            Runtime::BuiltIn { .. } => Ok(()),
            Runtime::Onnxruntime { library } => onnxruntime::start(library.as_deref()).map(drop),
        }
    }

    /// Loads the bundled graph for this many numbers of cores. The error describes the problem with it.
    pub(crate) fn load_bundled(&self, cores: usize) -> Result<Box<dyn Network>, String> {
        match self {
            Runtime::BuiltIn {
                for_one_text,
                scales,
            } => Ok(match scales {
                Scales::PerToken => Box::new(EncoderNetwork::bundled(*for_one_text, cores)?),
                Scales::PerText => Box::new(RtenNetwork::bundled(*for_one_text, cores)?),
            }),
            #[cfg(feature = "ort")]
            Runtime::Onnxruntime { .. } => self.load(Cow::Borrowed(BUNDLED_GRAPH), cores),
        }
    }

    /// Loads a graph for this number of cores. The error describes the problem with it.
    pub(crate) fn load(
        &self,
        graph: Cow<'static, [u8]>,
        cores: usize,
    ) -> Result<Box<dyn Network>, String> {
        match self {
            Runtime::BuiltIn {
                for_one_text,
                scales,
            } => Ok(match scales {
                Scales::PerToken => Box::new(EncoderNetwork::load(&graph, *for_one_text, cores)?),
                Scales::PerText => {
                    Box::new(RtenNetwork::load(graph.into_owned(), *for_one_text, cores)?)
                }
            }),
            #[cfg(feature = "ort")]
            Runtime::Onnxruntime { library } => {
                let environment =
                    onnxruntime::start(library.as_deref()).map_err(|error| error.message)?;
                Ok(Box::new(OnnxruntimeNetwork::load(
                    environment,
                    graph,
                    cores,
                )?))
            }
        }
    }
}

//! Runs an encoder of the catalogue on the kernels inside this binary.

use crate::bundled::{GRAPH, TENSORS};
use crate::cores::Core;
use crate::encoder::Encoder;
use crate::network::{Network, guarded, unit_vector};
use crate::pools::Pools;

/// The tokens of one run. More gain nothing, and a question may wait for a run.
const TOKENS_AT_ONCE: usize = 128;

/// An encoder in memory, and a thread for each core that was used.
pub(crate) struct EncoderNetwork {
    encoder: Encoder,
    pools: Pools,
}

impl EncoderNetwork {
    /// Loads the bundled graph for this number of cores. The error describes the problem with it.
    pub(crate) fn bundled(for_one_text: bool, cores: usize) -> Result<Self, String> {
        EncoderNetwork::of(GRAPH, TENSORS, for_one_text, cores)
    }

    /// Loads a graph of the catalogue for this number of cores. The error describes the problem
    /// with it.
    pub(crate) fn load(graph: &[u8], for_one_text: bool, cores: usize) -> Result<Self, String> {
        EncoderNetwork::of(graph, &[], for_one_text, cores)
    }

    fn of(
        graph: &[u8],
        tensors: &'static [u8],
        for_one_text: bool,
        cores: usize,
    ) -> Result<Self, String> {
        let encoder = guarded(|| Encoder::load(graph, tensors, !for_one_text))?;
        let pools = Pools::new(cores);
        Ok(EncoderNetwork { encoder, pools })
    }
}

impl Network for EncoderNetwork {
    fn run(&self, texts: &[&[i32]], core: &Core<'_>) -> Result<Vec<Vec<f32>>, String> {
        // In a pool of one, the kernels use no other thread.
        let run = || guarded(|| self.encoder.run(texts));
        let vectors = self.pools.of(core).run(run)?;
        vectors.into_iter().map(unit_vector).collect()
    }

    fn tokens_at_once(&self) -> usize {
        TOKENS_AT_ONCE
    }
}

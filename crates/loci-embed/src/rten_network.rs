//! Runs a graph on the runtime inside this binary.

use std::sync::Arc;

use rten::{Model, ModelOptions, NodeId, RunOptions, ValueOrView};
use rten_tensor::NdTensor;

use crate::bundled::{GRAPH, TENSORS};
use crate::cores::Core;
use crate::network::{
    IDS, MASK, Network, Output, TYPES, guarded, no_input, sum_of_rows, unit_vector,
};
use crate::pools::Pools;
use crate::program_file;

/// A graph in memory, and a thread for each core that was used. The graph finds one scale for all
/// values of a run, so each text has a run of its own.
pub(crate) struct RtenNetwork {
    model: Model,
    ids: NodeId,
    mask: NodeId,
    types: Option<NodeId>,
    output: Output,
    output_id: NodeId,
    pools: Pools,
}

impl RtenNetwork {
    /// Loads the bundled graph for this number of cores. The error describes the problem with it.
    pub(crate) fn bundled(for_one_text: bool, cores: usize) -> Result<Self, String> {
        let mut options = options(for_one_text);
        let name = "tensors.data";
        // One text reads few pages of the tensors, and a process that embeds more gives the memory
        // back later.
        let copy = (!for_one_text).then(|| program_file::copy_of(TENSORS));
        match copy.flatten() {
            Some(copy) => options.external_data(name, copy),
            None => options.external_data_static(name, TENSORS),
        };
        let model = guarded(|| {
            let loaded = options.load_static_slice(GRAPH);
            loaded.map_err(|error| error.to_string())
        })?;
        RtenNetwork::of(model, cores)
    }

    /// Loads a graph for this number of cores. The error describes the problem with it.
    pub(crate) fn load(graph: Vec<u8>, for_one_text: bool, cores: usize) -> Result<Self, String> {
        let model = guarded(|| {
            let loaded = options(for_one_text).load(graph);
            loaded.map_err(|error| error.to_string())
        })?;
        RtenNetwork::of(model, cores)
    }

    fn of(model: Model, cores: usize) -> Result<Self, String> {
        let input = |name: &str| {
            let id = model
                .find_node(name)
                .filter(|id| model.input_ids().contains(id));
            id.ok_or_else(|| no_input(name))
        };
        let (ids, mask, types) = (input(IDS)?, input(MASK)?, input(TYPES).ok());
        let (output, output_id) = Output::choose(|name| {
            model
                .find_node(name)
                .filter(|id| model.output_ids().contains(id))
        })?;
        let pools = Pools::new(cores);
        Ok(RtenNetwork {
            model,
            ids,
            mask,
            types,
            output,
            output_id,
            pools,
        })
    }
}

/// Packed weights cost 11 MB and 11 ms once, and make a short query three times as fast, because
/// its few tokens do not justify packing them each time.
fn options(for_one_text: bool) -> ModelOptions {
    let mut options = ModelOptions::with_all_ops();
    options.prepack_weights(!for_one_text);
    options
}

impl RtenNetwork {
    fn vector(&self, token_ids: &[i32], core: &Core<'_>) -> Result<Vec<f32>, String> {
        let shape = [1, token_ids.len()];
        let mut inputs: Vec<(NodeId, ValueOrView<'_>)> = vec![
            (
                self.ids,
                NdTensor::from_data(shape, token_ids.to_vec()).into(),
            ),
            (self.mask, NdTensor::<i32, 2>::full(shape, 1).into()),
        ];
        inputs.extend(
            self.types
                .map(|types| (types, NdTensor::<i32, 2>::zeros(shape).into())),
        );
        let pool = Arc::clone(self.pools.of(core));
        let options = RunOptions::default().with_thread_pool(Some(pool));
        unit_vector(guarded(|| {
            let values = self.model.run_n(inputs, [self.output_id], Some(options));
            let [value] = values.map_err(|error| error.to_string())?;
            match self.output {
                Output::Sentence => {
                    let (_, values) = value
                        .into_shape_vec::<f32, 2>()
                        .map_err(|error| error.to_string())?;
                    Ok(values)
                }
                Output::Tokens => {
                    let parts = value
                        .into_shape_vec::<f32, 3>()
                        .map_err(|error| error.to_string())?;
                    let ([_, _, dimension], values) = parts;
                    Ok(sum_of_rows(&values, dimension))
                }
            }
        })?)
    }
}

impl Network for RtenNetwork {
    fn run(&self, texts: &[&[i32]], core: &Core<'_>) -> Result<Vec<Vec<f32>>, String> {
        texts.iter().map(|text| self.vector(text, core)).collect()
    }
}

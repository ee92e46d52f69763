//! One ONNX graph, ready to run.

use std::panic::{AssertUnwindSafe, catch_unwind};

use rten::{Model, ModelOptions, NodeId, RunOptions, ValueOrView};
use rten_tensor::NdTensor;

use crate::cores::Core;
use loci_core::unit_vector;

/// Where the bytes of a graph are.
pub(crate) enum GraphBytes {
    /// In the binary.
    Static(&'static [u8]),
    /// Read from a file.
    Read(Vec<u8>),
}

/// A BERT encoder: token ids in, one vector out.
pub(crate) struct Network {
    model: Model,
    ids: NodeId,
    mask: NodeId,
    types: Option<NodeId>,
    output: Output,
}

enum Output {
    /// `[1, dimension]`, pooled inside the graph.
    Sentence(NodeId),
    /// `[1, tokens, dimension]`, to be averaged over the tokens.
    Tokens(NodeId),
}

impl Network {
    /// Reads a graph. The error is what is wrong with it.
    pub(crate) fn load(bytes: GraphBytes) -> Result<Self, String> {
        // Weights in the kernels' own order cost 11 MB and 11 ms once, and make a short query three
        // times as fast, because its few tokens do not pay for reordering them each time.
        let mut options = ModelOptions::with_all_ops();
        options.prepack_weights(true);
        let model = guarded(|| match bytes {
            GraphBytes::Static(bytes) => options.load_static_slice(bytes).map_err(|error| error.to_string()),
            GraphBytes::Read(bytes) => options.load(bytes).map_err(|error| error.to_string()),
        })?;
        let input = |name: &str| {
            let id = model.find_node(name).filter(|id| model.input_ids().contains(id));
            id.ok_or_else(|| format!("the graph has no input `{name}`"))
        };
        let (ids, mask, types) = (input("input_ids")?, input("attention_mask")?, input("token_type_ids").ok());
        let output = |name: &str| model.find_node(name).filter(|id| model.output_ids().contains(id));
        let output = match (output("sentence_embedding"), output("last_hidden_state")) {
            (Some(id), _) => Output::Sentence(id),
            (None, Some(id)) => Output::Tokens(id),
            (None, None) => {
                return Err("the graph has no output `sentence_embedding` or `last_hidden_state`".to_owned());
            }
        };
        Ok(Network { model, ids, mask, types, output })
    }

    /// The unit vector of a text's token ids, computed on one core. The error is what went
    /// wrong inside.
    pub(crate) fn run(&self, token_ids: &[i32], core: &Core<'_>) -> Result<Vec<f32>, String> {
        let shape = [1, token_ids.len()];
        let mut inputs: Vec<(NodeId, ValueOrView<'_>)> = vec![
            (self.ids, NdTensor::from_data(shape, token_ids.to_vec()).into()),
            (self.mask, NdTensor::<i32, 2>::full(shape, 1).into()),
        ];
        inputs.extend(self.types.map(|types| (types, NdTensor::<i32, 2>::zeros(shape).into())));
        let options = RunOptions::default().with_thread_pool(Some(core.pool()));
        let values = guarded(|| match self.output {
            Output::Sentence(id) => {
                let [value] = self.model.run_n(inputs, [id], Some(options)).map_err(|error| error.to_string())?;
                let (_, values) = value.into_shape_vec::<f32, 2>().map_err(|error| error.to_string())?;
                Ok(values)
            }
            Output::Tokens(id) => {
                let [value] = self.model.run_n(inputs, [id], Some(options)).map_err(|error| error.to_string())?;
                let ([_, _, dimension], values) =
                    value.into_shape_vec::<f32, 3>().map_err(|error| error.to_string())?;
                Ok(sum_of_rows(&values, dimension))
            }
        })?;
        unit_vector(values).ok_or_else(|| "its vector is zero or not finite".to_owned())
    }
}

/// The mean of the rows but for its length.
fn sum_of_rows(values: &[f32], dimension: usize) -> Vec<f32> {
    let mut sum = vec![0.0; dimension];
    for row in values.chunks_exact(dimension.max(1)) {
        sum.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
    }
    sum
}

/// Runs code of the inference library. A damaged graph can break its assumptions (shapes that
/// do not fit, missing attributes), which it answers with a panic: to our caller that is a model
/// that cannot be used, not a reason to end the process. Nothing that the closure touches is used
/// after a panic but the immutable graph.
fn guarded<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let reason = panic.downcast_ref::<String>().map(String::as_str);
        let reason = reason.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason given");
        Err(format!("the inference library failed: {reason}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error() {
        let outcome = guarded(|| -> Result<(), String> { panic!("shape {}", 7) });
        assert_eq!(outcome, Err("the inference library failed: shape 7".to_owned()));
    }

    #[test]
    fn rows_are_summed() {
        assert_eq!(sum_of_rows(&[1.0, 2.0, 3.0, 4.0], 2), [4.0, 6.0]);
        assert!(sum_of_rows(&[], 0).is_empty());
    }
}

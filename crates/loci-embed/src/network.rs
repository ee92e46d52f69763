//! The interface of all runtimes to a graph: token ids in, one vector for each text out.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::cores::Core;

/// A BERT encoder, ready to run.
pub(crate) trait Network: Send + Sync {
    /// Returns the unit vector of each text's token ids, computed on one core. It depends only on
    /// the text. The error describes the internal failure.
    fn run(&self, texts: &[&[i32]], core: &Core<'_>) -> Result<Vec<Vec<f32>>, String>;

    /// Returns the tokens up to which texts in one run take less time than in a run each; 0 if they
    /// never do.
    fn tokens_at_once(&self) -> usize {
        0
    }
}

pub(crate) const IDS: &str = "input_ids";
pub(crate) const MASK: &str = "attention_mask";
/// An optional input.
pub(crate) const TYPES: &str = "token_type_ids";

/// The output of a graph to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    /// `[1, dimension]`, pooled inside the graph.
    Sentence,
    /// `[1, tokens, dimension]`, to be averaged over the tokens.
    Tokens,
}

impl Output {
    /// Chooses the best output of a graph and returns the value of `find` for its name. The error
    /// names the missing outputs.
    pub(crate) fn choose<T>(find: impl Fn(&str) -> Option<T>) -> Result<(Self, T), String> {
        let choice = [Output::Sentence, Output::Tokens]
            .into_iter()
            .find_map(|output| find(output.name()).map(|found| (output, found)));
        choice.ok_or_else(|| {
            "the graph has no output `sentence_embedding` or `last_hidden_state`".to_owned()
        })
    }

    /// Its name in the graph.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Output::Sentence => "sentence_embedding",
            Output::Tokens => "last_hidden_state",
        }
    }
}

/// Returns the error for a graph without a required input.
pub(crate) fn no_input(name: &str) -> String {
    format!("the graph has no input `{name}`")
}

/// Returns the sum of the rows, which has the direction of their mean.
pub(crate) fn sum_of_rows(values: &[f32], dimension: usize) -> Vec<f32> {
    let mut sum = vec![0.0; dimension];
    for row in values.chunks_exact(dimension.max(1)) {
        sum.iter_mut()
            .zip(row)
            .for_each(|(sum, value)| *sum += value);
    }
    sum
}

/// Normalizes a vector. The error is the reason why that is impossible.
pub(crate) fn unit_vector(values: Vec<f32>) -> Result<Vec<f32>, String> {
    loci_core::unit_vector(values).ok_or_else(|| "its vector is zero or not finite".to_owned())
}

/// Runs code of an inference library and converts its panics to errors. A corrupt graph can break
/// its assumptions (mismatched shapes, missing attributes); then the model is unusable, but the
/// process goes on. Partial results of the closure must not be used after a panic.
pub(crate) fn guarded<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let reason = panic.downcast_ref::<String>().map(String::as_str);
        let reason = reason
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("no reason given");
        Err(format!("the inference library failed: {reason}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error() {
        let outcome = guarded(|| -> Result<(), String> { panic!("shape {}", 7) });
        assert_eq!(
            outcome,
            Err("the inference library failed: shape 7".to_owned())
        );
    }

    #[test]
    fn rows_are_summed() {
        assert_eq!(sum_of_rows(&[1.0, 2.0, 3.0, 4.0], 2), [4.0, 6.0]);
        assert!(sum_of_rows(&[], 0).is_empty());
    }

    #[test]
    fn a_pooled_output_is_preferred() {
        let chosen =
            |names: &[&str]| Output::choose(|name| names.iter().position(|&known| known == name));
        assert_eq!(
            chosen(&["last_hidden_state", "sentence_embedding"]),
            Ok((Output::Sentence, 1))
        );
        assert_eq!(
            chosen(&["last_hidden_state", "pooler_output"]),
            Ok((Output::Tokens, 0))
        );
        assert!(
            chosen(&["logits"])
                .unwrap_err()
                .contains("sentence_embedding")
        );
    }
}

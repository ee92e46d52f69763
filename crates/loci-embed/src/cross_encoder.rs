//! A cross-encoder in a folder, which reads a question and a text together.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use loci_core::{Error, Reranker, Result};
use rten::{Model, ModelOptions, NodeId, RunOptions, ThreadPool, ValueOrView};
use rten_tensor::NdTensor;
use serde::Deserialize;
use serde_json::Value;

use crate::cores::{Core, Cores};
use crate::idle::Idle;
use crate::network::{IDS, MASK, Output, TYPES, guarded, no_input};
use crate::parallel::{Priority, spread};
use crate::tokenizer::Tokenizer;

/// The time for which a loaded model is kept after its last use.
const KEPT: Duration = Duration::from_mins(1);
/// The most tokens of a pair, the input length of BERT and XLM-RoBERTa.
const TOKENS_MAX: usize = 512;
/// The most tokens of a question, so that every text has room.
const QUERY_TOKENS_MAX: usize = 256;
const GRAPH_FILE: &str = "model.onnx";
const TOKENIZER_FILE: &str = "tokenizer.json";
/// The output that exporters name; a graph with one output may name it otherwise.
const LOGITS: &str = "logits";
/// A question and a text for [`CrossEncoder::check`].
const CHECK_PAIR: [&str; 2] = ["Does the model answer?", "The model answers."];

/// A cross-encoder in ONNX form that the user brings, run in this process on the runtime inside the
/// binary: a BERT or XLM-RoBERTa with one output for a pair of texts, such as the ones of
/// sentence-transformers, as Optimum exports them.
///
/// The first use loads the model for all threads; after a failed load, the next one tries again. A
/// model that was not used for a minute is dropped, and loaded again by the next use. One pair uses
/// one core, and several use all. A pair has at most 512 tokens, of which the question has at most
/// 256.
pub struct CrossEncoder {
    folder: PathBuf,
    loaded: Idle<LoadedCrossEncoder>,
    cores: Cores,
    /// The number of cores that a process may use.
    limit: usize,
}

struct LoadedCrossEncoder {
    tokenizer: Tokenizer,
    form: PairForm,
    model: Model,
    ids: NodeId,
    mask: NodeId,
    types: Option<NodeId>,
    logits: NodeId,
    /// One thread for each core, started at its first use.
    pools: Vec<OnceLock<Arc<ThreadPool>>>,
}

/// How a tokenizer joins two texts, each between its own first and last token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PairForm {
    /// True if the last token stands twice between the texts, as in RoBERTa.
    is_doubled: bool,
    /// The type of the tokens of the second text; that of the first is 0.
    second_type: i32,
}

impl CrossEncoder {
    /// Returns the model in a folder: `model.onnx` (inputs `input_ids`, `attention_mask` and
    /// optionally `token_type_ids`; output `logits`, of one value for a pair, or of two, for a text
    /// that does not answer and for one that does) and `tokenizer.json` (BERT WordPiece or
    /// SentencePiece Unigram). Reads nothing until its first use.
    pub fn of_folder(folder: &Path) -> Self {
        let limit = std::thread::available_parallelism().map_or(1, usize::from);
        CrossEncoder {
            folder: folder.to_owned(),
            loaded: Idle::new(KEPT),
            cores: Cores::new(0..limit),
            limit,
        }
    }

    /// Loads the model and reads a fixed pair.
    ///
    /// # Errors
    /// As for [`scores`](Reranker::scores).
    pub fn check(&self) -> Result<()> {
        let [query, text] = CHECK_PAIR;
        self.scores(query, &[text]).map(drop)
    }

    fn load(&self) -> Result<LoadedCrossEncoder> {
        if !self.folder.is_dir() {
            return Err(unusable(&self.folder, "is not a folder that can be read"));
        }
        let [graph, tokenizer] = [GRAPH_FILE, TOKENIZER_FILE].map(|name| self.folder.join(name));
        let read = |path: &Path| {
            std::fs::read(path)
                .map_err(|error| unusable(path, format_args!("cannot be read: {error}")))
        };
        let (graph_bytes, tokenizer_bytes) = (read(&graph)?, read(&tokenizer)?);
        let of_tokenizer = |problem: String| unusable(&tokenizer, problem);
        let form = PairForm::of_json(&tokenizer_bytes).map_err(of_tokenizer)?;
        let tokens = Tokenizer::from_json(&tokenizer_bytes).map_err(of_tokenizer)?;
        let of_graph = |problem: String| unusable(&graph, problem);
        let model = guarded(|| {
            let loaded = ModelOptions::with_all_ops()
                .prepack_weights(true)
                .load(graph_bytes);
            loaded.map_err(|error| format!("cannot be loaded: {error}"))
        })
        .map_err(of_graph)?;
        LoadedCrossEncoder::of(tokens, form, model, self.limit).map_err(of_graph)
    }
}

impl LoadedCrossEncoder {
    /// The error describes the problem with the graph.
    fn of(
        tokenizer: Tokenizer,
        form: PairForm,
        model: Model,
        cores: usize,
    ) -> std::result::Result<Self, String> {
        let input = |name: &str| {
            let id = model
                .find_node(name)
                .filter(|id| model.input_ids().contains(id));
            id.ok_or_else(|| no_input(name))
        };
        let (ids, mask, types) = (input(IDS)?, input(MASK)?, input(TYPES).ok());
        let logits = logits_of(&model)?;
        let pools = (0..cores).map(|_| OnceLock::new()).collect();
        Ok(LoadedCrossEncoder {
            tokenizer,
            form,
            model,
            ids,
            mask,
            types,
            logits,
            pools,
        })
    }

    /// Returns the score of a text for the tokens of a question. The error describes the failure.
    fn score(
        &self,
        query: &[i32],
        text: &str,
        core: &Core<'_>,
    ) -> std::result::Result<f32, String> {
        let left = TOKENS_MAX - query.len() - usize::from(self.form.is_doubled);
        // Its first token is left out.
        let text = self.tokenizer.encode(text, left + 1)?;
        let (tokens, types) = self.form.joined(query, &text);
        let shape = [1, tokens.len()];
        let mut inputs: Vec<(NodeId, ValueOrView<'_>)> = vec![
            (self.ids, NdTensor::from_data(shape, tokens).into()),
            (self.mask, NdTensor::<i32, 2>::full(shape, 1).into()),
        ];
        let types_input = self.types.map(|id| (id, NdTensor::from_data(shape, types)));
        inputs.extend(types_input.map(|(id, types)| (id, types.into())));
        let pool =
            self.pools[core.number()].get_or_init(|| Arc::new(ThreadPool::with_num_threads(1)));
        let options = RunOptions::default().with_thread_pool(Some(Arc::clone(pool)));
        let values = guarded(|| {
            let values = self.model.run_n(inputs, [self.logits], Some(options));
            let [value] = values.map_err(|error| error.to_string())?;
            let (_, values) = value
                .into_shape_vec::<f32, 2>()
                .map_err(|error| format!("its output is no score for a pair: {error}"))?;
            Ok(values)
        })?;
        score_of(&values)
    }
}

impl Reranker for CrossEncoder {
    fn scores(&self, query: &str, texts: &[&str]) -> Result<Vec<f32>> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let loaded = self.loaded.get_or_load(|| self.load())?;
        let failed = |problem: String| unusable(&self.folder.join(GRAPH_FILE), problem);
        let query = loaded
            .tokenizer
            .encode(query, QUERY_TOKENS_MAX)
            .map_err(failed)?;
        // The longest first, so that no core idles for long at the end.
        let mut order: Vec<usize> = (0..texts.len()).collect();
        order.sort_by_key(|&index| Reverse(texts[index].len()));
        spread(&order, self.limit, Priority::OfCaller, |index| {
            loaded
                .score(&query, texts[index], &self.cores.take())
                .map_err(failed)
        })
    }
}

fn unusable(path: &Path, problem: impl std::fmt::Display) -> Error {
    Error::unavailable(format!(
        "the model of `rerank.model_folder` cannot be used: {} {problem}; put a cross-encoder in ONNX form there, \
         {GRAPH_FILE} and its {TOKENIZER_FILE}, or set `rerank.provider` to none",
        path.display()
    ))
}

/// Returns the output that has the scores. The error names the outputs that the graph has.
fn logits_of(model: &Model) -> std::result::Result<NodeId, String> {
    let outputs = model.output_ids();
    if let Some(logits) = model.find_node(LOGITS).filter(|id| outputs.contains(id)) {
        return Ok(logits);
    }
    let name = |id: &NodeId| {
        let info = model.node_info(*id);
        info.and_then(|info| info.name().map(str::to_owned))
    };
    let names: Vec<String> = outputs.iter().filter_map(name).collect();
    let is_embedding = [Output::Sentence, Output::Tokens]
        .iter()
        .any(|output| names.iter().any(|name| name == output.name()));
    match outputs {
        [only] if !is_embedding => Ok(*only),
        _ => {
            let advice = if is_embedding {
                ": it is a model of embeddings, which belongs under `embedding.model_folder`"
            } else {
                ""
            };
            Err(format!(
                "has no output `{LOGITS}`, only {}{advice}",
                names.join(", ")
            ))
        }
    }
}

/// Returns the score that logits say: the one, or by how much the second, for an answer, is above
/// the first.
fn score_of(logits: &[f32]) -> std::result::Result<f32, String> {
    let score = match logits {
        [score] => *score,
        [other, answer] => answer - other,
        _ => {
            return Err(format!(
                "gives {} values for a pair, not one or two",
                logits.len()
            ));
        }
    };
    if score.is_finite() {
        Ok(score)
    } else {
        Err("gives a score that is no number".to_owned())
    }
}

#[derive(Deserialize)]
struct TokenizerFile {
    post_processor: Option<Value>,
}

impl PairForm {
    /// The form of BERT, which a tokenizer without another one has.
    const BERT: PairForm = PairForm {
        is_doubled: false,
        second_type: 1,
    };

    /// Reads the form from the bytes of a `tokenizer.json`. The error describes the problem with it.
    fn of_json(json: &[u8]) -> std::result::Result<Self, String> {
        let file: TokenizerFile = serde_json::from_slice(json)
            .map_err(|error| format!("is damaged or not a tokenizer ({error})"))?;
        let form = file.post_processor.as_ref().map(PairForm::of_processor);
        form.unwrap_or(Ok(PairForm::BERT))
    }

    fn of_processor(processor: &Value) -> std::result::Result<Self, String> {
        match processor.get("type").and_then(Value::as_str) {
            Some("RobertaProcessing") => Ok(PairForm {
                is_doubled: true,
                second_type: 0,
            }),
            Some("TemplateProcessing") => {
                let pair = processor.get("pair").and_then(Value::as_array);
                let form = pair.and_then(|pair| PairForm::of_template(pair));
                form.ok_or_else(|| {
                    "joins two texts in another way than BERT and RoBERTa do".to_owned()
                })
            }
            _ => Ok(PairForm::BERT),
        }
    }

    /// Reads the template of a pair: `[first, A, last, last?, B, last]`.
    fn of_template(pair: &[Value]) -> Option<Self> {
        let place = |id: &str| {
            let is_text =
                |item: &Value| item.pointer("/Sequence/id").and_then(Value::as_str) == Some(id);
            pair.iter().position(is_text)
        };
        let (first, second) = (place("A")?, place("B")?);
        let between = second.checked_sub(first + 1)?;
        let second_type = pair[second].pointer("/Sequence/type_id")?.as_i64()?;
        let is_known = first == 1 && second + 2 == pair.len() && (1..=2).contains(&between);
        is_known.then_some(PairForm {
            is_doubled: between == 2,
            second_type: i32::from(second_type != 0),
        })
    }

    /// Joins the tokens of two texts, each with its first and last token. Returns the types, too.
    fn joined(self, first: &[i32], second: &[i32]) -> (Vec<i32>, Vec<i32>) {
        let mut tokens = first.to_vec();
        if self.is_doubled {
            tokens.extend(first.last());
        }
        let mut types = vec![0; tokens.len()];
        tokens.extend(second.iter().skip(1));
        types.resize(tokens.len(), self.second_type);
        (tokens, types)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_joined_as_the_tokenizer_says() {
        let template = |between: &str, second: u8| {
            format!(
                r#"{{"post_processor":{{"type":"TemplateProcessing","pair":[{{"SpecialToken":{{"id":"[CLS]","type_id":0}}}},
                {{"Sequence":{{"id":"A","type_id":0}}}},{between}{{"Sequence":{{"id":"B","type_id":{second}}}}},
                {{"SpecialToken":{{"id":"[SEP]","type_id":{second}}}}}]}}}}"#
            )
        };
        let separator = r#"{"SpecialToken":{"id":"[SEP]","type_id":0}},"#;
        let bert = ([1, 7, 2, 8, 9, 2].to_vec(), [0, 0, 0, 1, 1, 1].to_vec());
        let doubled = ([1, 7, 2, 2, 8, 9, 2].to_vec(), vec![0; 7]);
        let rows = [
            (r#"{"post_processor":null}"#.to_owned(), &bert),
            ("{}".to_owned(), &bert),
            (
                r#"{"post_processor":{"type":"BertProcessing"}}"#.to_owned(),
                &bert,
            ),
            (template(separator, 1), &bert),
            (
                r#"{"post_processor":{"type":"RobertaProcessing"}}"#.to_owned(),
                &doubled,
            ),
            (template(&separator.repeat(2), 0), &doubled),
        ];
        for (json, expected) in rows {
            let form = PairForm::of_json(json.as_bytes()).unwrap();
            assert_eq!(form.joined(&[1, 7, 2], &[1, 8, 9, 2]), *expected, "{json}");
        }
        for json in [template("", 1), template(&separator.repeat(3), 1)] {
            assert!(PairForm::of_json(json.as_bytes()).is_err(), "{json}");
        }
        assert!(PairForm::of_json(b"{").unwrap_err().contains("damaged"));
    }

    #[test]
    fn one_value_is_the_score_and_of_two_their_difference() {
        assert_eq!(score_of(&[-4.5]), Ok(-4.5));
        assert_eq!(score_of(&[1.0, 3.0]), Ok(2.0));
        for wrong in [&[][..], &[1.0, 2.0, 3.0], &[f32::NAN], &[f32::INFINITY]] {
            assert!(score_of(wrong).is_err(), "{wrong:?}");
        }
    }
}

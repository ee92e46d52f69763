//! A model that runs in this process.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use loci_core::{Embedder, Error, ModelId, Result};
use sha2::{Digest, Sha256};

use crate::cores::Cores;
use crate::network::{GraphBytes, Network};
use crate::word_pieces::{TOKENS_MAX, WordPieces};

const BUNDLED_GRAPH: &[u8] = include_bytes!("../model/model_int8.onnx");
const BUNDLED_TOKENIZER: &[u8] = include_bytes!("../model/tokenizer.json");

/// The first half of `digest(BUNDLED_GRAPH, BUNDLED_TOKENIZER)`, written down so that naming the
/// model reads none of its 23 MB. A test recomputes it.
const BUNDLED_DIGEST: &str = "eb780644c4249cfa";

/// Components of the bundled model's vectors.
const BUNDLED_DIMENSION: usize = 384;

/// Names of the graph in a model folder, the first that exists is taken.
const GRAPH_FILES: [&str; 2] = ["model.onnx", "model_int8.onnx"];
const TOKENIZER_FILE: &str = "tokenizer.json";

/// A text for [`LocalModel::check`].
const CHECK_TEXT: &str = "The model answers.";

/// A BERT-like sentence encoder in ONNX form, run in this process: the all-MiniLM-L6-v2 of the
/// binary (384 components) or one in a folder.
///
/// Texts are cut at 256 tokens. Nothing is read before the first [`embed`](Embedder::embed),
/// which loads the model for all threads; a failed load is tried again by the next call. One
/// text keeps one core busy, several spread over all cores, and all callers together never use
/// more. A text's vector depends on the text alone.
pub struct LocalModel {
    model: ModelId,
    source: Source,
    loaded: Mutex<Option<Arc<Loaded>>>,
    cores: Cores,
}

enum Source {
    Bundled,
    Folder { graph: PathBuf, tokenizer: PathBuf, digest: String },
}

struct Loaded {
    tokenizer: WordPieces,
    network: Network,
}

impl LocalModel {
    /// The model inside the binary. Costs nothing until it is used.
    pub fn bundled() -> Self {
        let name = format!("all-minilm-l6-v2-int8:{BUNDLED_DIGEST}:{TOKENS_MAX}");
        LocalModel::new(ModelId::new(name), Source::Bundled)
    }

    /// The model in a folder: `model.onnx` or, if there is none, `model_int8.onnx` (inputs
    /// `input_ids`, `attention_mask` and perhaps `token_type_ids`; output `sentence_embedding`,
    /// or `last_hidden_state` to be averaged), and `tokenizer.json` (BERT WordPiece).
    ///
    /// Reads both files once for the fingerprint, about 0.1 s for 25 MB, and drops them again.
    ///
    /// # Errors
    /// `unavailable` naming the file that cannot be read.
    pub fn from_folder(folder: &Path) -> Result<Self> {
        let graph = GRAPH_FILES.iter().map(|name| folder.join(name)).find(|path| path.exists());
        let Some(graph) = graph else {
            return Err(unusable(&folder.join(GRAPH_FILES[0]), "does not exist"));
        };
        let tokenizer = folder.join(TOKENIZER_FILE);
        let digest = digest(&read(&graph)?, &read(&tokenizer)?);
        let model = ModelId::new(format!("onnx:{digest}:{TOKENS_MAX}"));
        Ok(LocalModel::new(model, Source::Folder { graph, tokenizer, digest }))
    }

    fn new(model: ModelId, source: Source) -> Self {
        LocalModel { model, source, loaded: Mutex::new(None), cores: Cores::available() }
    }

    /// Loads the model, embeds a fixed text, verifies the vector and returns the number of its
    /// components.
    ///
    /// # Errors
    /// `unavailable` as for [`embed`](Embedder::embed), or if the vector is not what the model
    /// should give.
    pub fn check(&self) -> Result<usize> {
        let vectors = self.embed(&[CHECK_TEXT])?;
        let vector = vectors.first().ok_or_else(|| self.failed("it gave no vector"))?;
        let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
        if (length - 1.0).abs() > 1e-3 {
            return Err(self.failed(format!("its vector has the length {length}, not 1")));
        }
        if matches!(self.source, Source::Bundled) && vector.len() != BUNDLED_DIMENSION {
            let problem = format!("its vector has {} components, not {BUNDLED_DIMENSION}", vector.len());
            return Err(self.failed(problem));
        }
        Ok(vector.len())
    }

    /// The loaded model. Callers that come while it loads wait for it.
    fn loaded(&self) -> Result<Arc<Loaded>> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(loaded) = loaded.as_ref() {
            return Ok(Arc::clone(loaded));
        }
        let fresh = Arc::new(self.load()?);
        *loaded = Some(Arc::clone(&fresh));
        Ok(fresh)
    }

    fn load(&self) -> Result<Loaded> {
        match &self.source {
            Source::Bundled => {
                let tokenizer = WordPieces::from_json(BUNDLED_TOKENIZER);
                let tokenizer = tokenizer.map_err(|problem| self.failed(format!("its tokenizer {problem}")))?;
                let network = Network::load(GraphBytes::Static(BUNDLED_GRAPH));
                Ok(Loaded { tokenizer, network: network.map_err(|problem| self.failed(problem))? })
            }
            Source::Folder { graph, tokenizer, digest: expected } => {
                let (graph_bytes, tokenizer_bytes) = (read(graph)?, read(tokenizer)?);
                if digest(&graph_bytes, &tokenizer_bytes) != *expected {
                    let path = graph.display();
                    let problem = "or the tokenizer beside it changed since loci started; start loci again";
                    return Err(Error::unavailable(format!("the model file {path} {problem}")));
                }
                let tokens = WordPieces::from_json(&tokenizer_bytes);
                let tokenizer = tokens.map_err(|problem| unusable(tokenizer, problem))?;
                let network = Network::load(GraphBytes::Read(graph_bytes));
                let network = network.map_err(|problem| unusable(graph, format!("is damaged: {problem}")))?;
                Ok(Loaded { tokenizer, network })
            }
        }
    }

    fn embed_one(&self, loaded: &Loaded, text: &str) -> Result<Vec<f32>> {
        let core = self.cores.take();
        let ids = loaded.tokenizer.encode(text).map_err(|problem| self.failed(problem))?;
        loaded.network.run(&ids, &core).map_err(|problem| self.failed(problem))
    }

    fn failed(&self, problem: impl std::fmt::Display) -> Error {
        match &self.source {
            Source::Bundled => Error::unavailable(format!(
                "the model inside this binary cannot be used: {problem}; install loci again, or choose another model with the setting `embedding.provider`"
            )),
            Source::Folder { graph, .. } => unusable(graph, format!("cannot be used: {problem}")),
        }
    }
}

impl Embedder for LocalModel {
    fn model(&self) -> &ModelId {
        &self.model
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let loaded = self.loaded()?;
        if let [text] = texts {
            return Ok(vec![self.embed_one(&loaded, text)?]);
        }
        spread(texts.len(), self.cores.limit(), |index| self.embed_one(&loaded, texts[index]))
    }
}

/// Results of `work` for `0..count`, in order, computed by at most `threads` threads; the first
/// failure ends the rest.
fn spread<T: Send>(count: usize, threads: usize, work: impl Fn(usize) -> Result<T> + Sync) -> Result<Vec<T>> {
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                return Ok(done);
            }
            match work(index) {
                Ok(value) => done.push((index, value)),
                Err(error) => {
                    next.store(count, Ordering::Relaxed);
                    return Err(error);
                }
            }
        }
    };
    let parts = std::thread::scope(|scope| {
        // A thread that the system does not grant is no loss: the caller's own does the work.
        let spawned =
            (1..threads.min(count)).filter_map(|_| std::thread::Builder::new().spawn_scoped(scope, worker).ok());
        let helpers: Vec<_> = spawned.collect();
        let mut parts = vec![worker()];
        for helper in helpers {
            let part = helper.join();
            parts.push(part.unwrap_or_else(|_| Err(Error::internal("a thread that embeds texts panicked"))));
        }
        parts.into_iter().collect::<Result<Vec<_>>>()
    })?;
    let mut results: Vec<_> = parts.into_iter().flatten().collect();
    results.sort_unstable_by_key(|(index, _)| *index);
    Ok(results.into_iter().map(|(_, value)| value).collect())
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|error| unusable(path, format!("cannot be read: {error}")))
}

fn unusable(path: &Path, problem: impl std::fmt::Display) -> Error {
    Error::unavailable(format!(
        "the model file {} {problem}; put a whole copy there, or choose another with the setting `embedding.model_folder` (or the bundled one with `embedding.provider`)",
        path.display()
    ))
}

/// The first 8 bytes of the SHA-256 of both files, in hexadecimal digits.
fn digest(graph: &[u8], tokenizer: &[u8]) -> String {
    let hash = Sha256::new().chain_update(graph).chain_update(tokenizer).finalize();
    hash.iter().take(8).fold(String::new(), |digits, byte| digits + &format!("{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_written_digest_is_that_of_the_bundled_files() {
        assert_eq!(digest(BUNDLED_GRAPH, BUNDLED_TOKENIZER), BUNDLED_DIGEST);
        assert!(LocalModel::bundled().model().as_str().ends_with(":256"));
    }

    #[test]
    fn spread_keeps_the_order_and_stops_at_a_failure() {
        for (count, threads) in [(0, 4), (1, 4), (7, 1), (100, 8)] {
            let doubled = spread(count, threads, |index| Ok(index * 2)).unwrap();
            assert_eq!(doubled, (0..count).map(|index| index * 2).collect::<Vec<_>>());
        }
        let failed = spread(100, 4, |index| if index == 40 { Err(Error::unavailable("40")) } else { Ok(index) });
        assert_eq!(failed.unwrap_err().message, "40");
    }
}

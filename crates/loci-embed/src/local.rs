//! A model that runs in this process.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use loci_core::{Embedder, Error, ModelId, Result};
use sha2::{Digest, Sha256};

use crate::cores::{Core, Cores};
use crate::network::Network;
use crate::runtime::Runtime;
use crate::spread::spread;
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

/// How the fingerprints of models in folders begin.
const FOLDER_PREFIX: &str = "onnx:";

/// A text for [`LocalModel::check`].
const CHECK_TEXT: &str = "The model answers.";

/// A BERT-like sentence encoder in ONNX form, run in this process: the all-MiniLM-L6-v2 of the
/// binary (384 components) or one in a folder.
///
/// Texts are cut at 256 tokens. Nothing is read before the first [`embed`](Embedder::embed),
/// which loads the model for all threads; a failed load is tried again by the next call. One
/// text keeps one core busy, several spread over all cores, the longest first, and all callers
/// together never use more. A text's vector depends on the text alone.
pub struct LocalModel {
    model: ModelId,
    source: Source,
    runtime: Runtime,
    loaded: Mutex<Option<Arc<Loaded>>>,
    cores: Cores,
}

enum Source {
    Bundled,
    Folder { graph: PathBuf, tokenizer: PathBuf, digest: String },
}

struct Loaded {
    tokenizer: WordPieces,
    network: Box<dyn Network>,
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
        let model = ModelId::new(format!("{FOLDER_PREFIX}{digest}:{TOKENS_MAX}"));
        Ok(LocalModel::new(model, Source::Folder { graph, tokenizer, digest }))
    }

    /// Whether a model with this fingerprint may lie in a folder.
    pub fn is_of_a_folder(model: &ModelId) -> bool {
        model.as_str().starts_with(FOLDER_PREFIX)
    }

    fn new(model: ModelId, source: Source) -> Self {
        let (runtime, cores) = (Runtime::BuiltIn, Cores::available());
        LocalModel { model, source, runtime, loaded: Mutex::new(None), cores }
    }

    /// The same files, run by an onnxruntime (1.17 or newer) that the user installed: `library`,
    /// else the one that `ORT_DYLIB_PATH` names, else the one that the system's loader finds. It is
    /// opened at the first use, with its telemetry off; that use fails with `unavailable` where there
    /// is none. A process can open one library only.
    ///
    /// The fingerprint ends with `:ort`, since the vectors are not the same to the bit. Every core
    /// in use holds a copy of the model.
    #[cfg(feature = "ort")]
    #[must_use]
    pub fn on_onnxruntime(self, library: Option<PathBuf>) -> Self {
        let model = ModelId::new(format!("{}:ort", self.model));
        LocalModel { model, runtime: Runtime::Onnxruntime { library }, loaded: Mutex::new(None), ..self }
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
        #[cfg(feature = "ort")]
        self.runtime.start()?;
        let network = |graph| self.runtime.load(graph, self.cores.limit());
        match &self.source {
            Source::Bundled => {
                let tokenizer = WordPieces::from_json(BUNDLED_TOKENIZER);
                let tokenizer = tokenizer.map_err(|problem| self.failed(format!("its tokenizer {problem}")))?;
                let network = network(Cow::Borrowed(BUNDLED_GRAPH)).map_err(|problem| self.failed(problem))?;
                Ok(Loaded { tokenizer, network })
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
                let network = network(Cow::Owned(graph_bytes));
                let network = network.map_err(|problem| unusable(graph, format!("is damaged: {problem}")))?;
                Ok(Loaded { tokenizer, network })
            }
        }
    }

    fn tokens(&self, loaded: &Loaded, text: &str) -> Result<Vec<i32>> {
        loaded.tokenizer.encode(text).map_err(|problem| self.failed(problem))
    }

    fn vector(&self, loaded: &Loaded, tokens: &[i32], core: &Core<'_>) -> Result<Vec<f32>> {
        loaded.network.run(tokens, core).map_err(|problem| self.failed(problem))
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
            let core = self.cores.take();
            let tokens = self.tokens(&loaded, text)?;
            return Ok(vec![self.vector(&loaded, &tokens, &core)?]);
        }
        // A core is taken for one text at a time, so that a query waits for no more than that.
        let limit = self.cores.limit();
        let in_order: Vec<usize> = (0..texts.len()).collect();
        let tokens = spread(&in_order, limit, |index| {
            let _core = self.cores.take();
            self.tokens(&loaded, texts[index])
        })?;
        spread(&longest_first(&tokens), limit, |index| self.vector(&loaded, &tokens[index], &self.cores.take()))
    }
}

/// An order in which no core idles for long at the end, since what is left for then is short
/// (Graham, "Bounds on multiprocessing timing anomalies", 1969).
fn longest_first(texts: &[Vec<i32>]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..texts.len()).collect();
    order.sort_by_key(|&index| Reverse(texts[index].len()));
    order
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
    fn texts_with_more_tokens_are_begun_earlier() {
        let texts: Vec<Vec<i32>> = [3, 256, 2, 9, 256].map(|tokens| vec![0; tokens]).into();
        assert_eq!(longest_first(&texts), [1, 4, 3, 0, 2]);
        assert!(longest_first(&[]).is_empty());
    }
}

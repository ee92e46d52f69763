//! The models and external services that the settings choose.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use loci_core::{CosineScale, Embedder, Error, ModelId, Result};
use loci_embed::{CachedEmbedder, LocalModel, NoModel};
use loci_engine::SearchMode;
use loci_http::{
    ChatModel, ChatModelOptions, HttpModel, HttpModelOptions, TavilySearch, TavilySearchOptions,
};

use crate::exit::Failure;
use crate::query_prefetch::QueryPrefetch;
use crate::settings::{EmbeddingChoice, LanguageModel, Runtime, Settings};

/// Returns the model that the settings choose. Loads nothing.
///
/// # Errors
/// [`Exit::Usage`](crate::exit::Exit::Usage) if the endpoint is invalid.
pub fn embedder(choice: &EmbeddingChoice) -> Result<Arc<dyn Embedder>, Failure> {
    Ok(match choice {
        EmbeddingChoice::Bundled(runtime) => Arc::new(on(*runtime, LocalModel::bundled())),
        EmbeddingChoice::Installed(model, folder, runtime) => {
            Arc::new(on(*runtime, LocalModel::of_catalogue(model, folder)))
        }
        EmbeddingChoice::Folder(folder, runtime) => Arc::new(FolderModel {
            folder: folder.clone(),
            runtime: *runtime,
            opened: OnceLock::new(),
            unusable: ModelId::new("unusable"),
        }),
        EmbeddingChoice::Http {
            url,
            model,
            api_key,
            timeout,
        } => Arc::new(http_model(url, model, api_key.clone(), *timeout)?),
        EmbeddingChoice::NoModel => Arc::new(NoModel::new()),
    })
}

/// Returns the search mode for the prompts of hooks. The user waits for the answer, and the floor of
/// relevance is for the bundled model, so that no other model is loaded or asked.
pub(crate) fn search_of_prompts(settings: &Settings) -> SearchMode {
    match settings.embedding {
        EmbeddingChoice::Bundled(_) => settings.search,
        _ => SearchMode::Words,
    }
}

/// Starts to embed the prompt of a hook, the only text that its process embeds; returns the model
/// for it. `None` if it is searched for only by words.
pub(crate) fn embedder_of_prompt(settings: &Settings, prompt: &str) -> Option<Arc<dyn Embedder>> {
    match settings.embedding {
        EmbeddingChoice::Bundled(runtime) if settings.search != SearchMode::Words => {
            let model = on(runtime, LocalModel::bundled().for_one_text());
            Some(Arc::new(QueryPrefetch::begin(Arc::new(model), prompt)))
        }
        _ => None,
    }
}

/// Caches the vectors of queries, if there is a model.
pub(crate) fn cached(choice: &EmbeddingChoice, embedder: Arc<dyn Embedder>) -> Arc<dyn Embedder> {
    match choice {
        EmbeddingChoice::NoModel => embedder,
        _ => Arc::new(CachedEmbedder::new(embedder)),
    }
}

fn on(runtime: Runtime, model: LocalModel) -> LocalModel {
    match runtime {
        Runtime::BuiltIn => model,
        #[cfg(feature = "ort")]
        Runtime::Onnxruntime => model.on_onnxruntime(None),
    }
}

/// Returns a model behind an endpoint. Does not connect.
///
/// # Errors
/// `invalid_argument` if the endpoint is invalid.
pub fn http_model(
    url: &str,
    model: &str,
    key: Option<String>,
    timeout: Duration,
) -> Result<HttpModel> {
    HttpModel::new(HttpModelOptions {
        key,
        timeout,
        ..HttpModelOptions::new(url, model)
    })
}

/// Makes the language model of the settings.
pub(crate) fn chat_model(model: &LanguageModel) -> Result<ChatModel> {
    let LanguageModel {
        url,
        model,
        api_key,
        timeout,
    } = model;
    ChatModel::new(ChatModelOptions {
        key: api_key.clone(),
        timeout: *timeout,
        ..ChatModelOptions::new(url, model)
    })
}

/// Makes the web search of the settings.
pub(crate) fn web_search(url: &str, key: &str) -> Result<TavilySearch> {
    TavilySearch::new(TavilySearchOptions {
        base_url: url.to_owned(),
        ..TavilySearchOptions::new(key)
    })
}

/// Embeds a text with the chosen model; returns its name, and the number of components of its
/// vectors.
///
/// # Errors
/// `unavailable` if it does not answer or its vectors are wrong; `invalid_argument` if the endpoint
/// is invalid.
pub fn probe(choice: &EmbeddingChoice) -> Result<(ModelId, usize)> {
    let local = |model: LocalModel| Ok((model.model().clone(), model.check()?));
    match choice {
        EmbeddingChoice::Bundled(runtime) => local(on(*runtime, LocalModel::bundled())),
        EmbeddingChoice::Installed(model, folder, runtime) => {
            local(on(*runtime, LocalModel::of_catalogue(model, folder)))
        }
        EmbeddingChoice::Folder(folder, runtime) => {
            local(on(*runtime, LocalModel::from_folder(folder)?))
        }
        EmbeddingChoice::Http {
            url,
            model,
            api_key,
            timeout,
        } => {
            let model = http_model(url, model, api_key.clone(), *timeout)?;
            Ok((model.model().clone(), model.probe()?))
        }
        EmbeddingChoice::NoModel => Err(Error::unavailable(
            "embeddings are switched off; set `embedding.provider`",
        )),
    }
}

/// A model in a folder whose files are first read when they are needed: reading them only for their
/// fingerprint takes longer than the rest of a start. While files are missing, everything but the
/// search by meaning works.
struct FolderModel {
    folder: PathBuf,
    runtime: Runtime,
    opened: OnceLock<LocalModel>,
    /// The fingerprint while the model cannot be opened.
    unusable: ModelId,
}

impl FolderModel {
    fn opened(&self) -> Result<&LocalModel> {
        if let Some(model) = self.opened.get() {
            return Ok(model);
        }
        let model = on(self.runtime, LocalModel::from_folder(&self.folder)?);
        Ok(self.opened.get_or_init(|| model))
    }
}

impl Embedder for FolderModel {
    fn model(&self) -> &ModelId {
        self.opened().map_or(&self.unusable, LocalModel::model)
    }

    fn cosine_scale(&self) -> CosineScale {
        self.opened()
            .map_or_else(|_| CosineScale::default(), LocalModel::cosine_scale)
    }

    fn knows(&self, language: &str) -> bool {
        self.opened().map_or(true, |model| model.knows(language))
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        self.opened()?.embed(texts)
    }

    fn embed_in_background(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        self.opened()?.embed_in_background(texts)
    }

    fn embed_query(&self, text: &str) -> Result<Vec<f32>> {
        self.opened()?.embed_query(text)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Counts the texts that it embeds.
    struct Counting(ModelId, AtomicUsize);

    impl Embedder for Counting {
        fn model(&self) -> &ModelId {
            &self.0
        }

        fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
            self.1.fetch_add(texts.len(), Ordering::SeqCst);
            Ok(vec![vec![1.0]; texts.len()])
        }
    }

    #[test]
    fn vectors_of_queries_are_remembered_where_there_is_a_model() {
        let bundled = EmbeddingChoice::Bundled(Runtime::BuiltIn);
        let folder = EmbeddingChoice::Folder("f".into(), Runtime::BuiltIn);
        for (choice, embedded) in [(bundled, 1), (folder, 1), (EmbeddingChoice::NoModel, 2)] {
            let counting = Arc::new(Counting(ModelId::new("m"), AtomicUsize::new(0)));
            let embedder = cached(&choice, Arc::<Counting>::clone(&counting));
            for _ in 0..2 {
                assert_eq!(embedder.embed_query("a"), Ok(vec![1.0]));
            }
            assert_eq!(counting.1.load(Ordering::SeqCst), embedded, "{choice:?}");
        }
    }

    #[cfg(feature = "ort")]
    #[test]
    fn the_runtime_is_a_part_of_the_models_name() {
        let named = |runtime| {
            embedder(&EmbeddingChoice::Bundled(runtime))
                .unwrap()
                .model()
                .as_str()
                .to_owned()
        };
        assert_eq!(
            named(Runtime::Onnxruntime),
            format!("{}:ort", named(Runtime::BuiltIn))
        );
    }

    #[test]
    fn a_model_folder_is_looked_at_again_while_it_holds_no_model() {
        let folder = tempfile::tempdir().unwrap();
        let embedder = embedder(&EmbeddingChoice::Folder(
            folder.path().to_owned(),
            Runtime::BuiltIn,
        ))
        .unwrap();
        assert_eq!(embedder.model().as_str(), "unusable");
        assert!(
            embedder
                .embed(&["a"])
                .unwrap_err()
                .message
                .contains("does not exist")
        );
        std::fs::write(folder.path().join("model.onnx"), "no graph").unwrap();
        std::fs::write(folder.path().join("tokenizer.json"), "{}").unwrap();
        assert!(
            embedder
                .embed(&["a"])
                .unwrap_err()
                .message
                .contains("tokenizer.json")
        );
        assert!(embedder.model().as_str().starts_with("onnx:"));
    }
}

//! The models that embed and that rank.

use std::time::Duration;

use crate::settings::value::{UNNAMED, Value};
use crate::settings::{DefaultValue, Setting, TypedSetting, ValueType};

settings! {
    MODELS_SETTINGS;

    /// The kind of embedding model.
    EMBEDDING_PROVIDER: String = {
        key: "embedding.provider", variable: "LOCI_EMBEDDING_PROVIDER",
        default: DefaultValue::Text("bundled"),
        form: ValueType::Choice(&["bundled", "multilingual-e5-small", "all-mpnet-base-v2", "folder", "http", "none"]),
        meaning: "Where the embedding model is: bundled (in the binary), multilingual-e5-small or all-mpnet-base-v2 (once `loci model install` has put it into the data folder), folder (`embedding.model_folder`), http (`embedding.url`) or none (search only by words). `loci model use` sets it",
    };
    /// The folder of a model on disk.
    EMBEDDING_MODEL_FOLDER: String = {
        key: "embedding.model_folder", variable: "LOCI_EMBEDDING_MODEL_FOLDER",
        meaning: "Folder with model.onnx and tokenizer.json, for the provider folder",
    };
    /// The runtime of a local model.
    EMBEDDING_RUNTIME: String = {
        key: "embedding.runtime", variable: "LOCI_EMBEDDING_RUNTIME",
        default: DefaultValue::Text("rten"),
        form: ValueType::Choice(&["rten", "onnxruntime"]),
        meaning: "What runs a model that is here, in the binary, installed or in a folder: rten (in the binary) or onnxruntime (1.17 or newer, installed; its library is the one that `ORT_DYLIB_PATH` names, else the one that the system's loader finds; needs a build with `--features ort`). After a change everything is embedded again",
    };
    /// The endpoint of an embedding model.
    EMBEDDING_URL: String = {
        key: "embedding.url", variable: "LOCI_EMBEDDING_URL",
        meaning: "Base URL of an OpenAI-compatible endpoint, such as http://localhost:11434/v1, for the provider http",
    };
    /// The name of the model at that endpoint.
    EMBEDDING_MODEL: String = {
        key: "embedding.model", variable: "LOCI_EMBEDDING_MODEL",
        meaning: "Name of the model at that endpoint",
    };
    /// The API key for that endpoint.
    EMBEDDING_API_KEY: String = {
        key: "embedding.api_key", variable: "LOCI_EMBEDDING_API_KEY",
        form: ValueType::Secret,
        meaning: "Key for that endpoint, sent as a bearer token; never shown",
    };
    /// The timeout of that endpoint.
    EMBEDDING_TIMEOUT_SECONDS: Duration = {
        key: "embedding.timeout_seconds", variable: "LOCI_EMBEDDING_TIMEOUT_SECONDS",
        default: DefaultValue::Text("10"),
        form: ValueType::Seconds,
        meaning: "Seconds that one request to that endpoint may take",
    };
    /// The place of the archives of models.
    MODELS_URL: String = {
        key: "models_url", variable: "LOCI_MODELS_URL",
        meaning: "URL of the folder with the archives of models, loci-model-NAME.zip, from which `loci model install` takes one that no package brought, after a question; without it, the release of this version",
    };
    /// The kind of reranker.
    RERANK_PROVIDER: String = {
        key: "rerank.provider", variable: "LOCI_RERANK_PROVIDER",
        default: DefaultValue::Text("none"),
        form: ValueType::Choice(&["none", "folder"]),
        meaning: "Whether a model orders the 30 best candidates of a search, by reading each together with the question: none, or folder (a cross-encoder that you bring, in `rerank.model_folder`). It makes a search many times slower",
    };
    /// The folder of a cross-encoder on disk.
    RERANK_MODEL_FOLDER: String = {
        key: "rerank.model_folder", variable: "LOCI_RERANK_MODEL_FOLDER",
        meaning: "Folder with model.onnx (output logits) and tokenizer.json of a cross-encoder, for the provider folder",
    };
}

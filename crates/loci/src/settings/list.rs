//! The settings themselves. Help texts, `loci config` and the reference page are made from them.

use std::net::SocketAddr;
use std::time::Duration;

use loci_core::limits::{BUFFERED_MAX, LIST_RESULTS_MAX, REPLY_TOKENS_MAX, TTL_DAYS_MAX};

use loci_engine::Policy;

use super::value::{UNNAMED, Value};
use super::{DAY_SECONDS, DefaultValue, HOUR_SECONDS, Setting, TypedSetting, ValueType};

/// The hours of the longest time to live.
const HOURS_MAX: u64 = 24 * TTL_DAYS_MAX;
/// The longest timeout of a request to a language model, in seconds: three tries fit into the lease
/// of a job.
const LLM_SECONDS_MAX: u64 = 90;
/// The largest weight. It restricts no one, since only the ratio of weights counts.
const WEIGHT_MAX: f64 = 1_000.0;

macro_rules! settings {
    ($($(#[doc = $doc:literal])+ $name:ident: $type:ty = { $($field:ident: $value:expr,)+ };)+) => {
        $(
            $(#[doc = $doc])+
            pub const $name: TypedSetting<$type> = TypedSetting::of(Setting {
                $($field: $value,)+
                check: |form, text| <$type>::parse(form, text).map(drop),
                ..UNNAMED
            });
        )+
        /// Every setting, in the order of the documentation.
        pub static SETTINGS: &[Setting] = &[$($name.setting),+];
    };
}

settings! {
    /// The data folder.
    DATA: String = {
        key: "data", flag: Some("data"), variable: "LOCI_DATA",
        default: DefaultValue::Words("the platform's data folder"),
        meaning: "Folder that holds the memories",
    };
    /// Where the store is.
    STORE: String = {
        key: "store", flag: Some("store"), variable: "LOCI_STORE",
        default: DefaultValue::Words("the data folder"),
        meaning: "Folder that holds the database, if it is not the data folder: a faster disk, say; or the database of a PostgreSQL server, postgres://USER@HOST/DATABASE, which several machines may share",
    };
    /// The schema of a store on a server.
    STORE_SCHEMA: String = {
        key: "store_schema", variable: "LOCI_STORE_SCHEMA",
        default: DefaultValue::Text("loci"),
        meaning: "Schema that holds the tables of a store on a server; each schema is a store of its own",
    };
    /// The password of the role of a store on a server.
    STORE_PASSWORD: String = {
        key: "store_password", variable: "LOCI_STORE_PASSWORD",
        alias: Some("PGPASSWORD"), form: ValueType::Secret,
        meaning: "Password for a store on a server, in place of that in the URL; never shown",
    };
    /// The file with that password.
    STORE_PASSWORD_FILE: String = {
        key: "store_password_file", variable: "LOCI_STORE_PASSWORD_FILE",
        meaning: "File whose first line is that password",
    };
    /// The key file of an encrypted store.
    ENCRYPTION_KEY_FILE: String = { key: "encryption.key_file", variable: "LOCI_ENCRYPTION_KEY_FILE", meaning: "File that opens an encrypted store (`loci encrypt --key-file`)", };
    /// The passphrase of an encrypted store.
    ENCRYPTION_PASSPHRASE: String = { key: "encryption.passphrase", variable: "LOCI_ENCRYPTION_PASSPHRASE", alias: Some("LOCI_PASSPHRASE"), form: ValueType::Secret, meaning: "Passphrase of an encrypted store; never shown", };
    /// The file with that passphrase.
    ENCRYPTION_PASSPHRASE_FILE: String = { key: "encryption.passphrase_file", variable: "LOCI_ENCRYPTION_PASSPHRASE_FILE", meaning: "File whose first line is that passphrase", };
    /// The recovery key of an encrypted store.
    ENCRYPTION_RECOVERY_KEY: String = { key: "encryption.recovery_key", variable: "LOCI_ENCRYPTION_RECOVERY_KEY", alias: Some("LOCI_RECOVERY_KEY"), form: ValueType::Secret, meaning: "Recovery key of an encrypted store, for a command when no other way to it is left; never shown", };
    /// The most connections to a store on a server.
    STORE_CONNECTIONS: u64 = {
        key: "store_connections", variable: "LOCI_STORE_CONNECTIONS",
        default: DefaultValue::Whole(16), form: ValueType::Whole { min: 2, max: 1_000 },
        meaning: "The most connections that a process makes to a store on a server",
    };
    /// The time that a commit of a store on a server may take.
    STORE_COMMIT_SECONDS: u64 = {
        key: "store_commit_seconds", variable: "LOCI_STORE_COMMIT_SECONDS",
        default: DefaultValue::Whole(20), form: ValueType::Whole { min: 1, max: 3_600 },
        meaning: "Seconds that a write waits for a store on a server to confirm it, e.g. until its synchronous standby has it; then its outcome is not known, and the writer is told so",
    };
    /// The memory for indexes of a store on a server.
    STORE_INDEX_MEGABYTES: u64 = {
        key: "store_index_megabytes", variable: "LOCI_STORE_INDEX_MEGABYTES",
        default: DefaultValue::Whole(1_024), form: ValueType::Whole { min: 1, max: 1_000_000 },
        meaning: "Megabytes of memory that a process uses for the indexes of a store on a server; beyond it, the indexes of the spaces that were not searched for longest are evicted",
    };
    /// Whether the tables of a store on a server are created and upgraded.
    STORE_MIGRATE: String = {
        key: "store_migrate", variable: "LOCI_STORE_MIGRATE",
        default: DefaultValue::Text("auto"), form: ValueType::Choice(&["auto", "never"]),
        meaning: "Whether loci creates and upgrades the tables of a store on a server (auto), or refuses to work with older ones (never)",
    };
    /// Whether the server keeps the spaces of a store apart.
    STORE_ROW_SECURITY: bool = {
        key: "store_row_security", variable: "LOCI_STORE_ROW_SECURITY",
        default: DefaultValue::Text("false"), form: ValueType::Boolean,
        meaning: "Whether loci turns row security on in the tables of a store on a server, which then keeps the spaces apart as well; it stays on when this is `false` again",
    };
    /// The distribution of the tables of a store on a server.
    STORE_CITUS: String = {
        key: "store_citus", variable: "LOCI_STORE_CITUS",
        default: DefaultValue::Text("auto"), form: ValueType::Choice(&["auto", "coordinator", "off"]),
        meaning: "Whether loci distributes new tables of a store on a server over the nodes of a cluster where the database has the extension Citus, and connects to the worker of a space by itself (auto) or passes all through the coordinator (coordinator), or makes plain tables (off)",
    };
    /// The folder of notes.
    VAULT: String = {
        key: "vault", flag: Some("vault"), variable: "LOCI_VAULT",
        default: DefaultValue::Words("`vault` in the data folder"),
        meaning: "Folder of Markdown notes, for people to open in an editor and to sync",
    };
    /// The permissions of new notes.
    VAULT_FILE_MODE: String = {
        key: "vault_file_mode", variable: "LOCI_VAULT_FILE_MODE",
        default: DefaultValue::Text("600"), form: ValueType::Choice(&["600", "640", "660", "644", "664"]),
        meaning: "Permissions of new files among the notes, and of new folders with them: 600 (only yours), 640 or 660 (your group reads, or writes, too), 644 or 664 (every user reads); a file that is there keeps its own",
    };
    /// The log level.
    LOG: String = {
        key: "log", flag: Some("log"), variable: "LOCI_LOG",
        default: DefaultValue::Words("info for `serve`, else warn"),
        form: ValueType::Choice(&["error", "warn", "info", "debug", "trace"]),
        meaning: "How much to log to stderr: error, warn, info, debug or trace",
    };
    /// The form of the log.
    LOG_FORMAT: String = {
        key: "log_format",
        flag: Some("log-format"),
        variable: "LOCI_LOG_FORMAT",
        default: DefaultValue::Text("text"), form: ValueType::Choice(&["text", "json"]),
        meaning: "How to log to stderr: as text, or as a JSON object on each line",
    };
    /// The search mode.
    SEARCH: String = {
        key: "search",
        flag: Some("search"),
        variable: "LOCI_SEARCH",
        default: DefaultValue::Text("hybrid"), form: ValueType::Choice(&["hybrid", "vector", "words"]),
        meaning: "How to search: hybrid (words and meaning), vector (only meaning) or words",
    };
    /// The texts in which secrets are redacted.
    REDACT_SECRETS: String = {
        key: "redact_secrets", variable: "LOCI_REDACT_SECRETS",
        default: DefaultValue::Text("mined"), form: ValueType::Choice(&["mined", "all", "none"]),
        meaning: "Texts that keys, tokens and passwords are taken out of before they are stored: mined (files and transcripts), all (what tools write as well) or none",
    };
    /// The address of the HTTP server.
    BIND: SocketAddr = {
        key: "bind",
        flag: Some("bind"),
        variable: "LOCI_BIND",
        default: DefaultValue::Text("127.0.0.1:7821"),
        meaning: "Address and port of the HTTP server; port 0 takes a free one",
    };
    /// The origins of web pages that may call.
    ALLOWED_ORIGINS: Vec<String> = {
        key: "allowed_origins", variable: "LOCI_ALLOWED_ORIGINS",
        default: DefaultValue::Text(""), form: ValueType::List,
        meaning: "Origins of web pages that may call the HTTP server besides the origins of this machine, such as https://name:port; one without a port stands for every port",
    };
    /// The names of this server.
    ALLOWED_HOSTS: Vec<String> = {
        key: "allowed_hosts", variable: "LOCI_ALLOWED_HOSTS",
        default: DefaultValue::Text(""), form: ValueType::List,
        meaning: "Names under which the HTTP server is reached besides localhost, such as memory.example.org; with a port, if that is not the one of this server or of its scheme",
    };
    /// Whether hosts get views of the conversation.
    CONVERSATION_VIEWS: bool = {
        key: "conversation_views", variable: "LOCI_CONVERSATION_VIEWS",
        default: DefaultValue::Text("true"), form: ValueType::Boolean,
        meaning: "Whether a host that shows views beside the replies of tools (MCP Apps) gets them",
    };
    /// True if clients may ask their person questions.
    QUESTIONS: bool = {
        key: "questions", variable: "LOCI_QUESTIONS",
        default: DefaultValue::Text("true"), form: ValueType::Boolean,
        meaning: "Whether a client that shows questions to its person (elicitation) is asked what only the person should decide: a sure contradiction, a deletion for good, a name or an author that is new",
    };
    /// The time for an answer.
    QUESTION_SECONDS: u64 = {
        key: "question_seconds", variable: "LOCI_QUESTION_SECONDS",
        default: DefaultValue::Text("50"), form: ValueType::Whole { min: 5, max: 300 },
        meaning: "Seconds that a call waits for the answer of the person; then it ends as if the client showed no questions",
    };
    /// The URL of this server for clients.
    PUBLIC_URL: String = {
        key: "public_url",
        flag: Some("public-url"),
        variable: "LOCI_PUBLIC_URL",
        meaning: "URL under which clients reach the HTTP server through a proxy, such as https://memory.example.org; its host and origin are served, and clients are told to get tokens for it",
    };
    /// The address of the figures for monitoring.
    METRICS_BIND: SocketAddr = {
        key: "metrics_bind", variable: "LOCI_METRICS_BIND",
        meaning: "Address on which `loci serve` tells Prometheus its figures, at /metrics and to everybody who reaches it, such as 127.0.0.1:9464; unset: nowhere",
    };
    /// The collector of traces.
    OTLP_ENDPOINT: String = {
        key: "otlp_endpoint", variable: "LOCI_OTLP_ENDPOINT",
        meaning: "URL of a collector to which `loci serve` and `loci mcp` send traces of calls over OTLP (HTTP, protobuf), without /v1/traces, such as http://127.0.0.1:4318; unset: nowhere, whatever OTEL_EXPORTER_OTLP_ENDPOINT says",
    };
    /// The proxies whose forwarding headers are trusted.
    TRUSTED_PROXIES: Vec<String> = {
        key: "trusted_proxies", variable: "LOCI_TRUSTED_PROXIES",
        default: DefaultValue::Text(""), form: ValueType::List,
        meaning: "Addresses or networks (10.0.0.0/8) of proxies whose X-Forwarded-For, -Proto and -Host headers count; from anybody else they are ignored",
    };
    /// The authors whose directives every reader takes.
    TRUSTED_AUTHORS: Vec<String> = {
        key: "trusted_authors", variable: "LOCI_TRUSTED_AUTHORS",
        default: DefaultValue::Text(""), form: ValueType::List,
        meaning: "Subjects whose memories for session starts every reader takes as directives, besides its own and the administrators'; `anonymous` for callers without a token; `loci trust` does it for one reader",
    };
    /// The certificate of the HTTP server.
    TLS_CERTIFICATE: String = {
        key: "tls.certificate",
        flag: Some("tls-cert"),
        variable: "LOCI_TLS_CERTIFICATE",
        meaning: "PEM file with the certificate of the HTTP server and its chain; with it, the server speaks HTTPS. Read again when it changes",
    };
    /// The private key of the certificate.
    TLS_KEY: String = {
        key: "tls.key",
        flag: Some("tls-key"),
        variable: "LOCI_TLS_KEY",
        meaning: "PEM file with the private key of that certificate",
    };
    /// The rate limit of one subject.
    RATE_LIMIT_PER_MINUTE: u64 = {
        key: "rate_limit.per_minute", variable: "LOCI_RATE_LIMIT_PER_MINUTE",
        default: DefaultValue::Text("12000"), form: ValueType::Whole { min: 0, max: 60_000_000 },
        meaning: "Requests that one subject may make each minute over HTTP, in the long run; 0 for no limit",
    };
    /// The burst of one subject.
    RATE_LIMIT_BURST: u64 = {
        key: "rate_limit.burst", variable: "LOCI_RATE_LIMIT_BURST",
        default: DefaultValue::Text("2000"), form: ValueType::Whole { min: 1, max: 1_000_000 },
        meaning: "Requests that one subject may make at once, if it made few before",
    };
    /// The issuer of tokens besides loci itself.
    OIDC_ISSUER: String = {
        key: "oidc.issuer", variable: "LOCI_OIDC_ISSUER",
        meaning: "Issuer URL of an OpenID provider whose access tokens are accepted besides the tokens of `loci token`, exactly as the provider writes it",
    };
    /// The accepted audiences of tokens.
    OIDC_AUDIENCE: Vec<String> = {
        key: "oidc.audience", variable: "LOCI_OIDC_AUDIENCE",
        default: DefaultValue::Text(""), form: ValueType::List,
        meaning: "Audiences (`aud`) of which a token must have one; if none is given, it must have the URL of this server or of the endpoint that is called. `any` accepts tokens that were issued for other services too",
    };
    /// The claim with the subject.
    OIDC_SUBJECT_CLAIM: String = {
        key: "oidc.subject_claim", variable: "LOCI_OIDC_SUBJECT_CLAIM",
        default: DefaultValue::Text("sub"),
        meaning: "Claim with the name under which the bearer owns records; dots lead into objects",
    };
    /// The claims with a name for people.
    OIDC_ACTOR_CLAIMS: Vec<String> = {
        key: "oidc.actor_claims", variable: "LOCI_OIDC_ACTOR_CLAIMS",
        default: DefaultValue::Text("email,preferred_username"), form: ValueType::List,
        meaning: "Claims with a name for people, of which the first that a token has is shown as the actor; else the subject",
    };
    /// The claim with the scopes.
    OIDC_SCOPE_CLAIM: String = {
        key: "oidc.scope_claim", variable: "LOCI_OIDC_SCOPE_CLAIM",
        default: DefaultValue::Words("scope, else scp"),
        meaning: "Claim with the scopes, a string with spaces or an array",
    };
    /// The prefix of scopes in tokens.
    OIDC_SCOPE_PREFIX: String = {
        key: "oidc.scope_prefix", variable: "LOCI_OIDC_SCOPE_PREFIX",
        default: DefaultValue::Text("memory:"),
        meaning: "What stands before `read`, `write` and `admin` in the scopes of a token",
    };
    /// The scopes of a token without the claim.
    OIDC_DEFAULT_SCOPES: Vec<String> = {
        key: "oidc.default_scopes", variable: "LOCI_OIDC_DEFAULT_SCOPES",
        default: DefaultValue::Text("read,write"),
        form: ValueType::List,
        meaning: "Scopes of a token that has no such claim: read, write, admin; a token that has the claim has only the scopes that it names",
    };
    /// The claim with the space of a token.
    OIDC_SPACE_CLAIM: String = {
        key: "oidc.space_claim", variable: "LOCI_OIDC_SPACE_CLAIM",
        meaning: "Claim with the space that a token opens, which each must have then; without this setting all open `main`",
    };
    /// The client by which people sign in.
    OIDC_CLIENT_ID: String = {
        key: "oidc.client_id", variable: "LOCI_OIDC_CLIENT_ID",
        meaning: "Client at that provider by which people sign in on the page; its redirect URI there is the URL of this server with `/signed-in`",
    };
    /// The secret of that client.
    OIDC_CLIENT_SECRET: String = {
        key: "oidc.client_secret", variable: "LOCI_OIDC_CLIENT_SECRET",
        form: ValueType::Secret,
        meaning: "Secret of that client, if the provider gave it one; never shown",
    };
    /// The scopes that people ask for.
    OIDC_CLIENT_SCOPES: Vec<String> = {
        key: "oidc.client_scopes", variable: "LOCI_OIDC_CLIENT_SCOPES",
        default: DefaultValue::Words("openid, and read and write with oidc.scope_prefix unless oidc.scope_claim is set"),
        form: ValueType::List,
        meaning: "Scopes to ask for when a person signs in on the page; `memory:admin` for administrators, `offline_access` where the provider renews tokens only for that",
    };
    /// The accepted types of tokens.
    OIDC_TOKEN_TYPES: Vec<String> = {
        key: "oidc.token_types", variable: "LOCI_OIDC_TOKEN_TYPES",
        default: DefaultValue::Text("at+jwt,JWT"),
        form: ValueType::List,
        meaning: "Types (`typ` in the header) of tokens that are accepted; one without a type counts as JWT",
    };
    /// The interval between fetches of the provider's keys.
    OIDC_REFRESH_SECONDS: Duration = {
        key: "oidc.refresh_seconds", variable: "LOCI_OIDC_REFRESH_SECONDS",
        default: DefaultValue::Text("600"),
        form: ValueType::Seconds,
        meaning: "Seconds after which the provider's keys are fetched again; an unknown key is looked for at once, though not more than once a minute",
    };
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
    /// The retention of messages.
    MESSAGE_TTL_HOURS: u64 = {
        key: "conversation.message_ttl_hours", variable: "LOCI_CONVERSATION_MESSAGE_TTL_HOURS",
        alias: Some("STM_TTL_HOURS"),
        default: DefaultValue::Whole(Policy::DEFAULT.message_ttl_seconds / HOUR_SECONDS),
        form: ValueType::Whole { min: 1, max: HOURS_MAX },
        meaning: "Hours that a message of a conversation is kept (its short-term memory)",
    };
    /// The limit for the results of one search.
    RESULTS_MAX: u64 = {
        key: "conversation.results_max", variable: "LOCI_CONVERSATION_RESULTS_MAX",
        alias: Some("MAX_RESULTS_PER_QUERY"),
        default: DefaultValue::Whole(Policy::DEFAULT.results_max as u64),
        form: ValueType::Whole { min: 1, max: LIST_RESULTS_MAX as u64 },
        meaning: "Results of one search by the memory-mcp tools; a larger limit clamps to it",
    };
    /// The token budget of a reply.
    REPLY_TOKENS: u64 = {
        key: "reply_tokens", variable: "LOCI_REPLY_TOKENS",
        default: DefaultValue::Whole(Policy::DEFAULT.reply_tokens as u64),
        form: ValueType::Whole { min: 1_000, max: REPLY_TOKENS_MAX as u64 },
        meaning: "Tokens of a reply to a search, list or recall, where the call has no `budget_tokens`; of long texts, the parts that answer are shown",
    };
    /// The helper whose words Anthropic's memory tool has.
    MEMORY_TOOL_HELPER: String = {
        key: "memory_tool.helper", variable: "LOCI_MEMORY_TOOL_HELPER",
        default: DefaultValue::Text("python"),
        form: ValueType::Choice(&["python", "typescript"]),
        meaning: "The SDK of Anthropic whose helper the memory tool speaks like, byte for byte: python or typescript, which differ in `insert`, in the list of a folder and in sizes",
    };
    /// The retention of softly deleted memories.
    PURGE_DAYS: u64 = {
        key: "conversation.purge_days", variable: "LOCI_CONVERSATION_PURGE_DAYS",
        alias: Some("SOFT_DELETE_PURGE_DAYS"),
        default: DefaultValue::Whole(Policy::DEFAULT.purge_after_seconds / DAY_SECONDS),
        form: ValueType::Whole { min: 1, max: TTL_DAYS_MAX },
        meaning: "Days after which softly deleted memories are removed for good",
    };
    /// The least similarity of a cached question.
    CACHE_SIMILARITY_THRESHOLD: f64 = {
        key: "cache.similarity_threshold", variable: "LOCI_CACHE_SIMILARITY_THRESHOLD",
        alias: Some("CACHE_SIMILARITY_THRESHOLD"),
        default: DefaultValue::Number(Policy::DEFAULT.cache_similarity_min),
        form: ValueType::Number { max: 1.0 },
        meaning: "Lowest similarity of a cached question that counts as the same, on the scale (1 + cosine) / 2",
    };
    /// The retention of cached answers.
    CACHE_TTL_SECONDS: Duration = {
        key: "cache.ttl_seconds", variable: "LOCI_CACHE_TTL_SECONDS",
        alias: Some("CACHE_TTL_SECONDS"),
        default: DefaultValue::Whole(Policy::DEFAULT.cache_ttl_seconds),
        form: ValueType::Seconds,
        meaning: "Seconds that a cached answer is kept",
    };
    /// The weight of the rank by meaning.
    FUSION_VECTOR_WEIGHT: f64 = {
        key: "fusion.vector_weight", variable: "LOCI_FUSION_VECTOR_WEIGHT",
        alias: Some("RRF_VECTOR_WEIGHT"),
        default: DefaultValue::Number(Policy::DEFAULT.fusion.vector),
        form: ValueType::Number { max: WEIGHT_MAX },
        meaning: "Weight of the search by meaning in `hybrid_search`",
    };
    /// The weight of the rank by words.
    FUSION_TEXT_WEIGHT: f64 = {
        key: "fusion.text_weight", variable: "LOCI_FUSION_TEXT_WEIGHT",
        alias: Some("RRF_TEXT_WEIGHT"),
        default: DefaultValue::Number(Policy::DEFAULT.fusion.text),
        form: ValueType::Number { max: WEIGHT_MAX },
        meaning: "Weight of the search by words in `hybrid_search`",
    };
    /// The weight of recency.
    RANKING_RECENCY: f64 = {
        key: "ranking.recency_weight", variable: "LOCI_RANKING_RECENCY_WEIGHT",
        alias: Some("RANKING_ALPHA"),
        default: DefaultValue::Number(Policy::DEFAULT.ranking.recency),
        form: ValueType::Number { max: WEIGHT_MAX },
        meaning: "Weight of recency in `recall_memory`",
    };
    /// The weight of importance.
    RANKING_IMPORTANCE: f64 = {
        key: "ranking.importance_weight", variable: "LOCI_RANKING_IMPORTANCE_WEIGHT",
        alias: Some("RANKING_BETA"),
        default: DefaultValue::Number(Policy::DEFAULT.ranking.importance),
        form: ValueType::Number { max: WEIGHT_MAX },
        meaning: "Weight of importance and earlier accesses in `recall_memory`",
    };
    /// The weight of relevance.
    RANKING_RELEVANCE: f64 = {
        key: "ranking.relevance_weight", variable: "LOCI_RANKING_RELEVANCE_WEIGHT",
        alias: Some("RANKING_GAMMA"),
        default: DefaultValue::Number(Policy::DEFAULT.ranking.relevance),
        form: ValueType::Number { max: WEIGHT_MAX },
        meaning: "Weight of relevance in `recall_memory`",
    };
    /// The decay time of recency.
    RANKING_DECAY_DAYS: u64 = {
        key: "ranking.decay_days", variable: "LOCI_RANKING_DECAY_DAYS",
        default: DefaultValue::Whole(Policy::DEFAULT.ranking.decay_days as u64),
        form: ValueType::Whole { min: 1, max: TTL_DAYS_MAX },
        meaning: "Days in which recency falls to 1/e (37 %) in `recall_memory`",
    };
    /// The web search service.
    WEB_SEARCH_URL: String = {
        key: "web_search.url", variable: "LOCI_WEB_SEARCH_URL",
        alias: Some("TAVILY_BASE_URL"),
        default: DefaultValue::Text("https://api.tavily.com"),
        meaning: "Base URL of the Tavily API, or of a proxy for it",
    };
    /// The API key for that service.
    WEB_SEARCH_API_KEY: String = {
        key: "web_search.api_key", variable: "LOCI_WEB_SEARCH_API_KEY",
        alias: Some("TAVILY_API_KEY"),
        form: ValueType::Secret,
        meaning: "Key for that API; without it `search_web` says that it is not available; never shown",
    };
    /// The endpoint of a language model.
    LLM_URL: String = {
        key: "llm.url", variable: "LOCI_LLM_URL",
        meaning: "Base URL of an OpenAI-compatible endpoint whose model judges new memories, such as http://localhost:11434/v1; without it local rules do",
    };
    /// The name of the model at that endpoint.
    LLM_MODEL: String = {
        key: "llm.model", variable: "LOCI_LLM_MODEL",
        meaning: "Name of the model at that endpoint",
    };
    /// The API key for that endpoint.
    LLM_API_KEY: String = {
        key: "llm.api_key", variable: "LOCI_LLM_API_KEY",
        form: ValueType::Secret,
        meaning: "Key for that endpoint, sent as a bearer token; never shown",
    };
    /// The timeout of that endpoint.
    LLM_TIMEOUT_SECONDS: u64 = {
        key: "llm.timeout_seconds", variable: "LOCI_LLM_TIMEOUT_SECONDS",
        default: DefaultValue::Text("30"),
        form: ValueType::Whole { min: 1, max: LLM_SECONDS_MAX },
        meaning: "Seconds that one request to that endpoint may take, at most 90",
    };
    /// The retention of former versions.
    HISTORY_DAYS: u64 = {
        key: "history_days", variable: "LOCI_HISTORY_DAYS",
        default: DefaultValue::Whole(Policy::DEFAULT.history_seconds / DAY_SECONDS), form: ValueType::Whole { min: 0, max: TTL_DAYS_MAX },
        meaning: "Days for which the version before each change of a memory is kept, for `loci history`, `restore`, `undo` and `--as-of`; 0 keeps it for ever",
    };
    /// The retention of the audit log.
    AUDIT_RETENTION_DAYS: u64 = {
        key: "audit.retention_days", variable: "LOCI_AUDIT_RETENTION_DAYS",
        alias: Some("AUDIT_RETENTION_DAYS"),
        default: DefaultValue::Whole(Policy::DEFAULT.audit_retention_seconds / DAY_SECONDS), form: ValueType::Whole { min: 1, max: TTL_DAYS_MAX },
        meaning: "Days that an entry of the audit log is kept",
    };
    /// The longest time for which audit entries are buffered.
    AUDIT_FLUSH_SECONDS: Duration = {
        key: "audit.flush_seconds", variable: "LOCI_AUDIT_FLUSH_SECONDS",
        alias: Some("AUDIT_FLUSH_INTERVAL_SECONDS"),
        default: DefaultValue::Text("2"),
        form: ValueType::Seconds,
        meaning: "Seconds after which entries of the audit log and access counts are written",
    };
    /// The number of buffered audit entries that are written at once.
    AUDIT_FLUSH_ENTRIES: u64 = {
        key: "audit.flush_entries", variable: "LOCI_AUDIT_FLUSH_ENTRIES",
        alias: Some("AUDIT_BUFFER_SIZE"),
        default: DefaultValue::Whole(Policy::DEFAULT.audit_buffer as u64),
        form: ValueType::Whole { min: 1, max: BUFFERED_MAX as u64 },
        meaning: "Entries of the audit log that are written without waiting for their time",
    };
    /// The queries of the phases of work.
    PHASES_QUERIES: Vec<String> = {
        key: "phases.queries", variable: "LOCI_PHASES_QUERIES",
        default: DefaultValue::Text(""),
        form: ValueType::List,
        meaning: "What `memory_recall` asks the memory in a phase of work, as phase=question; in place of the built-in question, or for a phase of your own",
    };
    /// The preferred tags of the phases of work.
    PHASES_TAGS: Vec<String> = {
        key: "phases.tags", variable: "LOCI_PHASES_TAGS",
        default: DefaultValue::Text(""),
        form: ValueType::List,
        meaning: "Tags of memories that matter more in a phase of work, as phase=tag,tag; in place of the built-in ones",
    };
    /// The kinds of memories that matter in the phases of work.
    PHASES_KINDS: Vec<String> = {
        key: "phases.kinds", variable: "LOCI_PHASES_KINDS",
        default: DefaultValue::Text(""),
        form: ValueType::List,
        meaning: "Kinds of memories that matter in a phase of work whatever they say, as phase=kind,kind, such as plan=decision; in place of the built-in ones",
    };
    /// The retention of replies under their idempotency keys.
    IDEMPOTENCY_HOURS: u64 = {
        key: "idempotency_hours", variable: "LOCI_IDEMPOTENCY_HOURS",
        default: DefaultValue::Whole(Policy::DEFAULT.idempotent_reply_ttl_seconds / HOUR_SECONDS), form: ValueType::Whole { min: 1, max: HOURS_MAX },
        meaning: "Hours in which a call that is repeated under its `idempotency_key` gets the first answer again; of `memory_recall` only in its session and while nothing in the store changes",
    };
    /// The interval of consolidations in the background.
    CONSOLIDATE_HOURS: u64 = {
        key: "consolidate_hours", variable: "LOCI_CONSOLIDATE_HOURS",
        default: DefaultValue::Whole(0), form: ValueType::Whole { min: 0, max: HOURS_MAX },
        meaning: "Hours between two consolidations by `serve` or `mcp`, as `loci consolidate` does one: memories that say the same stand behind one; 0 for none",
    };
    /// The interval of background work.
    MAINTENANCE_SECONDS: Duration = {
        key: "maintenance_seconds", variable: "LOCI_MAINTENANCE_SECONDS",
        default: DefaultValue::Text("60"),
        form: ValueType::Seconds,
        meaning: "Seconds between two rounds in which `serve` and `mcp` remove expired memories and embed pending ones",
    };
    /// The number of memories from which the index is a file.
    INDEX_FILE_MEMORIES: u64 = {
        key: "index_file_memories", variable: "LOCI_INDEX_FILE_MEMORIES",
        default: DefaultValue::Text("2000"),
        form: ValueType::Whole { min: 1, max: 1_000_000_000 },
        meaning: "From how many memories on the index is kept as a file in the data folder, which processes share, so that none has to load it; 1000000000 for never",
    };
    /// The longest wait of a write for other processes.
    BUSY_TIMEOUT_SECONDS: Duration = {
        key: "busy_timeout_seconds", variable: "LOCI_BUSY_TIMEOUT_SECONDS",
        default: DefaultValue::Text("10"),
        form: ValueType::Seconds,
        meaning: "Seconds that a write waits for other processes that write to the same data",
    };
}

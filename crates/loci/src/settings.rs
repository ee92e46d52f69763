//! The list of settings, and the origin of each value.
//!
//! A value comes from the flag, or the environment, or the file, or is the default. `loci config`,
//! the help texts and the reference page are made from [`settings`].

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::net::SocketAddr;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::time::Duration;

use directories::ProjectDirs;
use loci_embed::CatalogueModel;
use loci_engine::{
    FusionWeights, HelperLanguage, Phases, Policy, RankingWeights, RedactionScope, SearchMode,
    check,
};
use tracing::level_filters::LevelFilter;

use crate::exit::{Exit, Failure};

use crate::store::{StoreSettings, shown_place};

pub mod environment;
pub mod file;
mod folders;
mod list;
mod models;
mod network;
mod value;

pub use list::*;
pub use network::{Network, TlsFiles};
use value::Value;

const HOUR_SECONDS: u64 = 3_600;
const DAY_SECONDS: u64 = 86_400;

/// A setting.
pub struct Setting {
    /// The name in the file; a dot stands for a table.
    pub key: &'static str,
    /// The flag, without its dashes.
    pub flag: Option<&'static str>,
    /// The environment variable.
    pub variable: &'static str,
    /// The environment variable of the server that a dialect stands in for; loci's own takes
    /// precedence.
    pub alias: Option<&'static str>,
    /// The default value.
    pub default: DefaultValue,
    /// The type of the value in the file.
    pub form: ValueType,
    /// The meaning, for help texts.
    pub meaning: &'static str,
    /// Checks the text of a value.
    check: fn(ValueType, &str) -> Result<(), String>,
}

/// A setting whose value is a `T`.
pub struct TypedSetting<T> {
    setting: Setting,
    value: PhantomData<fn() -> T>,
}

impl<T> TypedSetting<T> {
    const fn of(setting: Setting) -> Self {
        TypedSetting {
            setting,
            value: PhantomData,
        }
    }
}

impl<T> Deref for TypedSetting<T> {
    type Target = Setting;

    fn deref(&self) -> &Setting {
        &self.setting
    }
}

/// The default value of a setting.
pub enum DefaultValue {
    /// This text.
    Text(&'static str),
    /// This whole number.
    Whole(u64),
    /// This number.
    Number(f64),
    /// A value that these words describe.
    Words(&'static str),
    /// No value.
    Unset,
}

impl DefaultValue {
    /// Returns the text of the value; `None` if only words describe it, or it is absent.
    pub fn text(&self) -> Option<String> {
        match self {
            DefaultValue::Text(text) => Some((*text).to_owned()),
            DefaultValue::Whole(number) => Some(number.to_string()),
            DefaultValue::Number(number) => Some(format!("{number:?}")),
            DefaultValue::Words(_) | DefaultValue::Unset => None,
        }
    }
}

/// The type of a value in the file. Flags and the environment have text; there, items of a list are
/// separated by commas.
#[derive(Clone, Copy, PartialEq)]
pub enum ValueType {
    /// A string.
    Text,
    /// A string that is never shown.
    Secret,
    /// A whole number of seconds above zero.
    Seconds,
    /// A whole number in this range, both ends included.
    Whole {
        /// The smallest value.
        min: u64,
        /// The largest value.
        max: u64,
    },
    /// A number from 0 to this maximum.
    Number {
        /// The largest value.
        max: f64,
    },
    /// `true` or `false`.
    Boolean,
    /// An array of strings.
    List,
    /// One of these strings.
    Choice(&'static [&'static str]),
}

/// The flag of the configuration file, which cannot name itself.
pub const CONFIG_FLAG: &str = "config";
/// Its environment variable.
pub const CONFIG_VARIABLE: &str = "LOCI_CONFIG";
/// Its meaning, for help texts.
pub const CONFIG_MEANING: &str = "Configuration file [env: LOCI_CONFIG] [default: loci/config.toml in the platform's configuration folder]";

impl Setting {
    /// Returns the environment variables that set it; the first one that is set counts.
    pub fn variables(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.variable).chain(self.alias)
    }

    /// Returns the help text of its flag.
    pub fn help(&self) -> String {
        let default = match self.default {
            DefaultValue::Words(words) => Some(words.to_owned()),
            _ => self.default.text().filter(|text| !text.is_empty()),
        };
        let default = default.map_or_else(String::new, |text| format!(" [default: {text}]"));
        format!(
            "{} [env: {}]{default}",
            self.meaning,
            self.variables().collect::<Vec<_>>().join(", ")
        )
    }
}

/// The origin of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A flag of this call.
    Flag(&'static str),
    /// An environment variable.
    Environment(&'static str),
    /// A line of the configuration file.
    File(PathBuf, usize),
    /// The default.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Flag(flag) => write!(formatter, "flag --{flag}"),
            Origin::Environment(variable) => write!(formatter, "env {variable}"),
            Origin::File(path, line) => write!(formatter, "file {}:{line}", path.display()),
            Origin::Default => formatter.write_str("default"),
        }
    }
}

/// A value as text, and its origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedValue {
    /// The value.
    pub text: String,
    /// The origin of the value.
    pub origin: Origin,
}

/// A setting with its effective value, for `loci config`.
#[derive(Clone)]
pub struct Row {
    /// The setting.
    pub setting: &'static Setting,
    /// The value, if there is one; a secret is replaced by a sign that it is set.
    pub value: Option<String>,
    /// The origin of the value.
    pub origin: Origin,
}

/// The runtime of a model in this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runtime {
    /// The runtime in the binary.
    BuiltIn,
    /// An installed onnxruntime.
    #[cfg(feature = "ort")]
    Onnxruntime,
}

impl Runtime {
    /// The installed onnxruntime, if this build can use one.
    #[cfg(feature = "ort")]
    const INSTALLED: Option<Runtime> = Some(Runtime::Onnxruntime);
    #[cfg(not(feature = "ort"))]
    const INSTALLED: Option<Runtime> = None;

    /// Returns all runtimes that this build can use.
    pub fn all() -> impl Iterator<Item = Runtime> + Clone {
        std::iter::once(Runtime::BuiltIn).chain(Runtime::INSTALLED)
    }
}

/// The embedding model that the settings choose.
#[derive(Debug, Clone, PartialEq)]
pub enum EmbeddingChoice {
    /// The model in the binary.
    Bundled(Runtime),
    /// A model of the catalogue, installed in this folder.
    Installed(&'static CatalogueModel, PathBuf, Runtime),
    /// A model in a folder.
    Folder(PathBuf, Runtime),
    /// A model behind an endpoint.
    Http {
        /// The base URL.
        url: String,
        /// The model's name there.
        model: String,
        /// The API key.
        api_key: Option<String>,
        /// The timeout of one request.
        timeout: Duration,
    },
    /// No model: search by words only.
    NoModel,
}

/// A language model behind an endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LanguageModel {
    /// The base URL.
    pub url: String,
    /// The model's name there.
    pub model: String,
    /// The API key.
    pub api_key: Option<String>,
    /// The timeout of one request.
    pub timeout: Duration,
}

/// The effective settings of this call.
#[derive(Clone)]
pub struct Settings {
    /// The configuration file that was read, or that would be read if it existed.
    pub config_file: ResolvedValue,
    /// True if commands show what other users keep private (`--all-users`, no setting, because it
    /// is a deliberate step of one call).
    pub all_users: bool,
    /// [`DATA`].
    pub data: PathBuf,
    /// [`MODELS_URL`], if it is set.
    pub models_url: Option<String>,
    /// [`RERANK_MODEL_FOLDER`], if [`RERANK_PROVIDER`] says to use it.
    pub reranker_folder: Option<PathBuf>,
    /// [`VAULT`], if it is set.
    pub vault: Option<PathBuf>,
    /// [`VAULT_FILE_MODE`], as a file mode of the system.
    pub vault_file_mode: u32,
    /// [`LOG`], if it is set.
    pub log: Option<LevelFilter>,
    /// True if the log has a JSON object on each line: [`LOG_FORMAT`].
    pub logs_json: bool,
    /// [`SEARCH`]; words, if there is no model.
    pub search: SearchMode,
    /// [`BIND`].
    pub bind: SocketAddr,
    /// [`ALLOWED_ORIGINS`].
    pub allowed_origins: Vec<String>,
    /// [`CONVERSATION_VIEWS`].
    pub conversation_views: bool,
    /// [`QUESTION_SECONDS`], unless [`QUESTIONS`] is off.
    pub question_limit: Option<Duration>,
    /// [`ALLOWED_HOSTS`].
    pub allowed_hosts: Vec<String>,
    /// [`TRUSTED_AUTHORS`].
    pub trusted_authors: Vec<String>,
    /// The other settings of the HTTP server.
    pub network: Network,
    /// [`EMBEDDING_PROVIDER`] and the settings of that provider.
    pub embedding: EmbeddingChoice,
    /// [`EMBEDDING_MODEL_FOLDER`], whichever provider is chosen.
    pub model_folder: Option<PathBuf>,
    /// [`LLM_URL`] and the settings of that endpoint.
    pub language_model: Option<LanguageModel>,
    /// [`WEB_SEARCH_URL`].
    pub web_search_url: String,
    /// [`WEB_SEARCH_API_KEY`].
    pub web_search_key: Option<String>,
    /// The other settings of conversations, their ranking, the cache and the audit log.
    pub policy: Policy,
    /// [`PHASES_QUERIES`], [`PHASES_TAGS`] and [`PHASES_KINDS`], with the built-in ones.
    pub phases: Phases,
    /// [`REDACT_SECRETS`].
    pub redaction: RedactionScope,
    /// [`AUDIT_FLUSH_SECONDS`].
    pub flush: Duration,
    /// [`MAINTENANCE_SECONDS`].
    pub maintenance: Duration,
    /// [`STORE`], the settings of a store on a server, [`INDEX_FILE_MEMORIES`] and
    /// [`BUSY_TIMEOUT_SECONDS`].
    pub store: StoreSettings,
    /// Every setting with its effective value.
    pub rows: Vec<Row>,
}

/// The values on the command line, by flag.
pub type Flags = BTreeMap<&'static str, String>;
/// The values in the environment, by variable.
pub type Variables = BTreeMap<String, String>;

impl Settings {
    /// Resolves every setting. An empty variable counts as unset.
    ///
    /// # Errors
    /// [`Exit::Usage`], naming the setting and its origin, if a value cannot be used or the file
    /// cannot be parsed.
    pub fn resolve(flags: &Flags, variables: &Variables) -> Result<Self, Failure> {
        let environment = |variable: &str| {
            let value = variables.get(variable);
            value.filter(|value| !value.is_empty()).cloned()
        };
        // A relative home would make another folder below each current one.
        let folders = ProjectDirs::from("", "", "loci").filter(|it| it.data_dir().is_absolute());
        let config_file = config_file(flags, &environment, folders.as_ref())?;
        let is_named = config_file.origin != Origin::Default;
        let mut values = file::read(Path::new(&config_file.text), is_named)?;
        for setting in settings() {
            let by_flag = setting
                .flag
                .and_then(|flag| Some((Origin::Flag(flag), flags.get(flag)?.clone())));
            let by_variable = || {
                setting.variables().find_map(|variable| {
                    Some((Origin::Environment(variable), environment(variable)?))
                })
            };
            let by_default = || Some((Origin::Default, setting.default.text()?));
            let found = by_flag.or_else(by_variable).or_else(|| {
                (!values.contains_key(setting.key))
                    .then(by_default)
                    .flatten()
            });
            if let Some((origin, text)) = found {
                values.insert(setting.key, ResolvedValue { text, origin });
            }
        }
        if !values.contains_key(DATA.key) {
            let folders = folders.as_ref().ok_or_else(|| no_home("--data FOLDER"))?;
            let text = folders.data_dir().display().to_string();
            let origin = Origin::Default;
            values.insert(DATA.key, ResolvedValue { text, origin });
        }
        Values(values).into_settings(config_file)
    }
}

/// Returns the folder into which `loci model install` puts the files of a model.
pub fn model_folder(data: &Path, model: &CatalogueModel) -> PathBuf {
    data.join("models").join(model.name)
}

fn config_file(
    flags: &Flags,
    environment: &dyn Fn(&str) -> Option<String>,
    folders: Option<&ProjectDirs>,
) -> Result<ResolvedValue, Failure> {
    if let Some(text) = flags.get(CONFIG_FLAG) {
        return Ok(ResolvedValue {
            text: text.clone(),
            origin: Origin::Flag(CONFIG_FLAG),
        });
    }
    if let Some(text) = environment(CONFIG_VARIABLE) {
        return Ok(ResolvedValue {
            text,
            origin: Origin::Environment(CONFIG_VARIABLE),
        });
    }
    let path = folders
        .ok_or_else(|| no_home("--config FILE"))?
        .config_dir()
        .join("config.toml");
    Ok(ResolvedValue {
        text: path.display().to_string(),
        origin: Origin::Default,
    })
}

fn no_home(flag: &str) -> Failure {
    Failure::new(
        Exit::Usage,
        format!(
            "this user has no home folder with an absolute path, so there is no default place; name one with {flag}"
        ),
    )
}

struct Values(BTreeMap<&'static str, ResolvedValue>);

impl Values {
    fn into_settings(self, config_file: ResolvedValue) -> Result<Settings, Failure> {
        for setting in settings() {
            if let Some(text) = self.text(setting) {
                (setting.check)(setting.form, text)
                    .map_err(|problem| self.wrong(setting, problem))?;
            }
        }
        let path = |setting: &Setting| {
            let path = self.text(setting).map(std::path::absolute).transpose();
            path.map_err(|error| self.wrong(setting, format!("is no path: {error}")))
        };
        let data = path(&DATA)?.unwrap_or_default();
        let embedding = self.embedding(&data)?;
        let search = match (self.text(&SEARCH), &embedding) {
            (Some("vector"), EmbeddingChoice::NoModel) => {
                return Err(self.wrong(
                    &SEARCH,
                    "needs a model, but `embedding.provider` is none; change one of the two",
                ));
            }
            (Some("words"), _) | (_, EmbeddingChoice::NoModel) => SearchMode::Words,
            (Some("vector"), _) => SearchMode::Vector,
            _ => SearchMode::Hybrid,
        };
        let mode = self.get(&VAULT_FILE_MODE)?;
        Ok(Settings {
            config_file,
            data,
            models_url: self.text(&MODELS_URL).map(str::to_owned),
            reranker_folder: self.reranker_folder()?,
            vault: path(&VAULT)?,
            all_users: false,
            vault_file_mode: u32::from_str_radix(&mode, 8).map_err(|error| {
                self.wrong(&VAULT_FILE_MODE, format!("is no octal number: {error}"))
            })?,
            log: self.text(&LOG).and_then(|level| level.parse().ok()),
            logs_json: self.text(&LOG_FORMAT) == Some("json"),
            search,
            bind: self.get(&BIND)?,
            allowed_origins: self.get(&ALLOWED_ORIGINS)?,
            conversation_views: self.get(&CONVERSATION_VIEWS)?,
            question_limit: {
                let limit = Duration::from_secs(self.get(&QUESTION_SECONDS)?);
                self.get(&QUESTIONS)?.then_some(limit)
            },
            allowed_hosts: self.get(&ALLOWED_HOSTS)?,
            trusted_authors: self.get(&TRUSTED_AUTHORS)?,
            network: self.network()?,
            embedding,
            model_folder: self.text(&EMBEDDING_MODEL_FOLDER).map(PathBuf::from),
            language_model: self.language_model()?,
            web_search_url: self.get(&WEB_SEARCH_URL)?,
            web_search_key: self.text(&WEB_SEARCH_API_KEY).map(str::to_owned),
            policy: self.policy()?,
            phases: self.phases()?,
            redaction: match self.text(&REDACT_SECRETS) {
                Some("none") => RedactionScope::Nothing,
                Some("all") => RedactionScope::Everything,
                _ => RedactionScope::Mined,
            },
            flush: self.get(&AUDIT_FLUSH_SECONDS)?,
            maintenance: self.get(&MAINTENANCE_SECONDS)?,
            store: self.store()?,
            rows: settings().map(|setting| self.row(setting)).collect(),
        })
    }

    /// Returns the value of a setting that has a default.
    fn get<T: Value>(&self, setting: &TypedSetting<T>) -> Result<T, Failure> {
        T::parse(setting.form, self.text(setting).unwrap_or_default())
            .map_err(|problem| self.wrong(setting, problem))
    }

    fn text(&self, setting: &Setting) -> Option<&str> {
        self.0.get(setting.key).map(|found| found.text.as_str())
    }

    fn policy(&self) -> Result<Policy, Failure> {
        Ok(Policy {
            message_ttl_seconds: HOUR_SECONDS * self.get(&MESSAGE_TTL_HOURS)?,
            results_max: self.get(&RESULTS_MAX)? as usize,
            reply_tokens: self.get(&REPLY_TOKENS)? as usize,
            purge_after_seconds: DAY_SECONDS * self.get(&PURGE_DAYS)?,
            cache_similarity_min: self.get(&CACHE_SIMILARITY_THRESHOLD)?,
            cache_ttl_seconds: self.get(&CACHE_TTL_SECONDS)?.as_secs(),
            fusion: FusionWeights {
                vector: self.get(&FUSION_VECTOR_WEIGHT)?,
                text: self.get(&FUSION_TEXT_WEIGHT)?,
            },
            ranking: RankingWeights {
                recency: self.get(&RANKING_RECENCY)?,
                importance: self.get(&RANKING_IMPORTANCE)?,
                relevance: self.get(&RANKING_RELEVANCE)?,
                decay_days: self.get(&RANKING_DECAY_DAYS)? as f64,
            },
            audit_retention_seconds: DAY_SECONDS * self.get(&AUDIT_RETENTION_DAYS)?,
            history_seconds: DAY_SECONDS * self.get(&HISTORY_DAYS)?,
            consolidate_seconds: HOUR_SECONDS * self.get(&CONSOLIDATE_HOURS)?,
            audit_buffer: self.get(&AUDIT_FLUSH_ENTRIES)? as usize,
            memory_tool: match self.text(&MEMORY_TOOL_HELPER) {
                Some("typescript") => HelperLanguage::TypeScript,
                _ => HelperLanguage::Python,
            },
            idempotent_reply_ttl_seconds: HOUR_SECONDS * self.get(&IDEMPOTENCY_HOURS)?,
        })
    }

    fn phases(&self) -> Result<Phases, Failure> {
        let mut phases = Phases::default();
        for (name, query) in self.by_name(&PHASES_QUERIES)? {
            let query = query.join(", ");
            check::query("query", &query)
                .map_err(|error| self.wrong(&PHASES_QUERIES, format!("has {error}")))?;
            phases.0.entry(name).or_default().query = query;
        }
        for (name, tags) in self.by_name(&PHASES_TAGS)? {
            phases.phase_mut(name).tags = tags;
        }
        for (name, kinds) in self.by_name(&PHASES_KINDS)? {
            phases.phase_mut(name).kinds = kinds;
        }
        Ok(phases)
    }

    /// Parses a list of `name=text`, by name. An item without a name belongs to the text before it,
    /// which has a comma.
    fn by_name(
        &self,
        setting: &TypedSetting<Vec<String>>,
    ) -> Result<BTreeMap<String, Vec<String>>, Failure> {
        let mut named: Vec<(String, Vec<String>)> = Vec::new();
        for item in self.get(setting)? {
            match (item.split_once('='), named.last_mut()) {
                (Some((name, text)), _)
                    if check::name("name", name).is_ok() && !text.trim().is_empty() =>
                {
                    named.push((name.trim().to_owned(), vec![text.trim().to_owned()]));
                }
                (None, Some((_, texts))) => texts.push(item),
                _ => {
                    return Err(self.wrong(
                        setting,
                        "has an item without a text or a usable name; give each as name=text",
                    ));
                }
            }
        }
        Ok(named.into_iter().collect())
    }

    fn language_model(&self) -> Result<Option<LanguageModel>, Failure> {
        let Some(url) = self.text(&LLM_URL).filter(|url| !url.is_empty()) else {
            return Ok(None);
        };
        let model = self.text(&LLM_MODEL).ok_or_else(|| {
            self.wrong(
                &LLM_URL,
                format!(
                    "is set, which needs `{}` ({})",
                    LLM_MODEL.key, LLM_MODEL.variable
                ),
            )
        })?;
        Ok(Some(LanguageModel {
            url: url.to_owned(),
            model: model.to_owned(),
            api_key: self.text(&LLM_API_KEY).map(str::to_owned),
            timeout: Duration::from_secs(self.get(&LLM_TIMEOUT_SECONDS)?),
        }))
    }

    fn wrong(&self, setting: &Setting, problem: impl fmt::Display) -> Failure {
        let origin = self
            .0
            .get(setting.key)
            .map_or(&Origin::Default, |found| &found.origin);
        Failure::new(
            Exit::Usage,
            format!("the setting `{}` ({origin}) {problem}", setting.key),
        )
    }

    fn row(&self, setting: &'static Setting) -> Row {
        let found = self.0.get(setting.key);
        let shown = |found: &ResolvedValue| {
            if setting.form == ValueType::Secret {
                "set".to_owned()
            } else if setting.key == STORE.key {
                shown_place(&found.text)
            } else {
                found.text.clone()
            }
        };
        let preset = match setting.default {
            DefaultValue::Words(words) => Some(words.to_owned()),
            _ => None,
        };
        Row {
            setting,
            value: found.map(shown).or(preset),
            origin: found.map_or(Origin::Default, |found| found.origin.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use loci_core::{Scope, Scopes};
    use loci_server::RateLimit;

    use super::*;
    use crate::store::{ServerSettings, StorePlace};

    /// Resolves the settings from a file of this text, these variables and these flags.
    fn settle(
        file: &str,
        variables: &[(&str, &str)],
        flags: &[(&'static str, &str)],
    ) -> Result<Settings, Failure> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        std::fs::write(&path, file).unwrap();
        let mut flags: Flags = flags
            .iter()
            .map(|(flag, value)| (*flag, (*value).to_owned()))
            .collect();
        flags.insert(CONFIG_FLAG, path.display().to_string());
        let variables = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        Settings::resolve(&flags, &variables)
    }

    fn origin_of(settings: &Settings, key: &str) -> String {
        let row = settings
            .rows
            .iter()
            .find(|row| row.setting.key == key)
            .unwrap();
        let origin = row.origin.to_string();
        origin.split(' ').next().unwrap().to_owned()
    }

    #[test]
    fn flag_beats_environment_beats_file_beats_default() {
        let file = "bind = \"127.0.0.1:1\"\n";
        let variable = [("LOCI_BIND", "127.0.0.1:2")];
        let flag = [("bind", "127.0.0.1:3")];
        let rows: [(&str, &[_], &[_], u16, &str); 5] = [
            ("", &[], &[], 7821, "default"),
            (file, &[], &[], 1, "file"),
            (file, &variable, &[], 2, "env"),
            (file, &variable, &flag, 3, "flag"),
            (file, &[("LOCI_BIND", "")], &[], 1, "file"),
        ];
        for (file, variables, flags, port, origin) in rows {
            let settings = settle(file, variables, flags).unwrap();
            assert_eq!(
                (settings.bind.port(), origin_of(&settings, "bind").as_str()),
                (port, origin)
            );
        }
    }

    #[test]
    fn a_store_on_a_server_has_a_password_that_is_never_shown() {
        let url = "postgres://ann:secret@host/loci";
        let password = |variables: &[(&str, &str)]| {
            let variables = variables.iter().copied().chain([("LOCI_STORE", url)]);
            let settings = settle("", &variables.collect::<Vec<_>>(), &[]).unwrap();
            let row = settings.rows.iter().find(|row| row.setting.key == "store");
            let shown = row.and_then(|row| row.value.clone());
            assert_eq!(shown.as_deref(), Some("postgres://ann@host/loci"));
            let named = settings.named_places().unwrap();
            assert!(named.contains(&("store", "postgres://ann@host/loci".to_owned())));
            settings.store.server.password.unwrap()
        };
        assert_eq!(password(&[]), "secret");
        assert_eq!(password(&[("PGPASSWORD", "other")]), "other");
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "of the file\n").unwrap();
        let path = file.path().display().to_string();
        assert_eq!(
            password(&[("LOCI_STORE_PASSWORD_FILE", &path)]),
            "of the file"
        );
        for (variables, expected) in [
            (
                [("LOCI_STORE", "postgres://ann:secret@host"), ("X", "")],
                "`store` (env LOCI_STORE) names no database",
            ),
            (
                [("LOCI_STORE", url), ("LOCI_STORE_SCHEMA", "A b")],
                "`store_schema` (env LOCI_STORE_SCHEMA) must have 1 to 63 lower-case letters",
            ),
            (
                [("LOCI_STORE", url), ("LOCI_STORE_PASSWORD_FILE", "/none")],
                "`store_password_file` (env LOCI_STORE_PASSWORD_FILE) is `/none`, which cannot be read",
            ),
        ] {
            let refused = settle("", &variables, &[]).err().unwrap();
            assert!(refused.message.contains(expected), "{}", refused.message);
            assert!(!refused.message.contains("secret"), "{}", refused.message);
        }
    }

    #[test]
    fn the_file_sets_everything() {
        let file = "data = \"d\"\nstore = \"s\"\nstore_schema = \"t\"\nstore_password = \"p\"\nstore_password_file = \"f\"\n\
                    store_connections = 3\nstore_commit_seconds = 7\nstore_index_megabytes = 4\nstore_migrate = \"never\"\nstore_row_security = true\nstore_citus = \"off\"\nvault = \"v\"\nvault_file_mode = \"640\"\nidempotency_hours = 2\nlog = \"debug\"\nlog_format = \"json\"\nmetrics_bind = \"127.0.0.1:5\"\notlp_endpoint = \"http://c:4318\"\nredact_secrets = \"all\"\nsearch = \"words\"\nbind = \"[::1]:9\"\n\
                    allowed_origins = [\"https://a:1\", \"https://b:*\"]\nallowed_hosts = []\nconversation_views = false\nquestions = true\nquestion_seconds = 30\ntrusted_authors = [\"ann\"]\n\
                    public_url = \"https://m.example\"\ntrusted_proxies = [\"10.0.0.7\", \"10.1.0.0/16\"]\n\
                    maintenance_seconds = 5\nindex_file_memories = 13\nbusy_timeout_seconds = 6\nreply_tokens = 1234\nhistory_days = 12\nconsolidate_hours = 6\nmodels_url = \"https://m.example/models\"\n\
                    [phases]\nqueries = [\"plan=what, and why\", \"paint=how\"]\ntags = [\"plan=a,b\", \"sing=c\"]\nkinds = [\"plan=adr,risk\"]\n\
                    [conversation]\nmessage_ttl_hours = 1\nresults_max = 2\npurge_days = 3\n\
                    [cache]\nsimilarity_threshold = 0.75\nttl_seconds = 4\n\
                    [fusion]\nvector_weight = 0.5\ntext_weight = 2\n\
                    [ranking]\nrecency_weight = 0\nimportance_weight = 1\nrelevance_weight = 2.5\ndecay_days = 7\n\
                    [tls]\ncertificate = \"c.pem\"\nkey = \"k.pem\"\n\
                    [rate_limit]\nper_minute = 60\nburst = 5\n\
                    [oidc]\nissuer = \"https://i.example\"\naudience = [\"a\"]\nsubject_claim = \"oid\"\n\
                    actor_claims = []\nscope_claim = \"roles\"\nscope_prefix = \"\"\ndefault_scopes = [\"read\"]\n\
                    space_claim = \"tenant\"\nclient_id = \"loci\"\nclient_secret = \"c\"\nclient_scopes = [\"openid\", \"memory:admin\"]\ntoken_types = [\"at+jwt\"]\nrefresh_seconds = 12\n\
                    [web_search]\nurl = \"http://localhost:2\"\napi_key = \"w\"\n\
                    [llm]\nurl = \"http://localhost:3\"\nmodel = \"l\"\napi_key = \"s\"\ntimeout_seconds = 8\n\
                    [audit]\nretention_days = 9\nflush_seconds = 10\nflush_entries = 11\n\
                    [embedding]\nprovider = \"http\"\nurl = \"http://localhost:1/v1\"\nmodel = \"m\"\n\
                    api_key = \"k\"\ntimeout_seconds = 7\nmodel_folder = \"f\"\nruntime = \"onnxruntime\"\n\
                    [memory_tool]\nhelper = \"typescript\"\n\
                    [encryption]\nkey_file = \"kf\"\npassphrase = \"pp\"\npassphrase_file = \"f\"\nrecovery_key = \"rk\"\n\
                    [rerank]\nprovider = \"folder\"\nmodel_folder = \"/r\"\n";
        let settings = settle(file, &[], &[]).unwrap();
        assert!(
            settings
                .rows
                .iter()
                .all(|row| matches!(row.origin, Origin::File(..)))
        );
        assert!(settings.data.is_absolute() && settings.data.ends_with("d"));
        assert_eq!(settings.vault_file_mode, 0o640);
        assert!(!settings.conversation_views);
        assert_eq!(settings.question_limit, Some(Duration::from_secs(30)));
        assert!(
            settings
                .vault
                .is_some_and(|vault| vault.is_absolute() && vault.ends_with("v"))
        );
        let phase = |name: &str| {
            let phase = settings.phases.0.get(name).cloned().unwrap_or_default();
            (phase.query, phase.tags.join("+"))
        };
        assert_eq!(
            phase("plan"),
            ("what, and why".to_owned(), "a+b".to_owned())
        );
        assert_eq!(
            ["plan", "bugfix"].map(|name| settings.phases.0[name].kinds.join("+")),
            ["adr+risk", "known-issue"]
        );
        assert_eq!(
            (phase("paint").0.as_str(), phase("sing")),
            ("how", ("sing".to_owned(), "c".to_owned()))
        );
        assert_eq!(phase("work"), {
            let work = Phases::default().0.remove("work").unwrap_or_default();
            (work.query, work.tags.join("+"))
        });
        assert_eq!(settings.log, Some(LevelFilter::DEBUG));
        assert_eq!(settings.search, SearchMode::Words);
        assert_eq!(settings.redaction, RedactionScope::Everything);
        assert_eq!(settings.allowed_origins, ["https://a:1", "https://b:*"]);
        assert_eq!(settings.trusted_authors, ["ann"]);
        assert_eq!(settings.maintenance, Duration::from_secs(5));
        assert_eq!(
            settings.store,
            StoreSettings {
                place: StorePlace::Folder(std::path::absolute("s").unwrap()),
                busy_timeout: Duration::from_secs(6),
                index_file_memories: 13,
                server: ServerSettings {
                    schema: "t".to_owned(),
                    connections_max: 3,
                    commit_seconds: 7,
                    index_bytes_max: 4 << 20,
                    password: Some("p".to_owned()),
                    password_file: None,
                    migrates: false,
                    row_security: true,
                    distributes: false,
                    connects_to_workers: true,
                },
                keys: settings.store.keys.clone(),
            }
        );
        let keys = settings.store.keys.sources();
        assert_eq!(keys.key_file, Some(PathBuf::from("kf")));
        let given = [&keys.passphrase, &keys.recovery]
            .map(|secret| secret.as_ref().map(|secret| secret.as_str()));
        assert_eq!(given, [Some("pp"), Some("rk")]);
        assert!(settings.logs_json);
        let Network {
            metrics_bind,
            otlp_endpoint,
            public_url,
            trusted_proxies,
            tls,
            rate_limit,
            oidc,
        } = settings.network;
        assert_eq!(metrics_bind, "127.0.0.1:5".parse().ok());
        assert_eq!(otlp_endpoint.as_deref(), Some("http://c:4318"));
        assert_eq!(public_url.unwrap().to_string(), "https://m.example");
        let proxies: Vec<String> = trusted_proxies.iter().map(ToString::to_string).collect();
        assert_eq!(proxies, ["10.0.0.7/32", "10.1.0.0/16"]);
        assert_eq!(
            tls,
            Some(TlsFiles {
                certificate: "c.pem".into(),
                key: "k.pem".into()
            })
        );
        assert_eq!(
            rate_limit,
            Some(RateLimit {
                per_minute: 60,
                burst: 5
            })
        );
        let oidc = oidc.unwrap();
        assert_eq!(
            (oidc.issuer.as_str(), oidc.audiences.as_slice()),
            ("https://i.example", ["a".to_owned()].as_slice())
        );
        assert_eq!(
            (oidc.subject_claim.as_str(), oidc.actor_claims.len()),
            ("oid", 0)
        );
        assert_eq!(
            (oidc.scope_claim.as_deref(), oidc.scope_prefix.as_str()),
            (Some("roles"), "")
        );
        assert_eq!(
            (oidc.default_scopes, oidc.space_claim.as_deref()),
            (Scopes::of(&[Scope::Read]), Some("tenant"))
        );
        let client = oidc.client.unwrap();
        assert_eq!(
            (client.id.as_str(), client.secret.as_deref()),
            ("loci", Some("c"))
        );
        assert_eq!(client.scopes, ["openid", "memory:admin"]);
        assert!(!format!("{client:?}").contains("\"c\""));
        assert_eq!(
            (oidc.token_types, oidc.refresh),
            (vec!["at+jwt".to_owned()], Duration::from_secs(12))
        );
        let policy = settings.policy;
        assert_eq!(
            (
                policy.message_ttl_seconds,
                policy.results_max,
                policy.purge_after_seconds
            ),
            (3_600, 2, 259_200)
        );
        assert_eq!(policy.reply_tokens, 1_234);
        assert_eq!(policy.memory_tool, HelperLanguage::TypeScript);
        assert_eq!(
            (policy.cache_similarity_min, policy.cache_ttl_seconds),
            (0.75, 4)
        );
        assert_eq!(
            policy.fusion,
            FusionWeights {
                vector: 0.5,
                text: 2.0
            }
        );
        let ranking = RankingWeights {
            recency: 0.0,
            importance: 1.0,
            relevance: 2.5,
            decay_days: 7.0,
        };
        assert_eq!(policy.ranking, ranking);
        assert_eq!(
            (policy.audit_retention_seconds, policy.audit_buffer),
            (777_600, 11)
        );
        assert_eq!(policy.idempotent_reply_ttl_seconds, 7_200);
        assert_eq!(policy.history_seconds, 12 * 86_400);
        assert_eq!(policy.consolidate_seconds, 6 * 3_600);
        assert_eq!(settings.flush, Duration::from_secs(10));
        assert_eq!(
            (
                settings.web_search_url.as_str(),
                settings.web_search_key.as_deref()
            ),
            ("http://localhost:2", Some("w"))
        );
        let language_model = LanguageModel {
            url: "http://localhost:3".to_owned(),
            model: "l".to_owned(),
            api_key: Some("s".to_owned()),
            timeout: Duration::from_secs(8),
        };
        assert_eq!(settings.language_model, Some(language_model));
        assert_eq!(settings.reranker_folder, Some(PathBuf::from("/r")));
        assert_eq!(
            settings.models_url.as_deref(),
            Some("https://m.example/models")
        );
        let api_key = Some("k".to_owned());
        let (url, model, timeout) = (
            "http://localhost:1/v1".to_owned(),
            "m".to_owned(),
            Duration::from_secs(7),
        );
        assert_eq!(
            settings.embedding,
            EmbeddingChoice::Http {
                url,
                model,
                api_key,
                timeout
            }
        );
    }

    #[test]
    fn wrong_values_are_refused_by_name_and_origin() {
        let rows: [(&str, &[_], &str); 33] = [
            ("log = \"loud\"\n", &[], "`log` (file "),
            ("search = 1\n", &[], "line 1: `search` must be a string"),
            (
                "[phases]\nqueries = [\"what\"]\n",
                &[],
                "`phases.queries` (file ",
            ),
            (
                "",
                &[("LOCI_PHASES_TAGS", "plan=")],
                "give each as name=text",
            ),
            ("\nbind = \"nowhere\"\n", &[], "config.toml:2) is `nowhere`"),
            ("maintenance_seconds = 0\n", &[], "above zero"),
            (
                "maintenance_seconds = \"5\"\n",
                &[],
                "must be a whole number",
            ),
            (
                "store_row_security = \"true\"\n",
                &[],
                "`store_row_security` must be true or false",
            ),
            (
                "",
                &[("LOCI_STORE_ROW_SECURITY", "on")],
                "`store_row_security` (env LOCI_STORE_ROW_SECURITY) is `on`; give true or false",
            ),
            (
                "store_citus = \"on\"\n",
                &[],
                "is `on`; give one of auto, coordinator, off",
            ),
            (
                "conversation_views = 1\n",
                &[],
                "`conversation_views` must be true or false",
            ),
            ("question_seconds = 4\n", &[], "`question_seconds`"),
            (
                "allowed_hosts = \"a\"\n",
                &[],
                "must be an array of strings",
            ),
            (
                "",
                &[("LOCI_VAULT_FILE_MODE", "0689")],
                "is `0689`; give one of 600, 640",
            ),
            (
                "",
                &[("LOCI_MEMORY_TOOL_HELPER", "rust")],
                "`memory_tool.helper` (env LOCI_MEMORY_TOOL_HELPER) is `rust`",
            ),
            (
                "",
                &[("LOCI_SEARCH", "magic")],
                "`search` (env LOCI_SEARCH) is `magic`",
            ),
            (
                "[embedding]\nprovider = \"folder\"\n",
                &[],
                "needs `embedding.model_folder`",
            ),
            (
                "[rerank]\nprovider = \"folder\"\n",
                &[],
                "needs `rerank.model_folder` (LOCI_RERANK_MODEL_FOLDER)",
            ),
            (
                "",
                &[("LOCI_RERANK_PROVIDER", "cohere")],
                "`rerank.provider` (env LOCI_RERANK_PROVIDER) is `cohere`",
            ),
            (
                "[embedding]\nruntime = \"cuda\"\n",
                &[],
                "is `cuda`; give one of rten, onnxruntime",
            ),
            (
                "[conversation]\nresults_max = 1001\n",
                &[],
                "from 1 to 1000",
            ),
            (
                "[ranking]\nrecency_weight = -0.5\n",
                &[],
                "a number from 0 to 1000",
            ),
            (
                "",
                &[("CACHE_SIMILARITY_THRESHOLD", "NaN")],
                "(env CACHE_SIMILARITY_THRESHOLD) is `NaN`",
            ),
            (
                "[llm]\nurl = \"http://localhost:1\"\n",
                &[],
                "needs `llm.model`",
            ),
            ("public_url = \"m.example\"\n", &[], "`public_url` (file "),
            (
                "trusted_proxies = [\"all\"]\n",
                &[],
                "names `all`; give addresses or networks",
            ),
            (
                "",
                &[("LOCI_OTLP_ENDPOINT", "collector:4318")],
                "(env LOCI_OTLP_ENDPOINT) must start with `http://`",
            ),
            ("[tls]\nkey = \"k\"\n", &[], "needs `tls.certificate`"),
            (
                "[oidc]\nissuer = \"https://i\"\nclient_secret = \"c\"\n",
                &[],
                "`oidc.client_secret` (file ",
            ),
            (
                "[oidc]\naudience = [\"a\"]\n",
                &[],
                "`oidc.audience` (file ",
            ),
            ("[rate_limit]\nburst = 0\n", &[], "from 1 to"),
            (
                "[oidc]\nissuer = \"https://i\"\ndefault_scopes = [\"root\"]\n",
                &[],
                "names `root`; give read",
            ),
            (
                "search = \"vector\"\n[embedding]\nprovider = \"none\"\n",
                &[],
                "needs a model",
            ),
        ];
        for (file, variables, expected) in rows {
            let failure = settle(file, variables, &[]).err().unwrap();
            assert_eq!(failure.exit, Exit::Usage);
            assert!(
                failure.message.contains(expected),
                "{} should contain {expected}",
                failure.message
            );
        }
    }

    #[test]
    fn the_runtime_counts_for_models_that_run_here() {
        use EmbeddingChoice::{Bundled, Folder, NoModel};
        let of = |provider: &str, runtime: &str| {
            let file = format!("[embedding]\nprovider = \"{provider}\"\nmodel_folder = \"f\"\n");
            settle(&file, &[("LOCI_EMBEDDING_RUNTIME", runtime)], &[])
                .map(|settings| settings.embedding)
        };
        for runtime in ["", "rten"] {
            assert_eq!(of("bundled", runtime), Ok(Bundled(Runtime::BuiltIn)));
            assert_eq!(
                of("folder", runtime),
                Ok(Folder("f".into(), Runtime::BuiltIn))
            );
        }
        assert_eq!(of("none", "onnxruntime"), Ok(NoModel));
        #[cfg(feature = "ort")]
        {
            assert_eq!(
                of("bundled", "onnxruntime"),
                Ok(Bundled(Runtime::Onnxruntime))
            );
            assert_eq!(
                of("folder", "onnxruntime"),
                Ok(Folder("f".into(), Runtime::Onnxruntime))
            );
        }
        #[cfg(not(feature = "ort"))]
        for provider in ["bundled", "folder"] {
            let failure = of(provider, "onnxruntime").unwrap_err();
            assert_eq!(failure.exit, Exit::Usage);
            for part in [
                "`embedding.runtime` (env LOCI_EMBEDDING_RUNTIME)",
                "--features ort",
            ] {
                assert!(
                    failure.message.contains(part),
                    "{} should contain {part}",
                    failure.message
                );
            }
        }
    }

    #[test]
    fn the_originals_names_count_after_ours() {
        let of = |variables: &[(&str, &str)]| {
            let settings = settle("[conversation]\nresults_max = 1\n", variables, &[]).unwrap();
            let row = settings
                .rows
                .into_iter()
                .find(|row| row.setting.key == RESULTS_MAX.key)
                .unwrap();
            (settings.policy.results_max, row.origin)
        };
        let (theirs, ours) = ("MAX_RESULTS_PER_QUERY", "LOCI_CONVERSATION_RESULTS_MAX");
        assert_eq!(of(&[(theirs, "2")]), (2, Origin::Environment(theirs)));
        assert_eq!(
            of(&[(theirs, "2"), (ours, "3")]),
            (3, Origin::Environment(ours))
        );
        assert_eq!(of(&[(theirs, "")]).0, 1);
    }

    #[test]
    fn the_defaults_are_those_of_the_engine() {
        assert_eq!(settle("", &[], &[]).unwrap().policy, Policy::default());
    }

    #[test]
    fn names_follow_from_the_key() {
        for setting in settings() {
            let name = setting.key.replace('.', "_").to_uppercase();
            assert_eq!(setting.variable, format!("LOCI_{name}"));
        }
    }

    #[test]
    fn no_key_is_the_name_of_a_table() {
        for table in settings() {
            let within = format!("{}.", table.key);
            let mut keys = settings().map(|setting| setting.key);
            assert!(keys.all(|key| !key.starts_with(&within)), "{within}");
        }
    }

    #[test]
    fn without_a_model_words_are_searched() {
        let settings = settle("[embedding]\nprovider = \"none\"\n", &[], &[]).unwrap();
        assert_eq!(settings.search, SearchMode::Words);
    }
}

//! The one list of settings, and where each value comes from.
//!
//! A value is the flag's, else the environment's, else the file's, else the default. `loci
//! config`, the help texts and the reference page are made from [`SETTINGS`].

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use directories::ProjectDirs;
use loci_engine::SearchMode;
use tracing::level_filters::LevelFilter;

use crate::exit::{Exit, Failure};
use crate::settings_file;

/// A setting.
pub struct Setting {
    /// The name in the file; a dot stands for a table.
    pub key: &'static str,
    /// The flag, without its dashes.
    pub flag: Option<&'static str>,
    /// The environment variable.
    pub variable: &'static str,
    /// The value when nobody sets one.
    pub default: Preset,
    /// The form in the file.
    pub form: Form,
    /// What it means.
    pub meaning: &'static str,
}

/// The value of a setting that nobody sets.
pub enum Preset {
    /// This text.
    Text(&'static str),
    /// What these words describe.
    Words(&'static str),
    /// None.
    Unset,
}

/// The form of a value in the file. Flags and the environment have text; there, items of a list
/// are separated by commas.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A string.
    Text,
    /// A string that is never shown.
    Secret,
    /// A whole number of seconds above zero.
    Seconds,
    /// An array of strings.
    List,
    /// One of these strings.
    Choice(&'static [&'static str]),
}

macro_rules! settings {
    ($($(#[doc = $doc:literal])+ $name:ident = $setting:expr;)+) => {
        $($(#[doc = $doc])+ pub const $name: Setting = $setting;)+
        /// Every setting, in the order of the documentation.
        pub static SETTINGS: &[Setting] = &[$($name),+];
    };
}

settings! {
    /// Where the data is.
    DATA = Setting {
        key: "data",
        flag: Some("data"),
        variable: "LOCI_DATA",
        default: Preset::Words("the platform's data folder"),
        form: Form::Text,
        meaning: "Folder that holds the memories",
    };
    /// How much is logged.
    LOG = Setting {
        key: "log",
        flag: Some("log"),
        variable: "LOCI_LOG",
        default: Preset::Words("info for `serve`, else warn"),
        form: Form::Choice(&["error", "warn", "info", "debug", "trace"]),
        meaning: "How much to log to stderr: error, warn, info, debug or trace",
    };
    /// How searches find candidates.
    SEARCH = Setting {
        key: "search",
        flag: Some("search"),
        variable: "LOCI_SEARCH",
        default: Preset::Text("hybrid"),
        form: Form::Choice(&["hybrid", "vector", "words"]),
        meaning: "How to search: hybrid (words and meaning), vector (meaning alone) or words",
    };
    /// The address of the HTTP server.
    BIND = Setting {
        key: "bind",
        flag: Some("bind"),
        variable: "LOCI_BIND",
        default: Preset::Text("127.0.0.1:7821"),
        form: Form::Text,
        meaning: "Address and port of the HTTP server; port 0 takes a free one",
    };
    /// Web pages that may call.
    ALLOWED_ORIGINS = Setting {
        key: "allowed_origins",
        flag: None,
        variable: "LOCI_ALLOWED_ORIGINS",
        default: Preset::Text(""),
        form: Form::List,
        meaning: "Origins of web pages that may call the HTTP server besides those of this machine, such as https://name:port",
    };
    /// Names of this server.
    ALLOWED_HOSTS = Setting {
        key: "allowed_hosts",
        flag: None,
        variable: "LOCI_ALLOWED_HOSTS",
        default: Preset::Text(""),
        form: Form::List,
        meaning: "Names under which the HTTP server is reached besides localhost, such as memory.example.org",
    };
    /// Which kind of model.
    EMBEDDING_PROVIDER = Setting {
        key: "embedding.provider",
        flag: None,
        variable: "LOCI_EMBEDDING_PROVIDER",
        default: Preset::Text("bundled"),
        form: Form::Choice(&["bundled", "folder", "http", "none"]),
        meaning: "Where the embedding model is: bundled (in the binary), folder (`embedding.model_folder`), http (`embedding.url`) or none (search by words alone)",
    };
    /// A model on disk.
    EMBEDDING_MODEL_FOLDER = Setting {
        key: "embedding.model_folder",
        flag: None,
        variable: "LOCI_EMBEDDING_MODEL_FOLDER",
        default: Preset::Unset,
        form: Form::Text,
        meaning: "Folder with model.onnx and tokenizer.json, for the provider folder",
    };
    /// A model behind an endpoint.
    EMBEDDING_URL = Setting {
        key: "embedding.url",
        flag: None,
        variable: "LOCI_EMBEDDING_URL",
        default: Preset::Unset,
        form: Form::Text,
        meaning: "Base URL of an OpenAI-compatible endpoint, such as http://localhost:11434/v1, for the provider http",
    };
    /// Its name there.
    EMBEDDING_MODEL = Setting {
        key: "embedding.model",
        flag: None,
        variable: "LOCI_EMBEDDING_MODEL",
        default: Preset::Unset,
        form: Form::Text,
        meaning: "Name of the model at that endpoint",
    };
    /// The key for it.
    EMBEDDING_API_KEY = Setting {
        key: "embedding.api_key",
        flag: None,
        variable: "LOCI_EMBEDDING_API_KEY",
        default: Preset::Unset,
        form: Form::Secret,
        meaning: "Key for that endpoint, sent as a bearer token; never shown",
    };
    /// Patience with it.
    EMBEDDING_TIMEOUT_SECONDS = Setting {
        key: "embedding.timeout_seconds",
        flag: None,
        variable: "LOCI_EMBEDDING_TIMEOUT_SECONDS",
        default: Preset::Text("10"),
        form: Form::Seconds,
        meaning: "Seconds that one request to that endpoint may take",
    };
    /// The rhythm of background work.
    MAINTENANCE_SECONDS = Setting {
        key: "maintenance_seconds",
        flag: None,
        variable: "LOCI_MAINTENANCE_SECONDS",
        default: Preset::Text("60"),
        form: Form::Seconds,
        meaning: "Seconds between two rounds in which `serve` and `mcp` remove expired memories and embed pending ones",
    };
    /// Patience with other processes.
    BUSY_TIMEOUT_SECONDS = Setting {
        key: "busy_timeout_seconds",
        flag: None,
        variable: "LOCI_BUSY_TIMEOUT_SECONDS",
        default: Preset::Text("10"),
        form: Form::Seconds,
        meaning: "Seconds that a write waits for other processes that write to the same data",
    };
}

/// The flag of the configuration file, which cannot name itself.
pub const CONFIG_FLAG: &str = "config";
/// Its environment variable.
pub const CONFIG_VARIABLE: &str = "LOCI_CONFIG";
/// What it means.
pub const CONFIG_MEANING: &str =
    "Configuration file [env: LOCI_CONFIG] [default: loci/config.toml in the platform's configuration folder]";

impl Setting {
    /// The help text of its flag.
    pub fn help(&self) -> String {
        let default = match self.default {
            Preset::Text("") | Preset::Unset => String::new(),
            Preset::Text(text) | Preset::Words(text) => format!(" [default: {text}]"),
        };
        format!("{} [env: {}]{default}", self.meaning, self.variable)
    }
}

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A flag of this call.
    Flag(&'static str),
    /// An environment variable.
    Environment(&'static str),
    /// A line of the configuration file.
    File(PathBuf, usize),
    /// Nobody set it.
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
pub struct Found {
    /// The value.
    pub text: String,
    /// Who set it.
    pub origin: Origin,
}

/// A setting with the value that holds, for `loci config`.
pub struct Row {
    /// Which.
    pub setting: &'static Setting,
    /// The value, if there is one; of a secret, only that there is one.
    pub value: Option<String>,
    /// Who set it.
    pub origin: Origin,
}

/// The embedding model that the settings choose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EmbeddingChoice {
    /// The one in the binary.
    Bundled,
    /// One on disk.
    Folder(PathBuf),
    /// One behind an endpoint.
    Http {
        /// The base URL.
        url: String,
        /// The model's name there.
        model: String,
        /// The key.
        api_key: Option<String>,
        /// For one request.
        timeout: Duration,
    },
    /// None.
    NoModel,
}

/// What holds for this call.
pub struct Settings {
    /// The configuration file that was read, or would be if it were there.
    pub config_file: Found,
    /// [`DATA`].
    pub data: PathBuf,
    /// [`LOG`], if somebody set it.
    pub log: Option<LevelFilter>,
    /// [`SEARCH`]; words, if there is no model.
    pub search: SearchMode,
    /// [`BIND`].
    pub bind: SocketAddr,
    /// [`ALLOWED_ORIGINS`].
    pub allowed_origins: Vec<String>,
    /// [`ALLOWED_HOSTS`].
    pub allowed_hosts: Vec<String>,
    /// [`EMBEDDING_PROVIDER`] and what belongs to it.
    pub embedding: EmbeddingChoice,
    /// [`MAINTENANCE_SECONDS`].
    pub maintenance: Duration,
    /// [`BUSY_TIMEOUT_SECONDS`].
    pub busy_timeout: Duration,
    /// Every setting as it holds.
    pub rows: Vec<Row>,
}

/// What the command line says, by flag.
pub type Flags = BTreeMap<&'static str, String>;
/// What the environment says, by variable.
pub type Variables = BTreeMap<String, String>;

impl Settings {
    /// Settles every setting. An empty variable counts as none.
    ///
    /// # Errors
    /// [`Exit::Usage`], naming the setting and its origin, if a value is not usable or the file
    /// cannot be read as one.
    pub fn settle(flags: &Flags, variables: &Variables) -> Result<Self, Failure> {
        let environment = |variable: &str| variables.get(variable).filter(|value| !value.is_empty()).cloned();
        let folders = ProjectDirs::from("", "", "loci");
        let config_file = config_file(flags, &environment, folders.as_ref())?;
        let is_named = config_file.origin != Origin::Default;
        let mut values = settings_file::read(Path::new(&config_file.text), is_named)?;
        for setting in SETTINGS {
            if let Some(text) = environment(setting.variable) {
                values.insert(setting.key, Found { text, origin: Origin::Environment(setting.variable) });
            }
            if let Some((flag, text)) = setting.flag.and_then(|flag| Some((flag, flags.get(flag)?.clone()))) {
                values.insert(setting.key, Found { text, origin: Origin::Flag(flag) });
            }
            if let (false, Preset::Text(text)) = (values.contains_key(setting.key), &setting.default) {
                values.insert(setting.key, Found { text: (*text).to_owned(), origin: Origin::Default });
            }
        }
        if !values.contains_key(DATA.key) {
            let folder = folders.as_ref().ok_or_else(|| no_home("--data FOLDER"))?.data_dir();
            values.insert(DATA.key, Found { text: folder.display().to_string(), origin: Origin::Default });
        }
        Values(values).into_settings(config_file)
    }
}

fn config_file(
    flags: &Flags,
    environment: &dyn Fn(&str) -> Option<String>,
    folders: Option<&ProjectDirs>,
) -> Result<Found, Failure> {
    if let Some(text) = flags.get(CONFIG_FLAG) {
        return Ok(Found { text: text.clone(), origin: Origin::Flag(CONFIG_FLAG) });
    }
    if let Some(text) = environment(CONFIG_VARIABLE) {
        return Ok(Found { text, origin: Origin::Environment(CONFIG_VARIABLE) });
    }
    let path = folders.ok_or_else(|| no_home("--config FILE"))?.config_dir().join("config.toml");
    Ok(Found { text: path.display().to_string(), origin: Origin::Default })
}

fn no_home(flag: &str) -> Failure {
    Failure::new(
        Exit::Usage,
        format!("this user has no home folder, so there is no default place; name one with {flag}"),
    )
}

struct Values(BTreeMap<&'static str, Found>);

impl Values {
    fn into_settings(self, config_file: Found) -> Result<Settings, Failure> {
        for setting in SETTINGS {
            self.check(setting)?;
        }
        let embedding = self.embedding()?;
        let search = match (self.text(&SEARCH), &embedding) {
            (Some("vector"), EmbeddingChoice::NoModel) => {
                return Err(
                    self.wrong(&SEARCH, "needs a model, but `embedding.provider` is none; change one of the two")
                );
            }
            (Some("words"), _) | (_, EmbeddingChoice::NoModel) => SearchMode::Words,
            (Some("vector"), _) => SearchMode::Vector,
            _ => SearchMode::Hybrid,
        };
        let bind = self.text(&BIND).unwrap_or_default();
        let bind = bind.parse().map_err(|_| {
            self.wrong(
                &BIND,
                format!("is `{bind}`; give an IP address with a port, such as 127.0.0.1:7821 or [::1]:7821"),
            )
        })?;
        let data = Path::new(self.text(&DATA).unwrap_or_default());
        let data = std::path::absolute(data).map_err(|error| self.wrong(&DATA, format!("is no path: {error}")))?;
        Ok(Settings {
            config_file,
            data,
            log: self.text(&LOG).and_then(|level| level.parse().ok()),
            search,
            bind,
            allowed_origins: self.list(&ALLOWED_ORIGINS),
            allowed_hosts: self.list(&ALLOWED_HOSTS),
            embedding,
            maintenance: self.seconds(&MAINTENANCE_SECONDS),
            busy_timeout: self.seconds(&BUSY_TIMEOUT_SECONDS),
            rows: SETTINGS.iter().map(|setting| self.row(setting)).collect(),
        })
    }

    fn text(&self, setting: &Setting) -> Option<&str> {
        self.0.get(setting.key).map(|found| found.text.as_str())
    }

    fn list(&self, setting: &Setting) -> Vec<String> {
        let items = self.text(setting).unwrap_or_default().split(',');
        items.map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect()
    }

    /// Of a checked setting.
    fn seconds(&self, setting: &Setting) -> Duration {
        Duration::from_secs(self.text(setting).and_then(|text| text.parse().ok()).unwrap_or(1))
    }

    fn check(&self, setting: &Setting) -> Result<(), Failure> {
        let Some(text) = self.text(setting) else { return Ok(()) };
        match setting.form {
            Form::Choice(choices) if !choices.contains(&text) => {
                Err(self.wrong(setting, format!("is `{text}`; give one of {}", choices.join(", "))))
            }
            Form::Seconds if !text.parse::<u32>().is_ok_and(|seconds| seconds > 0) => {
                Err(self.wrong(setting, format!("is `{text}`; give a whole number of seconds above zero")))
            }
            _ => Ok(()),
        }
    }

    fn embedding(&self) -> Result<EmbeddingChoice, Failure> {
        let needed = |setting: &Setting| {
            let provider = self.text(&EMBEDDING_PROVIDER).unwrap_or_default();
            self.text(setting).map(str::to_owned).ok_or_else(|| {
                let problem = format!("is {provider}, which needs `{}` ({})", setting.key, setting.variable);
                self.wrong(&EMBEDDING_PROVIDER, problem)
            })
        };
        Ok(match self.text(&EMBEDDING_PROVIDER) {
            Some("none") => EmbeddingChoice::NoModel,
            Some("folder") => EmbeddingChoice::Folder(PathBuf::from(needed(&EMBEDDING_MODEL_FOLDER)?)),
            Some("http") => EmbeddingChoice::Http {
                url: needed(&EMBEDDING_URL)?,
                model: needed(&EMBEDDING_MODEL)?,
                api_key: self.text(&EMBEDDING_API_KEY).map(str::to_owned),
                timeout: self.seconds(&EMBEDDING_TIMEOUT_SECONDS),
            },
            _ => EmbeddingChoice::Bundled,
        })
    }

    fn wrong(&self, setting: &Setting, problem: impl fmt::Display) -> Failure {
        let origin = self.0.get(setting.key).map_or(&Origin::Default, |found| &found.origin);
        Failure::new(Exit::Usage, format!("the setting `{}` ({origin}) {problem}", setting.key))
    }

    fn row(&self, setting: &'static Setting) -> Row {
        let found = self.0.get(setting.key);
        let shown = |found: &Found| if setting.form == Form::Secret { "set".to_owned() } else { found.text.clone() };
        let preset = match setting.default {
            Preset::Words(words) => Some(words.to_owned()),
            Preset::Text(_) | Preset::Unset => None,
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
    use super::*;

    /// Settles with a file of this text, these variables and these flags.
    fn settle(file: &str, variables: &[(&str, &str)], flags: &[(&'static str, &str)]) -> Result<Settings, Failure> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        std::fs::write(&path, file).unwrap();
        let mut flags: Flags = flags.iter().map(|(flag, value)| (*flag, (*value).to_owned())).collect();
        flags.insert(CONFIG_FLAG, path.display().to_string());
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Settings::settle(&flags, &variables)
    }

    fn origin_of(settings: &Settings, key: &str) -> String {
        let row = settings.rows.iter().find(|row| row.setting.key == key).unwrap();
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
            assert_eq!((settings.bind.port(), origin_of(&settings, "bind").as_str()), (port, origin));
        }
    }

    #[test]
    fn the_file_sets_everything() {
        let file = "data = \"d\"\nlog = \"debug\"\nsearch = \"words\"\nbind = \"[::1]:9\"\n\
                    allowed_origins = [\"https://a:1\", \"https://b:*\"]\nallowed_hosts = []\n\
                    maintenance_seconds = 5\nbusy_timeout_seconds = 6\n\
                    [embedding]\nprovider = \"http\"\nurl = \"http://localhost:1/v1\"\nmodel = \"m\"\n\
                    api_key = \"k\"\ntimeout_seconds = 7\nmodel_folder = \"f\"\n";
        let settings = settle(file, &[], &[]).unwrap();
        assert!(settings.rows.iter().all(|row| matches!(row.origin, Origin::File(..))));
        assert!(settings.data.is_absolute() && settings.data.ends_with("d"));
        assert_eq!(settings.log, Some(LevelFilter::DEBUG));
        assert_eq!(settings.search, SearchMode::Words);
        assert_eq!(settings.allowed_origins, ["https://a:1", "https://b:*"]);
        assert_eq!(settings.maintenance, Duration::from_secs(5));
        assert_eq!(settings.busy_timeout, Duration::from_secs(6));
        let api_key = Some("k".to_owned());
        let (url, model, timeout) = ("http://localhost:1/v1".to_owned(), "m".to_owned(), Duration::from_secs(7));
        assert_eq!(settings.embedding, EmbeddingChoice::Http { url, model, api_key, timeout });
    }

    #[test]
    fn wrong_values_are_refused_by_name_and_origin() {
        let rows: [(&str, &[_], &str); 9] = [
            ("log = \"loud\"\n", &[], "`log` (file "),
            ("search = 1\n", &[], "line 1: `search` must be a string"),
            ("\nbind = \"nowhere\"\n", &[], "config.toml:2) is `nowhere`"),
            ("maintenance_seconds = 0\n", &[], "above zero"),
            ("maintenance_seconds = \"5\"\n", &[], "must be a whole number"),
            ("allowed_hosts = \"a\"\n", &[], "must be an array of strings"),
            ("", &[("LOCI_SEARCH", "magic")], "`search` (env LOCI_SEARCH) is `magic`"),
            ("[embedding]\nprovider = \"folder\"\n", &[], "needs `embedding.model_folder`"),
            ("search = \"vector\"\n[embedding]\nprovider = \"none\"\n", &[], "needs a model"),
        ];
        for (file, variables, expected) in rows {
            let failure = settle(file, variables, &[]).err().unwrap();
            assert_eq!(failure.exit, Exit::Usage);
            assert!(failure.message.contains(expected), "{} should contain {expected}", failure.message);
        }
    }

    #[test]
    fn names_follow_from_the_key() {
        for setting in SETTINGS {
            let name = setting.key.replace('.', "_").to_uppercase();
            assert_eq!(setting.variable, format!("LOCI_{name}"));
        }
    }

    #[test]
    fn without_a_model_words_are_searched() {
        let settings = settle("[embedding]\nprovider = \"none\"\n", &[], &[]).unwrap();
        assert_eq!(settings.search, SearchMode::Words);
    }
}

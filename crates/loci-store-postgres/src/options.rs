//! Options for opening a store: the URL of its server and the limits of this process.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use loci_core::{Error, Result};
use tokio_postgres::Config;
use tokio_postgres::config::SslMode;

/// Is told each statement that a store sends, and the names of the types of its parameters.
pub type Observer = Arc<dyn Fn(&str, &[&str]) + Send + Sync>;

/// Options for opening a store.
#[derive(Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of its own"
)]
pub struct Options {
    /// The URL of the database, `postgres://USER@HOST[,HOST]/DATABASE?PARAMETERS`, with the
    /// parameters of libpq that tokio-postgres knows, and `sslmode` and `sslrootcert` as in libpq.
    pub url: String,
    /// The password; without it the one in the URL counts.
    pub password: Option<String>,
    /// The schema that holds the tables; created if it does not exist.
    pub schema: String,
    /// The most connections of this process.
    pub connections_max: usize,
    /// The time to wait for a connection, unless the URL says `connect_timeout`.
    pub connect_timeout: Duration,
    /// The time to wait for the answer to a commit, e.g. for a synchronous standby. Its outcome is not
    /// known afterwards.
    pub commit_timeout: Duration,
    /// Bytes of memory that the indexes of all spaces may use; beyond it, the ones that were not
    /// searched for longest are evicted. The index of the space that is searched always fits.
    pub index_bytes_max: usize,
    /// True if a schema of an older version is brought to the current one.
    pub migrates: bool,
    /// True if missing tables are made, which a command that only reads does not.
    pub creates: bool,
    /// True if row security is turned on in the tables, if it is off: the server then keeps the
    /// spaces apart as well. Where it is on, a store declares its scopes whatever this says.
    pub row_security: bool,
    /// True if migrations distribute the tables by space where the database has the extension Citus.
    pub distributes: bool,
    /// True if the work of a space connects to the worker of a cluster that has its rows, as the coordinator
    /// names it; the coordinator passes all on otherwise.
    pub connects_to_workers: bool,
    /// True if a server may acknowledge commits that are not on its disk. For tests.
    pub allows_unsafe: bool,
    /// Is told what is sent. For tests.
    pub observer: Option<Observer>,
}

impl Options {
    /// Returns the default options for a URL.
    pub fn new(url: impl Into<String>) -> Self {
        Options {
            url: url.into(),
            password: None,
            schema: "loci".to_owned(),
            connections_max: 16,
            connect_timeout: Duration::from_secs(5),
            commit_timeout: Duration::from_secs(20),
            index_bytes_max: 1 << 30,
            migrates: true,
            creates: true,
            row_security: false,
            distributes: true,
            connects_to_workers: true,
            allows_unsafe: false,
            observer: None,
        }
    }
}

impl Options {
    /// Checks the URL and the schema, without a connection.
    ///
    /// # Errors
    /// `invalid_argument`, which never repeats a password.
    pub fn check(&self) -> Result<()> {
        Target::parse(&self.url, None)?;
        prefix(&self.schema).map(drop)
    }

    /// Returns the place of the store for people: the URL without its password, and the schema.
    pub fn shown(&self) -> String {
        let (url, _) = without_password(&self.url);
        format!("{url} (schema {})", self.schema)
    }
}

/// Takes the password out of a URL: returns the URL without it, and the password.
pub fn without_password(url: &str) -> (String, Option<String>) {
    let decoded = |text: &str| {
        percent_encoding::percent_decode_str(text)
            .decode_utf8_lossy()
            .into_owned()
    };
    let mut password = None;
    let mut url = url.to_owned();
    // The user and the password come first: people forget to escape the signs of a password.
    if let Some((scheme, rest)) = url.split_once("://")
        && let Some((user, host)) = rest.rsplit_once('@')
        && let Some((name, secret)) = user.split_once(':')
        && !name.contains(['/', '?'])
    {
        password = Some(decoded(secret));
        url = format!("{scheme}://{name}@{host}");
    }
    let (place, parameters) = match url.split_once('?') {
        Some((place, parameters)) => (place, Some(parameters)),
        None => (url.as_str(), None),
    };
    let mut bare = place.to_owned();
    let mut others = Vec::new();
    for parameter in parameters.into_iter().flat_map(|text| text.split('&')) {
        match parameter.split_once('=') {
            Some(("password", secret)) => password = Some(decoded(secret)),
            _ => others.push(parameter),
        }
    }
    if !others.is_empty() {
        bare = format!("{bare}?{}", others.join("&"));
    }
    (bare, password)
}

/// Without the password and the URL, which may hold one.
impl fmt::Debug for Options {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Options")
            .field("schema", &self.schema)
            .field("connections_max", &self.connections_max)
            .finish_non_exhaustive()
    }
}

/// The check of the server's identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trust {
    /// Not at all; the connection may be encrypted all the same.
    Anyone,
    /// By its certificate and its name, against these certificate authorities, or the system's.
    Certificate(Option<PathBuf>),
}

/// A server and how to reach it.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) config: Config,
    pub(crate) trust: Trust,
}

impl Target {
    /// Reads a URL.
    pub(crate) fn parse(url: &str, password: Option<&str>) -> Result<Self> {
        let invalid = |problem: &str| Error::invalid("store", problem);
        if !(url.starts_with("postgres://") || url.starts_with("postgresql://")) {
            return Err(invalid(
                "must be a URL that begins with postgres:// or postgresql://",
            ));
        }
        let (place, parameters) = url.split_once('?').unwrap_or((url, ""));
        let (mut mode, mut roots, mut others) = (None, None, Vec::new());
        for parameter in parameters.split('&').filter(|part| !part.is_empty()) {
            match parameter.split_once('=') {
                Some(("sslmode", value)) => mode = Some(value),
                Some(("sslrootcert", value)) => roots = Some(PathBuf::from(value)),
                _ => others.push(parameter),
            }
        }
        let (mode, trust) = match mode {
            None | Some("disable" | "allow" | "prefer") if roots.is_some() => {
                return Err(invalid(
                    "names `sslrootcert` without an `sslmode` that uses it; add sslmode=verify-full",
                ));
            }
            Some("disable") => (SslMode::Disable, Trust::Anyone),
            None | Some("allow" | "prefer") => (SslMode::Prefer, Trust::Anyone),
            // As in libpq: with certificate authorities at hand, they are used.
            Some("require") if roots.is_none() => (SslMode::Require, Trust::Anyone),
            Some("require" | "verify-ca" | "verify-full") => {
                (SslMode::Require, Trust::Certificate(roots))
            }
            Some(_) => {
                return Err(invalid(
                    "has an unknown sslmode; use disable, prefer, require or verify-full",
                ));
            }
        };
        let rest = if others.is_empty() {
            place.to_owned()
        } else {
            format!("{place}?{}", others.join("&"))
        };
        let mut config = Config::from_str(&rest).map_err(|error| {
            let reason = std::error::Error::source(&error)
                .map_or_else(|| error.to_string(), ToString::to_string);
            invalid(&format!("is no URL of PostgreSQL: {reason}"))
        })?;
        if config.get_dbname().is_none() {
            return Err(invalid(
                "names no database; write postgres://USER@HOST/DATABASE",
            ));
        }
        config
            .ssl_mode(mode)
            .keepalives_idle(Duration::from_mins(1))
            .tcp_user_timeout(Duration::from_secs(30));
        if let Some(password) = password {
            config.password(password);
        }
        Ok(Target { config, trust })
    }
}

/// Returns the name of a schema as SQL, followed by a point.
pub(crate) fn prefix(schema: &str) -> Result<String> {
    const CHARACTERS_MAX: usize = 63;
    let is_plain = |sign: char| sign.is_ascii_lowercase() || sign.is_ascii_digit() || sign == '_';
    let is_name = !schema.is_empty()
        && schema.len() <= CHARACTERS_MAX
        && schema.chars().all(is_plain)
        && !schema.starts_with("pg_")
        && !schema.starts_with(|sign: char| sign.is_ascii_digit());
    if is_name {
        Ok(format!("\"{schema}\"."))
    } else {
        Err(Error::invalid(
            "store_schema",
            "must have 1 to 63 lower-case letters, digits and underscores, and begin with a letter other than in pg_",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_says_how_the_server_is_trusted() {
        let read = |url: &str| {
            Target::parse(url, None).map(|target| (target.config.get_ssl_mode(), target.trust))
        };
        for (parameters, expected) in [
            ("", (SslMode::Prefer, Trust::Anyone)),
            ("?sslmode=disable", (SslMode::Disable, Trust::Anyone)),
            (
                "?sslmode=require&application_name=a",
                (SslMode::Require, Trust::Anyone),
            ),
            (
                "?sslmode=verify-full",
                (SslMode::Require, Trust::Certificate(None)),
            ),
            (
                "?sslrootcert=/ca.pem&sslmode=require",
                (SslMode::Require, Trust::Certificate(Some("/ca.pem".into()))),
            ),
        ] {
            let url = format!("postgres://a@b/c{parameters}");
            assert_eq!(read(&url), Ok(expected));
        }
        for url in [
            "mysql://a@b/c",
            "postgres://a@b",
            "postgres://a@b/c?sslmode=strict",
            "postgres://a@b/c?sslrootcert=/ca.pem",
            "postgres://a@b/c?sslrootcert=/ca.pem&sslmode=prefer",
            "postgres://a@b/c?nonsense=1",
            "postgres://a@b:port/c",
        ] {
            let refused = read(url).unwrap_err();
            assert_eq!(refused.argument.as_deref(), Some("store"), "{refused}");
        }
    }

    #[test]
    fn a_password_is_never_shown() {
        let mut options = Options::new("postgres://a:secret@b/c");
        options.password = Some("secret".to_owned());
        assert!(!format!("{options:?}").contains("secret"));
        let refused = Target::parse("postgres://a:secret@b:port/c", None).unwrap_err();
        assert!(!refused.to_string().contains("secret"), "{refused}");
    }

    #[test]
    fn a_password_is_taken_out_of_a_url() {
        for (url, bare, password) in [
            ("postgres://a:s%40c@b/c", "postgres://a@b/c", Some("s@c")),
            (
                "postgres://a@b/c?password=x&sslmode=require",
                "postgres://a@b/c?sslmode=require",
                Some("x"),
            ),
            (
                "postgres://a:p?s&t/u@b/c",
                "postgres://a@b/c",
                Some("p?s&t/u"),
            ),
            ("postgres://b:5/c?password=x", "postgres://b:5/c", Some("x")),
            ("postgres://a@b,d:6/c", "postgres://a@b,d:6/c", None),
        ] {
            let expected = (bare.to_owned(), password.map(str::to_owned));
            assert_eq!(without_password(url), expected);
        }
        let options = Options::new("postgres://a:secret@b/c");
        assert_eq!(options.shown(), "postgres://a@b/c (schema loci)");
    }

    #[test]
    fn a_schema_is_a_plain_name() {
        assert_eq!(prefix("loci_2"), Ok("\"loci_2\".".to_owned()));
        for name in ["", "Loci", "a\"b", "pg_loci", "2loci"] {
            prefix(name).unwrap_err();
        }
    }
}

//! The URL of a server that hosts connect to.

use crate::exit::{Exit, Failure};
use crate::output::status_line;

/// The address of a server, with or without the path of a dialect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The URL before `/mcp`.
    base: String,
    /// The dialect that the path names, if it names one.
    pub dialect: Option<String>,
}

impl Endpoint {
    /// Parses a URL. Warns if tokens would travel unencrypted to another machine.
    ///
    /// # Errors
    /// `Usage` if it is no URL of a server, has a password or a query, or names another dialect than
    /// `wanted`.
    pub fn parse(url: &str, wanted: Option<&str>, dialects: &[&str]) -> Result<Self, Failure> {
        let refused = |problem: &str| {
            let message = format!(
                "--http {problem}; give the address of a server, such as http://127.0.0.1:7821 or \
                 https://memory.example.org/mcp/mememory"
            );
            Failure::new(Exit::Usage, message)
        };
        let rest = ["http://", "https://"]
            .into_iter()
            .find_map(|scheme| url.strip_prefix(scheme))
            .ok_or_else(|| refused("begins with neither http:// nor https://"))?;
        let host = rest.split('/').next().unwrap_or_default();
        if host.is_empty()
            || url.contains(|letter: char| letter.is_whitespace() || letter.is_control())
        {
            return Err(refused("is no URL"));
        }
        if host.contains('@') {
            return Err(refused(
                "holds a name or a password, which a file of a host must not have",
            ));
        }
        if url.contains(['?', '#']) {
            return Err(refused("has a query or a fragment"));
        }
        let trimmed = url.trim_end_matches('/');
        let (base, dialect) = match trimmed.rsplit_once("/mcp/") {
            Some((base, name)) if dialects.contains(&name) => (base, Some(name.to_owned())),
            Some((_, name)) => {
                let problem = format!(
                    "names the tools `{name}`, which loci does not have: it has {}",
                    dialects.join(", ")
                );
                return Err(refused(&problem));
            }
            None => (trimmed.strip_suffix("/mcp").unwrap_or(trimmed), None),
        };
        if let (Some(of_url), Some(wanted)) = (&dialect, wanted)
            && of_url != wanted
        {
            return Err(refused(&format!(
                "names the tools {of_url}, and --dialect names {wanted}"
            )));
        }
        if url.starts_with("http://") && !is_loopback(host) {
            status_line("warning: the token and the memories travel unencrypted to this server");
        }
        Ok(Endpoint {
            base: base.to_owned(),
            dialect,
        })
    }

    /// Returns the URL of a dialect.
    pub fn url(&self, dialect: &str) -> String {
        format!("{}/mcp/{dialect}", self.base)
    }
}

/// True for an address of only this machine, with or without a port.
fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next(),
        None => host.split(':').next(),
    };
    name.is_some_and(|name| {
        name == "localhost"
            || name
                .parse::<std::net::IpAddr>()
                .is_ok_and(|ip| ip.is_loopback())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIALECTS: [&str; 2] = ["mememory", "vault"];

    #[test]
    fn urls_lead_to_a_dialect() {
        for (url, expected) in [
            (
                "http://127.0.0.1:7821",
                "http://127.0.0.1:7821/mcp/mememory",
            ),
            (
                "http://127.0.0.1:7821/",
                "http://127.0.0.1:7821/mcp/mememory",
            ),
            (
                "https://h.example/x/mcp",
                "https://h.example/x/mcp/mememory",
            ),
            (
                "https://h.example/mcp/vault/",
                "https://h.example/mcp/vault",
            ),
        ] {
            let endpoint = Endpoint::parse(url, None, &DIALECTS).unwrap();
            let dialect = endpoint.dialect.as_deref().unwrap_or("mememory");
            assert_eq!(endpoint.url(dialect), expected);
        }
    }

    #[test]
    fn wrong_urls_are_refused() {
        for (url, wanted, problem) in [
            ("h.example", None, "neither http:// nor https://"),
            ("http://", None, "is no URL"),
            ("http://a b", None, "is no URL"),
            ("https://me:secret@h.example", None, "a password"),
            ("https://h.example/?token=x", None, "a query"),
            ("https://h.example/mcp/other", None, "does not have"),
            ("https://h.example/mcp/vault", Some("mememory"), "--dialect"),
        ] {
            let refused = Endpoint::parse(url, wanted, &DIALECTS).unwrap_err();
            assert_eq!(refused.exit, Exit::Usage);
            assert!(refused.message.contains(problem), "{}", refused.message);
            assert!(!refused.message.contains("secret"));
        }
    }

    #[test]
    fn loopback_is_known() {
        for (host, expected) in [
            ("127.0.0.1:7821", true),
            ("[::1]:7", true),
            ("localhost", true),
            ("192.168.1.2:7821", false),
            ("h.example", false),
        ] {
            assert_eq!(is_loopback(host), expected, "{host}");
        }
    }
}

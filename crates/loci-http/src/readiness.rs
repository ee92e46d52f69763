//! The question to a server of loci whether it is ready.

use std::time::Duration;

use loci_core::{Error, Result, StoreFault};
use ureq::http::uri::InvalidUri;
use ureq::http::{StatusCode, Uri};

use crate::loopback::is_loopback;
use crate::sent::Observed;
use crate::trust;

/// The path that a server of loci answers, with this text if it is ready.
const PATH: &str = "/readyz";
const READY: &[u8] = b"ok\n";
/// The beginning of the text if it is not, before the fault of its store, if that is known.
const NOT_READY: &str = "not ready: ";
/// The most bytes of an answer that are read.
const ANSWER_BYTES_MAX: u64 = 64;

/// What a server of loci that answers can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    /// Everything.
    Ready,
    /// Nothing, or only to read: its store has this fault.
    NotReady(StoreFault),
}

/// Asks the server at a URL whether it is ready, without redirects and retries. `argument` names the
/// URL in errors, `timeout` is for the whole answer.
///
/// # Errors
/// `invalid_argument`, naming `argument`, if it is no `http` or `https` URL of a server; else
/// `unavailable`, with the URL and the problem.
pub fn check_ready(argument: &str, url: &str, timeout: Duration) -> Result<Readiness> {
    let wrong = |problem| Error::invalid(argument, problem);
    let uri: Uri = url.parse().map_err(|error: InvalidUri| {
        wrong("is no URL; give one such as `http://127.0.0.1:7821`").caused_by(error)
    })?;
    if !matches!(uri.scheme_str(), Some("http" | "https")) {
        return Err(wrong("must start with `http://` or `https://`"));
    }
    let host = uri.host().unwrap_or_default();
    let has_user = uri
        .authority()
        .is_some_and(|all| all.as_str().contains('@'));
    if host.is_empty() || has_user {
        return Err(wrong("must name a host, and no user name or password"));
    }
    if uri.query().is_some() {
        return Err(wrong("must have no `?`"));
    }
    let base = url.trim_end_matches('/');
    let base = base.strip_suffix(PATH).unwrap_or(base);
    ask(&format!("{base}{PATH}"), is_loopback(host), timeout)
        .map_err(|problem| Error::unavailable(format!("the server at {base} {problem}")))
}

/// Returns an agent for requests to a server of loci at a URL, without redirects and retries.
pub(crate) fn own_server_agent(url: &str, is_loopback: bool, timeout: Duration) -> ureq::Agent {
    let mut config = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .tls_config(trust::tls_for(url))
        .middleware(Observed("server"))
        .user_agent(concat!("loci/", env!("CARGO_PKG_VERSION")))
        .timeout_global(Some(timeout));
    if is_loopback {
        config = config.proxy(None);
    }
    config.build().new_agent()
}

/// Asks; returns the problem in words that follow the server.
fn ask(url: &str, is_loopback: bool, timeout: Duration) -> std::result::Result<Readiness, String> {
    let agent = own_server_agent(url, is_loopback, timeout);
    let failed = |error: ureq::Error| match error {
        ureq::Error::Timeout(_) => format!("did not answer within {timeout:?}"),
        ureq::Error::HostNotFound => "has a host that is not known; see its URL".to_owned(),
        error if trust::is_distrust(&error) => trust::REMEDY.to_owned(),
        error => format!("does not answer ({error}); see whether `loci serve` runs there"),
    };
    let mut response = agent.get(url).call().map_err(failed)?;
    let status = response.status();
    let body = response.body_mut().with_config().limit(ANSWER_BYTES_MAX);
    match (status, body.read_to_vec().ok().as_deref()) {
        (StatusCode::OK, Some(READY)) => Ok(Readiness::Ready),
        (StatusCode::SERVICE_UNAVAILABLE, said) => {
            let fault = said.and_then(fault_in).map(Readiness::NotReady);
            fault.ok_or_else(|| {
                "is not ready: it stops, or its store cannot be used; see its log, and `loci doctor`"
                    .to_owned()
            })
        }
        _ => Err(format!(
            "does not answer as loci does (HTTP {}); see whether this is its URL",
            status.as_u16()
        )),
    }
}

/// Returns the fault that an answer names.
fn fault_in(said: &[u8]) -> Option<StoreFault> {
    let reason = str::from_utf8(said)
        .ok()?
        .strip_prefix(NOT_READY)?
        .trim_end();
    let mut faults = StoreFault::ALL.into_iter();
    faults.find(|fault| fault.reason() == reason)
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::net::TcpListener;
    use std::thread;

    use loci_core::ErrorCode;

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(10);

    /// Asks a server that gives this answer; returns the path that it was asked for, and the
    /// outcome.
    fn asked(status: &str, body: &str, path: &str) -> (String, Result<Readiness>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}{path}", listener.local_addr().unwrap());
        let answer = format!(
            "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut lines = BufReader::new(&stream).lines();
            let first = lines.next().unwrap().unwrap();
            while !lines.next().unwrap().unwrap().is_empty() {}
            stream.write_all(answer.as_bytes()).unwrap();
            first.split(' ').nth(1).unwrap().to_owned()
        });
        let outcome = check_ready("server", &url, TIMEOUT);
        (server.join().unwrap(), outcome)
    }

    #[test]
    fn a_server_that_is_ready_is_told_from_others() {
        for path in ["", "/", "/readyz"] {
            let (path, outcome) = asked("200 OK", "ok\n", path);
            assert_eq!(path, "/readyz");
            assert_eq!(outcome, Ok(Readiness::Ready));
        }
        let (path, outcome) = asked("200 OK", "ok\n", "/behind/");
        let ready = Ok(Readiness::Ready);
        assert_eq!((path.as_str(), outcome), ("/behind/readyz", ready));
        for (said, fault) in [
            ("not ready: the disk is full\n", StoreFault::DiskFull),
            (
                "not ready: the store can only be read\n",
                StoreFault::ReadOnly,
            ),
            ("not ready: the store cannot be reached\n", StoreFault::Away),
        ] {
            let (_, outcome) = asked("503 Service Unavailable", said, "");
            assert_eq!(outcome, Ok(Readiness::NotReady(fault)));
        }
        for (status, body, expected) in [
            ("503 Service Unavailable", "not ready\n", "is not ready"),
            ("200 OK", "<html>", "as loci does (HTTP 200)"),
            ("200 OK", &"x".repeat(100), "as loci does (HTTP 200)"),
            ("404 Not Found", "", "as loci does (HTTP 404)"),
            ("302 Found", "", "as loci does (HTTP 302)"),
        ] {
            let error = asked(status, body, "").1.unwrap_err();
            assert_eq!(error.code, ErrorCode::Unavailable);
            assert!(error.message.contains(expected), "{error}");
        }
    }

    #[test]
    fn no_server_is_a_fault() {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", free.local_addr().unwrap());
        drop(free);
        let error = check_ready("server", &url, TIMEOUT).unwrap_err();
        assert_eq!(error.code, ErrorCode::Unavailable);
        assert!(error.message.contains("loci serve"), "{error}");
    }

    #[test]
    fn urls_are_checked() {
        for url in [
            "",
            "a b",
            "127.0.0.1:7821",
            "host.example",
            "ftp://host.example",
            "http://",
            "http://me@host.example",
            "http://host.example/?a=b",
        ] {
            let error = check_ready("server", url, TIMEOUT).unwrap_err();
            assert_eq!(error.code, ErrorCode::InvalidArgument, "{url}");
            assert_eq!(error.argument.as_deref(), Some("server"), "{url}");
        }
    }
}

//! The way into the page of a running server.

use std::time::Duration;

use loci_core::{Error, Result};
use serde::Deserialize;
use ureq::http::{StatusCode, Uri};

use crate::loopback::is_loopback;
use crate::readiness::own_server_agent;

/// The path that makes a code.
const PATH: &str = "/api/v1/codes";

#[derive(Deserialize)]
struct CodeReply {
    path: String,
}

/// Asks the server at a URL for a path that starts a session of a browser, once and within a
/// minute. The session has the rights of the token; without one, of a server that asks for none.
///
/// # Errors
/// `unauthorized` if the server does not take the token; else `unavailable`, with the problem.
pub fn sign_in_path(url: &str, token: Option<&str>, timeout: Duration) -> Result<String> {
    let failed = |problem: &dyn std::fmt::Display| {
        Error::unavailable(format!(
            "the server at {url} does not open its page: {problem}"
        ))
    };
    let uri: Uri = url.parse().map_err(|error| failed(&error))?;
    let host = uri.host().unwrap_or_default();
    let agent = own_server_agent(url, is_loopback(host), timeout);
    let mut request = agent.post(format!("{url}{PATH}"));
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let mut response = request.send_empty().map_err(|error| failed(&error))?;
    match response.status() {
        StatusCode::OK => {
            let made: CodeReply = response
                .body_mut()
                .read_json()
                .map_err(|error| failed(&error))?;
            Ok(made.path)
        }
        StatusCode::UNAUTHORIZED => Err(Error::new(
            loci_core::ErrorCode::Unauthorized,
            format!("the server at {url} does not take the token of this data folder"),
        )),
        status => Err(failed(&format_args!("HTTP {}", status.as_u16()))),
    }
}

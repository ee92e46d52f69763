//! The question to a running server whether it is ready.

use std::time::Duration;

use loci_core::StoreFault;
use loci_http::{Readiness, check_ready};

use super::{Findings, Verdict};
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::own_server::{own_url, running_url};
use crate::settings::Settings;

/// The time for the answer. Engines of containers give a check more.
const TIMEOUT: Duration = Duration::from_secs(3);

/// Asks the server at the URL or, if that is empty, the one of this data folder that runs, or else the
/// one that the settings describe.
pub fn run(settings: &Settings, url: &str, output: Output) -> Result<(), Failure> {
    let url = match (url, running_url(&settings.data)) {
        ("", Some(running)) => running,
        ("", None) => own_url(settings, "name the server: `loci doctor --server URL`")?,
        (named, _) => named.to_owned(),
    };
    let finding = match check_ready("--server", &url, TIMEOUT) {
        Ok(Readiness::Ready) => (Verdict::Ok, format!("the server at {url} is ready")),
        Ok(Readiness::NotReady(fault)) => {
            let why = match fault {
                StoreFault::DiskFull => {
                    "can only read, because the disk with its store is full; free some space"
                }
                StoreFault::ReadOnly => {
                    "can only read, because its store takes no writes; see `loci doctor`"
                }
                StoreFault::Away => "cannot reach its store; see `loci doctor`",
            };
            (
                Verdict::Fail(Exit::Failure),
                format!("the server at {url} {why}"),
            )
        }
        Err(error) if error.argument.is_some() => {
            return Err(Failure::new(Exit::Usage, error.message));
        }
        Err(error) => (Verdict::Fail(Exit::Failure), error.message),
    };
    let mut findings = Findings::new(output);
    findings.push(("server", finding.0, finding.1));
    findings.end()
}

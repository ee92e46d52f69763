//! Checks of the environment: the model, the provider of tokens, the certificate, the clock.

use std::sync::Arc;
use std::time::Instant;

use loci_core::{Clock, Timestamp, TokenVerifier};
use loci_embed::CrossEncoder;
use loci_engine::SearchMode;
use loci_hosts::Machine;
use loci_oidc::{KeyStatus, OidcSignIn, OidcVerifier};
use loci_server::{MonotonicTime, Tls};

use super::{Finding, Verdict};
use crate::exit::Exit;
use crate::models::probe;
use crate::output::moment;
use crate::settings::{Settings, TlsFiles};
use crate::wiring::SystemClock;

/// The earliest time that the clock can show, 2025-01-01, in seconds since 1970.
const CLOCK_SECONDS_MIN: i64 = 1_735_689_600;

/// Reports whether the provider of tokens answers, if there is one.
pub fn identity_provider(settings: &Settings) -> Option<Finding> {
    const WHAT: &str = "identity";
    let options = settings.network.oidc.clone()?;
    let verifier = match OidcVerifier::new(options.clone(), Arc::new(SystemClock)) {
        Ok(verifier) => verifier,
        Err(error) => return Some((WHAT, Verdict::Fail(Exit::Usage), error.message)),
    };
    let sign_in = match OidcSignIn::new(options) {
        Ok(sign_in) => sign_in,
        Err(error) => return Some((WHAT, Verdict::Fail(Exit::Usage), error.message)),
    };
    Some(match verifier.probe() {
        Ok(KeyStatus { keys, .. }) => match sign_in.map_or(Ok(()), |sign_in| sign_in.probe()) {
            Ok(()) => (
                WHAT,
                Verdict::Ok,
                format!("{} answers, with {keys} keys", verifier.issuer()),
            ),
            Err(error) => (
                WHAT,
                Verdict::Warn,
                format!("{}; people cannot sign in on the page", error.message),
            ),
        },
        Err(error) => (
            WHAT,
            Verdict::Warn,
            format!(
                "{}; until it answers, none of its tokens is accepted",
                error.message
            ),
        ),
    })
}

/// Reports whether the certificate of the HTTP server can be used, if there is one.
pub fn certificate(settings: &Settings) -> Option<Finding> {
    const WHAT: &str = "certificate";
    let TlsFiles { certificate, key } = settings.network.tls.clone()?;
    let shown = certificate.display().to_string();
    Some(
        match Tls::from_files(certificate, key, MonotonicTime::default()) {
            Ok(_) => (
                WHAT,
                Verdict::Ok,
                format!("{shown} and its key can be used"),
            ),
            Err(error) => (WHAT, Verdict::Fail(Exit::Usage), error.message),
        },
    )
}

/// Names what killed commands, or others at the same time, left beside the files of hosts.
pub fn leftovers() -> Vec<Finding> {
    let (Some(machine), Ok(project)) = (Machine::here(), std::env::current_dir()) else {
        return Vec::new();
    };
    let found = loci_hosts::leftovers(&machine, &project).into_iter();
    found
        .map(|leftover| ("hosts", Verdict::Warn, leftover.to_string()))
        .collect()
}

/// Clears what killed commands left beside the files of hosts.
pub fn sweep() -> Vec<Finding> {
    let (Some(machine), Ok(project)) = (Machine::here(), std::env::current_dir()) else {
        return Vec::new();
    };
    let found = loci_hosts::leftovers(&machine, &project);
    loci_hosts::sweep(&machine, &project);
    let cleared = found
        .into_iter()
        .filter(|leftover| !leftover.is_of_others && !leftover.file.exists());
    cleared
        .map(|leftover| {
            let why = format!("cleared {}", leftover.file.display());
            ("hosts", Verdict::Done, why)
        })
        .collect()
}

pub fn model(settings: &Settings) -> Finding {
    const WHAT: &str = "model";
    if settings.search == SearchMode::Words {
        return (
            WHAT,
            Verdict::Ok,
            "none is used: searches go by words alone".to_owned(),
        );
    }
    let begin = Instant::now();
    match probe(&settings.embedding) {
        Ok((model, components)) => {
            let milliseconds = begin.elapsed().as_millis();
            let why = format!(
                "{model} loads and answers in {milliseconds} ms, with {components} components"
            );
            (WHAT, Verdict::Ok, why)
        }
        Err(error) => (WHAT, Verdict::Fail(Exit::Model), error.message),
    }
}

/// Checks the cross-encoder, if the settings choose one.
pub fn reranker(settings: &Settings) -> Option<Finding> {
    const WHAT: &str = "reranker";
    let folder = settings.reranker_folder.as_ref()?;
    let begin = Instant::now();
    Some(match CrossEncoder::of_folder(folder).check() {
        Ok(()) => {
            let milliseconds = begin.elapsed().as_millis();
            let why = format!(
                "the model in {} loads and reads a text in {milliseconds} ms",
                folder.display()
            );
            (WHAT, Verdict::Ok, why)
        }
        Err(error) => (WHAT, Verdict::Fail(Exit::Model), error.message),
    })
}

pub fn clock() -> Finding {
    clock_at(SystemClock.now())
}

fn clock_at(now: Timestamp) -> Finding {
    let why = format!("it is {}", moment(now));
    if now.microseconds() / 1_000_000 < CLOCK_SECONDS_MIN {
        return (
            "clock",
            Verdict::Warn,
            format!("{why}, which cannot be; set the clock, or ages will be wrong"),
        );
    }
    ("clock", Verdict::Ok, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_was_never_set_is_told() {
        let said = |seconds: i64| clock_at(Timestamp::from_microseconds(0).plus_seconds(seconds));
        for wrong in [0, CLOCK_SECONDS_MIN - 1] {
            let (what, verdict, why) = said(wrong);
            assert!(
                what == "clock" && verdict == Verdict::Warn && why.contains("set the clock"),
                "{why}"
            );
        }
        let (what, verdict, why) = said(CLOCK_SECONDS_MIN);
        assert!(
            what == "clock" && verdict == Verdict::Ok && why == "it is 2025-01-01T00:00:00Z",
            "{why}"
        );
    }
}

//! Taking secrets out of what is stored.

use std::collections::BTreeMap;
use std::sync::Arc;

use loci_core::{Citation, Redacted, Redactions, Redactor};

use crate::{Engine, Remember};

/// The texts that secrets are taken out of before they are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RedactionScope {
    /// None.
    Nothing,
    /// The texts of files and transcripts.
    #[default]
    Mined,
    /// The same, and what callers write, ask for, and leave in the audit log.
    Everything,
}

/// The finder of secrets, and the texts that it takes them out of.
#[derive(Default)]
pub(crate) struct Redaction {
    redactor: Option<Arc<dyn Redactor>>,
    scope: RedactionScope,
}

impl Engine {
    /// The same engine with something that finds secrets, and the texts that it takes them out of.
    #[must_use]
    pub fn with_redactor(self, redactor: Arc<dyn Redactor>, scope: RedactionScope) -> Self {
        Engine {
            redaction: Redaction {
                redactor: Some(redactor),
                scope,
            },
            ..self
        }
    }

    /// Whether secrets are taken out of what callers write.
    pub(crate) fn redacts_everything(&self) -> bool {
        self.redaction.scope == RedactionScope::Everything
    }

    /// The text of a transcript without its secrets; as it is, if the scope leaves transcripts out.
    pub fn redact_mined<'a>(&self, text: &'a str) -> Redacted<'a> {
        if self.redaction.scope == RedactionScope::Nothing {
            Redacted::unchanged(text)
        } else {
            self.redact(text)
        }
    }

    /// The text of a project's file without its secrets; as it is, if the scope leaves files out.
    pub fn redact_file<'a>(&self, text: &'a str) -> Redacted<'a> {
        match (&self.redaction.redactor, self.redaction.scope) {
            (None, _) | (_, RedactionScope::Nothing) => Redacted::unchanged(text),
            (Some(redactor), _) => redactor.redact_file(text),
        }
    }

    /// The text that a caller wrote, without its secrets; as it is, if the scope leaves that out.
    pub fn redact_written<'a>(&self, text: &'a str) -> Redacted<'a> {
        if self.redacts_everything() {
            self.redact(text)
        } else {
            Redacted::unchanged(text)
        }
    }

    /// The text without its secrets, whatever the scope.
    pub fn redact<'a>(&self, text: &'a str) -> Redacted<'a> {
        self.redaction.redactor.as_ref().map_or_else(
            || Redacted::unchanged(text),
            |redactor| redactor.redact(text),
        )
    }

    /// The text without its secrets, whatever the scope. It may be of a file: a mark of what is
    /// private counts only with its end and outside of backticks.
    pub(crate) fn redact_known<'a>(&self, text: &'a str) -> Redacted<'a> {
        let redactor = self.redaction.redactor.as_ref();
        redactor.map_or_else(
            || Redacted::unchanged(text),
            |redactor| redactor.redact_file(text),
        )
    }

    /// As [`Engine::redact`] in place, counted in `found`.
    pub(crate) fn redact_in_place(&self, text: &mut String, found: &mut Redactions) {
        replace(text, found, |text| self.redact(text));
    }

    /// Takes the secrets out of a text that a caller wrote, if the scope has that.
    pub(crate) fn redacted_text(&self, mut text: String) -> String {
        if self.redacts_everything() {
            self.redact_in_place(&mut text, &mut Redactions::default());
        }
        text
    }

    /// The request without secrets, if the scope has what callers write. Its attributes say what
    /// was taken out.
    pub(crate) fn redacted_request(&self, mut request: Remember) -> Remember {
        if self.redacts_everything() {
            let Remember {
                content,
                summary,
                tags,
                citations,
                attributes,
                ..
            } = &mut request;
            let texts = std::iter::once(content).chain(summary).chain(tags);
            redact_parts(texts, citations, attributes, |text| self.redact(text));
        }
        request
    }
}

/// Takes the secrets out of the parts of a memory, and writes into its attributes which these were;
/// returns them.
pub(crate) fn redact_parts<'a>(
    texts: impl Iterator<Item = &'a mut String>,
    citations: &'a mut [Citation],
    attributes: &mut BTreeMap<String, String>,
    redact: impl for<'t> Fn(&'t str) -> Redacted<'t>,
) -> Redactions {
    let mut found = Redactions::default();
    let cited = citations.iter_mut().flat_map(|citation| {
        let Citation {
            kind: _,
            reference,
            locator,
            pin,
            excerpt,
        } = citation;
        std::iter::once(reference)
            .chain(locator)
            .chain(pin)
            .chain(excerpt)
    });
    texts
        .chain(cited)
        .for_each(|text| replace(text, &mut found, &redact));
    let said = attributes
        .iter_mut()
        .filter(|(name, _)| *name != Redactions::ATTRIBUTE);
    said.for_each(|(_, value)| replace(value, &mut found, &redact));
    found.write_to(attributes);
    found
}

/// Takes the secrets that `redact` finds out of a text, counted in `found`.
fn replace(
    text: &mut String,
    found: &mut Redactions,
    redact: impl for<'t> Fn(&'t str) -> Redacted<'t>,
) {
    let redacted = redact(text);
    if !redacted.removed.is_empty() {
        found.add_all(&redacted.found());
        *text = redacted.text.into_owned();
    }
}

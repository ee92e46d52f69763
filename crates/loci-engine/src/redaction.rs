//! Redaction: the removal of secrets from texts before they are stored.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use loci_core::limits::AUDIT_QUERY_CHARACTERS_MAX;
use loci_core::{Citation, Error, RedactedText, Redactions, Redactor, Result};

use crate::actor::Actor;
use crate::check;
use crate::memories::remember::Remember;
use crate::observer::Observer;
use crate::trail::Trail;

/// The texts from which secrets are removed before they are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RedactionScope {
    /// No texts.
    Nothing,
    /// The texts of files and transcripts.
    #[default]
    Mined,
    /// These, and the texts and queries of callers, also in the audit log.
    Everything,
}

/// The redactor, and the texts that it redacts.
#[derive(Default)]
pub struct Redaction {
    redactor: Option<Arc<dyn Redactor>>,
    scope: RedactionScope,
    observer: Option<Arc<dyn Observer>>,
}

impl Redaction {
    pub(crate) fn new(redactor: Arc<dyn Redactor>, scope: RedactionScope) -> Self {
        Redaction {
            redactor: Some(redactor),
            scope,
            observer: None,
        }
    }

    /// Returns the same with an observer of what is removed before it is stored.
    pub(crate) fn observed_by(self, observer: Arc<dyn Observer>) -> Self {
        Redaction {
            observer: Some(observer),
            ..self
        }
    }

    fn observe(&self, found: &Redactions) {
        if let Some(observer) = &self.observer {
            for (kind, count) in found.iter() {
                observer.redaction(kind, count);
            }
        }
    }

    /// Tells the observer what was removed from a text that is about to be stored.
    fn observed<'a>(&self, redacted: RedactedText<'a>) -> RedactedText<'a> {
        if self.observer.is_some() && !redacted.removed.is_empty() {
            self.observe(&redacted.found());
        }
        redacted
    }

    /// Reports whether secrets are removed from texts that callers write.
    pub(crate) fn redacts_everything(&self) -> bool {
        self.scope == RedactionScope::Everything
    }

    /// Returns the text of a transcript without its secrets; unchanged if the scope excludes
    /// transcripts.
    pub fn redact_mined<'a>(&self, text: &'a str) -> RedactedText<'a> {
        if self.scope == RedactionScope::Nothing {
            RedactedText::unchanged(text)
        } else {
            self.observed(self.redact(text))
        }
    }

    /// Returns the text of a project's file without its secrets; unchanged if the scope excludes
    /// files.
    pub fn redact_file<'a>(&self, text: &'a str) -> RedactedText<'a> {
        match (&self.redactor, self.scope) {
            (None, _) | (_, RedactionScope::Nothing) => RedactedText::unchanged(text),
            (Some(redactor), _) => self.observed(redactor.redact_file(text)),
        }
    }

    /// Returns a text that a caller wrote without its secrets; unchanged if the scope excludes
    /// those.
    pub fn redact_written<'a>(&self, text: &'a str) -> RedactedText<'a> {
        if self.redacts_everything() {
            self.redact(text)
        } else {
            RedactedText::unchanged(text)
        }
    }

    /// Returns a query as the audit log keeps it: without its secrets, unless the scope excludes
    /// what callers write, and of a long one the beginning.
    pub fn redacted_query(&self, query: &str) -> String {
        // Redact before truncating, so that no part of a secret stays.
        let query = self.redact_written(query);
        let characters = query.text.chars();
        characters.take(AUDIT_QUERY_CHARACTERS_MAX).collect()
    }

    /// Returns the text without its secrets, in any scope.
    pub fn redact<'a>(&self, text: &'a str) -> RedactedText<'a> {
        self.redactor.as_ref().map_or_else(
            || RedactedText::unchanged(text),
            |redactor| redactor.redact(text),
        )
    }

    /// Returns the text without its secrets, in any scope. As it may come from a file, a private
    /// mark counts only if it is closed and outside of backticks.
    pub(crate) fn redact_known<'a>(&self, text: &'a str) -> RedactedText<'a> {
        let redactor = self.redactor.as_ref();
        redactor.map_or_else(
            || RedactedText::unchanged(text),
            |redactor| redactor.redact_file(text),
        )
    }
}

/// The removal of secrets from what a call stores. It is noted on the trail of the call, so that the
/// reply can say it, and the observer counts it.
#[derive(Clone, Copy)]
pub(crate) struct CallRedaction<'a> {
    redaction: &'a Redaction,
    trail: &'a Trail,
}

impl<'a> CallRedaction<'a> {
    pub(crate) fn new(redaction: &'a Redaction, caller: Actor<'a>) -> Self {
        CallRedaction {
            redaction,
            trail: caller.trail,
        }
    }

    fn note(&self, found: &Redactions) {
        if !found.is_empty() {
            self.redaction.observe(found);
            self.trail.note_redactions(found);
        }
    }

    /// Returns a text that a caller wrote, and that is about to be stored, without its secrets;
    /// unchanged if the scope excludes such texts.
    pub(crate) fn redact_stored<'t>(&self, text: &'t str) -> RedactedText<'t> {
        let redacted = self.redact_written(text);
        self.note(&redacted.found());
        redacted
    }

    /// As [`CallRedaction::redact_stored`], without a copy of a text that has no secrets.
    pub(crate) fn redacted_text(&self, mut text: String) -> String {
        if self.redacts_everything() {
            let mut found = Redactions::default();
            replace(&mut text, &mut found, |text| self.redact(text));
            self.note(&found);
        }
        text
    }

    /// Returns the request without secrets, if the scope covers what callers write. Its attributes
    /// list the redactions.
    pub(crate) fn redacted_request(&self, mut request: Remember) -> Remember {
        if self.redacts_everything() {
            let Remember {
                content,
                title,
                summary,
                tags,
                citations,
                attributes,
                ..
            } = &mut request;
            let texts = std::iter::once(content).chain(title).chain(summary);
            let texts = texts.chain(tags);
            let found = redact_parts(texts, citations, attributes, |text| self.redact(text));
            self.note(&found);
        }
        request
    }

    /// Checks a name that a caller gives, e.g. of a place: as [`check::name`], and for secrets,
    /// because names are stored as they are. A placeholder in a name would make two of them one.
    ///
    /// # Errors
    /// `invalid_argument`, naming the argument.
    pub(crate) fn check_name(&self, argument: &str, name: &str) -> Result<()> {
        check::name(argument, name)?;
        let found = self.redact_written(name).found();
        if found.is_empty() {
            return Ok(());
        }
        let problem =
            format!("holds a secret ({found}); names are stored as they are, so take another one");
        Err(Error::invalid(argument, problem))
    }

    /// Checks the names in a request, as [`CallRedaction::check_name`] does.
    ///
    /// # Errors
    /// `invalid_argument`, naming the argument.
    pub(crate) fn check_names(&self, request: &Remember) -> Result<()> {
        self.check_name("kind", &request.kind)?;
        let places = [
            ("collection", request.collection.as_deref()),
            ("section", request.section.as_deref()),
        ];
        places
            .into_iter()
            .filter_map(|(argument, name)| Some((argument, name?)))
            .try_for_each(|(argument, name)| self.check_name(argument, name))
    }
}

impl Deref for CallRedaction<'_> {
    type Target = Redaction;

    fn deref(&self) -> &Redaction {
        self.redaction
    }
}

/// Removes the secrets from the parts of a memory, records the redactions in its attributes, and
/// returns them.
pub(crate) fn redact_parts<'a>(
    texts: impl Iterator<Item = &'a mut String>,
    citations: &'a mut [Citation],
    attributes: &mut BTreeMap<String, String>,
    redact: impl for<'t> Fn(&'t str) -> RedactedText<'t>,
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

/// Removes the secrets that `redact` finds from a text, and counts them in `found`.
fn replace(
    text: &mut String,
    found: &mut Redactions,
    redact: impl for<'t> Fn(&'t str) -> RedactedText<'t>,
) {
    let redacted = redact(text);
    if !redacted.removed.is_empty() {
        found.add_all(&redacted.found());
        *text = redacted.text.into_owned();
    }
}

//! The check that every store makes before it writes: no text holds NUL (U+0000), which some
//! databases cannot keep, and all numbers are in range. Names of spaces are valid from the start.

use crate::limits::NAME_CHARACTERS_MAX;
use crate::{
    AuditEntry, Batch, CacheEntry, Change, ChangeMark, Citation, Decision, Error, Fact,
    IdempotentReply, JobOutcome, Memory, MemoryId, NoteFile, Passage, Record, RecordState,
    RecordVersion, Result, SourceFile, Token, Tunnel, Vector, Version,
};

/// Checks that a text does not hold NUL.
///
/// # Errors
/// `invalid_argument`, naming `argument`.
pub fn check_text(argument: &str, text: &str) -> Result<()> {
    if text.contains('\0') {
        let problem = "must not hold the NUL character (U+0000)";
        return Err(Error::invalid(argument, problem));
    }
    Ok(())
}

/// Checks a name: 1 to 256 characters, so at most 1,024 bytes, not blank, without control
/// characters.
///
/// # Errors
/// `invalid_argument`, naming `argument`.
pub fn check_name(argument: &str, name: &str) -> Result<()> {
    if name.trim().is_empty() {
        return Err(Error::invalid(argument, "must not be blank; give a name"));
    }
    if name.chars().count() > NAME_CHARACTERS_MAX {
        return Err(Error::invalid(
            argument,
            format!("must have at most {NAME_CHARACTERS_MAX} characters"),
        ));
    }
    if name.chars().any(char::is_control) {
        return Err(Error::invalid(argument, "must not hold control characters"));
    }
    Ok(())
}

/// Checks the texts that are there, each with its name, as [`check_text`] does.
///
/// # Errors
/// As for [`check_text`].
pub fn check_texts<'a>(texts: impl IntoIterator<Item = (&'a str, Option<&'a str>)>) -> Result<()> {
    texts
        .into_iter()
        .try_for_each(|(argument, text)| text.map_or(Ok(()), |text| check_text(argument, text)))
}

fn each<'a>(argument: &str, texts: impl IntoIterator<Item = &'a str>) -> Result<()> {
    texts
        .into_iter()
        .try_for_each(|text| check_text(argument, text))
}

impl Batch {
    /// Checks the numbers and the texts that its changes would write. A text that a change is only
    /// compared with passes, in a condition too: it matches nothing.
    ///
    /// # Errors
    /// `invalid_argument` for a memory with invalid [numbers](Memory::check_numbers) or a text with
    /// NUL, naming it.
    pub fn check(&self) -> Result<()> {
        self.changes.iter().try_for_each(Change::check)
    }
}

impl Change {
    fn check(&self) -> Result<()> {
        match self {
            Change::Put {
                memory, passages, ..
            } => {
                memory.check()?;
                passages.iter().flatten().try_for_each(Passage::check)
            }
            Change::Embed { vectors, .. } => vectors.iter().try_for_each(Vector::check),
            Change::Settle { outcome, .. } => match outcome {
                JobOutcome::Retry { problem, .. } | JobOutcome::Failed { problem } => {
                    check_text("problem", problem)
                }
                JobOutcome::Done | JobOutcome::Release { .. } => Ok(()),
            },
            Change::PutNoteFile(file) | Change::ExpectNoteFile { file, .. } => file.check(),
            Change::PutNoteFolder { identity } => check_text("identity", identity),
            Change::PutIdempotentReply(reply) => reply.check(),
            Change::PutFact(fact) => fact.check(),
            Change::PutTunnel { tunnel, .. } => tunnel.check(),
            Change::PutSetting { owner, name, value } => {
                check_setting(owner.as_deref(), name, value)
            }
            Change::DeleteSetting { owner, name } => check_setting(owner.as_deref(), name, ""),
            Change::PutSourceFile { file, .. } => file.check(),
            Change::Import {
                record, passages, ..
            } => {
                record.check()?;
                passages.iter().try_for_each(Passage::check)
            }
            Change::PutVersion(version) => version.check(),
            Change::PutRecordVersion(version) => version.check(),
            Change::Undelete { passages, .. } => passages.iter().try_for_each(Passage::check),
            Change::PutTombstones(_)
            | Change::DeleteTombstones { .. }
            | Change::Delete { .. }
            | Change::DeleteVersions { .. }
            | Change::DeleteRecordVersions { .. }
            | Change::Enqueue { .. }
            | Change::DeleteNoteFile { .. }
            | Change::EndFact { .. }
            | Change::DeleteFacts { .. }
            | Change::DeleteTunnel { .. }
            | Change::DeleteSourceFile { .. } => Ok(()),
        }
    }
}

fn check_setting(owner: Option<&str>, name: &str, value: &str) -> Result<()> {
    check_texts([
        ("owner", owner),
        ("name", Some(name)),
        ("value", Some(value)),
    ])
}

impl Record {
    fn check(&self) -> Result<()> {
        match self {
            Record::Memory(memory) => memory.check(),
            Record::NoteFolder(identity) => check_text("identity", identity),
            Record::NoteFile(file) => file.check(),
            Record::Fact(fact) => fact.check(),
            Record::Tunnel(tunnel) => tunnel.check(),
            Record::Setting { owner, name, value } => check_setting(owner.as_deref(), name, value),
            Record::SourceFile(file) => file.check(),
            Record::CacheEntry(entry) => entry.check(),
            Record::Decision(decision) => decision.check(),
            Record::IdempotentReply(reply) => reply.check(),
            Record::Tombstone(_) => Ok(()),
        }
    }
}

impl Memory {
    fn check(&self) -> Result<()> {
        self.check_numbers()?;
        check_texts([
            ("id", Some(self.id.as_str())),
            ("content", Some(&self.content)),
            ("title", self.title.as_deref()),
            ("collection", self.location.collection.as_deref()),
            ("section", Some(&self.location.section)),
            ("kind", Some(&self.kind)),
            ("summary", self.summary.as_deref()),
            ("thread", self.thread.as_ref().map(|thread| &*thread.name)),
            ("source", self.source.as_ref().map(MemoryId::as_str)),
            ("origin", Some(&self.origin)),
            ("owner", self.owner.as_deref()),
            ("actor", self.actor.as_deref()),
            ("updated_by", self.updated_by.as_deref()),
            ("program", self.provenance.program.as_deref()),
            ("session", self.provenance.session.as_deref()),
            ("supersedes", self.supersedes.as_ref().map(MemoryId::as_str)),
        ])?;
        each("tags", self.tags.iter().map(String::as_str))?;
        each("links", self.links.iter().map(|link| link.target.as_str()))?;
        for (name, value) in &self.attributes {
            each("attributes", [&**name, &**value])?;
        }
        self.citations.iter().try_for_each(|citation| {
            let Citation {
                kind: _,
                reference,
                locator,
                pin,
                excerpt,
            } = citation;
            let parts = [
                Some(reference),
                locator.as_ref(),
                pin.as_ref(),
                excerpt.as_ref(),
            ];
            each("citations", parts.into_iter().flatten().map(String::as_str))
        })
    }
}

impl Version {
    fn check(&self) -> Result<()> {
        check_texts([
            ("id", Some(self.memory.as_str())),
            ("content", self.content.as_deref()),
            ("title", self.title.as_deref()),
            ("collection", self.location.collection.as_deref()),
            ("section", Some(&self.location.section)),
            ("updated_by", self.updated_by.as_deref()),
        ])?;
        if let Some(change) = &self.change {
            change.check()?;
        }
        each("tags", self.tags.iter().map(String::as_str))
    }
}

impl ChangeMark {
    fn check(&self) -> Result<()> {
        check_texts([
            ("by", self.by.as_deref()),
            ("tool", Some(&self.tool)),
            ("program", self.program.as_deref()),
            ("session", self.session.as_deref()),
            ("token", self.token.as_deref()),
        ])
    }
}

impl RecordVersion {
    fn check(&self) -> Result<()> {
        check_texts([("id", Some(&*self.id)), ("owner", self.owner.as_deref())])?;
        self.change.check()?;
        match &self.state {
            Some(RecordState::Fact(fact)) => fact.check(),
            Some(RecordState::Tunnel(tunnel)) => tunnel.check(),
            Some(RecordState::Setting(setting)) => check_text("value", &setting.value),
            None => Ok(()),
        }
    }
}

impl Passage {
    fn check(&self) -> Result<()> {
        each("passages", self.terms.iter().map(|term| &*term.text))?;
        self.vector.as_ref().map_or(Ok(()), Vector::check)
    }
}

impl Vector {
    fn check(&self) -> Result<()> {
        check_text("model", self.model.as_str())
    }
}

impl NoteFile {
    fn check(&self) -> Result<()> {
        check_texts([
            ("path", Some(&*self.path)),
            ("memory", self.memory.as_ref().map(MemoryId::as_str)),
            (
                "problem",
                self.problem.as_ref().map(|problem| &*problem.message),
            ),
        ])?;
        each("links", self.links.iter().map(String::as_str))
    }
}

impl Fact {
    fn check(&self) -> Result<()> {
        check_texts([
            ("id", Some(&*self.id)),
            ("source", self.source.as_deref()),
            ("author", self.author.as_deref()),
        ])?;
        let names = [
            ("subject", &self.subject),
            ("predicate", &self.predicate),
            ("object", &self.object),
        ];
        names
            .into_iter()
            .try_for_each(|(argument, name)| each(argument, [&*name.key, &*name.spelling]))
    }
}

impl Tunnel {
    fn check(&self) -> Result<()> {
        check_texts([
            ("id", Some(&*self.id)),
            ("label", Some(&self.label)),
            ("owner", self.owner.as_deref()),
        ])?;
        let ends = [("source", &self.source), ("target", &self.target)];
        ends.into_iter().try_for_each(|(argument, end)| {
            check_texts([
                (argument, end.collection.as_deref()),
                (argument, Some(&end.section)),
                (argument, end.memory.as_ref().map(MemoryId::as_str)),
            ])
        })
    }
}

impl SourceFile {
    fn check(&self) -> Result<()> {
        check_texts([
            ("collection", self.collection.as_deref()),
            ("machine", Some(&self.machine)),
            ("path", Some(&self.path)),
            ("root", Some(&self.root)),
            ("format", Some(&self.format)),
        ])
    }
}

impl IdempotentReply {
    fn check(&self) -> Result<()> {
        check_texts([
            ("owner", self.owner.as_deref()),
            ("origin", Some(&self.origin)),
            ("operation", Some(&self.operation)),
            ("key", Some(&self.key)),
            ("answer", Some(&self.answer)),
        ])?;
        each("memories", self.memories.iter().map(MemoryId::as_str))
    }
}

impl CacheEntry {
    /// Checks its texts, as every store does before it keeps the entry.
    ///
    /// # Errors
    /// `invalid_argument` for a text with NUL, naming it.
    pub fn check(&self) -> Result<()> {
        check_texts([
            ("id", Some(self.id.as_str())),
            ("owner", Some(&self.owner)),
            ("query", Some(&self.query)),
            ("response", Some(&self.response)),
        ])?;
        self.vector.as_ref().map_or(Ok(()), Vector::check)
    }
}

impl Decision {
    /// Checks its texts, as every store does before it keeps the decision.
    ///
    /// # Errors
    /// `invalid_argument` for a text with NUL, naming it.
    pub fn check(&self) -> Result<()> {
        check_texts([
            ("owner", Some(&*self.owner)),
            ("key", Some(&self.key)),
            ("value", Some(&self.value)),
        ])
    }
}

impl AuditEntry {
    /// Checks its texts, as every store does before it keeps the entry.
    ///
    /// # Errors
    /// `invalid_argument` for a text with NUL, naming it.
    pub fn check(&self) -> Result<()> {
        let message = self.failure.as_ref().and_then(|it| it.message.as_deref());
        check_texts([
            ("user", self.user.as_deref()),
            ("caller", self.caller.as_deref()),
            ("client", self.client.as_deref()),
            ("session", self.session.as_deref()),
            ("dialect", Some(&self.dialect)),
            ("tool", Some(&self.tool)),
            ("operation", Some(&self.operation)),
            ("query", self.query.as_deref()),
            ("failure", message),
        ])?;
        each("records", self.records.iter().map(|record| &*record.id))
    }
}

impl Token {
    /// Checks its texts, as every store does before it keeps the token.
    ///
    /// # Errors
    /// `invalid_argument` for a text with NUL, naming it.
    pub fn check(&self) -> Result<()> {
        check_texts([("id", Some(&*self.id)), ("subject", Some(&self.subject))])?;
        let Some(grant) = &self.grant else {
            return Ok(());
        };
        let code = grant.code.as_ref();
        check_texts([
            ("client_id", Some(&*grant.client_id)),
            ("client", Some(&grant.client)),
            ("resource", Some(&grant.resource)),
            ("parent", Some(&grant.parent)),
            ("redirect_uri", code.map(|code| &*code.redirect_uri)),
            ("challenge", code.map(|code| &*code.challenge)),
        ])
    }
}

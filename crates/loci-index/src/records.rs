//! Rows of the tables as records, for the stores whose database has the tables of memories.
//!
//! A record is put together from its columns here once. What differs is how a row gives a column,
//! e.g. a list as JSON in `SQLite` and as an array in `PostgreSQL`: that is the [`ReadColumns`] of a
//! store.

mod token;

use std::array::TryFromSliceError;

use loci_core::{
    Access, AuditEntry, AuditFailure, AuditRecord, CacheEntry, ChangeMark, ContentHash, DailyCount,
    Decision, Delivery, EnrichmentStatus, Error, ErrorCode, Fact, FileProblem, FileProblemKind,
    FileStamp, IdempotentReply, Location, Memory, MemoryId, ModelId, Name, NoteFile, OpenItem,
    Period, Provenance, RecordVerb, SaidBy, SourceFile, Space, Thread, Tier, Timestamp, Tombstone,
    Tunnel, TunnelEnd, Vector, Version, Visibility,
};

pub use self::token::TOKEN;
use crate::StoredMemory;
use crate::codec::{
    damaged, decode_attributes, decode_citations, decode_links, decode_properties, decode_vector,
    stored_space,
};

/// The columns of [`Decision`].
pub const DECISION: &str = "space, owner, key, value, created_at, updated_at, expires_at";
/// The columns of [`Tunnel`].
pub const TUNNEL: &str = "space, id, source_collection, source_section, source_memory, target_collection, \
    target_section, target_memory, label, owner, is_common, created_at, updated_at";
/// The columns of [`Tombstone`].
pub const TOMBSTONE: &str = "text, memory, salt, source, forgotten_at, is_removed";
/// The columns of a [`DailyCount`] after its space.
pub const DAILY: &str = "day, \"user\", via, client, tool, outcome, calls, results, weak, tokens_start, tokens_prompt, \
    tokens_reply, stored, t0, t1, t2, t3, t4, t5, t6, t7, t8, t9, t10, t11";
/// The columns of an [`OpenItem`] after its space, of `open_item AS o`.
pub const OPEN_ITEM: &str = "key, memory, revision, kind, other, certainty";
/// The columns of [`NoteFile`].
pub const NOTE_FILE: &str = "path, bytes, modified, settled, hash, memory, says_id, links, problem, message, \
    missing_since";
/// The columns of [`IdempotentReply`].
pub const REPLY: &str =
    "space, owner, origin, operation, key, request, answer, memories, created_at, expires_at";
/// The columns of an [`AuditEntry`] with its number.
pub const AUDIT_ENTRY: &str = "number, space, at, \"user\", caller, dialect, tool, operation, duration, query, \
    results, code, message, client, session, reply_tokens";
/// The columns of an [`AuditRecord`] with the number of its entry and how many more there were.
pub const AUDIT_RECORD: &str = "entry, verb, id, is_own, further";
/// The columns of a [`Version`] after the id of its memory, of `version AS v`.
pub const VERSION: &str = "v.revision, v.collection, v.section, v.title, v.tags, v.updated_by, \
    v.updated_at, v.content, v.properties, v.changed_at, v.changed_by, v.tool, v.program, v.session, v.token, v.call";

/// A row whose columns are read one after the other: each method reads the next one.
///
/// # Errors
/// Each method: `corrupt` if the column holds nothing that loci writes there; that of the database
/// if it cannot be read.
#[expect(
    clippy::missing_errors_doc,
    reason = "the methods have the errors that the trait tells"
)]
pub trait ReadColumns<'a> {
    /// Why a column cannot be read.
    type Error: From<Error>;

    /// Returns a text that may be null.
    fn text_or_null(&mut self) -> Result<Option<&'a str>, Self::Error>;
    /// Returns an integer that may be null.
    fn integer_or_null(&mut self) -> Result<Option<i64>, Self::Error>;
    /// Returns bytes that may be null.
    fn bytes_or_null(&mut self) -> Result<Option<&'a [u8]>, Self::Error>;
    /// Returns a number of single precision that may be null.
    fn single_or_null(&mut self) -> Result<Option<f32>, Self::Error>;
    /// Returns a number of double precision.
    fn double(&mut self) -> Result<f64, Self::Error>;
    /// Returns whether a condition holds.
    fn flag(&mut self) -> Result<bool, Self::Error>;
    /// Returns a list of texts.
    fn texts(&mut self) -> Result<Vec<String>, Self::Error>;

    /// Returns a text.
    fn text(&mut self) -> Result<&'a str, Self::Error> {
        Ok(self.text_or_null()?.ok_or_else(damaged)?)
    }

    /// Returns a text to keep.
    fn string(&mut self) -> Result<String, Self::Error> {
        Ok(self.text()?.to_owned())
    }

    /// Returns a text to keep that may be null.
    fn string_or_null(&mut self) -> Result<Option<String>, Self::Error> {
        Ok(self.text_or_null()?.map(str::to_owned))
    }

    /// Returns an integer.
    fn integer(&mut self) -> Result<i64, Self::Error> {
        Ok(self.integer_or_null()?.ok_or_else(damaged)?)
    }

    /// Returns an unsigned number.
    fn number(&mut self) -> Result<u64, Self::Error> {
        Ok(self.integer()?.cast_unsigned())
    }

    /// Returns an unsigned number that may be null.
    fn number_or_null(&mut self) -> Result<Option<u64>, Self::Error> {
        Ok(self.integer_or_null()?.map(i64::cast_unsigned))
    }

    /// Returns a time.
    fn time(&mut self) -> Result<Timestamp, Self::Error> {
        Ok(Timestamp::from_microseconds(self.integer()?))
    }

    /// Returns a time that may be null.
    fn time_or_null(&mut self) -> Result<Option<Timestamp>, Self::Error> {
        Ok(self.integer_or_null()?.map(Timestamp::from_microseconds))
    }

    /// Returns the id of a memory.
    fn id(&mut self) -> Result<MemoryId, Self::Error> {
        Ok(MemoryId::new(self.text()?))
    }

    /// Returns the id of a memory that may be null.
    fn id_or_null(&mut self) -> Result<Option<MemoryId>, Self::Error> {
        Ok(self.text_or_null()?.map(MemoryId::new))
    }

    /// Returns the name of a space.
    fn space(&mut self) -> Result<Space, Self::Error> {
        Ok(stored_space(self.text()?)?)
    }

    /// Returns bytes of a fixed number, e.g. a hash.
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Self::Error> {
        Ok(self.array_or_null()?.ok_or_else(damaged)?)
    }

    /// Returns bytes of a fixed number that may be null.
    fn array_or_null<const N: usize>(&mut self) -> Result<Option<[u8; N]>, Self::Error> {
        let array = |bytes: &[u8]| {
            let array: Result<[u8; N], TryFromSliceError> = bytes.try_into();
            array.map_err(|error| damaged().caused_by(error))
        };
        Ok(self.bytes_or_null()?.map(array).transpose()?)
    }

    /// Returns the value with a name.
    fn named<T>(&mut self, from_name: impl Fn(&str) -> Option<T>) -> Result<T, Self::Error> {
        Ok(from_name(self.text()?).ok_or_else(damaged)?)
    }

    /// Returns the value with a name that may be null.
    fn named_or_null<T>(
        &mut self,
        from_name: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, Self::Error> {
        let named = |name: &str| from_name(name).ok_or_else(damaged);
        Ok(self.text_or_null()?.map(named).transpose()?)
    }
}

/// A record that is a row.
pub trait StoredRecord: Sized {
    /// What it is called in a message.
    const NOUN: &'static str;
    /// The place of the column that names it in a message, because it tells nothing of its content.
    const KEY: usize;

    /// Reads a record from columns in the order of its constant in this module, or of the calls here
    /// if it has none because the stores' expressions differ.
    ///
    /// # Errors
    /// `corrupt` if a column holds nothing that loci writes there; that of the columns if one cannot
    /// be read.
    fn read<'a, C: ReadColumns<'a>>(columns: &mut C) -> Result<Self, C::Error>;
}

impl StoredRecord for Memory {
    const NOUN: &'static str = "memory";
    const KEY: usize = 1;

    /// Leaves out the memory that supersedes it, which no column has.
    fn read<'a, C: ReadColumns<'a>>(columns: &mut C) -> Result<Self, C::Error> {
        Ok(Memory {
            space: columns.space()?,
            id: columns.id()?,
            content: columns.string()?,
            title: columns.string_or_null()?,
            location: read_location(columns)?,
            kind: columns.string()?,
            summary: columns.string_or_null()?,
            tags: columns.texts()?,
            weight: columns.double()?,
            tier: columns.named(Tier::from_name)?,
            thread: read_thread(columns)?.map(|(name, position)| Thread {
                name: name.to_owned(),
                position,
            }),
            source: columns.id_or_null()?,
            enrichment: columns.named_or_null(EnrichmentStatus::from_name)?,
            links: decode_links(columns.text()?)?,
            citations: decode_citations(columns.text()?)?,
            attributes: decode_attributes(columns.text()?)?,
            access: Access {
                count: columns.number_or_null()?.unwrap_or(0),
                last: columns.time_or_null()?,
            },
            delivery: columns.named(Delivery::from_name)?,
            origin: columns.string()?,
            owner: columns.string_or_null()?,
            actor: columns.string_or_null()?,
            updated_by: columns.string_or_null()?,
            by_admin: columns.flag()?,
            provenance: Provenance {
                said_by: columns
                    .named_or_null(SaidBy::from_name)?
                    .unwrap_or_default(),
                program: columns.string_or_null()?,
                session: columns.string_or_null()?,
            },
            visibility: columns.named(Visibility::from_name)?,
            supersedes: columns.id_or_null()?,
            superseded_by: None,
            expires_at: columns.time_or_null()?,
            forgotten_at: columns.time_or_null()?,
            created_at: columns.time()?,
            updated_at: columns.time()?,
            revision: columns.number()?,
        })
    }
}

impl<'a> StoredMemory<'a> {
    /// Returns the row of a memory, and what the index needs of it, borrowed from the columns.
    ///
    /// # Errors
    /// As [`StoredRecord::read`].
    pub fn read<C: ReadColumns<'a>>(columns: &mut C) -> Result<(i64, Self), C::Error> {
        let row = columns.integer()?;
        let memory = StoredMemory {
            space: columns.text()?,
            id: columns.text()?,
            collection: columns.text_or_null()?,
            section: columns.text()?,
            kind: columns.text()?,
            tags: columns.texts()?,
            weight: columns.double()?,
            delivery: columns.named(Delivery::from_name)?,
            origin: columns.text()?,
            program: columns.text_or_null()?,
            owner: columns.text_or_null()?,
            visibility: columns.named(Visibility::from_name)?,
            supersedes: columns.text_or_null()?,
            replaces: columns.integer_or_null()?,
            expires_at: columns.time_or_null()?,
            is_forgotten: columns.flag()?,
            created_at: columns.time()?,
            updated_at: columns.time()?,
            tier: columns.named(Tier::from_name)?,
            source: columns.text_or_null()?,
            thread: read_thread(columns)?,
        };
        Ok((row, memory))
    }
}

/// Returns the name of who said a memory as stores note it: nothing if that is not known, as in rows
/// from before it was noted.
pub fn noted(said_by: SaidBy) -> Option<&'static str> {
    (said_by != SaidBy::Unknown).then(|| said_by.name())
}

fn read_location<'a, C: ReadColumns<'a>>(columns: &mut C) -> Result<Location, C::Error> {
    Ok(Location {
        collection: columns.string_or_null()?,
        section: columns.string()?,
    })
}

fn read_thread<'a, C: ReadColumns<'a>>(
    columns: &mut C,
) -> Result<Option<(&'a str, u64)>, C::Error> {
    let (name, position) = (columns.text_or_null()?, columns.number_or_null()?);
    Ok(name.zip(position))
}

impl StoredRecord for Version {
    const NOUN: &'static str = "former version of the memory";
    const KEY: usize = 0;

    fn read<'a, C: ReadColumns<'a>>(columns: &mut C) -> Result<Self, C::Error> {
        Ok(Version {
            memory: columns.id()?,
            revision: columns.number()?,
            location: read_location(columns)?,
            title: columns.string_or_null()?,
            tags: columns.texts()?,
            updated_by: columns.string_or_null()?,
            updated_at: columns.time()?,
            content: columns.string_or_null()?,
            properties: columns.text_or_null()?.map(decode_properties).transpose()?,
            change: read_change(columns)?,
        })
    }
}

/// Reads the change that ended a version; it has a time if it is known.
pub(crate) fn read_change<'a, C: ReadColumns<'a>>(
    columns: &mut C,
) -> Result<Option<ChangeMark>, C::Error> {
    let at = columns.time_or_null()?;
    let by = columns.string_or_null()?;
    let tool = columns.string_or_null()?;
    let (program, session) = (columns.string_or_null()?, columns.string_or_null()?);
    let token = columns.string_or_null()?;
    let call = columns.number_or_null()?;
    Ok(at.map(|at| ChangeMark {
        at,
        by,
        tool: tool.unwrap_or_default(),
        program,
        session,
        token,
        call: call.unwrap_or(0),
    }))
}

impl StoredRecord for NoteFile {
    const NOUN: &'static str = "note file";
    const KEY: usize = 0;

    fn read<'a, C: ReadColumns<'a>>(columns: &mut C) -> Result<Self, C::Error> {
        Ok(NoteFile {
            path: columns.string()?,
            stamp: read_stamp(columns)?,
            is_settled: columns.flag()?,
            hash: ContentHash(columns.array()?),
            memory: columns.id_or_null()?,
            says_id: columns.flag()?,
            links: columns.texts()?,
            problem: {
                let kind = columns.named_or_null(FileProblemKind::from_name)?;
                let problem = kind.zip(columns.string_or_null()?);
                problem.map(|(kind, message)| FileProblem { kind, message })
            },
            missing_since: columns.time_or_null()?,
        })
    }
}

impl StoredRecord for SourceFile {
    const NOUN: &'static str = "source file";
    const KEY: usize = 2;

    fn read<'a, C: ReadColumns<'a>>(columns: &mut C) -> Result<Self, C::Error> {
        Ok(SourceFile {
            machine: columns.string()?,
            collection: columns.string_or_null()?,
            path: columns.string()?,
            root: columns.string()?,
            format: columns.string()?,
            stamp: read_stamp(columns)?,
            bytes_read: columns.number()?,
            hash: ContentHash(columns.array()?),
            parts: columns.number()?,
            is_pending: columns.flag()?,
            is_whole: columns.flag()?,
        })
    }
}

fn read_stamp<'a, C: ReadColumns<'a>>(columns: &mut C) -> Result<FileStamp, C::Error> {
    Ok(FileStamp {
        bytes: columns.number()?,
        modified_nanoseconds: columns.integer()?,
    })
}

impl StoredRecord for Fact {
    const NOUN: &'static str = "fact";
    const KEY: usize = 1;

    fn read<'a, C: ReadColumns<'a>>(columns: &mut C) -> Result<Self, C::Error> {
        Ok(Fact {
            space: columns.space()?,
            id: columns.string()?,
            subject: read_name(columns)?,
            predicate: read_name(columns)?,
            object: read_name(columns)?,
            valid_from: read_period(columns)?,
            valid_to: read_period(columns)?,
            source: columns.string_or_null()?,
            author: columns.string_or_null()?,
            created_at: columns.time()?,
        })
    }
}

fn read_name<'a, C: ReadColumns<'a>>(columns: &mut C) -> Result<Name, C::Error> {
    Ok(Name {
        key: columns.string()?,
        spelling: columns.string()?,
    })
}

fn read_period<'a, C: ReadColumns<'a>>(columns: &mut C) -> Result<Option<Period>, C::Error> {
    let (first, last) = (columns.time_or_null()?, columns.time_or_null()?);
    Ok(first.zip(last).map(|(first, last)| Period { first, last }))
}

impl StoredRecord for Tunnel {
    const NOUN: &'static str = "tunnel";
    const KEY: usize = 1;

    fn read<'a, C: ReadColumns<'a>>(columns: &mut C) -> Result<Self, C::Error> {
        let end = |columns: &mut C| -> Result<TunnelEnd, C::Error> {
            Ok(TunnelEnd {
                collection: columns.string_or_null()?,
                section: columns.string()?,
                memory: columns.id_or_null()?,
            })
        };
        Ok(Tunnel {
            space: columns.space()?,
            id: columns.string()?,
            source: end(columns)?,
            target: end(columns)?,
            label: columns.string()?,
            owner: columns.string_or_null()?,
            is_common: columns.flag()?,
            created_at: columns.time()?,
            updated_at: columns.time()?,
        })
    }
}

impl StoredRecord for DailyCount {
    const NOUN: &'static str = "daily count";
    const KEY: usize = 0;

    fn read<'a, C: ReadColumns<'a>>(columns: &mut C) -> Result<Self, C::Error> {
        let mut count = DailyCount {
            day: columns.integer()?,
            user: columns.string()?,
            via: columns.string()?,
            client: columns.string()?,
            tool: columns.string()?,
            outcome: columns.string()?,
            calls: columns.number()?,
            results: columns.number()?,
            weak: columns.number()?,
            tokens_start: columns.number()?,
            tokens_prompt: columns.number()?,
            tokens_reply: columns.number()?,
            stored: columns.number()?,
            ..DailyCount::default()
        };
        for calls in &mut count.time_buckets {
            *calls = columns.number()?;
        }
        Ok(count)
    }
}

impl StoredRecord for OpenItem {
    const NOUN: &'static str = "open item";
    const KEY: usize = 0;

    fn read<'a, C: ReadColumns<'a>>(columns: &mut C) -> Result<Self, C::Error> {
        Ok(OpenItem {
            key: columns.string()?,
            memory: columns.id()?,
            revision: columns.number()?,
            kind: columns.string()?,
            other: columns.id_or_null()?,
            certainty: columns.integer()?,
        })
    }
}

impl StoredRecord for Tombstone {
    const NOUN: &'static str = "tombstone";
    const KEY: usize = 0;

    fn read<'a, C: ReadColumns<'a>>(columns: &mut C) -> Result<Self, C::Error> {
        Ok(Tombstone {
            text: columns.array()?,
            memory: columns.array()?,
            salt: columns.array()?,
            source: columns.array_or_null()?,
            forgotten_at: columns.time()?,
            is_removed: columns.flag()?,
        })
    }
}

impl StoredRecord for Decision {
    const NOUN: &'static str = "decision";
    const KEY: usize = 2;

    fn read<'a, C: ReadColumns<'a>>(columns: &mut C) -> Result<Self, C::Error> {
        Ok(Decision {
            space: columns.space()?,
            owner: columns.string()?,
            key: columns.string()?,
            value: columns.string()?,
            created_at: columns.time()?,
            updated_at: columns.time()?,
            expires_at: columns.time_or_null()?,
        })
    }
}

impl StoredRecord for IdempotentReply {
    const NOUN: &'static str = "the answer to the operation";
    const KEY: usize = 3;

    fn read<'a, C: ReadColumns<'a>>(columns: &mut C) -> Result<Self, C::Error> {
        Ok(IdempotentReply {
            space: columns.space()?,
            owner: columns.string_or_null()?,
            origin: columns.string()?,
            operation: columns.string()?,
            key: columns.string()?,
            request: ContentHash(columns.array()?),
            answer: columns.string()?,
            memories: columns.texts()?.into_iter().map(MemoryId::new).collect(),
            created_at: columns.time()?,
            expires_at: columns.time()?,
        })
    }
}

impl StoredRecord for CacheEntry {
    const NOUN: &'static str = "cached answer";
    const KEY: usize = 1;

    fn read<'a, C: ReadColumns<'a>>(columns: &mut C) -> Result<Self, C::Error> {
        Ok(CacheEntry {
            space: columns.space()?,
            id: columns.id()?,
            owner: columns.string()?,
            query: columns.string()?,
            response: columns.string()?,
            vector: {
                let model = columns.text_or_null()?.map(ModelId::new);
                let (scale, bytes) = (columns.single_or_null()?, columns.bytes_or_null()?);
                let vector = model.zip(scale.zip(bytes));
                vector.map(|(model, (scale, bytes))| {
                    let mut values = Vec::new();
                    decode_vector(bytes, &mut values);
                    Vector {
                        model,
                        scale,
                        values,
                    }
                })
            },
            created_at: columns.time()?,
            expires_at: columns.time()?,
        })
    }
}

/// An entry with its number, and without its records.
impl StoredRecord for (u64, AuditEntry) {
    const NOUN: &'static str = "audit entry";
    const KEY: usize = 0;

    fn read<'a, C: ReadColumns<'a>>(columns: &mut C) -> Result<Self, C::Error> {
        let code = |name: &str| ErrorCode::ALL.into_iter().find(|code| code.name() == name);
        let number = columns.number()?;
        let entry = AuditEntry {
            space: columns.space()?,
            at: columns.time()?,
            user: columns.string_or_null()?,
            caller: columns.string_or_null()?,
            dialect: columns.string()?,
            tool: columns.string()?,
            operation: columns.string()?,
            duration_microseconds: columns.number()?,
            query: columns.string_or_null()?,
            results: columns.number_or_null()?,
            failure: {
                let (code, message) = (columns.named_or_null(code)?, columns.string_or_null()?);
                code.map(|code| AuditFailure { code, message })
            },
            client: columns.string_or_null()?,
            session: columns.string_or_null()?,
            reply_tokens: columns.number_or_null()?,
            records: Vec::new(),
            further_records: 0,
            further_stored: 0,
        };
        Ok((number, entry))
    }
}

/// A record, after the number of the entry that names it and before the number of further ones.
impl StoredRecord for (u64, AuditRecord, u64) {
    const NOUN: &'static str = "record of the audit entry";
    const KEY: usize = 0;

    fn read<'a, C: ReadColumns<'a>>(columns: &mut C) -> Result<Self, C::Error> {
        let entry = columns.number()?;
        let record = AuditRecord {
            verb: columns.named(RecordVerb::from_name)?,
            id: columns.string()?,
            is_own: columns.flag()?,
        };
        Ok((entry, record, columns.number()?))
    }
}

//! Random memories, filters and times, from few values each, so that they collide.

use std::collections::BTreeSet;
use std::ops::{Deref, DerefMut};

use loci_core::{
    Access, AuditEntry, AuditFailure, AuditRecord, CacheEntry, ChangeMark, ChangeQuery, Citation,
    CitationKind, ClientGrant, CodeBinding, CollectionFilter, ContentHash, Decision, Delivery,
    Direction, EnrichmentStatus, ErrorCode, Fact, FactQuery, FileProblem, FileProblemKind,
    FileStamp, Filter, Forgotten, IdempotentReply, JobOutcome, KeyedHash, Link, Location, Memory,
    MemoryId, ModelId, Name, NoteFile, OwnerFilter, Passage, Period, Provenance, Reader,
    RecordVerb, Relation, SaidBy, Scope, Scopes, SourceFile, Space, Superseded, Sweep, Term,
    Thread, Tier, Timestamp, Token, TokenHash, Tombstone, Tunnel, TunnelEnd, Vector, Visibility,
};

use crate::contract::examples::{
    NOW, ODD_TEXTS, audit_entry, cache_entry, decision, end, fact, idempotent_reply, memory,
    source_file, space, tunnel, words,
};
use crate::{Random, quantise};

const DIMENSIONS: usize = 24;
const OWNERS: [Option<&str>; 3] = [None, Some(OWNER_NAMES[0]), Some(OWNER_NAMES[1])];
const COLLECTIONS: [Option<&str>; 3] = [None, Some("a"), Some("b")];
const SECTIONS: [&str; 3] = ["x", "y", "z"];
const KINDS: [&str; 3] = ["fact", "drawer", "diary"];
/// The number of ids of memories in a space.
const IDS: usize = 12;
/// The number of paths of notes; fewer than ids.
const PATHS: usize = 10;
const TAGS: [&str; 3] = ["one", "two", "three"];

pub(super) const SPACES: [&str; 2] = ["main", "other"];
pub(super) const OWNER_NAMES: [&str; 2] = ["ann", "bob"];
pub(super) const ORIGINS: [&str; 3] = ["engram", "mememory", ""];
pub(super) const THREADS: [&str; 2] = ["talk", "file"];
pub(super) const WORDS: [&str; 12] = [
    "ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen", "ibis", "jay", "koi", "猫",
];
/// Marks; no word equals a mark.
pub(super) const MARKS: [&str; 3] = ["@ant", "@day", "@猫"];
/// The pseudonym of wiped users.
pub(super) const PSEUDONYM: &str = "wiped-0123456789abcdef0123456789abcdef";
pub(super) const QUERIES: [&str; 4] = ["what", "What", "when 日本", "why"];
pub(super) const TOOLS: [&str; 2] = ["recall", "store"];
const PROGRAMS: [&str; 2] = ["codex", "zed"];
pub(super) const CLIENTS: [&str; 2] = ["codex", "claude-code"];
pub(super) const MODELS: [&str; 2] = ["first", "second"];

pub(super) struct Generator {
    random: Random,
}

impl Deref for Generator {
    type Target = Random;

    fn deref(&self) -> &Random {
        &self.random
    }
}

impl DerefMut for Generator {
    fn deref_mut(&mut self) -> &mut Random {
        &mut self.random
    }
}

impl Generator {
    pub(super) fn new(seed: u64) -> Self {
        Generator {
            random: Random::new(seed),
        }
    }

    pub(super) fn space(&mut self) -> Space {
        space_of(&mut self.random)
    }

    pub(super) fn memory(&mut self, space: &Space, id: MemoryId) -> Memory {
        let random = &mut self.random;
        let owner = random.pick(&OWNERS).map(str::to_owned);
        let has_thread = random.chance(40);
        Memory {
            space: space.clone(),
            content: text_of(random),
            title: random.chance(40).then(|| odd_text(random)),
            location: Location {
                collection: random.pick(&COLLECTIONS).map(str::to_owned),
                section: random.pick(&SECTIONS).to_owned(),
            },
            kind: random.pick(&KINDS).to_owned(),
            tags: TAGS
                .iter()
                .filter(|_| random.chance(40))
                .map(|tag| (*tag).to_owned())
                .collect(),
            weight: random.below(11) as f64 / 10.0,
            delivery: random.pick(&[Delivery::OnDemand, Delivery::Bootstrap]),
            summary: random
                .chance(20)
                .then(|| format!("summary {}", random.below(10))),
            tier: random.pick(&[
                Tier::LongTerm,
                Tier::LongTerm,
                Tier::ShortTerm,
                Tier::Unlisted,
            ]),
            thread: has_thread.then(|| thread(random)),
            source: random.chance(25).then(|| id_of(random)),
            enrichment: random
                .chance(40)
                .then(|| random.pick(&EnrichmentStatus::ALL)),
            links: (0..random.below(3)).map(|_| link(random)).collect(),
            citations: (0..random.below(3)).map(|_| citation(random)).collect(),
            attributes: (0..random.below(3))
                .map(|_| (odd_text(random), odd_text(random)))
                .collect(),
            origin: random.pick(&ORIGINS).to_owned(),
            owner,
            actor: random.chance(40).then(|| odd_text(random)),
            updated_by: if random.chance(30) {
                random.pick(&OWNERS).map(str::to_owned)
            } else {
                None
            },
            by_admin: random.chance(30),
            provenance: Provenance {
                said_by: random.pick(&SaidBy::ALL),
                program: random.chance(60).then(|| random.pick(&PROGRAMS).to_owned()),
                session: random.chance(40).then(|| odd_text(random)),
            },
            visibility: random.pick(&[Visibility::Private, Visibility::Shared, Visibility::Common]),
            supersedes: random.chance(25).then(|| id_of(random)),
            expires_at: random
                .chance(30)
                .then(|| NOW.plus_seconds(random.below(6) as i64)),
            forgotten_at: random.chance(25).then(|| moment_of(random)),
            created_at: NOW.plus_seconds(random.below(5) as i64),
            updated_at: NOW.plus_seconds(random.below(3) as i64),
            id,
            ..memory("template")
        }
    }

    pub(super) fn passage(&mut self) -> Passage {
        let mut terms: Vec<Term> = Vec::new();
        for word in WORDS {
            if self.random.chance(30) {
                terms.push(Term {
                    text: word.to_owned(),
                    count: 1 + self.random.below(4) as u32,
                });
            }
        }
        for mark in MARKS {
            if self.random.chance(20) {
                terms.push(Term {
                    text: mark.to_owned(),
                    count: 0,
                });
            }
        }
        let start = self.random.below(10);
        let vector = self.random.chance(50).then(|| self.vector());
        Passage {
            range: start..start + 5,
            terms,
            vector,
        }
    }

    pub(super) fn vector(&mut self) -> Vector {
        let model = ModelId::new(self.random.pick(&MODELS));
        quantise(&model, &self.unit_vector())
    }

    pub(super) fn unit_vector(&mut self) -> Vec<f32> {
        let values: Vec<f32> = (0..DIMENSIONS).map(|_| self.random.signed_unit()).collect();
        let norm = values.iter().map(|value| value * value).sum::<f32>().sqrt();
        values.into_iter().map(|value| value / norm).collect()
    }

    /// Creates a filter. Half of the filters restrict little, so that most memories match.
    pub(super) fn filter(&mut self) -> Filter {
        let random = &mut self.random;
        let often = random.pick(&[4, 16]);
        let name = random.pick(&["a", "b", "unknown"]).to_owned();
        let filter = Filter::of(space_of(random), reader(random, often), moment_of(random));
        Filter {
            collections: match random.below(100) / often {
                0 => CollectionFilter::Global,
                1 => CollectionFilter::AnyNamed,
                2 => CollectionFilter::Only(name),
                3 => CollectionFilter::GlobalAnd(name),
                4 => CollectionFilter::AnyOf(match random.below(3) {
                    0 => vec![Some(name), None],
                    1 => vec![Some("b".to_owned()), Some(name)],
                    _ => Vec::new(),
                }),
                _ => CollectionFilter::Any,
            },
            sections: if random.chance(often) {
                words(&["x", "unknown", "z"])
            } else {
                Vec::new()
            },
            kinds: if random.chance(often) {
                words(&["drawer", "unknown", "fact"])
            } else {
                Vec::new()
            },
            tags: TAGS
                .iter()
                .filter(|_| random.chance(often / 2))
                .map(|tag| (*tag).to_owned())
                .collect(),
            delivery: random
                .chance(often)
                .then(|| random.pick(&[Delivery::OnDemand, Delivery::Bootstrap])),
            superseded: random.pick(&[Superseded::Hide, Superseded::Show]),
            forgotten: random.pick(&[Forgotten::Hide, Forgotten::Show, Forgotten::Only]),
            owner: match (random.chance(often), random.chance(often)) {
                (true, _) => OwnerFilter::of(random.pick(&OWNERS)),
                (false, true) => {
                    let owners = [(); 2].map(|()| random.pick(&OWNERS).map(str::to_owned));
                    OwnerFilter::AnyOf(owners.to_vec())
                }
                (false, false) => OwnerFilter::Any,
            },
            origins: if random.chance(often) {
                (0..=random.below(2))
                    .map(|_| random.pick(&ORIGINS).to_owned())
                    .collect()
            } else {
                Vec::new()
            },
            programs: if random.chance(often) {
                words(&["zed", "unknown", "codex"])
            } else {
                Vec::new()
            },
            // In any order, possibly repeated.
            tiers: if random.chance(2 * often) {
                (0..3).map(|_| random.pick(&Tier::ALL)).collect()
            } else {
                Vec::new()
            },
            unlisted_origin: random.chance(30).then(|| random.pick(&ORIGINS).to_owned()),
            thread: random
                .chance(2 * often)
                .then(|| random.pick(&THREADS).to_owned()),
            created_from: random.chance(often).then(|| moment_of(random)),
            created_until: random.chance(often).then(|| moment_of(random)),
            ..filter
        }
    }

    /// Returns one of a few vectors that are far from each other.
    pub(super) fn direction(&mut self) -> Vec<f32> {
        let mut values = vec![0.0; 3];
        values[self.random.below(2)] = 0.8;
        values[2] = self.random.pick(&[0.6, -0.6]);
        values
    }

    pub(super) fn access(&mut self) -> Access {
        let count = self.random.below(4) as u64;
        Access {
            count,
            last: (count > 0).then(|| self.moment()),
        }
    }

    pub(super) fn cache_entry(&mut self, space: &Space) -> CacheEntry {
        let vector = self.random.chance(80).then(|| {
            let model = ModelId::new(self.random.pick(&MODELS));
            quantise(&model, &self.direction())
        });
        let random = &mut self.random;
        CacheEntry {
            space: space.clone(),
            query: random.pick(&QUERIES).to_owned(),
            response: odd_text(random),
            vector,
            created_at: moment_of(random),
            expires_at: moment_of(random),
            ..cache_entry(random.pick(&OWNER_NAMES), id_of(random).as_str())
        }
    }

    pub(super) fn decision(&mut self, space: &Space) -> Decision {
        let random = &mut self.random;
        Decision {
            space: space.clone(),
            value: odd_text(random),
            created_at: moment_of(random),
            updated_at: moment_of(random),
            expires_at: random.chance(60).then(|| moment_of(random)),
            ..decision(
                random.pick(&OWNER_NAMES),
                random.pick(&["key", "KEY", "other"]),
            )
        }
    }

    pub(super) fn audit_entry(&mut self) -> AuditEntry {
        let random = &mut self.random;
        let records = random.below(4);
        let first = random.below(IDS);
        let code = random.pick(&ErrorCode::ALL);
        let entry = AuditEntry {
            space: space_of(random),
            at: moment_of(random),
            user: random.pick(&OWNERS).map(str::to_owned),
            caller: random.pick(&OWNERS).map(str::to_owned),
            client: random.chance(60).then(|| random.pick(&CLIENTS).to_owned()),
            session: random.chance(50).then(|| odd_text(random)),
            dialect: random.pick(&ORIGINS).to_owned(),
            operation: odd_text(random),
            duration_microseconds: random.bits() >> 20,
            query: random.chance(50).then(|| odd_text(random)),
            results: random.chance(50).then(|| random.bits() >> 40),
            reply_tokens: random.chance(50).then(|| random.bits() >> 20),
            failure: random.chance(40).then(|| AuditFailure {
                code,
                message: random.chance(50).then(|| odd_text(random)),
            }),
            records: (0..records)
                .map(|number| AuditRecord {
                    id: ((first + number) % IDS).to_string(),
                    verb: random.pick(&RecordVerb::ALL),
                    is_own: random.chance(50),
                })
                .collect(),
            // Only a call with records has further ones.
            further_records: if records > 0 {
                random.below(3) as u64
            } else {
                0
            },
            ..audit_entry("", random.pick(&TOOLS))
        };
        AuditEntry {
            further_stored: entry.further_records / 2,
            ..entry
        }
    }

    /// One of few hashes, so that tokens meet.
    pub(super) fn token_hash(&mut self) -> TokenHash {
        [self.random.below(9) as u8; 32]
    }

    fn grant(&mut self) -> ClientGrant {
        let (family, secret) = (self.token_hash(), self.token_hash());
        let random = &mut self.random;
        let code = random.chance(50).then(|| CodeBinding {
            redirect_uri: "https://client.example/callback".to_owned(),
            challenge: "a challenge".to_owned(),
        });
        ClientGrant {
            client_id: "https://client.example/id".to_owned(),
            client: "client.example".to_owned(),
            resource: "https://memory.example".to_owned(),
            parent: random.pick(&["a", "b"]).to_owned(),
            family,
            secret,
            renewable_until: moment_of(random),
            code,
        }
    }

    pub(super) fn token(&mut self) -> Token {
        let (hash, grant) = (self.token_hash(), self.grant());
        let random = &mut self.random;
        let scopes: Vec<Scope> = Scope::ALL
            .into_iter()
            .filter(|_| random.chance(50))
            .collect();
        Token {
            id: random.pick(&["a", "A", "b", "c", "d"]).to_owned(),
            hash,
            space: space_of(random),
            subject: random.pick(&OWNER_NAMES).to_owned(),
            scopes: Scopes::of(&scopes),
            created_at: moment_of(random),
            expires_at: random.chance(50).then(|| moment_of(random)),
            revoked_at: random.chance(20).then(|| moment_of(random)),
            grant: random.chance(50).then_some(grant),
        }
    }

    /// Creates a filter whose counts a store may answer from its count cache.
    pub(super) fn counted_filter(&mut self) -> Filter {
        let Filter {
            space,
            reader,
            live_at,
            tiers,
            unlisted_origin,
            collections,
            sections,
            kinds,
            forgotten,
            ..
        } = self.filter();
        Filter {
            tiers,
            unlisted_origin,
            collections,
            sections,
            kinds,
            forgotten,
            ..Filter::of(space, reader, live_at)
        }
    }

    pub(super) fn note_path(&mut self) -> String {
        path_of(self.random.below(PATHS))
    }

    /// Creates a note file: each path has its own memory, so that no two files share one.
    pub(super) fn note_file(&mut self) -> NoteFile {
        let random = &mut self.random;
        let number = random.below(PATHS);
        let kind = random.pick(&FileProblemKind::ALL);
        NoteFile {
            path: path_of(number),
            stamp: FileStamp {
                bytes: random.bits(),
                modified_nanoseconds: random.bits().cast_signed(),
            },
            is_settled: random.chance(50),
            hash: ContentHash([random.bits() as u8; 32]),
            memory: random.chance(90).then(|| MemoryId::new(number.to_string())),
            says_id: random.chance(50),
            links: (0..random.below(3)).map(|_| odd_text(random)).collect(),
            problem: random.chance(20).then(|| FileProblem {
                kind,
                message: odd_text(random),
            }),
            missing_since: random.chance(20).then(|| moment_of(random)),
        }
    }

    /// Creates a reply under one of a few keys, which may be expired already or contain missing
    /// memories.
    pub(super) fn idempotent_reply(&mut self, space: &Space) -> IdempotentReply {
        let random = &mut self.random;
        IdempotentReply {
            space: space.clone(),
            origin: random.pick(&ORIGINS).to_owned(),
            operation: random.pick(&["append", "recall"]).to_owned(),
            request: ContentHash([random.bits() as u8; 32]),
            answer: odd_text(random),
            memories: (0..random.below(3)).map(|_| id_of(random)).collect(),
            created_at: moment_of(random),
            expires_at: moment_of(random),
            ..idempotent_reply(random.pick(&OWNERS), random.pick(&["key", "KEY"]))
        }
    }

    /// Creates a fact of a few things and relations, in any spelling.
    pub(super) fn fact(&mut self, space: &Space) -> Fact {
        let random = &mut self.random;
        let new = Fact {
            space: space.clone(),
            subject: name_of(random),
            predicate: name_of(random),
            object: name_of(random),
            valid_from: random.chance(50).then(|| period_of(random)),
            valid_to: random.chance(50).then(|| period_of(random)),
            source: random.chance(50).then(|| odd_text(random)),
            created_at: moment_of(random),
            ..fact(&random.below(200).to_string(), ["", "", ""])
        };
        // Chosen by the id, because one more random number would change what every seed does.
        let digits: usize = new.id.bytes().map(usize::from).sum();
        Fact {
            author: OWNERS[digits % OWNERS.len()].map(str::to_owned),
            ..new
        }
    }

    pub(super) fn fact_query(&mut self, space: &Space) -> FactQuery {
        let random = &mut self.random;
        let direction = random.pick(&[Direction::Outgoing, Direction::Incoming, Direction::Both]);
        FactQuery {
            space: space.clone(),
            entity: random.chance(50).then(|| (name_of(random).key, direction)),
            triple: random
                .chance(20)
                .then(|| [0; 3].map(|_| name_of(random).key)),
            relation: random
                .chance(20)
                .then(|| [0; 2].map(|_| name_of(random).key)),
            as_of: random.chance(50).then(|| period_of(random)),
            beyond: None,
            offset: if random.chance(30) {
                random.below(9)
            } else {
                0
            },
            limit: random.below(30),
        }
    }

    /// Returns the same period, mostly, or one that differs in one end.
    pub(super) fn near(&mut self, period: Option<Period>) -> Option<Period> {
        let Period { first, last } = period?;
        Some(match self.random.below(8) {
            0 => Period {
                first: first.plus_seconds(-1),
                last,
            },
            1 => Period {
                first,
                last: last.plus_seconds(1),
            },
            _ => Period { first, last },
        })
    }

    pub(super) fn period(&mut self) -> Period {
        period_of(&mut self.random)
    }

    /// Creates a tunnel between any locations, which may name missing memories.
    pub(super) fn tunnel(&mut self, space: &Space) -> Tunnel {
        let random = &mut self.random;
        Tunnel {
            space: space.clone(),
            source: end_of(random),
            target: end_of(random),
            label: odd_text(random),
            owner: random.pick(&OWNERS).map(str::to_owned),
            is_common: random.chance(50),
            created_at: moment_of(random),
            updated_at: moment_of(random),
            ..tunnel(&random.below(9).to_string())
        }
    }

    /// Returns the owner and the name of a setting.
    pub(super) fn setting(&mut self) -> (Option<String>, &'static str) {
        (
            self.random.pick(&OWNERS).map(str::to_owned),
            self.random.pick(&["name", "NAME"]),
        )
    }

    pub(super) fn source_file(&mut self) -> SourceFile {
        let random = &mut self.random;
        SourceFile {
            machine: random.pick(&["", "a", "b"]).to_owned(),
            root: odd_text(random),
            format: odd_text(random),
            stamp: FileStamp {
                bytes: random.bits(),
                modified_nanoseconds: random.bits().cast_signed(),
            },
            bytes_read: random.bits(),
            hash: ContentHash([random.bits() as u8; 32]),
            parts: random.bits(),
            is_pending: random.chance(50),
            is_whole: random.chance(50),
            ..source_file(random.pick(&COLLECTIONS), &path_of(random.below(5)))
        }
    }

    pub(super) fn tombstone(&mut self) -> Tombstone {
        let random = &mut self.random;
        Tombstone {
            salt: [random.pick(&[1, 9, 200]); 16],
            text: hash_of(random),
            memory: hash_of(random),
            source: random.chance(50).then(|| hash_of(random)),
            forgotten_at: moment_of(random),
            is_removed: random.chance(50),
        }
    }

    pub(super) fn hash(&mut self) -> KeyedHash {
        hash_of(&mut self.random)
    }

    /// Returns the content of some memory.
    pub(super) fn text(&mut self) -> String {
        text_of(&mut self.random)
    }

    /// Returns a limit below this one, or seldom the highest that there is.
    pub(super) fn limit(&mut self, end: usize) -> usize {
        if self.random.chance(4) {
            usize::MAX
        } else {
            self.random.below(end)
        }
    }

    /// Returns one tool set or none.
    pub(super) fn origin(&mut self) -> Option<&'static str> {
        self.random.chance(50).then(|| self.random.pick(&ORIGINS))
    }

    /// Returns at most `most` of these, each once.
    pub(super) fn some_of(&mut self, choices: &[&str], most: usize) -> Vec<String> {
        let mut chosen: Vec<String> = (0..self.random.below(most + 1))
            .map(|_| self.pick(choices).to_owned())
            .collect();
        let mut seen = BTreeSet::new();
        chosen.retain(|choice| seen.insert(choice.clone()));
        chosen
    }

    pub(super) fn id(&mut self) -> MemoryId {
        id_of(&mut self.random)
    }

    pub(super) fn moment(&mut self) -> Timestamp {
        moment_of(&mut self.random)
    }

    pub(super) fn change_mark(&mut self) -> ChangeMark {
        ChangeMark {
            at: self.moment(),
            by: self.random.pick(&OWNERS).map(str::to_owned),
            tool: self.random.pick(&KINDS).to_owned(),
            program: self
                .random
                .chance(60)
                .then(|| self.random.pick(&PROGRAMS).to_owned()),
            session: self.random.chance(50).then(|| odd_text(&mut self.random)),
            token: self
                .random
                .chance(30)
                .then(|| self.random.pick(&KINDS).to_owned()),
            call: self.random.below(5) as u64,
        }
    }

    pub(super) fn change_query(&mut self, space: &Space) -> ChangeQuery {
        let mark = self.change_mark();
        let revision = self.random.below(30) as u64;
        let after = (self.moment(), self.id(), revision);
        ChangeQuery {
            space: space.clone(),
            since: self.random.chance(40).then(|| self.moment()),
            by: mark.by.filter(|_| self.random.chance(30)),
            program: mark.program.filter(|_| self.random.chance(30)),
            session: mark.session.filter(|_| self.random.chance(20)),
            token: mark.token.filter(|_| self.random.chance(30)),
            call: self.random.chance(20).then_some(mark.call),
            after: self.random.chance(30).then_some(after),
            limit: 1 + self.random.below(20),
        }
    }

    pub(super) fn sweep(&mut self) -> Sweep {
        let mut cutoff = || {
            let moment = self.moment();
            self.random.pick(&[moment, Timestamp::MIN])
        };
        Sweep {
            expired_at: cutoff(),
            deleted_until: cutoff(),
            audited_before: cutoff(),
            wiped_before: cutoff(),
            counted_before: self.random.pick(&[i64::MIN, 0, 1]),
            changed_before: self.moment(),
        }
    }

    pub(super) fn outcome(&mut self, due_at: Timestamp) -> JobOutcome {
        let problem = format!("problem {}", self.random.below(9));
        match self.random.below(4) {
            0 => JobOutcome::Done,
            1 => JobOutcome::Retry { due_at, problem },
            2 => JobOutcome::Release { due_at },
            _ => JobOutcome::Failed { problem },
        }
    }
}

/// Returns a path; the order of paths differs from that of their numbers.
fn path_of(number: usize) -> String {
    format!("{}/{number} é.md", number % 3)
}

/// Returns mostly the first space, so that it has much.
fn space_of(random: &mut Random) -> Space {
    space(SPACES[usize::from(random.chance(25))])
}

fn id_of(random: &mut Random) -> MemoryId {
    MemoryId::new(random.below(IDS).to_string())
}

/// Returns one of a few hashes, of which some have the highest bit.
fn hash_of(random: &mut Random) -> KeyedHash {
    let mut hash = [random.pick(&[0, 127, 128, 255]); 32];
    hash[31] = random.below(2) as u8;
    hash
}

fn text_of(random: &mut Random) -> String {
    match random.below(4) {
        0 => odd_text(random),
        1 => format!("Content {}", random.below(9)),
        _ => format!("content {}", random.below(9)),
    }
}

fn moment_of(random: &mut Random) -> Timestamp {
    NOW.plus_seconds(random.below(7) as i64 - 1)
}

fn period_of(random: &mut Random) -> Period {
    let first = moment_of(random);
    Period {
        first,
        last: first.plus_seconds(random.below(3) as i64),
    }
}

fn name_of(random: &mut Random) -> Name {
    Name {
        key: random.pick(&["ann", "bob", "knows"]).to_owned(),
        spelling: odd_text(random),
    }
}

fn end_of(random: &mut Random) -> TunnelEnd {
    let memory = random.chance(70).then(|| id_of(random));
    TunnelEnd {
        memory,
        ..end(random.pick(&COLLECTIONS), random.pick(&SECTIONS))
    }
}

fn thread(random: &mut Random) -> Thread {
    Thread {
        name: random.pick(&THREADS).to_owned(),
        position: random.below(8) as u64,
    }
}

fn link(random: &mut Random) -> Link {
    let relation = random.pick(&Relation::ALL);
    Link {
        target: id_of(random),
        relation,
        similarity: random.signed_unit(),
    }
}

fn citation(random: &mut Random) -> Citation {
    Citation {
        kind: random.pick(&CitationKind::ALL),
        reference: odd_text(random),
        locator: random.chance(50).then(|| odd_text(random)),
        pin: random.chance(50).then(|| odd_text(random)),
        excerpt: random.chance(50).then(|| odd_text(random)),
    }
}

fn odd_text(random: &mut Random) -> String {
    random.pick(&ODD_TEXTS).to_owned()
}

fn reader(random: &mut Random, often: usize) -> Reader {
    Reader {
        subject: random.pick(&OWNERS).map(str::to_owned),
        everything: !random.chance(60 + often),
        shared: random.chance(70),
        own_origin: random.chance(30).then(|| random.pick(&ORIGINS).to_owned()),
    }
}

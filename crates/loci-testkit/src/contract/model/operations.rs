//! The operations of each subject. Where a store may choose, e.g. which of several memories a
//! soft deletion with a limit takes first, the operation goes on until there is no choice left.

use loci_core::limits::LEASE_SECONDS_MAX;
use loci_core::{
    Access, AccessIncrement, AuditQuery, Change, ClockJump, ModelId, Record, Space, SweepClock,
    Timestamp, Work,
};

use super::comparison::{Comparison, Subject};
use super::generator::{MODELS, OWNER_NAMES, PSEUDONYM, SPACES};
use crate::contract::calls::{needs_sweep, retire_model, sweep_through};
use crate::contract::examples::space;
use crate::contract::store::StoreAndTokens;

const NUL: &str = "a\0b";

impl Comparison<'_> {
    pub(super) fn operate(&mut self, subject: Subject) {
        match (subject, self.random.below(100)) {
            (_, 0..4) => self.sweep(),
            (_, 4..7) | (Subject::Users, 70..78) | (Subject::Archives, 7..14) => self.wipe(),
            (Subject::Memories | Subject::Notes, 7..14) => self.soft_delete(),
            (Subject::Memories, 14..20) => self.touch(),
            (Subject::Memories, 20..22) => {
                self.same(|store| store.reload());
            }
            (Subject::Users, 7..20) => self.put_cache_entry(),
            (Subject::Users, 20..25) => self.delete_cache_entries(),
            (Subject::Users, 25..40) => self.put_decision(),
            (Subject::Users, 40..60) => self.append_audit(),
            (Subject::Users, 60..70) => (0..3).for_each(|_| self.change_tokens()),
            (Subject::Work, 7..27) => self.lease_jobs(),
            (Subject::Work, 27..34) => self.retire_model(),
            (Subject::Work, 34..44) => self.lease(),
            (Subject::Work, 44..47) => self.put_sweep_clock(),
            (_, 98..) => self.refuse(subject),
            _ => {
                let batch = self.batch(subject);
                let since = self.since(&batch.space);
                self.commit(&batch, since);
            }
        }
    }

    /// Commits a single change that every store refuses.
    fn refuse(&mut self, subject: Subject) {
        let mut batch = self.batch(subject);
        batch.conditions.clear();
        batch.changes.truncate(1);
        for change in &mut batch.changes {
            self.spoil(change);
        }
        let since = self.since(&batch.space);
        self.commit(&batch, since);
    }

    fn sweep(&mut self) {
        let sweep = self.random.sweep();
        let limit = self.random.below(5);
        self.same(|store| needs_sweep(store, &sweep));
        self.compare_partitions(Work::Sweep(&sweep));
        let both: [&dyn StoreAndTokens; 2] = [self.store, &self.model];
        for store in both {
            for partition in store
                .partitions_with(Work::Sweep(&sweep), None, 9)
                .expect("it is read")
            {
                let steps = store.sweep(&partition, &sweep, limit);
                assert!(
                    steps.is_ok_and(|steps| steps <= limit),
                    "a sweep keeps to its limit"
                );
            }
        }
        self.same(|store| sweep_through(store, &sweep).map(|_| ()));
        self.same(|store| needs_sweep(store, &sweep));
    }

    fn wipe(&mut self) {
        let (space, now) = (self.random.space(), self.random.moment());
        let owner = self
            .random
            .pick(&[OWNER_NAMES[0], OWNER_NAMES[0], OWNER_NAMES[1], PSEUDONYM]);
        let owner = if self.random.chance(3) { NUL } else { owner };
        let origin = self.random.origin();
        let is_user = owner != PSEUDONYM;
        let pseudonym = (is_user && self.random.chance(50)).then_some(PSEUDONYM);
        let before = self.version(&space);
        let wiped = self.same(|store| store.wipe(&space, owner, origin, pseudonym, now));
        assert!(
            wiped.is_none() || self.version(&space) > before,
            "the version did not grow"
        );
    }

    fn soft_delete(&mut self) {
        let (filter, now) = (self.random.filter(), self.random.moment());
        let id = self.random.chance(60).then(|| self.random.id());
        if self.random.chance(50) {
            self.same(|store| store.soft_delete(&filter, id.as_ref(), now, 1_000));
            return;
        }
        let limit = 1 + self.random.below(4);
        self.same(|store| {
            loop {
                let deleted = store.soft_delete(&filter, id.as_ref(), now, limit)?;
                assert!(deleted <= limit, "a soft deletion keeps to its limit");
                if deleted == 0 {
                    return Ok(());
                }
            }
        });
    }

    fn touch(&mut self) {
        let touches: Vec<AccessIncrement> = (0..3)
            .map(|_| AccessIncrement {
                space: self.random.space(),
                id: self.random.id(),
                access: Access {
                    count: 1 + self.random.below(3) as u64,
                    last: self.random.chance(90).then(|| self.random.moment()),
                },
            })
            .collect();
        let before = SPACES.map(|name| self.version(&space(name)));
        self.same(|store| store.touch(&touches));
        let after = SPACES.map(|name| self.version(&space(name)));
        assert_eq!(before, after, "counting is no change");
    }

    fn put_cache_entry(&mut self) {
        let space = self.random.space();
        let mut entry = self.random.cache_entry(&space);
        if self.random.chance(3) {
            NUL.clone_into(&mut entry.response);
        }
        let since = self.since(&space);
        self.same_at(since, |store, since| store.put_cache_entry(&entry, since));
    }

    fn delete_cache_entries(&mut self) {
        let (space, owner) = (self.random.space(), self.random.pick(&OWNER_NAMES));
        let ids = [(); 3].map(|()| self.random.id());
        self.same(|store| store.delete_cache_entries(&space, owner, &ids));
    }

    fn put_decision(&mut self) {
        let space = self.random.space();
        let mut decision = self.random.decision(&space);
        if self.random.chance(3) {
            NUL.clone_into(&mut decision.value);
        }
        let since = self.since(&space);
        self.same_at(since, |store, since| store.put_decision(&decision, since));
    }

    /// Appends entries, whose numbers must be higher than all before.
    fn append_audit(&mut self) {
        let mut entries = [(); 3].map(|()| self.random.audit_entry());
        if self.random.chance(3) {
            entries[1].query = Some(NUL.to_owned());
        }
        let last = |store: &dyn StoreAndTokens, space: &Space| {
            let query = AuditQuery {
                space: space.clone(),
                limit: 1,
                ..AuditQuery::default()
            };
            let last = store.audit(&query).expect("the store can be read").pop();
            last.map_or(0, |(number, _)| number)
        };
        let spaces = SPACES.map(space);
        let before = spaces.each_ref().map(|space| last(self.store, space));
        self.same(|store| store.append_audit(&entries));
        for (space, before) in spaces.iter().zip(before) {
            let after = last(self.store, space);
            let highest = self.audited.entry(space.clone()).or_default();
            assert!(
                after == before || after > *highest,
                "number {after} was given twice"
            );
            *highest = after.max(*highest);
        }
    }

    fn change_tokens(&mut self) {
        let mut token = self.random.token();
        if self.random.chance(3) {
            NUL.clone_into(&mut token.subject);
        }
        let now = self.random.moment();
        match self.random.below(12) {
            0..6 => drop(self.same(|store| store.add_token(&token))),
            6..8 => {
                let secret = self.random.token_hash();
                self.same(|store| store.renew_token(&secret, &token));
            }
            8 => drop(self.same(|store| store.remove_ended_grants(now))),
            9 => drop(self.same(|store| store.remove_tokens(&token.subject))),
            _ => drop(self.same(|store| store.revoke_token(&token.id, now))),
        }
    }

    fn lease_jobs(&mut self) {
        let now = self.random.moment();
        let until = self.lease_end(now).max(now);
        let lease = format!("lease {}", self.random.bits());
        let limit = 1 + self.random.below(4);
        let jobs = self.same(|store| {
            let mut jobs = store.lease_jobs(now, until, &lease, limit)?;
            jobs.sort_by_key(|job| (job.space.clone(), job.memory.clone()));
            Ok(jobs)
        });
        self.leased.extend(jobs.unwrap_or_default());
    }

    /// Returns when a lease ends. The longest are too long for an earlier time; one second more is
    /// refused.
    fn lease_end(&mut self, now: Timestamp) -> Timestamp {
        let least = if self.random.chance(20) {
            LEASE_SECONDS_MAX - 2
        } else {
            -1
        };
        now.plus_seconds(least + self.random.below(5) as i64)
    }

    fn lease(&mut self) {
        let now = self.random.moment();
        let until = self.lease_end(now);
        let name = self.random.pick(&["sweep", "embed"]);
        let holder = self.random.pick(&["one", "another"]);
        let holder = if self.random.chance(3) { NUL } else { holder };
        self.same(|store| store.lease(name, holder, now, until));
    }

    fn put_sweep_clock(&mut self) {
        let jump = self.random.chance(60).then(|| ClockJump {
            seen: self.random.moment(),
            stood_seconds: self.random.chance(50).then(|| self.random.below(9) as i64),
        });
        let clock = SweepClock {
            trusted: self.random.moment(),
            jump,
        };
        self.same(|store| store.put_sweep_clock(&clock));
    }

    fn retire_model(&mut self) {
        let model = ModelId::new(self.random.pick(&MODELS));
        let limit = 1 + self.random.below(4);
        self.compare_partitions(Work::Retire(&model));
        let versions = |of: &Self| {
            SPACES
                .map(|name| of.version(&space(name)))
                .iter()
                .sum::<u64>()
        };
        let before = versions(self);
        let some = self.same(|store| retire_model(store, &model, limit));
        assert!(
            some == Some(0) || versions(self) > before,
            "no version grew"
        );
        self.same(|store| retire_model(store, &model, 1_000));
    }

    /// Makes a change that every store refuses: a text with NUL, or a record of another space.
    fn spoil(&mut self, change: &mut Change) {
        let nul = || NUL.to_owned();
        let is_elsewhere = self.random.chance(50);
        let elsewhere = space("elsewhere");
        match change {
            Change::PutFact(fact) if is_elsewhere => fact.space = elsewhere,
            Change::PutRecordVersion(version) if is_elsewhere => version.space = elsewhere,
            Change::PutTunnel { tunnel, .. } if is_elsewhere => tunnel.space = elsewhere,
            Change::PutIdempotentReply(reply) if is_elsewhere => reply.space = elsewhere,
            Change::Import { record, .. } => match &mut **record {
                Record::Memory(memory) => memory.space = elsewhere,
                Record::Fact(fact) => fact.space = elsewhere,
                Record::Tunnel(tunnel) => tunnel.space = elsewhere,
                Record::CacheEntry(entry) => entry.space = elsewhere,
                Record::Decision(decision) => decision.space = elsewhere,
                Record::IdempotentReply(reply) => reply.space = elsewhere,
                _ => {}
            },
            Change::Put { memory, .. } => match self.random.below(4) {
                0 => memory.content = nul(),
                1 => memory.weight = 1.5,
                2 => memory.weight = f64::NAN,
                _ => memory.space = elsewhere,
            },
            Change::Embed { vectors, .. } => drop(vectors.pop()),
            Change::PutVersion(version) => version.content = Some(nul()),
            Change::PutNoteFile(file) | Change::ExpectNoteFile { file, .. } => file.path = nul(),
            Change::PutNoteFolder { identity } => *identity = nul(),
            Change::PutIdempotentReply(reply) => reply.answer = nul(),
            Change::PutFact(fact) => fact.subject.key = nul(),
            Change::PutRecordVersion(version) => version.change.tool = nul(),
            Change::PutTunnel { tunnel, .. } => tunnel.label = nul(),
            Change::PutSetting { value, .. } => *value = nul(),
            Change::PutSourceFile { file, .. } => file.root = nul(),
            Change::Settle { job, .. } => job.space = elsewhere,
            _ => {}
        }
    }
}

//! Comparisons of what the two stores hold.

use loci_core::{
    AuditEntry, AuditQuery, DailyQuery, EntityQuery, FactPlace, FactQuery, FactStore, FilingOrder,
    Filter, Memory, MemoryId, ModelId, Nearest, Page, Partition, Period, QueryVector, RecordKind,
    Result, SortKey, Sorting, Space, Store, Timestamp, TunnelStore, Work,
};

use super::agreement::check_candidates;
use super::changes::all_facts;
use super::comparison::{Comparison, Pair, Subject};
use super::generator::{CLIENTS, MODELS, OWNER_NAMES, QUERIES, THREADS, TOOLS};
use crate::contract::calls::archive;
use crate::contract::examples::ODD_TEXTS;
use crate::contract::store::StoreAndTokens;

const EVERYTHING: usize = 1_000;

impl Comparison<'_> {
    /// Compares the reads of a subject.
    pub(super) fn compare(&mut self, subject: Subject) {
        match subject {
            Subject::Memories => self.compare_memories(),
            Subject::Notes => self.compare_notes(),
            Subject::Graph => self.compare_graphs(),
            Subject::Users => self.compare_users(),
            Subject::Work => self.compare_work(),
            Subject::Archives => self.compare_sizes(),
        }
    }

    pub(super) fn compare_archives(&mut self) {
        let now = self.random.moment();
        let (own, naive) = (archive(self.store, now), archive(&self.model, now));
        let (own, naive) = (own.expect("it is read"), naive.expect("it is read"));
        for (own, naive) in own.iter().zip(&naive) {
            assert_eq!(own, naive, "archived at {now:?}");
        }
        assert_eq!(own.len(), naive.len(), "archived at {now:?}");
    }

    fn compare_sizes(&mut self) {
        self.same(|store| store.size().map(|size| (size.memories, size.passages)));
        let filter = self.random.filter();
        self.compare_counts(&filter);
    }

    fn compare_memories(&mut self) {
        let filter = self.random.filter();
        let page = Page {
            offset: self.random.below(4),
            limit: self.random.limit(30),
        };
        let order = [FilingOrder::FirstFirst, FilingOrder::LastFirst];
        let order = self.random.pick(&order);
        self.same(|store| store.list(&filter, page));
        self.same(|store| store.list_by_insertion(&filter, order, page));
        self.compare_sorted(&filter, page);
        self.same(|store| store.facet_counts(&filter));
        let since = self.random.moment();
        self.same(|store| store.count_used(&filter, since));
        // The numbers are of each store, and the place in the list is not.
        self.same(|store| {
            let beyond = store
                .list_beyond(&filter, order, None, 1 + page.offset)?
                .pop();
            let beyond = beyond.map(|(number, _)| number);
            let listed = store.list_beyond(&filter, order, beyond, page.limit)?;
            Ok(listed
                .into_iter()
                .map(|(_, memory)| memory)
                .collect::<Vec<Memory>>())
        });
        self.same(|store| store.revisions(&filter, page.limit));
        self.compare_counts(&filter);
        let ids = self.compare_ids(&filter);
        self.same(|store| store.get_all(&filter, &ids));
        self.same(|store| store.locations_of(&filter, &ids));
        let after = ids.first().filter(|_| page.offset > 0);
        self.same(|store| store.ids_with_versions(&filter, after, page.limit));
        let changes = self.random.change_query(&filter.space);
        self.same(|store| store.changes(&changes));
        let part = self.random.pick(&ODD_TEXTS);
        let start = &ids[0].as_str()[..1];
        for part in [start, ids[0].as_str(), "%", "_", part] {
            self.same(|store| store.ids_with(&filter, part, page.limit));
        }
        let from = self.random.moment();
        let part = self.random.chance(30).then_some(start);
        self.same(|store| store.soft_deleted(&filter, part, from, page));
        self.same(|store| store.soft_deleted(&filter, None, Timestamp::MIN, page));
        let name = self.random.pick(&ODD_TEXTS);
        self.same(|store| store.attribute_values(&filter, name));
        let (owner, thread) = (self.random.pick(&OWNER_NAMES), self.random.pick(&THREADS));
        self.same(|store| store.count_by_status(&filter.space, owner, filter.live_at));
        self.same(|store| store.thread_end(&filter.space, owner, thread));
        self.same(|store| store.made_from(&filter.space, owner, &ids));
        let texts = [(); 3].map(|()| self.random.text());
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        self.same(|store| store.ids_of_texts(&filter, &texts[page.offset.min(3)..]));
        self.compare_candidates(&filter);
    }

    /// Compares what is known of a few memories; returns their ids.
    fn compare_ids(&mut self, filter: &Filter) -> Vec<MemoryId> {
        let mut ids: Vec<MemoryId> = (0..5).map(|_| self.random.id()).collect();
        ids.dedup();
        for id in &ids {
            self.same(|store| store.versions(&filter.space, id));
        }
        // Beyond the last that a memory may have, too.
        let passage = self.random.pick(&[0, 1, 2, 1 << 20, u32::MAX]);
        self.same(|store| store.passage_range(&filter.space, &ids[0], passage));
        self.same(|store| store.get(&filter.space, &ids[0]));
        self.same(|store| store.accesses(&filter.space, &ids));
        ids
    }

    fn compare_sorted(&mut self, filter: &Filter, page: Page) {
        let key = self.random.pick(&[
            SortKey::Uses,
            SortKey::LastUse,
            SortKey::Size,
            SortKey::Kind,
            SortKey::Program,
            SortKey::Update,
        ]);
        let sorting = Sorting {
            key,
            is_descending: self.random.chance(50),
        };
        self.same(|store| store.list_sorted(filter, sorting, page));
    }

    fn compare_counts(&mut self, filter: &Filter) {
        for filter in [filter, &self.random.counted_filter()] {
            let counts = self.same(|store| store.count_by_location(filter));
            self.same(|store| Ok((store.count(filter)?, store.collections(filter)?)));
            let counted = self.same(|store| store.count_uncached(filter));
            assert_eq!(counts, counted, "counted afresh, {filter:?}");
        }
    }

    fn compare_candidates(&mut self, filter: &Filter) {
        let question = self.question(filter.clone());
        let query = question.query();
        if self.random.chance(50) {
            let limit = self.random.below(9);
            let mut nearest = self
                .store
                .nearest(filter, std::slice::from_ref(&query), limit)
                .expect("the store can be read");
            let mut ids = Nearest::ids(&nearest.candidates);
            ids.truncate(limit);
            assert_eq!(Ok(nearest.memories), self.model.get_all(filter, &ids));
            assert_eq!(Ok(nearest.version), self.store.version(&filter.space));
            let found = nearest.candidates.pop().expect("one for each query");
            check_candidates(&self.model, &query, &found);
        }
        let found = self
            .store
            .candidates(&query)
            .expect("the store can be read");
        check_candidates(&self.model, &query, &found);
    }

    fn compare_notes(&mut self) {
        let filter = self.random.filter();
        let space = &filter.space;
        self.same(|store| Ok((store.note_files(space)?, store.note_folder(space)?)));
        for _ in 0..4 {
            let id = self.random.id();
            self.same(|store| store.note_file_of(space, &id));
        }
        let limit = self.random.below(6);
        self.same(|store| store.notes_among(&filter, limit));
    }

    fn compare_graphs(&mut self) {
        let (space, now) = (self.random.space(), self.random.moment());
        let query = self.random.fact_query(&space);
        self.same(|store| store.facts(&query));
        self.same(|store| store.facts(&all_facts(&space)));
        let known = self.model.facts(&all_facts(&space));
        let known = known.expect("the naive store can be read");
        for fact in known.iter().take(3) {
            let beyond = Some(FactPlace::of(fact));
            for query in [&query, &all_facts(&space)] {
                let query = FactQuery {
                    beyond: beyond.clone(),
                    ..query.clone()
                };
                self.same(|store| store.facts(&query));
            }
        }
        let changes = self.random.change_query(&space);
        self.same(|store| store.record_changes(&changes));
        let tunnels = self.model.tunnels(&space);
        let tunnels = tunnels.expect("the naive store can be read").into_iter();
        let facts = known.iter().map(|fact| (RecordKind::Fact, fact.id.clone()));
        let tunnels = tunnels.map(|tunnel| (RecordKind::Tunnel, tunnel.id));
        for (kind, id) in facts.chain(tunnels) {
            self.same(|store| store.record_versions(&space, kind, &id));
        }
        let known = known.into_iter();
        let ids = known.map(|fact| fact.id).take(5);
        let ids: Vec<String> = ids.chain(["missing".to_owned()]).collect();
        self.same(|store| store.facts_with_ids(&space, &ids));
        self.same(|store| store.fact_counts(&space, now));
        let entities = EntityQuery {
            space: space.clone(),
            text: ["", "a", "e"][self.random.below(3)].to_owned(),
            as_of: query.as_of.unwrap_or(Period {
                first: now,
                last: now,
            }),
            now,
            limit: self.random.below(9),
        };
        self.same(|store| store.entities(&entities));
        self.same(|store| store.tunnels(&space));
        let (owner, name) = self.random.setting();
        self.same(|store| store.setting(&space, owner.as_deref(), name));
        self.compare_tombstones(&space);
        let like = self.random.source_file();
        let (machine, collection) = (&*like.machine, like.collection.as_deref());
        self.same(|store| store.source_file(&space, machine, collection, &like.path));
        self.same(|store| store.source_files(&space, machine, collection));
        self.same(|store| store.sources_at(&space, machine, &like.path));
        let limit = self.random.below(6);
        self.same(|store| store.pending_sources(&space, machine, limit));
    }

    fn compare_tombstones(&mut self, space: &Space) {
        let texts: Vec<_> = (0..self.random.below(4))
            .map(|_| self.random.hash())
            .collect();
        let after = self.random.chance(60).then(|| self.random.tombstone());
        let limit = self.random.limit(9);
        self.same(|store| {
            Ok((
                store.tombstone_salts(space)?,
                store.tombstones_of(space, &texts)?,
                store.tombstones(space, after.as_ref(), limit)?,
            ))
        });
    }

    fn compare_users(&mut self) {
        let (space, now) = (self.random.space(), self.random.moment());
        for _ in 0..4 {
            let like = self.random.idempotent_reply(&space);
            let owner = like.owner.as_deref();
            self.same(|store| {
                store.idempotent_reply(&space, owner, &like.operation, &like.key, now)
            });
            let like = self.random.decision(&space);
            self.same(|store| store.decision(&space, &like.owner, &like.key, now));
        }
        let owner = self.random.pick(&OWNER_NAMES);
        self.same(|store| store.cached_queries(&space, owner, now));
        let query = self.random.pick(&QUERIES);
        let vector = self.random.chance(70).then(|| QueryVector {
            model: ModelId::new(self.random.pick(&MODELS)),
            values: self.random.direction(),
        });
        let limit = self.random.below(4);
        self.same(|store| {
            let vector = vector.as_ref();
            let near = store.nearest_cache_entries(&space, owner, query, vector, now, limit)?;
            // Directions are far apart, so that rounding makes no ties.
            let rounded = near
                .into_iter()
                .map(|(entry, cosine)| (entry, (cosine * 1_000.0).round() as i32));
            Ok(rounded.collect::<Vec<_>>())
        });
        let hash = self.random.token_hash();
        self.same(|store| {
            let found = (store.token_by_hash(&hash)?, store.token_by_family(&hash)?);
            Ok((store.tokens()?, found))
        });
        self.compare_audit(&space);
    }

    /// Compares entries of the audit log, whose numbers may differ.
    fn compare_audit(&mut self, space: &Space) {
        let last = |limit| AuditQuery {
            space: space.clone(),
            limit,
            ..AuditQuery::default()
        };
        self.same(|store| store.audited_spaces());
        let user = self.random.audit_entry().user;
        for user in [None, user] {
            let days = DailyQuery {
                space: space.clone(),
                user,
                from: -9,
                until: 9,
            };
            self.same(|store| store.daily(&days));
        }
        self.same(|store| Ok(audited(store, &last(EVERYTHING))?.1));
        let mut number = |chance| {
            let numbers = |store: &dyn StoreAndTokens| {
                let audited = audited(store, &last(EVERYTHING));
                audited.expect("the store can be read").0
            };
            let (own, naive) = (numbers(self.store), numbers(&self.model));
            let place = self.random.below(own.len());
            let pair = own.get(place).zip(naive.get(place));
            let pair = pair.filter(|_| self.random.chance(chance));
            pair.map(|(own, naive)| Pair {
                own: *own,
                naive: *naive,
            })
        };
        let (after, before) = (number(30), number(30));
        let like = self.random.audit_entry();
        let record = self.random.id().to_string();
        let tool = self.random.pick(&TOOLS).to_owned();
        let mut if_chance = |value: Option<String>| value.filter(|_| self.random.chance(25));
        let query = AuditQuery {
            user: if_chance(like.user),
            tool: if_chance(Some(tool)),
            client: if_chance(Some(CLIENTS[0].to_owned())),
            record: if_chance(Some(record)),
            since: Some(like.at).filter(|_| like.results.is_some()),
            ..last(1 + like.records.len() * 3)
        };
        self.same_at(Pair { own: 0, naive: 1 }, |store, is_naive| {
            let number = |pair: Pair| [pair.own, pair.naive][is_naive as usize];
            let query = AuditQuery {
                after: after.map(number),
                before: before.map(number),
                ..query.clone()
            };
            Ok(audited(store, &query)?.1)
        });
    }

    fn compare_work(&mut self) {
        let (space, now) = (self.random.space(), self.random.moment());
        let model = ModelId::new(self.random.pick(&MODELS));
        let limit = self.random.below(5);
        self.same(|store| {
            Ok((
                store.next_job_at(now)?,
                store.job_counts()?,
                store.failed_jobs(limit)?,
            ))
        });
        self.compare_partitions(Work::Embed(&model));
        let partition = self.store.partition_of(&space);
        for order in [FilingOrder::FirstFirst, FilingOrder::LastFirst] {
            self.same(|store| store.without_vector(&partition, &model, order, 1 + 3 * limit));
        }
        self.same(|store| {
            Ok((
                store.models()?,
                store.pending_embeddings(&model, 1 + 3 * limit)?,
            ))
        });
        let dimensions = self.random.unit_vector().len() + self.random.below(2);
        self.same(|store| store.has_other_dimensions(&partition, &model, dimensions));
        for _ in 0..3 {
            let id = self.random.id();
            self.same(|store| store.vectors(&space, &id, &model));
        }
        for name in ["sweep", "embed"] {
            self.same(|store| store.lease_holder(name, now));
        }
        self.same(|store| store.sweep_clock());
    }

    /// Compares which partitions have this work. The naive store has one for each space.
    pub(super) fn compare_partitions(&mut self, work: Work<'_>) {
        let naive = self.model.partitions_with(work, None, EVERYTHING);
        let naive = naive.expect("the naive store can be read").into_iter();
        let own = naive.map(|partition| match partition {
            Partition::Space(space) => self.store.partition_of(&space),
            Partition::Whole => partition,
        });
        let mut expected: Vec<Partition> = own.collect();
        expected.dedup();
        let after = self.random.space();
        let after = self
            .random
            .chance(50)
            .then(|| self.store.partition_of(&after));
        let limit = self.random.below(3);
        let is_later = |partition: &Partition| after.as_ref().is_none_or(|after| partition > after);
        expected.sort_by_key(|partition| !is_later(partition));
        expected.truncate(limit);
        let found = self.store.partitions_with(work, after.as_ref(), limit);
        assert_eq!(found, Ok(expected), "{work:?} after {after:?}");
    }
}

/// Returns the numbers and the entries of the audit log.
fn audited(store: &dyn StoreAndTokens, query: &AuditQuery) -> Result<(Vec<u64>, Vec<AuditEntry>)> {
    let (numbers, entries): (Vec<u64>, Vec<_>) = store.audit(query)?.into_iter().unzip();
    assert!(
        numbers.is_sorted_by(|left, right| left < right),
        "{numbers:?}"
    );
    Ok((numbers, entries))
}

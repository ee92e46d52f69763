//! Checks and repairs, on rows that are broken by SQL.

use loci_core::{
    AuditEntry, AuditFailure, AuditRecord, AuditStore, Batch, CandidateQuery, Change, DailyQuery,
    EnrichmentStatus, ErrorCode, Fact, FactQuery, FactStore, IdempotentReply, Maintenance, Memory,
    ModelId, Name, ProblemKind, RecordVerb, Store, Sweep, Thread, Timestamp, Vector,
};
use loci_store_postgres::{Options, PostgresStore};
use loci_testkit::contract::{
    audit_entry, filter, idempotent_reply, memory, put, put_reply, sweep_of_expired,
};
use loci_testkit::postgres::{has_cluster, server_url};
use loci_text::indexed;

use crate::{Schemas, run_sql, with_client};

fn model() -> ModelId {
    ModelId::new("model")
}

/// A store with memories that have all that the cases break.
fn filled(options: &Options) -> PostgresStore {
    let store = PostgresStore::open(options.clone()).unwrap();
    for number in 0..3 {
        let mut memory = Memory {
            content: format!("The kiln number {number} is fired on Monday."),
            enrichment: Some(EnrichmentStatus::Failed),
            ..memory(&format!("m{number}"))
        };
        memory.thread = (number == 2).then(|| Thread {
            name: "thread".to_owned(),
            position: 1,
        });
        let mut passages = indexed::passages(&memory);
        for passage in &mut passages {
            passage.vector = Some(Vector {
                model: model(),
                scale: 1.0,
                values: vec![1, 2, 3],
            });
        }
        store.commit(put(&memory, passages)).unwrap();
    }
    store
}

/// A statement that breaks something, the kind of the problem, and a part of its text.
const CASES: [(&str, ProblemKind, &str); 17] = [
    (
        "DELETE FROM @passage WHERE memory = 1",
        ProblemKind::Derived,
        "memories without passages, which no search finds in the space `main`: `m0`",
    ),
    (
        "UPDATE @passage SET memory = 77 WHERE memory = 1",
        ProblemKind::Derived,
        "1 passages without a memory",
    ),
    (
        "UPDATE @passage SET terms = terms || terms",
        ProblemKind::Derived,
        "3 memories with other passages or words",
    ),
    (
        "UPDATE @passage SET end_byte = 3 WHERE memory = 2",
        ProblemKind::Derived,
        "with other passages or words than their texts give",
    ),
    (
        "UPDATE @passage SET terms = '\\xff' WHERE memory = 2",
        ProblemKind::Derived,
        "`m1`",
    ),
    (
        "UPDATE @passage SET model = 9",
        ProblemKind::Derived,
        "3 vectors of an unknown model",
    ),
    (
        "UPDATE @passage SET scale = NULL WHERE memory = 1",
        ProblemKind::Derived,
        "passages with a part of a vector",
    ),
    (
        "UPDATE @passage SET vector = '\\x01' WHERE memory = 1",
        ProblemKind::Derived,
        "1 vectors that are not as long as others",
    ),
    (
        "UPDATE @space SET embedded = 'm'; UPDATE @passage SET model = NULL, scale = NULL, vector = NULL",
        ProblemKind::Derived,
        "3 memories without a vector in a space that is noted as embedded",
    ),
    (
        "INSERT INTO @job (space, memory, attempts) VALUES ('main', 99, 0)",
        ProblemKind::Derived,
        "1 jobs without a memory",
    ),
    (
        "INSERT INTO @access (space, memory, count) VALUES ('main', 99, 1)",
        ProblemKind::Derived,
        "1 counts of returns without a memory",
    ),
    (
        "UPDATE @place_count SET memories = memories + 1",
        ProblemKind::Derived,
        "1 differences between the counts of places and their memories",
    ),
    (
        "UPDATE @space SET rows = 0",
        ProblemKind::Derived,
        "spaces with a number or a time that its rows exceed",
    ),
    (
        "UPDATE @memory SET expires_at = 9000000000000000 WHERE row = 1; DELETE FROM @job WHERE memory = 1; \
         UPDATE @place_count SET memories = 2",
        ProblemKind::Derived,
        "spaces with a number or a time that its rows exceed",
    ),
    (
        "DROP INDEX @memory_by_update",
        ProblemKind::Derived,
        "the index memory_by_update is missing or invalid",
    ),
    (
        "ALTER TABLE @fact ALTER space SET STATISTICS 100",
        ProblemKind::Derived,
        "statistics are kept on the column space of the table fact",
    ),
    (
        "CREATE TABLE @mine (space text); CREATE VIEW @seen AS SELECT * FROM @memory",
        ProblemKind::Foreign,
        "the table \"mine\" was not made by loci",
    ),
];

/// Takes back the migrations to tokens of clients, to the origin of words, to changes of memories and
/// to the counts of entities.
pub(crate) const UNDO_FROM_9: &str = "DROP INDEX @fact_about_itself; DROP INDEX @fact_by_subject; \
    DROP INDEX @fact_by_object; CREATE INDEX fact_by_subject ON @fact (space, subject); \
    CREATE INDEX fact_by_object ON @fact (space, object); ALTER TABLE @token DROP COLUMN client_id, DROP COLUMN client, DROP COLUMN resource, \
    DROP COLUMN parent, DROP COLUMN family, DROP COLUMN secret, DROP COLUMN renewable_until, \
    DROP COLUMN redirect_uri, DROP COLUMN challenge; \
    ALTER TABLE @memory DROP COLUMN said_by, DROP COLUMN program, DROP COLUMN session; \
    DELETE FROM @version WHERE content IS NULL; ALTER TABLE @version ALTER COLUMN content SET NOT NULL, \
    DROP COLUMN properties, DROP COLUMN changed_at, DROP COLUMN changed_by, DROP COLUMN tool, DROP COLUMN program, \
    DROP COLUMN session, DROP COLUMN token, DROP COLUMN call; \
    DROP TABLE @record_version";

#[test]
fn what_is_derived_is_checked_and_repaired() {
    let schemas = Schemas::default();
    for (sql, kind, text) in CASES {
        // A distributed table has no triggers, and its statistics cannot be changed.
        if has_cluster() && (sql.contains("TRIGGER") || sql.contains("STATISTICS")) {
            continue;
        }
        let options = schemas.options();
        let store = filled(&options);
        // No job tells of the memories that could not be judged.
        assert!(!store.repair().unwrap().needs_rebuild);
        assert_eq!(store.integrity_check(), Ok(Vec::new()), "before {sql}");
        run_sql(&options, sql);
        let problems = store.integrity_check().unwrap();
        assert!(
            problems
                .iter()
                .any(|problem| problem.kind == kind && problem.text.contains(text)),
            "{sql}: {problems:?}"
        );
        let repair = store.repair().unwrap();
        let left = store.integrity_check().unwrap();
        if kind == ProblemKind::Foreign {
            assert_eq!((repair.done.len(), left), (0, problems), "{sql}");
            continue;
        }
        assert!(!repair.done.is_empty(), "{sql}");
        assert_eq!(left, Vec::new(), "{sql}: {repair:?}");
        store.reload().unwrap();
        assert_eq!(found(&store), 3, "{sql}");
        assert_eq!(store.repair().unwrap().done, Vec::new(), "{sql}");
    }
}

fn found(store: &PostgresStore) -> usize {
    let filter = filter();
    let words = ["kiln".to_owned()];
    let query = CandidateQuery {
        terms: &words,
        ..CandidateQuery::of(&filter, 10)
    };
    store.candidates(&query).unwrap().hits.len()
}

#[test]
fn what_a_caller_filed_is_named_and_not_repaired() {
    let schemas = Schemas::default();
    for (sql, text) in [
        (
            "UPDATE @memory SET links = 'no list' WHERE row = 2",
            "1 memories that cannot be read in the space `main`: `m1`",
        ),
        ("DROP TABLE @tunnel", "the table tunnel is missing"),
        (
            "DELETE FROM @installation",
            "the row of the table installation is missing",
        ),
        (
            "INSERT INTO @fact (space, row, id, subject, predicate, object, triple, created_at) \
             VALUES ('main', 0, 'f', 'a', 'b', 'c', '', 0)",
            "1 facts whose names are not known in the space `main`: `f`",
        ),
    ] {
        let options = schemas.options();
        let store = filled(&options);
        store.repair().unwrap();
        run_sql(&options, sql);
        let problems = store.integrity_check().unwrap();
        let is_named = |problem: &loci_core::Problem| {
            problem.kind == ProblemKind::Damaged && problem.text.contains(text)
        };
        assert!(problems.iter().any(is_named), "{sql}: {problems:?}");
        assert_eq!(store.structure_check().unwrap(), problems, "{sql}");
        assert_eq!(store.repair().unwrap().done, Vec::new(), "{sql}");
        assert_eq!(store.integrity_check(), Ok(problems), "{sql}");
    }
}

#[test]
fn reindex_rebuilds_all_that_is_derived() {
    let schemas = Schemas::default();
    let options = schemas.options();
    let store = filled(&options);
    run_sql(
        &options,
        "UPDATE @passage SET terms = ''; DELETE FROM @place_count",
    );
    let done = store.reindex(false).unwrap();
    assert_eq!((done.memories, done.damaged, done.vectors), (3, 0, 0));
    assert!(done.indexes > 50, "{done:?}");
    assert_eq!(found(&store), 3);
    let vectors = || {
        store
            .vectors(&filter().space, &memory("m0").id, &model())
            .unwrap()
    };
    assert_eq!(vectors().len(), 1);
    assert_eq!(store.reindex(true).unwrap().vectors, 3);
    assert!(vectors().is_empty());
    assert_eq!(store.pending_embeddings(&model(), 9), Ok(3));
    assert_eq!(store.repair().unwrap().done.len(), 1, "the jobs");
    assert_eq!(store.integrity_check(), Ok(Vec::new()));
    store.check_write().unwrap();
}

#[test]
fn an_upgrade_leaves_the_authors_of_facts_unknown() {
    let schemas = Schemas::default();
    let options = schemas.options();
    let home = filter().space;
    let name = |key: &str| Name {
        key: key.to_owned(),
        spelling: key.to_owned(),
    };
    let fact = |id: &str| Fact {
        space: home.clone(),
        id: id.to_owned(),
        subject: name("max"),
        predicate: name("knows"),
        object: name(id),
        valid_from: None,
        valid_to: None,
        source: Some("said".to_owned()),
        author: Some("ann".to_owned()),
        created_at: filter().live_at,
    };
    let put = |store: &PostgresStore, id: &str| {
        let change = Change::PutFact(Box::new(fact(id)));
        store
            .commit(Batch::new(home.clone(), vec![change]))
            .unwrap();
    };
    put(&PostgresStore::open(options.clone()).unwrap(), "before");
    run_sql(
        &options,
        &format!(
            "ALTER TABLE @fact DROP COLUMN author; DROP TABLE @daily; DROP TABLE @open_item; \
             DROP TABLE @examined; {UNDO_FROM_9}; DELETE FROM @migration WHERE version >= 6; \
             UPDATE @installation SET readable_from = 5"
        ),
    );
    let store = PostgresStore::open(options).unwrap();
    put(&store, "later");
    let facts = store.facts(&FactQuery {
        space: home.clone(),
        entity: None,
        triple: None,
        relation: None,
        as_of: None,
        beyond: None,
        offset: 0,
        limit: 9,
    });
    let before = Fact {
        author: None,
        ..fact("before")
    };
    assert_eq!(facts, Ok(vec![before, fact("later")]));
    assert_eq!(store.structure_check(), Ok(Vec::new()));
}

/// The upgrade counts the calls of the log as the store does when it appends them.
#[test]
fn an_upgrade_counts_the_calls_of_the_log() {
    let schemas = Schemas::default();
    let options = schemas.options();
    let home = filter().space;
    let call = |number: u64| {
        let record = |position: u64| AuditRecord {
            id: format!("memory {position}"),
            verb: RecordVerb::ALL[usize::try_from(number % 5).unwrap()],
            is_own: true,
        };
        AuditEntry {
            space: home.clone(),
            at: Timestamp::from_microseconds((number.cast_signed() - 20) * 40_000_000_001),
            user: (!number.is_multiple_of(4)).then(|| "ann".to_owned()),
            caller: None,
            client: (!number.is_multiple_of(3)).then(|| "app".to_owned()),
            session: None,
            dialect: ["hook", "vault"][usize::from(number % 3 != 1)].to_owned(),
            tool: ["session_start", "recall"][usize::from(!number.is_multiple_of(2))].to_owned(),
            operation: "memory:read".to_owned(),
            duration_microseconds: 500 << (number % 13),
            query: number.is_multiple_of(2).then(|| "asked".to_owned()),
            results: (!number.is_multiple_of(5)).then_some(number % 3),
            reply_tokens: Some(number),
            failure: number.is_multiple_of(7).then_some(AuditFailure {
                code: ErrorCode::Unavailable,
                message: None,
            }),
            records: (0..number % 3).map(record).collect(),
            further_records: 0,
            further_stored: 0,
        }
    };
    let calls: Vec<AuditEntry> = (0..60).map(call).collect();
    let days = DailyQuery {
        space: home.clone(),
        user: None,
        from: -99,
        until: 99,
    };
    let store = PostgresStore::open(options.clone()).unwrap();
    store.append_audit(&calls).unwrap();
    let counted = store.daily(&days).unwrap();
    let in_all: u64 = counted.iter().map(|count| count.calls).sum();
    assert_eq!(in_all, 60);
    drop(store);
    run_sql(
        &options,
        &format!(
            "DROP TABLE @daily; DROP TABLE @open_item; DROP TABLE @examined; {UNDO_FROM_9}; \
             DELETE FROM @migration WHERE version >= 7; UPDATE @installation SET readable_from = 6"
        ),
    );
    let store = PostgresStore::open(options).unwrap();
    assert_eq!(store.daily(&days), Ok(counted));
}

#[test]
fn texts_are_analysed_again_after_an_upgrade() {
    let schemas = Schemas::default();
    let options = schemas.options();
    let store = filled(&options);
    let version = i64::from(loci_text::analysis::VERSION);
    let other_handle = PostgresStore::open(options.clone()).unwrap();
    run_sql(
        &options,
        "UPDATE @passage SET terms = ''; UPDATE @space SET analysis = analysis - 1",
    );
    assert_eq!(found(&store), 3, "the first search analyses them");
    assert_eq!(found(&other_handle), 3);
    assert_eq!(
        store
            .vectors(&filter().space, &memory("m0").id, &model())
            .unwrap()
            .len(),
        1
    );
    run_sql(
        &options,
        &format!(
            "UPDATE @space SET analysis = {} WHERE space = 'main'",
            version + 1
        ),
    );
    let filter = filter();
    let refused = store
        .candidates(&CandidateQuery::of(&filter, 10))
        .unwrap_err();
    assert!(
        refused.is_unavailable() && refused.message.contains("a newer loci"),
        "{refused}"
    );
    let refused = store.commit(put(&memory("new"), Vec::new())).unwrap_err();
    assert!(refused.message.contains("a newer loci"), "{refused}");
}

/// No read tells of rows that are left beside a call or an answer that is gone.
#[test]
fn rows_beside_calls_and_answers_go_with_them() {
    let schemas = Schemas::default();
    let options = schemas.options();
    let store = PostgresStore::open(options.clone()).unwrap();
    let entry = AuditEntry {
        records: vec![AuditRecord {
            id: "a".to_owned(),
            verb: RecordVerb::ALL[0],
            is_own: true,
        }],
        ..audit_entry("ann", "recall")
    };
    let answer = IdempotentReply {
        memories: vec![memory("a").id],
        ..idempotent_reply(Some("ann"), "key")
    };
    store.commit(put(&memory("a"), Vec::new())).unwrap();
    let fill = || {
        store.append_audit(std::slice::from_ref(&entry)).unwrap();
        store.commit(put_reply(&answer)).unwrap();
    };
    let rows = || -> i64 {
        let sql =
            "SELECT (SELECT count(*) FROM @audit_record) + (SELECT count(*) FROM @reply_memory)";
        let sql = sql.replace('@', &format!("{}.", options.schema));
        with_client(server_url(), async |client| {
            client.query_one(&sql, &[]).await.unwrap().get(0)
        })
    };
    let (home, far) = (&answer.space, answer.expires_at);
    fill();
    assert_eq!(rows(), 2);
    // No entry is kept that is older than a wipe.
    let before = entry.at.plus_seconds(-1);
    store.wipe(home, "ann", None, None, before).unwrap();
    assert_eq!(rows(), 0);
    fill();
    assert_eq!(rows(), 2);
    let sweep = Sweep {
        audited_before: far,
        ..sweep_of_expired(far)
    };
    let steps = store.sweep(&store.partition_of(home), &sweep, 9).unwrap();
    assert_eq!((steps, rows()), (2, 0));
}

//! Row security: the server keeps the spaces apart as well, whatever a statement says.

use std::time::Instant;

use loci_core::limits::NAME_CHARACTERS_MAX;
use loci_core::{
    CandidateQuery, CheckOutcome, Maintenance, Memory, ModelId, Page, ServerCheck, Space, Store,
    TokenStore, Vector,
};
use loci_store_postgres::{Options, PostgresStore};
use loci_testkit::contract::{filter, memory, passage, put};
use loci_testkit::postgres::{has_cluster, plain_server_url, server_url};
use tokio_postgres::error::SqlState;

use crate::faults::{Role, as_user, assert_says};
use crate::maintenance::UNDO_FROM_9;
use crate::{Schemas, finding, run_sql, with_client};

const ON: &str = "ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY";
const OFF: &str = "DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY";

/// Returns the options of a store whose role is no superuser.
fn plain(schemas: &Schemas, row_security: bool) -> Options {
    Options {
        url: plain_server_url(),
        row_security,
        ..schemas.options()
    }
}

fn open(options: &Options) -> PostgresStore {
    PostgresStore::open(options.clone()).unwrap()
}

fn of_space(space: &str, id: &str) -> Memory {
    Memory {
        space: Space::parse("space", space).unwrap(),
        ..memory(id)
    }
}

/// Stores a memory in each of two spaces.
fn fill(store: &PostgresStore) {
    for space in ["main", "other"] {
        let memory = of_space(space, space);
        store.commit(put(&memory, vec![passage("word")])).unwrap();
    }
}

fn listed(store: &PostgresStore) -> usize {
    store
        .list(
            &filter(),
            Page {
                limit: 10,
                offset: 0,
            },
        )
        .unwrap()
        .len()
}

fn searched(store: &PostgresStore) -> usize {
    let (filter, words) = (filter(), ["word".to_owned()]);
    let query = CandidateQuery {
        terms: &words,
        ..CandidateQuery::of(&filter, 10)
    };
    store.candidates(&query).unwrap().hits.len()
}

/// Changes every table of a store, as a superuser.
fn alter_all(options: &Options, change: &str) {
    let sql = "SELECT tablename::text FROM pg_tables WHERE schemaname = $1";
    let tables = with_client(server_url(), async |client| {
        client.query(sql, &[&options.schema]).await.unwrap()
    });
    for row in tables {
        let table: String = row.get(0);
        run_sql(options, &format!("ALTER TABLE @{table} {change}"));
    }
}

fn check(store: &PostgresStore) -> ServerCheck {
    finding(store, "row security")
}

/// Grants a role what a front end needs that does not own the tables.
fn grant_daily_rights(options: &Options, role: &str) {
    let schema = &options.schema;
    run_sql(
        options,
        &format!(
            "GRANT USAGE ON SCHEMA {schema} TO {role}; \
             GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {role}"
        ),
    );
}

/// Statements that forget the space, as the owner of the tables and as another role.
#[test]
fn a_statement_that_forgets_the_space_stays_in_the_one_that_was_declared() {
    let schemas = Schemas::default();
    let options = plain(&schemas, true);
    let schema = &options.schema;
    fill(&open(&options));
    let name = format!("guest_{schema}");
    let _role = Role::create(&options, &name, "");
    grant_daily_rights(&options, &name);
    for url in [plain_server_url(), as_user(&options, &name).url] {
        with_client(&url, async |client| {
            let run = async |scope: &str, sql: &str| {
                let sql = sql.replace('@', &format!("{schema}."));
                client.batch_execute("BEGIN").await.unwrap();
                if has_cluster() {
                    let reach = "SET LOCAL citus.propagate_set_commands = 'local'";
                    client.batch_execute(reach).await.unwrap();
                }
                let declare = format!("SET LOCAL loci.space = '{scope}'");
                client.batch_execute(&declare).await.unwrap();
                let outcome = client.query(&sql, &[]).await;
                client.batch_execute("ROLLBACK").await.unwrap();
                outcome.map_err(|error| error.code().cloned().unwrap())
            };
            let spaces = async |scope: &str, sql: &str| {
                let rows = run(scope, sql).await.unwrap();
                let mut names: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
                names.sort_unstable();
                names
            };
            let fails = SqlState::UNDEFINED_OBJECT;
            let read = "SELECT space FROM @memory";
            // In a new session, the setting is not known.
            let sql = read.replace('@', &format!("{schema}."));
            let undeclared = client.query(&sql, &[]).await.unwrap_err();
            assert_eq!(undeclared.code(), Some(&fails));
            assert_eq!(spaces("space:main", read).await, ["main"]);
            // After a transaction that had a value, it is empty.
            let undeclared = client.query(&sql, &[]).await.unwrap_err();
            assert_eq!(undeclared.code(), Some(&fails));
            for wrong in [
                "main",
                "a longer name",
                "zzzzzzzz",
                "all",
                "all:main",
                "space",
            ] {
                assert_eq!(run(wrong, read).await.unwrap_err(), fails, "{wrong}");
                // Not only where an index takes both bounds before it meets a row.
                let scan = format!(
                    "{wrong}'; SET LOCAL enable_indexscan = off; SET LOCAL enable_bitmapscan = off; \
                     SET LOCAL enable_indexonlyscan = 'off"
                );
                assert_eq!(run(&scan, read).await.unwrap_err(), fails, "{wrong}");
            }
            assert_eq!(spaces("space:other", read).await, ["other"]);
            assert_eq!(spaces("all:", read).await, ["main", "other"]);
            assert!(spaces("space:", read).await.is_empty());
            let of_store = if has_cluster() {
                "@store_space"
            } else {
                "@space"
            };
            let sql = format!("SELECT space FROM {of_store}");
            assert_eq!(spaces("space:", &sql).await, [""]);
            for sql in [
                "UPDATE @memory SET title = 'x' RETURNING space",
                "DELETE FROM @memory RETURNING space",
                "SELECT space FROM @memory FOR UPDATE",
                "SELECT m.space FROM @memory AS m JOIN @passage AS p ON p.space = m.space AND p.memory = m.row",
            ] {
                // Citus locks no rows of several shards.
                if has_cluster() && sql.contains("FOR UPDATE") {
                    continue;
                }
                assert_eq!(spaces("space:main", sql).await, ["main"], "{sql}");
            }
            for sql in [
                "INSERT INTO @writer (space, writer) VALUES ('other', 1)",
                "INSERT INTO @lease (space, name, holder, until) VALUES ('', '', '', 1)",
                "UPDATE @memory SET space = 'other'",
            ] {
                let refused = run("space:main", sql).await.unwrap_err();
                // Citus lets no statement change the column that says where a row lies.
                let expected = if has_cluster() && sql.starts_with("UPDATE") {
                    SqlState::FEATURE_NOT_SUPPORTED
                } else {
                    SqlState::INSUFFICIENT_PRIVILEGE
                };
                assert_eq!(refused, expected, "{sql}");
                let undeclared = run("", sql).await.unwrap_err();
                assert_eq!(undeclared, fails, "{sql}");
            }
        });
    }
}

/// All spaces are those between the bounds of the policy, whatever their names are.
#[test]
fn all_spaces_are_in_the_scope_of_all() {
    let schemas = Schemas::default();
    let options = plain(&schemas, true);
    let store = open(&options);
    let longest = char::MAX.to_string().repeat(NAME_CHARACTERS_MAX);
    let names = ["!", "main", "\u{fffd}", &char::MAX.to_string(), &longest];
    for (number, name) in names.iter().enumerate() {
        let memory = of_space(name, &number.to_string());
        store.commit(put(&memory, vec![passage("word")])).unwrap();
    }
    assert_eq!(store.size().unwrap().memories, names.len() as u64);
}

/// The policy of versions 2 to 14, which older processes make again where it is missing.
const FORMER_POLICY: &str = "space = coalesce((SELECT CASE WHEN current_setting('loci.space') = 'all:' THEN NULL \
    WHEN starts_with(current_setting('loci.space'), 'space:') THEN substr(current_setting('loci.space'), 7) \
    ELSE current_setting('loci.space_is_undeclared') END), space)";

/// Returns the tables of a store, each with its policy.
fn policies(options: &Options) -> Vec<(String, String)> {
    let sql = "SELECT relname::text, pg_get_expr(polqual, polrelid) FROM pg_policy JOIN pg_class AS c ON c.oid = polrelid \
        WHERE relnamespace = to_regnamespace($1) AND relname <> 'migration_lock' ORDER BY 1";
    let rows = with_client(server_url(), async |client| {
        client.query(sql, &[&options.schema]).await.unwrap()
    });
    assert!(rows.len() > 30);
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

fn change_policies(options: &Options, policies: &[(String, String)]) {
    let statements = policies
        .iter()
        .map(|(table, policy)| format!("ALTER POLICY loci_space ON @{table} USING ({policy})"));
    run_sql(options, &statements.collect::<Vec<_>>().join(";\n"));
}

/// While row security is on, and another process has the store open.
#[test]
fn an_upgrade_replaces_policies_with_a_subquery() {
    // A distributed table takes no such policy.
    if has_cluster() {
        return;
    }
    let schemas = Schemas::default();
    let options = plain(&schemas, true);
    let opened = open(&options);
    fill(&opened);
    let now = policies(&options);
    assert!(now.iter().all(|(_, policy)| !policy.contains("SELECT")));
    let mut former = now.clone();
    for (_, policy) in &mut former {
        FORMER_POLICY.clone_into(policy);
    }
    change_policies(&options, &former);
    assert!(
        policies(&options)
            .iter()
            .all(|(_, policy)| policy.contains("SELECT"))
    );
    assert_eq!((listed(&opened), searched(&opened)), (1, 1));
    run_sql(&options, "DELETE FROM @migration WHERE version >= 15");
    let upgraded = open(&options);
    assert_eq!((listed(&upgraded), searched(&upgraded)), (1, 1));
    assert_eq!(policies(&options), now);
    assert_eq!((listed(&opened), searched(&opened)), (1, 1));
    assert_eq!(upgraded.structure_check(), Ok(Vec::new()));
}

/// Tells the times in which an index of 10,000 memories is loaded, if `LOCI_TEST_POLICY_LOADS` names a
/// number of loads of each kind.
#[test]
fn an_index_loads_as_fast_as_with_the_policy_of_earlier_versions() {
    // A distributed table takes no such policy.
    if has_cluster() {
        return;
    }
    let rounds = std::env::var("LOCI_TEST_POLICY_LOADS").map_or(1, |told| told.parse().unwrap());
    let memories = if rounds > 1 { 10_000 } else { 20 };
    let schemas = Schemas::default();
    let options = plain(&schemas, true);
    let store = open(&options);
    for number in 0..memories {
        let mut passage = passage(&format!("word word{} word{number}", number % 100));
        passage.vector = Some(Vector {
            model: ModelId::new("model"),
            scale: 1.0,
            values: vec![1; 384],
        });
        let memory = of_space("main", &number.to_string());
        store.commit(put(&memory, vec![passage])).unwrap();
    }
    let policies = policies(&options);
    let former: Vec<_> = (policies.iter())
        .map(|(table, _)| (table.clone(), FORMER_POLICY.to_owned()))
        .collect();
    run_sql(&options, "ANALYZE @memory, @passage");
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..2 * rounds {
        let is_former = round % 2 == 1;
        change_policies(&options, if is_former { &former } else { &policies });
        let opened = open(&options);
        assert_eq!(listed(&opened), memories.min(10));
        let begin = Instant::now();
        assert_eq!(searched(&opened), memories.min(10));
        times[usize::from(is_former)].push(begin.elapsed());
        assert_eq!(opened.size().unwrap().memories, memories as u64);
    }
    if rounds > 1 {
        let [now, before] = times.map(|mut times| {
            times.sort_unstable();
            println!("{times:?}");
            times[times.len() / 2].as_secs_f64()
        });
        println!(
            "median {now:.4} s, before {before:.4} s, ratio {:.3}",
            now / before
        );
        assert!(now / before <= 1.1);
    }
}

/// A process finds out by itself: at its start, and when it meets the policies.
#[test]
fn a_store_that_was_open_goes_on_when_row_security_is_turned_on_and_off() {
    let schemas = Schemas::default();
    let options = plain(&schemas, false);
    let (readers, writer) = (open(&options), open(&options));
    fill(&readers);
    assert_eq!((listed(&readers), searched(&readers)), (1, 1));
    assert_eq!(writer.version(&filter().space), Ok(1));
    assert_eq!(check(&readers).outcome, CheckOutcome::Sound);
    assert!(check(&readers).text.starts_with("off"));

    let switch = open(&Options {
        row_security: true,
        ..options.clone()
    });
    assert_eq!(listed(&switch), 1);
    // Each process meets the policies without knowing about them: by a search, a read, a write.
    assert_eq!((searched(&readers), listed(&readers)), (1, 1));
    writer
        .commit(put(&memory("second"), vec![passage("word")]))
        .unwrap();
    assert_eq!((searched(&readers), listed(&writer)), (2, 2));
    assert_eq!(readers.tokens().unwrap(), Vec::new());
    assert_eq!(readers.size().unwrap().memories, 3);
    let opened = open(&options);
    assert_eq!((listed(&opened), searched(&opened)), (2, 2));
    assert_eq!(opened.secret(), readers.secret());
    assert_eq!(check(&opened).outcome, CheckOutcome::Sound);
    assert!(check(&opened).text.contains("keeps the spaces apart"));

    alter_all(&options, OFF);
    assert_eq!((listed(&opened), listed(&open(&options))), (2, 2));
    alter_all(&options, ON);
    assert_eq!((listed(&opened), listed(&open(&options))), (2, 2));
}

#[test]
fn a_role_that_may_not_turn_it_on_is_told_what_its_owner_has_to_run() {
    let schemas = Schemas::default();
    let options = plain(&schemas, false);
    fill(&open(&options));
    let (schema, name) = (&options.schema, format!("guest_{}", options.schema));
    let _role = Role::create(&options, &name, "");
    grant_daily_rights(&options, &name);
    let guest = Options {
        row_security: true,
        ..as_user(&options, &name)
    };
    let fixed = Options {
        row_security: true,
        migrates: false,
        ..options.clone()
    };
    for (options, reason) in [(&guest, "does not own"), (&fixed, "`store_migrate`")] {
        let outcome = open(options).version(&filter().space);
        let place = format!("schemaname = '{schema}' \\gexec");
        let parts = [
            reason,
            "as their owner, run in psql: SELECT format(",
            &place,
        ];
        assert_says(outcome, &parts);
    }
    alter_all(&options, ON);
    for options in [&guest, &fixed] {
        let store = open(options);
        assert_eq!((listed(&store), searched(&store)), (1, 1));
    }
}

#[test]
fn tables_of_the_first_version_get_policies() {
    let schemas = Schemas::default();
    let options = plain(&schemas, false);
    fill(&open(&options));
    let drop_policies = || {
        // Columns that later versions added.
        for sql in [
            UNDO_FROM_9,
            "DROP TABLE @version",
            "DROP TABLE @tombstone",
            "DROP TABLE @daily",
            "DROP TABLE @open_item",
            "DROP TABLE @examined",
            "ALTER TABLE @audit DROP COLUMN client, DROP COLUMN session, DROP COLUMN reply_tokens",
            "ALTER TABLE @fact DROP COLUMN author",
        ] {
            run_sql(&options, sql);
        }
        let sql = "SELECT tablename::text FROM pg_policies WHERE schemaname = $1";
        let tables = with_client(server_url(), async |client| {
            client.query(sql, &[&options.schema]).await.unwrap()
        });
        assert!(tables.len() > 25);
        for row in tables {
            let table: String = row.get(0);
            run_sql(&options, &format!("DROP POLICY loci_space ON @{table}"));
        }
        run_sql(&options, "DELETE FROM @migration WHERE version >= 2");
    };
    drop_policies();
    let opened = open(&options);
    assert_eq!((listed(&opened), searched(&opened)), (1, 1));
    drop_policies();
    let walled = open(&Options {
        row_security: true,
        ..options.clone()
    });
    assert_eq!((listed(&walled), searched(&walled)), (1, 1));
    assert_eq!(walled.structure_check(), Ok(Vec::new()));
    assert_eq!((listed(&opened), searched(&opened)), (1, 1));
}

#[test]
fn gaps_are_named_and_closed() {
    let schemas = Schemas::default();
    let options = plain(&schemas, true);
    let store = open(&options);
    fill(&store);
    store.repair().unwrap();
    for (sql, text) in [
        (
            format!("ALTER TABLE @fact {OFF}"),
            "row security is off in the table fact",
        ),
        (
            "ALTER TABLE @fact NO FORCE ROW LEVEL SECURITY".to_owned(),
            "row security is off in the table fact",
        ),
        (
            "DROP POLICY loci_space ON @fact".to_owned(),
            "the table fact lacks the policy",
        ),
    ] {
        run_sql(&options, &sql);
        let problems = store.structure_check().unwrap();
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].text.contains(text), "{problems:?}");
        if sql.starts_with("DROP") {
            let lacking = open(&options).version(&filter().space);
            assert_says(lacking, &["lack the policy loci_space: fact"]);
        } else {
            let found = check(&store);
            assert_eq!(found.outcome, CheckOutcome::Faulty);
            assert!(
                found.text.contains("off in these tables: fact;"),
                "{found:?}"
            );
        }
        assert_eq!(store.repair().unwrap().done.len(), 1);
        assert_eq!(store.structure_check(), Ok(Vec::new()));
    }
    run_sql(&options, "CREATE POLICY mine ON @fact USING (true)");
    let problems = store.structure_check().unwrap();
    assert!(
        problems[0].text.contains("DROP POLICY \"mine\" ON"),
        "{problems:?}"
    );
    let superuser = open(&Options {
        url: server_url().to_owned(),
        ..options
    });
    assert_eq!(listed(&superuser), 1);
    let found = check(&superuser);
    assert_eq!(found.outcome, CheckOutcome::Doubtful);
    assert!(found.text.contains("superuser"), "{found:?}");
}

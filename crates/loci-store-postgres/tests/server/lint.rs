//! Every statement of the store works on one space, through an index: a server with tables that are
//! distributed by space can send it to one of its nodes.
//!
//! The promises of every store make the store send its statements, and an observer collects them.
//! Each is then explained on the same tables with partitions by space, with statistics of no rows,
//! of other spaces, and of all rows. Checks and repairs (`loci doctor`) are left out: they read
//! whole tables, and no caller waits for them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use loci_core::{
    Batch, Change, ChangeMark, ContentHash, Fact, IdempotentReply, ModelId, Name, Period,
    RecordKind, RecordVersion, Store, Vector, Version,
};
use loci_store_postgres::{Options, PostgresStore};
use loci_testkit::contract::{memory, passage, put};
use loci_testkit::postgres::{PLAIN_ROLE, has_cluster, has_row_security, server_url};
use tokio_postgres::{Client, SimpleQueryMessage};

use crate::citus::refusals;
use crate::{Schemas, keep_most_promises, named, while_connections_are_cut, with_client};

/// The statements over all spaces: a part by which each is known, and who waits for it. No caller
/// of a tool does.
const OVER_ALL_SPACES: [(&str, &str); 9] = [
    (
        "embedded IS DISTINCT FROM $1",
        "the embedder looks which spaces have work",
    ),
    (
        "FROM @model WHERE $1::text IS NULL OR",
        "models that no process uses are retired",
    ),
    (
        "LEFT JOIN @examined AS e ON e.space = s.space",
        "the examiner looks which spaces have work",
    ),
    (
        "expires_from <= $1 OR",
        "the sweeper looks which spaces have work",
    ),
    (
        "SELECT space, memory, due_at FROM @job",
        "the enricher looks which jobs are due",
    ),
    (
        "SELECT min(due_at) FROM @job",
        "the enricher looks when the next job is due",
    ),
    (
        "count(*) - count(due_at) FROM @job",
        "`loci doctor` counts the jobs",
    ),
    (
        "SELECT (SELECT count(*) FROM @memory)",
        "`loci doctor` and exports show the size of the store",
    ),
    (
        "SELECT space FROM @space WHERE space <> ''",
        "archives and the audit log go space by space",
    ),
];

/// The files of this crate whose statements are left out: checks, repairs, migrations and the
/// distribution of tables.
const LEFT_OUT: [&str; 12] = [
    "check.rs",
    "citus.rs",
    "counts.rs",
    "definitions.rs",
    "distribution.rs",
    "maintenance.rs",
    "migration_lock.rs",
    "migrations.rs",
    "repair.rs",
    "rules.rs",
    "schema.rs",
    "writability.rs",
];

/// The lock that migrations take for the sake of earlier processes, beside a row.
const EARLIER_LOCK: &str = "SELECT pg_advisory_xact_lock($1)";

const PARTITIONS: usize = 4;
/// Rows of each table, so that no table is so small that the server reads it as a whole.
const ROWS: i64 = 8_000;

/// A number that stands for a limit or a row, and one that stands for a moment.
const NUMBERS: [&str; 2] = ["20", "1800000000000000"];

/// The statements, with the types of their parameters. `@` stands for the schema.
pub(crate) type Statements = BTreeMap<String, Vec<String>>;

#[test]
fn every_statement_concerns_one_space_and_uses_an_index() {
    // Partitions stand for a cluster, which sends each statement to a node by itself.
    if has_cluster() {
        return;
    }
    let schemas = Schemas::default();
    let statements = collect(&schemas);
    let mut faults = not_collected(&statements);
    for sql in statements.keys() {
        let mut problems = problems_of_text(sql);
        if is_over_all_spaces(sql) {
            problems.clear();
        }
        problems.extend(refusals(sql, is_over_all_spaces(sql)));
        if !problems.is_empty() {
            faults.push(format!("{}: {sql}", problems.join(", ")));
        }
    }
    for (part, _) in OVER_ALL_SPACES {
        if !statements.keys().any(|sql| sql.contains(part)) {
            faults.push(format!("no statement has the part {part}"));
        }
    }
    with_client(server_url(), async |client| {
        let tables = Tables::create(client, &schemas).await;
        for state in ["no statistics", "statistics of others", "statistics"] {
            tables.bring_to(client, state).await;
            for (sql, types) in &statements {
                for problem in tables.problems_of_plans(client, sql, types).await {
                    faults.push(format!("with {state}, {problem}"));
                }
            }
        }
    });
    assert!(
        faults.is_empty(),
        "{} faults\n{}",
        faults.len(),
        faults.join("\n")
    );
}

#[test]
fn every_key_begins_with_the_space() {
    let schemas = Schemas::default();
    let options = schemas.options();
    let store = PostgresStore::open(options.clone()).unwrap();
    store.secret().unwrap();
    with_client(server_url(), async |client| {
        let sql = "SELECT t.relname::text, count(i.indexrelid), coalesce(bool_and(a.attname = 'space'), false) \
            FROM pg_class AS t JOIN pg_namespace AS n ON n.oid = t.relnamespace \
            LEFT JOIN pg_index AS i ON i.indrelid = t.oid AND i.indisunique \
            LEFT JOIN pg_attribute AS a ON a.attrelid = t.oid AND a.attnum = i.indkey[0] \
            WHERE n.nspname = $1 AND t.relkind = 'r' GROUP BY t.relname";
        let tables = client.query(sql, &[&options.schema]).await.unwrap();
        assert!(tables.len() > 25, "{} tables", tables.len());
        for table in tables {
            let (name, keys, begin): (String, i64, bool) =
                (table.get(0), table.get(1), table.get(2));
            assert!(
                keys > 0 && begin,
                "a key of {name} does not begin with the space"
            );
        }
    });
}

/// Embeds a memory by two models, and keeps a reply with its text, a version of it and one of a tunnel, because the few steps of the model
/// check leave no rows of these.
fn leave_rows(store: &PostgresStore) {
    let memory = memory("embedded");
    store.commit(put(&memory, vec![passage("a word")])).unwrap();
    let embed = |model| Change::Embed {
        id: memory.id.clone(),
        revision: memory.revision,
        vectors: vec![Vector {
            model: ModelId::new(model),
            scale: 1.0,
            values: vec![1, 2, 3],
        }],
    };
    let reply = IdempotentReply {
        space: memory.space.clone(),
        owner: None,
        origin: "vault".to_owned(),
        operation: "append".to_owned(),
        key: "key".to_owned(),
        request: ContentHash([1; 32]),
        answer: "an answer".to_owned(),
        memories: vec![memory.id.clone()],
        created_at: memory.created_at,
        expires_at: memory.created_at.plus_seconds(60),
    };
    let reply = Change::PutIdempotentReply(Box::new(reply));
    let version = Change::PutVersion(Box::new(Version::of(&memory)));
    let deleted = Change::PutRecordVersion(Box::new(RecordVersion {
        space: memory.space.clone(),
        kind: RecordKind::Tunnel,
        id: "deleted".to_owned(),
        owner: None,
        number: 0,
        state: None,
        change: ChangeMark {
            at: memory.created_at,
            by: None,
            tool: "tool".to_owned(),
            program: None,
            session: None,
            token: None,
            call: 1,
        },
    }));
    // A fact that ends and is open again.
    let end = Some(Period {
        first: memory.created_at,
        last: memory.created_at,
    });
    let name = || Name {
        key: "a".to_owned(),
        spelling: "A".to_owned(),
    };
    let fact = Change::PutFact(Box::new(Fact {
        space: memory.space.clone(),
        id: "again".to_owned(),
        subject: name(),
        predicate: name(),
        object: name(),
        valid_from: None,
        valid_to: None,
        source: None,
        author: None,
        created_at: memory.created_at,
    }));
    let ends = |before, valid_to| Change::EndFact {
        id: "again".to_owned(),
        before,
        valid_to,
    };
    let of_fact = [fact, ends(None, end), ends(end, None)];
    let of_memory = [embed("one"), embed("another"), reply, version, deleted];
    for change in of_memory.into_iter().chain(of_fact) {
        let batch = Batch::new(memory.space.clone(), vec![change]);
        store.commit(batch).unwrap();
    }
    let (space, now) = (&memory.space, memory.created_at);
    let pseudonym = Some("wiped-1");
    store.wipe(space, "nobody", None, pseudonym, now).unwrap();
}

/// Lets the store send its statements.
pub(crate) fn collect(schemas: &Schemas) -> Statements {
    let sent: Arc<Mutex<Statements>> = Arc::default();
    let open = |mut options: Options| {
        let (sent, prefix) = (Arc::clone(&sent), format!("\"{}\".", options.schema));
        // The statements are the same, and plain tables are made sooner.
        options.distributes = false;
        options.observer = Some(Arc::new(move |sql: &str, types: &[&str]| {
            let types = types.iter().map(|name| (*name).to_owned()).collect();
            sent.lock()
                .unwrap()
                .insert(sql.replace(&prefix, "@"), types);
        }));
        PostgresStore::open(options).unwrap()
    };
    keep_most_promises(&|| open(schemas.options()));
    // After a connection that was lost in a commit, the store looks for what the commit wrote.
    let (options, name) = named(schemas.options());
    let store = open(options);
    store.commit(put(&memory("first"), Vec::new())).unwrap();
    leave_rows(&store);
    while_connections_are_cut(&name, |steps| {
        let looks = || {
            sent.lock()
                .unwrap()
                .keys()
                .any(|sql| sql.contains("FROM @writer WHERE"))
        };
        let mut numbers = 0..10_000;
        while !looks() {
            let id = numbers.next().expect("a commit is lost").to_string();
            store.commit(put(&memory(&id), Vec::new())).unwrap();
            steps.fetch_add(1, Ordering::Relaxed);
        }
    });
    let mut sent = sent.lock().unwrap().clone();
    // The tables of the versions and of their lock come before the migrations, and an open store never
    // looks there. The lock of earlier processes is taken beside that one.
    sent.retain(|sql, _| !sql.contains("@migration") && sql != EARLIER_LOCK);
    sent
}

pub(crate) fn is_over_all_spaces(sql: &str) -> bool {
    OVER_ALL_SPACES.iter().any(|(part, _)| sql.contains(part))
}

/// Returns what the sources do with tables and no statement that was collected does.
fn not_collected(statements: &Statements) -> Vec<String> {
    let mut uses = BTreeSet::new();
    for file in files(&folder("src")) {
        let is_left_out = LEFT_OUT.iter().any(|name| file.ends_with(name));
        if !is_left_out {
            uses.extend(uses_of_tables(&fs::read_to_string(file).unwrap()));
        }
    }
    assert!(uses.len() > 60, "{uses:?}");
    for sql in statements.keys() {
        for each in uses_of_tables(sql) {
            uses.remove(&each);
        }
    }
    uses.into_iter()
        .map(|each| format!("nothing sends {each}"))
        .collect()
}

pub(crate) fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| {
            if path.is_dir() {
                files(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

/// Returns the tables of a text that has SQL in it, each with the word before it.
fn uses_of_tables(text: &str) -> Vec<String> {
    let words: Vec<_> = text.split_whitespace().collect();
    let pairs = words.windows(2).filter(|pair| {
        pair[0]
            .trim_start_matches(['(', '"'])
            .chars()
            .all(|sign| sign.is_ascii_uppercase())
            && table(pair[1]).is_some()
    });
    pairs
        .filter_map(|pair| {
            Some(format!(
                "{} @{}",
                pair[0].trim_start_matches(['(', '"']),
                table(pair[1])?
            ))
        })
        .collect()
}

/// Returns the name of a table in a word that starts with `@`.
pub(crate) fn table(word: &str) -> Option<&str> {
    let name = word.strip_prefix('@')?;
    let end = name.find(|sign: char| !(sign.is_ascii_lowercase() || sign == '_'));
    Some(&name[..end.unwrap_or(name.len())]).filter(|name| !name.is_empty())
}

/// Returns what is wrong with a statement as it is written.
fn problems_of_text(sql: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let words: Vec<_> = sql.split_whitespace().collect();
    let mut wanted: BTreeMap<String, usize> = BTreeMap::new();
    for (number, word) in words.iter().enumerate() {
        let Some(table) = table(word) else { continue };
        let alias = (words.get(number + 1) == Some(&"AS")).then(|| words[number + 2]);
        let alias = alias.map(|alias| alias.trim_matches([')', ',']));
        if words[number - 1] == "INTO" {
            // Rows that are made of others of the space stay on its node.
            let names_the_space = sql.contains(" VALUES (")
                || sql.contains(") SELECT space,")
                || sql.contains(") SELECT $1,");
            if !names_the_space || !sql.contains("(space") && !sql.contains(", space") {
                problems.push(format!("inserts into {table} without values or a space"));
            }
        } else {
            let column = alias.map_or("space".to_owned(), |alias| format!("{alias}.space"));
            *wanted.entry(column).or_default() += 1;
        }
    }
    let mut spaces = BTreeSet::new();
    for triple in words.windows(3).filter(|triple| triple[1] == "=") {
        let column = triple[0].trim_start_matches('(');
        if column.rsplit('.').next() != Some("space") {
            continue;
        }
        let value = triple[2].trim_end_matches([')', ',']);
        if value.starts_with('$') || value == "''" {
            spaces.insert(value);
            if let Some(number) = wanted.get_mut(column) {
                *number = number.saturating_sub(1);
            }
        } else {
            problems.push(format!("compares {column} with {value}"));
        }
    }
    let missing = wanted.iter().filter(|(_, number)| **number > 0);
    problems.extend(missing.map(|(column, _)| format!("lacks a comparison of {column}")));
    if spaces.len() > 1 {
        problems.push(format!("concerns several spaces: {spaces:?}"));
    }
    problems
}

/// Returns the migrations with their versions: 10 for `V10__provenance.sql`.
pub(crate) fn migrations() -> BTreeMap<i64, String> {
    let version_of = |file: &Path| {
        let name = file.file_name()?.to_str()?;
        name.strip_prefix('V')?.split_once("__")?.0.parse().ok()
    };
    files(&folder("migrations"))
        .iter()
        .map(|file| (version_of(file).unwrap(), fs::read_to_string(file).unwrap()))
        .collect()
}

/// The tables of the migrations with partitions by space, and rows to fill them with.
struct Tables {
    schema: String,
    /// Each table, and the schema of a store that has most of its rows.
    sources: Vec<(String, String)>,
}

impl Tables {
    async fn create(client: &Client, schemas: &Schemas) -> Self {
        let sources = richest(client, schemas).await;
        let schema = schemas.options().schema;
        // The table of the versions comes before the migrations.
        let mut sql =
            format!("CREATE SCHEMA {schema}; CREATE TABLE {schema}.migration (space text);");
        for text in migrations().into_values() {
            let text = text.replace("\n) WITH (fillfactor = 50);", "\n);");
            sql += &text.replace("\n);", "\n) PARTITION BY HASH (space);");
        }
        let sql = sql.replace("ALTER TABLE @passage SET (toast_tuple_target = 8160);", "");
        client.batch_execute(&qualify(&sql, &schema)).await.unwrap();
        let mut sql = String::new();
        for (table, _) in &sources {
            let table = format!("{schema}.{table}");
            sql += &format!("ALTER TABLE {table} ALTER space SET STATISTICS 0;");
            for part in 0..PARTITIONS {
                sql += &format!(
                    "CREATE TABLE {table}_p{part} PARTITION OF {table} \
                     FOR VALUES WITH (MODULUS {PARTITIONS}, REMAINDER {part}) WITH (autovacuum_enabled = off);\
                     ALTER TABLE {table}_p{part} ALTER space SET STATISTICS 0;"
                );
            }
        }
        if has_row_security() {
            for (table, _) in &sources {
                sql += &format!(
                    "ALTER TABLE {schema}.{table} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;"
                );
            }
            sql += &format!(
                "GRANT USAGE ON SCHEMA {schema} TO {PLAIN_ROLE}; \
                 GRANT ALL ON ALL TABLES IN SCHEMA {schema} TO {PLAIN_ROLE};"
            );
        }
        client.batch_execute(&sql).await.unwrap();
        Tables { schema, sources }
    }

    /// Brings the rows and the statistics to a state; the states come one after the other.
    async fn bring_to(&self, client: &Client, state: &str) {
        match state {
            "no statistics" => {}
            "statistics of others" => {
                self.fill(client, 0, ROWS / 4).await;
                self.analyse(client).await;
                self.fill(client, ROWS / 4, ROWS).await;
            }
            _ => self.analyse(client).await,
        }
    }

    async fn analyse(&self, client: &Client) {
        for (table, _) in &self.sources {
            client
                .batch_execute(&format!("ANALYZE {}.{table}", self.schema))
                .await
                .unwrap();
        }
    }

    /// Copies the rows of each table to other spaces, until there are so many.
    async fn fill(&self, client: &Client, from: i64, to: i64) {
        let sql = "SELECT quote_ident(attname) FROM pg_attribute WHERE attrelid = to_regclass($1) AND attnum > 0";
        for (table, source) in &self.sources {
            let target = format!("{}.{table}", self.schema);
            let columns = client.query(sql, &[&target]).await.unwrap();
            let columns: Vec<String> = columns.iter().map(|row| row.get(0)).collect();
            let copied = columns
                .iter()
                .map(|column| match (table.as_str(), column.as_str()) {
                    // These have the empty space in every row.
                    ("lease" | "token", "space") => "space".to_owned(),
                    ("lease", "name") | ("token", "id") => format!("{column} || n"),
                    ("token", "hash" | "family") => {
                        format!("sha256(convert_to({column}::text || n, 'UTF8'))")
                    }
                    (_, "space") => "space || '~' || n".to_owned(),
                    _ => column.clone(),
                });
            let copied: Vec<_> = copied.collect();
            // Of few rows, so that many spaces share them, and each partition has some.
            let few = format!("(SELECT * FROM {source}.{table} LIMIT {})", ROWS / 200);
            let copy = format!(
                "INSERT INTO {target} ({}) SELECT {} FROM {few} AS few, \
                 generate_series({from} / (SELECT count(*) FROM {few} AS few) + 1, \
                 {to} / (SELECT count(*) FROM {few} AS few)) AS n",
                columns.join(", "),
                copied.join(", ")
            );
            client.batch_execute(&copy).await.unwrap();
        }
    }

    /// Returns what is wrong with the plans of a statement.
    async fn problems_of_plans(&self, client: &Client, sql: &str, types: &[String]) -> Vec<String> {
        let mut problems = BTreeSet::new();
        if is_over_all_spaces(sql) {
            return Vec::new();
        }
        let list = |items: Vec<String>| match items.as_slice() {
            [] => String::new(),
            items => format!("({})", items.join(", ")),
        };
        let kinds = list(types.to_vec());
        let qualified = qualify(sql, &self.schema);
        let has_number = types.iter().any(|kind| kind.contains("int8"));
        for (mode, number) in [
            ("force_custom_plan", NUMBERS[0]),
            ("force_custom_plan", NUMBERS[1]),
            ("force_generic_plan", NUMBERS[0]),
        ] {
            if number == NUMBERS[1] && !has_number {
                continue;
            }
            let values = list(types.iter().map(|kind| value(kind, number)).collect());
            // A superuser would not be bound by policies, whose bounds the server estimates.
            let role = if has_row_security() {
                PLAIN_ROLE
            } else {
                "NONE"
            };
            let explain = format!(
                "SET loci.space = 'space:main'; SET ROLE {role}; SET plan_cache_mode = {mode}; PREPARE one {kinds} AS {qualified}; \
                 EXPLAIN (COSTS OFF) EXECUTE one {values}; DEALLOCATE one; RESET ROLE"
            );
            let messages = client.simple_query(&explain).await;
            let messages = messages.unwrap_or_else(|error| panic!("{error:?}: {explain}"));
            let plan: Vec<_> = messages
                .iter()
                .filter_map(|message| match message {
                    SimpleQueryMessage::Row(row) => row.get(0),
                    _ => None,
                })
                .collect();
            let found = problems_of_plan(&plan, mode == "force_custom_plan");
            problems.extend(found.map(|problem| format!("{problem}: {sql}\n{}", plan.join("\n"))));
        }
        problems.into_iter().collect()
    }
}

/// Returns each table with the schema that has most of its rows.
async fn richest(client: &Client, schemas: &Schemas) -> Vec<(String, String)> {
    const TABLES: &str = "SELECT relname::text FROM pg_class \
        WHERE relnamespace = to_regnamespace($1) AND relkind = 'r' AND relname NOT IN ('migration', 'migration_lock')";
    let mut best: BTreeMap<String, (i64, String)> = BTreeMap::new();
    let of_test = schemas.0.lock().unwrap().clone();
    for schema in of_test {
        let tables = client.query(TABLES, &[&schema]).await.unwrap();
        let counts: Vec<_> = tables
            .iter()
            .map(|row| row.get::<_, String>(0))
            .map(|table| format!("SELECT '{table}', count(*) FROM {schema}.{table}"))
            .collect();
        if counts.is_empty() {
            continue;
        }
        let counts = client.query(&counts.join(" UNION ALL "), &[]).await;
        for row in counts.unwrap() {
            let (table, rows): (String, i64) = (row.get(0), row.get(1));
            if best.get(&table).is_none_or(|(most, _)| rows > *most) {
                best.insert(table, (rows, schema.clone()));
            }
        }
    }
    let empty: Vec<&str> = best
        .iter()
        .filter(|(_, (rows, _))| *rows == 0)
        .map(|(table, _)| table.as_str())
        .collect();
    assert_eq!(empty, [""; 0], "tables that no promise leaves rows in");
    best.into_iter()
        .map(|(table, (_, schema))| (table, schema))
        .collect()
}

/// Puts a schema in the place of each `@` before a name.
pub(crate) fn qualify(sql: &str, schema: &str) -> String {
    let mut parts = sql.split('@');
    let mut qualified = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_name = part.starts_with(|sign: char| sign.is_ascii_lowercase());
        let prefix = if is_name {
            format!("{schema}.")
        } else {
            "@".to_owned()
        };
        qualified += &prefix;
        qualified += part;
    }
    qualified
}

/// Returns a value of a type as SQL.
pub(crate) fn value(kind: &str, number: &str) -> String {
    match kind {
        "int8" | "float4" | "float8" => number.to_owned(),
        "text" => "'main'".to_owned(),
        "bool" => "true".to_owned(),
        "bytea" => "'\\x00'".to_owned(),
        "_int8" => format!("'{{{number}}}'"),
        "_text" => "'{main}'".to_owned(),
        "_bytea" => "ARRAY['\\x00'::bytea]".to_owned(),
        other => panic!("a parameter has the type {other}"),
    }
}

/// Returns what is wrong with a plan. The partitions of one that serves all values are chosen when
/// it runs, so that they tell nothing.
fn problems_of_plan(plan: &[&str], is_for_values: bool) -> impl Iterator<Item = String> {
    let mut problems = Vec::new();
    let mut partitions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for line in plan
        .iter()
        .filter(|line| !line.contains("Bitmap Index Scan"))
    {
        let Some((node, place)) = line.split_once(" on ") else {
            continue;
        };
        let name = place.split(' ').next().unwrap_or_default();
        let Some((table, part)) = name.rsplit_once("_p") else {
            continue;
        };
        partitions.entry(table).or_default().insert(part);
        // The only row of the store.
        if node.ends_with("Seq Scan") && table != "installation" {
            problems.push(format!("reads all of {table}"));
        }
    }
    for (table, parts) in partitions {
        if is_for_values && parts.len() > 1 {
            problems.push(format!("concerns {} partitions of {table}", parts.len()));
        }
    }
    problems.into_iter()
}

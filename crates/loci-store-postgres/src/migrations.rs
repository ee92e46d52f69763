//! The migrations of the tables.

/// Every migration that was ever released, oldest first.
pub(crate) const MIGRATIONS: [&str; 15] = [
    include_str!("../migrations/V1__store.sql"),
    include_str!("../migrations/V2__row_security.sql"),
    include_str!("../migrations/V3__audit.sql"),
    include_str!("../migrations/V4__versions.sql"),
    include_str!("../migrations/V5__tombstones.sql"),
    include_str!("../migrations/V6__authors_of_facts.sql"),
    include_str!("../migrations/V7__daily.sql"),
    include_str!("../migrations/V8__open_items.sql"),
    include_str!("../migrations/V9__grants.sql"),
    include_str!("../migrations/V10__provenance.sql"),
    include_str!("../migrations/V11__changes.sql"),
    include_str!("../migrations/V12__entities.sql"),
    include_str!("../migrations/V13__record_versions.sql"),
    include_str!("../migrations/V14__setting_versions.sql"),
    include_str!("../migrations/V15__policies.sql"),
];

/// The version that this build reads and writes.
pub const VERSION: i64 = MIGRATIONS.len() as i64;

/// Returns the statements of a migration, without its comments. No text in a migration has a semicolon.
/// Each is sent in a message of its own, because Citus sends the whole message on to its nodes.
pub(crate) fn statements(migration: &str) -> Vec<String> {
    let code = migration.lines().filter(|line| !line.starts_with("--"));
    let code = code.map(|line| line.split_once(" -- ").map_or(line, |(code, _)| code));
    let code = code.collect::<Vec<_>>().join("\n");
    let statements = code.split(';').map(str::trim);
    statements
        .filter(|statement| !statement.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Returns true if a migration makes an index of this name.
pub(crate) fn has_index(name: &str) -> bool {
    let made = format!(" INDEX {name} ON ");
    MIGRATIONS.iter().any(|migration| migration.contains(&made))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::citus;

    /// The changes of a table that Citus takes once the table is distributed.
    const TAKEN: [&str; 12] = [
        "ADD COLUMN",
        "DROP COLUMN",
        "SET NOT NULL",
        "DROP NOT NULL",
        "SET DEFAULT",
        "DROP DEFAULT",
        "ADD CONSTRAINT",
        "DROP CONSTRAINT",
        "VALIDATE CONSTRAINT",
        "SET (",
        "RESET (",
        "ROW LEVEL SECURITY",
    ];

    /// Returns what Citus refuses of a migration that is sent in these messages, on tables of earlier
    /// migrations that are distributed (`docs/adr/0115-a-store-on-citus-is-prepared.md`).
    fn refusals(messages: &[String]) -> Vec<String> {
        let created: Vec<_> = messages
            .iter()
            .flat_map(|message| message.split("CREATE TABLE ").skip(1))
            .filter_map(|rest| rest.split(' ').next())
            .collect();
        let mut refusals = Vec::new();
        for message in messages {
            let statements = statements(message);
            let mut refuse = |is_refused: bool, reason: &str| {
                if is_refused {
                    refusals.push(format!("{reason}: {message}"));
                }
            };
            refuse(
                statements.len() > 1,
                "a statement beside another one of a message",
            );
            for sql in &statements {
                let is_policy = sql.starts_with("CREATE POLICY") || sql.starts_with("ALTER POLICY");
                refuse(
                    is_policy && sql.contains("SELECT"),
                    "a subquery in a policy",
                );
                refuse(sql.contains("advisory"), "an advisory lock");
                let Some(rest) = sql.strip_prefix("ALTER TABLE ") else {
                    continue;
                };
                let (table, changes) = rest.split_once(char::is_whitespace).unwrap();
                let changes = parts(changes);
                let adds = changes
                    .iter()
                    .any(|change| change.starts_with("ADD CONSTRAINT"));
                refuse(
                    changes.len() > 1 && adds,
                    "an ADD CONSTRAINT beside another change",
                );
                let name = table.trim_start_matches('@');
                let is_checked = changes
                    .iter()
                    .any(|change| change.starts_with("ADD COLUMN") && has_constraint(change));
                refuse(
                    !created.contains(&table) && !citus::OF_STORE.contains(&name) && is_checked,
                    "an ADD COLUMN with a constraint",
                );
                let is_taken = |change: &String| TAKEN.iter().any(|taken| change.contains(taken));
                refuse(
                    !created.contains(&table) && !changes.iter().all(is_taken),
                    "a change that a distributed table does not take",
                );
            }
        }
        refusals
    }

    fn has_constraint(change: &str) -> bool {
        ["CHECK", "UNIQUE", "PRIMARY KEY", "REFERENCES"]
            .iter()
            .any(|constraint| change.contains(constraint))
    }

    /// Returns the parts between the commas that stand in no parentheses.
    fn parts(text: &str) -> Vec<String> {
        let (mut parts, mut depth) = (vec![String::new()], 0);
        for sign in text.chars() {
            depth += i32::from(sign == '(') - i32::from(sign == ')');
            if sign == ',' && depth == 0 {
                parts.push(String::new());
            } else if let Some(part) = parts.last_mut() {
                part.push(sign);
            }
        }
        parts.iter().map(|part| part.trim().to_owned()).collect()
    }

    #[test]
    fn no_migration_has_what_citus_refuses() {
        for (number, migration) in (1..).zip(MIGRATIONS) {
            let sent = statements(migration);
            assert_eq!(refusals(&sent), [""; 0], "of migration {number}");
            for statement in statements(migration) {
                let quotes = statement.matches('\'').count();
                assert_eq!(quotes % 2, 0, "a semicolon in a text: {statement}");
            }
        }
    }

    #[test]
    fn what_citus_refuses_is_refused() {
        let ours = |sql: &str| refusals(&statements(sql));
        let as_it_is = |sql: &str| refusals(&[sql.to_owned()]);
        let two = "ALTER TABLE @fact ADD COLUMN a text; ALTER TABLE @fact ADD COLUMN b text;";
        assert_eq!(ours(two), [""; 0]);
        assert_eq!(
            ours("CREATE TABLE @a (space text); ALTER TABLE @a ALTER space SET STATISTICS 0"),
            [""; 0]
        );
        for (found, reason) in [
            (as_it_is(two), "beside another one"),
            (
                as_it_is("CREATE INDEX a ON @fact (space); ALTER TABLE @fact ADD COLUMN a text"),
                "beside another one",
            ),
            (
                ours(
                    "ALTER TABLE @fact DROP CONSTRAINT a, ADD CONSTRAINT a CHECK (b IN ('c', 'd'))",
                ),
                "ADD CONSTRAINT beside",
            ),
            (
                ours("CREATE POLICY loci_space ON @fact USING (space = (SELECT 'a'))"),
                "subquery in a policy",
            ),
            (
                ours("ALTER TABLE @fact ALTER space SET STATISTICS 0"),
                "does not take",
            ),
            (
                ours("ALTER TABLE @passage ALTER vector SET STORAGE PLAIN"),
                "does not take",
            ),
            (
                ours("ALTER TABLE @fact RENAME COLUMN a TO b"),
                "does not take",
            ),
            (
                ours("ALTER TABLE @fact ADD COLUMN a text CHECK (a IN ('b', 'c'))"),
                "ADD COLUMN with a constraint",
            ),
            (ours("SELECT pg_advisory_xact_lock(1)"), "advisory"),
        ] {
            assert!(
                found.len() == 1 && found[0].contains(reason),
                "{reason}: {found:?}"
            );
        }
    }
}

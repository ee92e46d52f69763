//! The tables of the store: one list, from which checks, repair, salvage and rebuild take what they
//! need to know of a table.

use crate::statements::passages::POSITION_BITS;

/// Where the rows of a table come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A caller filed them: only a backup has rows that are lost.
    Filed,
    /// The store makes them from other rows, or can do without them.
    Derived,
    /// A trigger counts other rows in them. They carry no checksums.
    Counted,
    /// The store keeps them for its own work. They carry no checksums, and a new database starts
    /// without them.
    Internal,
}

/// A table of the schema.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    /// One row, as a noun.
    pub(crate) row: &'static str,
    /// Several rows, as a noun.
    pub(crate) rows: &'static str,
    /// The SQL expression that names a row `t` and gives away nothing of its content.
    pub(crate) key: &'static str,
    pub(crate) origin: Origin,
    /// True if records of the archive are made from its rows.
    pub(crate) is_archived: bool,
    /// An index, if there is one, whose entries are the space, further keys, and the number of the
    /// row: they name rows that are lost.
    pub(crate) index: &'static str,
}

impl Table {
    const fn new(name: &'static str, row: &'static str, rows: &'static str) -> Self {
        Table {
            name,
            row,
            rows,
            key: "",
            origin: Origin::Internal,
            is_archived: false,
            index: "",
        }
    }

    const fn filed(self, key: &'static str) -> Self {
        Table {
            key,
            origin: Origin::Filed,
            ..self
        }
    }

    const fn derived(self, key: &'static str) -> Self {
        Table {
            key,
            origin: Origin::Derived,
            ..self
        }
    }

    const fn counted(self) -> Self {
        Table {
            origin: Origin::Counted,
            ..self
        }
    }

    const fn archived(self, index: &'static str) -> Self {
        Table {
            is_archived: true,
            index,
            ..self
        }
    }

    /// Returns whether its rows carry checksums.
    pub(crate) fn has_checksums(&self) -> bool {
        matches!(self.origin, Origin::Filed | Origin::Derived)
    }
}

/// The id of the memory that a row belongs to.
const OF_MEMORY: &str = "ifnull((SELECT id FROM memory WHERE row = t.memory), t.memory)";
pub(crate) const OF_PASSAGE: &str =
    "ifnull((SELECT id FROM memory WHERE row = t.row >> 20), t.row >> 20)";
const OF_VECTOR: &str =
    "ifnull((SELECT id FROM memory WHERE row = t.passage >> 20), t.passage >> 20)";
const _: () = assert!(POSITION_BITS == 20);

/// Every table of the schema, except the tables of SQLite and of the migrations.
pub(crate) const TABLES: [Table; 35] = [
    Table::new("memory", "memory", "memories")
        .filed("id")
        .archived("memory_by_id"),
    Table::new("content", "text", "contents of memories")
        .filed(OF_MEMORY)
        .archived(""),
    Table::new("version", "former version", "former versions of memories").filed(OF_MEMORY),
    Table::new("passage", "passage", "passages of memories").derived(OF_PASSAGE),
    Table::new(
        "further_vector",
        "further vector",
        "further vectors of memories",
    )
    .derived(OF_VECTOR),
    Table::new("model", "name of a model", "names of models").derived("row"),
    Table::new("token", "token", "tokens").filed("id"),
    Table::new(
        "access",
        "count of returns",
        "counts of returns of memories",
    )
    .derived(OF_MEMORY)
    .archived(""),
    Table::new("job", "job", "jobs of memories").derived(OF_MEMORY),
    Table::new("cache_entry", "cached answer", "cached answers")
        .derived("id")
        .archived("sqlite_autoindex_cache_entry_1"),
    Table::new("decision", "decision", "decisions")
        .filed("key")
        .archived("sqlite_autoindex_decision_1"),
    Table::new("audit", "audit entry", "audit entries").filed("number"),
    Table::new(
        "audit_record",
        "record of an audit entry",
        "records of audit entries",
    )
    .filed("entry"),
    Table::new("daily", "daily count", "daily counts").filed("day"),
    Table::new("wipe", "note of a wipe", "notes of wipes").filed("owner"),
    Table::new(
        "analysis",
        "version of the analysis",
        "versions of the analysis",
    )
    .derived("row"),
    Table::new("note_file", "file of notes", "files of notes")
        .filed("path")
        .archived(""),
    Table::new(
        "note_folder",
        "name of the folder of notes",
        "folders of notes",
    )
    .filed("space")
    .archived(""),
    Table::new("keyed_answer", "answer under a key", "answers under keys")
        .filed("row")
        .archived("keyed_answer_by_key"),
    Table::new("secret", "secret", "secrets").filed("row"),
    Table::new(
        "graph_name",
        "spelling of a name in facts",
        "names in facts",
    )
    .filed("space")
    .archived(""),
    Table::new("fact", "fact", "facts")
        .filed("id")
        .archived("fact_by_id"),
    Table::new("tunnel", "tunnel", "tunnels")
        .filed("id")
        .archived("tunnel_by_id"),
    Table::new(
        "record_version",
        "former state",
        "former states of facts and tunnels",
    )
    .filed("id"),
    Table::new("setting", "setting", "settings")
        .filed("name")
        .archived(""),
    Table::new(
        "source_file",
        "file that memories were made from",
        "files that memories were made from",
    )
    .filed("path")
    .archived(""),
    Table::new("tombstone", "tombstone", "tombstones")
        .filed("hex(text)")
        .archived(""),
    Table::new("place_count", "count of a place", "counts of places").counted(),
    Table::new("graph_count", "count of facts", "counts of facts").counted(),
    Table::new(
        "keyed_answer_total",
        "count of answers under keys",
        "counts of answers under keys",
    )
    .counted(),
    Table::new(
        "answer_memory",
        "memory in an answer under a key",
        "memories in answers under keys",
    )
    .counted(),
    Table::new("change", "change", "changes"),
    Table::new("lease", "lease", "leases"),
    Table::new("open_item", "open item", "open items"),
    Table::new(
        "examined",
        "place of the examination",
        "places of the examination",
    ),
];

/// The table of that name, if it is one of the store's.
pub(crate) fn find(name: &str) -> Option<&'static Table> {
    TABLES.iter().find(|table| table.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::opening::schema;

    #[test]
    fn the_list_has_the_tables_of_the_schema_and_their_indexes() {
        let definitions = schema::definitions().unwrap();
        let of_schema: BTreeSet<_> = definitions
            .iter()
            .filter(|it| it.kind == "table")
            .map(|it| it.name.as_str())
            .filter(|name| !name.starts_with("refinery") && !name.starts_with("sqlite"))
            .collect();
        assert_eq!(
            TABLES.iter().map(|it| it.name).collect::<BTreeSet<_>>(),
            of_schema
        );
        for table in &TABLES {
            let definition = definitions.iter().find(|it| it.name == table.name).unwrap();
            let has_checksums = definition.sql.contains("loci_checksum(");
            assert_eq!(table.has_checksums(), has_checksums, "{}", table.name);
            let is_index = |name: &str| {
                name.is_empty()
                    || name.starts_with("sqlite_autoindex_")
                    || definitions
                        .iter()
                        .any(|it| it.kind == "index" && it.name == name)
            };
            assert!(is_index(table.index), "{}", table.index);
        }
    }
}

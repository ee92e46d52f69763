//! The SQL statements over each table, and the rows that they read and write.

pub(crate) mod answers;
pub(crate) mod archive;
pub(crate) mod audit;
pub(crate) mod batch;
pub(crate) mod change_feed;
pub(crate) mod counts;
pub(crate) mod decisions;
pub(crate) mod facts;
pub(crate) mod filter_sql;
pub(crate) mod idempotent_replies;
pub(crate) mod import_record;
pub(crate) mod jobs;
pub(crate) mod note_files;
pub(crate) mod passages;
pub(crate) mod read;
pub(crate) mod remove;
pub(crate) mod row;
pub(crate) mod settings;
pub(crate) mod soft_deleted;
pub(crate) mod source_files;
pub(crate) mod tokens;
pub(crate) mod tombstones;
pub(crate) mod tunnels;
pub(crate) mod versions;
pub(crate) mod wipes;
pub(crate) mod write;

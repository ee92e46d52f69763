//! How long things are kept, and how often rounds of maintenance come.

use std::time::Duration;

use loci_core::limits::{BUFFERED_MAX, TTL_DAYS_MAX};
use loci_engine::Policy;

use super::HOURS_MAX;
use crate::settings::value::{UNNAMED, Value};
use crate::settings::{DAY_SECONDS, DefaultValue, HOUR_SECONDS, Setting, TypedSetting, ValueType};

settings! {
    UPKEEP_SETTINGS;

    /// The retention of former versions.
    HISTORY_DAYS: u64 = {
        key: "history_days", variable: "LOCI_HISTORY_DAYS",
        default: DefaultValue::Whole(Policy::DEFAULT.history_seconds / DAY_SECONDS), form: ValueType::Whole { min: 0, max: TTL_DAYS_MAX },
        meaning: "Days for which the version before each change of a memory is kept, for `loci history`, `restore`, `undo` and `--as-of`; 0 keeps it for ever",
    };
    /// The retention of the audit log.
    AUDIT_RETENTION_DAYS: u64 = {
        key: "audit.retention_days", variable: "LOCI_AUDIT_RETENTION_DAYS",
        alias: Some("AUDIT_RETENTION_DAYS"),
        default: DefaultValue::Whole(Policy::DEFAULT.audit_retention_seconds / DAY_SECONDS), form: ValueType::Whole { min: 1, max: TTL_DAYS_MAX },
        meaning: "Days that an entry of the audit log is kept",
    };
    /// The longest time for which audit entries are buffered.
    AUDIT_FLUSH_SECONDS: Duration = {
        key: "audit.flush_seconds", variable: "LOCI_AUDIT_FLUSH_SECONDS",
        alias: Some("AUDIT_FLUSH_INTERVAL_SECONDS"),
        default: DefaultValue::Text("2"),
        form: ValueType::Seconds,
        meaning: "Seconds after which entries of the audit log and access counts are written",
    };
    /// The number of buffered audit entries that are written at once.
    AUDIT_FLUSH_ENTRIES: u64 = {
        key: "audit.flush_entries", variable: "LOCI_AUDIT_FLUSH_ENTRIES",
        alias: Some("AUDIT_BUFFER_SIZE"),
        default: DefaultValue::Whole(Policy::DEFAULT.audit_buffer as u64),
        form: ValueType::Whole { min: 1, max: BUFFERED_MAX as u64 },
        meaning: "Entries of the audit log that are written without waiting for their time",
    };
    /// The queries of the phases of work.
    PHASES_QUERIES: Vec<String> = {
        key: "phases.queries", variable: "LOCI_PHASES_QUERIES",
        default: DefaultValue::Text(""),
        form: ValueType::List,
        meaning: "What `memory_recall` asks the memory in a phase of work, as phase=question; in place of the built-in question, or for a phase of your own",
    };
    /// The preferred tags of the phases of work.
    PHASES_TAGS: Vec<String> = {
        key: "phases.tags", variable: "LOCI_PHASES_TAGS",
        default: DefaultValue::Text(""),
        form: ValueType::List,
        meaning: "Tags of memories that matter more in a phase of work, as phase=tag,tag; in place of the built-in ones",
    };
    /// The kinds of memories that matter in the phases of work.
    PHASES_KINDS: Vec<String> = {
        key: "phases.kinds", variable: "LOCI_PHASES_KINDS",
        default: DefaultValue::Text(""),
        form: ValueType::List,
        meaning: "Kinds of memories that matter in a phase of work whatever they say, as phase=kind,kind, such as plan=decision; in place of the built-in ones",
    };
    /// The retention of replies under their idempotency keys.
    IDEMPOTENCY_HOURS: u64 = {
        key: "idempotency_hours", variable: "LOCI_IDEMPOTENCY_HOURS",
        default: DefaultValue::Whole(Policy::DEFAULT.idempotent_reply_ttl_seconds / HOUR_SECONDS), form: ValueType::Whole { min: 1, max: HOURS_MAX },
        meaning: "Hours in which a call that is repeated under its `idempotency_key` gets the first answer again; of `memory_recall` only in its session and while nothing in the store changes",
    };
    /// The interval of consolidations in the background.
    CONSOLIDATE_HOURS: u64 = {
        key: "consolidate_hours", variable: "LOCI_CONSOLIDATE_HOURS",
        default: DefaultValue::Whole(0), form: ValueType::Whole { min: 0, max: HOURS_MAX },
        meaning: "Hours between two consolidations by `serve` or `mcp`, as `loci consolidate` does one: memories that say the same stand behind one; 0 for none",
    };
    /// The interval of background work.
    MAINTENANCE_SECONDS: Duration = {
        key: "maintenance_seconds", variable: "LOCI_MAINTENANCE_SECONDS",
        default: DefaultValue::Text("60"),
        form: ValueType::Seconds,
        meaning: "Seconds between two rounds in which `serve` and `mcp` remove expired memories and embed pending ones",
    };
    /// The number of memories from which the index is a file.
    INDEX_FILE_MEMORIES: u64 = {
        key: "index_file_memories", variable: "LOCI_INDEX_FILE_MEMORIES",
        default: DefaultValue::Text("2000"),
        form: ValueType::Whole { min: 1, max: 1_000_000_000 },
        meaning: "From how many memories on the index is kept as a file in the data folder, which processes share, so that none has to load it; 1000000000 for never",
    };
    /// The longest wait of a write for other processes.
    BUSY_TIMEOUT_SECONDS: Duration = {
        key: "busy_timeout_seconds", variable: "LOCI_BUSY_TIMEOUT_SECONDS",
        default: DefaultValue::Text("10"),
        form: ValueType::Seconds,
        meaning: "Seconds that a write waits for other processes that write to the same data",
    };
}

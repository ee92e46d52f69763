//! Where memories lie and how they are opened, logs and searches.

use crate::settings::value::{UNNAMED, Value};
use crate::settings::{DefaultValue, Setting, TypedSetting, ValueType};

settings! {
    STORE_SETTINGS;

    /// The data folder.
    DATA: String = {
        key: "data", flag: Some("data"), variable: "LOCI_DATA",
        default: DefaultValue::Words("the platform's data folder"),
        meaning: "Folder that holds the memories",
    };
    /// Where the store is.
    STORE: String = {
        key: "store", flag: Some("store"), variable: "LOCI_STORE",
        default: DefaultValue::Words("the data folder"),
        meaning: "Folder that holds the database, if it is not the data folder: a faster disk, say; or the database of a PostgreSQL server, postgres://USER@HOST/DATABASE, which several machines may share",
    };
    /// The schema of a store on a server.
    STORE_SCHEMA: String = {
        key: "store_schema", variable: "LOCI_STORE_SCHEMA",
        default: DefaultValue::Text("loci"),
        meaning: "Schema that holds the tables of a store on a server; each schema is a store of its own",
    };
    /// The password of the role of a store on a server.
    STORE_PASSWORD: String = {
        key: "store_password", variable: "LOCI_STORE_PASSWORD",
        alias: Some("PGPASSWORD"), form: ValueType::Secret,
        meaning: "Password for a store on a server, in place of that in the URL; never shown",
    };
    /// The file with that password.
    STORE_PASSWORD_FILE: String = {
        key: "store_password_file", variable: "LOCI_STORE_PASSWORD_FILE",
        meaning: "File whose first line is that password",
    };
    /// The key file of an encrypted store.
    ENCRYPTION_KEY_FILE: String = { key: "encryption.key_file", variable: "LOCI_ENCRYPTION_KEY_FILE", meaning: "File that opens an encrypted store (`loci encrypt --key-file`)", };
    /// The passphrase of an encrypted store.
    ENCRYPTION_PASSPHRASE: String = { key: "encryption.passphrase", variable: "LOCI_ENCRYPTION_PASSPHRASE", alias: Some("LOCI_PASSPHRASE"), form: ValueType::Secret, meaning: "Passphrase of an encrypted store; never shown", };
    /// The file with that passphrase.
    ENCRYPTION_PASSPHRASE_FILE: String = { key: "encryption.passphrase_file", variable: "LOCI_ENCRYPTION_PASSPHRASE_FILE", meaning: "File whose first line is that passphrase", };
    /// The recovery key of an encrypted store.
    ENCRYPTION_RECOVERY_KEY: String = { key: "encryption.recovery_key", variable: "LOCI_ENCRYPTION_RECOVERY_KEY", alias: Some("LOCI_RECOVERY_KEY"), form: ValueType::Secret, meaning: "Recovery key of an encrypted store, for a command when no other way to it is left; never shown", };
    /// The most connections to a store on a server.
    STORE_CONNECTIONS: u64 = {
        key: "store_connections", variable: "LOCI_STORE_CONNECTIONS",
        default: DefaultValue::Whole(16), form: ValueType::Whole { min: 2, max: 1_000 },
        meaning: "The most connections that a process makes to a store on a server",
    };
    /// The time that a commit of a store on a server may take.
    STORE_COMMIT_SECONDS: u64 = {
        key: "store_commit_seconds", variable: "LOCI_STORE_COMMIT_SECONDS",
        default: DefaultValue::Whole(20), form: ValueType::Whole { min: 1, max: 3_600 },
        meaning: "Seconds that a write waits for a store on a server to confirm it, e.g. until its synchronous standby has it; then its outcome is not known, and the writer is told so",
    };
    /// The memory for indexes of a store on a server.
    STORE_INDEX_MEGABYTES: u64 = {
        key: "store_index_megabytes", variable: "LOCI_STORE_INDEX_MEGABYTES",
        default: DefaultValue::Whole(1_024), form: ValueType::Whole { min: 1, max: 1_000_000 },
        meaning: "Megabytes of memory that a process uses for the indexes of a store on a server; beyond it, the indexes of the spaces that were not searched for longest are evicted",
    };
    /// Whether the tables of a store on a server are created and upgraded.
    STORE_MIGRATE: String = {
        key: "store_migrate", variable: "LOCI_STORE_MIGRATE",
        default: DefaultValue::Text("auto"), form: ValueType::Choice(&["auto", "never"]),
        meaning: "Whether loci creates and upgrades the tables of a store on a server (auto), or refuses to work with older ones (never)",
    };
    /// Whether the server keeps the spaces of a store apart.
    STORE_ROW_SECURITY: bool = {
        key: "store_row_security", variable: "LOCI_STORE_ROW_SECURITY",
        default: DefaultValue::Text("false"), form: ValueType::Boolean,
        meaning: "Whether loci turns row security on in the tables of a store on a server, which then keeps the spaces apart as well; it stays on when this is `false` again",
    };
    /// The distribution of the tables of a store on a server.
    STORE_CITUS: String = {
        key: "store_citus", variable: "LOCI_STORE_CITUS",
        default: DefaultValue::Text("auto"), form: ValueType::Choice(&["auto", "coordinator", "off"]),
        meaning: "Whether loci distributes new tables of a store on a server over the nodes of a cluster where the database has the extension Citus, and connects to the worker of a space by itself (auto) or passes all through the coordinator (coordinator), or makes plain tables (off)",
    };
    /// The folder of notes.
    VAULT: String = {
        key: "vault", flag: Some("vault"), variable: "LOCI_VAULT",
        default: DefaultValue::Words("`vault` in the data folder"),
        meaning: "Folder of Markdown notes, for people to open in an editor and to sync",
    };
    /// The permissions of new notes.
    VAULT_FILE_MODE: String = {
        key: "vault_file_mode", variable: "LOCI_VAULT_FILE_MODE",
        default: DefaultValue::Text("600"), form: ValueType::Choice(&["600", "640", "660", "644", "664"]),
        meaning: "Permissions of new files among the notes, and of new folders with them: 600 (only yours), 640 or 660 (your group reads, or writes, too), 644 or 664 (every user reads); a file that is there keeps its own",
    };
    /// The log level.
    LOG: String = {
        key: "log", flag: Some("log"), variable: "LOCI_LOG",
        default: DefaultValue::Words("info for `serve`, else warn"),
        form: ValueType::Choice(&["error", "warn", "info", "debug", "trace"]),
        meaning: "How much to log to stderr: error, warn, info, debug or trace",
    };
    /// The form of the log.
    LOG_FORMAT: String = {
        key: "log_format",
        flag: Some("log-format"),
        variable: "LOCI_LOG_FORMAT",
        default: DefaultValue::Text("text"), form: ValueType::Choice(&["text", "json"]),
        meaning: "How to log to stderr: as text, or as a JSON object on each line",
    };
    /// The search mode.
    SEARCH: String = {
        key: "search",
        flag: Some("search"),
        variable: "LOCI_SEARCH",
        default: DefaultValue::Text("hybrid"), form: ValueType::Choice(&["hybrid", "vector", "words"]),
        meaning: "How to search: hybrid (words and meaning), vector (only meaning) or words",
    };
    /// The texts in which secrets are redacted.
    REDACT_SECRETS: String = {
        key: "redact_secrets", variable: "LOCI_REDACT_SECRETS",
        default: DefaultValue::Text("mined"), form: ValueType::Choice(&["mined", "all", "none"]),
        meaning: "Texts that keys, tokens and passwords are taken out of before they are stored: mined (files and transcripts), all (what tools write as well) or none",
    };
}

//! All limits that a caller can meet.
//!
//! Each text by which a store finds a record has one:
//!
//! - names (space, owner, subject, collection, section, kind, setting, decision key, idempotency
//!   key, operation, origin, format of a source file, name of an attribute, model of an endpoint):
//!   [`NAME_CHARACTERS_MAX`], so [`NAME_BYTES_MAX`]
//! - ids of memories, facts and tunnels: [`ID_BYTES_MAX`]
//! - tags: [`TAG_BYTES_MAX`]
//! - names in the knowledge graph: [`ENTITY_BYTES_MAX`]; normalised, [`REFERENCE_BYTES_MAX`]
//! - threads, paths of notes, paths and roots of source files, values of attributes, URLs of
//!   endpoints: [`REFERENCE_BYTES_MAX`]
//! - questions of cached answers: [`QUERY_BYTES_MAX`]
//!
//! A model is named after its name and its endpoint, and a lease after its work and its model.

/// Bytes of UTF-8 in the content of one memory.
pub const CONTENT_BYTES_MAX: usize = 1 << 20;
/// Characters in a title or a name (project, subject, key).
pub const NAME_CHARACTERS_MAX: usize = 256;
/// Bytes of UTF-8 in a title or a name, which stores use in the keys of their indexes.
pub const NAME_BYTES_MAX: usize = 1024;
const _: () = assert!(
    NAME_CHARACTERS_MAX * char::MAX_LEN_UTF8 <= NAME_BYTES_MAX,
    "a name within the limit of characters would be too long for an index"
);
/// Tags of one memory.
pub const TAGS_MAX: usize = 128;
/// Bytes of UTF-8 in one tag.
pub const TAG_BYTES_MAX: usize = 128;
/// Bytes of UTF-8 in a search query.
pub const QUERY_BYTES_MAX: usize = 64 << 10;
/// Former versions of one memory that are kept; beyond it, the oldest are evicted.
pub const VERSIONS_MAX: usize = 50;
/// Tombstones of one space; beyond it, the oldest are evicted.
pub const TOMBSTONES_MAX: usize = 1_000_000;
/// Replies kept under idempotency keys for one owner in one space; beyond it, the oldest are
/// evicted.
pub const KEYED_ANSWERS_MAX: usize = 10_000;
/// Bytes of UTF-8 in the replies kept under idempotency keys for one owner in one space; beyond it,
/// the oldest are evicted.
pub const KEYED_ANSWERS_BYTES_MAX: usize = 64 << 20;
/// Bytes of UTF-8 in an id that a caller sends.
pub const ID_BYTES_MAX: usize = 512;
/// Results of one search; a larger number is clamped to it.
pub const RECALL_RESULTS_MAX: usize = 100;
/// Work phases in one call.
pub const PHASES_MAX: usize = 16;
/// Tokens of a bundle for work phases; a larger number is clamped to it.
pub const BUNDLE_TOKENS_MAX: usize = 1_000_000;
/// Tokens of the texts of one reply; a larger number is clamped to it.
pub const REPLY_TOKENS_MAX: usize = 200_000;
/// Records of one listing; a larger number is clamped to it.
pub const LIST_RESULTS_MAX: usize = 1_000;
/// Bytes of content that one reply may carry.
pub const REPLY_CONTENT_BYTES_MAX: usize = 8 << 20;
/// Bytes of UTF-8 in the text of a reply to a read-only call: JSON escapes make content larger.
pub const REPLY_TEXT_BYTES_MAX: usize = 2 * REPLY_CONTENT_BYTES_MAX;
/// Bytes of replies that one process holds until their clients have read them, including replies in
/// progress; further calls wait. Read-only calls have one such budget, batches and calls that may
/// write another.
pub const REPLIES_HELD_BYTES_MAX: usize = 64 << 20;
/// Bytes of one HTTP request body, and of one line on stdio: 1 MiB of content may be 6 MiB of
/// JSON escapes.
pub const REQUEST_BYTES_MAX: usize = 8 << 20;
/// Bytes of a file that a person uploads on the page, to import it.
pub const UPLOAD_BYTES_MAX: u64 = 4 << 30;
/// Bytes of the head of an HTTP request: the request line and all headers.
pub const REQUEST_HEAD_BYTES_MAX: usize = 32 << 10;
/// Headers of one HTTP request.
pub const REQUEST_HEADERS_MAX: usize = 100;
/// Values in one message, including keys of objects: each takes far more memory than the two bytes
/// that it may have on the wire.
pub const REQUEST_VALUES_MAX: usize = 1 << 16;
/// Bytes of HTTP request bodies beyond 8 KiB that one process holds at a time, until their calls
/// are answered; further requests wait.
pub const REQUESTS_HELD_BYTES_MAX: usize = 38 << 20;
/// Levels of nesting in a request.
pub const REQUEST_NESTING_MAX: usize = 128;
/// Requests of one JSON-RPC batch.
pub const BATCH_REQUESTS_MAX: usize = 64;
/// Read-only calls in progress in one process, and likewise calls that may write; further calls
/// wait, and reads never wait for writes.
pub const CALLS_IN_FLIGHT_MAX: usize = 64;
/// Calls of one process that wait for external services at a time; further ones wait, separately
/// from calls that need only the store.
pub const OUTSIDE_CALLS_IN_FLIGHT_MAX: usize = 64;
/// Values in one answer to a completion request (a limit of the protocol).
pub const COMPLETION_VALUES_MAX: usize = 100;
/// Tokens that the bootstrap of one session should not exceed. More causes a warning, never a cut.
pub const BOOTSTRAP_TOKENS_MAX: usize = 30_000;
/// The hosts whose hooks show an agent the text of a session's start, with the length that each
/// host shows: Claude Code truncates above 10,000 characters, Codex above 2,500 tokens of four
/// bytes, Gemini CLI and, as far as is known, Cursor nothing.
pub const SESSION_START_HOSTS: [(&str, usize); 5] = [
    ("claude-code", 10_000),
    ("codex", 10_000),
    ("cursor", usize::MAX),
    ("gemini-cli", usize::MAX),
    ("opencode", usize::MAX),
];
/// Bytes of UTF-8 in the text of a session's start; every host shows a text of this size in full.
pub const SESSION_START_BYTES_MAX: usize = 9_500;
const _: () = {
    let mut host = 0;
    while host < SESSION_START_HOSTS.len() {
        assert!(
            SESSION_START_BYTES_MAX < SESSION_START_HOSTS[host].1,
            "a host would cut it"
        );
        host += 1;
    }
};
/// Bytes of that text reserved for the framing around the memories.
pub const SESSION_START_FRAME_BYTES: usize = 1_000;
/// Results of one search over all its pages.
pub const PAGED_RESULTS_MAX: usize = 10_000;
/// Days in the longest time to live (100 years).
pub const TTL_DAYS_MAX: u64 = 36_500;
/// Seconds that one call may take before it fails with a timeout.
pub const CALL_SECONDS_MAX: u64 = 60;
/// Connections that the HTTP server keeps open at a time; further ones wait.
pub const CONNECTIONS_MAX: usize = 1_024;
/// Callers that one process tracks for rate limits at a time.
pub const RATED_CALLERS_MAX: usize = 16_384;
/// Calls that a rate limit may let through in a burst; a larger number is clamped to it.
pub const RATE_BURST_MAX: u32 = 1_000_000;
/// Subscriptions to changes that one process serves at a time.
pub const SUBSCRIPTIONS_MAX: usize = 64;
/// Resources that one subscription may name.
pub const SUBSCRIPTION_RESOURCES_MAX: usize = 64;
/// Messages of one call.
pub const MESSAGES_MAX: usize = 1_000;
/// Imports that can be taken back; of an older one, the notes that this needs are removed.
pub const IMPORT_BATCHES_MAX: usize = 100;
/// Memories of one import into one transaction.
pub const IMPORT_MEMORIES_MAX: usize = 10_000;
/// Bytes of what is read with which one transaction of an import is full. The words of the texts, which the
/// store indexes, take about ten times as much memory until they are stored.
pub const IMPORT_BATCH_BYTES: usize = 8 << 20;
/// Attributes of one memory that comes from an archive.
pub const ATTRIBUTES_MAX: usize = 128;
/// Links of one memory that comes from an archive; a note or the enrichment makes fewer.
pub const LINKS_MAX: usize = 512;
/// Citations of one memory.
pub const CITATIONS_MAX: usize = 50;
/// Bytes of UTF-8 in the excerpt of a citation.
pub const EXCERPT_BYTES_MAX: usize = 16 << 10;
/// Bytes of UTF-8 in the reference, locator or pin of a citation; in an attribute, the thread or the
/// path of a memory; and in a summary that its writer gives.
pub const REFERENCE_BYTES_MAX: usize = 4 << 10;
/// Bytes of a citation's reference that are indexed for search.
pub const REFERENCE_INDEXED_BYTES_MAX: usize = 256;
/// Bytes of UTF-8 in the content of a memory that has citations.
pub const CITED_CONTENT_BYTES_MAX: usize = 64 << 10;
/// Bytes of a bearer token, whether loci or another issuer made it.
pub const TOKEN_BYTES_MAX: usize = 16 << 10;
/// Words in the summary of a memory.
pub const SUMMARY_WORDS_MAX: usize = 100;
/// Records that an entry of the audit log names; it counts the others.
pub const AUDIT_RECORDS_MAX: usize = 100;
/// Characters of a query that the audit log keeps.
pub const AUDIT_QUERY_CHARACTERS_MAX: usize = 1_024;
/// Audit entries and access counts that one process buffers before they are written; the call that
/// exceeds the limit writes them itself.
pub const BUFFERED_MAX: usize = 10_000;
/// Bytes of a regular expression that a caller sends.
pub const PATTERN_BYTES_MAX: usize = 1_024;
/// Bytes of the reply of a web search service.
pub const WEB_REPLY_BYTES_MAX: usize = 1 << 20;
/// Seconds that one request to a web search service may take.
pub const WEB_SECONDS_MAX: u64 = 10;
/// Facts of one reply; a query with more results must be narrowed.
pub const FACTS_MAX: usize = 1_000;
/// Bytes of UTF-8 in the name of an entity or a relation of the knowledge graph.
pub const ENTITY_BYTES_MAX: usize = 512;
/// Rooms visited in one traversal of the graph of places.
pub const TRAVERSED_MAX: usize = 50;
/// Hops of such a traversal; a larger number is clamped to it.
pub const HOPS_MAX: usize = 10;
/// Tunnels of one owner in a space, or tunnels without an owner.
pub const TUNNELS_MAX: usize = 10_000;
/// Bytes of a source file; a larger file is skipped and counted.
pub const SOURCE_FILE_BYTES_MAX: u64 = 10 << 20;
/// Characters of the name that a client gives itself that are kept.
pub const CLIENT_NAME_CHARACTERS_MAX: usize = 64;
/// Bytes of UTF-8 in the name of a session of a client or a host.
pub const SESSION_BYTES_MAX: usize = 128;
/// Clients whose last call is kept on one machine.
pub const CLIENTS_MAX: usize = 64;
/// Entries of a zip archive that is read.
pub const ZIP_ENTRIES_MAX: usize = 100_000;
/// Bytes of all files of a zip archive that are unpacked for reading.
pub const ZIP_BYTES_MAX: u64 = 4 << 30;
/// Seconds that a lease lasts at most if its holder ends without releasing it. A lease that seems
/// to last longer was taken while the clock was ahead, and counts as expired. The leases in use are
/// minutes shorter, so that a clock set back by minutes does not affect them.
pub const LEASE_SECONDS_MAX: i64 = 900;
/// The most [open items](crate::OpenItem) that one read returns; each takes about 200 bytes.
pub const OPEN_ITEMS_MAX: usize = 50_000;

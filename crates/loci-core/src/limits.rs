//! Every limit that a caller can meet, once.

/// Bytes of UTF-8 in the content of one memory.
pub const CONTENT_BYTES_MAX: usize = 1 << 20;
/// Characters in a title or a name (project, subject, key).
pub const NAME_CHARACTERS_MAX: usize = 256;
/// Tags of one memory.
pub const TAGS_MAX: usize = 128;
/// Bytes of UTF-8 in one tag.
pub const TAG_BYTES_MAX: usize = 128;
/// Bytes of UTF-8 in a search query.
pub const QUERY_BYTES_MAX: usize = 64 << 10;
/// Answers under keys that are kept for one owner in one space; beyond it the oldest make room.
pub const KEYED_ANSWERS_MAX: usize = 10_000;
/// Bytes of UTF-8 in the answers under keys that are kept for one owner in one space; beyond it the
/// oldest make room.
pub const KEYED_ANSWERS_BYTES_MAX: usize = 64 << 20;
/// Bytes of UTF-8 in an id that a caller names.
pub const ID_BYTES_MAX: usize = 512;
/// Results of one search; a larger number clamps to it.
pub const RECALL_RESULTS_MAX: usize = 100;
/// Phases of work that one call may ask about.
pub const PHASES_MAX: usize = 16;
/// Tokens of what is put together for phases of work; a larger number clamps to it.
pub const BUNDLE_TOKENS_MAX: usize = 1_000_000;
/// Tokens of the texts of one reply; a larger number clamps to it.
pub const REPLY_TOKENS_MAX: usize = 200_000;
/// Records of one listing; a larger number clamps to it.
pub const LIST_RESULTS_MAX: usize = 1_000;
/// Bytes of content that one reply may carry.
pub const REPLY_CONTENT_BYTES_MAX: usize = 8 << 20;
/// Bytes of UTF-8 in the text of a reply to a call that only reads: content with much to escape
/// grows as JSON.
pub const REPLY_TEXT_BYTES_MAX: usize = 2 * REPLY_CONTENT_BYTES_MAX;
/// Bytes of replies that one process holds for clients which have not read them yet, and of those
/// being made; further calls wait. So many for calls that only read, and as many for batches and
/// calls that may write.
pub const REPLIES_HELD_BYTES_MAX: usize = 64 << 20;
/// Bytes of one HTTP request body, and of one line on stdio: 1 MiB of content may be 6 MiB of
/// JSON escapes.
pub const REQUEST_BYTES_MAX: usize = 8 << 20;
/// Bytes of the head of an HTTP request: the request line and all headers.
pub const REQUEST_HEAD_BYTES_MAX: usize = 32 << 10;
/// Headers of one HTTP request.
pub const REQUEST_HEADERS_MAX: usize = 100;
/// Values in one message, keys of objects included: each takes far more memory than the two bytes
/// that may stand for it.
pub const REQUEST_VALUES_MAX: usize = 1 << 16;
/// Bytes of HTTP request bodies beyond 64 KiB that one process holds at a time, until their calls
/// are answered; further ones wait.
pub const REQUESTS_HELD_BYTES_MAX: usize = 64 << 20;
/// Levels of nesting in a request that are read.
pub const REQUEST_NESTING_MAX: usize = 128;
/// Requests of one JSON-RPC batch.
pub const BATCH_REQUESTS_MAX: usize = 64;
/// Calls that only read that one process works on at a time, and calls that may write; further
/// ones wait, and reads never behind writes.
pub const CALLS_IN_FLIGHT_MAX: usize = 64;
/// Calls of one process that wait for services of others at a time; further ones wait, and apart
/// from those that need the store alone.
pub const OUTSIDE_CALLS_IN_FLIGHT_MAX: usize = 64;
/// Values in one answer to a completion request (a limit of the protocol).
pub const COMPLETION_VALUES_MAX: usize = 100;
/// Tokens that the bootstrap of one session should not exceed. Going over warns, never cuts.
pub const BOOTSTRAP_TOKENS_MAX: usize = 30_000;
/// The hosts whose hooks show an agent the text of a session's start, and how much of it each one
/// shows: Claude Code cuts above 10,000 characters, Codex above 2,500 tokens of four bytes.
pub const SESSION_START_HOSTS: [(&str, usize); 2] = [("claude-code", 10_000), ("codex", 10_000)];
/// Bytes of UTF-8 in the text of a session's start: every host shows all of it.
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
/// Bytes of it that stay free for what it says around the memories that every session should begin
/// with.
pub const SESSION_START_FRAME_BYTES: usize = 1_000;
/// Results of one search over all its pages.
pub const PAGED_RESULTS_MAX: usize = 10_000;
/// Days in the longest time to live (100 years).
pub const TTL_DAYS_MAX: u64 = 36_500;
/// Seconds that one call may take before its caller is told that it takes too long.
pub const CALL_SECONDS_MAX: u64 = 60;
/// Connections that the HTTP server keeps open at a time; further ones wait.
pub const CONNECTIONS_MAX: usize = 1_024;
/// Callers whose rates one process tells apart at a time.
pub const RATED_CALLERS_MAX: usize = 16_384;
/// Calls that a rate limit may let through in a row; a larger number clamps to it.
pub const RATE_BURST_MAX: u32 = 1_000_000;
/// Subscriptions to changes that one process serves at a time.
pub const SUBSCRIPTIONS_MAX: usize = 64;
/// Resources that one subscription may name.
pub const SUBSCRIPTION_RESOURCES_MAX: usize = 64;
/// Messages of one call.
pub const MESSAGES_MAX: usize = 100;
/// Memories of one import into one transaction.
pub const IMPORT_MEMORIES_MAX: usize = 10_000;
/// Attributes of one memory that comes from an archive.
pub const ATTRIBUTES_MAX: usize = 128;
/// Links of one memory that comes from an archive: more than a note or the enrichment makes.
pub const LINKS_MAX: usize = 512;
/// Citations of one memory.
pub const CITATIONS_MAX: usize = 50;
/// Bytes of UTF-8 in the excerpt of a citation.
pub const EXCERPT_BYTES_MAX: usize = 16 << 10;
/// Bytes of UTF-8 in what a citation refers to, in the place there, and in its pin; in an attribute
/// of a memory, and in the summary that its writer gives.
pub const REFERENCE_BYTES_MAX: usize = 4 << 10;
/// Bytes of what a citation refers to by which a search finds it.
pub const REFERENCE_INDEXED_BYTES_MAX: usize = 256;
/// Bytes of UTF-8 in the content of a memory that has citations.
pub const CITED_CONTENT_BYTES_MAX: usize = 64 << 10;
/// Bytes of a bearer token, be it one of our own or an issuer's.
pub const TOKEN_BYTES_MAX: usize = 16 << 10;
/// Words in the summary of a memory.
pub const SUMMARY_WORDS_MAX: usize = 100;
/// Records that an entry of the audit log names; it counts the others.
pub const AUDIT_RECORDS_MAX: usize = 100;
/// Characters of a query that the audit log keeps.
pub const AUDIT_QUERY_CHARACTERS_MAX: usize = 1_024;
/// Audit entries and returns of memories that one process holds before they are written; beyond
/// it, the call that adds one writes them itself.
pub const BUFFERED_MAX: usize = 10_000;
/// Bytes of a regular expression that a caller names.
pub const PATTERN_BYTES_MAX: usize = 1_024;
/// Bytes of the reply of a web search service.
pub const WEB_REPLY_BYTES_MAX: usize = 1 << 20;
/// Seconds that one request to a web search service may take.
pub const WEB_SECONDS_MAX: u64 = 10;
/// Facts of one reply; the query must be narrowed beyond it.
pub const FACTS_MAX: usize = 1_000;
/// Bytes of UTF-8 in the name of a thing or a relation of the knowledge graph.
pub const ENTITY_BYTES_MAX: usize = 512;
/// Rooms of one walk through the graph of places.
pub const TRAVERSED_MAX: usize = 50;
/// Steps of such a walk; a larger number clamps to it.
pub const HOPS_MAX: usize = 10;
/// Tunnels of one owner in a space, or of nobody.
pub const TUNNELS_MAX: usize = 10_000;
/// Bytes of a file that memories are made from; a larger one is left out and counted.
pub const SOURCE_FILE_BYTES_MAX: u64 = 10 << 20;
/// Seconds that a lease on work lasts at most if its holder ends without a word. One that seems to
/// last longer was taken while the clock ran ahead, and is free. Those in use are shorter by
/// minutes, which a clock may be put back unnoticed.
pub const LEASE_SECONDS_MAX: i64 = 900;

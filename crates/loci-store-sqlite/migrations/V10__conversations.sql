PRAGMA user_version = 10;

-- Messages, and the memories that were made from them, were filed in a collection that had the name of their
-- conversation. That name is their thread, and a conversation is no place any more. A memory that was moved elsewhere
-- stays there. The triggers count the places again. A damaged row stays as it is: a change would give it a
-- checksum that holds.
UPDATE memory SET collection = NULL
WHERE collection = thread AND (tier = 'short_term' OR enrichment IS NOT NULL)
    AND checksum IS loci_checksum(
        row, space, id, collection, section, kind, weight, tier, delivery, origin, owner, actor, updated_by,
        by_admin, visibility, supersedes, source, thread, position, enrichment, expires_at, created_at, updated_at,
        deleted_at, forgotten_at, revision, text_checksum, title, tags, summary, links, attributes, citations);

-- With a message goes the memory that was made from it, whether or not that still waits for its enrichment.
DROP INDEX IF EXISTS memory_pending_by_source;
CREATE INDEX memory_by_source ON memory (space, source) WHERE source IS NOT NULL;

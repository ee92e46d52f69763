PRAGMA user_version = 21;

-- With the ends of the facts, so that entities are counted without a look at any row.
DROP INDEX IF EXISTS fact_by_subject;
DROP INDEX IF EXISTS fact_by_object;
CREATE INDEX fact_by_subject ON fact (space, subject, predicate, object, to_last, from_first);
CREATE INDEX fact_by_object ON fact (space, object, to_last, from_first);
CREATE INDEX fact_about_itself ON fact (space, subject, to_last, from_first) WHERE object = subject;

-- So that lists by size read no text.
CREATE INDEX content_by_size ON content (octet_length(text));

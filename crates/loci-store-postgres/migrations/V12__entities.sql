-- With the ends of the facts, so that entities are counted without a look at any row.
DROP INDEX IF EXISTS @fact_by_subject;
DROP INDEX IF EXISTS @fact_by_object;
CREATE INDEX fact_by_subject ON @fact (space, subject) INCLUDE (to_last, from_first);
CREATE INDEX fact_by_object ON @fact (space, object) INCLUDE (to_last, from_first);
CREATE INDEX fact_about_itself ON @fact (space, subject) INCLUDE (to_last, from_first) WHERE object = subject;

-- Who asserted a fact; NULL if that is not known.
ALTER TABLE @fact
    ADD COLUMN author text COLLATE "C";
CREATE INDEX fact_by_author ON @fact (space, author) WHERE author IS NOT NULL;

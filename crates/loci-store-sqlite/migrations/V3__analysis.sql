PRAGMA user_version = 3;

-- The version of the analysis of texts that the terms of passages were made with. When a newer one
-- comes, all are made anew.
CREATE TABLE analysis (
    row         INTEGER PRIMARY KEY CHECK (row = 1),
    version     INTEGER NOT NULL
) STRICT;

-- Before it was noted, there was one.
INSERT INTO analysis (row, version) VALUES (1, 1);

-- What settings of users were before each change has rows, too.
ALTER TABLE @record_version DROP CONSTRAINT record_version_kind_check;
ALTER TABLE @record_version ADD CONSTRAINT record_version_kind_check
    CHECK (kind IN ('fact', 'tunnel', 'setting', 'deletion'));

//! Detects conflict copies, the files that sync clients create for two versions of a file.

/// Words in the names that Dropbox, Nextcloud and ownCloud use.
const COPY_WORDS: &str = "conflicted copy";
/// Text that Syncthing puts between the name and a date.
const SYNC_CONFLICT: &str = ".sync-conflict-";

/// Returns the names that the file may have had before it became a conflict copy; empty if its name
/// is not that of one. Names that people and file managers give to copies, such as `name (1).md`,
/// do not count.
pub(crate) fn originals(name: &str) -> Vec<String> {
    let Some((stem, ending)) = name.rsplit_once('.') else {
        return Vec::new();
    };
    let original = |end: usize| format!("{}.{ending}", &stem[..end]);
    if let Some(start) = stem.rfind(SYNC_CONFLICT)
        && is_sync_conflict(&stem[start + SYNC_CONFLICT.len()..])
    {
        return vec![original(start)];
    }
    let Some(words) = stem.rfind(COPY_WORDS).filter(|_| stem.ends_with(')')) else {
        return Vec::new();
    };
    // The owner in the name may contain brackets too.
    stem[..words]
        .match_indices(" (")
        .map(|(start, _)| original(start))
        .collect()
}

/// Returns true for `20240101-123456-ABCDEFG`: date, time, and the device.
fn is_sync_conflict(text: &str) -> bool {
    let mut parts = text.split('-');
    let mut is_part = |length: usize, is_right: fn(&u8) -> bool| {
        parts
            .next()
            .is_some_and(|part| part.len() == length && part.as_bytes().iter().all(is_right))
    };
    is_part(8, u8::is_ascii_digit)
        && is_part(6, u8::is_ascii_digit)
        && is_part(7, u8::is_ascii_alphanumeric)
        && parts.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_told_by_their_names() {
        let rows: [(&str, &[&str]); 14] = [
            ("name (Ann's conflicted copy 2024-01-02).md", &["name.md"]),
            (
                "name (Ann's conflicted copy 2024-01-02 (1)).md",
                &["name.md"],
            ),
            ("name (conflicted copy).md", &["name.md"]),
            ("name (conflicted copy 2020-01-02 030405).md", &["name.md"]),
            (
                "a (b) (PC (new)'s conflicted copy 2024-01-02).md",
                &["a.md", "a (b).md", "a (b) (PC.md"],
            ),
            (
                "name.sync-conflict-20240101-123456-ABCDEFG.md",
                &["name.md"],
            ),
            (
                "name.sync-conflict-20240101-123456-ABCDEFG.sync-conflict-20240102-123456-ABCDEFG.md",
                &["name.sync-conflict-20240101-123456-ABCDEFG.md"],
            ),
            ("name.sync-conflict-2024-123456-ABCDEFG.md", &[]),
            ("name.sync-conflict-20240101-123456-ABCDEFG-x.md", &[]),
            ("my conflicted copy.md", &[]),
            ("name (1).md", &[]),
            ("name 2.md", &[]),
            ("Copy of name.md", &[]),
            ("no ending", &[]),
        ];
        for (name, expected) in rows {
            assert_eq!(originals(name), expected, "{name:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn every_name_is_looked_at(name in "[a(). 日0-]{0,12}(\\.sync-conflict-| \\(conflicted copy)?[a(). 日0-]{0,24}\\)?(\\.md)?") {
            let _ = originals(&name);
        }
    }
}

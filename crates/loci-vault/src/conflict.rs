//! Detects other versions of a note, the files that sync clients create when two machines changed
//! one.

use crate::slug::folded;

/// Where a part that a client adds to a name may start.
const SEPARATORS: [char; 9] = [' ', '(', '（', '[', '.', '_', '-', '~', '@'];

/// Stems of the word for a conflict in the languages of the clients, in lower case.
const CONFLICT: [&str; 22] = [
    "conflict",
    "conflit",
    "konflik",
    "ristiriita",
    "motstrid",
    "bercanggah",
    "çakış",
    "xung đột",
    "sprzeczn",
    "ütköző",
    "kolizn",
    "конфликт",
    "конфлікт",
    "σύγκρουσ",
    "競合",
    "衝突",
    "冲突",
    "충돌",
    "ขัดแย้ง",
    "تعارض",
    "متعارض",
    "מתנגש",
];

/// Stems of the word for a copy or a version, in lower case.
const COPY: [&str; 24] = [
    "copy",
    "copie",
    "copia",
    "cópia",
    "còpia",
    "kopi",
    "kópia",
    "exemplaar",
    "versi",
    "verzi",
    "version",
    "másolat",
    "kopya",
    "bản sao",
    "salinan",
    "копи",
    "копі",
    "αντίγραφ",
    "コピー",
    "副本",
    "複本",
    "사본",
    "สำเนา",
    "نسخة",
];

/// The words that Dropbox writes in brackets where two names or two kinds of sync disagree, in
/// lower case.
const KINDS: [&str; 6] = [
    "conflicted",
    "case conflict",
    "selective sync conflict",
    "unicode encoding conflict",
    "white space conflict",
    "whitespace conflict",
];

/// The digits of a day without separators; a time of day may follow them.
const DAY_DIGITS: usize = 8;
/// The longest number that a client appends to a name.
const NUMBER_DIGITS_MAX: usize = 3;

/// Returns the names that the file may have had before it became a conflict copy; empty if its name
/// is not that of one. Names that people and file managers give to copies too, e.g. `name (1).md`,
/// do not count.
pub(crate) fn originals(name: &str) -> Vec<String> {
    cut(name, is_conflict)
}

/// Returns the names of notes that the file may be another version of, where only the texts can
/// tell: clients write a number, the name of a machine or another word, as people do.
pub(crate) fn possible_originals(name: &str) -> Vec<String> {
    cut(name, |end| !is_conflict(end) && may_be_version(end))
}

/// Returns true if the file is a conflict copy of a note although it does not end as a note does:
/// `note.md.conflict1`, the form of rclone.
pub(crate) fn is_beside_note(name: &str) -> bool {
    let folded = folded(name);
    folded
        .rfind(".md.")
        .is_some_and(|end| end > 0 && is_word_of_rclone(&folded[end + 3..]))
}

/// Returns the name without each of its ends for which `is_end` is true, in order and with its
/// extension.
fn cut(name: &str, is_end: impl Fn(&str) -> bool) -> Vec<String> {
    let Some((stem, ending)) = name.rsplit_once('.') else {
        return Vec::new();
    };
    let mut found: Vec<String> = Vec::new();
    for (start, _) in stem.match_indices(SEPARATORS) {
        let original = stem[..start].trim_end();
        if original.is_empty() || !is_end(&stem[start..]) {
            continue;
        }
        let original = format!("{original}.{ending}");
        if !found.contains(&original) {
            found.push(original);
        }
    }
    found
}

/// True if only a sync client or a merge adds this end to a name.
fn is_conflict(end: &str) -> bool {
    let folded = folded(end);
    let inner = bracketed(&folded);
    inner.is_some_and(is_remark_of_client)
        || is_of_syncthing(&folded)
        || is_word_of_rclone(&folded)
        // ownCloud and Nextcloud of old.
        || folded.strip_prefix("_conflict-").is_some_and(has_day)
        || is_of_synology(&folded)
        || is_side_of_merge(end)
}

/// True if the texts have to tell whether a file with this end of its name is another version.
fn may_be_version(end: &str) -> bool {
    let folded = folded(end);
    let is_number = |text: &str| {
        (1..=NUMBER_DIGITS_MAX).contains(&text.len()) && text.bytes().all(|it| it.is_ascii_digit())
    };
    let inner = bracketed(&folded);
    // iCloud, Google Drive, OneDrive on the web.
    is_number(inner.unwrap_or_else(|| folded.trim_start_matches([' ', '_'])))
        // OneDrive: the name of the machine.
        || folded.starts_with('-')
        || inner.is_some_and(|inner| inner.starts_with("from "))
        // remotely-save, git-annex.
        || folded == ".dup"
        || folded.starts_with(".variant-")
        || has_any(&folded, &CONFLICT)
}

/// Returns what is in the brackets that the whole end of a name is, without a number after them.
fn bracketed(end: &str) -> Option<&str> {
    let end = end.trim_start();
    let numbered = end.trim_end_matches(|it: char| it.is_ascii_digit());
    let end = if numbered.len() < end.len() && numbered.ends_with(' ') {
        numbered.trim_end()
    } else {
        end
    };
    [('(', ')'), ('（', '）'), ('[', ']')]
        .into_iter()
        .find_map(|(open, close)| end.strip_prefix(open)?.strip_suffix(close))
}

/// True for `Ann's conflicted copy 2024-01-02`, `SFConflict ann@x.org 2024-01-02-03-04-05`, in any
/// language.
fn is_remark_of_client(inner: &str) -> bool {
    let kind = inner.trim_end_matches(|it: char| it.is_ascii_digit() || it == ' ');
    KINDS.contains(&kind) || has_any(inner, &CONFLICT) && (has_any(inner, &COPY) || has_day(inner))
}

/// True for `.sync-conflict-20240101-123456-ABCDEFG`: date, time, and the device.
fn is_of_syncthing(end: &str) -> bool {
    let Some(end) = end.strip_prefix(".sync-conflict-") else {
        return false;
    };
    let mut parts = end.split('-');
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

/// True for `_DiskStation_Jan-02-0304-2024_Conflict`: the machine, the moment, and a word that ends
/// so.
fn is_of_synology(end: &str) -> bool {
    let mut parts = end.rsplit('_');
    parts.next().is_some_and(|word| word.ends_with("conflict"))
        && parts.next().is_some_and(|moment| {
            let lengths = moment.split('-').map(str::len);
            lengths.eq([3, 2, 4, 4])
        })
}

/// True for `.conflict1` of rclone and `..path1` of its older versions, and for `.Conflict` of
/// Resilio.
fn is_word_of_rclone(end: &str) -> bool {
    let word = end.trim_end_matches(|it: char| it.is_ascii_digit());
    matches!(word, ".conflict" | ".conflicted") || matches!(end, "..path1" | "..path2")
}

/// True for `_REMOTE_4711`, which a merge tool of git leaves when it is interrupted.
fn is_side_of_merge(end: &str) -> bool {
    let sides = ["_BACKUP_", "_BASE_", "_LOCAL_", "_REMOTE_"];
    let number = sides.into_iter().find_map(|side| end.strip_prefix(side));
    number.is_some_and(|it| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit()))
}

fn has_any(text: &str, stems: &[&str]) -> bool {
    stems.iter().any(|stem| text.contains(stem))
}

/// True if a day is in the text: `2024-01-02`, `02.01.2024`, `20240102`. Two years are no such
/// date, because people write about conflicts.
fn has_day(text: &str) -> bool {
    let numbers = text.split(|it: char| !it.is_ascii_digit());
    let lengths: Vec<usize> = numbers.map(str::len).collect();
    lengths.iter().any(|length| *length >= DAY_DIGITS)
        || lengths
            .windows(3)
            .any(|three| matches!(three, [4, 2, 2] | [2, 2, 4]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_told_by_their_names() {
        let copies = [
            ("name (Ann's conflicted copy 2024-01-02).md", "name.md"),
            ("name (Ann's conflicted copy 2024-01-02 (1)).md", "name.md"),
            ("name (conflicted copy).md", "name.md"),
            ("name (conflicted copy) 2.md", "name.md"),
            ("name (conflicted copy 2020-01-02 030405).md", "name.md"),
            ("name (Conflicted copy Tower-9 202401021203).md", "name.md"),
            (
                "name (konfliktbehaftete Kopie von Bo 2024-01-02).md",
                "name.md",
            ),
            ("name (Copie en conflit de Bo 2024-01-02).md", "name.md"),
            ("name (Copia in conflitto di Bo 2024-01-02).md", "name.md"),
            // As macOS decomposes it.
            (
                "name (Co\u{301}pia em conflito de Bo 2024-01-02).md",
                "name.md",
            ),
            (
                "name (kopia powodująca konflikt Bo 2024-01-02).md",
                "name.md",
            ),
            (
                "name (конфликтующая копия с компьютера Bo 2024-01-02).md",
                "name.md",
            ),
            ("name (Bo の競合コピー 2024-01-02).md", "name.md"),
            ("name (Bo 的冲突副本 2024-01-02).md", "name.md"),
            ("name（Bo 的衝突複本 2024-01-02）.md", "name.md"),
            ("name (Bo의 충돌 복사본 2024-01-02).md", "name.md"),
            (
                "name (SFConflict bo@example.org 2024-01-02-03-04-05).md",
                "name.md",
            ),
            ("name (conflict 2024-01-02).md", "name.md"),
            ("name (Selective Sync Conflict).md", "name.md"),
            ("name (Case Conflict 1).md", "name.md"),
            ("name [conflicted].md", "name.md"),
            ("name_conflict-20240102-030405.md", "name.md"),
            ("name_DiskStation_Jan-02-0304-2024_Conflict.md", "name.md"),
            ("name_Tower_Jan-02-0304-2024_CaseConflict.md", "name.md"),
            ("name.Conflict.md", "name.md"),
            ("name.conflict2.md", "name.md"),
            ("name..path1.md", "name.md"),
            ("name_REMOTE_4711.md", "name.md"),
            ("name.sync-conflict-20240101-123456-ABCDEFG.md", "name.md"),
            (
                "name.sync-conflict-20240101-123456-ABCDEFG.sync-conflict-20240102-123456-ABCDEFG.md",
                "name.sync-conflict-20240101-123456-ABCDEFG.md",
            ),
            (
                "a (b) (PC (new)'s conflicted copy 2024-01-02).md",
                "a (b).md",
            ),
        ];
        for (name, original) in copies {
            let found = originals(name);
            assert!(found.iter().any(|it| it == original), "{name:?}: {found:?}");
        }
    }

    #[test]
    fn other_names_are_no_copies_and_some_may_be_other_versions() {
        let rows: [(&str, &[&str]); 21] = [
            ("name (1).md", &["name.md"]),
            ("name(12).md", &["name.md"]),
            ("name 2.md", &["name.md"]),
            ("name_3.md", &["name.md"]),
            ("name-LAPTOP-7K2.md", &["name.md", "name-LAPTOP.md"]),
            ("name-Bo's MacBook.md", &["name.md"]),
            ("name (from Tower).md", &["name.md"]),
            ("name.dup.md", &["name.md"]),
            ("name (Konflikt).md", &["name.md"]),
            ("Ireland (armed conflict).md", &["Ireland.md"]),
            ("Ireland (conflict 1919-1921).md", &["Ireland.md"]),
            ("Land_Armed_1919_1921_Conflict.md", &["Land.md"]),
            ("name 2024.md", &[]),
            ("name of the year.md", &[]),
            ("my conflicted copy.md", &["my.md"]),
            ("name.sync-conflict-2024-123456-ABCDEFG.md", &["name.md"]),
            ("name_LOCAL_x.md", &[]),
            ("Copy of name.md", &[]),
            (" (1).md", &[]),
            ("no ending", &[]),
            ("", &[]),
        ];
        for (name, expected) in rows {
            let found = possible_originals(name);
            let has = |original: &&&str| found.iter().any(|it| it == **original);
            assert_eq!(
                expected.iter().filter(has).count(),
                expected.len(),
                "{name:?}: {found:?}"
            );
            assert_eq!(found.is_empty(), expected.is_empty(), "{name:?}: {found:?}");
            assert_eq!(originals(name), [""; 0], "{name:?}");
        }
    }

    #[test]
    fn a_copy_may_end_otherwise_than_a_note() {
        for (name, expected) in [
            ("name.md.conflict1", true),
            ("name.MD.Conflict12", true),
            ("name.md..path2", true),
            ("name.md.orig", false),
            ("name.txt.conflict1", false),
            (".md.conflict1", false),
        ] {
            assert_eq!(is_beside_note(name), expected, "{name:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn every_name_is_looked_at(name in "[a(). 日0-]{0,12}(\\.sync-conflict-| \\(conflicted copy|_conflict-|（)?[a(). 日0-]{0,24}[)）]?( 2)?(\\.md)?(\\.conflict1)?") {
            for original in originals(&name).into_iter().chain(possible_originals(&name)) {
                proptest::prop_assert!(original.len() < name.len());
            }
            let _ = is_beside_note(&name);
        }
    }
}

//! Folders that are named after the path of another one.

use std::fs;
use std::path::PathBuf;

/// The number of folders that are looked into for the one that a name stands for.
const FOLDERS_MAX: usize = 2_000;

/// Returns the folder whose path becomes that name if each sign but letters and digits is replaced by a
/// hyphen, as Claude Code does, and Cursor without the first one; `None` unless exactly one folder has such
/// a path.
pub fn folder_named(name: &str) -> Option<PathBuf> {
    let name = hyphened(name);
    let name = name.strip_prefix('-').unwrap_or(&name);
    if name.is_empty() {
        return None;
    }
    let mut found = Vec::new();
    let mut waiting = vec![(PathBuf::from("/"), name)];
    let mut looked = 0;
    while let Some((folder, rest)) = waiting.pop() {
        if rest.is_empty() {
            found.push(folder);
            continue;
        }
        looked += 1;
        if looked > FOLDERS_MAX || found.len() > 1 {
            return None;
        }
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let signs = hyphened(&entry.file_name().to_string_lossy());
            let Some(after) = rest.strip_prefix(&*signs) else {
                continue;
            };
            let is_whole = after.is_empty() || after.starts_with('-');
            if is_whole && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                waiting.push((entry.path(), after.strip_prefix('-').unwrap_or(after)));
            }
        }
    }
    match &found[..] {
        [only] => Some(only.clone()),
        _ => None,
    }
}

fn hyphened(name: &str) -> String {
    let sign = |sign: char| {
        if sign.is_ascii_alphanumeric() {
            sign
        } else {
            '-'
        }
    };
    name.chars().map(sign).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_name_stands_for_the_folder_that_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let name_of = |path: &Path| hyphened(path.to_str().unwrap());
        let shop = root.join("my-shop.app/src_one");
        fs::create_dir_all(&shop).unwrap();
        fs::create_dir_all(root.join("my/shop")).unwrap();
        assert_eq!(folder_named(&name_of(&shop)), Some(shop));
        let other = root.join("my/shop/other");
        assert_eq!(folder_named(&name_of(&other)), None);
        // Either could be meant.
        fs::create_dir_all(root.join("a-b")).unwrap();
        fs::create_dir_all(root.join("a/b")).unwrap();
        assert_eq!(folder_named(&name_of(&root.join("a-b"))), None);
        assert_eq!(folder_named("no-such-path"), None);
        assert_eq!(folder_named("-"), None);
        assert_eq!(
            folder_named(name_of(&root).trim_start_matches('-')),
            Some(root)
        );
    }
}

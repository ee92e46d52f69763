//! Paths as texts that mean the same folder on each system, because transcripts and files of git
//! name folders as the system wrote them on which they were made.

use std::path::{Path, PathBuf};

/// The folder at which WSL has the drives of Windows.
const DRIVES: &str = "/mnt/";
/// The names of the server at which Windows has the files of WSL.
const WSL: [&str; 2] = ["//wsl.localhost/", "//wsl$/"];
/// Folders of macOS that are links to those below `/private`.
const PRIVATE: [&str; 3] = ["/private/tmp", "/private/var", "/private/etc"];

/// Returns true if a text is an absolute path of any system, or one in the home folder (`~/…`).
pub fn is_absolute(text: &str) -> bool {
    let is_home = text == "~" || text.starts_with("~/") || text.starts_with("~\\");
    is_home || text.starts_with(['/', '\\']) || has_drive(text)
}

/// Returns the path of this system for a path of any: of WSL for one of Windows, the home folder
/// for `~`. Nothing says that it exists.
pub fn native(path: &Path) -> PathBuf {
    let Some(text) = path.to_str() else {
        return path.to_owned();
    };
    if let Some(below) = text.strip_prefix('~')
        && let Some(home) = std::env::home_dir()
        && (below.is_empty() || below.starts_with(['/', '\\']))
    {
        return home.join(slashed(below).trim_start_matches('/'));
    }
    if cfg!(windows) {
        return in_windows(text);
    }
    if text.starts_with('/') && !text.starts_with("//") {
        return path.to_owned();
    }
    PathBuf::from(in_wsl(text))
}

/// Returns the text by which a path is known: with `/` between its parts, without `.`, `..`, empty
/// parts and a `/` at the end. Two names of one folder, e.g. `C:\src` and `/mnt/c/src`, are the
/// same text, in lower case where Windows decides, which tells no letters by their case.
pub fn key(path: &Path) -> String {
    let text = in_wsl(&path.to_string_lossy());
    let is_share = text.starts_with("//");
    let mut parts: Vec<&str> = Vec::new();
    for part in text.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let key = format!("{}{}", if is_share { "//" } else { "/" }, parts.join("/"));
    let is_private = |folder: &str| {
        let below = key.strip_prefix(folder);
        below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
    };
    if PRIVATE.iter().any(|folder| is_private(folder)) {
        return key["/private".len()..].to_owned();
    }
    let drive = key.strip_prefix(DRIVES).map(str::as_bytes);
    let is_of_windows = matches!(drive, Some([b'a'..=b'z' | b'A'..=b'Z'] | [_, b'/', ..]));
    if is_of_windows || is_share {
        key.to_lowercase()
    } else {
        key
    }
}

/// A path of Windows as WSL has it, or any other as it is.
fn in_wsl(text: &str) -> String {
    let is_of_windows = has_drive(text) || text.starts_with('\\') || text.starts_with("//");
    if !is_of_windows {
        return with_drive_of_shell(text);
    }
    let text = slashed(text);
    let text = match text.strip_prefix("//?/") {
        Some(verbatim) => verbatim
            .strip_prefix("UNC/")
            .map_or_else(|| verbatim.to_owned(), |share| format!("//{share}")),
        None => text,
    };
    let lower = text.to_ascii_lowercase();
    if let Some(server) = WSL.iter().find(|server| lower.starts_with(**server)) {
        let below = &text[server.len()..];
        return below
            .split_once('/')
            .map_or_else(|| "/".to_owned(), |(_, path)| format!("/{path}"));
    }
    match text.split_once(':') {
        Some((drive, below)) if has_drive(&text) => {
            format!("{DRIVES}{}{below}", drive.to_ascii_lowercase())
        }
        _ => text,
    }
}

/// A path as the shells of Git and Cygwin write it, with its drive as WSL has it.
fn with_drive_of_shell(text: &str) -> String {
    let below = text
        .strip_prefix("/cygdrive/")
        .or_else(|| text.strip_prefix('/'));
    match below.and_then(|below| below.split_once('/')) {
        Some((drive, path))
            if drive.len() == 1
                && drive.starts_with(|letter: char| letter.is_ascii_alphabetic())
                && (text.starts_with("/cygdrive/")
                    || path.to_ascii_lowercase().starts_with("users/")) =>
        {
            format!("{DRIVES}{}/{path}", drive.to_ascii_lowercase())
        }
        _ => text.to_owned(),
    }
}

/// A path of WSL or of a shell as Windows has it.
fn in_windows(text: &str) -> PathBuf {
    let text = with_drive_of_shell(text);
    let below = text.strip_prefix(DRIVES).unwrap_or_default();
    let (drive, path) = below.split_once('/').unwrap_or((below, ""));
    if drive.len() == 1 && drive.starts_with(|letter: char| letter.is_ascii_alphabetic()) {
        return PathBuf::from(format!("{drive}:/{path}"));
    }
    PathBuf::from(text)
}

fn slashed(text: &str) -> String {
    text.replace('\\', "/")
}

fn has_drive(text: &str) -> bool {
    let bytes = text.as_bytes();
    matches!(bytes, [letter, b':', b'/' | b'\\', ..] if letter.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_folder_has_one_key() {
        for (path, expected) in [
            ("/srv/tea/", "/srv/tea"),
            ("/srv//tea/./leaf/..", "/srv/tea"),
            ("/", "/"),
            ("C:\\Users\\Bo\\Tea", "/mnt/c/users/bo/tea"),
            ("c:/users/bo/tea/", "/mnt/c/users/bo/tea"),
            ("/mnt/c/users/Bo/tea", "/mnt/c/users/bo/tea"),
            ("/c/users/Bo/tea", "/mnt/c/users/bo/tea"),
            ("/cygdrive/d/tea", "/mnt/d/tea"),
            ("/c/tea", "/c/tea"),
            ("\\\\?\\D:\\tea", "/mnt/d/tea"),
            ("\\\\?\\UNC\\Nas\\tea", "//nas/tea"),
            ("\\\\nas\\Tea", "//nas/tea"),
            ("\\\\wsl$\\Debian\\srv\\Tea", "/srv/Tea"),
            ("\\\\WSL.localhost\\Debian\\srv\\Tea", "/srv/Tea"),
            ("//wsl.localhost/Debian", "/"),
            ("/private/tmp/tea", "/tmp/tea"),
            ("/private/tmpx", "/private/tmpx"),
            ("/mnt/data/Tea", "/mnt/data/Tea"),
        ] {
            assert_eq!(key(Path::new(path)), expected, "{path}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_path_of_windows_is_looked_for_where_wsl_has_it() {
        for (path, expected) in [
            ("/srv/Tea/", "/srv/Tea/"),
            ("C:\\Users\\Bo", "/mnt/c/Users/Bo"),
            ("\\\\wsl$\\Debian\\srv\\Tea", "/srv/Tea"),
        ] {
            assert_eq!(native(Path::new(path)), Path::new(expected), "{path}");
        }
        let home = std::env::home_dir().unwrap();
        assert_eq!(native(Path::new("~/tea")), home.join("tea"));
        assert_eq!(native(Path::new("~bo/tea")), Path::new("~bo/tea"));
    }

    #[test]
    fn absolute_paths_of_all_systems_are_known() {
        for (path, expected) in [
            ("/tea", true),
            ("~", true),
            ("~/tea", true),
            ("C:\\tea", true),
            ("d:/tea", true),
            ("\\\\nas\\tea", true),
            ("tea", false),
            ("./tea", false),
            ("C:tea", false),
            ("~tea", false),
            ("", false),
        ] {
            assert_eq!(is_absolute(path), expected, "{path}");
        }
    }
}

//! The files of the repository as git sees them, in memory.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// A file of the repository.
pub struct File {
    /// Its size in bytes.
    pub bytes: u64,
    /// Its text; `None` if it is not UTF-8.
    pub text: Option<String>,
}

/// All files that git tracks or would track, by their path relative to the root, with `/` between
/// the parts.
#[derive(Default)]
pub struct Tree {
    files: BTreeMap<String, File>,
}

impl Tree {
    /// Reads the files under `root`. Untracked files count unless git ignores them, so that a fault
    /// shows before the commit; deleted ones do not.
    ///
    /// # Errors
    /// If git cannot list the files, or one cannot be read.
    pub fn load(root: &Path) -> Result<Self> {
        let output = Command::new("git")
            .args([
                "ls-files",
                "-z",
                "--cached",
                "--others",
                "--exclude-standard",
            ])
            .current_dir(root)
            .output()
            .context("cannot run git")?;
        ensure!(
            output.status.success(),
            "git ls-files: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
        let listing =
            String::from_utf8(output.stdout).context("a file name is not UTF-8: rename it")?;
        let mut files = BTreeMap::new();
        for path in listing.split_terminator('\0') {
            let location = root.join(path);
            if !location.is_file() {
                continue;
            }
            let content =
                std::fs::read(&location).with_context(|| format!("cannot read {path}"))?;
            let bytes = content.len() as u64;
            files.insert(
                path.to_owned(),
                File {
                    bytes,
                    text: String::from_utf8(content).ok(),
                },
            );
        }
        Ok(Tree { files })
    }

    /// The number of files.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Returns whether `path` is a file, or a folder that holds one.
    pub fn holds(&self, path: &str) -> bool {
        path.is_empty()
            || self.files.contains_key(path)
            || self.under(&format!("{path}/")).next().is_some()
    }

    /// The text of the file at `path`.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path)?.text.as_deref()
    }

    /// All files with their paths, in the order of the paths.
    pub fn files(&self) -> impl Iterator<Item = (&str, &File)> {
        self.files.iter().map(|(path, file)| (path.as_str(), file))
    }

    /// The files whose names end in `.` and `extension`, with their texts; one that is not UTF-8
    /// counts as empty.
    pub fn texts<'a>(&'a self, extension: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        let has_extension = move |path: &str| {
            path.rsplit_once('.')
                .is_some_and(|(_, ending)| ending == extension)
        };
        let files = self.files().filter(move |(path, _)| has_extension(path));
        files.map(|(path, file)| (path, file.text.as_deref().unwrap_or_default()))
    }

    /// The paths that start with `prefix`, in order.
    pub fn under<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = &'a str> {
        self.files
            .range(prefix.to_owned()..)
            .map(|(path, _)| path.as_str())
            .take_while(move |path| path.starts_with(prefix))
    }
}

#[cfg(test)]
impl Tree {
    /// Adds a file.
    pub fn insert(&mut self, path: &str, text: &str) {
        self.files.insert(
            path.to_owned(),
            File {
                bytes: text.len() as u64,
                text: Some(text.to_owned()),
            },
        );
    }
}

#[cfg(test)]
impl<const N: usize> From<[(&str, &str); N]> for Tree {
    fn from(files: [(&str, &str); N]) -> Self {
        let mut tree = Tree::default();
        for (path, text) in files {
            tree.insert(path, text);
        }
        tree
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn load_lists_what_git_would_track() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let root = folder.path();
        let status = Command::new("git")
            .args(["init", "--quiet"])
            .current_dir(root)
            .status()?;
        ensure!(status.success(), "git init failed");
        std::fs::create_dir(root.join("docs"))?;
        std::fs::write(root.join(".gitignore"), "ignored\n")?;
        std::fs::write(root.join("ignored"), "")?;
        std::fs::write(root.join("docs/words.md"), "words")?;
        std::fs::write(root.join("picture"), [0xff, 0xfe])?;

        let tree = Tree::load(root)?;

        let paths: Vec<&str> = tree.files().map(|(path, _)| path).collect();
        assert_eq!(paths, [".gitignore", "docs/words.md", "picture"]);
        assert_eq!(tree.text("docs/words.md"), Some("words"));
        assert_eq!(tree.text("picture"), None);
        assert!(tree.holds("docs") && tree.holds("picture") && !tree.holds("doc"));
        Ok(())
    }

    #[test]
    fn load_of_a_missing_folder_is_an_error() -> Result<()> {
        let folder = tempfile::tempdir()?;
        assert!(Tree::load(&folder.path().join("missing")).is_err());
        Ok(())
    }
}

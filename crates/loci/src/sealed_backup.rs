//! The form of a backup of an encrypted store: a line that says so, a line with the wrapped key, by
//! which a person's passphrase, key file or recovery key opens it on any machine, and the archive,
//! sealed.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, Write};
use std::path::Path;

use loci_keys::{DataKey, KeyFile, Keys, open_stream, seal_stream};

use crate::exit::{Exit, Failure};

/// The first line.
const MAGIC: &str = "loci sealed backup 1\n";
/// The largest line with a wrapped key, in bytes.
const KEY_BYTES_MAX: u64 = 64 << 10;
/// The purpose of the subkey.
const PURPOSE: &str = "backup";

/// Returns whether a file with this beginning is such a backup.
pub fn begins_sealed(head: &[u8]) -> bool {
    head.starts_with(MAGIC.as_bytes())
}

/// Writes an archive in this form, durably.
///
/// # Errors
/// The files cannot be read or written.
pub fn seal(key: &DataKey, file: &KeyFile, archive: &mut File, to: &mut File) -> io::Result<()> {
    archive.rewind()?;
    to.write_all(MAGIC.as_bytes())?;
    to.write_all(serde_json::to_string(file)?.as_bytes())?;
    to.write_all(b"\n")?;
    seal_stream(&key.subkey(PURPOSE), archive, to)?;
    to.sync_all()
}

/// Opens a backup in this form into a file without a name in the folder, which takes the notes in it
/// and a database that stays encrypted. Returns the archive, and the file of the key.
///
/// # Errors
/// [`Exit::Key`] if no way leads to the key; [`Exit::Usage`] if the backup is damaged or the folder
/// cannot be written.
pub fn open(
    sealed: File,
    path: &Path,
    keys: &Keys,
    folder: &Path,
) -> Result<(File, KeyFile), Failure> {
    let shown = path.display();
    let refused = |problem: &dyn std::fmt::Display| {
        Failure::new(Exit::Usage, format!("{shown} cannot be opened: {problem}"))
    };
    let mut sealed = BufReader::new(sealed);
    let mut line = String::new();
    let read = sealed
        .read_line(&mut line)
        .and_then(|_| {
            line.clear();
            (&mut sealed).take(KEY_BYTES_MAX).read_line(&mut line)
        })
        .and_then(|_| KeyFile::parse(&line));
    let file = read.map_err(|error| refused(&error))?;
    let key = keys
        .find(&file, path)
        .map_err(|error| Failure::new(Exit::Key, error.to_string()))?;
    let mut archive = tempfile::tempfile_in(folder).map_err(|error| refused(&error))?;
    open_stream(&key.subkey(PURPOSE), &mut sealed, &mut archive)
        .and_then(|()| archive.rewind())
        .map_err(|error| refused(&error))?;
    Ok((archive, file))
}

#[cfg(test)]
mod tests {
    use loci_keys::{KeySources, RecoveryKey, Secret};

    use super::*;

    #[test]
    fn a_sealed_backup_opens_with_its_key_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (key, recovery) = (DataKey::random().unwrap(), RecoveryKey::random().unwrap());
        let mut file = KeyFile::of(&key);
        file.add(&key, &Secret::Recovery(recovery.clone())).unwrap();
        let mut archive = tempfile::tempfile().unwrap();
        archive.write_all(b"what is in the archive").unwrap();
        let path = folder.path().join("backup");
        seal(&key, &file, &mut archive, &mut File::create(&path).unwrap()).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert!(begins_sealed(&bytes));
        assert!(!bytes.windows(7).any(|part| part == b"archive"));
        let keys = |recovery: &RecoveryKey| {
            Keys::new(KeySources {
                recovery: Some(recovery.letters()),
                ..KeySources::default()
            })
        };
        let open = |keys: &Keys| open(File::open(&path).unwrap(), &path, keys, folder.path());
        let (mut opened, with) = open(&keys(&recovery)).unwrap();
        let mut text = String::new();
        opened.read_to_string(&mut text).unwrap();
        assert_eq!((text.as_str(), with), ("what is in the archive", file));
        let refused = open(&keys(&RecoveryKey::random().unwrap())).unwrap_err();
        assert_eq!(refused.exit, Exit::Key);
        let mut cut = bytes.clone();
        cut.truncate(bytes.len() - 1);
        std::fs::write(&path, cut).unwrap();
        assert_eq!(open(&keys(&recovery)).unwrap_err().exit, Exit::Usage);
    }
}

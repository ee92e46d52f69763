//! Writes the notes of a folder again, sealed or in the clear.

use std::io::{self, Read as _};

use loci_core::{Error, NoteFolder as _, Result};

use crate::VaultFolder;
use crate::folder::parts;
use crate::read::{self, FILE_BYTES_MAX, reason};
use crate::seal::{HEAD_BYTES, MORE_BYTES_MAX, is_sealed, is_written};
use crate::write::WriteRefusal;

/// The notes of a folder after all were written as the folder has them.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Resealed {
    /// The number of files that were written again.
    pub written: usize,
    /// The number of files that were as they should be.
    pub kept: usize,
    /// Files that stay as they were, with the reason.
    pub left: Vec<(String, String)>,
}

impl VaultFolder {
    /// Writes each note that is in the clear sealed, or each sealed one in the clear, as the folder
    /// writes new ones. No note changes by that. Cut off at any instant, each note is whole, in one
    /// form or the other, and a second run does the rest.
    ///
    /// # Errors
    /// As for [`NoteFolder::scan`](loci_core::NoteFolder::scan), and `unavailable` if the lock of the
    /// folder is not to be had. A file that cannot be read or written is in the result.
    pub fn reseal(&self) -> Result<Resealed> {
        let _lock = self.lock()?;
        let mut resealed = Resealed::default();
        let scan = self.scan()?;
        let skipped = scan.skipped.into_iter();
        resealed.left = skipped.map(|(path, why)| (path, why.message)).collect();
        let unread = scan.unreadable_folders.into_iter();
        resealed
            .left
            .extend(unread.map(|path| (path, "the folder cannot be read".to_owned())));
        for (path, _) in scan.files {
            match self.reseal_file(&path) {
                Ok(true) => resealed.written += 1,
                Ok(false) => resealed.kept += 1,
                Err(problem) => resealed.left.push((path, problem)),
            }
        }
        Ok(resealed)
    }

    /// Returns the paths of notes that are in the clear.
    ///
    /// # Errors
    /// As for [`VaultFolder::reseal`].
    pub fn in_the_clear(&self) -> Result<Vec<String>> {
        let files = self.scan()?.files.into_iter().map(|(path, _)| path);
        Ok(files
            .filter(|path| self.is_sealed(path).is_ok_and(|is_sealed| !is_sealed))
            .collect())
    }

    fn is_sealed(&self, path: &str) -> Result<bool> {
        let (parents, name) = parts(path)?;
        let read = || {
            let mut head = Vec::new();
            let file = self.site.enter(parents)?.open_file(name)?;
            file.take(HEAD_BYTES).read_to_end(&mut head)?;
            Ok(head)
        };
        let head = read().map_err(|error: io::Error| {
            Error::unavailable(format!("it cannot be read: {}", reason(&error)))
        })?;
        Ok(is_sealed(&head))
    }

    /// Writes a file again if it has the other form; returns whether it had.
    fn reseal_file(&self, path: &str) -> std::result::Result<bool, String> {
        let refused = |error: io::Error| reason(&error);
        if self.is_sealed(path).map_err(|error| error.message)?
            == is_written(self.site.seal.as_ref())
        {
            return Ok(false);
        }
        let (parents, name) = parts(path).map_err(|error| error.message)?;
        let folder = self.site.enter(parents).map_err(refused)?;
        let read = read::bytes(&folder, name).map_err(refused)?;
        let (bytes, metadata) = read.ok_or_else(|| "it is larger than a note may be".to_owned())?;
        if is_sealed(&bytes) {
            return Err(read::unopened_seal().message);
        }
        if bytes.len() as u64 > FILE_BYTES_MAX - MORE_BYTES_MAX {
            return Err("it is larger than a note may be".to_owned());
        }
        let hash = read::hash(&bytes);
        let temporary = &self.site.temporary;
        // The note has not changed, so its time stays.
        let content = (&*bytes, metadata.modified().ok());
        let replaced = temporary.replace_as_of(&folder, name, &hash, content, &metadata);
        self.site.keep_displaced(parents);
        match replaced {
            Ok(_) => Ok(true),
            Err(WriteRefusal::Changed) => Err("another program changes it; try again".to_owned()),
            Err(WriteRefusal::Io(error)) => Err(refused(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;
    use std::sync::Arc;
    use std::time::{Duration, UNIX_EPOCH};

    use loci_core::{
        Clock, CreateOutcome, ErrorCode, FileProblemKind, FileSnapshot, MemoryId, Note, Timestamp,
    };
    use loci_keys::{DataKey, SubKey};

    use super::*;
    use crate::{FileCopy, RestoredFile, Seal};

    struct Noon;

    impl Clock for Noon {
        fn now(&self) -> Timestamp {
            Timestamp::from_microseconds(4_000_000_000_000_000)
        }
    }

    /// A folder of notes that is opened with several keys.
    struct Place(tempfile::TempDir);

    impl Place {
        fn new() -> Self {
            let place = Place(tempfile::tempdir().unwrap());
            fs::create_dir(place.root()).unwrap();
            place
        }

        fn root(&self) -> PathBuf {
            self.0.path().join("notes")
        }

        fn open(&self, seal: Option<Seal>) -> VaultFolder {
            let lock = self.0.path().join("lock");
            VaultFolder::new(self.root(), lock, Arc::new(Noon)).with_seal(seal)
        }

        fn bytes(&self, path: &str) -> Vec<u8> {
            fs::read(self.root().join(path)).unwrap()
        }

        fn put(&self, path: &str, bytes: &[u8]) {
            fs::write(self.root().join(path), bytes).unwrap();
        }
    }

    fn key() -> SubKey {
        DataKey::random().unwrap().subkey("notes")
    }

    fn tea() -> Note {
        Note {
            id: Some(MemoryId::new("019aa3c4-5f0e-7000-8000-000000000001")),
            title: Some("Tea".to_owned()),
            body: "Tea is served at four in the garden.".to_owned(),
            ..Note::default()
        }
    }

    fn create(folder: &VaultFolder, note: &Note) -> (String, FileSnapshot) {
        match folder.create(note, true).unwrap() {
            CreateOutcome::New(path, read) | CreateOutcome::Existing(path, read) => (path, read),
        }
    }

    fn read(folder: &VaultFolder, path: &str) -> FileSnapshot {
        folder.read(path).unwrap().unwrap()
    }

    fn has(bytes: &[u8], word: &str) -> bool {
        bytes
            .windows(word.len())
            .any(|part| part == word.as_bytes())
    }

    #[test]
    fn a_sealed_note_reads_and_changes_as_one_in_the_clear() {
        let (place, key) = (Place::new(), key());
        let folder = place.open(Some(Seal::new(key.clone())));
        let _lock = folder.lock().unwrap();
        let (path, created) = create(&folder, &tea());
        assert_eq!(path, "tea.md");
        for word in ["Tea", "garden", "uid"] {
            assert!(!has(&place.bytes(&path), word), "{word}");
        }
        let there = read(&folder, &path);
        assert_eq!(
            (there.hash, &there.content),
            (created.hash, &created.content)
        );
        assert_eq!(there.content.unwrap().note.body, tea().body);
        // The same note, stored again after a crash, is found by its id.
        assert_eq!(create(&folder, &tea()).0, "tea.md");
        assert_eq!(folder.scan().unwrap().files.len(), 1);
        let changed = Note {
            body: "Coffee is served at five.\n".to_owned(),
            ..tea()
        };
        let rewritten = folder.rewrite(&path, &there.hash, &changed).unwrap();
        assert!(!has(&place.bytes(&path), "Coffee"));
        assert_eq!(read(&folder, &path).hash, rewritten.hash);
        let conflict = folder.rewrite(&path, &there.hash, &tea()).unwrap_err();
        assert_eq!(conflict.code, ErrorCode::Conflict);
        // What another program writes in the clear is a note, and sealed when loci changes it.
        place.put("cake.md", b"Cake at six.\n");
        let cake = read(&folder, "cake.md");
        assert_eq!(folder.in_the_clear().unwrap(), ["cake.md"]);
        let note = Note {
            body: "Cake at seven.\n".to_owned(),
            ..cake.content.unwrap().note
        };
        folder.rewrite("cake.md", &cake.hash, &note).unwrap();
        assert!(!has(&place.bytes("cake.md"), "Cake"));
        assert_eq!(folder.in_the_clear().unwrap(), [""; 0]);
        let names = fs::read_dir(place.root()).unwrap().count();
        assert_eq!(names, 2, "no temporary file is left");
    }

    #[test]
    fn what_the_key_does_not_open_is_a_problem_of_its_note() {
        let (place, key) = (Place::new(), key());
        let folder = place.open(Some(Seal::new(key.clone())));
        let (path, _) = {
            let _lock = folder.lock().unwrap();
            create(&folder, &tea())
        };
        let whole = place.bytes(&path);
        let mut flipped = whole.clone();
        *flipped.last_mut().unwrap() ^= 1;
        let cases = [
            (None, whole.clone()),
            (Some(Seal::new(self::key())), whole.clone()),
            (Some(Seal::new(key.clone())), flipped),
            (
                Some(Seal::new(key.clone())),
                whole[..whole.len() - 9].to_vec(),
            ),
        ];
        for (seal, bytes) in cases {
            place.put(&path, &bytes);
            let folder = place.open(seal);
            let read = read(&folder, &path);
            assert_eq!(read.content, None);
            let problem = read.problem.unwrap();
            assert_eq!(problem.kind, FileProblemKind::Unreadable);
            assert!(problem.message.contains("is sealed"), "{}", problem.message);
            let copied = folder.copy_of(&path, 1 << 20).unwrap_err();
            assert!(copied.message.contains("is sealed"), "{copied:?}");
            let resealed = folder.reseal().unwrap();
            let left = usize::from(folder.site.seal.is_none());
            assert_eq!((resealed.written, resealed.left.len()), (0, left));
            assert_eq!(place.bytes(&path), bytes, "it stays as it is");
        }
        place.put(&path, &whole);
        assert!(read(&folder, &path).content.is_some());
    }

    #[test]
    fn a_folder_is_sealed_and_opened_again_and_no_note_changes() {
        let (place, key) = (Place::new(), key());
        let clear = place.open(None);
        {
            let _lock = clear.lock().unwrap();
            create(&clear, &tea());
        }
        place.put("strange.md", b"\xff\xfe no text\0");
        place.put("empty.md", b"");
        place.put("picture.png", b"not a note");
        let old = UNIX_EPOCH + Duration::from_hours(438_288);
        let tea = fs::File::options()
            .write(true)
            .open(place.root().join("tea.md"));
        tea.unwrap().set_modified(old).unwrap();
        // As large as a file may be, so that a sealed one would be larger.
        place.put("large.md", &vec![b'z'; FILE_BYTES_MAX as usize - 20]);
        let paths = ["empty.md", "strange.md", "tea.md"];
        let before: Vec<_> = paths.iter().map(|path| place.bytes(path)).collect();
        let hashes = |folder: &VaultFolder| paths.map(|path| read(folder, path).hash);
        let known = hashes(&clear);
        let sealing = || place.open(Some(Seal::new(key.clone())));
        let resealed = sealing().reseal().unwrap();
        assert_eq!((resealed.written, resealed.kept), (3, 0));
        assert_eq!(resealed.left.len(), 1);
        assert_eq!(resealed.left[0].0, "large.md");
        fs::remove_file(place.root().join("large.md")).unwrap();
        let modified = fs::metadata(place.root().join("tea.md"))
            .unwrap()
            .modified();
        assert_eq!(modified.unwrap(), old);
        for (path, before) in paths.iter().zip(&before) {
            assert_ne!(&place.bytes(path), before);
        }
        assert_eq!(place.bytes("picture.png"), b"not a note");
        assert_eq!(hashes(&sealing()), known);
        assert_eq!(sealing().reseal().unwrap().kept, 3);
        let opened = place
            .open(Some(Seal::opening(key.clone())))
            .reseal()
            .unwrap();
        assert_eq!((opened.written, opened.kept), (3, 0));
        for (path, before) in paths.iter().zip(&before) {
            assert_eq!(&place.bytes(path), before);
        }
        assert_eq!(clear.reseal().unwrap().kept, 3);
    }

    #[test]
    fn copies_have_the_bytes_of_the_note() {
        let place = Place::new();
        let folder = place.open(Some(Seal::new(key())));
        let _lock = folder.lock().unwrap();
        let copy = FileCopy {
            bytes: b"Tea at four.\n".to_vec(),
            modified_nanoseconds: 1_234_567_890_123_456_789,
        };
        assert_eq!(folder.put_copy("a/tea.md", &copy), Ok(RestoredFile::New));
        assert!(!has(&place.bytes("a/tea.md"), "Tea"));
        let bytes = copy.bytes.len() as u64;
        assert_eq!(folder.copy_of("a/tea.md", bytes), Ok(Some(copy.clone())));
        assert_eq!(
            folder.copy_of("a/tea.md", bytes - 1).unwrap_err().code,
            ErrorCode::TooLarge
        );
        assert_eq!(folder.put_copy("a/tea.md", &copy), Ok(RestoredFile::Same));
        assert_eq!(
            folder.compare_copy("a/tea.md", &copy),
            Ok(RestoredFile::Same)
        );
        let other = FileCopy {
            bytes: b"Tea at five.\n".to_vec(),
            ..copy
        };
        assert_eq!(
            folder.compare_copy("a/tea.md", &other),
            Ok(RestoredFile::Other)
        );
        assert_eq!(folder.put_copy("a/tea.md", &other), Ok(RestoredFile::Other));
    }
}

//! Zip archives, as services hand out what was said there: unpacked into a folder for temporary
//! files, which is removed with the [`UnpackedArchive`].

use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use loci_core::limits::{ZIP_BYTES_MAX, ZIP_ENTRIES_MAX};
use tempfile::TempDir;
use zip::ZipArchive;
use zip::read::ZipFile;
use zip::result::ZipError;

use crate::plain_file::{self, Links};

/// The first bytes of a zip archive, and of one without entries.
const MARKS: [&[u8]; 2] = [b"PK\x03\x04", b"PK\x05\x06"];
/// The ending of the names of zip archives.
const ENDING: &str = "zip";
/// A folder that macOS adds to archives.
const FOLDER_OF_MACOS: &str = "__MACOSX";

/// The files of a zip archive, unpacked into a folder that is removed when this is dropped.
#[derive(Debug)]
pub struct UnpackedArchive {
    folder: TempDir,
    files: Vec<UnpackedFile>,
    passed_over: Vec<String>,
}

/// A file of a zip archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnpackedFile {
    /// Its path in the archive, with `/` as the separator.
    pub name: String,
    /// Its path while it is unpacked. Its size is its own, and its time is that of the archive.
    pub path: PathBuf,
}

/// Returns true if a path is that of a zip archive, by its ending or by its first bytes. A file
/// that cannot be read is no archive.
pub fn is_zip(path: &Path) -> bool {
    let is_named_so = path
        .extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case(ENDING));
    let begins_so = || {
        let mut start = [0; 4];
        let file = plain_file::open(path, Links::Followed);
        file.and_then(|mut file| file.read_exact(&mut start))
            .is_ok_and(|()| MARKS.contains(&&start[..]))
    };
    path.is_file() && (is_named_so || begins_so())
}

impl UnpackedArchive {
    /// Unpacks the files of a zip archive whose name in it `wants`. Links, archives in the archive
    /// and files that macOS adds are passed over, as are the files that `wants` refuses.
    ///
    /// # Errors
    /// `InvalidData` if the archive is damaged, encrypted or packed in a way that is unknown, or if
    /// a name leads out of the folder; `FileTooLarge` beyond [`ZIP_ENTRIES_MAX`] entries or
    /// [`ZIP_BYTES_MAX`] bytes in all unpacked files; whatever the system refuses. Then nothing
    /// stays unpacked.
    pub fn new(archive: &Path, wants: impl Fn(&str) -> bool) -> io::Result<Self> {
        UnpackedArchive::within(archive, wants, Inner::PassedOver, ZIP_BYTES_MAX)
    }

    /// Unpacks as [`new`](UnpackedArchive::new) does, and the archives in the archive in the same way, under
    /// their names; archives in these are passed over.
    ///
    /// # Errors
    /// As for [`new`](UnpackedArchive::new); the limits are for all archives together.
    pub fn with_inner(archive: &Path, wants: impl Fn(&str) -> bool) -> io::Result<Self> {
        UnpackedArchive::within(archive, wants, Inner::Unpacked, ZIP_BYTES_MAX)
    }

    fn within(
        archive: &Path,
        wants: impl Fn(&str) -> bool,
        inner: Inner,
        bytes_max: u64,
    ) -> io::Result<Self> {
        let file = plain_file::open(archive, Links::Followed)?;
        let modified = file.metadata()?.modified()?;
        let archive = ZipArchive::new(BufReader::new(file)).map_err(damaged)?;
        let mut unpacked = UnpackedArchive {
            folder: tempfile::Builder::new().prefix("loci-zip-").tempdir()?,
            files: Vec::new(),
            passed_over: Vec::new(),
        };
        let mut limits = Limits {
            entries: ZIP_ENTRIES_MAX,
            bytes: bytes_max,
            bytes_max,
            inner,
        };
        unpacked.take(archive, None, modified, &wants, &mut limits)?;
        unpacked
            .files
            .sort_unstable_by(|left, right| left.name.cmp(&right.name));
        Ok(unpacked)
    }

    /// Unpacks an archive, or one with that name in it.
    fn take(
        &mut self,
        mut archive: ZipArchive<BufReader<File>>,
        inside: Option<&str>,
        modified: SystemTime,
        wants: &impl Fn(&str) -> bool,
        limits: &mut Limits,
    ) -> io::Result<()> {
        limits.take_entries(archive.len())?;
        limits.check_said(&mut archive, &mut |name| {
            let name = inside.map_or_else(|| name.to_owned(), |inside| format!("{inside}/{name}"));
            wants(&name)
        })?;
        for index in 0..archive.len() {
            let mut entry = archive.by_index(index).map_err(damaged)?;
            if entry.is_dir() {
                continue;
            }
            let name = name_of(&entry)?;
            let is_unwanted = entry.is_symlink() || is_of_macos(&name);
            let name = inside.map_or_else(|| name.clone(), |inside| format!("{inside}/{name}"));
            let named = |error: io::Error| io::Error::new(error.kind(), format!("{name}: {error}"));
            let is_inner = limits.inner == Inner::Unpacked && inside.is_none();
            if !is_unwanted && is_inner && is_named_zip(&name) && entry.size() <= limits.bytes {
                let mut file = tempfile::tempfile_in(self.folder.path())?;
                limits.take_bytes(copy(&mut entry, &mut file, limits.bytes).map_err(named)?)?;
                // One that is damaged or needs a password is passed over, because the files beside it
                // can be read.
                match ZipArchive::new(BufReader::new(file)).ok().and_then(open) {
                    Some(inner) => {
                        self.take(inner, Some(&name), modified, wants, limits)
                            .map_err(named)?;
                    }
                    None => self.passed_over.push(name),
                }
                continue;
            }
            if is_unwanted || is_named_zip(&name) || !wants(&name) {
                self.passed_over.push(name);
                continue;
            }
            let path = self.folder.path().join(&name);
            let bytes = unpack(&mut entry, &path, limits.bytes, modified).map_err(named)?;
            limits.take_bytes(bytes)?;
            self.files.push(UnpackedFile { name, path });
        }
        Ok(())
    }

    /// Returns the folder that the files are in.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the files, in the order of their names.
    pub fn files(&self) -> &[UnpackedFile] {
        &self.files
    }

    /// Returns the names of the files that were not unpacked.
    pub fn passed_over(&self) -> &[String] {
        &self.passed_over
    }
}

/// Returns the name of an entry, which leads to no place outside the archive.
fn name_of<R: Read>(entry: &ZipFile<'_, R>) -> io::Result<String> {
    let name = entry.name().map_err(damaged)?.into_owned();
    let is_safe =
        |part: &str| !["", ".", ".."].contains(&part) && !part.contains(['\\', ':', '\0']);
    if name.split('/').all(is_safe) {
        Ok(name)
    } else {
        Err(invalid(format!(
            "{name:?} in it is no path within an archive"
        )))
    }
}

/// Returns true for files that macOS adds. Other hidden ones may be all that the archive has, e.g.
/// `.claude/projects` or `.basic-memory/memory.db`.
fn is_of_macos(name: &str) -> bool {
    let is_added =
        |part: &str| part == FOLDER_OF_MACOS || part == ".DS_Store" || part.starts_with("._");
    name.split('/').any(is_added)
}

/// Returns true for the name of an archive in the archive.
fn is_named_zip(name: &str) -> bool {
    let ending = Path::new(name).extension();
    ending.is_some_and(|ending| ending.eq_ignore_ascii_case(ENDING))
}

/// Returns the archive if no file in it needs a password.
fn open(mut archive: ZipArchive<BufReader<File>>) -> Option<ZipArchive<BufReader<File>>> {
    let is_open = (0..archive.len()).all(|index| {
        let entry = archive.by_index_raw(index);
        entry.is_ok_and(|entry| !entry.encrypted())
    });
    is_open.then_some(archive)
}

/// The treatment of archives in the archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Inner {
    PassedOver,
    Unpacked,
}

/// The room that is left for unpacking an archive, together with the archives in it.
struct Limits {
    entries: usize,
    bytes: u64,
    /// The bytes before anything was unpacked.
    bytes_max: u64,
    inner: Inner,
}

impl Limits {
    fn take_entries(&mut self, entries: usize) -> io::Result<()> {
        self.entries = self.entries.checked_sub(entries).ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::FileTooLarge,
                format!("it has more than {ZIP_ENTRIES_MAX} entries"),
            )
        })?;
        Ok(())
    }

    fn take_bytes(&mut self, bytes: u64) -> io::Result<()> {
        let left = self.bytes.checked_sub(bytes);
        self.bytes = left.ok_or_else(|| self.exceeded())?;
        Ok(())
    }

    /// Checks the sizes that an archive says its files have, before the first one is written. One that says
    /// less than it has is found out while it is unpacked.
    fn check_said(
        &self,
        archive: &mut ZipArchive<BufReader<File>>,
        wants: &mut dyn FnMut(&str) -> bool,
    ) -> io::Result<()> {
        let mut said = 0_u64;
        for index in 0..archive.len() {
            let entry = archive.by_index_raw(index).map_err(damaged)?;
            if entry.is_dir() || entry.is_symlink() {
                continue;
            }
            let name = name_of(&entry)?;
            if !is_of_macos(&name) && !is_named_zip(&name) && wants(&name) {
                said = said.saturating_add(entry.size());
            }
        }
        if said > self.bytes {
            return Err(self.exceeded());
        }
        Ok(())
    }

    fn exceeded(&self) -> io::Error {
        let message = format!(
            "its files have more than {} bytes in all; unpack it yourself, and read them one by one",
            self.bytes_max
        );
        io::Error::new(io::ErrorKind::FileTooLarge, message)
    }
}

/// Writes an entry into a new file, at most one byte more than `bytes_max`; returns the number of
/// bytes.
fn unpack(
    entry: &mut impl Read,
    path: &Path,
    bytes_max: u64,
    modified: SystemTime,
) -> io::Result<u64> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut file = File::create_new(path)?;
    let bytes = copy(entry, &mut file, bytes_max)?;
    file.set_modified(modified)?;
    Ok(bytes)
}

/// Copies at most one byte more than `bytes_max`; returns the number of bytes.
fn copy(entry: &mut impl Read, file: &mut File, bytes_max: u64) -> io::Result<u64> {
    io::copy(&mut entry.take(bytes_max.saturating_add(1)), file)
}

fn damaged(error: ZipError) -> io::Error {
    match error {
        ZipError::Io(error) if error.kind() != io::ErrorKind::UnexpectedEof => error,
        error => invalid(format!("it is no zip archive that can be read ({error})")),
    }
}

fn invalid(problem: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, problem)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;

    /// Writes an archive with these files; returns its bytes.
    fn archive(folder: &Path, files: &[(&str, &str)]) -> PathBuf {
        let path = folder.join("export.zip");
        let mut archive = ZipWriter::new(File::create(&path).unwrap());
        for (name, text) in files {
            archive
                .start_file(*name, SimpleFileOptions::default())
                .unwrap();
            archive.write_all(text.as_bytes()).unwrap();
        }
        archive.finish().unwrap();
        path
    }

    fn names(unpacked: &UnpackedArchive) -> Vec<&str> {
        let files = unpacked.files().iter();
        files.map(|file| file.name.as_str()).collect()
    }

    #[test]
    fn what_is_wanted_is_unpacked_and_goes_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let files = [
            ("users.json", "[]"),
            ("general/2026-01-01.json", "[1]"),
            ("image.png", "x"),
            ("more.zip", "PK"),
            (".hidden/a.json", "x"),
            ("general/._a.json", "x"),
            ("__MACOSX/general/._a.json", "x"),
        ];
        let path = archive(folder.path(), &files);
        assert!(is_zip(&path));
        let unpacked = UnpackedArchive::new(&path, |name| name.contains(".json")).unwrap();
        assert_eq!(
            names(&unpacked),
            [".hidden/a.json", "general/2026-01-01.json", "users.json"]
        );
        assert_eq!(
            unpacked.passed_over(),
            [
                "image.png",
                "more.zip",
                "general/._a.json",
                "__MACOSX/general/._a.json"
            ]
        );
        let file = &unpacked.files()[1].path;
        assert_eq!(fs::read_to_string(file).unwrap(), "[1]");
        assert_eq!(
            fs::metadata(file).unwrap().modified().unwrap(),
            fs::metadata(&path).unwrap().modified().unwrap()
        );
        let file = file.clone();
        drop(unpacked);
        assert!(!file.exists());
    }

    #[test]
    fn an_archive_in_the_archive_is_unpacked_and_none_in_that() {
        let folder = tempfile::tempdir().unwrap();
        let bytes = |files: &[(&str, &[u8])]| {
            let mut archive = ZipWriter::new(io::Cursor::new(Vec::new()));
            for (name, bytes) in files {
                let options = SimpleFileOptions::default();
                archive.start_file(*name, options).unwrap();
                archive.write_all(bytes).unwrap();
            }
            archive.finish().unwrap().into_inner()
        };
        let deepest = bytes(&[("deep.json", b"[3]")]);
        let inner = bytes(&[("a.json", b"[2]"), ("b.png", b"x"), ("deep.zip", &deepest)]);
        // As the heads of an archive with a password say.
        let mut encrypted = bytes(&[("a.json", b"[4]")]);
        for (head, flags) in [(b"PK\x03\x04", 6), (b"PK\x01\x02", 8)] {
            let at = encrypted.windows(4).position(|four| four == head).unwrap();
            encrypted[at + flags] |= 1;
        }
        let outer = bytes(&[
            ("a.json", b"[1]"),
            ("more/Part 1.ZIP", &inner),
            ("no.zip", b"x"),
            ("secret.zip", &encrypted),
        ]);
        let path = folder.path().join("export.zip");
        fs::write(&path, outer).unwrap();
        let wants = |name: &str| name.contains(".json");
        let unpacked = UnpackedArchive::with_inner(&path, wants).unwrap();
        assert_eq!(names(&unpacked), ["a.json", "more/Part 1.ZIP/a.json"]);
        let texts = unpacked.files().iter();
        let texts: Vec<String> = texts
            .map(|file| fs::read_to_string(&file.path).unwrap())
            .collect();
        assert_eq!(texts, ["[1]", "[2]"]);
        assert_eq!(
            unpacked.passed_over(),
            [
                "more/Part 1.ZIP/b.png",
                "more/Part 1.ZIP/deep.zip",
                "no.zip",
                "secret.zip"
            ]
        );
        // The archives in it count, too.
        let bytes_max = (inner.len() + encrypted.len()) as u64 + 1 + 6;
        assert!(UnpackedArchive::within(&path, wants, Inner::Unpacked, bytes_max).is_ok());
        let bytes_max = inner.len() as u64 + 1 + 6;
        let error =
            UnpackedArchive::within(&path, wants, Inner::Unpacked, bytes_max - 2).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        // One that is larger than what is left is passed over, and the others are read.
        let small = UnpackedArchive::within(&path, wants, Inner::Unpacked, 3).unwrap();
        assert_eq!(names(&small), ["a.json"]);
        let leads_out = bytes(&[("../a.json", b"[]")]);
        fs::write(&path, bytes(&[("a.zip", &leads_out)])).unwrap();
        let error = UnpackedArchive::with_inner(&path, wants).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn what_is_no_archive_is_told_from_one() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            fs::write(&path, bytes).unwrap();
            path
        };
        let whole = archive(folder.path(), &[("a.json", "[]")]);
        let bytes = fs::read(&whole).unwrap();
        assert!(is_zip(&write("named otherwise", &bytes)));
        assert!(!is_zip(&write("a.json", b"[]")) && !is_zip(&write("short", b"P")));
        assert!(!is_zip(folder.path()) && !is_zip(&folder.path().join("absent.zip")));
        assert!(is_zip(&write("text.zip", b"text")));
        // Cut anywhere, or with any byte flipped, it is refused or gives what was in it.
        for cut in 0..bytes.len() {
            assert!(UnpackedArchive::new(&write("cut.zip", &bytes[..cut]), |_| true).is_err());
            let mut flipped = bytes.clone();
            flipped[cut] ^= 0xff;
            if let Ok(unpacked) = UnpackedArchive::new(&write("flipped.zip", &flipped), |_| true) {
                for file in unpacked.files() {
                    assert_eq!(fs::read(&file.path).unwrap(), b"[]", "{cut}");
                }
            }
        }
    }

    #[test]
    fn no_name_leads_out_of_the_archive() {
        for name in [
            "../a.json",
            "a/../../b.json",
            "/etc/a.json",
            "a\\..\\b.json",
            "c:a.json",
        ] {
            let folder = tempfile::tempdir().unwrap();
            let path = archive(folder.path(), &[("first.json", "[]"), (name, "[]")]);
            let error = UnpackedArchive::new(&path, |_| true).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{name}: {error}");
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "{name}");
        }
    }

    #[test]
    fn what_is_unpacked_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let text = "x".repeat(1_000);
        let path = archive(folder.path(), &[("a", &text), ("b", &text)]);
        assert_eq!(
            names(&UnpackedArchive::within(&path, |_| true, Inner::PassedOver, 2_000).unwrap())
                .len(),
            2
        );
        let mut lying = fs::read(&path).unwrap();
        let heads: Vec<usize> = (0..lying.len() - 4)
            .filter(|at| &lying[*at..*at + 4] == b"PK\x01\x02")
            .collect();
        for head in heads {
            // The size that the directory says.
            lying[head + 24..head + 28].copy_from_slice(&1_u32.to_le_bytes());
        }
        let lying_path = folder.path().join("lying.zip");
        fs::write(&lying_path, lying).unwrap();
        for bytes_max in [0, 999, 1_000, 1_999] {
            let kind = |path: &Path| {
                UnpackedArchive::within(path, |_| true, Inner::PassedOver, bytes_max)
                    .unwrap_err()
                    .kind()
            };
            assert_eq!(kind(&path), io::ErrorKind::FileTooLarge, "{bytes_max}");
            // No more than it says is unpacked.
            let said = [io::ErrorKind::FileTooLarge, io::ErrorKind::InvalidData];
            assert!(said.contains(&kind(&lying_path)), "{bytes_max}");
        }
        let unwanted =
            UnpackedArchive::within(&path, |name| name == "a", Inner::PassedOver, 1_000).unwrap();
        assert_eq!(
            (names(&unwanted), unwanted.passed_over().len()),
            (vec!["a"], 1)
        );
    }
}

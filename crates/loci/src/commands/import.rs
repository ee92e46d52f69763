//! `loci import`: stores many memories, or restores an export.

mod host;
mod list;
mod peer;
mod samples;

use std::ffi::OsStr;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use loci_archive::{
    HEAD_BYTES, Importer, Lines, MarkdownFiles, Part, RECORDS, Refusals, begins_archive,
    stay_forgotten,
};
use loci_core::Error;
use loci_engine::{
    Call, Effect, Engine, ImportBatch, ImportOutcome, ReconciliationReport, SearchMode,
};
use loci_mine::unpacked::{UnpackedArchive, is_zip};
use serde_json::json;

use self::list::LineImporter;
use crate::cli;
use crate::escaped::OneLine;
use crate::exit::{Exit, Failure};
use crate::output::{Output, status_line};
use crate::progress::Progress;
use crate::settings::Settings;
use crate::signal::before_end;
use crate::wiring::{CommandInfo, Parts, SystemClock};

pub fn run(settings: &Settings, arguments: &cli::Import, output: Output) -> Result<(), Failure> {
    if arguments.detect {
        return peer::detect(output);
    }
    let file = &file_of(arguments);
    if let Some(host) = host::of(arguments, file) {
        return host::import(settings, arguments, host, file, output);
    }
    if !is_zip(file) {
        return match peer::of(arguments, file)? {
            Some(peer) => peer::import(settings, arguments, peer, file, output),
            None => run_on(settings, arguments, file, output),
        };
    }
    let usage =
        |problem: String| Failure::new(Exit::Usage, format!("{} {problem}", file.display()));
    let unpacked = UnpackedArchive::new(file, |_| true)
        .map_err(|error| usage(format!("cannot be read: {error}")))?;
    if let Some(export) = export_in(&unpacked) {
        return run_on(settings, arguments, &export, output);
    }
    for place in places_in(&unpacked) {
        if let Some(peer) = peer::of(arguments, &place)? {
            return peer::import(settings, arguments, peer, &place, output);
        }
    }
    let [single] = unpacked.files() else {
        return Err(usage(
            "is a zip archive with neither a single file, nor an export of loci, nor the store or export of a memory \
             system that loci knows; `loci palace mine --mode convos` takes the archives of Slack"
                .to_owned(),
        ));
    };
    run_on(settings, arguments, &single.path, output)
}

/// Returns the path that the user named.
fn file_of(arguments: &cli::Import) -> PathBuf {
    arguments.file.clone().unwrap_or_default()
}

/// Returns what may be the store of another system in an archive: its single file, its folder, or the
/// only folder in it.
fn places_in(unpacked: &UnpackedArchive) -> Vec<PathBuf> {
    if let [single] = unpacked.files() {
        return vec![single.path.clone()];
    }
    let folder = unpacked.folder().to_owned();
    let first = |name: &str| name.split_once('/').map(|(first, _)| first.to_owned());
    let files = unpacked.files().iter();
    let mut firsts: Vec<Option<String>> = files.map(|file| first(&file.name)).collect();
    firsts.dedup();
    let inner = match &firsts[..] {
        [Some(only)] => Some(folder.join(only)),
        _ => None,
    };
    [folder].into_iter().chain(inner).collect()
}

/// Returns the folder of an export of loci in an archive of several files.
fn export_in(unpacked: &UnpackedArchive) -> Option<PathBuf> {
    if unpacked.files().len() == 1 {
        return None;
    }
    let records = unpacked
        .files()
        .iter()
        .filter(|file| file.path.file_name() == Some(OsStr::new(RECORDS)))
        .min_by_key(|file| file.name.split('/').count())?;
    records.path.parent().map(Path::to_owned)
}

/// Imports the file or folder at `path`, which is what the user named, or was in an archive.
fn run_on(
    settings: &Settings,
    arguments: &cli::Import,
    path: &Path,
    output: Output,
) -> Result<(), Failure> {
    let file = &file_of(arguments);
    let usage =
        |problem: String| Failure::new(Exit::Usage, format!("{} {problem}", file.display()));
    let unreadable = |error: io::Error| usage(format!("cannot be read: {error}"));
    if path.is_dir() {
        let mut entries = MarkdownFiles::open(path, Arc::new(SystemClock))
            .map_err(unreadable)?
            .map_err(usage)?;
        return bring_back(settings, arguments, output, || {
            entries.read().map_err(unreadable)
        });
    }
    let mut input: Box<dyn BufRead> = if path == Path::new("-") {
        Box::new(io::stdin().lock())
    } else {
        Box::new(BufReader::new(File::open(path).map_err(unreadable)?))
    };
    let mut head = Vec::new();
    (&mut input)
        .take(HEAD_BYTES)
        .read_until(b'\n', &mut head)
        .map_err(unreadable)?;
    let is_archive = begins_archive(&head);
    let input = Cursor::new(head).chain(input);
    if is_archive {
        let mut lines = Lines::open(input).map_err(unreadable)?.map_err(usage)?;
        return bring_back(settings, arguments, output, || {
            lines.read().map_err(unreadable)
        });
    }
    import_list(settings, arguments, input, output)
}

/// An import, in the audit log.
const IMPORT: CommandInfo = ("import", "memory:write", Effect::Write);

/// Imports a list of memories, or a memory on each line.
fn import_list(
    settings: &Settings,
    arguments: &cli::Import,
    input: impl BufRead,
    output: Output,
) -> Result<(), Failure> {
    let parts = Parts::open(settings)?;
    let (imported, refused, repairs, samples, batch) = parts.logged_in_all(IMPORT, |call| {
        let batch = begin_batch(call, arguments, "lines");
        let mut importer = LineImporter::new(call);
        importer.batch = Some(&batch);
        importer.is_dry_run = arguments.dry_run;
        importer.progress = stored_progress(arguments.dry_run);
        importer.again = arguments.again;
        importer.are_followed = arguments.follow;
        importer.read(&file_of(arguments), input)?;
        importer.store()?;
        let (imported, refused, repairs) = (importer.imported, importer.refused, importer.repairs);
        let samples = importer.samples;
        let batch = finish_batch(call, &batch, imported.stored as u64)?;
        Ok((imported, refused, repairs, samples, batch))
    })?;
    let ImportOutcome {
        stored,
        present,
        forgotten,
    } = imported;
    let Refusals { count: refused } = refused;
    let rest = stay_forgotten(forgotten as u64);
    let mut value = json!({"stored": stored, "present": present, "refused": refused});
    let mut text = format!("stored {stored}, already there {present}, refused {refused}{rest}");
    if forgotten > 0 {
        value["forgotten"] = json!(forgotten);
    }
    if repairs > 0 {
        value["repaired"] = json!(repairs);
        text += &format!(", repaired {repairs}");
    }
    if arguments.dry_run {
        value["samples"] = samples.value();
        let text = format!("{text}\n{}", samples.text());
        tell_dry_run(value, text.trim_end(), output)?;
        return match refused {
            0 => Ok(()),
            _ => Err(refusal(refused, "would be stored")),
        };
    }
    tell_stored(stored);
    tell_unreviewed(&parts)?;
    let pending = embed_pending(&parts, settings, !arguments.no_wait)?;
    value["pending_embeddings"] = json!(pending);
    value["batch"] = json!(batch);
    text += &format!(
        ", waiting for the model {pending}\n{}",
        way_back(batch.as_deref())
    );
    output.either(&value, text)?;
    match refused {
        0 => Ok(()),
        _ => Err(refusal(refused, "is stored")),
    }
}

/// Returns the failure of an import that refused memories, with the fate of the others.
fn refusal(refused: u64, rest: &str) -> Failure {
    let message = format!("{refused} memories were refused; everything else {rest}");
    Failure::new(Exit::Failure, message)
}

/// Prints the counts of a dry run.
fn tell_dry_run(mut value: serde_json::Value, counts: &str, output: Output) -> Result<(), Failure> {
    value["dry_run"] = json!(true);
    let text = format!("nothing was stored; an import now would have: {counts}\n");
    Ok(output.either(&value, text)?)
}

/// Imports an export, entry by entry.
fn bring_back(
    settings: &Settings,
    arguments: &cli::Import,
    output: Output,
    mut next: impl FnMut() -> Result<Option<Part>, Failure>,
) -> Result<(), Failure> {
    let parts = Parts::open(settings)?;
    // Renames and deletions of notes are recorded before the records of the notes come. For notes
    // that the index does not know yet, the export counts.
    let away = if parts.vault.is_kept {
        let away = if arguments.dry_run {
            parts.system().notes().status()?.away
        } else {
            reconciled(parts.system().notes().reconcile_known()).away
        };
        away.map(|why| {
            format!(
                "{why}; no note is brought back, since it would hide them: bring the folder back or, if they are \
                 gone for good, first `loci vault reconcile --accept-missing`"
            )
        })
    } else {
        Some("has notes, and no folder of notes is named here: name one with --vault".to_owned())
    };
    let notes = parts.vault.notes();
    let mut progress = stored_progress(arguments.dry_run);
    let (mut value, text, verdict, batch) = parts.logged_in_all(IMPORT, |call| {
        let batch = begin_batch(call, arguments, "export");
        let notice = |message: &str| status_line(OneLine(message));
        let mut bringing = Importer::new(call, &notes, away, !arguments.no_wait, &notice);
        if arguments.dry_run {
            bringing = bringing.dry();
        }
        bringing = bringing
            .again(arguments.again)
            .followed(arguments.follow)
            .in_batch(&batch);
        while let Some(part) = next()? {
            let before = bringing.stored();
            bringing.take(part)?;
            if let Some(progress) = progress.as_ref().filter(|_| bringing.stored() > before) {
                progress.reach(bringing.stored());
            }
        }
        bringing.store()?;
        if progress.take().is_some() {
            tell_stored(bringing.stored());
        }
        let id = finish_batch(call, &batch, bringing.stored())?;
        Ok((bringing.value(), bringing.text(), bringing.verdict(), id))
    })?;
    let verdict = verdict.map_err(|message| Failure::new(Exit::Failure, message));
    if arguments.dry_run {
        tell_dry_run(value, &text, output)?;
        return verdict;
    }
    // Finds the other changes in the folder, as every reconciliation does.
    if parts.vault.is_kept {
        reconciled(parts.system().notes().reconcile());
    }
    tell_unreviewed(&parts)?;
    let pending = embed_pending(&parts, settings, !arguments.no_wait)?;
    value["pending_embeddings"] = json!(pending);
    value["batch"] = json!(batch);
    output.either(
        &value,
        format_args!(
            "{text}, waiting for the model {pending}\n{}",
            way_back(batch.as_deref())
        ),
    )?;
    verdict
}

/// Tells the user how many memories came in files and wait.
fn tell_unreviewed(parts: &Parts) -> Result<(), Failure> {
    let waiting = parts.system().context().unreviewed()?.len();
    if waiting > 0 {
        status_line(format_args!(
            "note: of what came in files, {waiting} would give agents orders and wait until you accept them: list them by \
             `loci trust --waiting`, or open Review on the page"
        ));
    }
    Ok(())
}

/// Returns the outcome of a reconciliation; prints an error and returns an empty one if it failed.
fn reconciled(outcome: Result<ReconciliationReport, Error>) -> ReconciliationReport {
    outcome.unwrap_or_else(|error| {
        status_line(format_args!("note: the notes may be out of date: {error}"));
        ReconciliationReport::default()
    })
}

/// Embeds the texts that wait for the model, if `waits`; returns the number that wait after that.
///
/// # Errors
/// If the store cannot be read.
pub fn embed_pending(parts: &Parts, settings: &Settings, waits: bool) -> Result<u64, Failure> {
    let pending = parts.engine.models().pending_embeddings()?;
    if pending > 0 && waits && settings.search != SearchMode::Words {
        // Other processes need not wait until a lease of this one expires.
        let engine = Arc::clone(&parts.engine);
        before_end(move || {
            engine.background().hand_back();
            status_line(
                "\ninterrupted: everything is stored and found by its words; whichever `loci serve`, `loci mcp` or import \
                 runs next has the model read the rest",
            );
        });
        embed(&parts.engine, pending);
    }
    Ok(parts.engine.models().pending_embeddings()?)
}

/// Embeds the texts that wait, with the rest of earlier imports. A model that does not answer is
/// not a failure: the memories are stored.
fn embed(engine: &Engine, pending: u64) {
    let progress = Progress::new("embedded");
    progress.begin(pending);
    loop {
        match engine.background().embed_pending() {
            // Nothing is left, or another process does it.
            Ok(0) => return,
            Ok(embedded) => progress.advance(embedded as u64),
            Err(error) => {
                drop(progress);
                return status_line(format_args!(
                    "{}; whichever process serves next tries again",
                    error.message
                ));
            }
        }
    }
}

/// Makes the bar of the memories that are stored, unless nothing is to be.
fn stored_progress(is_dry_run: bool) -> Option<Progress> {
    (!is_dry_run).then(|| Progress::open("stored"))
}

/// Starts a batch of what an import brings. Nothing is stored before the first record.
fn begin_batch(call: &Call<'_>, arguments: &cli::Import, from: &str) -> ImportBatch {
    let path = file_of(arguments);
    let path = loci_ingest::absolute(&path).unwrap_or_else(|_| path.display().to_string());
    call.imports().begin_batch(from, &path)
}

/// Notes that an import is whole; returns the id of its batch, unless it brought nothing.
fn finish_batch(
    parts: &loci_engine::Parts<'_>,
    batch: &ImportBatch,
    records: u64,
) -> Result<Option<String>, Failure> {
    parts.imports().finish_batch(batch, records)?;
    Ok(batch.has_brought().then(|| batch.id().to_owned()))
}

/// Says how an import is taken back.
fn way_back(batch: Option<&str>) -> String {
    batch.map_or_else(String::new, |id| {
        format!("to take it back: loci undo {id}\n")
    })
}

/// Prints how many memories are stored at the end.
fn tell_stored(stored: impl Display) {
    status_line(format_args!("stored {stored}"));
}

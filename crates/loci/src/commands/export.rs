//! `loci export`: writes all records as text.

mod peer;

use std::fs::File;
use std::io::{self, BufWriter, ErrorKind};
use std::path::Path;
use std::sync::Arc;

use loci_archive::{Counts, Export, JsonLines, MarkdownFolder, Visit};
use loci_core::Clock;
use loci_peers::Form;
use serde_json::json;

use crate::cli;
use crate::corruption;
use crate::exit::{Exit, Failure};
use crate::output::{JsonOutput, Output, status_line};
use crate::progress::Progress;
use crate::settings::Settings;
use crate::vault::{Vault, real};
use crate::wiring::{Parts, SystemClock};

/// The prefix of unfinished files, which a crash leaves behind.
const UNFINISHED: &str = ".loci-export-";

pub fn run(settings: &Settings, arguments: &cli::Export, output: Output) -> Result<(), Failure> {
    let cli::Export { target, format } = arguments;
    let usage =
        |problem: String| Failure::new(Exit::Usage, format!("{}: {problem}", target.display()));
    let cannot_write = |error: io::Error| match error.kind() {
        ErrorKind::AlreadyExists => usage(error.to_string()),
        _ => Failure::new(
            Exit::Failure,
            format!("{} cannot be written: {error}", target.display()),
        ),
    };
    let is_stdout = target == Path::new("-");
    let is_markdown = format == "markdown";
    let form = Form::from_name(format);
    check_target(target, is_markdown, form).map_err(usage)?;
    if !is_stdout {
        check_place(settings, target)?;
    }
    let parts = Parts::open_current(settings)?;
    // With an unreachable page, the export would look complete without its records.
    if let Some(failure) = corruption::told(&parts.store.structure_check()?, settings) {
        return Err(failure);
    }
    if let Some(form) = form {
        return peer::write(&parts, form, target, output);
    }
    let now = SystemClock.now();
    let mut export = Export::new(parts.vault.notes(), parts.vault.folder.clone());
    let progress = Progress::new("memories");
    progress.begin(parts.engine.size()?.memories);
    let on_memory = || progress.advance(1);
    let read = |visit: &mut Visit<'_>| parts.store.archive(now, visit);
    if is_markdown {
        let mut folder =
            MarkdownFolder::create(target, Arc::new(SystemClock)).map_err(cannot_write)?;
        export
            .write(read, &mut folder, &on_memory)?
            .map_err(cannot_write)?;
        let counts = folder.counts().clone();
        folder.finish().map_err(cannot_write)?;
        tell(&export.left_out, &counts, output)
    } else if is_stdout {
        let mut lines = JsonLines::as_of(JsonOutput(BufWriter::new(io::stdout().lock())), now);
        export.write(read, &mut lines, &on_memory)??;
        lines.finish()?;
        end(&export.left_out)
    } else {
        let folder = target
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        let file = tempfile::Builder::new()
            .prefix(UNFINISHED)
            .tempfile_in(folder)
            .map_err(cannot_write)?;
        let mut lines = JsonLines::as_of(BufWriter::new(file.as_file()), now);
        export
            .write(read, &mut lines, &on_memory)?
            .map_err(cannot_write)?;
        let counts = lines.counts().clone();
        lines.finish().map_err(cannot_write)?;
        file.as_file().sync_all().map_err(cannot_write)?;
        file.persist_noclobber(target)
            .map_err(|error| cannot_write(error.error))?;
        flush_folder(folder).map_err(cannot_write)?;
        tell(&export.left_out, &counts, output)
    }
}

/// Refuses stdout for a format that is not written there, and a file that is there; before any work.
fn check_target(target: &Path, is_markdown: bool, form: Option<Form>) -> Result<(), String> {
    let is_stdout = target == Path::new("-");
    let is_folder = is_markdown || form.is_some_and(Form::is_folder);
    if is_stdout && is_folder {
        return Err("this format is many files; name a folder for them".to_owned());
    }
    if is_stdout && form.is_some() {
        return Err("this format is written to a file; name one".to_owned());
    }
    if !is_stdout && !is_folder && target.symlink_metadata().is_ok() {
        return Err("is there already; choose another name or remove it".to_owned());
    }
    Ok(())
}

/// Refuses a target in the folder of notes or in the data folder.
fn check_place(settings: &Settings, target: &Path) -> Result<(), Failure> {
    let vault = Vault::of(settings, &settings.data)?.folder;
    let place = real(&std::path::absolute(target).unwrap_or_else(|_| target.to_owned()));
    let inside = [("folder of notes", &vault), ("data folder", &settings.data)];
    let Some((name, folder)) = inside
        .into_iter()
        .find(|(_, folder)| place.starts_with(real(folder)))
    else {
        return Ok(());
    };
    let message = format!(
        "{}: lies in the {name} {}; choose another place",
        target.display(),
        folder.display()
    );
    Err(Failure::new(Exit::Usage, message))
}

/// Makes the names in a folder durable, if the system supports it.
fn flush_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(folder)?.sync_all()
    } else {
        Ok(())
    }
}

/// Prints the counts of the records that were exported, then the files that were left out.
fn tell(left_out: &[String], counts: &Counts, output: Output) -> Result<(), Failure> {
    let text: Vec<String> = counts
        .iter()
        .map(|(kind, count)| format!("{kind} {count}"))
        .collect();
    let text = if text.is_empty() {
        "nothing".to_owned()
    } else {
        text.join(", ")
    };
    output.either(
        &json!({"exported": counts, "left_out": left_out}),
        format_args!("exported {text}\n"),
    )?;
    end(left_out)
}

/// Names the files and folders of notes that were left out.
///
/// # Errors
/// If there are any.
fn end(left_out: &[String]) -> Result<(), Failure> {
    for problem in left_out {
        status_line(problem);
    }
    match left_out.len() {
        0 => Ok(()),
        left_out => {
            let message = format!(
                "{left_out} of the files and folders of notes are left out; everything else is exported"
            );
            Err(Failure::new(Exit::Failure, message))
        }
    }
}

//! loci's hooks in the settings of a host.

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use clap::Parser;
use loci_dialects::mememory;
use loci_hosts::{
    EditError, EditResult, HookOptions, HookRun, Hooks, Machine, Program, Reach, work_tree,
};
use serde_json::json;

use crate::cli::{Cli, Command, Hook, HookInstall, HookSettings};
use crate::commands::connect::kept_sentence;
use crate::exit::{Exit, Failure};
use crate::output::{Output, status_line};
use crate::own_program::{self, OwnProgram};
use crate::settings::Settings;

pub fn install(
    settings: &Settings,
    arguments: &HookInstall,
    output: Output,
) -> Result<(), Failure> {
    let HookInstall {
        settings: place,
        dialect,
        shared,
        verbatim,
    } = arguments;
    let program = OwnProgram::new(settings)?;
    let words = loci_hosts::program_words(&program.file, &program.places);
    let options = HookOptions {
        program: &words,
        dialect: dialect.as_deref(),
        default_dialect: mememory::DIALECT.name,
        is_shared: *shared,
        is_verbatim: *verbatim,
    };
    let file = file_of(place)?;
    let edited = edit(place, &file, |hooks| hooks.install(&options))?;
    let (host, shown) = (place.host.name, file.display());
    let said = if edited.has_changed {
        "are in"
    } else {
        "were already in"
    };
    let sentence = format!("loci's hooks for {host} {said} {shown}");
    report(&edited, host, &file, output, &sentence)?;
    let advice = place.host.hooks.and_then(|hooks| hooks.advice);
    if let Some(advice) = advice.filter(|_| edited.has_changed) {
        status_line(advice);
    }
    program.warn_of_build_folder("these hooks");
    Ok(())
}

pub fn uninstall(arguments: &HookSettings, output: Output) -> Result<(), Failure> {
    let file = file_of(arguments)?;
    let edited = edit(arguments, &file, |hooks| hooks.uninstall())?;
    let said = if edited.has_changed {
        "removed loci's hooks from"
    } else {
        "there were no hooks of loci in"
    };
    let sentence = format!("{said} {}", file.display());
    report(&edited, arguments.host.name, &file, output, &sentence)
}

/// Returns the file in which the host keeps its hooks.
fn file_of(arguments: &HookSettings) -> Result<PathBuf, Failure> {
    let named = arguments.file.clone();
    named
        .or_else(|| arguments.host.hooks_file())
        .ok_or_else(|| {
            Failure::new(
                Exit::Usage,
                "there is no home folder; name the file with --file",
            )
        })
}

/// Changes the hooks in the settings of a host.
fn edit(
    arguments: &HookSettings,
    file: &Path,
    change: impl FnOnce(Hooks<'_>) -> Result<EditResult, EditError>,
) -> Result<EditResult, Failure> {
    let file_name = own_program::file_name();
    let program = Program {
        file_name: file_name.as_deref(),
        parse,
    };
    let tree = arguments.file.as_deref().and_then(tree_of);
    let hooks = Hooks {
        host: arguments.host,
        file,
        reach: tree.as_deref().map_or(Reach::Everywhere, Reach::Within),
        program,
    };
    change(hooks).map_err(|error| match error {
        EditError::Refused { .. } => {
            let message = format!("{error}; mend it, or name another with --file");
            Failure::new(Exit::Usage, message)
        }
        EditError::Failed { .. } => Failure::new(Exit::Failure, error.to_string()),
    })
}

/// Returns the folder of the project that the user is in, if a file that is named is in it: its links
/// come with the project.
fn tree_of(file: &Path) -> Option<PathBuf> {
    let (file, folder) = (
        std::path::absolute(file).ok()?,
        std::env::current_dir().ok()?,
    );
    let tree = work_tree(&folder, &Machine::here()?.home);
    file.starts_with(&tree).then_some(tree)
}

/// Parses the words of `loci hook run` in the settings of a host.
pub fn parse(words: &[String]) -> Option<HookRun> {
    match Cli::try_parse_from(words).ok()?.command {
        Command::Hook(Hook::Run {
            dialect,
            shared,
            verbatim,
            event,
            ..
        }) => Some(HookRun {
            dialect,
            is_shared: shared,
            is_verbatim: verbatim,
            event,
        }),
        _ => None,
    }
}

/// Prints the outcome of a change of hooks, as JSON or as that sentence.
fn report(
    edited: &EditResult,
    host: &str,
    file: &Path,
    output: Output,
    sentence: &str,
) -> Result<(), Failure> {
    let backup = edited.backup.as_deref().map(Path::to_string_lossy);
    let value = json!({
        "host": host, "file": file.to_string_lossy(), "changed": edited.has_changed, "backup": backup,
    });
    output.either(&value, format_args!("{sentence}\n"))?;
    if let Some(backup) = backup {
        status_line(format_args!("a copy of the file as it was is {backup}"));
    }
    for kept in &edited.kept {
        status_line(kept_sentence(kept));
    }
    Ok(())
}

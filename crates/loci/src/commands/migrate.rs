//! `loci migrate`: copies everything from one store into another, and compares the two.

use std::path::Path;
use std::sync::Arc;

use loci_archive::copy::{Comparison, CopyReport, compare, copy};
use loci_core::{Clock, OpenFault, OpenStore, Store};
use loci_embed::NoModel;
use loci_engine::{Engine, SearchMode};
use loci_keys::KeyFile;
use serde_json::json;

use crate::cli;
use crate::escaped::OneLine;
use crate::exit::{Exit, Failure};
use crate::output::{Output, status_line};
use crate::progress::Progress;
use crate::settings::Settings;
use crate::store::{StoreLocation, StorePlace, StoreSettings, open_failure};
use crate::wiring::SystemClock;

pub fn run(settings: &Settings, arguments: &cli::Migrate, output: Output) -> Result<(), Failure> {
    let from = location(settings, "--from", &arguments.from)?;
    let to = location(settings, "--to", &arguments.to)?;
    if from.shown() == to.shown() {
        let message = format!("--from and --to name the same store, {}", from.shown());
        return Err(Failure::new(Exit::Usage, message));
    }
    refuse_to_make(&from)?;
    if arguments.check {
        refuse_to_make(&to)?;
    } else {
        refuse_sealed_notes(&from)?;
    }
    let open = |location: &StoreLocation| location.open().map_err(|error| open_failure(&error));
    // It moves away from a disk that is full.
    let source = match from.open() {
        Err(error) if matches!(error.fault, OpenFault::Full | OpenFault::ReadOnly) => {
            from.open_to_read(error.fault).map(|(store, _)| store)
        }
        opened => opened,
    };
    let source = source.map_err(|error| open_failure(&error))?;
    let target = open(&to)?;
    let data = &settings.data;
    let copied = if arguments.check {
        None
    } else {
        Some(transfer(&*source, Arc::clone(&target), to.machine(data)?)?)
    };
    let machine = if from.is_shared() { &from } else { &to }.machine(data)?;
    let compared = compare_stores(&*source, &*target, &machine)?;
    report(&from, &to, copied, &compared, output)
}

/// Returns the store at a place that an argument names.
fn location(settings: &Settings, argument: &str, text: &str) -> Result<StoreLocation, Failure> {
    let wrong =
        |problem: &str| Failure::new(Exit::Usage, format!("the place after {argument} {problem}"));
    let (place, password) = StorePlace::read(text).map_err(|problem| wrong(&problem))?;
    let mut store = StoreSettings {
        place,
        ..settings.store.clone()
    };
    if password.is_some() {
        store.server.password = password;
    }
    store.check().map_err(|error| wrong(&error.problem()))?;
    Ok(store.location(&settings.data))
}

/// Refuses a folder without a store, since opening it would make an empty one.
fn refuse_to_make(location: &StoreLocation) -> Result<(), Failure> {
    let is_missing = location
        .files()
        .is_ok_and(|files| !files.database().is_file());
    if is_missing {
        let message = format!("there is no store in {}", location.shown());
        return Err(Failure::new(Exit::Usage, message));
    }
    Ok(())
}

/// Refuses a store whose notes are sealed: their files stay, and the other store has no key to them.
fn refuse_sealed_notes(location: &StoreLocation) -> Result<(), Failure> {
    let StoreLocation::Folder { folder, .. } = location else {
        return Ok(());
    };
    let file = KeyFile::read(folder).ok().flatten();
    if file.is_some_and(|file| file.seals_notes()) {
        let message = format!(
            "the notes of {} are sealed, and the other store has no key to them: put them into the clear first \
             (`loci encrypt --notes clear`)",
            location.shown()
        );
        return Err(Failure::new(Exit::Usage, message));
    }
    Ok(())
}

/// Copies everything from one store into another. Files of the machine that the first one lies on
/// become files of `machine`; empty for the machine that the second one lies on.
///
/// # Errors
/// If one store does not answer; what was copied stays.
pub fn transfer(
    from: &dyn OpenStore,
    to: Arc<dyn OpenStore>,
    machine: String,
) -> Result<CopyReport, Failure> {
    let shared: Arc<dyn Store> = Arc::<dyn OpenStore>::clone(&to);
    // No text is embedded: the vectors come along.
    let engine = Engine::new(
        shared,
        Arc::new(NoModel::new()),
        Arc::new(SystemClock),
        SearchMode::Words,
    )
    .with_machine(machine);
    let bar = Progress::new("records");
    bar.begin(from.size()?.memories);
    let (advance, notice) = (
        |records| bar.advance(records),
        |message: &str| status_line(OneLine(message)),
    );
    Ok(copy(
        from,
        &engine,
        &*to,
        SystemClock.now(),
        &advance,
        &notice,
    )?)
}

fn compare_stores(
    from: &dyn OpenStore,
    to: &dyn OpenStore,
    machine: &str,
) -> Result<Comparison, Failure> {
    let bar = Progress::new("records compared");
    bar.begin(2 * from.size()?.memories);
    Ok(compare(from, to, machine, SystemClock.now(), &|records| {
        bar.advance(records);
    })?)
}

fn report(
    from: &StoreLocation,
    to: &StoreLocation,
    copied: Option<CopyReport>,
    compared: &Comparison,
    output: Output,
) -> Result<(), Failure> {
    let (source, target) = (from.shown(), to.shown());
    let mut text = String::new();
    if let Some(CopyReport {
        records,
        present,
        refused,
        tokens,
        audit,
    }) = copied
    {
        text += &format!(
            "copied {records} records, {tokens} tokens and {audit} audit entries into {target}; {present} records were \
             there, {refused} were refused\n"
        );
    }
    let Comparison {
        compared: count,
        differing,
        named,
        further,
    } = compared;
    if compared.is_equal() {
        text += &format!("equal: {count} records, tokens and audit entries\n");
    } else if *differing == 0 {
        text += &format!(
            "everything in {source} is in {target} ({count} records, tokens and audit entries), which has {further} \
             besides\n"
        );
    }
    let copied = copied.map(|copied| {
        json!({
            "records": copied.records, "present": copied.present, "refused": copied.refused,
            "tokens": copied.tokens, "audit_entries": copied.audit,
        })
    });
    let value = json!({
        "from": source, "to": target, "copied": copied, "compared": count, "equal": compared.is_equal(),
        "differing": differing, "further": further, "differences": named,
    });
    output.either(&value, text)?;
    if *differing == 0 {
        return Ok(());
    }
    for difference in named {
        status_line(OneLine(difference));
    }
    let message = format!(
        "{differing} of {count} records differ: changed while they were copied, or there before; stop what writes to \
         both stores and repeat it, or copy into an empty store"
    );
    Err(Failure::new(Exit::Failure, message))
}

/// Copies a store into files in a folder, which has none.
///
/// # Errors
/// As for [`transfer`], and if the folder cannot be written.
pub fn into_folder(
    from: &dyn OpenStore,
    settings: &Settings,
    folder: &Path,
) -> Result<Arc<dyn OpenStore>, Failure> {
    let store = StoreSettings {
        place: StorePlace::Folder(folder.to_owned()),
        ..settings.store.clone()
    };
    let opened = store.location(&settings.data).open();
    let store = opened.map_err(|error| open_failure(&error))?;
    let refused = transfer(from, Arc::clone(&store), String::new())?.refused;
    if refused > 0 {
        let message = format!("{refused} records cannot be copied; no backup was made");
        return Err(Failure::new(Exit::Failure, message));
    }
    Ok(store)
}

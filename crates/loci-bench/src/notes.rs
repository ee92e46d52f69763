//! `loci-bench notes`: measures a folder of notes, from the first indexing to an appended note.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use loci::exit::{Exit, Failure};
use loci::output::{Output, status_line};
use loci::wiring::SystemClock;
use loci_core::{Caller, Store};
use loci_engine::{AppendNote, Engine, ReconciliationReport, SearchMode};
use loci_store_sqlite::{Options, SqliteStore};
use loci_vault::VaultFolder;

use super::corpus::{NoCostModel, Random};
use super::figure::{self, Figure};
use super::speed::{folder_in, milliseconds, searches};

/// The number of measured starts with an unchanged folder.
const STARTS: usize = 9;
/// The number of notes that are appended, and of as many files written directly.
const APPENDED: usize = 100;
/// The number of notes of one kind before the other kind.
const BLOCK: usize = 20;
/// The number of subfolders.
const FOLDERS: usize = 20;
/// The number of words of a note: about a kilobyte.
const WORDS: usize = 150;
/// The age of the notes, so that every change shows in their time.
const AGE: Duration = Duration::from_hours(1);

pub fn run(folder: Option<&Path>, notes: usize, output: Output) -> Result<(), Failure> {
    let folder = folder_in(folder)?;
    let (data, vault) = (folder.path().join("data"), folder.path().join("vault"));
    status_line(format_args!("writing {notes} notes …"));
    write_notes(&vault, notes)?;
    status_line("indexing …");
    let mut figures = vec![first_indexing(&data, &vault, notes)?];
    figures.push(unchanged(&data, &vault, notes)?);
    let engine = engine(&data, &vault)?;
    figures.push(one_changed(&engine, &vault)?);
    status_line("appending …");
    figures.extend(appends(&engine, &vault)?);
    status_line("searching …");
    figures.extend(searches(&engine, notes)?);
    figure::print(&figures, output)
}

fn engine(data: &Path, vault: &Path) -> Result<Engine, Failure> {
    let store: Arc<dyn Store> =
        Arc::new(SqliteStore::open(data, Options::default()).map_err(loci_core::Error::from)?);
    let folder = VaultFolder::new(
        vault.to_owned(),
        data.join("vault.lock"),
        Arc::new(SystemClock),
    );
    let engine = Engine::new(
        store,
        Arc::new(NoCostModel::new()),
        Arc::new(SystemClock),
        SearchMode::Hybrid,
    );
    Ok(engine.with_notes(Arc::new(folder), "vault"))
}

/// Writes half of the notes with frontmatter, as this program writes it, and half as a person may.
fn write_notes(vault: &Path, notes: usize) -> Result<(), Failure> {
    let mut random = Random(7);
    let modified =
        std::time::SystemTime::UNIX_EPOCH + Duration::from_micros(now_microseconds()) - AGE;
    for number in 0..FOLDERS.min(notes.max(1)) {
        fs::create_dir_all(vault.join(format!("folder-{number}")))?;
    }
    for number in 0..notes {
        let body = random.words(WORDS);
        let text = if number % 2 == 0 {
            let uid = format!("01980000-0000-7000-8000-{number:012x}");
            format!(
                "---\nuid: {uid}\ntitle: Note {number}\nstatus: active\ntags:\n  - bench\n---\n{body}\n"
            )
        } else {
            format!("# Note {number}\n\n{body} #bench [[note-{}]]\n", number - 1)
        };
        let path = vault.join(format!("folder-{}/note-{number}.md", number % FOLDERS));
        let mut file = File::create(path)?;
        file.write_all(text.as_bytes())?;
        file.set_modified(modified)?;
    }
    Ok(())
}

fn now_microseconds() -> u64 {
    u64::try_from(loci_core::Clock::now(&SystemClock).microseconds()).unwrap_or_default()
}

fn first_indexing(data: &Path, vault: &Path, notes: usize) -> Result<Figure, Failure> {
    let engine = engine(data, vault)?;
    let begin = Instant::now();
    let reconciled = engine.system(&Caller::local()).notes().reconcile()?;
    let rate = notes as f64 / begin.elapsed().as_secs_f64();
    expect(reconciled.indexed == notes, &reconciled)?;
    Ok(Figure::one(
        format!("first indexing of {notes} notes, without embedding"),
        rate,
        "/s",
        "3000",
    ))
}

/// Measures from the opening of the store, as a process does at its start.
fn unchanged(data: &Path, vault: &Path, notes: usize) -> Result<Figure, Failure> {
    let mut times = Vec::new();
    for _ in 0..STARTS {
        let begin = Instant::now();
        let reconciled = engine(data, vault)?
            .system(&Caller::local())
            .notes()
            .reconcile()?;
        times.push(milliseconds(begin.elapsed()));
        expect(reconciled.unchanged == notes, &reconciled)?;
    }
    Ok(Figure::many(
        format!("start and reconciliation of {notes} unchanged notes"),
        times,
        "ms",
        "300",
    ))
}

fn one_changed(engine: &Engine, vault: &Path) -> Result<Figure, Failure> {
    let mut times = Vec::new();
    for round in 0..STARTS {
        fs::write(
            vault.join("folder-0/note-0.md"),
            format!("Round {round} of the bench\n"),
        )?;
        let begin = Instant::now();
        let reconciled = engine.system(&Caller::local()).notes().reconcile()?;
        times.push(milliseconds(begin.elapsed()));
        expect(reconciled.indexed == 1, &reconciled)?;
    }
    Ok(Figure::many(
        "reconciliation after one note changed",
        times,
        "ms",
        "",
    ))
}

/// Measures appended notes, and the device's time for the same two flushes in the same run.
fn appends(engine: &Engine, vault: &Path) -> Result<Vec<Figure>, Failure> {
    let mut random = Random(11);
    let (mut appended, mut flushed) = (Vec::new(), Vec::new());
    let by_hand = vault.join(".bench");
    fs::create_dir_all(&by_hand)?;
    for block in 0..APPENDED / BLOCK {
        for number in 0..BLOCK {
            let title = format!("Appended {block} {number}");
            let body = random.words(WORDS);
            let request = AppendNote {
                title,
                body,
                tags: Vec::new(),
                keyed: None,
            };
            let begin = Instant::now();
            engine.system(&Caller::local()).notes().append(request)?;
            appended.push(milliseconds(begin.elapsed()));
        }
        for number in 0..BLOCK {
            let text = random.words(WORDS);
            let begin = Instant::now();
            let (temporary, path) = (
                by_hand.join("temporary"),
                by_hand.join(format!("{block}-{number}")),
            );
            let mut file = File::create(&temporary)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&temporary, &path)?;
            File::open(&by_hand)?.sync_all()?;
            flushed.push(milliseconds(begin.elapsed()));
        }
    }
    let appended = Figure::many("append of a note without embedding", appended, "ms", "");
    let flushed = Figure::many(
        "the device's own file, rename and two flushes",
        flushed,
        "ms",
        "",
    );
    let beyond = Figure::one(
        "append beyond the device's own",
        appended.p50 - flushed.p50,
        "ms",
        "",
    );
    Ok(vec![appended, flushed, beyond])
}

fn expect(holds: bool, reconciled: &ReconciliationReport) -> Result<(), Failure> {
    let message =
        format!("the reconciliation did something else than the bench expected: {reconciled:?}");
    if holds {
        Ok(())
    } else {
        Err(Failure::new(Exit::Failure, message))
    }
}

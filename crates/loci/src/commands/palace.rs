//! `loci palace`: files projects and conversations as drawers.

mod export;
mod remarks;
mod trust;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::io;
use std::path::Path;

use loci_core::limits::LIST_RESULTS_MAX;
use loci_core::{CollectionFilter, FilingOrder, Memory, Tier};
use loci_dialects::mempalace;
use loci_engine::{Browse, Effect, Sync, SyncReport};
use loci_mine::plain_file::Refusal;
use loci_mine::project::{PLAN_FILE, Plan, plan_folders, propose};
use serde_json::{Value, json};

pub use self::export::{filed_text, mine_export};
use self::remarks::remarks;
use crate::cli::{Mine, Palace};
use crate::escaped::OneLine;
use crate::exit::{Exit, Failure};
use crate::output::{self, Output, counted, notice, status_line};
use crate::progress::Progress;
use crate::settings::Settings;
use crate::wiring::{CommandInfo, Parts};
use loci_ingest::trust::{Trust, plan_in};
use loci_ingest::wings::{WingConflict, Wings};
use loci_ingest::{Report, absolute, conversation, project};

pub fn run(settings: &Settings, command: &Palace, output: Output) -> Result<(), Failure> {
    match command {
        Palace::Init { folder, write } => init(settings, folder, *write, output),
        Palace::Trust {
            folder,
            revoke,
            list,
        } => {
            let action = trust::TrustAction::of(*revoke, *list);
            trust::run(&settings.data, folder.as_deref(), action, output)
        }
        Palace::Mine(arguments) => mine(settings, arguments, output),
        Palace::Sync {
            folder,
            wing,
            apply,
        } => sync(settings, folder.as_deref(), wing.as_deref(), *apply, output),
        Palace::WakeUp { wing, tokens } => wake_up(settings, wing.as_deref(), *tokens, output),
        Palace::Compress { wing, room, limit } => {
            compress(settings, wing.as_deref(), room.as_deref(), *limit, output)
        }
    }
}

fn init(settings: &Settings, folder: &Path, write: bool, output: Output) -> Result<(), Failure> {
    let root = absolute(folder)?;
    let plan = propose(Path::new(&root)).map_err(|error| unreadable(&root, &error))?;
    let (parts, mut trust) = (Parts::open(settings)?, Trust::read(&settings.data, notice)?);
    let info = ("palace init", "memory:write", Effect::Write);
    let wing = parts.logged_filing(info, |call| {
        Ok(Wings::new(call, &trust, !write).of(Path::new(&root))?)
    })?;
    let plan = Plan { wing, ..plan };
    let text = plan.to_text();
    let rooms: Value = plan
        .rooms
        .iter()
        .map(|(room, folders)| json!({"room": room, "folders": folders}))
        .collect();
    let file = Path::new(&root).join(PLAN_FILE);
    if write {
        let refused = |error: io::Error| {
            let message = match error.kind() {
                io::ErrorKind::AlreadyExists => {
                    format!(
                        "{} is there already; edit it, or remove it first",
                        file.display()
                    )
                }
                _ => format!("{} cannot be written: {error}", file.display()),
            };
            Failure::new(Exit::Usage, message)
        };
        let mut new = fs::File::create_new(&file).map_err(refused)?;
        io::Write::write_all(&mut new, text.as_bytes())
            .and_then(|()| new.sync_all())
            .map_err(refused)?;
        // The user who has the plan written agrees to it.
        trust.add(&root, &text)?;
    }
    output.either(
        &json!({"wing": plan.wing, "rooms": rooms, "written": write}),
        &text,
    )?;
    status_line(if write {
        format!(
            "written to {}; `loci palace mine` goes by it",
            file.display()
        )
    } else {
        "nothing is written; --write keeps it, `loci palace mine` files the folder".to_owned()
    });
    Ok(())
}

fn unreadable(root: &str, error: &io::Error) -> Failure {
    Failure::new(
        Exit::Usage,
        format!("{root} cannot be read: {error}; give a folder"),
    )
}

/// Returns the wing and rooms of the folder from its plan, or proposes them; a plan that another
/// user could have put there is not used. The wing is one that the user names or has agreed to, or
/// that of the project.
fn plan(wings: &Wings<'_>, root: &Path, wing: Option<&str>) -> Result<Plan, Failure> {
    let unusable = |problem: io::Error| {
        let message = format!(
            "{}: {problem}; correct or remove that file",
            root.join(PLAN_FILE).display()
        );
        Failure::new(Exit::Usage, message)
    };
    let found = match plan_in(root) {
        Err(error) if Refusal::of(&error).is_some() => None,
        found => found.map_err(unusable)?,
    };
    let plan = match found {
        Some((_, plan)) => plan,
        None => propose(root).map_err(|error| unreadable(&root.to_string_lossy(), &error))?,
    };
    let wing = match wing {
        Some(wing) => mempalace::place_name("--wing", wing)?,
        None => wings.of(root)?,
    };
    Ok(Plan { wing, ..plan })
}

/// The command that mines, in the audit log.
const MINE: CommandInfo = ("palace mine", "memory:write", Effect::Write);

fn mine(settings: &Settings, arguments: &Mine, output: Output) -> Result<(), Failure> {
    let root = absolute(&arguments.folder)?;
    let wing = arguments.wing.as_deref();
    let is_dry = arguments.dry_run;
    let trust = Trust::read(&settings.data, notice)?;
    let (parts, report) = if arguments.mode == "convos" {
        let wing = wing
            .map(|wing| mempalace::place_name("--wing", wing))
            .transpose()?;
        let parts = Parts::open(settings)?;
        let (wing, root) = (wing.as_deref(), Path::new(&root));
        let (is_shared, is_verbatim) = (arguments.shared, arguments.verbatim);
        let mining = conversation::Mining {
            wing,
            root,
            is_dry,
            is_shared,
            rereads: arguments.reread || arguments.again,
            files_again: arguments.again,
            is_verbatim,
            trust: &trust,
            batch: None,
        };
        let report = export::mine_conversations(&parts, &mining)?;
        (parts, report)
    } else {
        if !Path::new(&root).is_dir() {
            let message = format!(
                "{root} is no folder; give the folder of a project, or `--mode convos` for a transcript"
            );
            return Err(Failure::new(Exit::Usage, message));
        }
        let parts = Parts::open(settings)?;
        let report = parts.logged_filing(MINE, |call| {
            let wings = Wings::new(call, &trust, is_dry);
            let plan = plan(&wings, Path::new(&root), wing)?;
            let apart = wings.apart();
            let mining = project::Mining {
                root: &root,
                notes: Some(&parts.vault.folder),
                plan: &plan,
                is_dry,
                rereads: arguments.reread || arguments.again,
                files_again: arguments.again,
                is_verbatim: arguments.verbatim,
            };
            let report = project::mine(call, &mining, &Progress::new("files"))?;
            Ok(Report { apart, ..report })
        })?;
        (parts, report)
    };
    let pending = if is_dry {
        0
    } else {
        super::import::embed_pending(&parts, settings, !arguments.no_wait)?
    };
    let mut value = report.value(is_dry);
    value["pending_embeddings"] = json!(pending);
    output.either(&value, text_of(&report, is_dry, pending))?;
    if report.is_ignored {
        status_line(format_args!(
            "nothing is read: the rules of git exclude {root} itself"
        ));
    } else if arguments.mode != "convos" && wing.is_none() {
        note_plan_above(Path::new(&root));
    }
    verdict(&report)
}

/// Names the files that were not filed.
///
/// # Errors
/// [`Exit::Failure`] if there are any.
pub fn verdict(report: &Report) -> Result<(), Failure> {
    for (path, reason) in &report.failed {
        status_line(format_args!("not filed: {}: {reason}", OneLine(path)));
    }
    let unlisted = report.failures - report.failed.len() as u64;
    if unlisted > 0 {
        status_line(format_args!("not filed: {unlisted} more"));
    }
    if report.failures == 0 {
        Ok(())
    } else {
        Err(Failure::new(Exit::Failure, "some files were not filed"))
    }
}

/// Notes a plan above the folder. Its rooms count only in its own folder, because they name folders
/// below that.
fn note_plan_above(root: &Path) {
    let found = plan_folders(root).find(|folder| folder.join(PLAN_FILE).is_file());
    if let Some(above) = found.filter(|folder| *folder != root) {
        let folder = above.display();
        status_line(format_args!(
            "the rooms of {folder}/{PLAN_FILE} were not used: mine {folder}"
        ));
    }
}

fn text_of(report: &Report, is_dry: bool, pending: u64) -> String {
    let Report {
        wings,
        apart,
        files,
        read,
        moved,
        unchanged,
        passed_over,
        gone,
        ignored,
        drawers,
        failures,
        ..
    } = report;
    let wings: Vec<&str> = wings.iter().map(String::as_str).collect();
    let label = if wings.len() == 1 { "wing " } else { "wings" };
    let mut text = format!(
        "{label}     {}{}\n",
        wings.join(", "),
        if is_dry {
            "   (nothing is changed)"
        } else {
            ""
        }
    );
    for apart in apart {
        text += &apart_line(apart);
    }
    let _ = write!(text, "files     {files}: {read} read");
    if *moved > 0 {
        let _ = write!(text, " ({moved} of them moved)");
    }
    text += &compressed(&report.compressed);
    let _ = write!(text, ", {unchanged} unchanged");
    for (reason, count) in passed_over {
        let _ = write!(text, ", {count} {}", reason.replace('_', " "));
    }
    if *failures > 0 {
        let _ = write!(text, ", {failures} failed");
    }
    let _ = writeln!(
        text,
        "\ndrawers   {} added, {} kept, {} removed",
        drawers.added, drawers.kept, drawers.removed
    );
    let removal = "`loci palace sync --apply` removes what was made from them";
    for (label, count, what) in [
        ("gone   ", *gone, "no longer there"),
        ("ignored", *ignored, "ignored by git now"),
    ] {
        if count > 0 {
            let _ = writeln!(
                text,
                "{label}   {} filed before, {what}; {removal}",
                counted(count, "file")
            );
        }
    }
    text += &remarks(report);
    if pending > 0 {
        let _ = writeln!(
            text,
            "pending   {} not read by the model yet",
            counted(pending, "drawer")
        );
    }
    text
}

fn compressed(endings: &BTreeMap<String, u64>) -> String {
    let of_each =
        |(ending, count): (&String, &u64)| format!(" ({count} of them compressed, .{ending})");
    endings.iter().map(of_each).collect()
}

fn apart_line(apart: &WingConflict) -> String {
    let WingConflict { wing, name, .. } = apart;
    format!("apart     {wing}, since the wing {name} is that of another project\n")
}

fn sync(
    settings: &Settings,
    folder: Option<&Path>,
    wing: Option<&str>,
    apply: bool,
    output: Output,
) -> Result<(), Failure> {
    let request = Sync {
        // A folder that was deleted is named by its former path.
        root: folder
            .map(|folder| absolute(folder).or_else(|_| loci_ingest::named(folder)))
            .transpose()?,
        collections: match wing {
            Some(wing) => mempalace::wing_filter(&mempalace::place_name("--wing", wing)?),
            None => CollectionFilter::Any,
        },
        apply,
    };
    let info = ("palace sync", "memory:delete", Effect::Destroy);
    let synced = Parts::open_existing(settings)?
        .logged_filing(info, |call| Ok(call.sources().sync(&request)?))?;
    let SyncReport {
        scanned,
        kept,
        ignored,
        missing,
        no_source,
        out_of_scope,
        removed_memories,
        removed_passages,
        stale,
        away,
    } = &synced;
    let value = json!({
        "scanned": scanned, "kept": kept, "gitignored": ignored, "missing": missing, "no_source": no_source,
        "out_of_scope": out_of_scope, "removed_drawers": removed_memories, "removed_closets": removed_passages,
        "dry_run": !apply, "by_source": stale, "away": away,
    });
    let mut text = format!(
        "drawers   {scanned}: {kept} kept, {ignored} ignored by git, {missing} without their file, {no_source} of no \
         file, {out_of_scope} of other projects or machines\n"
    );
    for (path, drawers) in stale {
        let _ = writeln!(text, "{drawers:8}  {}", OneLine(path));
    }
    let _ = writeln!(text, "removed   {removed_memories}");
    output.either(&value, text)?;
    for root in away {
        status_line(format_args!(
            "{root} is not there: what was made from its files counts as kept"
        ));
    }
    if !apply && !stale.is_empty() {
        status_line("nothing is removed; --apply removes what is listed");
    }
    Ok(())
}

fn wake_up(
    settings: &Settings,
    wing: Option<&str>,
    tokens: u32,
    output: Output,
) -> Result<(), Failure> {
    let wing = wing
        .map(|wing| mempalace::place_name("--wing", wing))
        .transpose()?;
    let parts = Parts::open_current(settings)?;
    let system = parts.engine.system(&loci_ingest::caller());
    let (wing, tokens) = (wing.as_deref(), tokens as usize);
    let text = mempalace::wake_up(&system, wing, &mempalace::DIALECT, tokens)?;
    Ok(output.either(&json!({"text": text}), &text)?)
}

fn compress(
    settings: &Settings,
    wing: Option<&str>,
    room: Option<&str>,
    limit: u32,
    output: Output,
) -> Result<(), Failure> {
    let wing = wing
        .map(|wing| mempalace::place_name("--wing", wing))
        .transpose()?;
    let room = room
        .map(|room| mempalace::place_name("--room", room))
        .transpose()?;
    let request = Browse {
        collections: wing
            .as_deref()
            .map_or(CollectionFilter::Any, mempalace::wing_filter),
        sections: room.into_iter().collect(),
        tiers: vec![Tier::LongTerm],
        order: FilingOrder::LastFirst,
        limit: output::clamped(limit, LIST_RESULTS_MAX),
        ..Browse::default()
    };
    let limit = request.limit;
    let browsed = Parts::open_current(settings)?
        .engine
        .system(&loci_ingest::caller())
        .listings()
        .browse(request)?;
    let drawers: Vec<(&Memory, String)> = browsed
        .memories
        .iter()
        .map(|memory| (memory, mempalace::compressed(memory)))
        .collect();
    let values = drawers
        .iter()
        .map(|(memory, aaak)| json!({"drawer_id": memory.id.as_str(), "aaak": aaak}));
    let has_more = browsed.total > drawers.len() as u64 && limit < LIST_RESULTS_MAX;
    let more = has_more.then(|| format!("--limit {}", browsed.total));
    let value = output::listing("drawers", values, more);
    let texts: Vec<&str> = drawers.iter().map(|(_, aaak)| aaak.trim_end()).collect();
    let text = if texts.is_empty() {
        String::new()
    } else {
        texts.join("\n\n") + "\n"
    };
    output.either(&value, text)?;
    let (before, after) = drawers
        .iter()
        .fold((0, 0), |(before, after), (memory, aaak)| {
            (before + memory.content.len(), after + aaak.len())
        });
    status_line(format_args!(
        "{} of {}, {before} bytes as {after}",
        drawers.len(),
        counted(browsed.total, "drawer")
    ));
    Ok(())
}

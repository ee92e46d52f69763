//! `loci palace trust`: manages the plans of folders that the user agrees to.

use std::io;
use std::path::Path;

use loci_mine::project::{PLAN_FILE, PROJECT_FILE, Plan, plan_file, plan_folders};
use serde_json::{Value, json};

use crate::exit::{Exit, Failure};
use crate::output::{self, Output, notice, status_line};
use loci_ingest::trust::{Trust, plan_in};
use loci_ingest::{absolute, named};

/// The action that the user asks for.
pub enum TrustAction {
    /// Agree to a plan.
    Agree,
    /// Stop using a plan.
    Revoke,
    /// List the plans that the user agreed to.
    List,
}

impl TrustAction {
    /// Returns the action that the flags name.
    pub fn of(revoke: bool, list: bool) -> Self {
        match (revoke, list) {
            (_, true) => TrustAction::List,
            (true, _) => TrustAction::Revoke,
            _ => TrustAction::Agree,
        }
    }
}

pub fn run(
    data: &Path,
    folder: Option<&Path>,
    action: TrustAction,
    output: Output,
) -> Result<(), Failure> {
    let folder = folder.unwrap_or(Path::new("."));
    let mut trust = Trust::read(data, notice)?;
    match action {
        TrustAction::Agree => agree(&mut trust, folder, output),
        TrustAction::Revoke => revoke(&mut trust, folder, output),
        TrustAction::List => list(&trust, output),
    }
}

fn agree(trust: &mut Trust, folder: &Path, output: Output) -> Result<(), Failure> {
    let root = absolute(folder)?;
    for folder in plan_folders(Path::new(&root)) {
        let file = folder.join(plan_file(folder));
        let unusable = |problem: io::Error| {
            Failure::new(
                Exit::Usage,
                format!("{} cannot be used: {problem}", file.display()),
            )
        };
        if let Some((text, plan)) = plan_in(folder).map_err(unusable)? {
            // The folders of a UTF-8 path are UTF-8.
            let folder = folder.to_str().unwrap_or_default();
            let Plan { wing, rooms } = &plan;
            let rooms: Value = rooms
                .iter()
                .map(|(room, folders)| json!({"room": room, "folders": folders}))
                .collect();
            let value = json!({"folder": folder, "wing": wing, "rooms": rooms});
            output.either(&value, plan.to_text())?;
            trust.add(folder, &text)?;
            status_line(format_args!(
                "{} counts from now on, until its text changes",
                file.display()
            ));
            return Ok(());
        }
    }
    let message = format!(
        "there is no {PLAN_FILE} or {PROJECT_FILE} in {root}, nor above it in its repository; `loci palace init` makes one"
    );
    Err(Failure::new(Exit::Usage, message))
}

fn revoke(trust: &mut Trust, folder: &Path, output: Output) -> Result<(), Failure> {
    // A folder that was deleted is named by its former path.
    let root = absolute(folder).or_else(|_| named(folder))?;
    for folder in Path::new(&root).ancestors().filter_map(Path::to_str) {
        if trust.remove(folder)? {
            let value = json!({"folder": folder, "revoked": true});
            return Ok(output.either(
                &value,
                format_args!("the plan of {folder} does not count any longer\n"),
            )?);
        }
    }
    let message =
        format!("no plan of {root} is trusted; `loci palace trust --list` shows those that are");
    Err(Failure::new(Exit::Usage, message))
}

fn list(trust: &Trust, output: Output) -> Result<(), Failure> {
    let row = |folder: &str| {
        // The folder may be deleted, and its plan may have changed.
        let plan = plan_in(Path::new(folder)).ok().flatten();
        plan.filter(|(text, _)| trust.has(Path::new(folder), text))
            .map(|(_, plan)| plan.wing)
    };
    let rows: Vec<(&str, Option<String>)> = trust
        .plans()
        .iter()
        .map(|plan| (plan.folder.as_str(), row(&plan.folder)))
        .collect();
    let values = rows
        .iter()
        .map(|(folder, wing)| json!({"folder": folder, "wing": wing}));
    let value = output::listing("plans", values, None);
    let lines = rows.iter().map(|(folder, wing)| match wing {
        Some(wing) => format!("{folder}  wing {wing}\n"),
        None => format!("{folder}  its plan has changed or is gone\n"),
    });
    Ok(output.either(&value, lines.collect::<String>())?)
}

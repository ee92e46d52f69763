//! Where the files of a project belong.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::Path;
use std::{fs, io};

use loci_core::{Error, ErrorCode, Result};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::rules::{is_gone, top_of};
use super::{Project, absolute, read, walk};
use crate::plain_file;

/// The name of the file at the top of a project that holds its plan. It is hidden, so it is never
/// read as one of the project's own.
pub const PLAN_FILE: &str = ".loci-palace.toml";
/// The name of the file in which mememory names the project of a folder, in JSON. It is a plan without
/// rooms.
pub const PROJECT_FILE: &str = ".mememory";
/// Bytes of a plan.
const PLAN_BYTES_MAX: u64 = 256 << 10;
/// The room of what belongs to no other.
const GENERAL: &str = "general";

/// The wing of a folder whose name has no letter or digit.
const NAMELESS: &str = "project";
/// The wing that is no collection at all, and so none of a project.
const GLOBAL: &str = "global";
/// Characters in the name of a wing or a room.
const NAME_CHARACTERS_MAX: usize = 128;

/// A folder's proposal of where its files belong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The wing: the name of the project that the folder is of.
    pub wing: String,
    /// The rooms, each with the folders below the root (`/` between the parts) whose files belong
    /// there. A file belongs to the room of the longest folder that it is in, else to `general`.
    pub rooms: Vec<(String, Vec<String>)>,
}

/// Proposes the plan of a folder: a room for each folder at its top that holds files to read. Rooms
/// have the names of the folders in lower case, with `_` for spaces and hyphens; folders whose
/// names are the same then share a room.
///
/// # Errors
/// As for [`walk`].
pub fn propose(root: &Path) -> io::Result<Plan> {
    let walked = walk(root)?;
    let root = absolute(root)?;
    let mut folders = BTreeSet::new();
    for (file, _) in &walked.files {
        let mut parts = file.strip_prefix(&root).unwrap_or(file).iter();
        let folder = parts.next().and_then(|folder| folder.to_str());
        // One file that can be read is enough.
        if let Some(folder) = folder
            && parts.next().is_some()
            && !folders.contains(folder)
            && matches!(read(file), Ok(Ok(_)))
        {
            folders.insert(folder);
        }
    }
    let mut rooms: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for folder in folders {
        rooms
            .entry(named(folder, '_', GENERAL))
            .or_default()
            .push(folder.to_owned());
    }
    Ok(Plan {
        wing: Project::of(&root).name,
        rooms: rooms.into_iter().collect(),
    })
}

/// The folders whose plans may be about what happens in a folder, the nearest first: itself and the
/// folders above it, up to the top of its repository; only itself if it is in none.
pub fn plan_folders(folder: &Path) -> impl Iterator<Item = &Path> {
    let top = top_of(folder).unwrap_or(folder);
    folder
        .ancestors()
        .take_while(move |above| above.starts_with(top))
}

/// The name of the file that holds the plan of a folder: mememory's, if there is no other. A folder of
/// that name, in which mememory keeps its data, is none.
pub fn plan_file(folder: &Path) -> &'static str {
    let is_file = |name: &str| {
        let metadata = fs::symlink_metadata(folder.join(name));
        metadata.is_ok_and(|metadata| !metadata.is_dir())
    };
    if !is_file(PLAN_FILE) && is_file(PROJECT_FILE) {
        PROJECT_FILE
    } else {
        PLAN_FILE
    }
}

/// The text of the plan in a folder; none if it has no plan.
///
/// # Errors
/// If it cannot be read, is not UTF-8, or is [refused](plain_file::Refusal): a link, no plain file,
/// of more than 256 KiB, or a file that another user owns or may write, or could put there.
pub fn read_plan(folder: &Path) -> io::Result<Option<String>> {
    match plain_file::read_own(&folder.join(plan_file(folder)), PLAN_BYTES_MAX) {
        Ok(bytes) => String::from_utf8(bytes).map(Some).map_err(|error| {
            let problem = format!("it is not text in UTF-8: {error}");
            io::Error::new(io::ErrorKind::InvalidData, problem)
        }),
        Err(error) if is_gone(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The name of a wing for a folder with that name, in lower case. Its blanks stay, because a wing
/// may have them.
pub fn place_name(folder: &OsStr) -> String {
    let name = named(&folder.to_string_lossy(), ' ', NAMELESS);
    if name == GLOBAL {
        format!("{GLOBAL}_{NAMELESS}")
    } else {
        name
    }
}

/// The legal name next to that of a folder, with `blank` for white space.
fn named(folder: &str, blank: char, nameless: &str) -> String {
    let is_inside = |character: char| {
        !character.is_control() && !matches!(character, '/' | '\\' | '-' | '\u{fffd}')
    };
    let clean = |character: char| {
        if !is_inside(character) {
            '_'
        } else if character.is_whitespace() {
            blank
        } else {
            character
        }
    };
    let mut name: String = folder.to_lowercase().chars().map(clean).collect();
    while name.contains("..") {
        name = name.replace("..", ".");
    }
    let is_edge = |character: char| !character.is_alphanumeric();
    let name: String = name
        .trim_start_matches(is_edge)
        .chars()
        .take(NAME_CHARACTERS_MAX)
        .collect();
    let name = name.trim_end_matches(is_edge);
    if name.is_empty() {
        nameless.to_owned()
    } else {
        name.to_owned()
    }
}

/// Says what is wrong with the name of a wing or a room, or how it is written.
pub type NameRule<'a> = &'a dyn Fn(&str) -> Result<String>;

impl Plan {
    /// The room of a file of that project.
    pub fn room_of(&self, root: &Path, file: &Path) -> &str {
        let root = absolute(root);
        let below = root
            .iter()
            .find_map(|root| file.strip_prefix(root).ok())
            .and_then(Path::parent);
        let rooms = self
            .rooms
            .iter()
            .flat_map(|(room, folders)| folders.iter().map(move |folder| (folder, room)));
        let own = rooms.filter(|(folder, _)| below.is_some_and(|below| below.starts_with(folder)));
        own.max_by_key(|(folder, _)| folder.split('/').count())
            .map_or(GENERAL, |(_, room)| room)
    }

    /// The plan as a person may read and change it, for [`PLAN_FILE`]: TOML with the rooms in the
    /// order of names.
    pub fn to_text(&self) -> String {
        let mut text =
            "# Where loci files what is in this folder: the wing, and for each room the folders whose files \
                        belong there.\n# What is in none of them goes to the room \"general\". Change it as you \
                        like.\n\n"
                .to_owned();
        text.push_str(&format!("wing = {}\n\n[rooms]\n", quoted(&self.wing)));
        let rooms: BTreeMap<&str, &[String]> = self
            .rooms
            .iter()
            .map(|(room, folders)| (room.as_str(), folders.as_slice()))
            .collect();
        for (room, folders) in rooms {
            let is_bare = room
                .chars()
                .all(|character| character.is_ascii_alphanumeric() || character == '_');
            let room = if is_bare {
                room.to_owned()
            } else {
                quoted(room)
            };
            let folders: Vec<String> = folders.iter().map(|folder| quoted(folder)).collect();
            text.push_str(&format!("{room} = [{}]\n", folders.join(", ")));
        }
        text
    }

    /// Reads a plan from such a text, with names as `rule` has them. The rooms come in the order of
    /// names.
    ///
    /// # Errors
    /// `invalid_argument` if it is no plan; the message names the line and what is expected there.
    pub fn parse(text: &str, rule: NameRule<'_>) -> Result<Self> {
        if text.trim_start().starts_with('{') {
            return parse_project(text, rule);
        }
        let table = DeTable::parse(text).map_err(|error| {
            at(
                text,
                error.span().map_or(0, |span| span.start),
                error.message(),
            )
        })?;
        let mut plan = Plan {
            wing: String::new(),
            rooms: Vec::new(),
        };
        for (key, value) in table.get_ref() {
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("wing", DeValue::String(wing)) => {
                    plan.wing = checked_name(text, value.span().start, wing, rule)?;
                }
                ("wing", _) => {
                    return Err(at(
                        text,
                        value.span().start,
                        "expected a name in quotes for `wing`",
                    ));
                }
                ("rooms", DeValue::Table(rooms)) => plan.rooms = parse_rooms(text, rooms, rule)?,
                ("rooms", _) => {
                    return Err(at(
                        text,
                        value.span().start,
                        "expected a table `[rooms]` with a line for each room",
                    ));
                }
                _ => {
                    return Err(at(
                        text,
                        key.span().start,
                        "expected nothing but `wing` and `[rooms]`",
                    ));
                }
            }
        }
        if plan.wing.is_empty() {
            return Err(at(text, 0, "expected `wing = \"a name\"` at the top"));
        }
        Ok(plan)
    }
}

/// Parses the JSON with which mememory names a project. Its other keys are of no concern here.
fn parse_project(text: &str, rule: NameRule<'_>) -> Result<Plan> {
    let value: serde_json::Value = serde_json::from_str(text)
        .map_err(|error| at_line(error.line(), "it is no JSON").caused_by(error))?;
    let Some(project) = value.get("project").and_then(serde_json::Value::as_str) else {
        return Err(at(text, 0, "expected `\"project\": \"a name\"`"));
    };
    Ok(Plan {
        wing: checked_name(text, 0, project, rule)?,
        rooms: Vec::new(),
    })
}

fn parse_rooms(
    text: &str,
    table: &DeTable<'_>,
    rule: NameRule<'_>,
) -> Result<Vec<(String, Vec<String>)>> {
    let mut rooms = Vec::new();
    let mut known = BTreeSet::new();
    for (key, value) in table {
        let room = checked_name(text, key.span().start, key.get_ref(), rule)?;
        let DeValue::Array(array) = value.get_ref() else {
            return Err(at(
                text,
                value.span().start,
                "expected a list of folders, such as [\"src\", \"web/src\"]",
            ));
        };
        let mut folders = Vec::new();
        for folder in array {
            let name = checked_folder(text, folder)?;
            if !known.insert(name.clone()) {
                return Err(at(
                    text,
                    folder.span().start,
                    "expected each folder in one room alone, once",
                ));
            }
            folders.push(name);
        }
        rooms.push((room, folders));
    }
    Ok(rooms)
}

fn checked_name(text: &str, place: usize, name: &str, rule: NameRule<'_>) -> Result<String> {
    rule(name).map_err(|error| at(text, place, &error.message))
}

fn checked_folder(text: &str, folder: &Spanned<DeValue<'_>>) -> Result<String> {
    let name = folder
        .get_ref()
        .as_str()
        .map(|name| name.strip_suffix('/').unwrap_or(name));
    let is_part = |part: &str| !matches!(part, "" | "." | "..") && !part.contains('\0');
    match name {
        Some(name) if name.split('/').all(is_part) => Ok(name.to_owned()),
        _ => Err(at(
            text,
            folder.span().start,
            "expected a folder below this one in quotes, such as \"web/src\"",
        )),
    }
}

fn at(text: &str, place: usize, problem: &str) -> Error {
    let line = text
        .bytes()
        .take(place)
        .filter(|byte| *byte == b'\n')
        .count()
        + 1;
    at_line(line, problem)
}

fn at_line(line: usize, problem: &str) -> Error {
    let message = format!("line {line} of the plan: {problem}");
    Error::new(ErrorCode::InvalidArgument, message)
}

/// A basic string of TOML (<https://toml.io/en/v1.0.0#string>).
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            _ if character.is_control() => quoted.push_str(&format!("\\u{:04X}", character as u32)),
            _ => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}

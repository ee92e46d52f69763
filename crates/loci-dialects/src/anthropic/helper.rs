//! The commands, with the words of the helper in Anthropic's SDKs (anthropic 2.14.0 for Python,
//! @anthropic-ai/sdk 1.14.0 for TypeScript).

use std::collections::BTreeMap;

use loci_core::{Error, ErrorCode, Result};
use loci_engine::{Call, FileTree, HelperLanguage, MemoryFile, writer_of};
use percent_encoding::percent_decode_str;

/// The outermost folder.
const ROOT: &str = "/memories";
/// The size of a folder, as file systems have it.
const FOLDER_SIZE: &str = "4K";
/// The most lines of a file that are shown.
const LINES_MAX: usize = 999_999;
/// The number of lines before and after a change that are shown.
const AROUND: usize = 2;
/// The number of times that an encoded path is decoded, to see where it leads.
const DECODINGS_MAX: usize = 4;

/// A reply, and a notice beside it.
type Outcome = Result<(String, Option<String>)>;

/// A text to replace, and the one to put in its place.
pub struct Replacement {
    pub old: String,
    pub new: String,
}

/// A text to insert after a line.
pub struct Insertion {
    pub line: i64,
    pub text: String,
}

/// Returns the error for a command that the tool does not have.
pub fn unknown_command(language: HelperLanguage, command: &str) -> Error {
    let message = match language {
        HelperLanguage::Python => format!("Unknown command: {command}"),
        HelperLanguage::TypeScript => format!("{command} not implemented"),
    };
    Error::new(ErrorCode::InvalidArgument, message)
}

fn refused(message: String) -> Error {
    Error::new(ErrorCode::InvalidArgument, message)
}

fn missing(path: &str) -> Error {
    Error::not_found(format!("The path {path} does not exist"))
}

fn missing_to_read(path: &str) -> Error {
    Error::not_found(format!(
        "The path {path} does not exist. Please provide a valid path."
    ))
}

/// Returns a path as the tree has it, e.g. `a/b.md` of `/memories/./a//b.md`.
///
/// # Errors
/// `invalid_argument` for a path that is not under `/memories`, or leads out, also in an encoded
/// form, e.g. `/memories/%2e%2e/x`: no file needs such a name, and who decodes it later is led out.
fn checked(path: &str) -> Result<String> {
    let escapes = || refused(format!("Path {path} would escape /memories directory"));
    let Some(relative) = path.strip_prefix(ROOT) else {
        return Err(refused(format!(
            "Path must start with /memories, got: {path}"
        )));
    };
    let mut decoded = relative.to_owned();
    for _ in 0..DECODINGS_MAX {
        let next = percent_decode_str(&decoded).decode_utf8_lossy();
        if *next == *decoded {
            break;
        }
        decoded = next.into_owned();
        within(&decoded.replace('\\', "/")).ok_or_else(escapes)?;
    }
    within(&relative.replace('\\', "/")).ok_or_else(escapes)?;
    if relative.chars().any(char::is_control) {
        return Err(refused(format!(
            "Path {path} must not hold control characters"
        )));
    }
    within(relative).ok_or_else(escapes)
}

/// Returns a path without empty parts and dots; `None` if it leads out of the folder.
fn within(path: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

fn language(call: &Call<'_>) -> HelperLanguage {
    call.engine().policy().memory_tool
}

/// Returns the tree that has this path: one's own files if it is among them, or else all.
fn tree_with(call: &Call<'_>, path: &str) -> Result<FileTree> {
    let own = call.memory_files().tree(false)?;
    if own.files.contains_key(path) {
        return Ok(own);
    }
    call.memory_files().tree(true)
}

/// Returns the file of a path.
fn file_of<'t>(tree: &'t FileTree, at: &str, path: &str) -> Result<&'t MemoryFile> {
    if let Some(file) = tree.files.get(at) {
        return Ok(file);
    }
    if tree.has_folder(at) {
        return Err(refused(format!("The path {path} is not a file.")));
    }
    Err(missing_to_read(path))
}

/// Returns the notice of the writer of a text, if that is another one than the caller.
fn notice_of(call: &Call<'_>, file: &MemoryFile) -> Option<String> {
    let writer = writer_of(call.caller(), file.memory.as_ref()?)?;
    Some(format!("{writer} wrote this"))
}

/// Shows a file with the numbers of its lines, or the names in a folder.
pub fn view(call: &Call<'_>, path: &str, range: Option<&[i64]>) -> Outcome {
    let given = checked(path)?;
    let tree = tree_with(call, &given)?;
    let at = tree.resolved(&given);
    if let Some(file) = tree.files.get(at) {
        call.nodes().note_shown(file.memory.iter());
        let text = numbered(language(call), path, &file.text, range)?;
        return Ok((text, notice_of(call, file)));
    }
    if !tree.has_folder(at) {
        return Err(missing_to_read(path));
    }
    let language = language(call);
    let mut lines = vec![format!("{FOLDER_SIZE}\t{path}")];
    list(&tree, language, at, &mut |size, name| {
        lines.push(format!("{size}\t{path}/{name}"));
    });
    let further = match language {
        HelperLanguage::Python => "",
        HelperLanguage::TypeScript => " and node_modules",
    };
    let text = format!(
        "Here're the files and directories up to 2 levels deep in {path}, excluding hidden items{further}:\n{}",
        lines.join("\n")
    );
    let notice = tree
        .is_cut
        .then(|| "only the first 10,000 files were looked through".to_owned());
    Ok((text, notice))
}

/// Passes on the names in a folder and in its folders, sorted, each with its size. Hidden ones are
/// left out.
fn list(
    tree: &FileTree,
    language: HelperLanguage,
    folder: &str,
    found: &mut impl FnMut(String, String),
) {
    for (name, below) in names_in(tree, language, folder) {
        let path = joined(folder, &name);
        if let Some(file) = tree.files.get(&path) {
            found(size(language, file.text.len()), name);
        } else if below {
            found(FOLDER_SIZE.to_owned(), format!("{name}/"));
            for (inner, below) in names_in(tree, language, &path) {
                let path = joined(&path, &inner);
                if let Some(file) = tree.files.get(&path) {
                    found(size(language, file.text.len()), format!("{name}/{inner}"));
                } else if below {
                    found(FOLDER_SIZE.to_owned(), format!("{name}/{inner}/"));
                }
            }
        }
    }
}

fn joined(folder: &str, name: &str) -> String {
    if folder.is_empty() {
        name.to_owned()
    } else {
        format!("{folder}/{name}")
    }
}

/// Returns the names in a folder that are not hidden, sorted; with true for a folder.
fn names_in(tree: &FileTree, language: HelperLanguage, folder: &str) -> Vec<(String, bool)> {
    let name_of = |path: &str| {
        let rest = if folder.is_empty() {
            path
        } else {
            path.strip_prefix(folder)?.strip_prefix('/')?
        };
        (!rest.is_empty() && !rest.contains('/')).then(|| rest.to_owned())
    };
    let files = tree.files.keys().map(|path| (path, false));
    let folders = tree.folders.iter().map(|path| (path, true));
    let names: BTreeMap<String, bool> = files
        .chain(folders)
        .filter_map(|(path, is_folder)| Some((name_of(path)?, is_folder)))
        .filter(|(name, _)| {
            let is_left_out = language == HelperLanguage::TypeScript && name == "node_modules";
            !name.starts_with('.') && !is_left_out
        })
        .collect();
    let mut names: Vec<(String, bool)> = names.into_iter().collect();
    if language == HelperLanguage::TypeScript {
        // JavaScript compares the units of UTF-16.
        names.sort_by(|left, right| left.0.encode_utf16().cmp(right.0.encode_utf16()));
    }
    names
}

/// Returns a number of bytes as the helper shows it, e.g. `12B`, `1K`, `2.9K`.
fn size(language: HelperLanguage, bytes: usize) -> String {
    const UNITS: [&str; 4] = ["B", "K", "M", "G"];
    if bytes == 0 {
        return "0B".to_owned();
    }
    let unit = (bytes.ilog2() as usize / 10).min(UNITS.len() - 1);
    let divisor = 1_usize << (10 * unit);
    if bytes.is_multiple_of(divisor) {
        return format!("{}{}", bytes / divisor, UNITS[unit]);
    }
    let tenths = match language {
        HelperLanguage::Python => {
            return format!("{:.1}{}", bytes as f64 / divisor as f64, UNITS[unit]);
        }
        // JavaScript rounds a half up, e.g. 1,280 bytes to 1.3K, where Python says 1.2K.
        HelperLanguage::TypeScript => (20 * bytes + divisor) / (2 * divisor),
    };
    format!("{}.{}{}", tenths / 10, tenths % 10, UNITS[unit])
}

/// Returns lines of a text with their numbers.
fn numbered(
    language: HelperLanguage,
    path: &str,
    text: &str,
    range: Option<&[i64]>,
) -> Result<String> {
    let lines: Vec<&str> = text.split('\n').collect();
    if lines.len() > LINES_MAX {
        return Err(refused(match language {
            HelperLanguage::Python => {
                format!("File {path} exceeds maximum line limit of 999,999 lines.")
            }
            HelperLanguage::TypeScript => format!(
                "File {path} has too many lines ({}). Maximum is 999,999 lines.",
                lines.len()
            ),
        }));
    }
    let (first, last) = match range {
        Some(&[first, last]) => {
            let first = usize::try_from(first.max(1) - 1).unwrap_or(usize::MAX);
            (first, end_of_slice(last, lines.len()))
        }
        _ => (0, lines.len()),
    };
    let shown = lines.get(first..last).unwrap_or_default();
    Ok(format!(
        "Here's the content of {path} with line numbers:\n{}",
        with_numbers(shown, first)
    ))
}

/// Returns the end of a slice as Python and JavaScript understand it: the last line for -1, and
/// another negative number from the end.
fn end_of_slice(last: i64, lines: usize) -> usize {
    let count = i64::try_from(lines).unwrap_or(i64::MAX);
    let end = match last {
        -1 => count,
        ..-1 => (count + last).max(0),
        _ => last.min(count),
    };
    usize::try_from(end).unwrap_or(lines)
}

fn with_numbers(lines: &[&str], first: usize) -> String {
    let lines = lines
        .iter()
        .enumerate()
        .map(|(index, line)| format!("{:>6}\t{line}", first + index + 1));
    lines.collect::<Vec<_>>().join("\n")
}

/// Creates a file.
pub fn create(call: &Call<'_>, path: &str, text: &str) -> Outcome {
    let at = checked(path)?;
    let tree = tree_with(call, &at)?;
    if tree.exists(&at) {
        return Err(refused(format!("File {path} already exists")));
    }
    refuse_below_a_file(&tree, &at, path)?;
    call.memory_files()
        .create(&at, text)
        .map_err(|error| error.renamed("content", "file_text"))?;
    Ok((format!("File created successfully at: {path}"), None))
}

fn refuse_below_a_file(tree: &FileTree, at: &str, path: &str) -> Result<()> {
    if tree.is_below_a_file(at) {
        return Err(refused(format!(
            "The path {path} lies below a file, not a folder"
        )));
    }
    Ok(())
}

/// Replaces a text that stands in a file once.
pub fn str_replace(call: &Call<'_>, path: &str, replacement: &Replacement) -> Outcome {
    let Replacement { old, new } = replacement;
    let given = checked(path)?;
    let tree = tree_with(call, &given)?;
    let at = tree.resolved(&given);
    let file = file_of(&tree, at, path)?;
    let text = &file.text;
    let (lines, count) = match language(call) {
        HelperLanguage::Python => (occurrences(text, old), text.matches(old.as_str()).count()),
        HelperLanguage::TypeScript => {
            let lines: Vec<usize> = (1..)
                .zip(text.split('\n'))
                .filter(|(_, line)| line.contains(old.as_str()))
                .map(|(number, _)| number)
                .collect();
            let count = lines.len();
            (lines, count)
        }
    };
    if count == 0 {
        return Err(refused(format!(
            "No replacement was performed, old_str `{old}` did not appear verbatim in {path}."
        )));
    }
    if count > 1 {
        let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
        return Err(refused(format!(
            "No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {}. Please ensure it is unique",
            lines.join(", ")
        )));
    }
    let changed = lines.first().copied().unwrap_or(1) - 1;
    let replaced = text.replacen(old.as_str(), new, 1);
    call.memory_files()
        .write(at, file, &replaced)
        .map_err(|error| error.renamed("content", "new_str"))?;
    let lines: Vec<&str> = replaced.split('\n').collect();
    let first = changed.saturating_sub(AROUND);
    let last = (changed + AROUND + 1).min(lines.len());
    let snippet = with_numbers(lines.get(first..last).unwrap_or_default(), first);
    Ok((
        format!(
            "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n{snippet}"
        ),
        None,
    ))
}

/// Returns the lines at which a text stands in another one, also where it overlaps itself.
fn occurrences(text: &str, wanted: &str) -> Vec<usize> {
    let mut lines = Vec::new();
    let (mut line, mut counted) = (1, 0);
    let starts = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    for at in starts.filter(|at| text[*at..].starts_with(wanted)) {
        line += text[counted..at].matches('\n').count();
        counted = at;
        lines.push(line);
    }
    lines
}

/// Inserts a text after a line of a file.
pub fn insert(call: &Call<'_>, path: &str, insertion: &Insertion) -> Outcome {
    let Insertion { line, text } = insertion;
    let given = checked(path)?;
    let tree = tree_with(call, &given)?;
    let at = tree.resolved(&given);
    let file = file_of(&tree, at, path)?;
    let language = language(call);
    let mut lines: Vec<&str> = file.text.split('\n').collect();
    let inserted = match language {
        HelperLanguage::Python => {
            if lines.last() == Some(&"") {
                lines.pop();
            }
            text.trim_end_matches('\n')
        }
        HelperLanguage::TypeScript => text.strip_suffix('\n').unwrap_or(text),
    };
    let count = lines.len();
    let Some(place) = usize::try_from(*line).ok().filter(|place| *place <= count) else {
        return Err(refused(match language {
            HelperLanguage::Python => format!(
                "Invalid `insert_line` parameter: {line}. It should be within the range [0, {count}]."
            ),
            HelperLanguage::TypeScript => format!(
                "Invalid `insert_line` parameter: {line}. It should be within the range of lines of the file: [0, {count}]"
            ),
        }));
    };
    lines.insert(place, inserted);
    let mut changed = lines.join("\n");
    if language == HelperLanguage::Python && !changed.ends_with('\n') {
        changed.push('\n');
    }
    call.memory_files()
        .write(at, file, &changed)
        .map_err(|error| error.renamed("content", "insert_text"))?;
    Ok((format!("The file {path} has been edited."), None))
}

/// Deletes a file, or a folder with everything in it.
pub fn delete(call: &Call<'_>, path: &str) -> Outcome {
    let given = checked(path)?;
    if given.is_empty() {
        return Err(refused(
            "Cannot delete the /memories directory itself".to_owned(),
        ));
    }
    // A folder may have files of others as well.
    let tree = tree_with(call, &given)?;
    let at = tree.resolved(&given);
    if !tree.exists(at) {
        return Err(missing(path));
    }
    call.memory_files().delete(&tree, at)?;
    Ok((format!("Successfully deleted {path}"), None))
}

/// Reports whether something can be deleted there.
pub fn is_there(call: &Call<'_>, path: &str) -> Result<bool> {
    let given = checked(path)?;
    let tree = tree_with(call, &given)?;
    Ok(!given.is_empty() && tree.exists(tree.resolved(&given)))
}

/// Renames or moves a file or a folder.
pub fn rename(call: &Call<'_>, old_path: &str, new_path: &str) -> Outcome {
    let (given, to) = (checked(old_path)?, checked(new_path)?);
    if given.is_empty() {
        return Err(refused(
            "Cannot rename the /memories directory itself".to_owned(),
        ));
    }
    let tree = call.memory_files().tree(true)?;
    if tree.exists(&to) {
        return Err(refused(format!(
            "The destination {new_path} already exists"
        )));
    }
    refuse_below_a_file(&tree, &to, new_path)?;
    let from = tree.resolved(&given);
    if !tree.exists(from) {
        // The helper makes the folders before it looks for what to move.
        call.memory_files().create_parents(&tree, &to)?;
        return Err(missing(old_path));
    }
    if to
        .strip_prefix(from)
        .is_some_and(|rest| rest.starts_with('/'))
    {
        return Err(refused(format!(
            "Cannot move {old_path} into itself, to {new_path}"
        )));
    }
    call.memory_files().rename(&tree, from, &to)?;
    Ok((
        format!("Successfully renamed {old_path} to {new_path}"),
        None,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_checked_as_the_helper_does() {
        let rows = [
            ("/memories", Some("")),
            ("/memories/", Some("")),
            ("/memories/a//./b.md/", Some("a/b.md")),
            ("/memories/a/../b", Some("b")),
            ("/memoriesb", Some("b")),
            ("/memories/100%", Some("100%")),
            ("/memories/a%20b", Some("a%20b")),
            ("memories/a", None),
            ("/memories/..", None),
            ("/memories/a/../../b", None),
            ("/memories/../x", None),
            ("/memories/%2e%2e/x", None),
            ("/memories/%252e%252e%252fx", None),
            ("/memories/..\\x", None),
            ("/memories/..%5cx", None),
            ("/memories/a\0b", None),
            ("/memories/a\nb", None),
        ];
        for (path, expected) in rows {
            assert_eq!(checked(path).ok().as_deref(), expected, "{path}");
        }
        assert_eq!(
            checked("/memories/%2e%2e/x").unwrap_err().message,
            "Path /memories/%2e%2e/x would escape /memories directory"
        );
    }

    #[test]
    fn sizes_are_rounded_as_in_each_language() {
        let rows = [
            (0, "0B", "0B"),
            (12, "12B", "12B"),
            (1023, "1023B", "1023B"),
            (1024, "1K", "1K"),
            (1280, "1.2K", "1.3K"),
            (2970, "2.9K", "2.9K"),
            (1_048_575, "1024.0K", "1024.0K"),
            (1_048_576, "1M", "1M"),
        ];
        for (bytes, python, typescript) in rows {
            assert_eq!(size(HelperLanguage::Python, bytes), python);
            assert_eq!(size(HelperLanguage::TypeScript, bytes), typescript);
        }
    }

    #[test]
    fn occurrences_may_overlap() {
        assert_eq!(occurrences("aaa\naa", "aa"), [1, 1, 2]);
        assert_eq!(occurrences("a\nb", ""), [1, 1, 2, 2]);
        assert!(occurrences("é", "e").is_empty());
    }
}

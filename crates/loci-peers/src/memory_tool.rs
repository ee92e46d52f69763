//! The folder of Anthropic's memory tool (anthropic 2.14.0): plain files, of which a path and a text are
//! all that is known. Hidden files are there although the tool's `view` does not show them.

use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::{Outlet, PeerError, PeerMemory, Result};

/// The folder within the one that a user names.
const FOLDER: &str = "memories";
/// The largest size of a file, which is that of a memory.
const FILE_BYTES_MAX: u64 = 1 << 20;

fn folder(path: &Path) -> PathBuf {
    let inner = path.join(FOLDER);
    if inner.is_dir() {
        inner
    } else {
        path.to_owned()
    }
}

/// Returns true if the folder is named as the tool's, because its files say nothing.
pub fn wrote(path: &Path) -> bool {
    path.join(FOLDER).is_dir()
        || path.is_dir() && path.file_name().is_some_and(|name| name == FOLDER)
}

pub fn read(path: &Path, outlet: &mut Outlet<'_>) -> Result<()> {
    let root = folder(path);
    let mut waiting = vec![root.clone()];
    let mut files = Vec::new();
    while let Some(folder) = waiting.pop() {
        let unreadable = |source| PeerError::File {
            file: folder.display().to_string(),
            source,
        };
        for entry in fs::read_dir(&folder).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let kind = entry.file_type().map_err(unreadable)?;
            if kind.is_dir() {
                waiting.push(entry.path());
            } else if kind.is_file() {
                files.push(entry.path());
            } else {
                // A link may lead out of the folder.
                outlet.report.leave_out("links");
            }
        }
    }
    files.sort();
    for file in files {
        let unreadable = |source| PeerError::File {
            file: file.display().to_string(),
            source,
        };
        let data = fs::metadata(&file).map_err(unreadable)?;
        if data.len() > FILE_BYTES_MAX {
            outlet.report.leave_out("files of more than 1 MiB");
            continue;
        }
        let Ok(text) = String::from_utf8(fs::read(&file).map_err(unreadable)?) else {
            outlet.report.leave_out("files that are no UTF-8 text");
            continue;
        };
        let relative = file.strip_prefix(&root).unwrap_or(&file);
        let name = relative.to_string_lossy().replace('\\', "/");
        let mut memory = PeerMemory::new(&*name, text);
        memory.title = Some(name.clone());
        memory.note("source_file", &name);
        let time = data
            .modified()
            .ok()
            .and_then(|time| Timestamp::try_from(time).ok());
        (memory.created_at, memory.updated_at) = (time, time);
        outlet.put_memory(memory)?;
    }
    Ok(())
}

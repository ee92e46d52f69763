//! The folder of Anthropic's memory tool (anthropic 2.14.0): plain files, of which a path and a text are
//! all that is known. Hidden files are there although the tool's `view` does not show them.

use std::path::{Path, PathBuf};

use crate::folder::{self, Hidden};
use crate::{Outlet, PeerMemory, Result};

/// The folder within the one that a user names.
const FOLDER: &str = "memories";

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
    for file in folder::files(&root, Hidden::Taken, &mut outlet.report)? {
        let Some(read) = folder::text(&file, &mut outlet.report)? else {
            continue;
        };
        let name = folder::relative(&root, &file);
        let mut memory = PeerMemory::new(&*name, read.text);
        memory.title = Some(name.clone());
        memory.note("source_file", &name);
        (memory.created_at, memory.updated_at) = (read.modified, read.modified);
        outlet.put_memory(memory)?;
    }
    Ok(())
}

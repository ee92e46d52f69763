//! Determines which file system events may have changed the content of a folder of notes.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use notify::event::{AccessKind, AccessMode, CreateKind, ModifyKind, RemoveKind};
use notify::{Event, EventKind};

/// The kind of a possible change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// Notes.
    Notes,
    /// Folders, which may have to be watched, or anything.
    Folders,
}

/// Returns the change that the event may have made in the folder `root`, if any. Opening, reading
/// and closing changes nothing.
pub fn change(root: &Path, event: &notify::Result<Event>) -> Option<Change> {
    let Ok(event) = event else {
        return Some(Change::Folders);
    };
    // The system lost events, or does not name their paths.
    if event.need_rescan() || event.paths.is_empty() {
        return Some(Change::Folders);
    }
    let is_visible = |path: &Path| match path.strip_prefix(root) {
        Ok(below) => !below.iter().any(is_hidden),
        Err(_) => !path.file_name().is_some_and(is_hidden),
    };
    let visible = event.paths.iter().filter(|path| is_visible(path));
    visible.filter_map(|path| change_of(event.kind, path)).max()
}

/// True if files of that name are ignored: loci's own temporary files, and files that editors, sync
/// clients and version control keep in the folder.
pub fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

fn change_of(kind: EventKind, path: &Path) -> Option<Change> {
    let is_note = path
        .extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("md"));
    let note = is_note.then_some(Change::Notes);
    match kind {
        EventKind::Create(CreateKind::Folder) | EventKind::Remove(RemoveKind::Folder) => {
            Some(Change::Folders)
        }
        EventKind::Access(AccessKind::Close(AccessMode::Write))
        | EventKind::Create(CreateKind::File)
        | EventKind::Remove(RemoveKind::File)
        | EventKind::Modify(ModifyKind::Data(_)) => note,
        EventKind::Access(_) => None,
        // The kind of the path is unknown. A removed path without the name of a note may have been
        // a folder.
        _ => match fs::symlink_metadata(path) {
            Ok(metadata) if metadata.is_dir() => Some(Change::Folders),
            Err(_) => note.or(Some(Change::Folders)),
            Ok(_) => note,
        },
    }
}

#[cfg(test)]
mod tests {
    use notify::event::{AccessKind, DataChange, Flag, MetadataKind, RenameMode};

    use super::*;

    #[test]
    fn notes_and_folders_count_and_hidden_or_other_files_do_not() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir(root.join("folder.md")).unwrap();
        for file in ["note.md", "picture.png"] {
            fs::write(root.join(file), "").unwrap();
        }
        let made = EventKind::Create(CreateKind::File);
        let made_folder = EventKind::Create(CreateKind::Folder);
        let written = EventKind::Modify(ModifyKind::Data(DataChange::Any));
        let closed = EventKind::Access(AccessKind::Close(AccessMode::Write));
        let read = EventKind::Access(AccessKind::Close(AccessMode::Read));
        let opened = EventKind::Access(AccessKind::Open(AccessMode::Any));
        let touched = EventKind::Modify(ModifyKind::Metadata(MetadataKind::Any));
        let moved = EventKind::Modify(ModifyKind::Name(RenameMode::To));
        let renamed = EventKind::Modify(ModifyKind::Name(RenameMode::Both));
        let removed = EventKind::Remove(RemoveKind::Any);
        let rows: [(EventKind, &[&str], Option<Change>); 26] = [
            (made, &["note.md"], Some(Change::Notes)),
            (made, &["a/b/NOTE.MD"], Some(Change::Notes)),
            (written, &["note.md"], Some(Change::Notes)),
            (closed, &["note.md"], Some(Change::Notes)),
            (touched, &["note.md"], Some(Change::Notes)),
            (removed, &["gone.md"], Some(Change::Notes)),
            (
                EventKind::Remove(RemoveKind::File),
                &["note.md"],
                Some(Change::Notes),
            ),
            (read, &["note.md"], None),
            (opened, &["note.md"], None),
            (opened, &["folder.md"], None),
            (made, &["picture.png"], None),
            (written, &["picture.png"], None),
            (moved, &["picture.png"], None),
            (moved, &["note.md"], Some(Change::Notes)),
            (moved, &["folder.md"], Some(Change::Folders)),
            (touched, &["folder.md"], Some(Change::Folders)),
            (made_folder, &["new"], Some(Change::Folders)),
            (removed, &["gone"], Some(Change::Folders)),
            (
                EventKind::Remove(RemoveKind::Folder),
                &[""],
                Some(Change::Folders),
            ),
            (made, &[".note.md"], None),
            (made, &[".git/note.md"], None),
            (made, &["a/.obsidian/b/note.md"], None),
            (made_folder, &[".trash"], None),
            (renamed, &[".temporary", "note.md"], Some(Change::Notes)),
            (renamed, &["note.md", ".trash/note.md"], Some(Change::Notes)),
            (renamed, &[".a.md", ".b.md"], None),
        ];
        for (kind, paths, expected) in rows {
            let event = paths.iter().fold(Event::new(kind), |event, path| {
                event.add_path(root.join(path))
            });
            assert_eq!(change(root, &Ok(event)), expected, "{kind:?} {paths:?}");
        }
    }

    #[test]
    fn a_root_below_a_hidden_folder_is_visible() {
        let root = Path::new("/none/.local/share/vault");
        let event =
            |path: &str| Ok(Event::new(EventKind::Create(CreateKind::File)).add_path(path.into()));
        assert_eq!(
            change(root, &event("/none/.local/share/vault/note.md")),
            Some(Change::Notes)
        );
        assert_eq!(
            change(root, &event("/other/.name/of/vault/note.md")),
            Some(Change::Notes)
        );
        assert_eq!(change(root, &event("/other/.name/of/vault/.note.md")), None);
    }

    #[test]
    fn lost_events_and_errors_may_be_anything() {
        let root = Path::new("/none");
        let lost = Event::new(EventKind::Other)
            .set_flag(Flag::Rescan)
            .add_path("/none/.git".into());
        assert_eq!(change(root, &Ok(lost)), Some(Change::Folders));
        assert_eq!(
            change(root, &Ok(Event::new(EventKind::Other))),
            Some(Change::Folders)
        );
        assert_eq!(
            change(root, &Err(notify::Error::generic("limit"))),
            Some(Change::Folders)
        );
    }
}

//! The walk to a file of a project, whose links must not lead out of the project's folder. Each
//! folder on the way is opened in the one before it, and never through a link: the links are read
//! and followed here, as `openat2` does with `RESOLVE_BENEATH`, which only Linux has and which
//! refuses every absolute link.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};

use loci_vault::disk::Folder;

use super::Place;
use crate::edit::{EditError, failed, refused};

/// The number of links that are followed, which is that of Linux.
const LINKS_MAX: usize = 40;

/// Returns the folder that a project's files are in: the top of the repository that a folder is in,
/// or else the folder itself. A repository that holds the home folder does not count, e.g. one of
/// dotfiles.
pub fn work_tree(folder: &Path, home: &Path) -> PathBuf {
    let top = folder
        .ancestors()
        .take_while(|folder| !home.starts_with(folder))
        .find(|folder| folder.join(".git").symlink_metadata().is_ok());
    top.unwrap_or(folder).to_owned()
}

/// A link that was followed, and its target.
struct Link {
    path: PathBuf,
    target: PathBuf,
}

/// A path that is walked, with the folders on it that are open.
struct OpenPath<'a> {
    /// The root as it was named.
    named_root: &'a Path,
    root: PathBuf,
    /// Each was opened in the one before. The first is the root.
    folders: Vec<Folder>,
    names: Vec<String>,
    /// The parts that are left to walk.
    rest: VecDeque<OsString>,
    /// The number of the first parts that come from links.
    from_links: usize,
    /// The number of links that were followed.
    links: usize,
    last_link: Option<Link>,
}

impl OpenPath<'_> {
    fn here(&self) -> &Folder {
        // There is always the root.
        &self.folders[self.folders.len() - 1]
    }

    fn path(&self) -> PathBuf {
        self.root.join(self.names.iter().collect::<PathBuf>())
    }

    /// Takes the next part; returns it, and whether it comes from a link.
    fn next(&mut self) -> Option<(OsString, bool)> {
        let part = self.rest.pop_front()?;
        let is_from_link = self.from_links > 0;
        self.from_links = self.from_links.saturating_sub(1);
        Some((part, is_from_link))
    }

    /// Goes up; returns a problem at the root.
    fn leave(&mut self) -> Result<(), String> {
        if self.folders.len() == 1 {
            return Err(self.leads_out());
        }
        self.folders.pop();
        self.names.pop();
        Ok(())
    }

    fn enter(&mut self, name: String) -> io::Result<()> {
        let entered = self.here().enter(&name)?;
        self.folders.push(entered);
        self.names.push(name);
        Ok(())
    }

    /// Puts the target of a link before the rest; returns a problem if it leads out.
    fn follow(&mut self, name: &str, target: PathBuf) -> Result<(), String> {
        self.links += 1;
        if self.links > LINKS_MAX {
            return Err("its links lead round in a circle".to_owned());
        }
        let path = self.path().join(name);
        let roots = [self.named_root, &self.root];
        let inside = if target.has_root() {
            let mut inside = roots.iter().map(|root| target.strip_prefix(root).ok());
            inside.find_map(|inside| inside.map(Path::to_owned))
        } else {
            Some(target.clone())
        };
        let is_absolute = target.has_root();
        self.last_link = Some(Link { path, target });
        let inside = inside.ok_or_else(|| self.leads_out())?;
        if is_absolute {
            self.folders.truncate(1);
            self.names.clear();
        }
        let parts: Vec<_> = parts(&inside).collect();
        self.from_links += parts.len();
        for part in parts.into_iter().rev() {
            self.rest.push_front(part);
        }
        Ok(())
    }

    /// Returns the place of a file of which a folder on the path, or only the file, is not there.
    fn missing(mut self, name: String) -> Option<Place> {
        let mut names = vec![name];
        while let Some((part, _)) = self.next() {
            names.push(part.into_string().ok().filter(|name| name != "..")?);
        }
        let name = names.pop()?;
        Some(self.place(names, name))
    }

    fn place(mut self, missing: Vec<String>, name: String) -> Place {
        let real = self.path().join(missing.iter().collect::<PathBuf>());
        let folder = self.folders.swap_remove(self.folders.len() - 1);
        Place {
            folder,
            missing,
            real: real.join(&name),
            name,
        }
    }

    fn dangles(&self) -> String {
        match &self.last_link {
            Some(Link { path, target }) => format!(
                "{} is a link to {}, which is not there; make that, or remove the link",
                path.display(),
                target.display()
            ),
            None => "it is a link to a file that is not there".to_owned(),
        }
    }

    fn leads_out(&self) -> String {
        let root = self.named_root.display();
        match &self.last_link {
            Some(Link { path, target }) => format!(
                "the link {} leads to {}, out of {root}, and a project's files are not changed or read outside that; \
                 replace the link by a file or a folder, or connect without --scope project",
                path.display(),
                target.display()
            ),
            None => format!("it is not in {root}"),
        }
    }
}

/// Returns the parts of a relative path but for `.`.
fn parts(path: &Path) -> impl Iterator<Item = OsString> {
    let components = path.components();
    components
        .filter(|part| *part != Component::CurDir)
        .map(|part| part.as_os_str().to_owned())
}

/// Finds the place of a file in a folder, out of which no link may lead.
///
/// # Errors
/// As of [`Place::find`].
pub fn find(file: &Path, root: &Path) -> Result<Place, EditError> {
    let (failed, refused) = (failed(file), refused(file));
    let read = |error| failed("read", error);
    let absolute = std::path::absolute(file).map_err(read)?;
    let real_root = root.canonicalize().map_err(read)?;
    let inside = [root, &real_root]
        .into_iter()
        .find_map(|root| absolute.strip_prefix(root).ok())
        .ok_or_else(|| refused(format!("it is not in {}", root.display())))?;
    let mut path = OpenPath {
        named_root: root,
        folders: vec![Folder::open(&real_root).map_err(read)?],
        root: real_root,
        names: Vec::new(),
        rest: parts(inside).collect(),
        from_links: 0,
        links: 0,
        last_link: None,
    };
    while let Some((part, is_from_link)) = path.next() {
        if part == ".." {
            path.leave().map_err(&refused)?;
            continue;
        }
        let name = part
            .into_string()
            .map_err(|_| refused("its path is not in UTF-8".to_owned()))?;
        match path.here().link(&name) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(read(error)),
            Err(_) if is_from_link => return Err(refused(path.dangles())),
            Err(error) => return path.missing(name).ok_or_else(|| read(error)),
            Ok(Some(target)) => path.follow(&name, target).map_err(&refused)?,
            Ok(None) if path.rest.is_empty() => return Ok(path.place(Vec::new(), name)),
            Ok(None) => path.enter(name).map_err(read)?,
        }
    }
    // It is a folder.
    Err(read(loci_mine::plain_file::Refusal::NotPlain.into()))
}

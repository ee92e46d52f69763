//! The file of this program, which hosts are told to call.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use crate::exit::{Exit, Failure};
use crate::output::status_line;
use crate::settings::Settings;

/// The program with the places that were named to it.
#[derive(Debug, Clone)]
pub struct OwnProgram {
    /// The absolute path of its file.
    pub file: PathBuf,
    /// The places, each with its flag, since a host may not know them.
    pub places: Vec<(&'static str, String)>,
}

impl OwnProgram {
    /// Returns this program.
    ///
    /// # Errors
    /// If the system does not tell its path, or the current folder.
    pub fn new(settings: &Settings) -> Result<Self, Failure> {
        let unknown = |subject: &str, error: io::Error| {
            let message = format!("{subject} of loci is unknown: {error}");
            Failure::new(Exit::Failure, message)
        };
        let file = std::env::current_exe().map_err(|error| unknown("the path", error))?;
        let places = settings.named_places();
        Ok(OwnProgram {
            file,
            places: places.map_err(|error| unknown("a path", error))?,
        })
    }

    /// Warns if the program is in a build folder. `things` are the callers, e.g. `these hooks`.
    pub fn warn_of_build_folder(&self, things: &str) {
        if let Some(folder) = loci_hosts::build_folder(&self.file) {
            status_line(format_args!(
                "warning: {things} call {}, which `cargo clean` or the next build in {} removes; copy the program to a \
                 folder that stays, such as ~/.local/bin, and repeat this with that copy",
                self.file.display(),
                folder.display()
            ));
        }
    }
}

/// Returns the name of the file of this program; `None` if it is unknown.
pub fn file_name() -> Option<String> {
    let file = std::env::current_exe().ok();
    let name = file.as_deref().and_then(Path::file_name);
    name.and_then(OsStr::to_str).map(str::to_owned)
}

/// Returns the file of this program if the shell finds no `loci`, or another one, in the folders of `PATH`. `None` also
/// if the system does not tell the file.
pub fn outside_path() -> Option<PathBuf> {
    let file = std::env::current_exe().ok()?;
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&folders)
        .filter_map(|folder| folder.join("loci").canonicalize().ok())
        .find(|found| found.is_file());
    (on_path != file.canonicalize().ok()).then_some(file)
}

//! The places on a machine: its home folder, the folders in which systems keep settings, and the
//! programs on its path.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The families of systems whose folders differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    /// Linux, and every other system with the folders of XDG.
    Linux,
    /// macOS.
    MacOs,
    /// Windows.
    Windows,
}

/// A folder in which a system keeps settings, and a path in it, with `/` between its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    /// In the home folder.
    Home(&'static str),
    /// In `$XDG_CONFIG_HOME`, which is `~/.config` otherwise.
    Config(&'static str),
    /// In `~/Library/Application Support`.
    Support(&'static str),
    /// In `%APPDATA%`, which is `~/AppData/Roaming` otherwise.
    AppData(&'static str),
}

/// A folder of a host on each system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Folder {
    /// The environment variable that names another folder, if there is one.
    pub variable: Option<&'static str>,
    /// The folder on Linux.
    pub linux: Base,
    /// The folder on macOS.
    pub macos: Base,
    /// The folder on Windows.
    pub windows: Base,
}

impl Folder {
    /// The same folder in the home folder of every system.
    pub const fn home(path: &'static str) -> Self {
        Folder {
            variable: None,
            linux: Base::Home(path),
            macos: Base::Home(path),
            windows: Base::Home(path),
        }
    }

    /// The same folder, for which an environment variable can name another one.
    #[must_use]
    pub const fn or_variable(self, variable: &'static str) -> Self {
        Folder {
            variable: Some(variable),
            ..self
        }
    }
}

/// The machine, as far as the files of hosts depend on it.
#[derive(Debug, Clone)]
pub struct Machine {
    /// Its system.
    pub system: System,
    /// The home folder of the user.
    pub home: PathBuf,
    /// Returns the value of an environment variable.
    pub variable: fn(&str) -> Option<OsString>,
}

impl Machine {
    /// Returns this machine; `None` if the user has no home folder, or its path is relative.
    pub fn here() -> Option<Self> {
        let system = if cfg!(windows) {
            System::Windows
        } else if cfg!(target_os = "macos") {
            System::MacOs
        } else {
            System::Linux
        };
        Some(Machine {
            system,
            home: directories::BaseDirs::new()
                .map(|folders| folders.home_dir().to_owned())
                .filter(|home| home.is_absolute())?,
            variable: |name| std::env::var_os(name),
        })
    }

    /// Returns the path of a folder of a host.
    pub fn folder(&self, folder: &Folder) -> PathBuf {
        if let Some(named) = folder.variable.and_then(|name| self.path_in(name)) {
            return named;
        }
        let base = match self.system {
            System::Linux => folder.linux,
            System::MacOs => folder.macos,
            System::Windows => folder.windows,
        };
        match base {
            Base::Home(path) => joined(&self.home, path),
            Base::Config(path) => {
                let config = self.path_in("XDG_CONFIG_HOME");
                joined(&config.unwrap_or_else(|| self.home.join(".config")), path)
            }
            Base::Support(path) => joined(&self.home.join("Library/Application Support"), path),
            Base::AppData(path) => {
                let roaming = self.path_in("APPDATA");
                joined(
                    &roaming.unwrap_or_else(|| joined(&self.home, "AppData/Roaming")),
                    path,
                )
            }
        }
    }

    /// Returns the file of a program of that name on the path, if there is one.
    pub fn program(&self, name: &str) -> Option<PathBuf> {
        let endings: &[&str] = match self.system {
            System::Windows => &[".exe", ".cmd", ".bat"],
            System::Linux | System::MacOs => &[""],
        };
        let path = (self.variable)("PATH")?;
        std::env::split_paths(&path)
            .flat_map(|folder| {
                endings
                    .iter()
                    .map(move |ending| folder.join(format!("{name}{ending}")))
            })
            .find(|file| file.is_file())
    }

    /// Returns the absolute path that an environment variable holds.
    pub fn path_in(&self, variable: &str) -> Option<PathBuf> {
        (self.variable)(variable)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    }
}

/// Appends the parts of a relative path.
pub fn joined(folder: &Path, path: &str) -> PathBuf {
    let mut folder = folder.to_owned();
    folder.extend(path.split('/').filter(|part| !part.is_empty()));
    folder
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERYWHERE: Folder = Folder {
        variable: Some("TEST_FOLDER"),
        linux: Base::Config("Code/User"),
        macos: Base::Support("Code/User"),
        windows: Base::AppData("Code/User"),
    };

    fn machine(system: System, variable: fn(&str) -> Option<OsString>) -> Machine {
        Machine {
            system,
            home: PathBuf::from("/me"),
            variable,
        }
    }

    #[test]
    fn each_system_has_its_folders() {
        for (system, expected) in [
            (System::Linux, "/me/.config/Code/User"),
            (System::MacOs, "/me/Library/Application Support/Code/User"),
            (System::Windows, "/me/AppData/Roaming/Code/User"),
        ] {
            let found = machine(system, |_| None).folder(&EVERYWHERE);
            assert_eq!(found, Path::new(expected));
        }
    }

    #[cfg(unix)]
    #[test]
    fn variables_name_other_folders() {
        let named = machine(System::Linux, |name| {
            (name == "TEST_FOLDER").then(|| "/other".into())
        });
        assert_eq!(named.folder(&EVERYWHERE), Path::new("/other"));
        let config = machine(System::Linux, |name| {
            (name == "XDG_CONFIG_HOME").then(|| "/x".into())
        });
        assert_eq!(config.folder(&EVERYWHERE), Path::new("/x/Code/User"));
        let relative = machine(System::Linux, |_| Some("here".into()));
        assert_eq!(
            relative.folder(&EVERYWHERE),
            Path::new("/me/.config/Code/User"),
            "a relative path is none"
        );
    }

    #[cfg(unix)]
    #[test]
    fn programs_are_found_on_the_path() {
        let machine = machine(System::Linux, |name| {
            (name == "PATH").then(|| "/none:/bin:/usr/bin".into())
        });
        assert!(machine.program("sh").is_some());
        assert!(machine.program("no-program-has-this-name").is_none());
    }
}

//! The commands by which hooks call loci.

use std::path::Path;

use loci_mine::plain_file::{self, Links};

use crate::host::Event;

/// The largest size of the tag of a build folder, in bytes.
const TAG_BYTES_MAX: u64 = 4_096;

/// The largest size of what Cargo knows of the compilers that it called, in bytes. It grows by
/// about 2 kB with each.
const COMPILERS_BYTES_MAX: u64 = 1 << 20;

/// The program that hooks call, as this process knows it.
#[derive(Debug, Clone, Copy)]
pub struct Program<'a> {
    /// The name of its file, which the user may have changed; `None` if it is unknown.
    pub file_name: Option<&'a str>,
    /// Parses the words of a command as the command line of the program. Returns `None` for any
    /// command but `hook run`.
    pub parse: fn(&[String]) -> Option<HookRun>,
}

/// The arguments of `loci hook run` but for the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookRun {
    /// The tools that the agent has.
    pub dialect: String,
    /// True if the other callers in the space may read what is saved.
    pub is_shared: bool,
    /// True if secrets stay in what is saved.
    pub is_verbatim: bool,
    /// The event.
    pub event: Event,
}

impl Program<'_> {
    /// Returns true if these are the words of a command of this program for that host: a program
    /// of that name, its options, [`run_words`] and an event.
    pub(crate) fn is_own(&self, words: &[String], host: &str) -> bool {
        self.dialect_of(words, host).is_some()
    }

    /// Returns the dialect of a command of this program for that host.
    pub(crate) fn dialect_of(&self, words: &[String], host: &str) -> Option<String> {
        let (program, arguments) = (words.first()?, &words[..words.len() - 1]);
        let name = program.rsplit(['/', '\\']).next().unwrap_or_default();
        let HookRun {
            dialect,
            is_shared,
            is_verbatim,
            event,
        } = (self.parse)(words)?;
        // Only exactly these words: a command that the user added words to is the user's own. An
        // older loci named no dialect.
        let ends = |run: Vec<&str>| {
            arguments
                .iter()
                .rev()
                .map(String::as_str)
                .take(run.len())
                .eq(run.into_iter().rev())
        };
        let is_run = ends(run_words(host, Some(&dialect), is_shared, is_verbatim))
            || ends(run_words(host, None, false, false));
        let is_loci = ["loci", "loci.exe"].contains(&name) || self.file_name == Some(name);
        (is_loci && is_run && words.last().is_some_and(|last| last == event.name()))
            .then_some(dialect)
    }
}

/// Returns the words of `loci hook run` that come before the event.
pub(crate) fn run_words<'a>(
    host: &'a str,
    dialect: Option<&'a str>,
    is_shared: bool,
    is_verbatim: bool,
) -> Vec<&'a str> {
    let dialect = dialect.map(|dialect| ["--dialect", dialect]);
    let dialect = dialect.as_ref().map_or(&[][..], |words| words);
    let shared = if is_shared { &["--shared"][..] } else { &[] };
    let verbatim = if is_verbatim {
        &["--verbatim"][..]
    } else {
        &[]
    };
    [
        &["hook", "run", "--host", host],
        dialect,
        shared,
        verbatim,
        &["--event"],
    ]
    .concat()
}

/// Returns the words that call a program, with the places that were named to it (folders, or the
/// URL of a store), each with its flag, because a host may not know them.
pub fn program_words(executable: &Path, named_places: &[(&'static str, String)]) -> Vec<String> {
    let places = named_places.iter();
    std::iter::once(executable.to_string_lossy().into_owned())
        .chain(places.flat_map(|(flag, place)| [format!("--{flag}"), place.clone()]))
        .collect()
}

/// Returns the build folder of the program, if it is in one. Cargo marks it in two ways:
///
/// - as a cache, and says so in the mark (other programs have such marks, too, e.g. uv for the
///   folder of its tools), but only if the folder was not there before,
/// - by what it knows of the compilers that it called. That can lie in any folder that a user gave
///   to Cargo, so it counts only for programs in a folder in which Cargo builds.
pub fn build_folder(program: &Path) -> Option<&Path> {
    let is_tagged = |folder: &Path| {
        let tag = plain_file::read(&folder.join("CACHEDIR.TAG"), Links::Refused, TAG_BYTES_MAX);
        tag.is_ok_and(|tag| String::from_utf8_lossy(&tag).contains("created by cargo"))
    };
    let has_compilers = |folder: &Path| {
        let file = folder.join(".rustc_info.json");
        let compilers = plain_file::read(&file, Links::Refused, COMPILERS_BYTES_MAX);
        compilers.is_ok_and(|compilers| compilers.starts_with(br#"{"rustc_fingerprint":"#))
    };
    let mut is_built = false;
    program.ancestors().skip(1).find(|folder| {
        let is_found = is_tagged(folder) || (is_built && has_compilers(folder));
        // The folder of a profile, e.g. `target/debug`. Cargo keeps no lock on file systems without
        // locks.
        is_built |= folder.join(".fingerprint").is_dir() || folder.join(".cargo-lock").is_file();
        is_found
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use std::fs;

    use super::*;
    use crate::shell;

    /// A loci whose command line has only options of hooks. The tests of the command have the real
    /// command line.
    pub(crate) const PROGRAM: Program<'_> = Program {
        file_name: Some("loci-renamed"),
        parse,
    };

    fn parse(words: &[String]) -> Option<HookRun> {
        let mut words = words.iter().skip(1).map(String::as_str);
        if [words.next()?, words.next()?] != ["hook", "run"] {
            return None;
        }
        let mut run = HookRun {
            dialect: "mememory".to_owned(),
            is_shared: false,
            is_verbatim: false,
            event: Event::Stop,
        };
        while let Some(word) = words.next() {
            match word {
                "--host" => drop(words.next()?),
                "--dialect" => words.next()?.clone_into(&mut run.dialect),
                "--shared" => run.is_shared = true,
                "--verbatim" => run.is_verbatim = true,
                "--event" => run.event = Event::from_name(words.next()?)?,
                _ => return None,
            }
        }
        Some(run)
    }

    #[test]
    fn own_commands_end_with_the_words_of_loci() {
        for (command, expected) in [
            ("loci hook run --host codex --event stop", true),
            (
                "'/a b/loci-renamed' hook run --host codex --event stop",
                true,
            ),
            (
                "loci hook run --host codex --dialect engram --shared --verbatim --event stop",
                true,
            ),
            ("loci hook run --host claude-code --event stop", false),
            ("tee hook run --host codex --event stop", false),
            ("loci hook run --host codex --event stop --shared", false),
            ("loci hook run --host codex --event stop; say done", false),
            ("loci hook run --host codex --event dinner", false),
            ("loci hook install --host codex", false),
            ("", false),
        ] {
            let words = shell::words(command);
            let is_own = words.is_some_and(|words| PROGRAM.is_own(&words, "codex"));
            assert_eq!(is_own, expected, "{command}");
        }
    }

    #[test]
    fn named_places_have_their_flags() {
        let named = [("data", "/a b".to_owned())];
        assert_eq!(
            program_words(Path::new("/bin/loci"), &named),
            ["/bin/loci", "--data", "/a b"]
        );
    }

    #[test]
    fn a_program_in_a_build_folder_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("target/debug/loci");
        assert_eq!(build_folder(&program), None);
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        let tag = folder.path().join("target/CACHEDIR.TAG");
        let signature = "Signature: 8a477f597d28d172789f06886806bc55\n";
        // `uv tool install` marks the folder of its tools, which stay.
        for others in [
            "",
            signature,
            "Signature: 8a477f597d28d172789f06886806bc55\n# by another\n",
        ] {
            fs::write(&tag, others).unwrap();
            assert_eq!(build_folder(&program), None, "{others}");
        }
        let of_cargo =
            format!("{signature}# This file is a cache directory tag created by cargo.\n");
        fs::write(&tag, of_cargo).unwrap();
        assert_eq!(
            build_folder(&program),
            Some(folder.path().join("target").as_path())
        );
    }

    #[test]
    fn a_build_folder_that_was_there_before_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("target");
        let compilers = target.join(".rustc_info.json");
        for (profile, mark) in [
            ("debug", ".fingerprint"),
            ("x86_64-unknown-linux-musl/release", ".cargo-lock"),
        ] {
            let program = target.join(profile).join("deps/loci");
            fs::create_dir_all(program.parent().unwrap()).unwrap();
            fs::write(&compilers, r#"{"rustc_fingerprint":1,"outputs":{}}"#).unwrap();
            // Also the folder of the user may be one that Cargo was told to build in.
            assert_eq!(build_folder(&program), None, "{profile}");
            let mark = target.join(profile).join(mark);
            if mark.ends_with(".cargo-lock") {
                fs::write(mark, "").unwrap();
            } else {
                fs::create_dir(mark).unwrap();
            }
            assert_eq!(build_folder(&program), Some(target.as_path()), "{profile}");
            let installed = target.join("tools/bin/loci");
            assert_eq!(build_folder(&installed), None);
            fs::write(&compilers, "{}").unwrap();
            assert_eq!(build_folder(&program), None, "{profile}");
        }
    }

    #[test]
    fn the_folder_of_this_test_is_a_build_folder() {
        let program = std::env::current_exe().unwrap();
        assert!(build_folder(&program).is_some(), "{}", program.display());
    }
}

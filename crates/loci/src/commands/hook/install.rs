//! loci's hooks in the settings of a host.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::Parser;
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstNode, CstObject, CstObjectProp, CstRootNode};
use jsonc_parser::json;
use loci_dialects::mememory;
use loci_mine::plain_file::{self, Links};

use super::shell::{self, quoted};
use crate::cli::{Cli, Command, Hook, HookInstall, HookSettings};
use crate::exit::{Exit, Failure};
use crate::output::{Output, status_line};
use crate::settings::Settings;
use crate::settings::file;

/// The events of the hosts, with loci's names for them. Both hosts have the same events, in files
/// of the same form.
const EVENTS: [(&str, &str); 4] = [
    ("SessionStart", "session-start"),
    ("Stop", "stop"),
    ("PreCompact", "pre-compact"),
    // The transcript is complete then, with text that came too late for `Stop` or after an
    // interrupt.
    ("SessionEnd", "session-end"),
];
/// The key of the hooks, in the settings and in each group.
const HOOKS: &str = "hooks";
/// The form of settings: JSON, in which hosts allow comments and trailing commas.
const FORM: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};
/// The seconds after which a host gives up on a hook.
const TIMEOUT_SECONDS: u64 = 10;
/// The largest size of a settings file, in bytes.
const FILE_BYTES_MAX: u64 = 8 << 20;

pub fn install(
    settings: &Settings,
    arguments: &HookInstall,
    output: Output,
) -> Result<(), Failure> {
    let HookInstall {
        settings: place,
        dialect,
        shared,
        verbatim,
    } = arguments;
    let executable = std::env::current_exe().map_err(|error| {
        Failure::new(
            Exit::Failure,
            format!("the path of loci is unknown: {error}"),
        )
    })?;
    let program = program(settings, &executable)?;
    let outcome = edit(place, |whole| {
        let installed = installed_dialect(whole, &place.host);
        let dialect = dialect
            .as_deref()
            .or(installed.as_deref())
            .unwrap_or(mememory::DIALECT.name);
        let run = run_words(&place.host, Some(dialect), *shared, *verbatim).join(" ");
        put(whole, &place.host, &format!("{program} {run}"))
    })?;
    let (host, file) = (&place.host, outcome.file.display());
    let said = if outcome.has_changed {
        "are in"
    } else {
        "were already in"
    };
    outcome.report(
        host,
        output,
        &format!("loci's hooks for {host} {said} {file}"),
    )?;
    if outcome.has_changed && host == "codex" {
        status_line(
            "Codex runs new or changed hooks only after you have trusted them: review them with /hooks in Codex",
        );
    }
    if let Some(folder) = build_folder(&executable) {
        status_line(format_args!(
            "warning: these hooks call {}, which `cargo clean` or the next build in {} removes; copy the program to a \
             folder that stays, such as ~/.local/bin, and install the hooks with that copy",
            executable.display(),
            folder.display()
        ));
    }
    Ok(())
}

pub fn uninstall(arguments: &HookSettings, output: Output) -> Result<(), Failure> {
    let outcome = edit(arguments, |whole| remove(whole, &arguments.host))?;
    let (host, file) = (&arguments.host, outcome.file.display());
    let said = if outcome.has_changed {
        "removed loci's hooks from"
    } else {
        "there were no hooks of loci in"
    };
    outcome.report(host, output, &format!("{said} {file}"))
}

/// Returns the build folder of the program, if it is in one: Cargo marks it as a cache.
fn build_folder(program: &Path) -> Option<&Path> {
    program
        .ancestors()
        .skip(1)
        .find(|folder| folder.join("CACHEDIR.TAG").is_file())
}

/// Replaces loci's command for each event, or adds it after all others.
fn put(whole: &CstObject, host: &str, command: &str) -> Result<(), String> {
    let hooks = match hooks_of(whole)? {
        Some(hooks) => hooks,
        None => whole.object_value_or_set(HOOKS),
    };
    for (event, name) in EVENTS {
        let groups = match hooks.get(event) {
            Some(groups) => groups
                .array_value()
                .ok_or_else(|| format!("`hooks.{event}` is no list"))?,
            None => hooks.array_value_or_set(event),
        };
        let mut command = Some(format!("{command} {name}"));
        replace(&groups, host, &mut command);
        if let Some(command) = command {
            let hook = json!({"type": "command", "command": command, "timeout": TIMEOUT_SECONDS});
            groups.append(json!({"hooks": [hook]}));
        }
    }
    Ok(())
}

/// Removes every command of loci for that host, and the groups, events and hooks that are empty
/// without it.
fn remove(whole: &CstObject, host: &str) -> Result<(), String> {
    let Some(hooks) = hooks_of(whole)? else {
        return Ok(());
    };
    let events = hooks.properties();
    let had_events = !events.is_empty();
    for event in events {
        let Some(groups) = event
            .array_value()
            .filter(|groups| !groups.elements().is_empty())
        else {
            continue;
        };
        replace(&groups, host, &mut None);
        if groups.elements().is_empty() {
            event.remove();
        }
    }
    if had_events
        && hooks.properties().is_empty()
        && let Some(property) = whole.get(HOOKS)
    {
        property.remove();
    }
    Ok(())
}

/// Returns the hooks in the settings of a host; none if there are none.
fn hooks_of(whole: &CstObject) -> Result<Option<CstObject>, String> {
    let mut found = whole
        .properties()
        .into_iter()
        .filter(|property| property.decoded_name().as_deref() == Some(HOOKS));
    let hooks = found.next();
    // The host takes the last one.
    if found.next().is_some() {
        return Err("it has `hooks` twice".to_owned());
    }
    hooks
        .map(|hooks| {
            hooks
                .object_value()
                .ok_or_else(|| "`hooks` in it is no object".to_owned())
        })
        .transpose()
}

/// Replaces the first command of loci for that host by `command`, which is taken; removes the
/// others, and the groups that had nothing else.
fn replace(groups: &CstArray, host: &str, command: &mut Option<String>) {
    for group in groups.elements() {
        let Some(object) = group.as_object() else {
            continue;
        };
        let Some(commands) = object.array_value(HOOKS) else {
            continue;
        };
        let before = commands.elements().len();
        for hook in commands.elements() {
            let Some((property, old)) = command_of(&hook) else {
                continue;
            };
            if !is_ours(&old, host) {
                continue;
            }
            match command.take() {
                Some(new) if new == old => {}
                Some(new) => property.set_value(new.into()),
                None => hook.remove(),
            }
        }
        let after = commands.elements().len();
        if after == 0 && before > 0 && object.properties().len() == 1 {
            group.remove();
        }
    }
}

/// Returns the command of a hook, and its property.
fn command_of(hook: &CstNode) -> Option<(CstObjectProp, String)> {
    let property = hook.as_object()?.get("command")?;
    let text = property.value()?.as_string_lit()?.decoded_value().ok()?;
    Some((property, text))
}

/// Returns the dialect of the installed hooks of loci for that host.
fn installed_dialect(whole: &CstObject, host: &str) -> Option<String> {
    let events = hooks_of(whole).ok()??.properties();
    let groups = events
        .iter()
        .filter_map(CstObjectProp::array_value)
        .flat_map(|groups| groups.elements());
    let mut hooks = groups
        .filter_map(|group| group.as_object()?.array_value(HOOKS))
        .flat_map(|hooks| hooks.elements());
    hooks.find_map(|hook| dialect_of(&command_of(&hook)?.1, host))
}

/// Returns true for a command of loci for that host: a program of that name, its options,
/// [`run_words`] and an event.
fn is_ours(command: &str, host: &str) -> bool {
    dialect_of(command, host).is_some()
}

/// Returns the dialect of a command of loci for that host.
fn dialect_of(command: &str, host: &str) -> Option<String> {
    let words = shell::words(command)?;
    let (program, arguments) = (words.first()?, &words[..words.len() - 1]);
    let name = program.rsplit(['/', '\\']).next().unwrap_or_default();
    let own = std::env::current_exe().ok();
    let own = own
        .as_deref()
        .and_then(Path::file_name)
        .and_then(|name| name.to_str());
    let cli = Cli::try_parse_from(&words).ok()?;
    let Command::Hook(Hook::Run {
        dialect,
        event,
        shared,
        verbatim,
        ..
    }) = cli.command
    else {
        return None;
    };
    // Only exactly these words: a command that the user added words to is the user's own. An older
    // loci named no dialect.
    let ends = |run: Vec<&str>| {
        arguments
            .iter()
            .rev()
            .map(String::as_str)
            .take(run.len())
            .eq(run.into_iter().rev())
    };
    let is_run = ends(run_words(host, Some(&dialect), shared, verbatim))
        || ends(run_words(host, None, false, false));
    let is_loci = ["loci", "loci.exe"].contains(&name) || own == Some(name);
    (is_loci && is_run && words.last() == Some(&event)).then_some(dialect)
}

/// Returns the words of `loci hook run` that come before the event.
fn run_words<'a>(
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

/// Returns the shell command for this program, with the folders that were named to it, since a host
/// may not know them.
fn program(settings: &Settings, executable: &Path) -> Result<String, Failure> {
    let unknown = |error: io::Error| {
        Failure::new(Exit::Failure, format!("a path of loci is unknown: {error}"))
    };
    let mut words = vec![quoted(&executable.to_string_lossy())];
    for (flag, path) in settings.named_folders() {
        words.extend([
            format!("--{flag}"),
            quoted(
                &std::path::absolute(path)
                    .map_err(unknown)?
                    .to_string_lossy(),
            ),
        ]);
    }
    Ok(words.join(" "))
}

/// Returns the file in which the host keeps its hooks.
fn file_of(arguments: &HookSettings) -> Result<PathBuf, Failure> {
    if let Some(file) = &arguments.file {
        return Ok(file.clone());
    }
    let (variable, folder, name) = match arguments.host.as_str() {
        "codex" => ("CODEX_HOME", ".codex", "hooks.json"),
        _ => ("CLAUDE_CONFIG_DIR", ".claude", "settings.json"),
    };
    let home = || directories::BaseDirs::new().map(|dirs| dirs.home_dir().join(folder));
    let folder = std::env::var_os(variable)
        .filter(|path| !path.is_empty())
        .map(PathBuf::from)
        .or_else(home);
    folder.map(|folder| folder.join(name)).ok_or_else(|| {
        Failure::new(
            Exit::Usage,
            "there is no home folder; name the file with --file",
        )
    })
}

/// The outcome of a change of hooks.
struct Outcome {
    /// The file, as it was named.
    file: PathBuf,
    has_changed: bool,
    /// The copy of the old file, if there was one and it has changed.
    backup: Option<PathBuf>,
}

impl Outcome {
    /// Prints the outcome, as JSON or as that sentence.
    fn report(&self, host: &str, output: Output, sentence: &str) -> Result<(), Failure> {
        let backup = self.backup.as_deref().map(Path::to_string_lossy);
        let file = self.file.to_string_lossy();
        let value = serde_json::json!({
            "host": host, "file": file, "changed": self.has_changed, "backup": backup,
        });
        output.either(&value, format_args!("{sentence}\n"))?;
        if let Some(backup) = backup {
            status_line(format_args!("a copy of the file as it was is {backup}"));
        }
        Ok(())
    }
}

/// Changes the hooks in a settings file, with a copy of the old file. Every other byte of the file
/// stays, comments too. Writes nothing if nothing changes.
fn edit(
    arguments: &HookSettings,
    change: impl FnOnce(&CstObject) -> Result<(), String>,
) -> Result<Outcome, Failure> {
    let file = file_of(arguments)?;
    let shown = file.display();
    let failed = |doing: &str, error: io::Error| {
        Failure::new(Exit::Failure, format!("{shown} cannot be {doing}: {error}"))
    };
    let refused = |problem: String| {
        Failure::new(
            Exit::Usage,
            format!("{shown} is not changed: {problem}; mend it, or name another with --file"),
        )
    };
    let real = real(&file).map_err(|error| failed("read", error))?;
    let real = real.ok_or_else(|| refused("it is a link to what is not there".to_owned()))?;
    let before = match plain_file::read(&real, Links::Refused, FILE_BYTES_MAX) {
        Ok(bytes) => Some(
            String::from_utf8(bytes).map_err(|_| refused("it is not text in UTF-8".to_owned()))?,
        ),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(failed("read", error)),
    };
    let text = before
        .as_deref()
        .filter(|text| !text.trim().is_empty())
        .unwrap_or("{}");
    let root = CstRootNode::parse(text, &FORM)
        .map_err(|error| refused(format!("it is no JSON ({error})")))?;
    let whole = root
        .object_value()
        .ok_or_else(|| refused("it holds no JSON object".to_owned()))?;
    change(&whole).map_err(refused)?;
    let mut new = root.to_string();
    let has_changed = new != text;
    let mut backup = None;
    if has_changed {
        if !new.ends_with('\n') {
            new.push('\n');
        }
        if before.is_some() {
            writable(&real).map_err(|error| refused(format!("it cannot be written ({error})")))?;
            backup = Some(back_up(&real).map_err(|error| failed("backed up", error))?);
        }
        file::replace(&real, &new).map_err(|error| failed("written", error))?;
    }
    Ok(Outcome {
        file,
        has_changed,
        backup,
    })
}

/// Returns the file to write, which is the target of a link; `None` if that does not exist.
fn real(file: &Path) -> io::Result<Option<PathBuf>> {
    match file.canonicalize() {
        Ok(real) => Ok(Some(real)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Ok(fs::symlink_metadata(file).is_err().then(|| file.to_owned()))
        }
        Err(error) => Err(error),
    }
}

/// Fails if the file is read-only, which a rename would ignore.
fn writable(file: &Path) -> io::Result<()> {
    // A privileged user may open a read-only file, too.
    if fs::metadata(file)?.permissions().readonly() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    fs::OpenOptions::new().append(true).open(file).map(drop)
}

/// Copies a file beside itself, under a free name.
fn back_up(file: &Path) -> io::Result<PathBuf> {
    for number in 1_u32.. {
        let mut name = file.file_name().unwrap_or_default().to_owned();
        name.push(format!(".loci-backup-{number}"));
        let copy = file.with_file_name(name);
        match fs::File::create_new(&copy) {
            Ok(_) => {
                fs::copy(file, &copy)?;
                return Ok(copy);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const QUIET: Output = Output {
        json: true,
        is_raw: false,
    };

    fn arguments(file: &Path) -> HookSettings {
        HookSettings {
            host: "claude-code".to_owned(),
            file: Some(file.to_owned()),
        }
    }

    fn install(file: &Path) -> Result<bool, Failure> {
        let command = "/bin/loci hook run --host claude-code --dialect mememory --event";
        edit(&arguments(file), |whole| put(whole, "claude-code", command))
            .map(|outcome| outcome.has_changed)
    }

    fn read(file: &Path) -> Value {
        serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
    }

    #[test]
    fn hooks_of_others_and_everything_else_stay_in_their_order() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("settings.json");
        let of_others = json!({"hooks": [{"type": "command", "command": "say done"}]});
        let before = format!(
            "{:#}",
            json!({"z": 1, "hooks": {"Stop": [of_others]}, "a": [true]})
        );
        fs::write(&file, &before).unwrap();
        assert!(install(&file).unwrap());
        let once = fs::read_to_string(&file).unwrap();
        assert!(!install(&file).unwrap(), "twice is once");
        assert_eq!(fs::read_to_string(&file).unwrap(), once);
        let value = read(&file);
        assert_eq!(
            value.as_object().unwrap().keys().collect::<Vec<_>>(),
            ["z", "hooks", "a"]
        );
        assert_eq!(value["hooks"]["Stop"].as_array().unwrap().len(), 2);
        assert_eq!(value["hooks"]["Stop"][0], of_others);
        assert_eq!(
            fs::read_to_string(folder.path().join("settings.json.loci-backup-1")).unwrap(),
            before
        );
        assert_eq!(
            fs::read_dir(folder.path()).unwrap().count(),
            2,
            "nothing was changed, so nothing was kept"
        );
        uninstall(&arguments(&file), QUIET).unwrap();
        assert_eq!(read(&file), serde_json::from_str::<Value>(&before).unwrap());
    }

    #[test]
    fn commands_of_loci_are_told_from_others() {
        for (command, expected) in [
            ("loci hook run --host claude-code --event stop", true),
            (
                "'/a b/loci' --data '/x y' --config=c hook run --host claude-code --event stop",
                true,
            ),
            (
                "\"$HOME/bin/loci\"  hook run --host claude-code --event pre-compact",
                true,
            ),
            (
                r"'C:\Program Files\loci.exe' hook run --host claude-code --event session-start",
                true,
            ),
            (
                "/bin/loci hook run --host claude-code --dialect mempalace --event session-end",
                true,
            ),
            (
                "/bin/loci hook run --host claude-code --dialect mempalace --shared --event stop",
                true,
            ),
            (
                "/bin/loci hook run --host claude-code --dialect other --event stop",
                false,
            ),
            (
                "/bin/loci hook run --host claude-code --shared --dialect mempalace --event stop",
                false,
            ),
            ("/bin/loci hook run --host codex --event stop", false),
            (
                "/bin/loci hook run --host claude-code --event stop --json",
                false,
            ),
            (
                "/bin/loci hook run --host claude-code --event stop; say done",
                false,
            ),
            (
                "/bin/loci hook run --host claude-code --event stop && /bin/true",
                false,
            ),
            (
                "/bin/loci hook run --host claude-code --event dinner",
                false,
            ),
            (
                "/bin/loci --verbose hook run --host claude-code --event stop",
                false,
            ),
            (
                "/bin/loci search hook run --host claude-code --event stop",
                false,
            ),
            ("/loci/tee hook run --host claude-code --event stop", false),
            (
                "/bin/lociferous hook run --host claude-code --event stop",
                false,
            ),
            (
                "echo /bin/loci hook run --host claude-code --event stop",
                false,
            ),
            ("", false),
        ] {
            assert_eq!(is_ours(command, "claude-code"), expected, "{command}");
        }
    }

    #[test]
    fn the_dialect_of_hooks_that_are_there_is_known() {
        let ours = |rest: &str| json!({"Stop": [{"hooks": [{"command": "say"}, {"command": format!("loci hook run {rest}")}]}]});
        let found = |hooks: Value, host: &str| {
            let text = json!({"hooks": hooks}).to_string();
            let root = CstRootNode::parse(&text, &FORM).unwrap();
            installed_dialect(&root.object_value().unwrap(), host)
        };
        let engram = ours("--host codex --dialect engram --event stop");
        assert_eq!(found(engram.clone(), "codex").as_deref(), Some("engram"));
        assert_eq!(found(engram, "claude-code"), None);
        assert_eq!(
            found(ours("--host codex --event stop"), "codex").as_deref(),
            Some("mememory")
        );
        assert_eq!(
            found(json!({"Stop": 3, "X": [{"hooks": []}, 4]}), "codex"),
            None
        );
    }

    #[test]
    fn a_program_in_a_build_folder_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("target/debug/loci");
        assert_eq!(build_folder(&program), None);
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        fs::write(folder.path().join("target/CACHEDIR.TAG"), "").unwrap();
        assert_eq!(
            build_folder(&program),
            Some(folder.path().join("target").as_path())
        );
    }

    #[test]
    fn what_a_person_made_of_the_hooks_stays() {
        // The form of an older loci, and the current one.
        let ours = |program: &str| format!("{program} hook run --host claude-code --event stop");
        let new = "/bin/loci hook run --host claude-code --dialect mememory --event stop";
        let others = json!([3, "x", null, {"matcher": "a"}, {"hooks": {}}, {"hooks": []}, {"hooks": [1, {"command": 2}]}]);
        let mut groups = others.as_array().unwrap().clone();
        groups
            .push(json!({"matcher": "b", "hooks": [{"command": ours("/old/loci"), "timeout": 3}, {"command": "say"}]}));
        groups.push(json!({"hooks": [{"command": ours("loci")}]}));
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("settings.json");
        let before = json!({"hooks": {"Stop": groups, "Notification": "?", "PreCompact": []}});
        fs::write(&file, before.to_string()).unwrap();
        install(&file).unwrap();
        let stop = read(&file)["hooks"]["Stop"].as_array().unwrap().clone();
        assert_eq!(stop[..7], *others.as_array().unwrap());
        let kept =
            json!({"matcher": "b", "hooks": [{"command": new, "timeout": 3}, {"command": "say"}]});
        assert_eq!(stop[7..], [kept], "where it stood, and once");
        uninstall(&arguments(&file), QUIET).unwrap();
        let hooks = read(&file)["hooks"].clone();
        assert_eq!(
            hooks["Stop"][7],
            json!({"matcher": "b", "hooks": [{"command": "say"}]})
        );
        assert_eq!(
            hooks.as_object().unwrap().keys().collect::<Vec<_>>(),
            ["Stop", "Notification"]
        );
    }

    #[test]
    fn without_hooks_of_loci_there_is_nothing_to_take_out() {
        for text in [
            "{}",
            r#"{"hooks": {}}"#,
            r#"{"hooks": {"Stop": [], "X": [{"hooks": []}, 3]}, "n": 0.10}"#,
        ] {
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("settings.json");
            fs::write(&file, text).unwrap();
            uninstall(&arguments(&file), QUIET).unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), text);
        }
    }

    #[test]
    fn what_cannot_be_understood_or_kept_is_not_touched() {
        for text in [
            "{\"hooks\": ",
            "[]",
            "{\"hooks\": 3}",
            "{\"hooks\": {\"Stop\": {}}}",
            "{\"hooks\": {}, \"hooks\": {}}",
            "{'a': 1}",
            "{\"a\": 1} x",
        ] {
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("settings.json");
            fs::write(&file, text).unwrap();
            let failure = install(&file).unwrap_err();
            assert_eq!(failure.exit, Exit::Usage, "{text}");
            assert!(failure.message.contains("--file"), "{}", failure.message);
            assert_eq!(fs::read_to_string(&file).unwrap(), text);
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        }
    }

    #[test]
    fn a_file_that_is_not_to_be_written_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("settings.json");
        fs::write(&file, "{}").unwrap();
        let mut permissions = fs::metadata(&file).unwrap().permissions();
        permissions.set_readonly(true);
        fs::set_permissions(&file, permissions).unwrap();
        assert_eq!(install(&file).unwrap_err().exit, Exit::Usage);
        assert_eq!(fs::read_to_string(&file).unwrap(), "{}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (file, target) = (
            folder.path().join("settings.json"),
            folder.path().join("real.json"),
        );
        std::os::unix::fs::symlink(&target, &file).unwrap();
        assert_eq!(install(&file).unwrap_err().exit, Exit::Usage);
        assert!(fs::symlink_metadata(&target).is_err());
        fs::write(&target, "{}").unwrap();
        install(&file).unwrap();
        assert!(fs::symlink_metadata(&file).unwrap().is_symlink());
        assert!(read(&target)["hooks"]["Stop"].is_array());
    }

    #[test]
    fn a_file_is_made_and_emptied_again() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("new").join("hooks.json");
        install(&file).unwrap();
        uninstall(&arguments(&file), QUIET).unwrap();
        assert_eq!(read(&file), json!({}));
    }

    #[test]
    fn every_other_byte_of_the_settings_stays() {
        let text = "// of mine\n{\n\t\"a\": 12345678901234567890123, // long\n\t\"b\": 1, \"b\": 0.10,\n}\n";
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("settings.json");
        fs::write(&file, text).unwrap();
        assert!(install(&file).unwrap());
        let installed = fs::read_to_string(&file).unwrap();
        for kept in [
            "// of mine\n",
            "12345678901234567890123, // long\n",
            "\"b\": 1, \"b\": 0.10",
        ] {
            assert!(installed.contains(kept), "{installed}");
        }
        assert!(installed.contains("--event stop"), "{installed}");
        uninstall(&arguments(&file), QUIET).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }
}

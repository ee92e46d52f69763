//! loci's hooks in the settings of a host.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::cli::HookSettings;
use crate::exit::{Exit, Failure};
use crate::output::{Output, note};
use crate::settings::Settings;

/// The events of the hosts, and what loci calls them. Both hosts have the same, in files of the same form.
const EVENTS: [(&str, &str); 3] = [("SessionStart", "session-start"), ("Stop", "stop"), ("PreCompact", "pre-compact")];
/// Seconds after which a host gives up on a hook.
const TIMEOUT_SECONDS: u64 = 10;

pub fn install(settings: &Settings, arguments: &HookSettings, output: Output) -> Result<(), Failure> {
    let host = &arguments.host;
    let program = program(settings)?;
    edit(arguments, output, "installed", |hooks| {
        remove(hooks, host);
        for (event, name) in EVENTS {
            let groups = hooks.entry(event).or_insert_with(|| json!([]));
            let groups = groups.as_array_mut().ok_or_else(|| format!("`hooks.{event}` is no list"))?;
            let command = format!("{program} {} {name}", marker(host));
            groups.push(json!({"hooks": [{"type": "command", "command": command, "timeout": TIMEOUT_SECONDS}]}));
        }
        Ok(())
    })
}

pub fn uninstall(arguments: &HookSettings, output: Output) -> Result<(), Failure> {
    edit(arguments, output, "not installed", |hooks| {
        remove(hooks, &arguments.host);
        Ok(())
    })
}

/// What tells loci's commands from others.
fn marker(host: &str) -> String {
    format!("hook run --host {host} --event")
}

/// Takes out every command of loci's for that host, and what is empty without it.
fn remove(hooks: &mut Map<String, Value>, host: &str) {
    let marker = format!(" {} ", marker(host));
    let is_ours = |hook: &Value| {
        hook["command"].as_str().is_some_and(|command| command.contains(&marker) && command.contains("loci"))
    };
    for (event, _) in EVENTS {
        let Some(groups) = hooks.get_mut(event).and_then(Value::as_array_mut) else { continue };
        let had_any = !groups.is_empty();
        groups.retain_mut(|group| {
            let Some(commands) = group["hooks"].as_array_mut() else { return true };
            let before = commands.len();
            commands.retain(|hook| !is_ours(hook));
            commands.len() == before || !commands.is_empty()
        });
        if had_any && groups.is_empty() {
            hooks.shift_remove(event);
        }
    }
}

/// This program, as a shell is to call it: with the folders that it was given, since a host may know no other way to
/// them.
fn program(settings: &Settings) -> Result<String, Failure> {
    let unknown = |error: io::Error| Failure::new(Exit::Failure, format!("the path of loci is unknown: {error}"));
    let mut words = vec![quoted(&std::env::current_exe().map_err(unknown)?.to_string_lossy())];
    for (flag, path) in settings.named_folders() {
        words.extend([format!("--{flag}"), quoted(&std::path::absolute(path).map_err(unknown)?.to_string_lossy())]);
    }
    Ok(words.join(" "))
}

/// A word for the shell.
fn quoted(word: &str) -> String {
    let is_plain = |character: char| character.is_alphanumeric() || "/._-+:@,".contains(character);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Where the host keeps its hooks.
fn file_of(arguments: &HookSettings) -> Result<PathBuf, Failure> {
    if let Some(file) = &arguments.file {
        return Ok(file.clone());
    }
    let (variable, folder, name) = match arguments.host.as_str() {
        "codex" => ("CODEX_HOME", ".codex", "hooks.json"),
        _ => ("CLAUDE_CONFIG_DIR", ".claude", "settings.json"),
    };
    let home = || directories::BaseDirs::new().map(|dirs| dirs.home_dir().join(folder));
    let folder = std::env::var_os(variable).filter(|path| !path.is_empty()).map(PathBuf::from).or_else(home);
    folder
        .map(|folder| folder.join(name))
        .ok_or_else(|| Failure::new(Exit::Usage, "there is no home folder; name the file with --file"))
}

/// Changes the hooks of a file of settings: everything else in it stays, and so does a copy of what it was. Nothing is
/// written where nothing changes.
fn edit(
    arguments: &HookSettings,
    output: Output,
    state: &str,
    change: impl FnOnce(&mut Map<String, Value>) -> Result<(), String>,
) -> Result<(), Failure> {
    let file = file_of(arguments)?;
    let shown = file.display();
    let failed =
        |doing: &str, error: io::Error| Failure::new(Exit::Failure, format!("{shown} cannot be {doing}: {error}"));
    // A link stays one: what it leads to is written.
    let real = if file.exists() { file.canonicalize().map_err(|error| failed("read", error))? } else { file.clone() };
    let before = match fs::read_to_string(&real) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(failed("read", error)),
    };
    let refused = |problem: String| {
        Failure::new(Exit::Usage, format!("{shown} is not changed: {problem}; mend it, or name another with --file"))
    };
    let text = before.as_deref().filter(|text| !text.trim().is_empty()).unwrap_or("{}");
    let old: Value = serde_json::from_str(text).map_err(|error| refused(format!("it is no JSON ({error})")))?;
    let mut new = old.clone();
    let whole = new.as_object_mut().ok_or_else(|| refused("it holds no JSON object".to_owned()))?;
    let hooks = whole.entry("hooks").or_insert_with(|| json!({}));
    let hooks = hooks.as_object_mut().ok_or_else(|| refused("`hooks` in it is no object".to_owned()))?;
    change(hooks).map_err(refused)?;
    if hooks.is_empty() {
        whole.shift_remove("hooks");
    }
    let changes = new != old;
    let mut backup = None;
    if changes {
        if before.is_some() {
            backup = Some(back_up(&real).map_err(|error| failed("backed up", error))?);
        }
        write(&real, &format!("{new:#}\n")).map_err(|error| failed("written", error))?;
    }
    let backup = backup.as_deref().map(Path::to_string_lossy);
    let value = json!({"host": arguments.host, "file": file.to_string_lossy(), "changed": changes, "backup": backup});
    output.either(&value, format_args!("{state}: {shown}\n"))?;
    match backup {
        Some(backup) => note(format_args!("what it was is kept in {backup}")),
        None if !changes => note("nothing had to be changed"),
        None => {}
    }
    Ok(())
}

/// Copies a file beside itself, under a name that nothing has.
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

/// Puts a text in the place of a file, as a whole, with the rights that it had.
fn write(file: &Path, text: &str) -> io::Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut temporary = tempfile::NamedTempFile::new_in(folder)?;
    temporary.write_all(text.as_bytes())?;
    if let Ok(before) = fs::metadata(file) {
        temporary.as_file().set_permissions(before.permissions())?;
    }
    temporary.as_file().sync_all()?;
    temporary.persist(file)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(file: &Path) -> HookSettings {
        HookSettings { host: "claude-code".to_owned(), file: Some(file.to_owned()) }
    }

    fn put(file: &Path) -> Result<(), Failure> {
        edit(&arguments(file), Output { json: true }, "installed", |hooks| {
            remove(hooks, "claude-code");
            hooks.entry("Stop").or_insert_with(|| json!([])).as_array_mut().ok_or("no list")?.push(
                json!({"hooks": [{"type": "command", "command": "/bin/loci hook run --host claude-code --event stop"}]}),
            );
            Ok(())
        })
    }

    #[test]
    fn hooks_of_others_and_everything_else_stay_in_their_order() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("settings.json");
        let of_others = json!({"hooks": [{"type": "command", "command": "say done"}]});
        let before = format!("{:#}", json!({"z": 1, "hooks": {"Stop": [of_others]}, "a": [true]}));
        fs::write(&file, &before).unwrap();
        put(&file).unwrap();
        let once = fs::read_to_string(&file).unwrap();
        put(&file).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), once, "twice is once");
        let value: Value = serde_json::from_str(&once).unwrap();
        assert_eq!(value.as_object().unwrap().keys().collect::<Vec<_>>(), ["z", "hooks", "a"]);
        assert_eq!(value["hooks"]["Stop"].as_array().unwrap().len(), 2);
        assert_eq!(value["hooks"]["Stop"][0], of_others);
        assert_eq!(fs::read_to_string(folder.path().join("settings.json.loci-backup-1")).unwrap(), before);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing was changed, so nothing was kept");
        uninstall(&arguments(&file), Output { json: true }).unwrap();
        let after: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        assert_eq!(after, serde_json::from_str::<Value>(&before).unwrap());
    }

    #[test]
    fn what_cannot_be_understood_is_not_touched() {
        for text in ["{\"hooks\": ", "[]", "{\"hooks\": 3}", "{\"hooks\": {\"Stop\": {}}}", "// a comment\n{}"] {
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("settings.json");
            fs::write(&file, text).unwrap();
            let failure = put(&file).unwrap_err();
            assert_eq!(failure.exit, Exit::Usage, "{text}");
            assert_eq!(fs::read_to_string(&file).unwrap(), text);
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        }
    }

    #[test]
    fn a_file_is_made_and_emptied_again() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("new").join("hooks.json");
        put(&file).unwrap();
        uninstall(&arguments(&file), Output { json: true }).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "{}\n");
    }

    #[test]
    fn words_for_the_shell() {
        for (word, expected) in
            [("/usr/bin/loci", "/usr/bin/loci"), ("/a b/loci", "'/a b/loci'"), ("it's", r"'it'\''s'"), ("", "''")]
        {
            assert_eq!(quoted(word), expected);
        }
    }
}

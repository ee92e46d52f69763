//! loci's hooks in the settings of a host. Claude Code and Codex have files of the same form: the
//! key `hooks` holds for each event a list of groups, and each group a list of commands.

use std::path::Path;

use jsonc_parser::cst::{CstArray, CstNode, CstObject, CstObjectProp};
use jsonc_parser::json;

use crate::change::{Addition, Change};
use crate::command::{self, Program};
use crate::host::Host;
use crate::settings_file::{EditError, Edited, edited, parsed};

/// The key of the hooks, in the settings and in each group.
const HOOKS: &str = "hooks";
/// The seconds after which a host gives up on a hook.
const TIMEOUT_SECONDS: u64 = 10;

/// The hooks of loci in the settings of one host.
#[derive(Debug, Clone, Copy)]
pub struct Hooks<'a> {
    /// The host.
    pub host: &'a Host,
    /// The file with its hooks.
    pub file: &'a Path,
    /// The program that tells its own commands from others.
    pub program: Program<'a>,
}

/// The options of the hooks to install.
#[derive(Debug, Clone, Copy)]
pub struct HookOptions<'a> {
    /// The shell command of the program, with its options: [`shell_command`](crate::shell_command).
    pub command: &'a str,
    /// The tools that the agent has; `None` for those of the hooks that are in the file.
    pub dialect: Option<&'a str>,
    /// The tools that the agent has, if there are no hooks in the file.
    pub default_dialect: &'a str,
    /// True if the other callers in the space may read what the hooks save.
    pub is_shared: bool,
    /// True if secrets stay in what the hooks save.
    pub is_verbatim: bool,
}

impl Hooks<'_> {
    /// Adds a command of loci for each event, or replaces the one that is there. The commands of
    /// others stay.
    ///
    /// # Errors
    /// The file cannot be changed.
    pub fn install(&self, options: &HookOptions<'_>) -> Result<Edited, EditError> {
        self.plan_install(options)?.apply()
    }

    /// Removes every command of loci for that host.
    ///
    /// # Errors
    /// The file cannot be changed.
    pub fn uninstall(&self) -> Result<Edited, EditError> {
        Change::plan(self.file, |text| Addition::remove(self, text))?.apply()
    }

    /// Plans the hooks as [`install`](Self::install) adds them.
    ///
    /// # Errors
    /// The file cannot be read, or has no place for hooks.
    pub fn plan_install(&self, options: &HookOptions<'_>) -> Result<Change, EditError> {
        Change::plan(self.file, |text| {
            edited(text, |whole| self.put(whole, &self.command(whole, options)))
        })
    }

    /// Plans the removal of every command of loci for that host. The file is as it was before, if
    /// nothing else in it has changed; a file that loci made is removed, with the folders below
    /// `root` that are empty then.
    ///
    /// # Errors
    /// As of [`plan_install`](Self::plan_install).
    pub fn plan_uninstall(&self, root: &Path) -> Result<Change, EditError> {
        Change::plan_undo(self.file, self, root)
    }

    /// Returns the command for these options, but for the event.
    fn command(&self, whole: &CstObject, options: &HookOptions<'_>) -> String {
        let installed = self.installed_dialect(whole);
        let dialect = options
            .dialect
            .or(installed.as_deref())
            .unwrap_or(options.default_dialect);
        let run = command::run_words(
            self.host.name,
            Some(dialect),
            options.is_shared,
            options.is_verbatim,
        );
        format!("{} {}", options.command, run.join(" "))
    }

    /// Replaces loci's command for each event, or adds it after all others.
    fn put(&self, whole: &CstObject, command: &str) -> Result<(), String> {
        let hooks = match hooks_of(whole)? {
            Some(hooks) => hooks,
            None => whole.object_value_or_set(HOOKS),
        };
        for (event, name) in self.host.events() {
            let groups = match hooks.get(event) {
                Some(groups) => groups
                    .array_value()
                    .ok_or_else(|| format!("`hooks.{event}` is no list"))?,
                None => hooks.array_value_or_set(event),
            };
            let mut command = Some(format!("{command} {name}"));
            self.replace(&groups, &mut command);
            if let Some(command) = command {
                let hook =
                    json!({"type": "command", "command": command, "timeout": TIMEOUT_SECONDS});
                groups.append(json!({"hooks": [hook]}));
            }
        }
        Ok(())
    }

    /// Removes every command of loci for that host, and the groups, events and hooks that are empty
    /// without it.
    fn remove(&self, whole: &CstObject) -> Result<(), String> {
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
            self.replace(&groups, &mut None);
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

    /// Replaces the first command of loci for that host by `command`, which is taken; removes the
    /// others, and the groups that had nothing else.
    fn replace(&self, groups: &CstArray, command: &mut Option<String>) {
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
                if !self.program.is_own(&old, self.host.name) {
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

    /// Returns the dialect of the installed hooks of loci for that host.
    fn installed_dialect(&self, whole: &CstObject) -> Option<String> {
        let command = self.installed_command(whole)?;
        self.program.dialect_of(&command, self.host.name)
    }

    /// Returns the first installed command of loci for that host.
    fn installed_command(&self, whole: &CstObject) -> Option<String> {
        let events = hooks_of(whole).ok()??.properties();
        let groups = events
            .iter()
            .filter_map(CstObjectProp::array_value)
            .flat_map(|groups| groups.elements());
        let hooks = groups
            .filter_map(|group| group.as_object()?.array_value(HOOKS))
            .flat_map(|hooks| hooks.elements());
        hooks
            .filter_map(|hook| Some(command_of(&hook)?.1))
            .find(|command| self.program.is_own(command, self.host.name))
    }
}

impl Addition for Hooks<'_> {
    fn is_in(&self, text: &str) -> Result<bool, String> {
        let root = parsed(text)?;
        let whole = root.object_value();
        Ok(whole.is_some_and(|whole| self.installed_command(&whole).is_some()))
    }

    fn put_as_in(&self, text: &str, from: &str) -> Result<String, String> {
        let root = parsed(from)?;
        let whole = root.object_value();
        let command = whole.and_then(|whole| self.installed_command(&whole));
        let Some(command) = command
            .as_deref()
            .and_then(|command| command.rsplit_once(' '))
        else {
            return Ok(text.to_owned());
        };
        edited(text, |whole| self.put(whole, command.0))
    }

    fn remove(&self, text: &str) -> Result<String, String> {
        edited(text, |whole| Hooks::remove(self, whole))
    }
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

/// Returns the command of a hook, and its property.
fn command_of(hook: &CstNode) -> Option<(CstObjectProp, String)> {
    let property = hook.as_object()?.get("command")?;
    let text = property.value()?.as_string_lit()?.decoded_value().ok()?;
    Some((property, text))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use jsonc_parser::cst::CstRootNode;
    use serde_json::{Value, json};

    use super::*;
    use crate::command::tests::PROGRAM;
    use crate::form::JSON_FORM;

    const OPTIONS: HookOptions<'_> = HookOptions {
        command: "/bin/loci",
        dialect: None,
        default_dialect: "mememory",
        is_shared: false,
        is_verbatim: false,
    };

    fn hooks<'a>(host: &str, file: &'a Path) -> Hooks<'a> {
        Hooks {
            host: crate::host(host).unwrap(),
            file,
            program: PROGRAM,
        }
    }

    fn install(file: &Path) -> Result<bool, EditError> {
        hooks("claude-code", file)
            .install(&OPTIONS)
            .map(|edited| edited.has_changed)
    }

    fn uninstall(file: &Path) {
        hooks("claude-code", file).uninstall().unwrap();
    }

    fn is_refused(file: &Path) -> bool {
        matches!(install(file), Err(EditError::Refused { .. }))
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
        uninstall(&file);
        assert_eq!(read(&file), serde_json::from_str::<Value>(&before).unwrap());
    }

    #[test]
    fn the_dialect_of_hooks_that_are_there_is_known() {
        let ours = |rest: &str| json!({"Stop": [{"hooks": [{"command": "say"}, {"command": format!("loci hook run {rest}")}]}]});
        let found = |installed: Value, host: &str| {
            let text = json!({"hooks": installed}).to_string();
            let root = CstRootNode::parse(&text, &JSON_FORM).unwrap();
            hooks(host, Path::new("")).installed_dialect(&root.object_value().unwrap())
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
        uninstall(&file);
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
            uninstall(&file);
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
            assert!(is_refused(&file), "{text}");
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
        assert!(is_refused(&file));
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
        assert!(is_refused(&file));
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
        uninstall(&file);
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
        uninstall(&file);
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }
}

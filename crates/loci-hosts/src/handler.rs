//! The entry of one hook of loci in the settings of a host, which differs in how the host takes
//! commands and times.

use jsonc_parser::cst::CstObject;
use serde_json::{Value, json};

use crate::form::json_input;
use crate::host::{Event, HookCommand, HookFile};
use crate::shell;

/// The key of the program, or of the line for the shell.
const COMMAND: &str = "command";
/// The key of the arguments of a program that the host starts without a shell.
const ARGUMENTS: &str = "args";
/// The seconds that an older loci gave each hook.
const FORMER_TIMEOUT: u64 = 10;
/// The word before a quoted program in PowerShell.
const CALL_OPERATOR: &str = "& ";

/// Makes the entry for a command, whose first word is the program.
pub fn entry(hooks: &HookFile, words: &[String], event: Event) -> Value {
    let mut entry = match (hooks.command, words.split_first()) {
        (HookCommand::Words, Some((program, arguments))) => {
            json!({"type": "command", COMMAND: program, ARGUMENTS: arguments})
        }
        (HookCommand::Words | HookCommand::Line | HookCommand::LineOfPowerShell, _) => {
            let line = line(words, cfg!(windows), hooks.command);
            json!({"type": "command", COMMAND: line})
        }
    };
    entry["timeout"] = json!(event.timeout_seconds() * hooks.timeout_units);
    if hooks.has_async && !event.is_waited_for() {
        entry["async"] = json!(true);
    }
    entry
}

/// Returns the words of the command of an entry; `None` if it has none, or more than one command.
pub fn words(entry: &Value) -> Option<Vec<String>> {
    let command = entry.get(COMMAND)?.as_str()?;
    let text = |word: &Value| word.as_str().map(str::to_owned);
    match entry.get(ARGUMENTS) {
        Some(arguments) => {
            let arguments = arguments.as_array()?.iter().map(text);
            std::iter::once(Some(command.to_owned()))
                .chain(arguments)
                .collect()
        }
        None => shell::words(command.strip_prefix(CALL_OPERATOR).unwrap_or(command)),
    }
}

/// Gives an entry of loci the command of a new one. Where it is as an older loci made it, it becomes
/// the new one; otherwise, what the user changed stays.
pub fn update(object: CstObject, old: &Value, new: &Value) {
    if old == new {
        return;
    }
    if is_former(old) {
        object.replace_with(json_input(new));
        return;
    }
    for key in [COMMAND, ARGUMENTS] {
        match (object.get(key), new.get(key)) {
            (Some(_), Some(value)) if old[key] == *value => {}
            (Some(property), Some(value)) => property.set_value(json_input(value)),
            (Some(property), None) => property.remove(),
            (None, Some(value)) => {
                object.append(key, json_input(value));
            }
            (None, None) => {}
        }
    }
}

/// Returns true if an older loci made the entry, and the user changed nothing in it.
fn is_former(entry: &Value) -> bool {
    let Some(command) = entry.get(COMMAND) else {
        return false;
    };
    *entry == json!({"type": "command", COMMAND: command, "timeout": FORMER_TIMEOUT})
}

fn line(words: &[String], is_windows: bool, form: HookCommand) -> String {
    let quoted: Vec<_> = words.iter().map(|word| shell::quoted(word)).collect();
    let line = quoted.join(" ");
    let is_quoted = line.starts_with('\'');
    if is_windows && is_quoted && form == HookCommand::LineOfPowerShell {
        format!("{CALL_OPERATOR}{line}")
    } else {
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CLAUDE_CODE, CODEX, GEMINI_CLI, Host};

    fn made(host: &Host, event: Event) -> Value {
        let words = ["/a b/loci", "hook", "run"].map(str::to_owned);
        entry(&host.hooks.unwrap(), &words, event)
    }

    #[test]
    fn each_host_has_its_own_form() {
        let words = json!(["hook", "run"]);
        for (host, event, expected) in [
            (
                &CLAUDE_CODE,
                Event::Prompt,
                json!({"type": "command", "command": "/a b/loci", "args": words, "timeout": 5}),
            ),
            (
                &CLAUDE_CODE,
                Event::PreCompact,
                json!({"type": "command", "command": "/a b/loci", "args": words, "timeout": 10, "async": true}),
            ),
            (
                &CODEX,
                Event::PreCompact,
                json!({"type": "command", "command": "'/a b/loci' hook run", "timeout": 10}),
            ),
            (
                &GEMINI_CLI,
                Event::Prompt,
                json!({"type": "command", "command": "'/a b/loci' hook run", "timeout": 5000}),
            ),
        ] {
            let entry = made(host, event);
            assert_eq!(entry, expected);
            assert_eq!(super::words(&entry).unwrap(), ["/a b/loci", "hook", "run"]);
        }
    }

    #[test]
    fn only_hooks_whose_work_later_ones_do_are_async() {
        for event in Event::ALL {
            let is_async = made(&CLAUDE_CODE, event).get("async").is_some();
            assert_eq!(is_async, event == Event::PreCompact, "{event}");
        }
    }

    #[test]
    fn powershell_calls_a_quoted_program() {
        let words = [r"C:\Program Files\loci.exe", "hook"].map(str::to_owned);
        let made = |is_windows, form| line(&words, is_windows, form);
        let plain = r"'C:\Program Files\loci.exe' hook";
        assert_eq!(made(true, HookCommand::Line), plain);
        assert_eq!(made(false, HookCommand::LineOfPowerShell), plain);
        let called = made(true, HookCommand::LineOfPowerShell);
        assert_eq!(called, format!("& {plain}"));
        assert_eq!(super::words(&json!({"command": called})).unwrap(), words);
        let short = ["loci".to_owned()];
        assert_eq!(line(&short, true, HookCommand::LineOfPowerShell), "loci");
    }

    #[test]
    fn an_entry_without_a_command_has_no_words() {
        for entry in [
            json!(3),
            json!({}),
            json!({"command": 3}),
            json!({"command": "loci", "args": "hook"}),
            json!({"command": "loci", "args": ["hook", 3]}),
            json!({"command": "loci; say"}),
        ] {
            assert_eq!(words(&entry), None, "{entry}");
        }
    }
}

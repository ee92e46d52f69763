//! Tests of the hooks in settings.

use std::fs;

use jsonc_parser::cst::CstRootNode;
use serde_json::{Value, json};

use super::*;
use crate::command::tests::PROGRAM;
use crate::form::JSON_FORM;
use crate::host::EVENTS_OF_CLAUDE_CODE;

fn hooks<'a>(host: &str, file: &'a Path) -> Hooks<'a> {
    Hooks {
        host: crate::host(host).unwrap(),
        file,
        reach: Reach::Everywhere,
        program: PROGRAM,
    }
}

fn install(file: &Path) -> Result<bool, EditError> {
    let program = ["/bin/loci".to_owned()];
    let options = HookOptions {
        program: &program,
        dialect: None,
        default_dialect: "mememory",
        is_shared: false,
        is_verbatim: false,
    };
    hooks("claude-code", file)
        .install(&options)
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
    let new = json!([
        "hook",
        "run",
        "--host",
        "claude-code",
        "--dialect",
        "mememory",
        "--event",
        "stop"
    ]);
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
    let kept = json!({"matcher": "b", "hooks": [{"command": "/bin/loci", "timeout": 3, "args": new}, {"command": "say"}]});
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
fn empty_lists_of_the_settings_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings.json");
    let text = "{\"hooks\": {}, \"version\": 1}";
    fs::write(&file, text).unwrap();
    assert!(install(&file).unwrap());
    uninstall(&file);
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
    let files = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(files, 1, "the copy is gone with what it was made for");
}

#[test]
fn a_byte_order_mark_stays_before_the_settings() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings.json");
    for text in ["\u{feff}{\r\n  \"a\": 1\r\n}\r\n", "\u{feff}"] {
        fs::write(&file, text).unwrap();
        assert!(install(&file).unwrap());
        assert!(!install(&file).unwrap(), "twice is once");
        let installed = fs::read_to_string(&file).unwrap();
        assert!(installed.starts_with("\u{feff}{") && installed.matches('\u{feff}').count() == 1);
        uninstall(&file);
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }
}

#[test]
fn every_other_byte_of_the_settings_stays() {
    let text =
        "// of mine\n{\n\t\"a\": 12345678901234567890123, // long\n\t\"b\": 1, \"b\": 0.10,\n}\n";
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
    assert!(installed.contains(r#""--event", "stop""#), "{installed}");
    uninstall(&file);
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
}

/// The settings as an older loci left them: lines for a shell, ten seconds each, fewer events.
fn former() -> Value {
    let entry = |event: &str| {
        let line = format!("/bin/loci hook run --host claude-code --dialect vault --event {event}");
        json!([{"hooks": [{"type": "command", "command": line, "timeout": 10}]}])
    };
    json!({"hooks": {
        "SessionStart": entry("session-start"),
        "Stop": entry("stop"),
        "PreCompact": entry("pre-compact"),
    }})
}

#[test]
fn former_hooks_become_new_ones_in_their_place() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings.json");
    fs::write(&file, format!("{:#}", former())).unwrap();
    assert!(install(&file).unwrap());
    assert!(!install(&file).unwrap(), "twice is once");
    let upgraded = read(&file)["hooks"].clone();
    let fresh = folder.path().join("fresh.json");
    fs::write(&fresh, former_with_one_event()).unwrap();
    install(&fresh).unwrap();
    for (name, event) in EVENTS_OF_CLAUDE_CODE {
        let groups = upgraded[name].as_array().unwrap();
        assert_eq!(groups.len(), 1, "{name}");
        let entry = &groups[0]["hooks"][0];
        assert_eq!(entry["command"], "/bin/loci");
        let words = [
            "hook",
            "run",
            "--host",
            "claude-code",
            "--dialect",
            "vault",
            "--event",
        ];
        let words: Vec<_> = words.into_iter().chain([event.name()]).collect();
        assert_eq!(entry["args"], json!(words));
        assert_eq!(entry["timeout"], event.timeout_seconds(), "{name}");
        assert_eq!(read(&fresh)["hooks"][name][0]["hooks"][0], *entry, "{name}");
    }
    uninstall(&file);
    assert_eq!(read(&file), json!({}));
}

/// Former settings that have only the hook of a stop.
fn former_with_one_event() -> String {
    json!({"hooks": {"Stop": former()["hooks"]["Stop"]}}).to_string()
}

#[test]
fn former_hooks_are_taken_out() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings.json");
    fs::write(&file, "{}").unwrap();
    fs::write(&file, format!("{:#}\n", former())).unwrap();
    uninstall(&file);
    assert_eq!(read(&file), json!({}));
}

#[test]
fn an_undoing_of_former_hooks_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("new").join("settings.json");
    let hooks = hooks("claude-code", &file);
    fs::create_dir(file.parent().unwrap()).unwrap();
    let entries: Vec<_> = former()["hooks"]
        .as_object()
        .unwrap()
        .clone()
        .into_iter()
        .collect();
    let entries: Vec<_> = entries
        .into_iter()
        .map(|(name, groups)| (name, groups[0]["hooks"][0].clone()))
        .collect();
    fs::write(
        &file,
        edited("", |whole| hooks.put(whole, &entries)).unwrap(),
    )
    .unwrap();
    hooks
        .plan_uninstall(folder.path())
        .unwrap()
        .apply()
        .unwrap();
    assert!(!file.parent().unwrap().exists());
}

fn options(program: &[String]) -> HookOptions<'_> {
    HookOptions {
        program,
        dialect: None,
        default_dialect: "mememory",
        is_shared: false,
        is_verbatim: false,
    }
}

#[test]
fn cursor_has_its_entries_without_groups() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("new").join("hooks.json");
    let hooks = hooks("cursor", &file);
    let program = ["/bin/loci".to_owned()];
    let entry = json!({
        "type": "command",
        "command": "/bin/loci hook run --host cursor --dialect mememory --event session-start",
        "timeout": 10,
    });
    assert!(hooks.install(&options(&program)).unwrap().has_changed);
    assert_eq!(
        read(&file),
        json!({"version": 1, "hooks": {"sessionStart": [entry]}})
    );
    assert!(!hooks.install(&options(&program)).unwrap().has_changed);
    assert!(hooks.is_installed().unwrap());
    let undo = hooks.plan_uninstall(folder.path()).unwrap();
    undo.apply().unwrap();
    assert!(!file.parent().unwrap().exists());

    let of_others = json!({"command": "./hooks/audit.sh"});
    let before =
        json!({"version": 1, "hooks": {"stop": [of_others], "sessionStart": [3, of_others]}});
    fs::create_dir(file.parent().unwrap()).unwrap();
    fs::write(&file, before.to_string()).unwrap();
    hooks.install(&options(&program)).unwrap();
    let installed = read(&file)["hooks"].clone();
    assert_eq!(installed["sessionStart"], json!([3, of_others, entry]));
    // A user's change stays, where it is.
    let kept = json!({"command": entry["command"], "timeout": 3, "loop_limit": 1});
    let changed = json!({"version": 1, "hooks": {"sessionStart": [kept, of_others]}});
    fs::write(&file, changed.to_string()).unwrap();
    let elsewhere = ["/usr/bin/loci".to_owned()];
    hooks.install(&options(&elsewhere)).unwrap();
    let kept = &read(&file)["hooks"]["sessionStart"][0];
    assert_eq!(
        (&kept["timeout"], &kept["loop_limit"]),
        (&json!(3), &json!(1))
    );
    assert!(
        kept["command"]
            .as_str()
            .unwrap()
            .starts_with("/usr/bin/loci ")
    );
    hooks.uninstall().unwrap();
    assert_eq!(
        read(&file),
        json!({"version": 1, "hooks": {"sessionStart": [of_others]}})
    );
}

#[test]
fn opencode_has_a_module() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plugins").join("loci.js");
    let hooks = hooks("opencode", &file);
    let program = ["/a \"b/loci".to_owned()];
    let with_dialect = HookOptions {
        dialect: Some("vault"),
        ..options(&program)
    };
    assert!(hooks.install(&with_dialect).unwrap().has_changed);
    let text = fs::read_to_string(&file).unwrap();
    let line = r#"const command = ["/a \"b/loci","hook","run","--host","opencode","--dialect","vault","--event"];"#;
    assert!(text.lines().any(|one| one == line), "{text}");
    for (_, event) in hooks.host.events() {
        let milliseconds = event.timeout_seconds() * 1_000;
        let milliseconds = format!("{}_000", milliseconds / 1_000);
        assert!(text.contains(&milliseconds) && text.contains(event.name()));
    }
    assert!(hooks.is_installed().unwrap());
    // The command is one of loci, so that its dialect stays.
    let own = ["/b/loci-renamed".to_owned()];
    let own = HookOptions {
        dialect: Some("engram"),
        ..options(&own)
    };
    hooks.install(&own).unwrap();
    let known = ["/b/loci-renamed".to_owned()];
    let again = hooks.install(&options(&known)).unwrap();
    assert!(!again.has_changed, "twice is once, with the dialect");
    let undo = hooks.plan_uninstall(folder.path()).unwrap();
    undo.apply().unwrap();
    assert!(!file.parent().unwrap().exists());

    // A file of another with that name stays.
    fs::create_dir(file.parent().unwrap()).unwrap();
    let of_another = "export const Loci = async () => ({});\n";
    fs::write(&file, of_another).unwrap();
    let refused = hooks.install(&options(&program)).unwrap_err();
    assert!(matches!(refused, EditError::Refused { .. }), "{refused}");
    assert!(!hooks.is_installed().unwrap());
    assert!(!hooks.uninstall().unwrap().has_changed);
    assert_eq!(fs::read_to_string(&file).unwrap(), of_another);
    fs::remove_file(&file).unwrap();
    hooks.install(&options(&program)).unwrap();
    hooks.uninstall().unwrap();
    assert!(!file.exists());
}

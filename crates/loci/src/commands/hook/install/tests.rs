//! Tests of installed hooks with the real command line of loci.

use std::fs;

use loci_hosts::CLAUDE_CODE;

use super::*;

fn remove(file: &Path) -> Result<EditResult, Failure> {
    let arguments = HookSettings {
        host: &CLAUDE_CODE,
        file: Some(file.to_owned()),
    };
    edit(&arguments, file, |hooks| hooks.uninstall())
}

#[test]
fn commands_of_loci_are_told_from_others() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings.json");
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
        let settings = json!({"hooks": {"Stop": [{"hooks": [{"command": command}]}]}});
        fs::write(&file, settings.to_string()).unwrap();
        assert_eq!(remove(&file).unwrap().has_changed, expected, "{command}");
    }
}

#[test]
fn a_refusal_names_the_flag_for_another_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings.json");
    fs::write(&file, "[]").unwrap();
    let failure = remove(&file).unwrap_err();
    assert_eq!(failure.exit, Exit::Usage);
    let expected = format!(
        "{} is not changed: it holds no JSON object; mend it, or name another with --file",
        file.display()
    );
    assert_eq!(failure.message, expected);
}

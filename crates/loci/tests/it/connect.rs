//! `loci connect` with hosts in a home folder of the test.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::program::{Place, ended};

/// A place in which no host of the machine is found.
fn place() -> Place {
    ["CODEX_HOME", "CLAUDE_CONFIG_DIR"]
        .into_iter()
        .fold(Place::new().with("PATH", "/nowhere"), |place, variable| {
            place.with(variable, "")
        })
}

/// Everything in the home folder but the data of loci.
fn everything(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.ends_with("data") {
            continue;
        }
        if path.is_dir() {
            found.extend(everything(&path));
        } else {
            let bytes = fs::read(&path).unwrap();
            found.push((path, bytes));
        }
    }
    found.sort();
    found
}

fn read_json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn without_a_host_the_known_ones_are_named() {
    let refused = place().run(&["connect"]).failed(1, "no host was found");
    for host in ["claude-code", "goose", "zed"] {
        assert!(refused.stderr.contains(host), "{refused:?}");
    }
    place().run(&["connect", "--print"]).failed(2, "HOST");
    place()
        .run(&["connect", "nohost"])
        .failed(2, "possible values");
}

#[test]
fn the_hosts_that_are_found_are_connected_and_undone() {
    let place = place();
    place.write(
        ".gemini/settings.json",
        "{\n\t\"theme\": \"dark\" // mine\n}",
    );
    place.write(".codex/config.toml", "model = 'x' # mine\r\n");
    place.write(".config/goose/config.yaml", "# mine\nextensions: {}\n");
    place.write(".cursor/argv.json", "{}");
    let home = place.path("");
    let before = everything(&home);
    let dry = place.run(&["connect", "--dry-run"]).succeeded();
    assert!(
        dry.stdout.contains("+++ ") && dry.stdout.contains("+[mcp_servers.loci]"),
        "{dry:?}"
    );
    assert_eq!(everything(&home), before);

    let connected = place.run(&["connect"]).succeeded();
    for host in ["codex", "cursor", "gemini-cli", "goose"] {
        let line = format!("{host}: connected\n");
        assert!(connected.stdout.contains(&line), "{connected:?}");
    }
    assert!(
        connected
            .stderr
            .contains("skipped unless you name them: claude-code")
    );
    assert!(connected.stderr.contains("config.toml.loci-backup-1"));
    let entry = &read_json(&place.path(".cursor/mcp.json"))["mcpServers"]["loci"];
    assert!(Path::new(entry["command"].as_str().unwrap()).is_absolute());
    let data = place.data().display().to_string();
    assert_eq!(
        entry["args"],
        serde_json::json!(["--data", data, "mcp", "mememory"])
    );

    let after = everything(&home);
    let again = place.run(&["connect"]).succeeded();
    assert!(
        again.stdout.contains("codex: already connected\n"),
        "{again:?}"
    );
    assert_eq!(everything(&home), after, "twice is once");

    let undone = place.run(&["connect", "--undo"]).succeeded();
    assert!(
        undone.stdout.contains("goose: disconnected\n"),
        "{undone:?}"
    );
    assert_eq!(everything(&home), before);
    let nothing = place.run(&["connect", "--undo"]).succeeded();
    assert!(nothing.stdout.contains("nothing of loci"), "{nothing:?}");
}

#[test]
fn hooks_and_instructions_come_and_go_with_the_server() {
    let place = place();
    place.write(".claude/CLAUDE.md", "# Mine\n");
    place.write(".claude/settings.json", "{\"a\": 1}");
    let home = place.path("");
    let before = everything(&home);
    let arguments = [
        "connect",
        "claude-code",
        "--hooks",
        "--instructions",
        "--dialect",
        "vault",
    ];
    place.run(&arguments).succeeded();
    let entry = &read_json(&place.path(".claude.json"))["mcpServers"]["loci"];
    assert_eq!(entry["alwaysLoad"], true);
    let hooks = read_json(&place.path(".claude/settings.json"))["hooks"].clone();
    let words = json!([
        "hook",
        "run",
        "--host",
        "claude-code",
        "--dialect",
        "vault",
        "--event",
        "stop"
    ]);
    let stop = &hooks["Stop"][0]["hooks"][0];
    assert!(
        stop["args"]
            .as_array()
            .unwrap()
            .ends_with(words.as_array().unwrap()),
        "{stop}"
    );
    let told = fs::read_to_string(place.path(".claude/CLAUDE.md")).unwrap();
    assert!(
        told.contains("`memory_search`") && told.contains("`memory_append`"),
        "{told}"
    );
    // Without a dialect, the one that is there stays.
    let again = place
        .run(&["connect", "claude-code", "--hooks", "--instructions"])
        .succeeded();
    assert!(again.stdout.contains("already connected"), "{again:?}");
    place.run(&["connect", "--undo"]).succeeded();
    assert_eq!(everything(&home), before);

    let elsewhere = ["connect", "claude-code", "--hooks", "--scope", "project"];
    place.run(&elsewhere).failed(2, "--hooks");
}

#[test]
fn a_plugin_beside_the_hooks_is_told_of() {
    let place = place().with_store();
    let plugin = r#"{"enabledPlugins": {"loci@loci": true}}"#;
    place.write(".claude/settings.json", plugin);
    let overview = place.run(&["doctor"]).succeeded();
    assert!(!overview.stdout.contains("twice"), "{overview:?}");
    assert!(
        overview
            .stdout
            .contains("no call recorded yet: Claude Code"),
        "{overview:?}"
    );
    let connected = place
        .run(&["connect", "claude-code", "--hooks"])
        .succeeded();
    let advice = "`claude plugin uninstall loci@loci` takes the plug-in out";
    assert!(connected.stderr.contains(advice), "{connected:?}");
    let doctor = place.run(&["doctor"]).succeeded();
    assert!(doctor.stdout.contains(advice), "{doctor:?}");
    place.run(&["connect", "--undo"]).succeeded();
    let doctor = place.run(&["doctor"]).succeeded();
    assert!(!doctor.stdout.contains("twice"), "{doctor:?}");
    // The hooks by themselves are enough to be there twice.
    let hooks = ["hook", "install", "--host", "claude-code"];
    place.run(&hooks).succeeded();
    let doctor = place.run(&["doctor"]).succeeded();
    assert!(doctor.stdout.contains(advice), "{doctor:?}");
}

#[test]
fn a_server_and_hooks_share_the_file_of_gemini_cli() {
    let place = place();
    place.write(".gemini/settings.json", "{\"a\": 1} // mine");
    let home = place.path("");
    let before = everything(&home);
    let shown = place
        .run(&["connect", "gemini-cli", "--hooks", "--dry-run"])
        .succeeded()
        .stdout;
    assert!(
        shown.contains("mcpServers") && shown.contains("BeforeAgent"),
        "{shown}"
    );
    assert_eq!(everything(&home), before);
    let said = place
        .run(&["connect", "gemini-cli", "--hooks"])
        .succeeded()
        .stdout;
    assert!(said.contains("server and hooks: in "), "{said}");
    let text = fs::read_to_string(place.path(".gemini/settings.json")).unwrap();
    assert!(
        text.contains("\"timeout\": 5000") && text.contains("// mine"),
        "{text}"
    );
    let again = place.run(&["connect", "gemini-cli", "--hooks"]).succeeded();
    assert!(again.stdout.contains("already connected"), "{again:?}");
    place.run(&["connect", "--undo"]).succeeded();
    assert_eq!(everything(&home), before);
}

#[test]
fn tokens_stay_out_of_files() {
    let place = place();
    let url = [
        "connect",
        "--http",
        "http://127.0.0.1:7821",
        "claude-code",
        "codex",
        "zed",
    ];
    let ended = place.run(&url).failed(1, "not connected: zed");
    assert!(
        ended
            .stdout
            .contains("zed: Zed would keep the token itself"),
        "{ended:?}"
    );
    assert!(ended.stderr.contains("LOCI_TOKEN"), "{ended:?}");
    let entry = &read_json(&place.path(".claude.json"))["mcpServers"]["loci"];
    assert_eq!(entry["url"], "http://127.0.0.1:7821/mcp/mememory");
    assert_eq!(entry["headers"]["Authorization"], "Bearer ${LOCI_TOKEN}");
    let codex = fs::read_to_string(place.path(".codex/config.toml")).unwrap();
    assert!(
        codex.contains("bearer_token_env_var = \"LOCI_TOKEN\""),
        "{codex}"
    );
    let secret = ["connect", "--http", "http://me:secret@h.example", "codex"];
    let refused = place.run(&secret).failed(2, "a password");
    assert!(!refused.stderr.contains("secret"), "{refused:?}");
}

#[test]
fn a_server_of_another_program_stays() {
    let place = place();
    let text = "{\"mcpServers\": {\"loci\": {\"command\": \"other\"}}}";
    let file = place.write(".cursor/mcp.json", text);
    place.write(".gemini/settings.json", "{");
    let ended = place
        .run(&["connect"])
        .failed(1, "not connected: cursor, gemini-cli");
    assert!(ended.stdout.contains("not of loci"), "{ended:?}");
    assert!(ended.stdout.contains("it is no JSON"), "{ended:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
    place
        .run(&["connect", "cursor", "--name", "memory"])
        .succeeded();
    assert!(read_json(&file)["mcpServers"]["memory"].is_object());
    place
        .run(&["connect", "cursor", "--name", "a b"])
        .failed(2, "letters");
}

#[test]
fn a_project_has_files_of_its_own() {
    let place = place();
    let hosts = ["claude-code", "vscode", "windsurf"];
    let arguments = [
        &["connect", "--scope", "project", "--instructions"],
        &hosts[..],
    ]
    .concat();
    let ended = place.run(&arguments).failed(1, "not connected: windsurf");
    assert!(ended.stdout.contains("--scope user"), "{ended:?}");
    for file in [
        ".mcp.json",
        ".vscode/mcp.json",
        "CLAUDE.md",
        ".github/copilot-instructions.md",
    ] {
        assert!(place.path(file).is_file(), "{file}");
    }
    let undo = [&["connect", "--scope", "project", "--undo"], &hosts[..]].concat();
    place.run(&undo).succeeded();
    assert_eq!(everything(&place.path("")), []);
}

#[cfg(unix)]
#[test]
fn a_file_that_a_team_shares_names_no_path_of_this_machine() {
    let place = place();
    let arguments = ["connect", "--scope", "project", "claude-code"];
    let entry = || read_json(&place.path(".mcp.json"))["mcpServers"]["loci"].clone();
    let said = place.run(&arguments).succeeded();
    assert!(Path::new(entry()["command"].as_str().unwrap()).is_absolute());
    assert!(said.stderr.contains("put loci on the path"), "{said:?}");

    let folder = place.path("bin");
    fs::create_dir(&folder).unwrap();
    let on_path = |arguments: &[&str]| {
        let mut command = place.command(arguments);
        command.env("PATH", &folder).env_remove("LOCI_DATA");
        ended(command.spawn().unwrap())
    };
    // Another program of that name is not this one.
    fs::write(folder.join("loci"), "").unwrap();
    on_path(&arguments).succeeded();
    assert_ne!(entry()["command"], "loci");
    fs::remove_file(folder.join("loci")).unwrap();
    std::os::unix::fs::symlink(crate::PROGRAM, folder.join("loci")).unwrap();
    let said = on_path(&arguments).succeeded();
    assert_eq!(entry()["command"], "loci");
    assert_eq!(entry()["args"], json!(["mcp", "mememory"]));
    assert!(!said.stderr.contains("other machines"), "{said:?}");
    let checked = [&arguments[..], &["--check"]].concat();
    assert!(
        on_path(&checked)
            .succeeded()
            .stdout
            .contains("loci, which its file names, answers")
    );
    // A place that is named is of this machine, too.
    let named = [&["--data", folder.to_str().unwrap()], &arguments[..]].concat();
    let said = on_path(&named).succeeded();
    assert!(said.stderr.contains("name no folder"), "{said:?}");
    // The user's own file keeps the path, since hosts with a window have another one.
    on_path(&["connect", "claude-code"]).succeeded();
    let own = &read_json(&place.path(".claude.json"))["mcpServers"]["loci"];
    assert!(Path::new(own["command"].as_str().unwrap()).is_absolute());
    on_path(&[&arguments[..], &["--undo"]].concat()).succeeded();
    assert!(!place.path(".mcp.json").exists());
}

#[test]
fn entries_are_printed_with_their_links() {
    let place = place();
    let printed = place
        .run(&["connect", "--print", "vscode"])
        .succeeded()
        .stdout;
    assert!(
        printed.contains("\"servers\"") && printed.contains("vscode:mcp/install?"),
        "{printed}"
    );
    let value = place.json(&["connect", "--print", "codex", "--dialect", "vault"]);
    let entry = value["hosts"][0]["entry"].as_str().unwrap();
    assert!(
        entry.starts_with("[mcp_servers.loci]") && entry.contains("\"vault\""),
        "{entry}"
    );
    assert_eq!(value["hosts"][0]["link"], Value::Null);
    assert_eq!(everything(&place.path("")), []);
}

#[test]
fn the_outcome_is_json() {
    let place = place();
    place.write(".cursor/mcp.json", "{}");
    let value = place.json(&["connect"]);
    let host = &value["hosts"][0];
    assert_eq!(
        (&host["host"], &host["outcome"]),
        (&"cursor".into(), &"connected".into())
    );
    let file = &host["files"][0];
    assert_eq!(
        (&file["part"], &file["changed"]),
        (&"server".into(), &true.into())
    );
    assert!(
        file["backup"]
            .as_str()
            .unwrap()
            .ends_with("mcp.json.loci-backup-1")
    );
    let value = place.json(&["connect", "--undo", "cursor", "--dry-run"]);
    let difference = &value["hosts"][0]["files"][0]["difference"];
    assert!(
        difference.as_str().unwrap().contains("-    \"loci\""),
        "{value}"
    );
}

#[test]
fn a_check_asks_the_server_or_the_host() {
    use std::os::unix::fs::PermissionsExt;

    let place = place();
    place
        .run(&["connect", "--check", "codex"])
        .failed(1, "not connected: codex");
    place.run(&["connect", "cursor"]).succeeded();
    let checked = place.run(&["connect", "--check"]).succeeded();
    assert!(checked.stdout.contains("answers as loci"), "{checked:?}");
    let text = fs::read_to_string(place.path(".cursor/mcp.json")).unwrap();
    let broken = text.replace("--data", "--no-such-flag");
    place.write(".cursor/mcp.json", broken);
    place
        .run(&["connect", "--check", "cursor"])
        .failed(1, "not connected: cursor");

    place.run(&["connect", "claude-code"]).succeeded();
    let listing = |words: &str| {
        let script = format!("#!/bin/sh\necho 'loci: loci mcp mememory - {words}'\n");
        let file = place.write("bin/claude", script);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        let mut command = place.command(&["connect", "--check", "claude-code"]);
        command.env("PATH", place.path("bin"));
        ended(command.spawn().unwrap())
    };
    let checked = listing("Connected").succeeded();
    assert!(
        checked
            .stdout
            .contains("`claude mcp list` calls it connected"),
        "{checked:?}"
    );
    let failed = listing("Failed to connect").failed(1, "not connected: claude-code");
    assert!(failed.stdout.contains("Failed to connect"), "{failed:?}");
}

#[cfg(unix)]
#[test]
fn a_link_of_a_checkout_does_not_reach_the_users_files() {
    let place = place();
    place.write(".profile", "export TEA=green\n");
    place.write(".claude.json", "{\"a\": 1}\n");
    place.write(".claude/settings.json", "{}\n");
    place.write("checkout/.git/HEAD", "ref: refs/heads/main\n");
    let checkout = place.path("checkout");
    for (link, target, arguments) in [
        (
            "AGENTS.md",
            "../.profile",
            &["connect", "codex", "--scope", "project", "--instructions"][..],
        ),
        (
            ".mcp.json",
            "../.claude.json",
            &["connect", "claude-code", "--scope", "project"],
        ),
        (
            ".claude",
            "../.claude",
            &[
                "hook",
                "install",
                "--host",
                "claude-code",
                "--file",
                ".claude/settings.json",
            ],
        ),
    ] {
        let path = checkout.join(link);
        std::os::unix::fs::symlink(target, &path).unwrap();
        let outside = [".profile", ".claude.json", ".claude/settings.json"];
        let texts = || outside.map(|name| fs::read_to_string(place.path(name)).unwrap());
        let before = texts();
        let mut command = place.command(arguments);
        let refused = ended(command.current_dir(&checkout).spawn().unwrap());
        let said = format!("{}{}", refused.stdout, refused.stderr);
        assert!(
            said.contains(link) && said.contains(target) && said.contains("out of"),
            "{refused:?}"
        );
        assert_eq!(texts(), before);
        fs::remove_file(&path).unwrap();
    }
}

#[test]
fn what_a_killed_command_left_is_named_and_cleared() {
    let place = place();
    place.write(".cursor/mcp.json", "{}\n");
    let token = "0123456789abcdef";
    let draft = place.write(&format!(".cursor/.mcp.json.loci-{token}.new"), "{\"hal");
    let copy = place.write(".cursor/mcp.json.loci-backup-2", "{}\n");
    let kept = place.write(".cursor/mcp.json.loci-recovered-1", "{\"theirs\": 1}\n");
    let former = place.write(".cursor/mcp.json.loci-backup-1", "{\"a\": 1}\n");
    let named = place.run(&["doctor"]);
    assert!(
        !named.stdout.contains(former.to_str().unwrap()),
        "{named:?}"
    );
    for file in [&draft, &copy, &kept] {
        assert!(named.stdout.contains(file.to_str().unwrap()), "{named:?}");
    }
    assert!(draft.exists(), "looking changes nothing");
    let fixed = place.run(&["doctor", "--fix"]);
    assert!(fixed.stdout.contains("cleared"), "{fixed:?}");
    assert!(!draft.exists() && !copy.exists() && kept.exists() && former.exists());
    place.write(&format!(".cursor/.mcp.json.loci-{token}.new"), "{\"hal");
    place.run(&["connect", "zed"]).succeeded();
    assert!(
        !draft.exists(),
        "a connection of another host clears it, too"
    );
}

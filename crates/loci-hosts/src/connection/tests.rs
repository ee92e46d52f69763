//! Tests of the connection of every host.

use std::fs;

use serde_json::json;

use super::*;
use crate::HookOptions;
use crate::command::tests::PROGRAM;
use crate::form::Form;
use crate::machine::System;
use crate::{CLAUDE_CODE, CLAUDE_DESKTOP, CODEX, CURSOR, GEMINI_CLI, HOSTS, OPENCODE, VSCODE, ZED};

const OWN: OwnEntry<'_> = OwnEntry {
    file_name: None,
    dialects: &["mememory", "vault"],
};
const BLOCK: InstructionBlock<'_> = InstructionBlock {
    server: "loci",
    recall: "recall",
    remember: "remember",
};

fn machine(home: &Path) -> Machine {
    Machine {
        system: System::Linux,
        home: home.to_owned(),
        variable: |_| None,
    }
}

fn connection<'a>(host: &'static Host, machine: &'a Machine, scope: Scope) -> Connection<'a> {
    Connection {
        host,
        machine,
        scope,
        project: &machine.home,
        name: "loci",
        own: OWN,
    }
}

fn stdio(dialect: &str) -> Target {
    let arguments = ["--data", "/a b", "mcp", dialect].map(str::to_owned);
    Target::Stdio {
        program: "/usr/local/bin/loci".to_owned(),
        arguments: arguments.to_vec(),
    }
}

fn http(dialect: &str) -> Target {
    Target::Http {
        url: format!("http://127.0.0.1:7821/mcp/{dialect}"),
    }
}

/// A file of a host with comments and servers of others.
fn with_others(host: &Host) -> String {
    let key = host.servers.key;
    match host.servers.form {
        Form::Json => format!(
            "// mine\n{{\n\t\"theme\": \"dark\", // of mine\n\t\"{key}\": {{\n\t\t\"other\": {{\"command\": \"x\"}}, \n\t}},\n}}"
        ),
        Form::Toml => format!(
            "# mine\nmodel = 'm' # of mine\n\n[{key}.other]\ncommand = \"x\"\n\n[last]\na = 1"
        ),
        Form::Yaml => format!(
            "# mine\nmodel: m # of mine\n{key}:\n  other:\n    cmd: x\n    args:\n    - a\n\n# last\nlast: 1"
        ),
    }
}

fn everything(folder: &Path) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.push((path.clone(), None));
            found.extend(everything(&path));
        } else {
            let bytes = fs::read(&path).unwrap();
            found.push((path, Some(bytes)));
        }
    }
    found.sort();
    found
}

#[test]
fn every_host_is_connected_once_and_undone_to_the_byte() {
    let mut tried = 0;
    for host in HOSTS {
        for scope in Scope::ALL {
            for before in [None, Some(String::new()), Some(with_others(host))] {
                for target in [stdio("mememory"), http("vault")] {
                    let home = tempfile::tempdir().unwrap();
                    let machine = machine(home.path());
                    let connection = connection(host, &machine, scope);
                    let Ok(file) = connection.file() else {
                        continue;
                    };
                    if let Some(text) = &before {
                        fs::create_dir_all(file.parent().unwrap()).unwrap();
                        fs::write(&file, text).unwrap();
                    }
                    let found = everything(home.path());
                    let Ok(change) = connection.connect(&target) else {
                        assert!(matches!(target, Target::Http { .. }), "{}", host.name);
                        continue;
                    };
                    change.apply().unwrap();
                    let connected = everything(home.path());
                    let entry = connection.entry().unwrap().unwrap();
                    assert_eq!(Target::of(&entry), Some(target.clone()), "{entry}");
                    assert!(
                        !connection
                            .connect(&target)
                            .unwrap()
                            .apply()
                            .unwrap()
                            .has_changed
                    );
                    assert_eq!(everything(home.path()), connected, "twice is once");
                    connection.disconnect().unwrap().apply().unwrap();
                    assert_eq!(everything(home.path()), found, "{} {before:?}", host.name);
                    assert!(!connection.disconnect().unwrap().has_changed());
                    tried += 1;
                }
            }
        }
    }
    assert!(tried >= 3 * (11 + 7 + 8), "{tried}");
}

#[test]
fn a_connection_that_changes_is_still_undone_to_the_byte() {
    for host in HOSTS {
        let home = tempfile::tempdir().unwrap();
        let machine = machine(home.path());
        let connection = connection(host, &machine, Scope::User);
        let file = connection.file().unwrap();
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, with_others(host)).unwrap();
        let found = everything(home.path());
        for target in [
            stdio("mememory"),
            stdio("vault"),
            http("vault"),
            stdio("vault"),
        ] {
            if let Ok(change) = connection.connect(&target) {
                change.apply().unwrap();
            }
        }
        assert_eq!(connection.dialect().unwrap().as_deref(), Some("vault"));
        connection.disconnect().unwrap().apply().unwrap();
        assert_eq!(everything(home.path()), found, "{}", host.name);
    }
}

#[test]
fn what_a_host_or_a_person_wrote_since_stays() {
    for host in HOSTS {
        let home = tempfile::tempdir().unwrap();
        let machine = machine(home.path());
        let connection = connection(host, &machine, Scope::User);
        let file = connection.file().unwrap();
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, with_others(host)).unwrap();
        connection
            .connect(&stdio("mememory"))
            .unwrap()
            .apply()
            .unwrap();
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, text.replace("mine", "ours")).unwrap();
        connection.disconnect().unwrap().apply().unwrap();
        let left = fs::read_to_string(&file).unwrap();
        assert!(!left.contains("loci"), "{left}");
        for kept in ["ours", "other", "of ours"] {
            assert!(left.contains(kept), "{left}");
        }
    }
}

#[test]
fn an_entry_of_another_program_is_not_replaced() {
    let home = tempfile::tempdir().unwrap();
    let machine = machine(home.path());
    let connection = connection(&CURSOR, &machine, Scope::User);
    let file = connection.file().unwrap();
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let text = json!({"mcpServers": {"loci": {"command": "other", "args": []}}}).to_string();
    fs::write(&file, &text).unwrap();
    let refused = connection
        .connect(&stdio("mememory"))
        .unwrap_err()
        .to_string();
    assert!(
        refused.contains("not of loci") && refused.contains("--name"),
        "{refused}"
    );
    assert!(!connection.disconnect().unwrap().has_changed());
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
    let named = Connection {
        name: "memory",
        ..connection
    };
    named.connect(&stdio("mememory")).unwrap().apply().unwrap();
    assert!(fs::read_to_string(&file).unwrap().contains("\"memory\""));
}

#[test]
fn no_token_is_written() {
    let home = tempfile::tempdir().unwrap();
    let machine = machine(home.path());
    let refusal = |host| {
        let connection = connection(host, &machine, Scope::User);
        connection
            .connect(&http("mememory"))
            .unwrap_err()
            .to_string()
    };
    assert!(refusal(&ZED).contains("without --http"));
    assert!(refusal(&CLAUDE_DESKTOP).contains("Connectors"));
    let printed = connection(&ZED, &machine, Scope::User).printed(&http("mememory"));
    assert!(printed.unwrap().contains("Bearer TOKEN"));
    for host in HOSTS {
        if let Http::Variable(entry) = host.servers.http {
            assert!(
                entry("loci", "u").to_string().contains(TOKEN_VARIABLE),
                "{}",
                host.name
            );
        }
    }
}

#[test]
fn a_host_without_a_place_says_so() {
    let home = tempfile::tempdir().unwrap();
    let machine = machine(home.path());
    let of_project = connection(&CLAUDE_DESKTOP, &machine, Scope::Project);
    let refused = of_project
        .connect(&stdio("mememory"))
        .unwrap_err()
        .to_string();
    assert!(refused.contains("--scope user"), "{refused}");
    let refused = connection(&CURSOR, &machine, Scope::User).instruct(&BLOCK);
    assert!(refused.unwrap_err().to_string().contains("--scope project"));
}

#[test]
fn instructions_are_undone_to_the_byte() {
    for host in HOSTS {
        for scope in Scope::ALL {
            for before in [None, Some("# Mine\n\nText without an end"), Some("")] {
                let home = tempfile::tempdir().unwrap();
                let machine = machine(home.path());
                let connection = connection(host, &machine, scope);
                let Some(file) = host.instructions_file(&machine, scope, home.path()) else {
                    continue;
                };
                if let Some(text) = before {
                    fs::create_dir_all(file.parent().unwrap()).unwrap();
                    fs::write(&file, text).unwrap();
                }
                let found = everything(home.path());
                connection.instruct(&BLOCK).unwrap().apply().unwrap();
                assert!(!connection.instruct(&BLOCK).unwrap().has_changed());
                connection.uninstruct().unwrap().apply().unwrap();
                assert_eq!(everything(home.path()), found, "{}", host.name);
            }
        }
    }
}

#[test]
fn the_file_that_is_there_is_changed() {
    let home = tempfile::tempdir().unwrap();
    let machine = machine(home.path());
    let connection = connection(&OPENCODE, &machine, Scope::User);
    assert!(connection.file().unwrap().ends_with("opencode.jsonc"));
    let plain = home.path().join(".config/opencode/opencode.json");
    fs::create_dir_all(plain.parent().unwrap()).unwrap();
    fs::write(&plain, "{}").unwrap();
    assert_eq!(connection.file().unwrap(), plain);
}

#[cfg(unix)]
#[test]
fn variables_of_a_host_name_its_folder_or_its_file() {
    let home = tempfile::tempdir().unwrap();
    let folder = Machine {
        variable: |name| (name == "OPENCODE_CONFIG_DIR").then(|| "/team".into()),
        ..machine(home.path())
    };
    let file = Machine {
        variable: |name| {
            let named = [
                ("OPENCODE_CONFIG_DIR", "/team"),
                ("OPENCODE_CONFIG", "/my.json"),
            ];
            let (_, path) = named.into_iter().find(|(variable, _)| *variable == name)?;
            Some(path.into())
        },
        ..machine(home.path())
    };
    for (machine, servers) in [(&folder, "/team/opencode.jsonc"), (&file, "/my.json")] {
        let found = connection(&OPENCODE, machine, Scope::User).file().unwrap();
        assert_eq!(found, Path::new(servers));
        assert_eq!(
            OPENCODE.hooks_file_on(machine).unwrap(),
            Path::new("/team/plugins/loci.js")
        );
    }
    let project = connection(&OPENCODE, &file, Scope::Project);
    assert_eq!(project.file().unwrap(), home.path().join("opencode.jsonc"));
}

#[test]
fn hosts_are_found_by_what_they_leave() {
    let home = tempfile::tempdir().unwrap();
    let machine = machine(home.path());
    for host in HOSTS {
        assert!(!host.is_installed(&machine), "{}", host.name);
    }
    fs::write(home.path().join(".claude.json"), "{}").unwrap();
    assert!(CLAUDE_CODE.is_installed(&machine));
    fs::create_dir(home.path().join(".codex")).unwrap();
    assert!(CODEX.is_installed(&machine));
}

#[test]
fn links_hold_the_entry() {
    let home = tempfile::tempdir().unwrap();
    let machine = machine(home.path());
    let link = |host| {
        let connection = connection(host, &machine, Scope::User);
        connection.link(&stdio("mememory")).unwrap()
    };
    let cursor = link(&CURSOR).unwrap();
    let (_, config) = cursor.split_once("&config=").unwrap();
    let config = percent_encoding::percent_decode_str(config)
        .decode_utf8()
        .unwrap();
    let decoded = data_encoding::BASE64.decode(config.as_bytes()).unwrap();
    let entry: Value = serde_json::from_slice(&decoded).unwrap();
    assert_eq!(Target::of(&entry), Some(stdio("mememory")));
    let vscode = link(&VSCODE).unwrap();
    let (_, query) = vscode.split_once('?').unwrap();
    let query = percent_encoding::percent_decode_str(query)
        .decode_utf8()
        .unwrap();
    let entry: Value = serde_json::from_str(&query).unwrap();
    assert_eq!(entry["name"], "loci");
    assert_eq!(Target::of(&entry), Some(stdio("mememory")));
    assert_eq!(link(&CODEX), None);
}

#[test]
fn every_host_has_a_page_that_says_what_is_written() {
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/hosts");
    let overview = fs::read_to_string(pages.join("README.md")).unwrap();
    for host in HOSTS {
        let page = fs::read_to_string(pages.join(format!("{}.md", host.name))).unwrap();
        let machine = |system| Machine {
            system,
            home: PathBuf::from("~"),
            variable: |_| None,
        };
        let linux = machine(System::Linux);
        let connection = connection(host, &linux, Scope::User);
        let mut facts = vec![
            format!("# {}\n", host.title),
            format!("loci connect {}\n", host.name),
        ];
        for system in [System::Linux, System::MacOs, System::Windows] {
            for scope in Scope::ALL {
                let (machine, project) = (machine(system), Path::new(""));
                let servers = host.servers_file(&machine, scope, project);
                let instructions = host.instructions_file(&machine, scope, project);
                let files = servers.into_iter().chain(instructions);
                facts.extend(files.map(|file| format!("`{}`", file.display()).replace('\\', "/")));
            }
        }
        let program = Target::Stdio {
            program: "/usr/local/bin/loci".to_owned(),
            arguments: ["mcp", "mememory"].map(str::to_owned).to_vec(),
        };
        facts.extend([program, http("mememory")].iter().filter_map(|target| {
            let printed = connection.printed(target).ok()?;
            Some(format!("\n{printed}```\n"))
        }));
        if let Some(list) = host.list {
            facts.push(format!("`{} {}`", list.program, list.arguments.join(" ")));
        }
        if let Some(name) = host.hooks.map(|hooks| hooks.file) {
            let file = linux.folder(&host.folder).join(name);
            facts.push(format!("`{}`", file.display()));
        }
        for fact in facts {
            assert!(page.contains(&fact), "{}.md does not say {fact}", host.name);
        }
        assert!(overview.contains(&format!("[{}]({}.md)", host.title, host.name)));
    }
}

#[test]
fn a_server_and_hooks_in_one_file_are_undone_to_the_byte() {
    let program = ["/usr/local/bin/loci".to_owned()];
    let options = HookOptions {
        program: &program,
        dialect: None,
        default_dialect: "mememory",
        is_shared: false,
        is_verbatim: false,
    };
    for before in [
        None,
        Some("{}\n".to_owned()),
        Some(with_others(&GEMINI_CLI)),
    ] {
        // Both at once, the server first, the hooks first, only the hooks.
        for way in 0..4 {
            let home = tempfile::tempdir().unwrap();
            let machine = machine(home.path());
            let connection = connection(&GEMINI_CLI, &machine, Scope::User);
            let file = connection.file().unwrap();
            if let Some(text) = &before {
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(&file, text).unwrap();
            }
            let found = everything(home.path());
            let hooks = Hooks {
                host: &GEMINI_CLI,
                file: &file,
                reach: Reach::Everywhere,
                program: PROGRAM,
            };
            let connect = || connection.connect(&stdio("mememory")).unwrap();
            match way {
                0 => {
                    let both = || hooks.join_install(connect(), &options).unwrap();
                    both().apply().unwrap();
                    assert!(!both().has_changed(), "twice is once");
                }
                1 => {
                    connect().apply().unwrap();
                    hooks.install(&options).unwrap();
                }
                2 => {
                    hooks.install(&options).unwrap();
                    connect().apply().unwrap();
                }
                _ => {
                    hooks.install(&options).unwrap();
                }
            }
            let text = fs::read_to_string(&file).unwrap();
            assert!(text.contains("BeforeAgent"), "{text}");
            let undo = connection.disconnect_with(&hooks).unwrap();
            undo.apply().unwrap();
            assert_eq!(everything(home.path()), found, "{way} {before:?}");
        }
    }
}

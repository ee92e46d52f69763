//! What settings were before each change, in the store and in files, and the way back.

use std::fs;

use serde_json::{Value, json};

use crate::program::Place;

fn place() -> Place {
    ["CODEX_HOME", "CLAUDE_CONFIG_DIR"]
        .into_iter()
        .fold(Place::new().with("PATH", "/nowhere"), |place, variable| {
            place.with(variable, "")
        })
}

fn change_of(row: &Value) -> &str {
    row["change"].as_str().unwrap()
}

#[test]
fn a_setting_of_the_store_has_a_history_and_a_way_back() {
    let place = place();
    place.add(&["tea is at four"]);
    place.run(&["trust", "ann"]).succeeded();
    place.run(&["trust", "bob"]).succeeded();
    place.run(&["trust", "ann", "--remove"]).succeeded();

    let changes = place.json(&["history", "settings"])["changes"].clone();
    let rows = changes.as_array().unwrap();
    assert_eq!(rows.len(), 3, "{changes}");
    for row in rows {
        assert_eq!(row["settings"], json!(["trusted_authors"]));
        assert_eq!((&row["tool"], &row["by"]), (&json!("trust"), &Value::Null));
    }
    let history = place.json(&["history", "trusted_authors"]);
    let values: Vec<&Value> = history["versions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|version| &version["setting"]["value"])
        .collect();
    assert_eq!(values, [&json!("bob"), &json!("ann\nbob"), &json!("ann")]);
    assert_eq!(history["kind"], "setting");
    assert_eq!(history["versions"][2]["stored"], true);
    let diff = place.json(&["diff", "trusted_authors"]);
    assert_eq!(diff["changed"], json!(["value"]));
    assert_eq!(diff["from"]["setting"]["value"], "ann\nbob");

    let trusted = || place.json(&["trust"])["trusted_authors"].clone();
    let number = history["versions"][1]["version"].to_string();
    place
        .run(&["restore", "trusted_authors", &number])
        .succeeded();
    assert_eq!(trusted(), json!(["ann", "bob"]));
    let last = place.json(&["history", "settings"])["changes"][0].clone();
    assert_eq!(last["tool"], "restore");
    // Days later, by the number of the call: each undo in turn.
    place.run(&["undo", change_of(&last), "--yes"]).succeeded();
    assert_eq!(trusted(), json!(["bob"]));
    let dry = place.json(&["undo", change_of(&rows[1]), "--dry-run"]);
    assert_eq!(dry["records"][0]["outcome"], "stands", "{dry}");
    place
        .run(&["undo", "--by", "local", "--since", "1h", "--yes"])
        .succeeded();
    assert_eq!(trusted(), json!([]));

    // A value that a program noted for itself has no history.
    place
        .run(&["history", "mcp_checkpoint"])
        .failed(3, "mcp_checkpoint");
    place
        .run(&["restore", "trusted_authors", "99"])
        .failed(2, "`VERSION` is no version");
    for command in [&["history"][..], &["diff"], &["restore"]] {
        let mut arguments = command.to_vec();
        arguments.push("/no/such/file");
        arguments.extend((command == ["restore"]).then_some("1"));
        place
            .run(&arguments)
            .failed(3, "no change of the file /no/such/file is kept");
    }
    place
        .run(&["delete", "trusted_authors", "--forever", "--yes"])
        .succeeded();
    place
        .run(&["history", "trusted_authors"])
        .failed(3, "trusted_authors");
}

#[test]
fn files_of_hosts_have_a_history_and_a_way_back() {
    let place = place();
    let before = "model = 'x' # mine\r\n";
    place.write(".codex/config.toml", before);
    place.write(".cursor/argv.json", "{}");
    place.run(&["connect"]).succeeded();
    let config = place.path(".codex/config.toml");
    let name = config.to_str().unwrap();
    let connected = fs::read_to_string(&config).unwrap();
    assert_ne!(connected, before);

    // Without a store, too.
    let changes = place.json(&["history", "settings"])["changes"].clone();
    let rows = changes.as_array().unwrap();
    assert_eq!(rows.len(), 2, "{changes}");
    assert_eq!(rows[0]["tool"], "connect");
    assert_eq!(change_of(&rows[0]), change_of(&rows[1]), "one command");
    let history = place.json(&["history", name]);
    assert_eq!(history["versions"][0]["text"], json!(connected));
    assert_eq!(history["versions"][1]["text"], json!(before));
    let diff = place.run(&["diff", name]).succeeded().stdout;
    assert!(diff.contains("\n+ [mcp_servers.loci]"), "{diff}");

    // A file that was changed later stands.
    let mcp = place.path(".cursor/mcp.json");
    let mine = fs::read_to_string(&mcp).unwrap().replace('{', "{ ");
    fs::write(&mcp, &mine).unwrap();
    let dry = place.json(&["undo", change_of(&rows[0]), "--dry-run"]);
    let outcomes: Vec<&Value> = dry["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| &file["outcome"])
        .collect();
    assert!(
        outcomes.contains(&&json!("stands")) && outcomes.contains(&&json!("restored")),
        "{dry}"
    );
    assert_eq!(fs::read_to_string(&config).unwrap(), connected);
    place.run(&["undo", change_of(&rows[0])]).failed(2, "--yes");
    place
        .run(&["undo", change_of(&rows[0]), "--yes"])
        .succeeded();
    assert_eq!(fs::read_to_string(&config).unwrap(), before);
    assert_eq!(fs::read_to_string(&mcp).unwrap(), mine);
    // The undo is a change like any other.
    place.run(&["restore", name, "2"]).succeeded();
    assert_eq!(fs::read_to_string(&config).unwrap(), connected);
    place.run(&["restore", name, "9"]).failed(2, "9");
    // A file that the command made goes.
    fs::remove_file(&mcp).unwrap();
    place.run(&["connect", "cursor"]).succeeded();
    let made = place.json(&["history", mcp.to_str().unwrap()]);
    place
        .run(&["undo", change_of(&made["versions"][0]), "--yes"])
        .succeeded();
    assert!(!mcp.exists());

    #[cfg(unix)]
    for entry in fs::read_dir(place.data().join("settings-history")).unwrap() {
        use std::os::unix::fs::PermissionsExt;
        let mode = entry.unwrap().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

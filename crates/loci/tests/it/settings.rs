use serde_json::json;

use crate::program::Place;

#[test]
fn each_setting_says_where_it_comes_from() {
    let place = Place::new().with("LOCI_BIND", "127.0.0.1:2");
    let file = place.write(
        "my.toml",
        "bind = \"127.0.0.1:1\"\nmaintenance_seconds = 7\n",
    );
    let file = file.to_str().unwrap();
    let config = place.json(&["config", "--config", file, "--log", "error"]);
    let rows = [
        ("config", file, "flag --config".to_owned()),
        ("bind", "127.0.0.1:2", "env LOCI_BIND".to_owned()),
        ("maintenance_seconds", "7", format!("file {file}:2")),
        ("log", "error", "flag --log".to_owned()),
        ("search", "hybrid", "default".to_owned()),
    ];
    for (key, value, origin) in rows {
        assert_eq!(
            config[key],
            json!({"value": value, "origin": origin}),
            "{key}"
        );
    }
    let text = place.run(&["config"]).succeeded().stdout;
    assert!(
        text.lines().any(|line| line.starts_with("bind ") && line.ends_with("127.0.0.1:2  (env LOCI_BIND)")),
        "{text}"
    );
}

#[test]
fn the_usual_file_is_read_without_being_named() {
    let place = Place::new();
    // The folders of the platforms; on the others the default is another one.
    for folder in [".config/loci", "Library/Application Support/loci"] {
        place.write(&format!("{folder}/config.toml"), "bind = \"127.0.0.1:4\"\n");
    }
    if cfg!(any(target_os = "linux", target_os = "macos")) {
        assert_eq!(place.json(&["config"])["bind"]["value"], "127.0.0.1:4");
    }
}

#[test]
fn a_file_that_is_wrong_is_refused_by_line() {
    let place = Place::new();
    let rows = [
        ("# mine\nbnd = \"x\"\n", "line 2: `bnd` is no setting"),
        (
            "[embedding]\nkey = \"x\"\n",
            "line 2: `embedding.key` is no setting",
        ),
        ("bind = 1\n", "line 1: `bind` must be a string"),
        ("bind = \"x\"\n", "is `x`"),
        ("= 1", "line 1: "),
    ];
    for (text, words) in rows {
        let file = place.write("my.toml", text);
        place
            .run(&["stats", "--config", file.to_str().unwrap()])
            .failed(2, words);
    }
    place
        .run(&["stats", "--config", "/nowhere/loci.toml"])
        .failed(2, "/nowhere/loci.toml cannot be read");
    assert!(!place.data().exists());
    let place = place.with("LOCI_CONFIG", "/nowhere/loci.toml");
    place
        .run(&["config"])
        .failed(2, "/nowhere/loci.toml cannot be read");
    let file = place.write("my.toml", "bind = \"127.0.0.1:5\"\n");
    let place = place.with("LOCI_CONFIG", file.to_str().unwrap());
    assert_eq!(place.json(&["config"])["bind"]["value"], "127.0.0.1:5");
}

#[test]
fn secrets_are_never_shown() {
    let place = Place::new().with("LOCI_EMBEDDING_API_KEY", "sesame-123");
    let file = place.write("my.toml", "[embedding]\napi_key = \"sesame-456\"\n");
    for arguments in [
        &["config"][..],
        &["--json", "config"],
        &["config", "--log", "trace"],
    ] {
        let arguments = [arguments, &["--config", file.to_str().unwrap()]].concat();
        let shown = place.run(&arguments).succeeded();
        assert!(
            !shown.stdout.contains("sesame") && !shown.stderr.contains("sesame"),
            "{shown:?}"
        );
    }
    let config = place.json(&["config"]);
    assert_eq!(
        config["embedding.api_key"],
        json!({"value": "set", "origin": "env LOCI_EMBEDDING_API_KEY"})
    );
    assert_eq!(
        Place::new().json(&["config"])["embedding.api_key"]["value"],
        json!(null)
    );
}

#[test]
fn the_store_may_lie_in_a_folder_of_its_own() {
    let place = Place::new();
    let store = place.path("fast");
    let named = ["--store", store.to_str().unwrap()];
    let run = |arguments: &[&str]| place.run(&[&named[..], arguments].concat());
    run(&["add", "Tea is at four."]).succeeded();
    assert!(store.join("loci.db").is_file() && !place.data().join("loci.db").exists());
    assert!(
        run(&["list"])
            .succeeded()
            .stdout
            .contains("Tea is at four.")
    );
    place.run(&["list"]).failed(4, "there is no loci in");

    let backup = place.path("b.tar");
    run(&["backup", backup.to_str().unwrap()]).succeeded();
    run(&["restore", backup.to_str().unwrap(), "--replace"]).succeeded();
    assert!(store.join("backups").is_dir() && !place.data().join("backups").exists());
    run(&["doctor"]).succeeded();
    run(&["doctor", "--salvage", "rescued.jsonl"]).succeeded();

    let refused = place.run(&["--store", "mysql://ann:secret@host/loci", "list"]);
    assert!(!refused.stderr.contains("secret"), "{refused:?}");
    refused.failed(2, "mysql://");
}

#[test]
fn a_variable_that_is_no_setting_is_warned_of_once() {
    let place = Place::new()
        .with_store()
        .with("LOCI_DATE", "/elsewhere")
        .with("LOCI_TOKEN", "loci_x")
        .with("LOCI_TEST_SEED", "1");
    let listed = place.run(&["list"]).succeeded();
    assert_eq!(
        listed.stderr,
        "warning: the environment variable LOCI_DATE is no setting and has no effect; did you mean LOCI_DATA?\n"
    );
    let words = ["hook", "run", "--host", "codex", "--event", "session-start"];
    let hook = place.run_with_stdin(&words, b"{}");
    assert!(!hook.stderr.contains("LOCI_DATE"), "{hook:?}");
}

#[test]
fn who_sets_a_variable_of_memory_mcp_learns_whether_it_counts() {
    let place = Place::new()
        .with("AUTH_SECRET", "x")
        .with("RANKING_ALPHA", "0.25")
        .with("AUDIT_RETENTION_DAYS", "40");
    let config = place.json(&["config"]);
    let rows = [
        ("ranking.recency_weight", "0.25", "env RANKING_ALPHA"),
        ("audit.retention_days", "40", "env AUDIT_RETENTION_DAYS"),
    ];
    for (key, value, origin) in rows {
        assert_eq!(config[key], json!({"value": value, "origin": origin}));
    }
    let served = place.run(&["mcp", "memory-mcp"]).succeeded();
    assert!(
        served
            .stderr
            .contains("have no effect in loci: AUTH_SECRET; callers need a token"),
        "{served:?}"
    );
    let other = place.run(&["mcp", "vault"]).succeeded();
    assert!(!other.stderr.contains("AUTH_SECRET"), "{other:?}");
}

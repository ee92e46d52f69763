use std::fs;

use serde_json::json;

use crate::program::Place;

fn place() -> Place {
    let place = Place::new();
    let file = place.write(
        "my.toml",
        "# mine\n[embedding]\nprovider = \"none\" # for now\n",
    );
    // An empty variable counts as unset.
    place
        .with("LOCI_EMBEDDING_PROVIDER", "")
        .with("LOCI_CONFIG", file.to_str().unwrap())
}

#[test]
fn the_catalogue_says_what_is_there_and_what_is_used() {
    let place = place();
    let list = place.rows(&["model", "list"]);
    let names: Vec<_> = list
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "all-minilm-l6-v2",
            "multilingual-e5-small",
            "all-mpnet-base-v2"
        ]
    );
    let states = |key: &str| {
        list.as_array()
            .unwrap()
            .iter()
            .map(|row| row[key].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        states("installed"),
        [json!(true), json!(false), json!(false)]
    );
    assert_eq!(states("used"), [json!(false), json!(false), json!(false)]);
    assert_eq!(
        states("languages"),
        [json!(["en"]), json!("many"), json!(["en"])]
    );
    let text = place.run(&["model", "list"]).succeeded();
    assert!(
        text.stdout
            .contains("multilingual-e5-small   not installed; 90 MB; a hundred languages"),
        "{text:?}"
    );
    assert!(
        text.stderr.contains("`embedding.provider` is none"),
        "{text:?}"
    );
}

#[test]
fn using_a_model_writes_the_setting_and_nothing_else() {
    let place = place();
    let ended = place.run(&["model", "use", "all-minilm-l6-v2"]).succeeded();
    assert!(ended.stderr.contains("in the background"), "{ended:?}");
    let file = fs::read_to_string(place.path("my.toml")).unwrap();
    assert_eq!(
        file,
        "# mine\n[embedding]\nprovider = \"bundled\" # for now\n"
    );
    assert_eq!(place.rows(&["model", "list"])[0]["used"], true);
    assert!(!ended.stderr.contains("goes before"), "{ended:?}");
    let place = place.with("LOCI_EMBEDDING_PROVIDER", "none");
    let ended = place.run(&["model", "use", "all-minilm-l6-v2"]).succeeded();
    assert!(
        ended
            .stderr
            .contains("LOCI_EMBEDDING_PROVIDER is none and goes before the file"),
        "{ended:?}"
    );
}

#[test]
fn a_model_that_cannot_be_used_is_refused_with_the_way_out() {
    let place = place();
    let before = fs::read_to_string(place.path("my.toml")).unwrap();
    let rows: [(&[&str], i32, &str); 7] = [
        (
            &["model", "use", "multilingual-e5-small"],
            7,
            "run `loci model install multilingual-e5-small` first",
        ),
        (
            &["model", "use", "bge"],
            2,
            "`bge` is not a model of the catalogue",
        ),
        (
            &["model", "install", "bge", "--from", "x"],
            2,
            "all-minilm-l6-v2, multilingual-e5-small, all-mpnet-base-v2",
        ),
        (
            &["model", "install", "all-minilm-l6-v2", "--from", "x"],
            2,
            "is in the binary",
        ),
        (
            &[
                "model",
                "install",
                "multilingual-e5-small",
                "--from",
                "nowhere",
            ],
            2,
            "scripts/build-model",
        ),
        (
            &["model", "install", "multilingual-e5-small"],
            2,
            "add --yes",
        ),
        (
            &["model", "install", "multilingual-e5-small", "--yes"],
            7,
            "nothing was installed",
        ),
    ];
    // The discard port, on which nothing listens.
    let place = place.with("LOCI_MODELS_URL", "http://127.0.0.1:9/models");
    for (arguments, code, words) in rows {
        place.run(arguments).failed(code, words);
    }
    assert_eq!(fs::read_to_string(place.path("my.toml")).unwrap(), before);
    // A chosen model that is not installed leaves the search by words.
    let place = place.with("LOCI_EMBEDDING_PROVIDER", "multilingual-e5-small");
    place.add(&["The office cat is called Minka."]);
    assert!(
        place
            .run(&["search", "Minka"])
            .succeeded()
            .stdout
            .contains("Minka")
    );
    let doctor = place.run(&["doctor"]);
    assert!(
        doctor.code == 7
            && doctor
                .stdout
                .contains("loci model install multilingual-e5-small"),
        "{doctor:?}"
    );
}

/// Uses the files of `just models`, as `crates/loci-embed/tests/models/catalogue.rs` does.
#[test]
fn a_store_goes_over_to_an_installed_model_and_back() {
    let usual = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/models");
    let folder = std::env::var("LOCI_TEST_MODELS").unwrap_or_else(|_| usual.to_owned())
        + "/multilingual-e5-small";
    if !fs::exists(&folder).unwrap() {
        eprintln!("SKIPPED: {folder} is not there: run `just models`");
        return;
    }
    let place = place();
    place.run(&["model", "use", "all-minilm-l6-v2"]).succeeded();
    for text in [
        "Die Katze schläft auf der Fensterbank.",
        "Der Drucker im dritten Stock ist kaputt.",
    ] {
        place.add(&[text]);
    }
    place
        .run(&[
            "model",
            "install",
            "multilingual-e5-small",
            "--from",
            &folder,
        ])
        .succeeded();
    let again = place
        .run(&[
            "model",
            "install",
            "multilingual-e5-small",
            "--from",
            "nowhere",
        ])
        .succeeded();
    assert!(again.stderr.contains("already"), "{again:?}");
    place
        .run(&["model", "use", "multilingual-e5-small"])
        .succeeded();
    let list = place.rows(&["model", "list"]);
    assert_eq!(
        (&list[1]["installed"], &list[1]["used"]),
        (&json!(true), &json!(true))
    );
    // The former model is used until the new one has embedded everything.
    assert!(
        place
            .run(&["search", "Katze"])
            .succeeded()
            .stdout
            .contains("Katze")
    );
    place.run(&["reindex", "--embeddings"]).succeeded();
    place.add_all(["Noch eine Notiz.".to_owned()]);
    let doctor = place.run(&["doctor"]);
    assert!(
        doctor.stdout.contains("multilingual-e5-small-int8"),
        "{doctor:?}"
    );
}

use serde_json::json;

use crate::program::Place;

#[test]
fn questions_are_scored_by_the_evidence_that_recall_finds() {
    let place = Place::new();
    let turn = |id: &str, text: &str| json!({"dia_id": id, "speaker": "Ann", "text": text});
    let question = |text: &str, evidence: &[&str], category: u32| json!({"question": text, "evidence": evidence, "category": category});
    let sample = json!([{
        "sample_id": "made-up",
        "conversation": {
            "session_1": [turn("D1:1", "The violin needs new strings"), turn("D1:2", "Lunch was soup")],
            "session_2": [turn("D2:1", "My bicycle is green")],
        },
        "qa": [
            question("What does the violin need?", &["D1:1"], 4),
            question("Who ate the bicycle and the soup?", &["D2:1", "D9:9"], 4),
            question("What is the tax number?", &[], 5),
        ],
    }]);
    let file = place.write("made-up.json", sample.to_string());
    let rows = place.json(&["bench", "locomo", file.to_str().unwrap()]);
    let recalls: Vec<_> = rows.as_array().unwrap().iter().map(|row| (&row["category"], &row["recall_at_5"])).collect();
    assert_eq!(
        recalls,
        [
            (&json!("4 single-hop"), &json!(0.75)),
            (&json!("5 adversarial"), &json!(1.0)),
            (&json!("all"), &json!(2.5 / 3.0)),
        ]
    );
    assert!(!place.data().exists(), "it uses a store of its own");
    place.run(&["bench", "locomo", "/nowhere.json"]).failed(2, "locomo10.json");
}

#[test]
fn everything_is_measured() {
    let place = Place::new();
    let rows = place.json(&["bench", "speed", "--memories", "20"]);
    let rows = rows.as_array().unwrap();
    for what in ["disk", "recall", "tools/list", "first search", "embedding", "durable remember", "writers"] {
        let row = rows.iter().find(|row| row["name"].as_str().unwrap().contains(what));
        assert!(row.is_some_and(|row| row["p50"].is_number()), "{what}: {rows:?}");
    }
    place.run(&["bench", "speed", "--in", "/nowhere/at/all"]).failed(1, "--in");
}

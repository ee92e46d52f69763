//! A cross-encoder that the user brings.

use crate::program::Place;

/// Counts the tokens that a text shares with the question.
const GRAPH: &[u8] = include_bytes!("../../../loci-embed/tests/golden/overlap.onnx");
const TOKENIZER: &[u8] = include_bytes!("../../../loci-embed/model/tokenizer.json");

const QUESTION: &str = "When is the kiln fired?";
/// First by its words, because it has no others.
const SHORT: &str = "Kiln, fired.";
/// The same words among others, with the small words of the question.
const LONG: &str =
    "When the moon is full is when the kiln is fired, says the potter of the village.";

fn with_model(folder: &str) -> Place {
    let place = Place::new();
    place.add_all([SHORT, LONG].map(str::to_owned));
    let folder = place.path(folder);
    place
        .with("LOCI_RERANK_PROVIDER", "folder")
        .with("LOCI_RERANK_MODEL_FOLDER", folder.to_str().unwrap())
}

fn first(place: &Place) -> String {
    let found = place.run(&["search", QUESTION]).succeeded();
    let place_of = |text: &str| found.stdout.find(text).unwrap();
    let first = if place_of("Kiln, fired") < place_of("the moon") {
        SHORT
    } else {
        LONG
    };
    first.to_owned()
}

#[test]
fn the_best_results_are_in_its_order() {
    let plain = Place::new();
    plain.add_all([SHORT, LONG].map(str::to_owned));
    assert_eq!(first(&plain), SHORT);
    let place = with_model("reranker");
    place.write("reranker/model.onnx", GRAPH);
    place.write("reranker/tokenizer.json", TOKENIZER);
    assert_eq!(first(&place), LONG);
    let doctor = place.run(&["doctor"]);
    let line = doctor.stdout.lines().find(|line| line.contains("reranker"));
    assert!(
        line.is_some_and(|line| line.contains("loads and reads a text in")),
        "{doctor:?}"
    );
    let explained = place
        .run(&["search", QUESTION, "--explain", "--json"])
        .succeeded();
    assert!(
        explained.stdout.contains("\"rank_by_reranker\""),
        "{explained:?}"
    );
}

#[test]
fn a_wrong_folder_leaves_the_order_and_is_named() {
    let place = with_model("reranker");
    assert_eq!(first(&place), SHORT);
    let found = place.run(&["search", QUESTION]).succeeded();
    assert!(
        found
            .stderr
            .contains("not reranked: the model of `rerank.model_folder` cannot be used")
            && found.stderr.contains("is not a folder"),
        "{found:?}"
    );
    place.run(&["doctor"]).failed(7, "");
    place.write("reranker/model.onnx", "no graph");
    place.write("reranker/tokenizer.json", TOKENIZER);
    let doctor = place.run(&["doctor"]);
    assert!(
        doctor.code == 7 && doctor.stdout.contains("model.onnx cannot be loaded"),
        "{doctor:?}"
    );
}

//! Tests with `overlap.onnx`, a graph without weights, whose score is how many tokens of the question
//! a text has (`tests/golden/make_cross_encoder.py`).

use std::fs;
use std::path::Path;

use loci_core::{ErrorCode, Reranker};
use loci_embed::CrossEncoder;

const GRAPH: &[u8] = include_bytes!("../golden/overlap.onnx");
const TOKENIZER: &[u8] = include_bytes!("../../model/tokenizer.json");
const EMBEDDINGS: &[u8] = include_bytes!("../../model/model_int8.onnx");

fn folder_with(graph: &[u8], tokenizer: &[u8]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("model.onnx"), graph).unwrap();
    fs::write(folder.path().join("tokenizer.json"), tokenizer).unwrap();
    folder
}

#[test]
fn a_text_is_scored_with_the_question() {
    let folder = folder_with(GRAPH, TOKENIZER);
    let model = CrossEncoder::of_folder(folder.path());
    model.check().unwrap();
    let texts = [
        "nothing of it",
        "the kiln is hot",
        "when is the kiln fired?",
        "",
    ];
    // `kiln` is two tokens. The token at the end of both texts counts for every pair.
    let scores = model.scores("When is the kiln fired?", &texts).unwrap();
    assert_eq!(shared(&scores), [0.0, 4.0, 7.0, 0.0]);
    assert_eq!(model.scores("kiln", &[]), Ok(Vec::new()));
    // Many at once have the scores that each has by itself.
    let many: Vec<&str> = texts.iter().copied().cycle().take(30).collect();
    let of_many = model.scores("When is the kiln fired?", &many).unwrap();
    let each: Vec<f32> = scores.iter().copied().cycle().take(30).collect();
    assert_eq!(of_many, each);
}

/// Returns how many tokens of the question the texts have, without the one at the end of all.
fn shared(scores: &[f32]) -> Vec<f32> {
    scores.iter().map(|score| score - 1.0).collect()
}

/// A question of any length leaves room for the text, and texts are cut.
#[test]
fn long_questions_and_texts_are_cut() {
    let folder = folder_with(GRAPH, TOKENIZER);
    let model = CrossEncoder::of_folder(folder.path());
    let long = "water ".repeat(2_000);
    let query = format!("potter {long}");
    let (early, late) = (format!("potter {long}"), format!("{long} potter"));
    let scores = model.scores(&query, &[&early, &late, "potter"]).unwrap();
    let [early, late, short] = scores.try_into().unwrap();
    assert_eq!(
        (early - late, short),
        (1.0, 2.0),
        "the late word is beyond the cut"
    );
}

#[test]
fn a_wrong_folder_is_named_with_what_is_wrong_and_a_right_one_works_at_once() {
    let no_folder = Path::new("/nowhere/at/all");
    let error = CrossEncoder::of_folder(no_folder).check().unwrap_err();
    assert!(
        error.message.contains("/nowhere/at/all is not a folder"),
        "{error}"
    );
    let rows: [(&[u8], &[u8], &str); 6] = [
        (b"", TOKENIZER, "model.onnx cannot be loaded"),
        (
            b"<html>not found</html>",
            TOKENIZER,
            "model.onnx cannot be loaded",
        ),
        (&GRAPH[..GRAPH.len() / 2], TOKENIZER, "model.onnx "),
        (
            EMBEDDINGS,
            TOKENIZER,
            "it is a model of embeddings, which belongs under `embedding.model_folder`",
        ),
        (GRAPH, b"{}", "tokenizer.json is damaged"),
        (GRAPH, &TOKENIZER[..99], "tokenizer.json is damaged"),
    ];
    for (graph, tokenizer, expected) in rows {
        let folder = folder_with(graph, tokenizer);
        let model = CrossEncoder::of_folder(folder.path());
        for _ in 0..2 {
            let error = model.check().unwrap_err();
            assert_eq!(error.code, ErrorCode::Unavailable);
            assert!(error.message.contains(expected), "{expected}: {error}");
            assert!(error.message.contains("rerank.provider"), "{error}");
        }
        fs::write(folder.path().join("model.onnx"), GRAPH).unwrap();
        fs::write(folder.path().join("tokenizer.json"), TOKENIZER).unwrap();
        model.check().unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let error = CrossEncoder::of_folder(folder.path()).check().unwrap_err();
    assert!(
        error.message.contains("model.onnx cannot be read"),
        "{error}"
    );
}

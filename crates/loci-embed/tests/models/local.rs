use std::fs;
use std::path::Path;

use loci_core::{Embedder, ErrorCode, ModelId};
use loci_embed::{CatalogueModel, LocalModel};
use proptest::prelude::*;
use serde::Deserialize;

#[derive(Deserialize)]
pub(crate) struct Golden {
    pub(crate) text: String,
    pub(crate) vector: Vec<f32>,
}

pub(crate) fn golden() -> Vec<Golden> {
    serde_json::from_str(include_str!("../golden/golden.json")).unwrap()
}

pub(crate) fn cosine(left: &[f32], right: &[f32]) -> f64 {
    assert_eq!(left.len(), right.len());
    let dot = |left: &[f32], right: &[f32]| {
        left.iter()
            .zip(right)
            .map(|(&left, &right)| f64::from(left) * f64::from(right))
            .sum::<f64>()
    };
    dot(left, right) / (dot(left, left) * dot(right, right)).sqrt()
}

fn bundled_folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/model"))
}

#[test]
fn a_process_for_one_text_has_the_same_vectors() {
    let [all, one] = [LocalModel::bundled(), LocalModel::bundled().for_one_text()];
    for Golden { text, .. } in golden() {
        assert_eq!(one.embed_query(&text), all.embed_query(&text), "{text:?}");
    }
}

/// Vectors of the graph in floats: the reference that quantisation departs from.
#[test]
fn is_near_the_model_in_floats() {
    let in_floats: Vec<Vec<f32>> =
        serde_json::from_str(include_str!("../golden/float.json")).unwrap();
    let golden = golden();
    let texts: Vec<&str> = golden.iter().map(|case| case.text.as_str()).collect();
    let mean = |model: LocalModel| {
        let vectors = model.embed(&texts).unwrap();
        let cosines = vectors.iter().zip(&in_floats).zip(&texts);
        let cosines = cosines.map(|((vector, in_floats), text)| {
            let cosine = cosine(vector, in_floats);
            assert!(cosine >= 0.96, "{cosine} for {text:?}");
            cosine
        });
        cosines.sum::<f64>() / texts.len() as f64
    };
    let bundled = mean(LocalModel::bundled());
    assert!(bundled >= 0.99, "mean cosine {bundled}");
    // A scale for each token is nearer than one for all.
    let former = mean(LocalModel::bundled().of_former_versions());
    assert!(bundled > former, "{bundled}, and {former}");
}

#[test]
fn agrees_with_onnx_runtime_where_it_computes_the_same() {
    let golden = golden();
    let texts: Vec<&str> = golden.iter().map(|case| case.text.as_str()).collect();
    let model = LocalModel::bundled().of_former_versions();
    let vectors = model.embed(&texts).unwrap();
    assert_eq!(vectors.len(), golden.len());
    let mut sum = 0.0;
    for (case, vector) in golden.iter().zip(&vectors) {
        let length = cosine(vector, vector)
            * vector
                .iter()
                .map(|value| f64::from(value * value))
                .sum::<f64>();
        assert!(
            (length - 1.0).abs() < 1e-4,
            "{:?} has length {length}",
            case.text
        );
        let cosine = cosine(vector, &case.vector);
        assert!(cosine >= 0.99, "{cosine} for {:?}", case.text);
        sum += cosine;
    }
    let mean = sum / golden.len() as f64;
    assert!(mean >= 0.998, "mean cosine {mean}");
}

#[test]
fn a_vector_depends_on_its_text_alone() {
    let model = LocalModel::bundled();
    let golden = golden();
    let texts: Vec<&str> = golden
        .iter()
        .take(24)
        .map(|case| case.text.as_str())
        .collect();
    let together = model.embed(&texts).unwrap();
    let backwards = model
        .embed(&texts.iter().rev().copied().collect::<Vec<_>>())
        .unwrap();
    for (index, text) in texts.iter().enumerate() {
        let alone = model.embed(&[text]).unwrap();
        assert_eq!(alone[0], together[index], "{text:?}");
        assert_eq!(alone[0], backwards[texts.len() - 1 - index], "{text:?}");
        assert_eq!(alone[0], model.embed_query(text).unwrap(), "{text:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn texts_of_any_lengths_keep_their_vectors_in_any_call(
        texts in proptest::collection::vec("[a-z]{1,7}( [a-z]{1,7}){0,40}", 1..24),
        repeated in any::<prop::sample::Index>(),
    ) {
        let mut texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let again = *repeated.get(&texts);
        texts.push(again);
        let model = LocalModel::bundled();
        let together = model.embed(&texts).unwrap();
        prop_assert_eq!(&model.embed_in_background(&texts).unwrap(), &together);
        for (text, vector) in texts.iter().zip(&together) {
            prop_assert_eq!(&model.embed_query(text).unwrap(), vector);
        }
    }
}

#[test]
fn former_versions_are_another_model_with_other_vectors() {
    let (model, former) = (
        LocalModel::bundled(),
        LocalModel::bundled().of_former_versions(),
    );
    let (id, former_id) = (model.model().as_str(), former.model().as_str());
    assert_eq!(id.strip_suffix(":rows"), Some(former_id));
    let text = "The deploy to production happens every Thursday.";
    let cosine = cosine(
        &model.embed_query(text).unwrap(),
        &former.embed_query(text).unwrap(),
    );
    assert!(cosine > 0.99 && cosine < 0.999_9, "{cosine}");
    for found in [id, former_id] {
        let known = CatalogueModel::of_fingerprint(&ModelId::new(found)).unwrap();
        assert!(known.is_bundled());
    }
    let folder = LocalModel::from_folder(bundled_folder()).unwrap();
    let of_folder = folder.model().clone();
    assert_eq!(folder.of_former_versions().model(), &of_folder);
}

#[test]
fn sixteen_callers_share_one_model() {
    let model = LocalModel::bundled();
    let expected = LocalModel::bundled().embed(&["shared", "model"]).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| assert_eq!(model.embed(&["shared", "model"]).unwrap(), expected));
        }
    });
}

#[test]
fn nothing_gives_nothing_and_the_check_passes() {
    let model = LocalModel::bundled();
    assert!(model.embed(&[]).unwrap().is_empty());
    assert_eq!(model.check().unwrap(), 384);
}

#[test]
fn a_folder_with_the_bundled_files_is_the_same_model() {
    let folder = LocalModel::from_folder(bundled_folder()).unwrap();
    folder.check().unwrap();
    let bundled = LocalModel::bundled().of_former_versions();
    assert_eq!(
        folder.embed(&["same"]).unwrap(),
        bundled.embed(&["same"]).unwrap()
    );
    // It has a fingerprint of its own, which says one scale for all tokens.
    let digest = |model: &LocalModel| model.model().as_str().split_once(':').unwrap().1.to_owned();
    assert_eq!(digest(&folder), digest(&bundled));
}

#[test]
fn damaged_files_are_named_and_nothing_panics() {
    let graph = fs::read(bundled_folder().join("model_int8.onnx")).unwrap();
    let tokenizer = fs::read(bundled_folder().join("tokenizer.json")).unwrap();
    let flipped = {
        let mut bytes = graph.clone();
        for position in (0..4096).chain(bytes.len() - 4096..bytes.len()).step_by(7) {
            bytes[position] ^= 0xA5;
        }
        bytes
    };
    let rows: [(&str, &[u8], &[u8], &str); 6] = [
        ("empty graph", b"", &tokenizer, "model.onnx"),
        (
            "half a graph",
            &graph[..graph.len() / 2],
            &tokenizer,
            "model.onnx",
        ),
        (
            "all but the last byte",
            &graph[..graph.len() - 1],
            &tokenizer,
            "model.onnx",
        ),
        ("flipped bits", &flipped, &tokenizer, "model.onnx"),
        (
            "text for a graph",
            b"<html>not found</html>",
            &tokenizer,
            "model.onnx",
        ),
        (
            "half a tokenizer",
            &graph,
            &tokenizer[..tokenizer.len() / 2],
            "tokenizer.json",
        ),
    ];
    for (name, graph, tokenizer, file) in rows {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("model.onnx"), graph).unwrap();
        fs::write(folder.path().join("tokenizer.json"), tokenizer).unwrap();
        let model = LocalModel::from_folder(folder.path()).unwrap();
        for _ in 0..2 {
            let error = model.check().unwrap_err();
            assert_eq!(error.code, ErrorCode::Unavailable, "{name}: {error}");
            assert!(error.message.contains(file), "{name}: {error}");
            assert!(
                error.message.contains("embedding.model_folder"),
                "{name}: {error}"
            );
        }
    }
}

#[test]
fn missing_files_are_named() {
    let folder = tempfile::tempdir().unwrap();
    for (file, next) in [
        ("model.onnx", "model_int8.onnx"),
        ("tokenizer.json", "tokenizer.json"),
    ] {
        let error = LocalModel::from_folder(folder.path()).err().unwrap();
        assert_eq!(error.code, ErrorCode::Unavailable);
        assert!(error.message.contains(file), "{error}");
        fs::write(folder.path().join(next), "").unwrap();
    }
}

#[test]
fn a_failed_load_is_tried_again_and_a_changed_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let graph = folder.path().join("model_int8.onnx");
    fs::copy(bundled_folder().join("model_int8.onnx"), &graph).unwrap();
    fs::copy(
        bundled_folder().join("tokenizer.json"),
        folder.path().join("tokenizer.json"),
    )
    .unwrap();
    let model = LocalModel::from_folder(folder.path()).unwrap();
    fs::write(&graph, "something else").unwrap();
    let error = model.check().unwrap_err();
    assert!(error.message.contains("changed"), "{error}");
    fs::copy(bundled_folder().join("model_int8.onnx"), &graph).unwrap();
    model.check().unwrap();
}

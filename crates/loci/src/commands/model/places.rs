//! Places in which packages and releases of loci put the files of models.

use std::path::{Path, PathBuf};

use loci_embed::CatalogueModel;

/// The name of the packages of npm, before that of the model.
const NPM_PREFIX: &str = "loci-memory-model-";
/// The page of the source, of which the releases are a part; empty as long as it is not settled.
const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");

/// Returns the folder in which a package put the files of a model beside a program, if there is one
/// with files of the right names and sizes: where an archive is unpacked, `models/NAME` beside the
/// program; of a wheel and of Debian's package, `share/loci/models/NAME` beside the program's
/// folder; of npm's, the package beside that of the program.
pub fn packaged(program: &Path, model: &CatalogueModel) -> Option<PathBuf> {
    // A link, such as one in a folder of the path, lies elsewhere than the package.
    let program = program.canonicalize().ok()?;
    let folder = program.parent()?;
    let above = folder.parent();
    let beside = folder.join("models").join(model.name);
    let shared = above.map(|above| above.join("share/loci/models").join(model.name));
    let npm = above.map(|above| above.join(format!("{NPM_PREFIX}{}", model.name)));
    [Some(beside), shared, npm]
        .into_iter()
        .flatten()
        .find(|place| has_files(place, model))
}

/// Returns true if files with the names and sizes of the model's are in a folder.
pub fn has_files(folder: &Path, model: &CatalogueModel) -> bool {
    model.files.iter().all(|file| {
        let metadata = folder.join(file.name).metadata();
        metadata.is_ok_and(|metadata| metadata.len() == file.bytes)
    })
}

/// Returns the URL of the archive of a model: in the folder of the setting `models_url`, else in the
/// release of this version. `None` if the place of releases is not settled in this build.
pub fn released(model: &CatalogueModel, models_url: Option<&str>) -> Option<String> {
    let release = format!(
        "{REPOSITORY}/releases/download/v{}",
        env!("CARGO_PKG_VERSION")
    );
    let of_release = (!REPOSITORY.is_empty()).then_some(release.as_str());
    let folder = models_url.or(of_release)?;
    let folder = folder.trim_end_matches('/');
    Some(format!("{folder}/loci-model-{}.zip", model.name))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use super::*;

    #[test]
    fn files_are_found_where_each_package_puts_them() {
        let model = CatalogueModel::find("multilingual-e5-small").unwrap();
        let rows = [
            ("loci-1/loci", "loci-1/models/multilingual-e5-small"),
            (
                "usr/bin/loci",
                "usr/share/loci/models/multilingual-e5-small",
            ),
            (
                "node_modules/loci-memory-linux-x64/loci",
                "node_modules/loci-memory-model-multilingual-e5-small",
            ),
        ];
        for (program, expected) in rows {
            let place = tempfile::tempdir().unwrap();
            let root = place.path().canonicalize().unwrap();
            let (program, expected) = (root.join(program), root.join(expected));
            fs::create_dir_all(program.parent().unwrap()).unwrap();
            fs::write(&program, "").unwrap();
            assert_eq!(packaged(&program, model), None);
            fs::create_dir_all(&expected).unwrap();
            for file in &model.files {
                // A part of a file is not the file.
                assert_eq!(packaged(&program, model), None);
                let sparse = File::create(expected.join(file.name)).unwrap();
                sparse.set_len(file.bytes).unwrap();
            }
            assert_eq!(packaged(&program, model), Some(expected.clone()));
            #[cfg(unix)]
            {
                let link = root.join("link");
                std::os::unix::fs::symlink(&program, &link).unwrap();
                assert_eq!(packaged(&link, model), Some(expected));
            }
        }
    }

    #[test]
    fn the_archive_is_named_after_the_model() {
        let model = CatalogueModel::find("all-mpnet-base-v2").unwrap();
        for folder in ["https://mirror.example/m", "https://mirror.example/m/"] {
            let expected = "https://mirror.example/m/loci-model-all-mpnet-base-v2.zip";
            assert_eq!(released(model, Some(folder)).as_deref(), Some(expected));
        }
        assert_eq!(released(model, None).is_some(), !REPOSITORY.is_empty());
    }
}

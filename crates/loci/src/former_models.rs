//! Models that were in use before, if they are available without further settings.

use std::path::PathBuf;
use std::sync::Arc;

use loci_core::{Embedder, FormerModels, ModelId};
use loci_embed::{CachedEmbedder, CatalogueModel, LocalModel};
use loci_http::HttpModel;

use crate::models::{embedder, http_model};
use crate::settings::{EmbeddingChoice, Runtime, Settings, model_folder};

/// Finds models in the binary, installed ones, the one in the folder of the settings, and those
/// behind the endpoint, if the settings choose it. No address of another endpoint is taken from the
/// database, so that neither texts nor a key go where the settings do not send them.
pub struct KnownModels {
    choice: EmbeddingChoice,
    folder: Option<PathBuf>,
    /// The data folder, which holds the installed models.
    data: PathBuf,
}

impl KnownModels {
    /// Returns the models that these settings know.
    pub fn of(settings: &Settings) -> Self {
        KnownModels {
            choice: settings.embedding.clone(),
            folder: settings.model_folder.clone(),
            data: settings.data.clone(),
        }
    }

    fn local(&self, model: &ModelId) -> Option<Arc<dyn Embedder>> {
        let folder = self
            .folder
            .iter()
            .filter(|_| LocalModel::is_of_a_folder(model));
        let in_folder = folder.flat_map(|folder| {
            Runtime::all().map(|on| EmbeddingChoice::Folder(folder.clone(), on))
        });
        let installed = CatalogueModel::of_fingerprint(model)
            .map(|known| (known, model_folder(&self.data, known)));
        let installed = installed.filter(|(_, folder)| folder.exists());
        let installed = installed.into_iter().flat_map(|(known, folder)| {
            Runtime::all().map(move |on| EmbeddingChoice::Installed(known, folder.clone(), on))
        });
        let mut choices = Runtime::all()
            .map(EmbeddingChoice::Bundled)
            .chain(installed)
            .chain(in_folder);
        let found = choices.find_map(|choice| {
            embedder(&choice)
                .ok()
                .filter(|found| found.model() == model)
        });
        found.or_else(|| self.of_former_versions(model))
    }

    /// Returns a model of the catalogue with the arithmetic of former versions.
    fn of_former_versions(&self, model: &ModelId) -> Option<Arc<dyn Embedder>> {
        let known = CatalogueModel::of_fingerprint(model)?;
        let folder = model_folder(&self.data, known);
        if !known.is_bundled() && !folder.exists() {
            return None;
        }
        let former = LocalModel::of_catalogue(known, &folder).of_former_versions();
        (former.model() == model).then(|| Arc::new(former) as Arc<dyn Embedder>)
    }

    fn at_endpoint(&self, model: &ModelId) -> Option<Arc<dyn Embedder>> {
        let EmbeddingChoice::Http {
            url,
            api_key,
            timeout,
            ..
        } = &self.choice
        else {
            return None;
        };
        let name = HttpModel::name_at(url, model)?;
        Some(Arc::new(
            http_model(url, name, api_key.clone(), *timeout).ok()?,
        ))
    }
}

impl FormerModels for KnownModels {
    fn embedder_of(&self, model: &ModelId) -> Option<Arc<dyn Embedder>> {
        let found = self.local(model).or_else(|| self.at_endpoint(model))?;
        Some(Arc::new(CachedEmbedder::new(found)))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn found(
        choice: EmbeddingChoice,
        folder: Option<&std::path::Path>,
        model: &str,
    ) -> Option<String> {
        let known = KnownModels {
            choice,
            folder: folder.map(Into::into),
            data: PathBuf::new(),
        };
        known
            .embedder_of(&ModelId::new(model))
            .map(|embedder| embedder.model().to_string())
    }

    #[test]
    fn what_is_here_is_found_by_its_fingerprint() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["model.onnx", "tokenizer.json"] {
            std::fs::write(folder.path().join(name), name).unwrap();
        }
        let in_folder = LocalModel::from_folder(folder.path())
            .unwrap()
            .model()
            .to_string();
        let bundled = LocalModel::bundled().model().to_string();
        let former = LocalModel::bundled().of_former_versions();
        assert_ne!(former.model().as_str(), bundled);
        for (model, folder, is_found) in [
            (bundled.as_str(), None, true),
            (former.model().as_str(), None, true),
            (&in_folder, Some(folder.path()), true),
            (&in_folder, None, false),
            ("onnx:0123456789abcdef:256", Some(folder.path()), false),
            ("unusable", Some(folder.path()), false),
            ("http:m@http://localhost:1/v1", Some(folder.path()), false),
        ] {
            assert_eq!(
                found(EmbeddingChoice::NoModel, folder, model).is_some(),
                is_found,
                "{model}"
            );
        }
    }

    #[test]
    fn an_installed_model_is_found_where_it_is_installed() {
        let data = tempfile::tempdir().unwrap();
        let model = CatalogueModel::find("multilingual-e5-small").unwrap();
        let folder = model_folder(data.path(), model);
        let fingerprint = LocalModel::of_catalogue(model, &folder).model().clone();
        let known = KnownModels {
            choice: EmbeddingChoice::NoModel,
            folder: None,
            data: data.path().to_owned(),
        };
        assert!(known.embedder_of(&fingerprint).is_none());
        std::fs::create_dir_all(folder).unwrap();
        assert_eq!(
            known.embedder_of(&fingerprint).unwrap().model(),
            &fingerprint
        );
    }

    #[test]
    fn another_model_is_found_at_the_chosen_endpoint_alone() {
        let url = "http://localhost:1/v1";
        let choice = |url: &str| EmbeddingChoice::Http {
            url: url.to_owned(),
            model: "new".to_owned(),
            api_key: Some("secret".to_owned()),
            timeout: Duration::from_secs(1),
        };
        let model = "http:old@http://localhost:1/v1";
        for (url, is_found) in [
            (url, true),
            ("http://localhost:1/v1/", true),
            ("http://localhost:1", false),
            ("http://localhost:2/v1", false),
            ("http://elsewhere.example/v1", false),
        ] {
            assert_eq!(
                found(choice(url), None, model),
                is_found.then(|| model.to_owned()),
                "{url}"
            );
        }
        for model in [
            "http:@http://localhost:1/v1",
            "http:old",
            "old@http://localhost:1/v1",
            "",
        ] {
            assert_eq!(found(choice(url), None, model), None, "{model}");
        }
        // Names may contain the separator of the address.
        let odd = "http:a@b@http://localhost:1/v1";
        assert_eq!(found(choice(url), None, odd).as_deref(), Some(odd));
    }
}

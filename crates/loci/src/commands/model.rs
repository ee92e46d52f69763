//! `loci model`: the embedding models of the catalogue.

mod install;
mod places;

use std::fmt::Write;
use std::path::Path;

use loci_embed::{CATALOGUE, CatalogueModel, Languages};
use serde_json::json;

use crate::cli;
use crate::exit::{Exit, Failure};
use crate::output::{self, Output, status_line};
use crate::settings::file;
use crate::settings::{EMBEDDING_PROVIDER, Origin, Settings, model_folder};

/// The name of the provider of the model in the binary.
const BUNDLED: &str = "bundled";

pub fn run(settings: &Settings, command: &cli::Model, output: Output) -> Result<(), Failure> {
    match command {
        cli::Model::List => list(settings, output),
        cli::Model::Install { name, from, yes } => {
            let choice = SourceChoice {
                named: from.as_deref(),
                is_agreed: *yes,
            };
            install::run(settings, find(name)?, &choice, output)
        }
        cli::Model::Use { name } => use_model(settings, find(name)?, output),
    }
}

fn find(name: &str) -> Result<&'static CatalogueModel, Failure> {
    CatalogueModel::find(name).ok_or_else(|| {
        let names: Vec<_> = CATALOGUE.iter().map(|model| model.name).collect();
        let message = format!(
            "`{name}` is not a model of the catalogue, which has {}; any other model is used from a folder: set \
             `embedding.provider` to folder and `embedding.model_folder` to its path",
            names.join(", ")
        );
        Failure::new(Exit::Usage, message)
    })
}

/// Returns the value of `embedding.provider` for a model.
fn provider(model: &CatalogueModel) -> &'static str {
    if model.is_bundled() {
        BUNDLED
    } else {
        model.name
    }
}

/// The source that the user chose for the files of a model.
pub struct SourceChoice<'a> {
    /// The source that was named, if any.
    named: Option<&'a str>,
    /// True if a download from the release needs no question.
    is_agreed: bool,
}

/// Returns true if files with the names and sizes of the model's are in its folder.
fn is_installed(data: &Path, model: &CatalogueModel) -> bool {
    model.is_bundled() || places::has_files(&model_folder(data, model), model)
}

fn list(settings: &Settings, output: Output) -> Result<(), Failure> {
    let chosen = settings
        .rows
        .iter()
        .find(|row| row.setting.key == EMBEDDING_PROVIDER.key);
    let chosen = chosen
        .and_then(|row| row.value.as_deref())
        .unwrap_or(BUNDLED);
    let mut text = String::new();
    let mut rows = Vec::new();
    for model in &CATALOGUE {
        let (is_installed, is_used) = (
            is_installed(&settings.data, model),
            provider(model) == chosen,
        );
        let state = match (model.is_bundled(), is_installed) {
            (true, _) => "in the binary",
            (false, true) => "installed",
            (false, false) => "not installed",
        };
        let languages = match model.languages {
            Languages::Only(codes) => json!(codes),
            Languages::Many => json!("many"),
        };
        let megabytes = model.bytes().div_ceil(1_000_000);
        let used = if is_used { ", in use" } else { "" };
        let _ = writeln!(
            text,
            "{:22}  {state}{used}; {megabytes} MB; {}",
            model.name, model.purpose
        );
        rows.push(json!({
            "name": model.name, "purpose": model.purpose, "languages": languages, "bytes": model.bytes(),
            "dimension": model.dimension, "licence": model.licence, "source": model.source,
            "bundled": model.is_bundled(), "installed": is_installed, "used": is_used,
        }));
    }
    output.either(&output::listing("models", rows, None), text)?;
    if !CATALOGUE.iter().any(|model| provider(model) == chosen) {
        status_line(format_args!(
            "none of them is in use: the setting `embedding.provider` is {chosen}"
        ));
    }
    Ok(())
}

fn use_model(settings: &Settings, model: &CatalogueModel, output: Output) -> Result<(), Failure> {
    let name = model.name;
    if !is_installed(&settings.data, model) {
        let folder = model_folder(&settings.data, model);
        let message = format!(
            "{name} is not installed in {}: run `loci model install {name}` first",
            folder.display()
        );
        return Err(Failure::new(Exit::Model, message));
    }
    let file = Path::new(&settings.config_file.text);
    file::set(file, &EMBEDDING_PROVIDER, provider(model))?;
    let row = settings
        .rows
        .iter()
        .find(|row| row.setting.key == EMBEDDING_PROVIDER.key);
    let overriding = row.filter(|row| matches!(row.origin, Origin::Environment(_)));
    if let Some(row) = overriding {
        let value = row.value.as_deref().unwrap_or_default();
        status_line(format_args!(
            "note: {} is {value} and goes before the file: change or unset it",
            EMBEDDING_PROVIDER.variable
        ));
    }
    status_line(format_args!(
        "{name} embeds from the next start of loci on. Whatever is stored is embedded again in the background while `loci \
         serve` or `loci mcp` runs; until that is done, searches use the former model"
    ));
    let value = json!({"name": name, "file": file, "overridden": overriding.is_some()});
    Ok(output.either(&value, "")?)
}

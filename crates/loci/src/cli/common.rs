//! The options that every command has.

use clap::{Args, ValueHint};

use crate::settings::{self, Flags};

/// The options of every command, of `loci` and of `loci-bench`.
#[derive(Args)]
#[command(next_help_heading = "Options of every command")]
pub struct Common {
    #[arg(long, global = true, value_name = "FOLDER", value_hint = ValueHint::DirPath, help = settings::DATA.help())]
    data: Option<String>,
    #[arg(long, global = true, value_name = "FOLDER|URL", value_hint = ValueHint::DirPath, help = settings::STORE.help())]
    store: Option<String>,
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath, help = settings::CONFIG_MEANING)]
    config: Option<String>,
    #[arg(long, global = true, value_name = "FOLDER", value_hint = ValueHint::DirPath, help = settings::VAULT.help())]
    vault: Option<String>,
    #[arg(long, global = true, value_name = "LEVEL", help = settings::LOG.help())]
    log: Option<String>,
    #[arg(long, global = true, value_name = "FORM", help = settings::LOG_FORMAT.help())]
    log_format: Option<String>,
    #[arg(long, global = true, value_name = "MODE", help = settings::SEARCH.help())]
    search: Option<String>,
    /// Print data as JSON
    ///
    /// A list is an object: what is listed, under its plural, and `more`, the options that show what
    /// follows, or null.
    #[arg(long, global = true)]
    pub json: bool,
    /// Print texts as they are; without it, control, bidi and zero-width characters are shown as
    /// `\u{1b}`
    ///
    /// Only for files and pipes, since a terminal obeys such characters. JSON has them all,
    /// escaped.
    #[arg(long, global = true)]
    pub raw: bool,
    /// Also read and change what other users keep private in this store
    ///
    /// Without it, the local user sees what any user would see. The calls are in the audit log.
    #[arg(long, global = true)]
    pub all_users: bool,
}

impl Common {
    /// Returns the settings among the flags that every command has.
    pub fn flags(&self) -> Flags {
        given([
            (settings::DATA.flag, &self.data),
            (settings::STORE.flag, &self.store),
            (Some(settings::CONFIG_FLAG), &self.config),
            (settings::VAULT.flag, &self.vault),
            (settings::LOG.flag, &self.log),
            (settings::LOG_FORMAT.flag, &self.log_format),
            (settings::SEARCH.flag, &self.search),
        ])
        .collect()
    }
}

/// Returns the flags that have a value.
pub(super) fn given<const COUNT: usize>(
    flags: [(Option<&'static str>, &Option<String>); COUNT],
) -> impl Iterator<Item = (&'static str, String)> {
    flags
        .into_iter()
        .filter_map(|(flag, value)| Some((flag?, value.clone()?)))
}

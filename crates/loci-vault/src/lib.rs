//! A folder of Markdown notes as files: reads them as people and Obsidian write them, and writes
//! them without losing text of other writers.
//!
//! A note's identity and state are in its frontmatter, its name is made from its title, and it is
//! put in place by exchanging a temporary file with it. Nothing else is stored in the folder. The
//! operations on open folders ([`disk::Folder`]) serve others, too, who change files of other
//! programs.
//!
//! ```
//! use loci_vault::slug;
//!
//! assert_eq!(slug("Tea at four, in the garden"), "tea-at-four-in-the-garden");
//! ```

mod conflict;
mod copy;
mod create;
pub mod disk;
mod displaced_file;
mod folder;
mod frontmatter;
mod lock;
mod merge;
mod read;
mod resealing;
mod scan;
mod seal;
mod site;
mod slug;
mod text;
mod watch;
mod write;

pub use copy::{FileCopy, RestoredFile};
pub use folder::VaultFolder;
pub use lock::random_token;
pub use read::short_hash;
pub use resealing::Resealed;
pub use seal::Seal;
pub use slug::slug;
pub use watch::{FolderWatch, WatchEvent, is_watched};

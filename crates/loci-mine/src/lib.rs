//! Files that memories can be made from: the source files of a project, and the transcripts of
//! conversations.
//!
//! Everything here reads; nothing writes, but for the files of archives, which are unpacked as long as
//! they are read, and nothing knows what becomes of what was read.
//!
//! ```
//! use loci_mine::project::walk;
//!
//! let folder = tempfile::tempdir()?;
//! std::fs::write(folder.path().join("tea.md"), "# Tea at four")?;
//! assert_eq!(walk(folder.path())?.files.len(), 1);
//! # Ok::<(), std::io::Error>(())
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a failed test may panic"))]

pub mod conversation;
mod decoded;
pub mod plain_file;
pub mod project;
mod tree;
pub mod unpacked;

pub use tree::GitTree;

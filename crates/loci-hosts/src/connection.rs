//! The connection of a host to loci: its entry among the MCP servers, the hooks and the
//! instructions.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::change::{Addition, Change, PartPair};
use crate::edit::{EditError, refused};
use crate::entry::{OwnEntry, Target, merged};
use crate::form::Slot;
use crate::hooks::Hooks;
use crate::host::{Host, Http, Scope, TOKEN_VARIABLE};
use crate::instructions::{AnyBlock, InstructionBlock};
use crate::machine::Machine;
use crate::place::{Reach, work_tree};
use crate::settings_file;

/// The connection of one host.
#[derive(Debug, Clone, Copy)]
pub struct Connection<'a> {
    /// The host.
    pub host: &'static Host,
    /// The machine.
    pub machine: &'a Machine,
    /// The extent.
    pub scope: Scope,
    /// The folder of the project, for [`Scope::Project`].
    pub project: &'a Path,
    /// The name of the server.
    pub name: &'a str,
    /// The marks of an entry of loci.
    pub own: OwnEntry<'a>,
}

/// The reason why a host is not connected.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The host has no place for it, for this reason.
    #[error("{0}")]
    Unsupported(String),
    /// A file is not changed.
    #[error(transparent)]
    Edit(#[from] EditError),
}

impl<'a> Connection<'a> {
    /// Returns the file with the MCP servers.
    ///
    /// # Errors
    /// [`ConnectError::Unsupported`] if the host has none in this scope.
    pub fn file(&self) -> Result<PathBuf, ConnectError> {
        self.host
            .servers_file(self.machine, self.scope, self.project)
            .ok_or_else(|| self.nowhere("servers"))
    }

    /// Returns the entry of the file under the name; `None` if the name is free.
    ///
    /// # Errors
    /// The file cannot be read, or does not have its form.
    pub fn entry(&self) -> Result<Option<Value>, ConnectError> {
        let file = self.file()?;
        let tree = self.tree();
        let text = settings_file::read(&file, reach(tree.as_ref()))?.unwrap_or_default();
        Ok(self.slot().get(&text).map_err(refused(&file))?)
    }

    /// Returns the dialect of the entry of loci that is in the file; `None` if loci has no entry.
    ///
    /// # Errors
    /// As of [`entry`](Self::entry).
    pub fn dialect(&self) -> Result<Option<String>, ConnectError> {
        let entry = self.entry()?;
        Ok(entry.and_then(|entry| self.own.dialect_of(&entry).map(str::to_owned)))
    }

    /// Plans the entry of that server in the settings of the host. Keys that the user added to an
    /// older entry of loci stay.
    ///
    /// # Errors
    /// [`ConnectError::Unsupported`] if the host has no file in this scope, or would have to keep a
    /// token in it. [`ConnectError::Edit`] if the file cannot be read or changed, or has an entry
    /// of this name that is not of loci.
    pub fn connect(&self, target: &Target) -> Result<Change<'a>, ConnectError> {
        let file = self.file()?;
        if let (Target::Http { .. }, Http::Written(_)) = (target, self.host.servers.http) {
            return Err(ConnectError::Unsupported(format!(
                "{} would keep the token itself in its file; connect it without --http, or add the entry yourself: \
                 --print shows it",
                self.host.title
            )));
        }
        let new = self.new_entry(target)?;
        let (connection, tree) = (*self, self.tree());
        let change = Change::plan(&file, reach(tree.as_ref()), move |text| {
            let slot = connection.slot();
            let entry = match slot.get(text)? {
                Some(old) if connection.own.dialect_of(&old).is_some() => merged(&old, &new),
                Some(_) => return Err(connection.taken()),
                None => new.clone(),
            };
            slot.put(text, &entry)
        })?;
        Ok(change)
    }

    /// Plans the removal of the entry. The file is as it was before, if nothing else in it has
    /// changed.
    ///
    /// # Errors
    /// As of [`connect`](Self::connect).
    pub fn disconnect(&self) -> Result<Change<'a>, ConnectError> {
        self.undo(&self.file()?, OwnServer(*self))
    }

    /// Plans the removal of the entry and of the hooks from the file that has both.
    ///
    /// # Errors
    /// As of [`connect`](Self::connect).
    pub fn disconnect_with<'b>(&self, hooks: &Hooks<'b>) -> Result<Change<'b>, ConnectError>
    where
        'a: 'b,
    {
        self.undo(&self.file()?, PartPair(OwnServer(*self), *hooks))
    }

    fn undo<'b>(
        &self,
        file: &Path,
        addition: impl Addition + 'b,
    ) -> Result<Change<'b>, ConnectError> {
        let tree = self.tree();
        Ok(Change::plan_undo(
            file,
            reach(tree.as_ref()),
            addition,
            self.root(),
        )?)
    }

    /// Plans the instructions of loci in the file that the agents of the host read.
    ///
    /// # Errors
    /// [`ConnectError::Unsupported`] if the host has no such file in this scope.
    /// [`ConnectError::Edit`] if the file cannot be read or has marks of loci without a pair.
    pub fn instruct<'b>(&self, block: &InstructionBlock<'b>) -> Result<Change<'b>, ConnectError> {
        let (block, tree) = (*block, self.tree());
        let file = self.instructions_file()?;
        Ok(Change::plan(&file, reach(tree.as_ref()), move |text| {
            block.put(text)
        })?)
    }

    /// Plans the removal of the instructions, as [`disconnect`](Self::disconnect) does for the
    /// entry.
    ///
    /// # Errors
    /// As of [`instruct`](Self::instruct).
    pub fn uninstruct(&self) -> Result<Change<'static>, ConnectError> {
        self.undo(&self.instructions_file()?, AnyBlock)
    }

    /// Returns the entry of that server as it stands in a file of its own. Where the host keeps a
    /// token in the file, the entry has a word in its place.
    ///
    /// # Errors
    /// [`ConnectError::Unsupported`] if the host knows no such servers.
    pub fn printed(&self, target: &Target) -> Result<String, ConnectError> {
        let entry = self.new_entry(target)?;
        self.slot()
            .put("", &entry)
            .map_err(ConnectError::Unsupported)
    }

    /// Returns the link that installs that server; `None` if the host has no such links.
    ///
    /// # Errors
    /// As of [`printed`](Self::printed).
    pub fn link(&self, target: &Target) -> Result<Option<String>, ConnectError> {
        let entry = self.new_entry(target)?;
        Ok(self.host.link.map(|link| link(self.name, &entry)))
    }

    /// Makes the entry of that server.
    fn new_entry(&self, target: &Target) -> Result<Value, ConnectError> {
        match target {
            Target::Stdio { program, arguments } => {
                Ok((self.host.servers.stdio)(self.name, program, arguments))
            }
            Target::Http { url } => match self.host.servers.http {
                Http::Variable(entry) | Http::Written(entry) => Ok(entry(self.name, url)),
                Http::Unsupported(reason) => Err(ConnectError::Unsupported(format!(
                    "{} is not connected over HTTP: {reason}; or connect it without --http",
                    self.host.title
                ))),
            },
        }
    }

    fn instructions_file(&self) -> Result<PathBuf, ConnectError> {
        self.host
            .instructions_file(self.machine, self.scope, self.project)
            .ok_or_else(|| self.nowhere("instructions"))
    }

    fn nowhere(&self, thing: &str) -> ConnectError {
        let (scope, other) = match self.scope {
            Scope::User => ("user", Scope::Project),
            Scope::Project => ("project", Scope::User),
        };
        ConnectError::Unsupported(format!(
            "{} has no file for {thing} of a {scope}; try --scope {}",
            self.host.title,
            other.name()
        ))
    }

    fn taken(&self) -> String {
        let name = self.name;
        format!(
            "its server `{name}` is not of loci; choose another name with --name, or remove that entry first"
        )
    }

    fn slot(&self) -> Slot<'a> {
        Slot {
            form: self.host.servers.form,
            key: self.host.servers.key,
            name: self.name,
        }
    }

    /// Returns the folder that links on the way to a file of a project must not lead out of; `None`
    /// for the user's own files.
    fn tree(&self) -> Option<PathBuf> {
        match self.scope {
            Scope::User => None,
            Scope::Project => Some(work_tree(self.project, &self.machine.home)),
        }
    }

    /// Returns the folder below which empty folders may go.
    fn root(&self) -> &'a Path {
        match self.scope {
            Scope::User => &self.machine.home,
            Scope::Project => self.project,
        }
    }
}

fn reach(tree: Option<&PathBuf>) -> Reach<'_> {
    tree.map_or(Reach::Everywhere, |tree| Reach::Within(tree))
}

/// Returns the advice for a user who connected over HTTP.
pub fn token_advice() -> String {
    format!("set the environment variable {TOKEN_VARIABLE} to the token where the host starts")
}

/// The entry of loci under the name of a connection.
struct OwnServer<'a>(Connection<'a>);

impl Addition for OwnServer<'_> {
    fn is_in(&self, text: &str) -> Result<bool, String> {
        let entry = self.0.slot().get(text)?;
        Ok(entry.is_some_and(|entry| self.0.own.dialect_of(&entry).is_some()))
    }

    fn put_as_in(&self, text: &str, from: &str) -> Result<String, String> {
        match self.0.slot().get(from)? {
            Some(entry) => self.0.slot().put(text, &entry),
            None => Ok(text.to_owned()),
        }
    }

    fn remove(&self, text: &str) -> Result<String, String> {
        self.0.slot().remove(text)
    }
}

#[cfg(test)]
mod tests;

//! Settings and the rows of source files, in maps.

use loci_core::{Result, SettingStore, SourceFile, SourceStore, Space};

use crate::NaiveStore;
use crate::naive_store::{State, conflict};

/// Space, owner and name of a setting.
pub(crate) type SettingKey = (Space, Option<String>, String);

/// Space, machine, path and collection of a file.
pub(crate) type SourceKey = (Space, String, String, Option<String>);

fn source_key(space: &Space, machine: &str, collection: Option<&str>, path: &str) -> SourceKey {
    (
        space.clone(),
        machine.to_owned(),
        path.to_owned(),
        collection.map(str::to_owned),
    )
}

fn key_of(space: &Space, file: &SourceFile) -> SourceKey {
    source_key(space, &file.machine, file.collection.as_deref(), &file.path)
}

impl State {
    pub(crate) fn put_source_file(
        &mut self,
        space: &Space,
        file: &SourceFile,
        expect: Option<&SourceFile>,
    ) -> Result<()> {
        let key = key_of(space, file);
        self.expect_source_file(&key, expect)?;
        self.source_files.insert(key, file.clone());
        Ok(())
    }

    pub(crate) fn delete_source_file(&mut self, space: &Space, expect: &SourceFile) -> Result<()> {
        let key = key_of(space, expect);
        self.expect_source_file(&key, Some(expect))?;
        self.source_files.remove(&key);
        Ok(())
    }

    fn expect_source_file(&self, key: &SourceKey, expect: Option<&SourceFile>) -> Result<()> {
        if self.source_files.get(key) == expect {
            return Ok(());
        }
        Err(conflict(
            "this file was read meanwhile; read again what is known of it and retry",
        ))
    }

    /// Returns the files of a machine in the order of paths, then of collections.
    fn source_files<'a>(
        &'a self,
        space: &'a Space,
        machine: &'a str,
    ) -> impl Iterator<Item = &'a SourceFile> {
        self.source_files
            .iter()
            .filter(move |((of, on, ..), _)| of == space && on == machine)
            .map(|(_, file)| file)
    }
}

impl SettingStore for NaiveStore {
    fn setting(&self, space: &Space, owner: Option<&str>, name: &str) -> Result<Option<String>> {
        Ok(self
            .state()
            .settings
            .get(&(space.clone(), owner.map(str::to_owned), name.to_owned()))
            .cloned())
    }
}

impl SourceStore for NaiveStore {
    fn source_file(
        &self,
        space: &Space,
        machine: &str,
        collection: Option<&str>,
        path: &str,
    ) -> Result<Option<SourceFile>> {
        Ok(self
            .state()
            .source_files
            .get(&source_key(space, machine, collection, path))
            .cloned())
    }

    fn source_files(
        &self,
        space: &Space,
        machine: &str,
        collection: Option<&str>,
    ) -> Result<Vec<SourceFile>> {
        let state = self.state();
        Ok(state
            .source_files(space, machine)
            .filter(|file| file.collection.as_deref() == collection)
            .cloned()
            .collect())
    }

    fn sources_at(&self, space: &Space, machine: &str, path: &str) -> Result<Vec<SourceFile>> {
        let state = self.state();
        let mut found: Vec<SourceFile> = state
            .source_files(space, machine)
            .filter(|file| file.path == path)
            .cloned()
            .collect();
        found.sort_by(|left, right| left.collection.cmp(&right.collection));
        Ok(found)
    }

    fn pending_sources(
        &self,
        space: &Space,
        machine: &str,
        limit: usize,
    ) -> Result<Vec<SourceFile>> {
        let state = self.state();
        Ok(state
            .source_files(space, machine)
            .filter(|file| file.is_pending)
            .take(limit)
            .cloned()
            .collect())
    }
}

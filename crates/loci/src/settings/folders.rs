//! The folders that the settings name, and the store in them.

use std::path::Path;

use loci_core::StoreFiles;

use super::{CONFIG_FLAG, DATA, Origin, STORE, Settings};
use crate::exit::Failure;
use crate::store::{StoreLocation, StoreSettings};

impl Settings {
    /// The folders of data, store and configuration that a user named, with the flag of each that
    /// names it again.
    pub fn named_folders(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let is_named = |flag: &str| {
            self.rows
                .iter()
                .any(|row| row.setting.flag == Some(flag) && row.origin != Origin::Default)
        };
        let data = DATA
            .flag
            .filter(|flag| is_named(flag))
            .map(|flag| (flag, self.data.as_path()));
        let store = STORE.flag.zip(self.store.folder.as_deref());
        let config = (self.config_file.origin != Origin::Default)
            .then_some((CONFIG_FLAG, Path::new(&self.config_file.text)));
        data.into_iter().chain(store).chain(config)
    }

    /// The store for this data folder. The setting `store` is for the data folder of the settings;
    /// another one has its own store.
    pub fn store_for(&self, data: &Path) -> StoreLocation {
        let store = StoreSettings {
            folder: self.store.folder.clone().filter(|_| data == self.data),
            ..self.store.clone()
        };
        store.location(data)
    }

    /// The files of the store.
    ///
    /// # Errors
    /// [`Exit::Usage`](crate::exit::Exit::Usage) if it is not kept in files.
    pub fn store_files(&self) -> Result<Box<dyn StoreFiles>, Failure> {
        self.store_for(&self.data).files()
    }
}

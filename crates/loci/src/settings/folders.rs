//! The folders that the settings name, and the store.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use loci_core::StoreFiles;
use loci_keys::{KeySources, Keys};
use zeroize::Zeroizing;

use super::{
    CONFIG_FLAG, DATA, ENCRYPTION_KEY_FILE, ENCRYPTION_PASSPHRASE, ENCRYPTION_PASSPHRASE_FILE,
    ENCRYPTION_RECOVERY_KEY, Origin, STORE, STORE_CITUS, STORE_COMMIT_SECONDS, STORE_CONNECTIONS,
    STORE_INDEX_MEGABYTES, STORE_MIGRATE, STORE_PASSWORD, STORE_PASSWORD_FILE, STORE_ROW_SECURITY,
    STORE_SCHEMA, Settings, TypedSetting, Values,
};
use crate::exit::Failure;
use crate::store::{ServerSettings, StoreLocation, StorePlace, StoreSettings};

const MEGABYTE: u64 = 1 << 20;

impl Settings {
    /// The folders of data and configuration and the store that a user named, with the flag of each
    /// that names it again. The URL of a server has no password.
    ///
    /// # Errors
    /// If the current folder is unknown.
    pub fn named_places(&self) -> io::Result<Vec<(&'static str, String)>> {
        let is_named = |flag: &str| {
            self.rows
                .iter()
                .any(|row| row.setting.flag == Some(flag) && row.origin != Origin::Default)
        };
        let shown = |path: &Path| -> io::Result<String> {
            Ok(std::path::absolute(path)?.to_string_lossy().into_owned())
        };
        let mut named = Vec::new();
        if let Some(flag) = DATA.flag.filter(|flag| is_named(flag)) {
            named.push((flag, shown(&self.data)?));
        }
        if let Some(flag) = STORE.flag {
            match &self.store.place {
                StorePlace::DataFolder => {}
                StorePlace::Folder(folder) => named.push((flag, shown(folder)?)),
                StorePlace::Server(url) => named.push((flag, url.clone())),
            }
        }
        if self.config_file.origin != Origin::Default {
            named.push((CONFIG_FLAG, shown(Path::new(&self.config_file.text))?));
        }
        Ok(named)
    }

    /// The store for this data folder. The setting `store` is for the data folder of the settings;
    /// another one has its own store.
    pub fn store_for(&self, data: &Path) -> StoreLocation {
        if data == self.data {
            return self.store.location(data);
        }
        let store = StoreSettings {
            place: StorePlace::DataFolder,
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

impl Values {
    /// Reads [`STORE`] and the settings of a store on a server.
    pub(super) fn store(&self) -> Result<StoreSettings, Failure> {
        let (place, url_password) = match self.text(&STORE) {
            None => (StorePlace::DataFolder, None),
            Some(text) => StorePlace::read(text).map_err(|problem| self.wrong(&STORE, problem))?,
        };
        // A command may name a server besides the store.
        let password = self.store_password()?.or(url_password);
        let store = StoreSettings {
            place,
            busy_timeout: self.get(&super::BUSY_TIMEOUT_SECONDS)?,
            index_file_memories: self.get(&super::INDEX_FILE_MEMORIES)? as usize,
            server: ServerSettings {
                schema: self.get(&STORE_SCHEMA)?,
                connections_max: self.get(&STORE_CONNECTIONS)? as usize,
                commit_seconds: self.get(&STORE_COMMIT_SECONDS)?,
                index_bytes_max: (self.get(&STORE_INDEX_MEGABYTES)? * MEGABYTE) as usize,
                password,
                password_file: match self.text(&STORE_PASSWORD) {
                    None => self.text(&STORE_PASSWORD_FILE).map(PathBuf::from),
                    Some(_) => None,
                },
                migrates: self.text(&STORE_MIGRATE) != Some("never"),
                row_security: self.get(&STORE_ROW_SECURITY)?,
                distributes: self.text(&STORE_CITUS) != Some("off"),
                connects_to_workers: self.text(&STORE_CITUS) != Some("coordinator"),
            },
            keys: self.keys()?,
        };
        store.check().map_err(|error| {
            let is_schema = error.argument.as_deref() == Some(STORE_SCHEMA.key);
            let setting = if is_schema { &STORE_SCHEMA } else { &STORE };
            self.wrong(setting, error.problem())
        })?;
        Ok(store)
    }

    fn store_password(&self) -> Result<Option<String>, Failure> {
        if let Some(password) = self.text(&STORE_PASSWORD) {
            return Ok(Some(password.to_owned()));
        }
        self.first_line_of(&STORE_PASSWORD_FILE)
    }

    /// Reads the ways to the key of an encrypted store.
    fn keys(&self) -> Result<Keys, Failure> {
        let passphrase = match self.text(&ENCRYPTION_PASSPHRASE) {
            Some(text) => Some(text.to_owned()),
            None => self.first_line_of(&ENCRYPTION_PASSPHRASE_FILE)?,
        };
        let recovery = self.text(&ENCRYPTION_RECOVERY_KEY).map(str::to_owned);
        Ok(Keys::new(KeySources {
            key_file: self.text(&ENCRYPTION_KEY_FILE).map(PathBuf::from),
            keyring: true,
            passphrase: passphrase.map(Zeroizing::new),
            recovery: recovery.map(Zeroizing::new),
            ask: None,
        }))
    }

    /// The first line of the file that a setting names.
    fn first_line_of(&self, setting: &TypedSetting<String>) -> Result<Option<String>, Failure> {
        let Some(file) = self.text(setting) else {
            return Ok(None);
        };
        let text = fs::read_to_string(file).map_err(|error| {
            self.wrong(
                setting,
                format!("is `{file}`, which cannot be read: {error}"),
            )
        })?;
        // Some editors on Windows write a byte order mark first.
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        Ok(Some(text.lines().next().unwrap_or_default().to_owned()))
    }
}

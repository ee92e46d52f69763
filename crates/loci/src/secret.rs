//! Makes bearer tokens, and keeps the owner's token in the data folder.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use loci_core::{
    Clock, Error, ErrorCode, Principal, Scope, Scopes, Space, Timestamp, Token, TokenStore,
};
use loci_secrets::{TOKEN_BYTES, is_own_token, own_token};
use loci_server::token_hash;

use crate::exit::{Exit, Failure};
use crate::wiring::SystemClock;

/// The number of hexadecimal digits of a token's public id, the first of its hash.
const ID_DIGITS: usize = 12;
/// The file in the data folder that holds the owner's token.
const FILE_NAME: &str = "token";

/// The properties of a token to be made, without its secret.
pub struct Grant {
    /// The subject of its bearer.
    pub subject: String,
    /// The scopes of its bearer.
    pub scopes: Scopes,
    /// The space that it opens.
    pub space: Space,
    /// The time at which it expires.
    pub expires_at: Option<Timestamp>,
}

impl Grant {
    /// Returns the grant of the local user: the same subject as over stdio, so that memories
    /// written over both have one owner.
    fn of_owner() -> Self {
        Grant {
            subject: Principal::local().subject.unwrap_or_default(),
            scopes: Scopes::of(&[Scope::Read, Scope::Write]),
            space: Space::default(),
            expires_at: None,
        }
    }

    /// Returns the record of the token with this secret.
    pub fn token(self, secret: &str) -> Token {
        let hash = token_hash(secret);
        let mut id = HEXLOWER.encode(&hash);
        id.truncate(ID_DIGITS);
        Token {
            id,
            hash,
            space: self.space,
            subject: self.subject,
            scopes: self.scopes,
            created_at: SystemClock.now(),
            expires_at: self.expires_at,
            revoked_at: None,
            grant: None,
        }
    }
}

/// Returns a new secret.
///
/// # Errors
/// If the system provides no randomness.
pub fn new_secret() -> Result<String, Failure> {
    let mut bytes = [0; TOKEN_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| {
        Failure::new(
            Exit::Failure,
            format!("the system gives no randomness for a token: {error}"),
        )
    })?;
    Ok(own_token(&bytes))
}

/// Returns the path of the owner's token.
pub fn file_in(data: &Path) -> PathBuf {
    data.join(FILE_NAME)
}

/// The state of the owner's token at the start of a server.
#[derive(Debug, PartialEq, Eq)]
pub enum OwnersToken {
    /// The token was made just now and is in its file.
    New,
    /// The token is in its file since an earlier start.
    InFile,
    /// There is no file, or its token was revoked: clients have other tokens.
    Elsewhere,
}

/// Makes the owner's token if its file is missing, so that the server can be used by its owner,
/// whatever tokens others have; in a store on a server only the first of all machines does, because
/// each token there opens the memory of all. Writes the file before the record, so that the store never has a token whose secret is lost; a start in
/// between finds the file and adds the record.
///
/// # Errors
/// [`Exit::DataFolder`] if the file can be neither read nor written; the errors of the store.
pub fn ensure(
    data: &Path,
    store: &dyn TokenStore,
    is_shared: bool,
) -> Result<OwnersToken, Failure> {
    let file = file_in(data);
    match look(&file, store)? {
        Some(TokenInFile::Known(token)) if token.is_valid(SystemClock.now()) => {
            Ok(OwnersToken::InFile)
        }
        Some(TokenInFile::Known(_)) => Ok(OwnersToken::Elsewhere),
        Some(TokenInFile::NotYetKnown(secret)) => add(store, &secret).map(|()| OwnersToken::InFile),
        None => {
            if is_shared && !store.tokens()?.is_empty() {
                return Ok(OwnersToken::Elsewhere);
            }
            let secret = new_secret()?;
            write_privately(&file, &secret).map_err(|error| unusable(&file, "written", &error))?;
            add(store, &secret)?;
            Ok(OwnersToken::New)
        }
    }
}

/// The content of the owner's token file.
pub enum TokenInFile {
    /// A token of the store, which may have become invalid.
    Known(Box<Token>),
    /// The secret of a token that the store does not have yet.
    NotYetKnown(String),
}

/// Reads the owner's token; `None` if its file does not exist.
///
/// # Errors
/// [`Exit::DataFolder`] if the file cannot be read or holds no token; the errors of the store.
pub fn look(file: &Path, store: &dyn TokenStore) -> Result<Option<TokenInFile>, Failure> {
    let text = match fs::read(file) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unusable(file, "read", &error)),
    };
    let secret = text.trim();
    match store.token_by_hash(&token_hash(secret))? {
        Some(token) => Ok(Some(TokenInFile::Known(Box::new(token)))),
        None if is_own_token(secret) => Ok(Some(TokenInFile::NotYetKnown(secret.to_owned()))),
        None => {
            let message = format!(
                "the file {} holds no token; remove it and start again",
                file.display()
            );
            Err(Failure::new(Exit::DataFolder, message))
        }
    }
}

fn add(store: &dyn TokenStore, secret: &str) -> Result<(), Failure> {
    match store.add_token(&Grant::of_owner().token(secret)) {
        // Another server that starts now was faster.
        Err(Error {
            code: ErrorCode::Conflict,
            ..
        }) => Ok(()),
        outcome => Ok(outcome?),
    }
}

fn unusable(file: &Path, verb: &str, error: &io::Error) -> Failure {
    let message = format!(
        "the token file {} cannot be {verb}: {error}; correct its permissions",
        file.display()
    );
    Failure::new(Exit::DataFolder, message)
}

/// Writes a file that only its owner may read, atomically.
fn write_privately(file: &Path, secret: &str) -> io::Result<()> {
    let draft = file.with_extension(format!("{}.draft", std::process::id()));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    let written = options.open(&draft).and_then(|mut draft| {
        writeln!(draft, "{secret}")?;
        draft.sync_all()
    });
    let moved = written.and_then(|()| fs::rename(&draft, file));
    if moved.is_err() {
        let _ = fs::remove_file(&draft);
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_random_and_its_id_says_nothing_of_it() {
        let (one, two) = (new_secret().unwrap(), new_secret().unwrap());
        assert_ne!(one, two);
        assert!(is_own_token(&one), "{one}");
        let token = Grant::of_owner().token(&one);
        assert_eq!(token.id.len(), ID_DIGITS);
        assert!(!one.contains(&token.id));
    }
}

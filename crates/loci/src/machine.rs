//! The id of this machine, by which a store that several machines share tells their files apart.

use std::fs;
use std::io;
use std::path::Path;

use data_encoding::HEXLOWER;
use loci_archive::files::write_new_privately;

use crate::exit::{Exit, Failure};

/// The file in the data folder that holds the id.
const FILE_NAME: &str = "machine";
/// The number of random bytes in an id; each is two hexadecimal digits.
const ID_BYTES: usize = 8;

/// Returns the id of the machine that has this data folder, 16 hexadecimal digits. The first call
/// makes it, and all later ones of any process return the same.
///
/// # Errors
/// [`Exit::DataFolder`] if the file can be neither read nor written, or holds no id;
/// [`Exit::Failure`] if the system provides no randomness.
pub fn id(data: &Path) -> Result<String, Failure> {
    let file = data.join(FILE_NAME);
    if let Some(id) = known(&file)? {
        return Ok(id);
    }
    let new = new_id()?;
    match write_new_privately(&file, format!("{new}\n").as_bytes()) {
        Ok(()) => Ok(new),
        // Another process that starts now was faster.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            known(&file)?.ok_or_else(|| unusable(&file, "read", &error))
        }
        Err(error) => Err(unusable(&file, "written", &error)),
    }
}

/// Returns the name of this machine for people, which several may have.
pub fn name() -> String {
    #[cfg(unix)]
    let name = rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned();
    #[cfg(not(unix))]
    let name = std::env::var("COMPUTERNAME").unwrap_or_else(|_| "another machine".to_owned());
    name
}

/// Returns the id in the file; `None` if there is no file.
fn known(file: &Path) -> Result<Option<String>, Failure> {
    let text = match fs::read(file) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unusable(file, "read", &error)),
    };
    let id = text.trim();
    if is_id(id) {
        return Ok(Some(id.to_owned()));
    }
    let message = format!(
        "the file {} holds no id of a machine; write the 16 hexadecimal digits back that it had. If you remove it, this \
         machine gets a new id, and what it filed from files before stays as it is",
        file.display()
    );
    Err(Failure::new(Exit::DataFolder, message))
}

fn new_id() -> Result<String, Failure> {
    let mut bytes = [0; ID_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| {
        let message = format!("the system gives no randomness for the id of this machine: {error}");
        Failure::new(Exit::Failure, message)
    })?;
    Ok(HEXLOWER.encode(&bytes))
}

fn is_id(text: &str) -> bool {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    text.len() == 2 * ID_BYTES && text.bytes().all(is_digit)
}

fn unusable(file: &Path, verb: &str, error: &io::Error) -> Failure {
    let message = format!(
        "the file {} with the id of this machine cannot be {verb}: {error}; correct its permissions",
        file.display()
    );
    Failure::new(Exit::DataFolder, message)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::thread;

    use super::*;

    #[test]
    fn a_machine_keeps_its_id() {
        let [one, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let made = id(one.path()).unwrap();
        assert!(is_id(&made), "{made}");
        assert_eq!(id(one.path()).unwrap(), made);
        assert_ne!(id(other.path()).unwrap(), made);
        let file = one.path().join(FILE_NAME);
        assert_eq!(fs::read_to_string(&file).unwrap(), format!("{made}\n"));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(&file).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        assert_eq!(fs::read_dir(one.path()).unwrap().count(), 1);
    }

    #[test]
    fn all_who_start_at_once_agree() {
        for _ in 0..20 {
            let folder = tempfile::tempdir().unwrap();
            let ids: BTreeSet<String> = thread::scope(|scope| {
                let starts = [(); 8].map(|()| scope.spawn(|| id(folder.path()).unwrap()));
                starts.map(|start| start.join().unwrap()).into()
            });
            assert_eq!(ids.len(), 1, "{ids:?}");
        }
    }

    #[test]
    fn what_is_no_id_is_refused_and_stays() {
        for text in [
            "",
            "0123456789abcde",
            "0123456789ABCDEF",
            "0123456789abcdef0",
        ] {
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join(FILE_NAME);
            fs::write(&file, text).unwrap();
            let refused = id(folder.path()).unwrap_err();
            assert_eq!(refused.exit, Exit::DataFolder, "{text}");
            assert!(refused.message.contains("holds no id"), "{text}");
            assert_eq!(fs::read_to_string(&file).unwrap(), text);
        }
        let nowhere = tempfile::tempdir().unwrap().path().join("none");
        let refused = id(&nowhere).unwrap_err();
        assert_eq!(refused.exit, Exit::DataFolder);
        assert!(refused.message.contains("written"));
    }
}

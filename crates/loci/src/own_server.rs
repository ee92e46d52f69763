//! The URL at which this machine reaches its own server.
//!
//! A server leaves its URL in the data folder, and holds a lock there as long as it runs. So
//! `loci page` finds it whatever its port is, and sends the owner's token to it only, because on the
//! port of a server that has ended another program may listen.

use std::fs::{File, TryLockError};
use std::io::{self, Read as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::thread;

use loci_archive::files::{create_private_folder, write_privately};

use crate::exit::{Exit, Failure};
use crate::settings::Settings;

/// Returns the URL of the server that the settings describe. `advice` says what to do if
/// they do not tell it.
///
/// # Errors
/// `Usage` if the settings do not tell it.
pub fn own_url(settings: &Settings, advice: &str) -> Result<String, Failure> {
    let unknown = |problem: &str| {
        let message = format!("{problem}; {advice}");
        Failure::new(Exit::Usage, message)
    };
    if settings.network.tls.is_some() {
        // The certificate is for a name, which the address does not tell.
        return settings
            .network
            .public_url
            .as_ref()
            .map(ToString::to_string)
            .ok_or_else(|| {
                unknown("the server speaks TLS, and no `public_url` says under which name")
            });
    }
    if settings.bind.port() == 0 {
        return Err(unknown("`bind` leaves the port to the system"));
    }
    Ok(format!("http://{}", reached(settings.bind)))
}

/// The folder in the data folder for what running processes leave to others.
pub const RUN_FOLDER: &str = "run";
/// The file that a running server has locked.
const LOCK: &str = "server.lock";
/// The file with its URL. It is not the locked one, which some systems do not let others read.
const ADDRESS: &str = "server.url";
const URL_BYTES_MAX: u64 = 1 << 10;

/// Leaves the URL of this server in the data folder until the process ends. If another server of
/// the folder runs, that one's stays until it ends.
pub fn announce_running(data: &Path, url: String) {
    let announced = lock_file(data).and_then(|lock| match lock.try_lock() {
        Ok(()) => hold(lock, data, &url),
        Err(TryLockError::WouldBlock) => {
            let data = data.to_owned();
            let wait = move || {
                if let Err(error) = lock.lock().and_then(|()| hold(lock, &data, &url)) {
                    not_announced(&error);
                }
            };
            let thread = thread::Builder::new().name("announcement".to_owned());
            thread.spawn(wait).map(drop)
        }
        Err(TryLockError::Error(error)) => Err(error),
    });
    if let Err(error) = announced {
        not_announced(&error);
    }
}

fn not_announced(error: &io::Error) {
    tracing::warn!(%error, "`loci page` does not find this server, whose address cannot be left in the data folder");
}

fn lock_file(data: &Path) -> io::Result<File> {
    let folder = data.join(RUN_FOLDER);
    create_private_folder(&folder)?;
    let mut options = File::options();
    options.create(true).truncate(false).write(true);
    options.open(folder.join(LOCK))
}

/// Writes the URL, and keeps the lock as long as the process lives.
fn hold(lock: File, data: &Path, url: &str) -> io::Result<()> {
    write_privately(&data.join(RUN_FOLDER).join(ADDRESS), url.as_bytes())?;
    std::mem::forget(lock);
    Ok(())
}

/// Returns the URL of the running server of a data folder; `None` if no server runs.
pub fn running_url(data: &Path) -> Option<String> {
    let folder = data.join(RUN_FOLDER);
    let lock = File::options().write(true).open(folder.join(LOCK)).ok()?;
    if !matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock)) {
        return None;
    }
    let mut url = String::new();
    let file = File::open(folder.join(ADDRESS)).ok()?;
    file.take(URL_BYTES_MAX).read_to_string(&mut url).ok()?;
    Some(url)
}

/// Returns the address at which this machine reaches a server that is bound to `bind`.
pub fn reached(bind: SocketAddr) -> SocketAddr {
    let ip = match bind.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, bind.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_on_every_address_is_reached_on_loopback() {
        for (bind, expected) in [
            ("0.0.0.0:7821", "127.0.0.1:7821"),
            ("[::]:7821", "[::1]:7821"),
            ("127.0.0.1:80", "127.0.0.1:80"),
            ("10.1.2.3:80", "10.1.2.3:80"),
        ] {
            assert_eq!(reached(bind.parse().unwrap()).to_string(), expected);
        }
    }
}

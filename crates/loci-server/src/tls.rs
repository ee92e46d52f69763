//! TLS with a certificate that can be replaced while the server runs.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use loci_core::{Error, ErrorCode, Result};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, pem};
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::rustls::{self, ServerConfig};
use tokio_rustls::server::TlsStream;

use crate::monotonic::MonotonicTime;
use crate::mutex::lock;

/// The minimum time between two checks of the files.
const LOOK_PAUSE: Duration = Duration::from_secs(1);
/// The maximum size in bytes of a file of certificates or keys.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// TLS 1.2 and 1.3 with a certificate and its key from two files. The files are checked again at
/// most once a second when connections arrive: new connections use a new pair, existing ones stay
/// as they are. The old pair stays in use if the files are invalid, if only one file has been
/// replaced, or if the disk hangs.
#[derive(Clone)]
pub struct Tls {
    acceptor: TlsAcceptor,
    pair: Arc<ReloadedPair>,
}

impl Tls {
    /// Reads the certificate (and after it the certificates of the authorities between it and the
    /// root) and its key (PKCS#8, PKCS#1 or SEC1), both as PEM.
    ///
    /// # Errors
    /// `invalid_argument` if a file is missing, cannot be read or has the wrong content, or if the
    /// key belongs to another certificate. The message names the file and the remedy.
    pub fn from_files(certificate: PathBuf, key: PathBuf, time: MonotonicTime) -> Result<Self> {
        let provider = Arc::new(ring::default_provider());
        let pair = Arc::new(ReloadedPair::load(
            Files { certificate, key },
            Arc::clone(&provider),
            time,
        )?);
        let resolver: Arc<ReloadedPair> = Arc::clone(&pair);
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| Error::internal(format!("TLS cannot be set up: {error}")))?
            .with_no_client_auth()
            .with_cert_resolver(resolver);
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Tls {
            acceptor: TlsAcceptor::from(Arc::new(config)),
            pair,
        })
    }

    /// Performs the handshake of one connection.
    pub(crate) async fn accept<S>(&self, stream: S) -> std::io::Result<TlsStream<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        if let Some(permit) = self.pair.due_look() {
            let pair = Arc::clone(&self.pair);
            // The files are small, but their disk may hang. If the check fails, the old pair stays.
            let look = tokio::task::spawn_blocking(move || {
                let _permit = permit;
                pair.look();
            });
            let _ = look.await;
        }
        self.acceptor.accept(stream).await
    }
}

/// The pair in use.
#[derive(Debug)]
struct ReloadedPair {
    files: Files,
    provider: Arc<CryptoProvider>,
    time: MonotonicTime,
    state: Mutex<State>,
    /// The permit of the running check: if the disk hangs, no further check starts behind it.
    look: Arc<Semaphore>,
}

#[derive(Debug)]
struct State {
    pair: Arc<CertifiedKey>,
    /// The marks of the files that the pair was loaded from.
    marks: [Mark; 2],
    looked_at: Duration,
    /// The logged problem with the current files, if they cannot be used.
    told: Option<String>,
}

impl ReloadedPair {
    fn load(files: Files, provider: Arc<CryptoProvider>, time: MonotonicTime) -> Result<Self> {
        let marks = files.marks()?;
        let pair = Arc::new(files.pair(&provider)?);
        let state = Mutex::new(State {
            pair,
            marks,
            looked_at: time.now(),
            told: None,
        });
        Ok(ReloadedPair {
            files,
            provider,
            time,
            state,
            look: Arc::new(Semaphore::new(1)),
        })
    }

    /// Returns the permit for a check of the files if one is due; only one caller gets it.
    fn due_look(&self) -> Option<OwnedSemaphorePermit> {
        let now = self.time.now();
        let mut state = lock(&self.state);
        if now.saturating_sub(state.looked_at) < LOOK_PAUSE {
            return None;
        }
        let permit = Arc::clone(&self.look).try_acquire_owned().ok()?;
        state.looked_at = now;
        Some(permit)
    }

    /// Reloads the pair if a file has changed.
    fn look(&self) {
        // Taken before the files are read: the next check detects a change in between.
        let marks = self.files.marks();
        {
            let mut state = lock(&self.state);
            if marks.as_ref().is_ok_and(|marks| *marks == state.marks) {
                state.told = None;
                return;
            }
        }
        let loaded = marks.and_then(|marks| Ok((marks, self.files.pair(&self.provider)?)));
        let mut state = lock(&self.state);
        match loaded {
            Ok((marks, pair)) => {
                (state.marks, state.pair, state.told) = (marks, Arc::new(pair), None);
                tracing::info!("the TLS certificate was replaced");
            }
            Err(error) => {
                let problem = error.to_string();
                if state.told.as_ref() != Some(&problem) {
                    tracing::warn!(
                        "the TLS certificate in use stays, since the new one cannot be used: {problem}"
                    );
                }
                state.told = Some(problem);
            }
        }
    }
}

impl ResolvesServerCert for ReloadedPair {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&lock(&self.state).pair))
    }
}

/// Identifies the content of a file without reading it. Follows symbolic links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mark {
    modified: Option<SystemTime>,
    length: u64,
    inode: u64,
}

#[derive(Debug)]
struct Files {
    certificate: PathBuf,
    key: PathBuf,
}

impl Files {
    fn marks(&self) -> Result<[Mark; 2]> {
        Ok([mark(&self.certificate)?, mark(&self.key)?])
    }

    fn pair(&self, provider: &CryptoProvider) -> Result<CertifiedKey> {
        let (certificate_path, key_path) = (self.certificate.display(), self.key.display());
        let parsed: Result<Vec<_>, pem::Error> =
            CertificateDer::pem_slice_iter(&read(&self.certificate)?).collect();
        let certificates = parsed.map_err(|error| {
            unusable(
                &self.certificate,
                &format!("cannot be read as PEM: {error}"),
            )
        })?;
        if certificates.is_empty() {
            let problem = "has no certificate in it; it must hold the server's own, followed by those of the authorities between it and the root, as PEM (`-----BEGIN CERTIFICATE-----`)";
            return Err(unusable(&self.certificate, problem));
        }
        let key = PrivateKeyDer::from_pem_slice(&read(&self.key)?).map_err(|error| match error {
            pem::Error::NoItemsFound => {
                let problem = "has no private key in it; it must hold one as PEM (PKCS#8, PKCS#1 or SEC1), not encrypted with a password";
                unusable(&self.key, problem)
            }
            // Does not repeat the error's text, which may quote a part of the key.
            _ => unusable(&self.key, "cannot be read as PEM; write it again"),
        })?;
        CertifiedKey::from_der(certificates, key, provider).map_err(|error| match error {
            rustls::Error::InconsistentKeys(_) => {
                let message = format!(
                    "the key in {key_path} is not that of the first certificate in {certificate_path}; name two files that belong together, with the server's own certificate first"
                );
                Error::new(ErrorCode::InvalidArgument, message)
            }
            rustls::Error::InvalidCertificate(_) => {
                unusable(&self.certificate, "begins with what is no X.509 certificate; get it again from its authority")
            }
            error => unusable(&self.key, &format!("has a key that cannot be used ({error}); RSA from 2048 bits on, ECDSA with P-256, P-384 or P-521, and Ed25519 can")),
        })
    }
}

fn mark(path: &Path) -> Result<Mark> {
    let metadata = fs::metadata(path).map_err(|error| unreadable(path, &error))?;
    if !metadata.is_file() {
        return Err(unusable(path, "is no file; name one with PEM in it"));
    }
    #[cfg(unix)]
    let inode = std::os::unix::fs::MetadataExt::ino(&metadata);
    #[cfg(not(unix))]
    let inode = 0;
    Ok(Mark {
        modified: metadata.modified().ok(),
        length: metadata.len(),
        inode,
    })
}

fn read(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read =
        File::open(path).and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes));
    read.map_err(|error| unreadable(path, &error))?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(unusable(
            path,
            &format!("is longer than {FILE_BYTES_MAX} bytes; name one with only PEM"),
        ));
    }
    Ok(bytes)
}

fn unreadable(path: &Path, error: &std::io::Error) -> Error {
    match error.kind() {
        std::io::ErrorKind::NotFound => unusable(
            path,
            "does not exist; check its name, and the folder that it is in",
        ),
        std::io::ErrorKind::PermissionDenied => unusable(
            path,
            "may not be read by the user that loci runs as; give that user the right to read it",
        ),
        _ => unusable(path, &format!("cannot be read: {error}")),
    }
}

fn unusable(path: &Path, problem: &str) -> Error {
    Error::new(
        ErrorCode::InvalidArgument,
        format!("the file {} {problem}", path.display()),
    )
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn one_look_at_a_time() {
        let folder = tempfile::TempDir::new().unwrap();
        let files = Files {
            certificate: folder.path().join("certificate.pem"),
            key: folder.path().join("key.pem"),
        };
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        fs::write(&files.certificate, made.cert.pem()).unwrap();
        fs::write(&files.key, made.signing_key.serialize_pem()).unwrap();
        let seconds = Arc::new(AtomicU64::new(0));
        let passed = Arc::clone(&seconds);
        let time = MonotonicTime::new(move || Duration::from_secs(passed.load(Ordering::SeqCst)));
        let pair = ReloadedPair::load(files, Arc::new(ring::default_provider()), time).unwrap();

        assert!(pair.due_look().is_none(), "right after they were read");
        seconds.store(1, Ordering::SeqCst);
        let hanging = pair.due_look();
        assert!(hanging.is_some());
        seconds.store(100, Ordering::SeqCst);
        assert!(pair.due_look().is_none(), "while one hangs");
        drop(hanging);
        assert!(pair.due_look().is_some());
        assert!(pair.due_look().is_none(), "within a second of the last one");
    }
}

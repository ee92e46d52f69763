//! Encrypted connections, and certificates that are replaced while the server runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use loci_core::ErrorCode;
use loci_server::{Authentication, HttpConfig, Tls};
use rcgen::{CertifiedKey, KeyPair, generate_simple_self_signed};
use serde_json::json;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::version::{TLS12, TLS13};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};

use crate::rate::Time;
use crate::support::{Server, World, call, request};

type Pair = CertifiedKey<KeyPair>;

fn pair() -> Pair {
    generate_simple_self_signed(["localhost".to_owned()]).unwrap()
}

/// Two files as `--tls-cert` and `--tls-key` name them.
struct Files {
    folder: TempDir,
}

impl Files {
    fn of(pair: &Pair) -> Self {
        let files = Files {
            folder: TempDir::new().unwrap(),
        };
        fs::write(files.certificate(), pair.cert.pem()).unwrap();
        fs::write(files.key(), pair.signing_key.serialize_pem()).unwrap();
        files
    }

    fn certificate(&self) -> PathBuf {
        self.folder.path().join("certificate.pem")
    }

    fn key(&self) -> PathBuf {
        self.folder.path().join("key.pem")
    }

    fn tls(&self, time: &Time) -> Tls {
        Tls::from_files(self.certificate(), self.key(), time.monotonic()).unwrap()
    }
}

/// Replaces a file atomically.
fn replace(path: &Path, text: &str) {
    let new = path.with_extension("new");
    fs::write(&new, text).unwrap();
    fs::rename(new, path).unwrap();
}

async fn start(tls: Tls) -> Server {
    Server::start_with(
        &World::new(),
        HttpConfig {
            tls: Some(tls),
            ..HttpConfig::new(Authentication::Anonymous)
        },
    )
    .await
}

/// Connects over TLS, trusting only one certificate.
async fn connect(
    server: &Server,
    trusted: &CertificateDer<'static>,
    versions: &[&'static SupportedProtocolVersion],
    protocols: &[&str],
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let mut config = config
        .with_protocol_versions(versions)
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols
        .iter()
        .map(|protocol| protocol.as_bytes().to_vec())
        .collect();
    let stream = TcpStream::connect(server.address).await?;
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await
}

/// Calls a tool over TLS, trusting only one certificate; returns the whole response.
async fn echo(
    server: &Server,
    trusted: &CertificateDer<'static>,
    versions: &[&'static SupportedProtocolVersion],
    protocols: &[&str],
) -> std::io::Result<String> {
    let exchange = async {
        let mut stream = connect(server, trusted, versions, protocols).await?;
        let body = request(1, "tools/call", call("echo", json!({"text": "hi"}))).to_string();
        let head = format!(
            "POST /mcp/test HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(body.as_bytes()).await?;
        let mut text = String::new();
        stream.read_to_string(&mut text).await?;
        Ok(text)
    };
    tokio::time::timeout(Duration::from_mins(1), exchange)
        .await
        .expect("a response within a minute")
}

/// True if the server presents this certificate to new connections.
async fn shows(server: &Server, pair: &Pair) -> bool {
    echo(server, pair.cert.der(), &[&TLS13], &[])
        .await
        .is_ok_and(|text| text.starts_with("HTTP/1.1 200"))
}

/// The client goes on to send its body after the reply has come, and reads then.
#[tokio::test]
async fn a_reply_is_read_by_who_still_sends() {
    const BYTES: usize = 8 << 20;
    let pair = pair();
    let server = start(Files::of(&pair).tls(&Time::default())).await;
    for version in [&TLS12, &TLS13] {
        let stream = connect(&server, pair.cert.der(), &[version], &[]).await;
        let mut stream = stream.unwrap();
        let head = format!(
            "POST /elsewhere HTTP/1.1\r\nhost: localhost\r\ncontent-length: {BYTES}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut reply = vec![stream.read_u8().await.unwrap()];
        for _ in 0..BYTES / 1_024 {
            stream.write_all(&[b'x'; 1_024]).await.unwrap();
        }
        stream.flush().await.unwrap();
        stream.read_to_end(&mut reply).await.unwrap();
        let reply = String::from_utf8(reply).unwrap();
        assert!(reply.starts_with("HTTP/1.1 404"), "{reply}");
    }
}

#[tokio::test]
async fn a_call_works_over_both_versions() {
    let pair = pair();
    let server = start(Files::of(&pair).tls(&Time::default())).await;
    for (version, protocols) in [
        (&TLS12, &["http/1.1"][..]),
        (&TLS13, &["h2", "http/1.1"]),
        (&TLS13, &[]),
    ] {
        let text = echo(&server, pair.cert.der(), &[version], protocols)
            .await
            .unwrap();
        assert!(
            text.starts_with("HTTP/1.1 200") && text.contains("\"text\":\"hi\""),
            "{text}"
        );
    }
    assert!(
        echo(&server, pair.cert.der(), &[&TLS13], &["h2"])
            .await
            .is_err()
    );
    server.stop().await;
}

#[tokio::test]
async fn what_is_no_handshake_harms_nobody() {
    let pair = pair();
    let server = start(Files::of(&pair).tls(&Time::default())).await;
    let silent = TcpStream::connect(server.address).await.unwrap();
    for bytes in [
        &b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n"[..],
        &[0x16, 3, 1, 0xff, 0xff, 1],
        b"",
    ] {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut reply = Vec::new();
        // The server may reset the connection, because it does not read it to the end.
        let _ = stream.read_to_end(&mut reply).await;
        assert!(!reply.starts_with(b"HTTP"));
    }
    assert!(shows(&server, &pair).await);
    // A handshake that never arrives does not delay the shutdown.
    server.stop().await;
    drop(silent);
}

#[tokio::test]
async fn a_new_pair_is_used_once_both_files_are_there() {
    let (old, new, time) = (pair(), pair(), Time::default());
    let files = Files::of(&old);
    let server = start(files.tls(&time)).await;
    assert!(shows(&server, &old).await);

    replace(&files.certificate(), &new.cert.pem());
    time.pass(1);
    assert!(shows(&server, &old).await, "a certificate without its key");
    fs::remove_file(files.key()).unwrap();
    time.pass(1);
    assert!(shows(&server, &old).await, "no key");
    fs::write(files.key(), "-----BEGIN PRIVATE KEY-----\nMIG").unwrap();
    time.pass(1);
    assert!(shows(&server, &old).await, "half a key");
    replace(&files.key(), &new.signing_key.serialize_pem());
    assert!(
        shows(&server, &old).await,
        "within a second of the last look"
    );
    time.pass(1);
    assert!(shows(&server, &new).await);
    assert!(!shows(&server, &old).await);
    server.stop().await;
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_to_a_folder_can_be_swapped() {
    use std::os::unix::fs::symlink;

    let (old, new, time) = (pair(), pair(), Time::default());
    let (old_files, new_files) = (Files::of(&old), Files::of(&new));
    let folder = TempDir::new().unwrap();
    let link = folder.path().join("current");
    symlink(old_files.folder.path(), &link).unwrap();
    let tls = Tls::from_files(
        link.join("certificate.pem"),
        link.join("key.pem"),
        time.monotonic(),
    )
    .unwrap();
    let server = start(tls).await;
    assert!(shows(&server, &old).await);
    let next = folder.path().join("next");
    symlink(new_files.folder.path(), &next).unwrap();
    fs::rename(next, link).unwrap();
    time.pass(1);
    assert!(shows(&server, &new).await);
    server.stop().await;
}

#[test]
fn files_that_cannot_be_used_are_told_apart() {
    let (one, other) = (pair(), pair());
    let (certificate, key) = (one.cert.pem(), one.signing_key.serialize_pem());
    let not_a_certificate = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let not_a_key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
    let encrypted = key.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
    let long = " ".repeat((1 << 20) + 1);
    let broken = "-----BEGIN PRIVATE KEY-----\nsecretsecret";
    let (c, k) = ("certificate.pem", "key.pem");
    // The two files, the file that the error names, and the problem that it names.
    let rows: [(Option<&str>, Option<&str>, &str, &str); 12] = [
        (None, Some(&key), c, "does not exist"),
        (Some(&certificate), None, k, "does not exist"),
        (Some(""), Some(&key), c, "no certificate in it"),
        (Some(&key), Some(&key), c, "no certificate in it"),
        (
            Some(not_a_certificate),
            Some(&key),
            c,
            "no X.509 certificate",
        ),
        (
            Some("-----BEGIN CERTIFICATE-----\nMI"),
            Some(&key),
            c,
            "cannot be read as PEM",
        ),
        (Some(&long), Some(&key), c, "is longer than"),
        (
            Some(&certificate),
            Some(&certificate),
            k,
            "no private key in it",
        ),
        (
            Some(&certificate),
            Some(&encrypted),
            k,
            "not encrypted with a password",
        ),
        (Some(&certificate), Some(not_a_key), k, "cannot be used"),
        (Some(&certificate), Some(broken), k, "cannot be read as PEM"),
        (
            Some(&other.cert.pem()),
            Some(&key),
            k,
            "is not that of the first certificate",
        ),
    ];
    for (certificate, key, file, problem) in rows {
        let files = Files {
            folder: TempDir::new().unwrap(),
        };
        for (path, text) in [(files.certificate(), certificate), (files.key(), key)] {
            if let Some(text) = text {
                fs::write(path, text).unwrap();
            }
        }
        let error = Tls::from_files(
            files.certificate(),
            files.key(),
            Time::default().monotonic(),
        )
        .err()
        .unwrap();
        assert_eq!(error.code, ErrorCode::InvalidArgument);
        assert!(
            error.message.contains(file) && error.message.contains(problem),
            "{error}"
        );
        assert!(!error.message.contains("secret"), "{error}");
    }
    let folder = TempDir::new().unwrap();
    let path = folder.path().to_owned();
    let error = Tls::from_files(path.clone(), path, Time::default().monotonic())
        .err()
        .unwrap();
    assert!(error.message.contains("is no file"), "{error}");
}

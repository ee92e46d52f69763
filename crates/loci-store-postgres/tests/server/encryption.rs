//! Encrypted connections, and servers that are not the right ones.

use std::fs;

use loci_core::Store;
use loci_store_postgres::{Options, PostgresStore};
use loci_testkit::contract::filter;
use loci_testkit::postgres::{Server, Setup, newest};
use rcgen::CertifiedKey;

#[test]
fn a_server_is_trusted_by_its_certificate_and_its_name() {
    let pair = || rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let CertifiedKey { cert, signing_key } = pair();
    let server = Server::start(&Setup {
        access: vec!["hostnossl all all 0.0.0.0/0 reject".to_owned()],
        settings: vec![("ssl".to_owned(), "on".to_owned())],
        files: vec![
            ("server.crt".to_owned(), cert.pem().into_bytes()),
            (
                "server.key".to_owned(),
                signing_key.serialize_pem().into_bytes(),
            ),
        ],
        // Not every server is built with TLS, but Debian's is.
        programs: newest(),
        ..Setup::default()
    });
    let folder = tempfile::tempdir().unwrap();
    let (own, other) = (
        folder.path().join("own.pem"),
        folder.path().join("other.pem"),
    );
    fs::write(&own, cert.pem()).unwrap();
    fs::write(&other, pair().cert.pem()).unwrap();
    let reach = |host: &str, parameters: &str| {
        let url = format!("postgres://loci@{host}:{}/loci?{parameters}", server.port);
        let mut options = Options::new(url);
        options.allows_unsafe = true;
        PostgresStore::open(options)?.version(&filter().space)
    };
    let with =
        |file: &std::path::Path| format!("sslmode=verify-full&sslrootcert={}", file.display());
    assert_eq!(reach("localhost", &with(&own)), Ok(0));
    assert_eq!(reach("127.0.0.1", "sslmode=require"), Ok(0));
    let url = format!(
        "postgres://loci@127.0.0.1:{}/loci?sslmode=require",
        server.port
    );
    assert_eq!(crate::pooler::found(&url), "none");
    assert_eq!(
        reach("127.0.0.1", ""),
        Ok(0),
        "encrypted, since the server offers it"
    );
    for (host, parameters, parts) in [
        (
            "127.0.0.1",
            with(&own),
            ["not valid for name", "sslrootcert"],
        ),
        (
            "localhost",
            with(&other),
            ["invalid peer certificate", "sslrootcert"],
        ),
        (
            "localhost",
            "sslmode=verify-full".to_owned(),
            ["invalid peer certificate", "sslrootcert"],
        ),
        (
            "localhost",
            "sslmode=disable".to_owned(),
            ["no encryption", "pg_hba.conf"],
        ),
    ] {
        let refused = reach(host, &parameters).unwrap_err();
        let says = |part: &&str| refused.message.contains(*part);
        assert!(
            refused.is_unavailable() && parts.iter().all(says),
            "{parameters}: {refused}"
        );
    }
    let missing = folder.path().join("missing.pem");
    let refused = reach("localhost", &with(&missing)).unwrap_err();
    assert!(refused.message.contains("missing.pem"), "{refused}");
}

/// A server that offers no encryption.
#[test]
fn no_connection_goes_unencrypted_where_that_is_required() {
    let server = Server::start(&Setup::default());
    let url = format!("{}?sslmode=require", server.url);
    let refused = PostgresStore::open(Options::new(url))
        .unwrap()
        .version(&filter().space);
    let refused = refused.unwrap_err();
    assert!(
        refused.message.contains("does not support TLS") && refused.message.contains("sslmode"),
        "{refused}"
    );
}

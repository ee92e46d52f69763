//! Encryption of connections.

use std::path::Path;
use std::sync::Arc;

use loci_core::{Error, Result};
use tokio_postgres_rustls::MakeRustlsConnect;
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::crypto::{
    CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature,
};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    self, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
};

use crate::options::Trust;

/// Returns a maker of encrypted connections.
pub(crate) fn connector(trust: &Trust) -> Result<MakeRustlsConnect> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::internal(format!("TLS cannot be set up: {error}")))?;
    let config = match trust {
        Trust::Anyone => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyServer(provider))),
        Trust::Certificate(None) => builder.with_root_certificates(authorities()),
        Trust::Certificate(Some(file)) => builder.with_root_certificates(roots(file)?),
    };
    Ok(MakeRustlsConnect::new(config.with_no_client_auth()))
}

/// Returns the certificate authorities that `SSL_CERT_FILE` and `SSL_CERT_DIR` name, or else the
/// system's, or else the web's, as other connections of loci do.
fn authorities() -> RootCertStore {
    let read = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(read.certs);
    if added > 0 {
        return roots;
    }
    for error in &read.errors {
        tracing::warn!(%error, "certificates cannot be read; see SSL_CERT_FILE, SSL_CERT_DIR or the store of the system");
    }
    // A person who names certificates may want to trust no others.
    if read.errors.is_empty() {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    roots
}

/// Reads the certificate authorities in a PEM file.
fn roots(file: &Path) -> Result<RootCertStore> {
    let invalid = |reason: String| {
        let shown = file.display();
        Error::invalid(
            "store",
            format!("names `{shown}` as sslrootcert, which {reason}"),
        )
    };
    let certificates = CertificateDer::pem_file_iter(file)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| invalid(format!("cannot be read: {error}")))?;
    let mut roots = RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(certificates);
    if added == 0 {
        return Err(invalid("holds no certificate".to_owned()));
    }
    Ok(roots)
}

/// Accepts every server, as libpq does for `sslmode=prefer` and `require`: the connection is
/// encrypted, but the server is not known to be the right one.
#[derive(Debug)]
struct AnyServer(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyServer {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(
            message,
            certificate,
            signature,
            &self.0.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(
            message,
            certificate,
            signature,
            &self.0.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

//! The certificate authorities that the clients trust.

use std::env;
use std::sync::LazyLock;

use ureq::tls::{Certificate, RootCerts, TlsConfig};

/// The variables that name certificates, as OpenSSL reads them.
const VARIABLES: [&str; 2] = ["SSL_CERT_FILE", "SSL_CERT_DIR"];

/// The advice about a certificate that is not trusted, in words that follow the name of its server.
pub(crate) const REMEDY: &str = "has a certificate of an authority that is not trusted; if that is a company's own, add it \
                                to the store of the system or name its file in SSL_CERT_FILE";

/// Read at the first need and kept, because some stores take a while to read.
static AUTHORITIES: LazyLock<RootCerts> = LazyLock::new(authorities);

/// Returns the TLS settings of a client: they trust the certificate authorities that
/// `SSL_CERT_FILE` and `SSL_CERT_DIR` name, or else the system's, which include the ones that a
/// company has added. Only a system without any, e.g. a bare container, leaves it to the
/// authorities of the web that are in the binary.
pub(crate) fn tls() -> TlsConfig {
    TlsConfig::builder().root_certs(AUTHORITIES.clone()).build()
}

/// Like [`tls`], for a client of one URL. The store of the system is not read for `http`.
pub(crate) fn tls_for(url: &str) -> TlsConfig {
    let is_plain = url
        .get(..5)
        .is_some_and(|scheme| scheme.eq_ignore_ascii_case("http:"));
    if is_plain {
        TlsConfig::default()
    } else {
        tls()
    }
}

/// True if a request failed because no trusted authority issued the certificate of the server.
pub(crate) fn is_distrust(error: &ureq::Error) -> bool {
    // Rustls is deep within an error of IO, and its own type is not part of ureq's interface.
    error.to_string().contains("UnknownIssuer")
}

fn authorities() -> RootCerts {
    let read = rustls_native_certs::load_native_certs();
    let is_named = VARIABLES
        .into_iter()
        .any(|name| env::var_os(name).is_some_and(|value| !value.is_empty()));
    for error in read
        .errors
        .iter()
        .filter(|_| is_named || read.certs.is_empty())
    {
        tracing::warn!(%error, "certificates cannot be read; see SSL_CERT_FILE, SSL_CERT_DIR or the store of the system");
    }
    // A user who names certificates may want to trust no others, so a wrong name trusts no
    // authority.
    if read.certs.is_empty() && !is_named {
        return RootCerts::WebPki;
    }
    read.certs
        .into_iter()
        .map(|certificate| Certificate::from_der(&certificate).to_owned())
        .collect::<Vec<_>>()
        .into()
}

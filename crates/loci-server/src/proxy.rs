//! Determines the client of a request and the name under which the server was reached: from the
//! connection and the request and, behind a trusted proxy, from the proxy's headers.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::Extensions;
use http::header::{
    CONNECTION, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN, TRANSFER_ENCODING,
};
use http::uri::{Authority, Uri};
use ipnet::{IpNet, Ipv4Net};
use loci_core::{Error, Result};

use crate::body::drain;
use crate::connections::Peer;
use crate::error_reply::failure;
use crate::subject::RequestOrigin;

const FORWARDED_FOR: &str = "x-forwarded-for";
const FORWARDED_HOST: &str = "x-forwarded-host";
const FORWARDED_PROTOCOL: &str = "x-forwarded-proto";

/// Returns the URL under which the sender of a request reached this server, without a slash at the
/// end; `None` if the request names a host that is not served. `extensions` belong to a request to
/// a route of [`HttpServer::with_pages`](crate::HttpServer::with_pages).
pub fn base_url(extensions: &Extensions) -> Option<&str> {
    extensions.get::<RequestOrigin>()?.shown_url.as_deref()
}

/// Returns the URL under which clients reach this server, which tokens are issued for, without a
/// slash at the end; `None` if no trusted source gives it. `extensions` are as for [`base_url`].
pub fn client_url(extensions: &Extensions) -> Option<&str> {
    extensions.get::<RequestOrigin>()?.base_url.as_deref()
}

/// The URL under which clients reach a server: a scheme, a host and perhaps a port. Created by
/// [`str::parse`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicUrl {
    scheme: Scheme,
    name: Name,
}

impl PublicUrl {
    /// Returns the host as an entry of the allowed hosts: without a scheme and a port, an IPv6
    /// address in brackets.
    pub fn host(&self) -> String {
        self.name.host.clone()
    }

    /// Returns true if what goes there is encrypted, or stays on this machine.
    pub fn is_secure(&self) -> bool {
        self.scheme == Scheme::Https
            || matches!(&*self.name.host, "localhost" | "127.0.0.1" | "[::1]")
    }

    /// Returns the origin of its pages as an entry of the allowed origins.
    pub(crate) fn origin(&self) -> String {
        format!(
            "{}://{}:{}",
            self.scheme.name(),
            self.name.host,
            self.name.port.unwrap_or(self.scheme.default_port())
        )
    }

    fn base_url(&self) -> String {
        self.name.base_url(self.scheme)
    }
}

impl fmt::Display for PublicUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.base_url())
    }
}

impl FromStr for PublicUrl {
    type Err = Error;

    /// # Errors
    /// `invalid_argument` for anything but `http://` or `https://` with a host and at most a port
    /// and a slash.
    fn from_str(text: &str) -> Result<Self> {
        let refused = |problem: &str| {
            let form = "it must be `https://` (or `http://`) with a host and, if need be, a port, such as `https://memory.example`";
            Error::invalid("public_url", format!("{problem}; {form}"))
        };
        let url = Uri::from_str(text).map_err(|error| refused("is no URL").caused_by(error))?;
        let scheme = url
            .scheme_str()
            .and_then(Scheme::of)
            .ok_or_else(|| refused("has another scheme or none"))?;
        let authority = url.authority().map(Authority::as_str).unwrap_or_default();
        if authority.contains('@') {
            return Err(refused("has credentials in it"));
        }
        // The parser drops what follows a `#` without an error.
        if url.path() != "/" || url.query().is_some() || text.contains('#') {
            return Err(refused("has a path, a query or a fragment"));
        }
        let name = Name::of(authority)
            .ok_or_else(|| refused("names no host and port that can be reached"))?;
        Ok(PublicUrl { scheme, name })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scheme {
    Http,
    Https,
}

impl Scheme {
    pub(crate) fn of(name: &str) -> Option<Self> {
        [Scheme::Http, Scheme::Https]
            .into_iter()
            .find(|scheme| name.eq_ignore_ascii_case(scheme.name()))
    }

    const fn name(self) -> &'static str {
        match self {
            Scheme::Http => "http",
            Scheme::Https => "https",
        }
    }

    pub(crate) const fn default_port(self) -> u16 {
        match self {
            Scheme::Http => 80,
            Scheme::Https => 443,
        }
    }
}

/// The name of a server in a `Host` header.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Name {
    /// In lower case; an IPv6 address in brackets.
    host: String,
    port: Option<u16>,
}

impl Name {
    /// Parses a host with at most a port and nothing else.
    fn of(text: &str) -> Option<Self> {
        let authority = Authority::from_str(text).ok()?;
        let name = Name {
            host: authority.host().to_ascii_lowercase(),
            port: authority.port_u16(),
        };
        let is_all = match name.port {
            Some(port) => text.strip_suffix(&format!(":{port}")) == Some(authority.host()),
            None => text == authority.host(),
        };
        (is_all && !name.host.is_empty()).then_some(name)
    }

    fn in_header(value: &HeaderValue) -> Option<Self> {
        Name::of(value.to_str().ok()?)
    }

    fn base_url(&self, scheme: Scheme) -> String {
        match self.port {
            // Clients omit the scheme's default port, and so do the names that tokens are issued
            // for.
            Some(port) if port != scheme.default_port() => {
                format!("{}://{}:{port}", scheme.name(), self.host)
            }
            _ => format!("{}://{}", scheme.name(), self.host),
        }
    }
}

/// An entry of the allowed hosts: a name, with a port or for any. Parsed in the same way as by the
/// SDK, which decides what is served: with brackets or without, and as a plain name if it is not an
/// authority (`::1`).
struct AllowedHost {
    host: String,
    port: Option<u16>,
}

impl AllowedHost {
    fn of(text: &str) -> Self {
        let text = text.trim();
        let (host, port) = match Authority::from_str(text) {
            Ok(authority) => (authority.host().to_owned(), authority.port_u16()),
            Err(_) => (text.to_owned(), None),
        };
        AllowedHost {
            host: without_brackets(&host).to_ascii_lowercase(),
            port,
        }
    }

    fn admits(&self, name: &Name) -> bool {
        self.host == without_brackets(&name.host) && (self.port.is_none() || self.port == name.port)
    }
}

pub(crate) fn without_brackets(host: &str) -> &str {
    host.trim_matches(['[', ']'])
}

/// The process that listens on the port that a request was sent to.
#[derive(Clone, Copy)]
enum Listener {
    /// A trusted proxy, on unknown ports.
    Proxy,
    /// This server, on this port; `None` if there is no connection.
    Us(Option<u16>),
}

/// Determines the origin of requests.
pub(crate) struct OriginResolver {
    public_url: Option<PublicUrl>,
    /// The names of this machine, which all of its services share.
    local_hosts: Vec<AllowedHost>,
    allowed_hosts: Vec<AllowedHost>,
    trusted_proxies: Vec<IpNet>,
}

impl OriginResolver {
    pub(crate) fn new(
        public_url: Option<&PublicUrl>,
        local_hosts: &[String],
        allowed_hosts: &[String],
        trusted_proxies: &[IpNet],
    ) -> Self {
        let hosts = |names: &[String]| names.iter().map(|name| AllowedHost::of(name)).collect();
        OriginResolver {
            public_url: public_url.cloned(),
            local_hosts: hosts(local_hosts),
            allowed_hosts: hosts(allowed_hosts),
            trusted_proxies: trusted_proxies.iter().copied().map(canonical).collect(),
        }
    }

    /// Returns the origin of a request. The host that a trusted proxy was called by replaces the
    /// `Host` header, so that the SDK checks the same name.
    fn origin(&self, peer: Option<Peer>, headers: &mut HeaderMap) -> RequestOrigin {
        let proxy = peer
            .map(|peer| peer.address)
            .filter(|address| self.trusts(*address));
        let forwarded = |header: &str| {
            proxy
                .and_then(|_| only(headers, header))
                .and_then(|value| value.to_str().ok())
        };
        let scheme = forwarded(FORWARDED_PROTOCOL)
            .and_then(Scheme::of)
            .unwrap_or(match peer {
                Some(Peer {
                    is_encrypted: true, ..
                }) => Scheme::Https,
                _ => Scheme::Http,
            });
        let client = proxy
            .and_then(|_| self.forwarded_client(headers))
            .or(peer.map(|peer| peer.address));
        let forwarded_host = proxy.and_then(|_| only(headers, FORWARDED_HOST)).cloned();
        let listener = match forwarded_host.filter(|host| Name::in_header(host).is_some()) {
            Some(host) => {
                headers.insert(HOST, host);
                Listener::Proxy
            }
            None => Listener::Us(peer.map(|peer| peer.local_port)),
        };
        let named = only(headers, HOST.as_str()).and_then(Name::in_header);
        let name = named
            .as_ref()
            .filter(|name| self.is_ours(name, scheme, listener));
        let by_host = name.map(|name| name.base_url(scheme));
        let public = self.public_url.as_ref();
        // A proxy that is not trusted does not say that it was reached over TLS.
        let of_public = public.filter(|public| {
            named
                .as_ref()
                .is_some_and(|named| named.host == public.name.host)
        });
        RequestOrigin {
            base_url: public.map(PublicUrl::base_url).or_else(|| by_host.clone()),
            shown_url: of_public.map(PublicUrl::base_url).or(by_host),
            client,
        }
    }

    fn trusts(&self, address: IpAddr) -> bool {
        self.trusted_proxies
            .iter()
            .any(|network| network.contains(&address))
    }

    /// True if a name and its port belong to this server: other services share the host, and a
    /// token that was issued for another service must not be valid here because an attacker puts
    /// its name into the `Host` header.
    fn is_ours(&self, name: &Name, scheme: Scheme, listener: Listener) -> bool {
        let port = name.port.unwrap_or(scheme.default_port());
        let is_default = port == scheme.default_port();
        let is_local = self.local_hosts.iter().any(|host| host.admits(name));
        let is_port_ours = match listener {
            Listener::Proxy => is_default,
            Listener::Us(local_port) => local_port == Some(port) || (is_default && !is_local),
        };
        let mut allowed = self.allowed_hosts.iter().filter(|host| host.admits(name));
        (is_local && is_port_ours) || allowed.any(|host| host.port.is_some() || is_port_ours)
    }

    /// Returns the last address in the chain that is not a trusted proxy, or the first if all are.
    /// Each proxy appends the address of its client, in the same or in a further header; entries
    /// before the last untrusted address cannot be trusted.
    fn forwarded_client(&self, headers: &HeaderMap) -> Option<IpAddr> {
        let mut client = None;
        for value in headers.get_all(FORWARDED_FOR).iter().rev() {
            for entry in value.to_str().ok()?.rsplit(',') {
                let address = address(entry.trim())?;
                client = Some(address);
                if !self.trusts(address) {
                    return client;
                }
            }
        }
        client
    }
}

/// Converts a network of IPv4-mapped addresses to IPv4, the form in which addresses are compared.
fn canonical(network: IpNet) -> IpNet {
    const MAPPED_BITS: u8 = 96;
    let of_v4 = || {
        let IpNet::V6(mapped) = network else {
            return None;
        };
        let length = mapped.prefix_len().checked_sub(MAPPED_BITS)?;
        Ipv4Net::new(mapped.addr().to_ipv4_mapped()?, length).ok()
    };
    of_v4().map_or(network, IpNet::V4)
}

/// Returns the value of a header that occurs exactly once.
pub(crate) fn only<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a HeaderValue> {
    let mut values = headers.get_all(name).iter();
    values.next().filter(|_| values.next().is_none())
}

/// Parses an address with or without a port, which some proxies add.
fn address(text: &str) -> Option<IpAddr> {
    let bare = without_brackets(text).parse::<IpAddr>();
    let address = bare.or_else(|_| text.parse().map(|with_port: SocketAddr| with_port.ip()));
    Some(address.ok()?.to_canonical())
}

/// The headers that decide who is addressed and by whom. If one occurs twice, a proxy in front of
/// this server may have used the other value.
const DECISIVE: [HeaderName; 3] = [HOST, ORIGIN, CONTENT_TYPE];

/// Returns the header that occurs twice or contradicts the request line, or that other parsers read
/// in another way; and the problem with it.
fn ambiguous(request: &Request) -> Option<(HeaderName, &'static str)> {
    const TWICE: &str = "stands there twice, or the request line says otherwise; send it once";
    let headers = request.headers();
    let twice = DECISIVE
        .into_iter()
        .find(|name| headers.contains_key(name) && only(headers, name.as_str()).is_none());
    if let Some(name) = twice {
        return Some((name, TWICE));
    }
    if let Some(host) = headers.get(HOST).map(HeaderValue::as_bytes) {
        let in_line = request.uri().authority().map(Authority::as_str);
        if in_line.is_some_and(|in_line| !host.eq_ignore_ascii_case(in_line.as_bytes())) {
            return Some((HOST, TWICE));
        }
        if host.contains(&b'@') {
            let problem = "has a user in it; send only the host and the port";
            return Some((HOST, problem));
        }
    }
    let coding = only(headers, TRANSFER_ENCODING.as_str());
    if headers.contains_key(TRANSFER_ENCODING)
        && !coding.is_some_and(|coding| coding.as_bytes().eq_ignore_ascii_case(b"chunked"))
    {
        return Some((TRANSFER_ENCODING, "must be `chunked` and nothing else"));
    }
    None
}

/// Puts the [`RequestOrigin`] into the request's extensions, or refuses an ambiguous request.
pub(crate) async fn set_request_origin(
    State(entrance): State<Arc<OriginResolver>>,
    mut request: Request,
    next: Next,
) -> Response {
    if let Some((name, problem)) = ambiguous(&request) {
        drain(request).await;
        let mut refused = failure(&Error::invalid(name.as_str(), problem));
        // A proxy in front may treat the bytes that follow as part of this request.
        refused
            .headers_mut()
            .insert(CONNECTION, HeaderValue::from_static("close"));
        return refused;
    }
    let peer = request.extensions().get::<Peer>().copied();
    let origin = entrance.origin(peer, request.headers_mut());
    request.extensions_mut().insert(origin);
    next.run(request).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_public_url_is_a_scheme_a_host_and_perhaps_a_port() {
        let rows = [
            (
                "https://memory.example",
                "https://memory.example",
                "memory.example",
                "https://memory.example:443",
            ),
            (
                "HTTP://Memory.Example/",
                "http://memory.example",
                "memory.example",
                "http://memory.example:80",
            ),
            (
                "https://memory.example:443",
                "https://memory.example",
                "memory.example",
                "https://memory.example:443",
            ),
            (
                "https://[2001:db8::7]:8443",
                "https://[2001:db8::7]:8443",
                "[2001:db8::7]",
                "https://[2001:db8::7]:8443",
            ),
        ];
        for (text, base_url, host, origin) in rows {
            let url: PublicUrl = text.parse().unwrap();
            assert_eq!(
                (
                    url.base_url().as_str(),
                    url.host().as_str(),
                    url.origin().as_str()
                ),
                (base_url, host, origin)
            );
        }
        let faulty = [
            ("", "no URL"),
            ("memory.example", "scheme"),
            ("/mcp", "scheme"),
            ("ftp://memory.example", "scheme"),
            ("https://me:secret@memory.example", "credentials"),
            ("https://memory.example/mcp", "path"),
            ("https://memory.example?x", "query"),
            ("https://memory.example#x", "fragment"),
            ("https://:8443", "host and port"),
            ("https://memory.example:99999", "host and port"),
            ("https:///", "no URL"),
            ("https://m\u{e9}mory.example", "no URL"),
        ];
        for (text, problem) in faulty {
            let error = text.parse::<PublicUrl>().unwrap_err();
            assert_eq!(error.argument.as_deref(), Some("public_url"), "{text}");
            let told = error.problem();
            assert!(
                told.contains(problem) && !told.contains("secret"),
                "{text}: {error}"
            );
            assert!(
                !told.contains("public URL"),
                "the setting is the subject: {error}"
            );
        }
    }

    #[test]
    fn the_client_is_the_last_that_no_trusted_proxy_vouches_for() {
        let networks = [
            "10.0.0.0/8",
            "2001:db8::/32",
            "::ffff:198.51.100.0/120",
            "::ffff:198.51.101.7/128",
        ];
        let networks = networks.map(|network| network.parse().unwrap());
        let entrance = OriginResolver::new(None, &[], &[], &networks);
        let rows: [(&str, &[&str], &str); 20] = [
            ("198.51.100.9", &["192.0.2.1"], "192.0.2.1"),
            ("198.51.101.7", &["192.0.2.1"], "192.0.2.1"),
            ("198.51.101.8", &["192.0.2.1"], "198.51.101.8"),
            ("10.0.0.1", &["192.0.2.1"], "192.0.2.1"),
            ("192.0.2.9", &["192.0.2.1"], "192.0.2.9"),
            ("10.0.0.1", &[], "10.0.0.1"),
            (
                "10.0.0.1",
                &["203.0.113.1, 192.0.2.1, 10.0.0.2"],
                "192.0.2.1",
            ),
            (
                "10.0.0.1",
                &["203.0.113.1", "192.0.2.1,10.0.0.2"],
                "192.0.2.1",
            ),
            (
                "10.0.0.1",
                &["192.0.2.1", "10.0.0.2", "2001:db8::1"],
                "192.0.2.1",
            ),
            ("10.0.0.1", &["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
            ("10.0.0.1", &["192.0.2.1:4711"], "192.0.2.1"),
            ("10.0.0.1", &["[2001:db9::1]:4711"], "2001:db9::1"),
            ("10.0.0.1", &["[2001:db9::1]"], "2001:db9::1"),
            ("10.0.0.1", &["::ffff:192.0.2.1"], "192.0.2.1"),
            ("10.0.0.1", &["::ffff:10.0.0.2"], "10.0.0.2"),
            ("2001:db8::2", &["192.0.2.1"], "192.0.2.1"),
            // An unreadable chain counts as absent, unless its readable end is sufficient.
            ("10.0.0.1", &["192.0.2.1, unknown"], "10.0.0.1"),
            ("10.0.0.1", &["unknown, 192.0.2.1"], "192.0.2.1"),
            ("10.0.0.1", &["192.0.2.1,"], "10.0.0.1"),
            ("10.0.0.1", &["\u{e9}"], "10.0.0.1"),
        ];
        for (peer, chain, client) in rows {
            let mut headers = HeaderMap::new();
            for part in chain {
                headers.append(
                    FORWARDED_FOR,
                    HeaderValue::from_bytes(part.as_bytes()).unwrap(),
                );
            }
            let peer = Peer {
                address: peer.parse().unwrap(),
                local_port: 7821,
                is_encrypted: false,
            };
            let origin = entrance.origin(Some(peer), &mut headers);
            assert_eq!(
                origin.client,
                Some(client.parse().unwrap()),
                "{peer:?} {chain:?}"
            );
        }
    }

    #[test]
    fn an_encrypted_connection_is_https_and_no_connection_is_nobody() {
        let entrance = OriginResolver::new(
            None,
            &["localhost".to_owned()],
            &["memory.example".to_owned()],
            &[],
        );
        let peer = Peer {
            address: IpAddr::from([127, 0, 0, 1]),
            local_port: 7821,
            is_encrypted: true,
        };
        let rows = [
            (
                "memory.example",
                Some("https://memory.example"),
                Some("http://memory.example"),
            ),
            (
                "memory.example:7821",
                Some("https://memory.example:7821"),
                None,
            ),
            ("memory.example:443", Some("https://memory.example"), None),
            ("memory.example:80", None, Some("http://memory.example")),
            ("localhost:7821", Some("https://localhost:7821"), None),
            ("localhost", None, None),
        ];
        for (host, encrypted, nobody) in rows {
            let mut headers = HeaderMap::from_iter([(HOST, HeaderValue::from_static(host))]);
            let origin = entrance.origin(Some(peer), &mut headers);
            assert_eq!(
                (origin.client, origin.base_url.as_deref()),
                (Some(peer.address), encrypted),
                "{host}"
            );
            let origin = entrance.origin(None, &mut headers);
            assert_eq!(
                (origin.client, origin.base_url.as_deref()),
                (None, nobody),
                "{host}"
            );
        }
    }
}

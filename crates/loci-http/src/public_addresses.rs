//! Looking up names that strangers choose: only to addresses of the public network, so that no stranger
//! has this server ask what only it can reach, e.g. a router, or the metadata of a cloud.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;

/// Looks names up as usual, and leaves out the addresses that are not public. The connection is made
/// to what this returns, so that a name cannot lead elsewhere a moment later (DNS rebinding).
#[derive(Debug, Default)]
pub(crate) struct PublicAddresses(DefaultResolver);

impl Resolver for PublicAddresses {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let found = self.0.resolve(uri, config, timeout)?;
        let mut public = self.empty();
        for address in found.iter().filter(|address| is_public(address.ip())) {
            public.push(*address);
        }
        if public.is_empty() {
            return Err(ureq::Error::HostNotFound);
        }
        Ok(public)
    }
}

/// Returns true for an address of the public network: none that the registries of special addresses
/// (RFC 6890) keep for machines, networks, documents, tests and groups.
pub(crate) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_special = a == 0
        || a == 10
        || a == 127
        || (a == 100 && (64..128).contains(&b))
        || (a == 169 && b == 254)
        || (a == 172 && (16..32).contains(&b))
        || (a == 192 && b == 168)
        || (a == 192 && b == 0 && (c == 0 || c == 2))
        || (a == 192 && b == 88 && c == 99)
        || (a == 198 && (b == 18 || b == 19))
        || (a == 198 && b == 51 && c == 100)
        || (a == 203 && b == 0 && c == 113)
        || a >= 224;
    !is_special
}

/// Of IPv6, only `2000::/3` is public. In it are networks that lead to IPv4 addresses (6to4, Teredo)
/// or nowhere (documents, benchmarks).
fn is_public_v6(address: Ipv6Addr) -> bool {
    let [a, b, ..] = address.segments();
    let is_special =
        (a == 0x2001 && (b < 0x0200 || b == 0x0db8)) || a == 0x2002 || (a == 0x3fff && b < 0x1000);
    (0x2000..0x4000).contains(&a) && !is_special
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{DocumentUrl, Documents};

    #[test]
    fn addresses_of_machines_and_networks_are_not_public() {
        let rows = [
            ("1.1.1.1", true),
            ("93.184.215.14", true),
            ("172.15.0.1", true),
            ("172.32.0.1", true),
            ("100.63.0.1", true),
            ("100.128.0.1", true),
            ("2606:4700:4700::1111", true),
            ("2a00:1450:4001:80b::200e", true),
            ("0.0.0.0", false),
            ("10.1.2.3", false),
            ("100.64.0.1", false),
            ("127.0.0.1", false),
            ("127.9.9.9", false),
            ("169.254.169.254", false),
            ("172.16.0.1", false),
            ("172.31.255.255", false),
            ("192.0.0.8", false),
            ("192.0.2.1", false),
            ("192.168.0.1", false),
            ("198.18.0.1", false),
            ("203.0.113.9", false),
            ("224.0.0.1", false),
            ("255.255.255.255", false),
            ("::", false),
            ("::1", false),
            ("::ffff:127.0.0.1", false),
            ("::ffff:10.0.0.1", false),
            ("::127.0.0.1", false),
            ("64:ff9b::7f00:1", false),
            ("64:ff9b:1::1", false),
            ("100::1", false),
            ("2001::1", false),
            ("2001:db8::1", false),
            ("2002:7f00:1::", false),
            ("fc00::1", false),
            ("fd12:3456::1", false),
            ("fe80::1", false),
            ("fec0::1", false),
            ("ff02::1", false),
        ];
        for (address, expected) in rows {
            assert_eq!(is_public(address.parse().unwrap()), expected, "{address}");
        }
    }

    #[test]
    fn names_and_addresses_of_this_machine_are_not_asked() {
        let documents = Documents::of_strangers(1_000, Duration::from_secs(5));
        // A server that would answer, to tell a refusal from a connection that fails.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        listener.set_nonblocking(true).unwrap();
        for host in [
            "127.0.0.1",
            "localhost",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "2130706433",
            "0",
        ] {
            let url = DocumentUrl::parse("client_id", &format!("https://{host}:{port}/a")).unwrap();
            let refused = documents.get::<serde_json::Value>(&url).unwrap_err();
            assert_eq!(refused.code, loci_core::ErrorCode::Unavailable, "{host}");
            assert!(listener.accept().is_err(), "{host}");
        }
        let plain = DocumentUrl::parse("client_id", &format!("http://localhost:{port}/a")).unwrap();
        assert!(documents.get::<serde_json::Value>(&plain).is_err());
        assert!(listener.accept().is_err());
    }
}

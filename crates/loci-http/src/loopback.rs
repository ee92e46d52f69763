//! Which hosts are this machine.

use std::net::IpAddr;

/// Returns true if a host is this machine, which no proxy can reach.
pub(crate) fn is_loopback(host: &str) -> bool {
    let address = host
        .trim_start_matches('[')
        .trim_end_matches(']')
        .parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

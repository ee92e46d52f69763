//! The URL at which this machine reaches its own server.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

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

//! The question to a running server whether it is ready.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use loci_http::check_ready;

use super::{Verdict, report};
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::settings::Settings;

/// The time for the answer. Engines of containers give a check more.
const TIMEOUT: Duration = Duration::from_secs(3);

/// Asks the server at the URL or, if that is empty, the one that the settings describe.
pub fn run(settings: &Settings, url: &str, output: Output) -> Result<(), Failure> {
    let url = if url.is_empty() {
        own_url(settings)?
    } else {
        url.to_owned()
    };
    let finding = match check_ready("--server", &url, TIMEOUT) {
        Ok(()) => (Verdict::Ok, format!("the server at {url} is ready")),
        Err(error) if error.argument.is_some() => {
            return Err(Failure::new(Exit::Usage, error.message));
        }
        Err(error) => (Verdict::Fail(Exit::Failure), error.message),
    };
    report(&[("server", finding.0, finding.1)], output)
}

/// Returns the URL of the server that the settings describe.
fn own_url(settings: &Settings) -> Result<String, Failure> {
    let unknown = |problem: &str| {
        let message = format!("{problem}; name the server: `loci doctor --server URL`");
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
fn reached(bind: SocketAddr) -> SocketAddr {
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

//! The ways to serve that `loci serve` refuses: its flags and settings do not go together, or let others in
//! where that is not safe.

use crate::cli::Serve;
use crate::exit::{Exit, Failure};
use crate::settings::{
    ALLOWED_HOSTS, ALLOWED_ORIGINS, BIND, Network, OIDC_ISSUER, PUBLIC_URL, Setting, Settings,
    TRUSTED_PROXIES,
};

/// Refuses flags that do not go with the settings, or with each other.
pub fn check(settings: &Settings, arguments: &Serve) -> Result<(), Failure> {
    if arguments.no_auth {
        refuse_more_than_loopback(settings)?;
    }
    if arguments.oauth {
        refuse_oauth_that_cannot_be(settings, arguments)?;
    }
    Ok(())
}

/// Refuses a server without tokens that others than this machine could reach.
fn refuse_more_than_loopback(settings: &Settings) -> Result<(), Failure> {
    let Network {
        public_url,
        trusted_proxies,
        oidc,
        ..
    } = &settings.network;
    let leading_there: [(&Setting, bool); 6] = [
        (&BIND, !settings.bind.ip().is_loopback()),
        (&PUBLIC_URL, public_url.is_some()),
        (&TRUSTED_PROXIES, !trusted_proxies.is_empty()),
        (&ALLOWED_HOSTS, !settings.allowed_hosts.is_empty()),
        (&ALLOWED_ORIGINS, !settings.allowed_origins.is_empty()),
        (&OIDC_ISSUER, oidc.is_some()),
    ];
    let Some((setting, _)) = leading_there.into_iter().find(|(_, leads)| *leads) else {
        return Ok(());
    };
    let message = format!(
        "--no-auth lets everybody in without a token and is for loopback addresses and nobody else, \
         but the setting `{}` ({}) is for others; leave one of them out",
        setting.key, setting.variable
    );
    Err(Failure::new(Exit::Usage, message))
}

/// Refuses to let clients in by OAuth where that is not safe, or where others do it.
fn refuse_oauth_that_cannot_be(settings: &Settings, arguments: &Serve) -> Result<(), Failure> {
    let Network {
        public_url,
        oidc,
        tls,
        ..
    } = &settings.network;
    let is_loopback = settings.bind.ip().is_loopback();
    let problem = if arguments.no_auth {
        "--oauth asks people to sign in, and --no-auth lets everybody in; leave one of them out"
            .to_owned()
    } else if oidc.is_some() {
        format!(
            "--oauth is for a server without a provider of identities, but the setting `{}` ({}) names one, where \
             clients get their tokens; leave one of them out",
            OIDC_ISSUER.key, OIDC_ISSUER.variable
        )
    } else if public_url.as_ref().is_some_and(|url| !url.is_secure()) {
        format!(
            "--oauth needs a public URL with `https://`, since codes and tokens would travel unencrypted; change the \
             setting `{}` ({})",
            PUBLIC_URL.key, PUBLIC_URL.variable
        )
    } else if public_url.is_none() && tls.is_none() && !is_loopback {
        format!(
            "--oauth needs encryption: say under which `https` URL a proxy is reached by the setting `{}` ({}), or \
             give --tls-cert and --tls-key",
            PUBLIC_URL.key, PUBLIC_URL.variable
        )
    } else {
        return Ok(());
    };
    Err(Failure::new(Exit::Usage, problem))
}

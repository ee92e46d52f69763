//! The settings of the HTTP server's addresses, proxies, certificate, limits and identity provider.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use loci_core::{Scope, Scopes};
use loci_oidc::{OidcClient, OidcOptions};
use loci_server::{IpNet, PublicUrl, RateLimit};

use super::{
    METRICS_BIND, OIDC_ACTOR_CLAIMS, OIDC_AUDIENCE, OIDC_CLIENT_ID, OIDC_CLIENT_SCOPES,
    OIDC_CLIENT_SECRET, OIDC_DEFAULT_SCOPES, OIDC_ISSUER, OIDC_REFRESH_SECONDS, OIDC_SCOPE_CLAIM,
    OIDC_SCOPE_PREFIX, OIDC_SPACE_CLAIM, OIDC_SUBJECT_CLAIM, OIDC_TOKEN_TYPES, OTLP_ENDPOINT,
    Origin, PUBLIC_URL, RATE_LIMIT_BURST, RATE_LIMIT_PER_MINUTE, Setting, TLS_CERTIFICATE, TLS_KEY,
    TRUSTED_PROXIES, Values, settings,
};
use crate::exit::Failure;

/// The files of a certificate and its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// [`TLS_CERTIFICATE`].
    pub certificate: PathBuf,
    /// [`TLS_KEY`].
    pub key: PathBuf,
}

/// The addresses of the HTTP server, and the parties that it trusts.
#[derive(Clone)]
pub struct Network {
    /// [`METRICS_BIND`].
    pub metrics_bind: Option<SocketAddr>,
    /// [`OTLP_ENDPOINT`].
    pub otlp_endpoint: Option<String>,
    /// [`PUBLIC_URL`].
    pub public_url: Option<PublicUrl>,
    /// [`TRUSTED_PROXIES`].
    pub trusted_proxies: Vec<IpNet>,
    /// [`TLS_CERTIFICATE`] and [`TLS_KEY`].
    pub tls: Option<TlsFiles>,
    /// [`RATE_LIMIT_PER_MINUTE`] and [`RATE_LIMIT_BURST`].
    pub rate_limit: Option<RateLimit>,
    /// [`OIDC_ISSUER`] and the settings of that provider.
    pub oidc: Option<OidcOptions>,
}

impl Values {
    pub(super) fn network(&self) -> Result<Network, Failure> {
        self.refuse_without_issuer()?;
        let public_url = self
            .given(&PUBLIC_URL)
            .map(str::parse::<PublicUrl>)
            .transpose();
        let per_minute = u32::try_from(self.get(&RATE_LIMIT_PER_MINUTE)?).unwrap_or(u32::MAX);
        let burst = u32::try_from(self.get(&RATE_LIMIT_BURST)?).unwrap_or(u32::MAX);
        let proxies = self.get(&TRUSTED_PROXIES)?.into_iter().map(|text| {
            // A single address is a network of one.
            let network = text
                .parse()
                .or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
            network.map_err(|_| {
                let problem = format!(
                    "names `{text}`; give addresses or networks, such as 10.0.0.7 or 10.0.0.0/8"
                );
                self.wrong(&TRUSTED_PROXIES, problem)
            })
        });
        let metrics_bind = self
            .given(&METRICS_BIND)
            .map(str::parse::<SocketAddr>)
            .transpose()
            .map_err(|_| self.wrong(&METRICS_BIND, "is no address, such as 127.0.0.1:9464"))?;
        let otlp_endpoint = self.given(&OTLP_ENDPOINT);
        if let Some(endpoint) = otlp_endpoint {
            loci_otlp::check_endpoint(OTLP_ENDPOINT.key, endpoint)
                .map_err(|error| self.wrong(&OTLP_ENDPOINT, error.problem()))?;
        }
        Ok(Network {
            metrics_bind,
            otlp_endpoint: otlp_endpoint.map(str::to_owned),
            public_url: public_url.map_err(|error| self.wrong(&PUBLIC_URL, error.problem()))?,
            trusted_proxies: proxies.collect::<Result<_, Failure>>()?,
            tls: self.tls()?,
            rate_limit: (per_minute > 0).then_some(RateLimit { per_minute, burst }),
            oidc: self
                .given(&OIDC_ISSUER)
                .map(|issuer| self.oidc(issuer))
                .transpose()?,
        })
    }

    /// Refuses settings for a provider that is not named, which would have no effect.
    fn refuse_without_issuer(&self) -> Result<(), Failure> {
        let is_set = |setting: &Setting| {
            self.0
                .get(setting.key)
                .is_some_and(|found| found.origin != Origin::Default)
        };
        let mut others =
            settings().filter(|setting| setting.key.starts_with("oidc.") && is_set(setting));
        match others.next() {
            Some(setting) if self.given(&OIDC_ISSUER).is_none() => {
                Err(self.lacks(setting, &OIDC_ISSUER))
            }
            _ => Ok(()),
        }
    }

    /// Returns a value that is not empty.
    fn given(&self, setting: &Setting) -> Option<&str> {
        self.text(setting).filter(|text| !text.is_empty())
    }

    fn tls(&self) -> Result<Option<TlsFiles>, Failure> {
        match (self.given(&TLS_CERTIFICATE), self.given(&TLS_KEY)) {
            (None, None) => Ok(None),
            (Some(certificate), Some(key)) => Ok(Some(TlsFiles {
                certificate: certificate.into(),
                key: key.into(),
            })),
            (Some(_), None) => Err(self.lacks(&TLS_CERTIFICATE, &TLS_KEY)),
            (None, Some(_)) => Err(self.lacks(&TLS_KEY, &TLS_CERTIFICATE)),
        }
    }

    fn oidc(&self, issuer: &str) -> Result<OidcOptions, Failure> {
        let claim = |setting: &Setting| self.given(setting).map(str::to_owned);
        let scopes = self.get(&OIDC_DEFAULT_SCOPES)?.into_iter().map(|name| {
            let problem = || format!("names `{name}`; give read, write and admin, or none of them");
            Scope::from_name(&name).ok_or_else(|| self.wrong(&OIDC_DEFAULT_SCOPES, problem()))
        });
        let default = OidcOptions::new(issuer);
        Ok(OidcOptions {
            audiences: self.get(&OIDC_AUDIENCE)?,
            subject_claim: claim(&OIDC_SUBJECT_CLAIM).unwrap_or(default.subject_claim),
            actor_claims: self.get(&OIDC_ACTOR_CLAIMS)?,
            scope_claim: claim(&OIDC_SCOPE_CLAIM),
            scope_prefix: self.text(&OIDC_SCOPE_PREFIX).unwrap_or_default().to_owned(),
            default_scopes: Scopes::of(&scopes.collect::<Result<Vec<_>, _>>()?),
            space_claim: claim(&OIDC_SPACE_CLAIM),
            client: self.oidc_client()?,
            token_types: self.get(&OIDC_TOKEN_TYPES)?,
            refresh: self.get(&OIDC_REFRESH_SECONDS)?,
            ..OidcOptions::new(issuer)
        })
    }

    fn oidc_client(&self) -> Result<Option<OidcClient>, Failure> {
        let (secret, scopes) = (
            self.given(&OIDC_CLIENT_SECRET),
            self.given(&OIDC_CLIENT_SCOPES),
        );
        let Some(id) = self.given(&OIDC_CLIENT_ID) else {
            let without_client: [(&Setting, bool); 2] = [
                (&OIDC_CLIENT_SECRET, secret.is_some()),
                (&OIDC_CLIENT_SCOPES, scopes.is_some()),
            ];
            return match without_client.into_iter().find(|(_, is_set)| *is_set) {
                Some((setting, _)) => Err(self.lacks(setting, &OIDC_CLIENT_ID)),
                None => Ok(None),
            };
        };
        Ok(Some(OidcClient {
            id: id.to_owned(),
            secret: secret.map(str::to_owned),
            scopes: match scopes {
                Some(_) => self.get(&OIDC_CLIENT_SCOPES)?,
                None => Vec::new(),
            },
        }))
    }

    /// Returns the failure of a setting that is set without another one that it needs.
    fn lacks(&self, set: &Setting, other: &Setting) -> Failure {
        self.wrong(
            set,
            format!("is set, which needs `{}` ({})", other.key, other.variable),
        )
    }
}

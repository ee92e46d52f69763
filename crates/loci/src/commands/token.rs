//! `loci token`: manages the tokens of the HTTP server.

use std::fmt::Write;

use loci_core::{Clock, Error, Scope, Scopes, Space, Timestamp, Token, is_reserved_subject};
use loci_engine::Effect;
use serde_json::{Value, json};

use crate::cli;
use crate::exit::{Exit, Failure};
use crate::output::{self, Output, moment, status_line};
use crate::secret::{Grant, new_secret};
use crate::settings::Settings;
use crate::wiring::{SystemClock, logged_in_store, open_store, open_store_to_read};

pub fn run(settings: &Settings, command: &cli::Token, output: Output) -> Result<(), Failure> {
    match command {
        cli::Token::Create {
            subject,
            scopes,
            space,
            expires,
        } => {
            loci_engine::check::name("subject", subject)?;
            if is_reserved_subject(subject) {
                let problem = format!(
                    "`{subject}` stands for callers without a name; choose another subject"
                );
                return Err(Failure::new(Exit::Usage, problem));
            }
            let grant = Grant {
                subject: subject.clone(),
                scopes: Scopes::of(scopes),
                space: Space::parse("space", space)?,
                expires_at: expires.as_deref().map(expiry).transpose()?,
            };
            create(settings, grant, output)
        }
        cli::Token::List => list(settings, output),
        cli::Token::Revoke { id } => {
            settings.store_for(&settings.data).existing()?;
            let store = open_store(settings, &settings.data)?;
            let info = ("token revoke", "admin:token", Effect::Destroy);
            logged_in_store(&store, info, |store| {
                Ok(store.revoke_token(id, SystemClock.now())?)
            })?;
            status_line(format_args!("revoked {id}"));
            Ok(output.either(&json!({"revoked": id}), "")?)
        }
    }
}

fn create(settings: &Settings, grant: Grant, output: Output) -> Result<(), Failure> {
    let secret = new_secret()?;
    let token = grant.token(&secret);
    let store = open_store(settings, &settings.data)?;
    let info = ("token create", "admin:token", Effect::Write);
    logged_in_store(&store, info, |store| Ok(store.add_token(&token)?))?;
    let mut value = described(&token);
    value["token"] = json!(secret);
    status_line(format_args!(
        "token {} of {}; its secret is shown this once:",
        token.id, token.subject
    ));
    Ok(output.either(&value, format_args!("{secret}\n"))?)
}

fn list(settings: &Settings, output: Output) -> Result<(), Failure> {
    let tokens = open_store_to_read(settings, &settings.data)?.tokens()?;
    let now = SystemClock.now();
    let mut text = String::new();
    for token in &tokens {
        let state = match (token.revoked_at, token.ends_at()) {
            (Some(revoked_at), _) => format!("revoked {}", moment(revoked_at)),
            (None, Some(expires_at)) if !token.is_over(now) => {
                format!("expires {}", moment(expires_at))
            }
            (None, Some(expires_at)) => format!("expired {}", moment(expires_at)),
            (None, None) => "valid".to_owned(),
        };
        let client = token.grant.as_ref();
        let client = client.map_or_else(String::new, |grant| format!("  for {}", grant.client));
        let (scopes, created_at) = (scopes(token).join(","), moment(token.created_at));
        let _ = writeln!(
            text,
            "{}  {}  space {}  {scopes}  made {created_at}  {state}{client}",
            token.id, token.subject, token.space
        );
    }
    if tokens.is_empty() && !output.json {
        status_line("there is no token; `loci serve` or `loci token create` makes one");
    }
    let values = tokens.iter().map(described);
    Ok(output.either(&output::listing("tokens", values, None), text)?)
}

fn scopes(token: &Token) -> Vec<&'static str> {
    token.scopes.iter().map(Scope::name).collect()
}

fn described(token: &Token) -> Value {
    json!({
        "id": token.id,
        "subject": token.subject,
        "space": token.space.as_str(),
        "scopes": scopes(token),
        "created_at": moment(token.created_at),
        "expires_at": token.ends_at().map(moment),
        "revoked_at": token.revoked_at.map(moment),
        "valid": !token.is_over(SystemClock.now()),
        "client": token.grant.as_ref().map(|grant| &grant.client),
        "resource": token.grant.as_ref().map(|grant| &grant.resource),
    })
}

/// Returns the time at which a period from now ends.
fn expiry(text: &str) -> Result<Timestamp, Error> {
    let seconds = loci_dialects::ttl_seconds("--expires", text)?;
    Ok(SystemClock
        .now()
        .plus_seconds(i64::try_from(seconds).unwrap_or(i64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_ends_at_a_time_from_now() {
        let now = SystemClock.now();
        for (text, days) in [("30d", 30.0), ("12h", 0.5), ("P1Y", 365.0)] {
            let found = expiry(text).unwrap().days_since(now);
            assert!((found - days).abs() < 0.1, "{text}: {found} days");
        }
        assert!(
            expiry("soon")
                .unwrap_err()
                .message
                .starts_with("`--expires`")
        );
    }
}

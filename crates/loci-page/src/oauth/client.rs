//! Clients: what they say of themselves, and where a person's browser may be sent for them.

use data_encoding::BASE64URL_NOPAD;
use http::Uri;
use loci_core::Result;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{OAuth, Refusal};

/// The most redirect URIs of a client.
const REDIRECT_URIS_MAX: usize = 8;
/// The most bytes of all redirect URIs of a client that registers. They are in its identifier,
/// which is in the address of the consent page.
const REDIRECT_URIS_BYTES_MAX: usize = 1 << 10;
/// The most characters of the name that a client gives itself.
const NAME_CHARACTERS_MAX: usize = 60;
/// The longest URL of a document, and the longest redirect URI.
const URL_BYTES_MAX: usize = 512;
/// The beginning of the identifier of a client that registered.
const REGISTERED: &str = "loci-client.";

/// The description that a client gives of itself; the server has not checked it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Client {
    /// Its identifier.
    pub(super) id: String,
    /// The name that it gives itself.
    pub(super) name: Option<String>,
    redirect_uris: Vec<String>,
}

/// A registration, as an identifier has it.
#[derive(Serialize, Deserialize)]
struct Registration {
    #[serde(rename = "r")]
    redirect_uris: Vec<String>,
    #[serde(rename = "n", skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// Tells apart what registers alike.
    #[serde(rename = "i")]
    number: String,
}

/// The metadata of a client (RFC 7591, section 2), as far as they matter here.
#[derive(Deserialize)]
struct Metadata {
    client_id: Option<String>,
    #[serde(default)]
    redirect_uris: Vec<String>,
    client_name: Option<String>,
    grant_types: Option<Vec<String>>,
    response_types: Option<Vec<String>>,
    token_endpoint_auth_method: Option<String>,
}

impl Client {
    /// Registers a client: its identifier says all about it, so that nothing is kept. `number` tells
    /// it apart.
    ///
    /// Any client may register anything, so a client that makes up an identifier gains nothing, and
    /// the identifier needs no signature.
    pub(super) fn register(metadata: &[u8], number: &[u8; 12]) -> Result<Self, Refusal> {
        let invalid = |problem: String| Refusal::new("invalid_client_metadata", problem);
        let metadata: Metadata = serde_json::from_slice(metadata)
            .map_err(|error| invalid(format!("this is no metadata of a client: {error}")))?;
        let has = |list: &Option<Vec<String>>, value: &str| {
            list.as_ref()
                .is_none_or(|list| list.iter().any(|one| one == value))
        };
        if !has(&metadata.grant_types, "authorization_code")
            || !has(&metadata.response_types, "code")
        {
            let problem = "this server gives codes: `grant_types` must have `authorization_code`, and `response_types` \
                           `code`, or be left out";
            return Err(invalid(problem.to_owned()));
        }
        check_redirect_uris(&metadata.redirect_uris)
            .map_err(|problem| Refusal::new("invalid_redirect_uri", problem))?;
        let bytes: usize = metadata.redirect_uris.iter().map(String::len).sum();
        if bytes > REDIRECT_URIS_BYTES_MAX {
            let problem = format!("all of them together may have {REDIRECT_URIS_BYTES_MAX} bytes");
            return Err(Refusal::new("invalid_redirect_uri", problem));
        }
        let registration = Registration {
            redirect_uris: metadata.redirect_uris,
            name: metadata.client_name.as_deref().and_then(shown_name),
            number: BASE64URL_NOPAD.encode(number),
        };
        let json = serde_json::to_vec(&registration)
            .map_err(|error| invalid(format!("the metadata cannot be written: {error}")))?;
        Ok(Client {
            id: format!("{REGISTERED}{}", BASE64URL_NOPAD.encode(&json)),
            name: registration.name,
            redirect_uris: registration.redirect_uris,
        })
    }

    /// Returns the client that registered and got this identifier; `None` if it is no such.
    fn registered(id: &str) -> Option<Self> {
        let json = BASE64URL_NOPAD
            .decode(id.strip_prefix(REGISTERED)?.as_bytes())
            .ok()?;
        let registration: Registration = serde_json::from_slice(&json).ok()?;
        // A client that makes up an identifier may leave out the checks of a registration.
        check_redirect_uris(&registration.redirect_uris).ok()?;
        Some(Client {
            id: id.to_owned(),
            name: registration.name.as_deref().and_then(shown_name),
            redirect_uris: registration.redirect_uris,
        })
    }

    /// Reads the document that a client has of itself at `url`.
    fn of_document(url: &str, document: Value) -> Result<Self, Refusal> {
        let invalid = |problem: &str| {
            let description = format!("the document of the client at {url} {problem}");
            Refusal::new("invalid_client", description)
        };
        // Without the parser's message, which may quote the document.
        let Ok(metadata) = serde_json::from_value::<Metadata>(document) else {
            return Err(invalid("is no metadata of a client (RFC 7591)"));
        };
        if metadata.client_id.as_deref() != Some(url) {
            return Err(invalid("does not have this URL as its `client_id`"));
        }
        if metadata
            .token_endpoint_auth_method
            .is_some_and(|method| method != "none")
        {
            let problem =
                "asks for a `token_endpoint_auth_method`; this server knows only `none`, with PKCE";
            return Err(invalid(problem));
        }
        check_redirect_uris(&metadata.redirect_uris).map_err(|problem| invalid(&problem))?;
        Ok(Client {
            id: url.to_owned(),
            name: metadata.client_name.as_deref().and_then(shown_name),
            redirect_uris: metadata.redirect_uris,
        })
    }

    /// Returns true if this is the URL of the client's document, whose host the client has.
    pub(super) fn document_host(&self) -> Option<String> {
        let uri: Uri = self.id.parse().ok()?;
        uri.scheme_str()?;
        uri.host().map(str::to_owned)
    }

    /// Returns where the browser is sent, if the client may ask for that: one of its redirect URIs,
    /// exactly; one on the person's device with any port (RFC 8252, section 7.3).
    pub(super) fn redirect_uri(&self, asked: Option<&str>) -> Result<String, Refusal> {
        let Some(asked) = asked else {
            let problem = "`redirect_uri` is missing; it must be one that the client registered";
            return Err(Refusal::invalid_request(problem));
        };
        let is_its = |registered: &String| {
            registered == asked
                || matches!(
                    (loopback_parts(registered), loopback_parts(asked)),
                    (Some(registered), Some(asked)) if registered == asked
                )
        };
        if check_redirect_uri(asked).is_ok() && self.redirect_uris.iter().any(is_its) {
            return Ok(asked.to_owned());
        }
        let problem =
            "`redirect_uri` is none that the client registered; ask whoever makes the client";
        Err(Refusal::invalid_request(problem))
    }

    /// Returns the redirect URIs of the client.
    pub(super) fn redirect_uris(&self) -> &[String] {
        &self.redirect_uris
    }
}

impl OAuth {
    /// Returns the client with an identifier: from the identifier, or from the document that it
    /// leads to.
    pub(super) fn client(&self, id: &str) -> Result<Client, Refusal> {
        let unknown = "`client_id` names no client; let the client register again";
        if let Some(client) = Client::registered(id) {
            return Ok(client);
        }
        if !id.starts_with("https://") {
            return Err(Refusal::new("invalid_client", unknown));
        }
        check_document_url(id)
            .map_err(|problem| Refusal::new("invalid_client", format!("`client_id` {problem}")))?;
        let document = self.documents.fetch(id).map_err(|error| {
            let description = format!(
                "the document of the client cannot be had: {}",
                error.message
            );
            Refusal::new("invalid_client", description)
        })?;
        Client::of_document(id, document)
    }
}

/// Returns a name without what could make it look like another text, cut to a length; `None` if
/// nothing is left.
fn shown_name(name: &str) -> Option<String> {
    let is_plain =
        |character: &char| character.is_alphanumeric() || " .,-_()'&+".contains(*character);
    let plain: String = name
        .chars()
        .filter(is_plain)
        .take(NAME_CHARACTERS_MAX)
        .collect();
    let plain = plain.trim();
    (!plain.is_empty()).then(|| plain.to_owned())
}

/// Checks the URL of a document, as the draft on documents of clients says it.
fn check_document_url(url: &str) -> Result<(), &'static str> {
    check_url(url)?;
    let uri = parsed_url(url)?;
    if uri.scheme_str() != Some("https") {
        return Err("must start with `https://`");
    }
    if uri.path() == "/" || uri.path().is_empty() {
        return Err("must have a path");
    }
    if uri.query().is_some() || uri.path().split('/').any(|part| matches!(part, "." | "..")) {
        return Err("must have no query, and no `.` or `..` in its path");
    }
    Ok(())
}

fn check_redirect_uris(uris: &[String]) -> Result<(), String> {
    if uris.is_empty() || uris.len() > REDIRECT_URIS_MAX {
        return Err(format!(
            "`redirect_uris` must have 1 to {REDIRECT_URIS_MAX} addresses"
        ));
    }
    uris.iter()
        .try_for_each(|uri| check_redirect_uri(uri))
        .map_err(|problem| format!("a redirect URI {problem}"))
}

/// Checks a redirect URI: `https`, or on the device of the person.
fn check_redirect_uri(uri: &str) -> Result<(), &'static str> {
    check_url(uri)?;
    let parsed = parsed_url(uri)?;
    match parsed.scheme_str() {
        Some("https") => Ok(()),
        Some("http") if is_loopback(&parsed) => Ok(()),
        _ => Err(
            "must start with `https://`, or with `http://127.0.0.1`, `http://[::1]` or `http://localhost`; schemes of \
             programs are not taken, since any program can claim one",
        ),
    }
}

/// Checks that all programs read a URL alike: only the characters of RFC 3986, no user name, no
/// fragment.
fn check_url(url: &str) -> Result<(), &'static str> {
    let is_plain =
        |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/?[]@!$&'()*+,;=%".contains(&byte);
    if url.len() > URL_BYTES_MAX {
        return Err("is longer than 512 bytes");
    }
    if !url.bytes().all(is_plain) {
        return Err("has characters that no URL has, or a `#`");
    }
    let uri = parsed_url(url)?;
    let authority = uri.authority().ok_or("names no host")?;
    let host = authority.host();
    let rest = authority.as_str().strip_prefix(host);
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let ends_well = |rest: &str| rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port);
    if !rest.is_some_and(ends_well) {
        return Err("must name a host with at most a port, and no user");
    }
    // Others, such as `;`, would mean something in the policy of the page.
    let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-.".contains(&byte);
    let is_of_address = |byte: u8| byte.is_ascii_hexdigit() || b":.".contains(&byte);
    let address = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    let is_host = match address {
        Some(address) => !address.is_empty() && address.bytes().all(is_of_address),
        None => !host.is_empty() && host.bytes().all(is_of_name),
    };
    if !is_host {
        return Err("names a host with characters that no host has");
    }
    Ok(())
}

fn parsed_url(url: &str) -> Result<Uri, &'static str> {
    url.parse().or(Err("is no URL"))
}

fn is_loopback(uri: &Uri) -> bool {
    matches!(uri.host(), Some("127.0.0.1" | "[::1]" | "localhost"))
}

/// Returns what two redirect URIs on the person's device have in common if they differ only in
/// their ports; `None` for another URI.
fn loopback_parts(uri: &str) -> Option<(String, String)> {
    let uri: Uri = uri.parse().ok()?;
    if uri.scheme_str() != Some("http") || !is_loopback(&uri) {
        return None;
    }
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    Some((uri.host()?.to_owned(), path.to_owned()))
}

/// Returns the host of a redirect URI that passed the checks, and whether it is the device of the
/// person.
pub(super) fn destination(redirect_uri: &str) -> (String, bool) {
    let uri: Result<Uri, _> = redirect_uri.parse();
    match uri {
        Ok(uri) => (uri.host().unwrap_or_default().to_owned(), is_loopback(&uri)),
        Err(_) => (redirect_uri.to_owned(), false),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn register(metadata: &Value) -> Result<Client, Refusal> {
        Client::register(metadata.to_string().as_bytes(), &[7; 12])
    }

    #[test]
    fn an_identifier_says_all_that_was_registered() {
        let metadata = json!({
            "client_name": "Cl\u{202e}aude",
            "redirect_uris": ["https://claude.ai/api/mcp/auth_callback"],
            "grant_types": ["authorization_code", "refresh_token"],
            "token_endpoint_auth_method": "client_secret_post",
        });
        let client = register(&metadata).unwrap();
        assert_eq!(client.name.as_deref(), Some("Claude"));
        assert_eq!(Client::registered(&client.id), Some(client.clone()));
        for broken in ["", "loci-client.", "loci-client.e30", &client.id[1..]] {
            assert_eq!(Client::registered(broken), None, "{broken}");
        }
    }

    #[test]
    fn redirect_uris_are_https_or_on_the_device() {
        let rows = [
            ("https://claude.ai/api/mcp/auth_callback", true),
            ("https://a.example:8443/b?c=d", true),
            ("http://127.0.0.1:3000/callback", true),
            ("http://[::1]/callback", true),
            ("http://localhost/callback", true),
            ("http://claude.ai/callback", false),
            ("http://127.0.0.1.evil.example/callback", false),
            ("http://localhost@evil.example/callback", false),
            ("https://a.example/b#c", false),
            ("https://a.example\\@evil.example/", false),
            ("https://user@a.example/", false),
            ("https://a.example/ b", false),
            ("https:///b", false),
            ("https://a.example;script-src/b", false),
            ("https://a.example,b.example/b", false),
            ("https://a.example:/b", false),
            ("https://a.example:8o/b", false),
            ("https://'unsafe-inline'/b", false),
            ("javascript:alert(1)", false),
            ("data:text/html,x", false),
            ("cursor://anysphere.cursor-mcp/oauth/callback", false),
            ("//evil.example/b", false),
            ("/b", false),
            ("", false),
        ];
        for (uri, is_allowed) in rows {
            assert_eq!(check_redirect_uri(uri).is_ok(), is_allowed, "{uri}");
            let registered = register(&json!({"redirect_uris": [uri]}));
            assert_eq!(registered.is_ok(), is_allowed, "{uri}");
        }
        let long = format!("https://a.example/{}", "b".repeat(URL_BYTES_MAX));
        assert!(check_redirect_uri(&long).is_err());
        for count in [0, REDIRECT_URIS_MAX + 1] {
            let uris = vec!["https://a.example/"; count];
            let refused = register(&json!({ "redirect_uris": uris })).unwrap_err();
            assert_eq!(refused.error, "invalid_redirect_uri");
        }
    }

    #[test]
    fn only_a_port_on_the_device_may_differ() {
        let uris = [
            "https://a.example/b",
            "http://127.0.0.1:1/c",
            "http://localhost/d",
        ];
        let client = register(&json!({ "redirect_uris": uris })).unwrap();
        let rows = [
            ("https://a.example/b", true),
            ("http://127.0.0.1:2/c", true),
            ("http://127.0.0.1/c", true),
            ("http://localhost:3118/d", true),
            ("https://a.example:444/b", false),
            ("https://a.example/b/", false),
            ("https://a.example/B", false),
            ("https://a.example/b?x=y", false),
            ("https://b.a.example/b", false),
            ("http://a.example/b", false),
            ("http://127.0.0.1:2/c/", false),
            ("http://127.0.0.1:2/c?x=y", false),
            ("http://localhost:2/c", false),
            ("http://[::1]:2/c", false),
            ("http://127.0.0.1:2@evil.example/c", false),
        ];
        for (asked, is_its) in rows {
            assert_eq!(client.redirect_uri(Some(asked)).is_ok(), is_its, "{asked}");
        }
        assert!(client.redirect_uri(None).is_err());
    }

    #[test]
    fn a_document_is_of_the_client_that_it_names() {
        const URL: &str = "https://client.example/oauth/metadata.json";
        let document = |change: &dyn Fn(&mut Value)| {
            let mut document = json!({
                "client_id": URL,
                "client_name": "A client",
                "redirect_uris": ["https://client.example/callback"],
            });
            change(&mut document);
            Client::of_document(URL, document)
        };
        let client = document(&|_| {}).unwrap();
        assert_eq!(client.document_host().as_deref(), Some("client.example"));
        let changes: [&dyn Fn(&mut Value); 5] = [
            &|it| it["client_id"] = json!("https://evil.example/metadata.json"),
            &|it| it["client_id"] = json!(null),
            &|it| it["redirect_uris"] = json!(["javascript:alert(1)"]),
            &|it| it["token_endpoint_auth_method"] = json!("private_key_jwt"),
            &|it| *it = json!("text"),
        ];
        for (index, change) in changes.iter().enumerate() {
            let refused = document(change).unwrap_err();
            assert_eq!(refused.error, "invalid_client", "{index}");
        }
    }

    #[test]
    fn a_document_has_a_url_that_all_read_alike() {
        let rows = [
            ("https://client.example/a", true),
            ("https://client.example:8443/a/b.json", true),
            ("http://client.example/a", false),
            ("https://client.example", false),
            ("https://client.example/", false),
            ("https://client.example/a?b", false),
            ("https://client.example/a#b", false),
            ("https://user@client.example/a", false),
            ("https://client.example/a/../b", false),
            ("https://client.example/a b", false),
        ];
        for (url, is_allowed) in rows {
            assert_eq!(check_document_url(url).is_ok(), is_allowed, "{url}");
        }
    }
}

//! The cookies of a browser.

use http::HeaderMap;
use http::header::COOKIE;

/// Returns the value of the cookie with this name.
pub(crate) fn cookie_value(headers: &HeaderMap, name: &str) -> Option<String> {
    headers
        .get_all(COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(key, _)| *key == name)
        .map(|(_, secret)| secret.to_owned())
}

/// Returns the attribute by which a browser sends a cookie only over `https`, if that can be.
pub(crate) fn secure_attribute(base_url: &str) -> &'static str {
    if base_url.starts_with("https:") {
        "; Secure"
    } else {
        ""
    }
}

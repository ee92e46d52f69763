//! Signing in at a provider.

use std::sync::atomic::Ordering;

use http::StatusCode;
use http::header::{LOCATION, SET_COOKIE};

use crate::support::{Browser, ISSUER, TestPage};

/// Goes to the provider, and returns the secret that it sends back.
async fn begin(browser: &mut Browser, next: &str) -> String {
    let sent = browser.get(&format!("/sign-in/provider?next={next}")).await;
    assert_eq!(sent.status, StatusCode::SEE_OTHER, "{}", sent.text);
    let cookie = sent.headers[SET_COOKIE].to_str().unwrap();
    for part in ["HttpOnly", "SameSite=Lax", "Path=/signed-in", "Max-Age=600"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    let (url, state) = sent.location().split_once("?state=").unwrap();
    assert_eq!(url, format!("{ISSUER}/authorize"));
    state.to_owned()
}

#[tokio::test]
async fn a_person_signs_in_at_the_provider_and_goes_on() {
    let installation = TestPage::new();
    let mut browser = installation.stranger();
    let context = browser.get("/browse?all=1").await;
    let shown = browser.get(context.location()).await;
    assert!(shown.text.contains("Sign in at provider.example"));
    assert!(shown.text.contains("/sign-in/provider?next=%2Fbrowse"));
    let state = begin(&mut browser, "%2Fbrowse%3Fall%3D1").await;
    let entered = browser
        .get(&format!("/signed-in?code=ann&state={state}"))
        .await;
    assert_eq!(entered.status, StatusCode::OK);
    assert!(!entered.headers.contains_key(LOCATION));
    assert!(
        entered.text.contains("content=\"0; url=/browse?all=1\""),
        "{}",
        entered.text
    );
    let cookies: Vec<&str> = entered
        .headers
        .get_all(SET_COOKIE)
        .iter()
        .map(|cookie| cookie.to_str().unwrap())
        .collect();
    assert!(cookies[0].contains("SameSite=Strict") && cookies[1].contains("Max-Age=0"));
    let palace = browser.get("/browse").await;
    assert_eq!(palace.status, StatusCode::OK);
    assert!(palace.text.contains("<span class=\"user\">ann</span>"));
}

#[tokio::test]
async fn a_reply_that_this_browser_did_not_ask_for_opens_nothing() {
    let installation = TestPage::new();
    let mut browser = installation.stranger();
    let state = begin(&mut browser, "%2F").await;
    let attempt = browser.cookie.clone();
    let rows = [
        (
            format!("code=ann&state={state}0"),
            "not begun in this browser",
        ),
        ("code=ann&state=".to_owned(), "not begun in this browser"),
        ("code=ann".to_owned(), "not begun in this browser"),
        (
            format!("code=ann&state={state}&iss=https%3A%2F%2Fevil.example"),
            "not begun in this browser",
        ),
        (format!("error=access_denied&state={state}"), "told not to"),
        (
            format!("error=server_error&state={state}"),
            "did not sign you in",
        ),
        (format!("code=unknown&state={state}"), "invalid_grant"),
        (
            format!("code=revoked&state={state}"),
            "does not take the token",
        ),
        (
            format!("code=a%0Ab&state={state}"),
            "a token that is no text",
        ),
    ];
    for (query, words) in rows {
        browser.cookie.clone_from(&attempt);
        let refused = browser.get(&format!("/signed-in?{query}")).await;
        assert_eq!(refused.status, StatusCode::UNAUTHORIZED, "{query}");
        assert!(refused.text.contains(words), "{query}: {}", refused.text);
        assert_eq!(
            browser.get("/").await.status,
            StatusCode::SEE_OTHER,
            "{query}"
        );
    }
    // Without the cookie of an attempt, no state fits.
    let mut other = installation.stranger();
    for state in [state.as_str(), ""] {
        let refused = other
            .get(&format!("/signed-in?code=ann&state={state}"))
            .await;
        assert_eq!(refused.status, StatusCode::UNAUTHORIZED);
    }
}

#[tokio::test]
async fn a_person_is_led_to_this_server_alone() {
    let installation = TestPage::new();
    let mut browser = installation.stranger();
    for next in [
        "https%3A%2F%2Fevil.example",
        "%2F%2Fevil.example",
        "%2F%5Cevil.example",
    ] {
        let state = begin(&mut browser, next).await;
        let entered = browser
            .get(&format!("/signed-in?code=ann&state={state}"))
            .await;
        assert!(
            entered.text.contains("content=\"0; url=/\""),
            "{}",
            entered.text
        );
        assert!(!entered.text.contains("evil"), "{}", entered.text);
    }
}

#[tokio::test]
async fn a_session_goes_on_after_its_token_expired() {
    let installation = TestPage::new();
    let mut signed_in = installation.stranger();
    let state = begin(&mut signed_in, "%2F").await;
    signed_in
        .get(&format!("/signed-in?code=brief&state={state}"))
        .await;
    let mut typed = installation.browser("brief").await;
    for browser in [&mut signed_in, &mut typed] {
        assert_eq!(browser.get("/").await.status, StatusCode::OK);
    }
    installation
        .authenticator
        .has_brief_expired
        .store(true, Ordering::Relaxed);
    // The refresh token is good once, so the session has to keep what it got for it.
    for _ in 0..2 {
        let palace = signed_in.get("/browse").await;
        assert!(
            palace.text.contains("<span class=\"user\">ann</span>"),
            "{}",
            palace.text
        );
    }
    assert_eq!(typed.get("/").await.location(), "/sign-in?next=%2F");
}

//! Who gets in.

use axum::body::Body;
use http::header::{AUTHORIZATION, CONTENT_SECURITY_POLICY, ORIGIN, SET_COOKIE};
use http::{Request, StatusCode};

use crate::support::{BASE, OtherHost, TestPage, form, named, with_fields};

#[tokio::test]
async fn a_code_lets_one_browser_in_once() {
    let installation = TestPage::new();
    let credential = "Bearer ann".parse().unwrap();
    let path = installation
        .page
        .sign_in_path(named("ann"), Some(credential))
        .unwrap();
    let mut first = installation.stranger();
    let entered = first.get(&path).await;
    assert_eq!(entered.status, StatusCode::SEE_OTHER);
    let cookie = entered.headers[SET_COOKIE].to_str().unwrap();
    for part in ["loci-7821=", "HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    assert_eq!(first.get("/").await.status, StatusCode::OK);
    let mut second = installation.stranger();
    assert_eq!(second.get(&path).await.status, StatusCode::UNAUTHORIZED);
    let refused = second.get("/").await;
    assert_eq!(refused.status, StatusCode::SEE_OTHER);
    assert_eq!(refused.location(), "/sign-in?next=%2F");
}

#[tokio::test]
async fn a_link_from_elsewhere_asks_before_it_signs_in() {
    let installation = TestPage::new();
    let link = |user: &str| {
        let credential = format!("Bearer {user}").parse().unwrap();
        let path = installation
            .page
            .sign_in_path(named(user), Some(credential));
        path.unwrap()
    };
    for (is_signed_in, site) in [
        (false, "cross-site"),
        (false, "same-site"),
        (true, "cross-site"),
        (true, "none"),
        (true, "same-origin"),
    ] {
        let mut browser = if is_signed_in {
            installation.browser("ann").await
        } else {
            installation.stranger()
        };
        let (before, path) = (browser.cookie.clone(), link("bob"));
        let asked = browser.get_from(&path, site).await;
        assert_eq!(asked.status, StatusCode::OK, "{site}");
        assert!(asked.text.contains("Continue as bob"), "{}", asked.text);
        assert_eq!(browser.cookie, before, "{site}: nothing has changed");
        // The form is taken only from this page.
        let code = path.split_once("code=").unwrap().1;
        let fields = [("code", code), ("next", "/browse")];
        let go_on = |origin: &str| {
            let request = form("/enter", &fields).header(ORIGIN, origin);
            with_fields(request, &fields)
        };
        let forged = browser.send(go_on("https://evil.example")).await;
        assert_eq!(forged.status, StatusCode::FORBIDDEN);
        let chosen = browser.send(go_on(BASE)).await;
        assert_eq!(chosen.location(), "/browse");
        assert_ne!(browser.cookie, before);
        assert_eq!(browser.get("/browse").await.status, StatusCode::OK);
    }
    // Without the header, as over plain http, it is unknown where a person came from.
    let request = Request::get(link("bob")).body(Body::empty()).unwrap();
    let asked = installation.stranger().send(request).await;
    assert!(asked.text.contains("Continue as bob"), "{}", asked.text);
    // Who is signed in so already just goes on.
    let mut browser = installation.browser("ann").await;
    let cookie = browser.cookie.clone();
    assert_eq!(browser.get(&link("ann")).await.location(), "/");
    assert_eq!(browser.cookie, cookie);
}

#[tokio::test]
async fn a_token_lets_a_person_in_from_this_page_alone() {
    let installation = TestPage::new();
    let sign_in = |token: &str, origin: &str| {
        let fields = [("token", token), ("next", "/browse")];
        with_fields(form("/sign-in", &fields).header(ORIGIN, origin), &fields)
    };
    let mut browser = installation.stranger();
    let rows = [
        ("ann", BASE, StatusCode::SEE_OTHER),
        ("revoked", BASE, StatusCode::UNAUTHORIZED),
        ("ann", "https://evil.example", StatusCode::FORBIDDEN),
    ];
    for (token, origin, expected) in rows {
        let reply = browser.send(sign_in(token, origin)).await;
        assert_eq!(reply.status, expected, "{token} {origin}");
        if expected == StatusCode::SEE_OTHER {
            assert_eq!(reply.location(), "/browse");
        }
    }
}

#[tokio::test]
async fn a_session_ends_when_it_is_left() {
    let installation = TestPage::new();
    let mut browser = installation.browser("ann").await;
    let cookie = browser.cookie.clone();
    let left = browser.post("/sign-out", &[]).await;
    assert_eq!(left.location(), "/sign-in");
    browser.cookie = cookie;
    assert_eq!(browser.get("/").await.status, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn programs_send_a_token_and_get_json() {
    let installation = TestPage::new();
    let id = installation.remember("ann", "The kiln fires at 1240 degrees.");
    let mut program = installation.stranger();
    let context = |token: Option<&str>, path: &str| {
        let mut request = Request::get(path);
        if let Some(token) = token {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        request.body(Body::empty()).unwrap()
    };
    let path = format!("/api/v1/memory/{id}");
    let shown = program.send(context(Some("ann"), &path)).await;
    assert_eq!(shown.json()["content"], "The kiln fires at 1240 degrees.");
    for (token, status, code) in [
        (None, StatusCode::UNAUTHORIZED, "unauthorized"),
        (Some("revoked"), StatusCode::UNAUTHORIZED, "unauthorized"),
        (Some("bob"), StatusCode::NOT_FOUND, "not_found"),
    ] {
        let reply = program.send(context(token, &path)).await;
        assert_eq!(reply.status, status);
        assert_eq!(reply.json()["error"]["code"], code);
    }
}

#[tokio::test]
async fn a_name_that_is_not_served_opens_nothing() {
    let installation = TestPage::new();
    let mut browser = installation.browser("ann").await;
    for path in ["/", "/sign-in", "/api/v1/search", "/events"] {
        let request = Request::get(path).extension(OtherHost);
        let reply = browser.send(request.body(Body::empty()).unwrap()).await;
        assert_eq!(reply.status, StatusCode::MISDIRECTED_REQUEST, "{path}");
    }
}

#[tokio::test]
async fn every_reply_has_the_headers_that_protect_it() {
    let installation = TestPage::new();
    let mut browser = installation.browser("ann").await;
    for path in [
        "/",
        "/sign-in",
        "/memory/unknown",
        "/api/v1/search",
        "/assets/0/page.css",
    ] {
        let reply = browser.get(path).await;
        let policy = reply.headers[CONTENT_SECURITY_POLICY].to_str().unwrap();
        assert!(policy.starts_with("default-src 'none'"), "{path}");
        assert!(policy.contains("frame-ancestors 'none'"), "{path}");
        assert_eq!(reply.headers["x-content-type-options"], "nosniff", "{path}");
        assert!(!policy.contains("unsafe"), "{path}");
        assert!(!reply.headers.contains_key("access-control-allow-origin"));
    }
}

#[tokio::test]
async fn a_change_comes_from_a_page_of_this_session() {
    let installation = TestPage::new();
    let id = installation.remember("ann", "Stays as it is.");
    let mut browser = installation.browser("ann").await;
    let csrf = browser.get("/browse").await.csrf();
    let other = installation
        .browser("ann")
        .await
        .get("/browse")
        .await
        .csrf();
    let rows = [
        (Some("same-origin"), csrf.as_str(), StatusCode::SEE_OTHER),
        (Some("same-origin"), other.as_str(), StatusCode::FORBIDDEN),
        (Some("same-origin"), "", StatusCode::FORBIDDEN),
        (Some("same-site"), csrf.as_str(), StatusCode::FORBIDDEN),
        (Some("cross-site"), csrf.as_str(), StatusCode::FORBIDDEN),
        (None, csrf.as_str(), StatusCode::FORBIDDEN),
    ];
    for (site, csrf, expected) in rows {
        let fields = [("csrf", csrf), ("id", id.as_str())];
        let mut request = form("/selected/forget", &fields);
        if let Some(site) = site {
            request = request.header("sec-fetch-site", site);
        }
        let reply = browser.send(with_fields(request, &fields)).await;
        assert_eq!(reply.status, expected, "{site:?} {csrf:?}");
    }
}

#[tokio::test]
async fn a_reader_changes_nothing() {
    let installation = TestPage::new();
    let mut browser = installation.browser("reader").await;
    assert_eq!(browser.get("/").await.status, StatusCode::OK);
    let refused = browser.post("/selected/forget", &[("id", "x")]).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
}

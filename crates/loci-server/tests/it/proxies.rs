//! The server's name and the client's address behind a proxy.

use loci_server::{Authentication, HttpConfig};
use serde_json::json;

use crate::support::{Server, World, request, with_issuer};

async fn start(trusted_proxies: &[&str], public_url: Option<&str>) -> Server {
    // Documents about the server contain its URL only if there is an issuer.
    let (_, _, authentication) = with_issuer();
    let config = HttpConfig {
        allowed_hosts: vec!["memory.example".to_owned(), "[2001:db8::7]:8443".to_owned()],
        trusted_proxies: trusted_proxies
            .iter()
            .map(|network| network.parse().unwrap())
            .collect(),
        public_url: public_url.map(|url| url.parse().unwrap()),
        ..HttpConfig::new(authentication)
    };
    Server::start_with(&World::new(), config).await
}

/// Returns the server's own URL as it determines it from a request with these headers, in which
/// `PORT` stands for its port.
async fn url(server: &Server, headers: &[(&str, &str)]) -> Option<String> {
    let port = server.address.port().to_string();
    let headers: Vec<_> = headers
        .iter()
        .map(|(name, value)| (*name, value.replace("PORT", &port)))
        .collect();
    let headers: Vec<_> = headers
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    let reply = server
        .send("GET /.well-known/oauth-protected-resource", &headers, b"")
        .await;
    if reply.status == 404 {
        assert_eq!(reply.json()["error"]["code"], "not_found");
        return None;
    }
    if reply.status == 400 {
        assert_eq!(reply.json()["error"]["code"], "invalid_argument");
        return None;
    }
    Some(
        reply.json()["resource"]
            .as_str()
            .unwrap()
            .replace(&port, "PORT"),
    )
}

#[tokio::test]
async fn what_a_trusted_proxy_says_counts_and_what_others_say_does_not() {
    let trusting = start(&["127.0.0.0/8"], None).await;
    let others = start(&["10.0.0.0/8", "::/0"], None).await;
    let (host, proto) = ("x-forwarded-host", "x-forwarded-proto");
    let (memory, secure, local) = (
        ("host", "memory.example"),
        (proto, "https"),
        ("host", "localhost:PORT"),
    );
    let (plain, encrypted, here) = (
        Some("http://memory.example"),
        Some("https://memory.example"),
        Some("http://localhost:PORT"),
    );
    let rows: [(&[_], _, _); 17] = [
        (&[memory], plain, plain),
        (&[memory, secure], encrypted, plain),
        (&[memory, (proto, "HTTPS")], encrypted, plain),
        (&[memory, (proto, "https, http")], plain, plain),
        (&[memory, (proto, "ftp")], plain, plain),
        (&[memory, secure, (proto, "http")], plain, plain),
        (&[("host", "memory.example:443"), secure], encrypted, None),
        (&[local, (host, "memory.example"), secure], encrypted, here),
        (&[local, (host, "memory.example:80")], plain, here),
        // The proxy's other ports are unknown, unless the name is allowed with a port.
        (&[local, (host, "memory.example:PORT")], None, here),
        (&[local, (host, "localhost:PORT")], None, here),
        (
            &[local, (host, "[2001:db8::7]:8443"), secure],
            Some("https://[2001:db8::7]:8443"),
            here,
        ),
        (&[local, (host, "elsewhere.example")], None, here),
        (
            &[("host", "elsewhere.example"), (host, "memory.example")],
            plain,
            None,
        ),
        (&[local, (host, "memory.example, x")], here, here),
        (
            &[memory, (host, "localhost"), (host, "localhost")],
            plain,
            plain,
        ),
        (
            &[
                memory,
                (host, "\u{e9}\"<>"),
                (proto, "\u{e9}"),
                ("x-forwarded-for", "\u{e9}"),
            ],
            plain,
            plain,
        ),
    ];
    for (headers, with_trust, without) in rows {
        assert_eq!(
            url(&trusting, headers).await.as_deref(),
            with_trust,
            "{headers:?}"
        );
        assert_eq!(
            url(&others, headers).await.as_deref(),
            without,
            "{headers:?}"
        );
    }
    assert_eq!(url(&trusting, &[memory, memory]).await, None);
}

#[tokio::test]
async fn a_name_counts_with_a_port_of_ours_alone() {
    let (_, _, authentication) = with_issuer();
    let config = HttpConfig {
        allowed_hosts: ["memory.example", "[2001:db8::7]:8443", "localhost:8080"]
            .map(str::to_owned)
            .to_vec(),
        ..HttpConfig::new(authentication.clone())
    };
    let server = Server::start_with(
        &World::new(),
        config.with_bound_address([192, 0, 2, 7].into()),
    )
    .await;
    let served = [
        "localhost:PORT",
        "127.0.0.1:PORT",
        "[::1]:PORT",
        "192.0.2.7:PORT",
        "memory.example:PORT",
        "memory.example",
        "[2001:db8::7]:8443",
        "localhost:8080",
    ];
    for host in served {
        assert_eq!(
            url(&server, &[("host", host)]).await,
            Some(format!("http://{host}"))
        );
    }
    for (host, name) in [
        ("MEMORY.example:80", "memory.example"),
        ("LOCALHOST:PORT", "localhost:PORT"),
    ] {
        assert_eq!(
            url(&server, &[("host", host)]).await,
            Some(format!("http://{name}"))
        );
    }
    let others = [
        "localhost",
        "localhost:80",
        "localhost:9000",
        "127.0.0.1",
        "127.0.0.1:9000",
        "[::1]:7",
        "192.0.2.7",
        "192.0.2.7:9000",
        "memory.example:8080",
        "memory.example:443",
        "[2001:db8::7]",
        "[2001:db8::7]:PORT",
        "elsewhere.example",
        "me@memory.example",
        "memory.example:99999",
    ];
    for host in others {
        assert_eq!(url(&server, &[("host", host)]).await, None, "{host}");
    }
    let config = HttpConfig::new(authentication).with_bound_address([0, 0, 0, 0].into());
    let everywhere = Server::start_with(&World::new(), config).await;
    assert_eq!(url(&everywhere, &[("host", "0.0.0.0:PORT")]).await, None);
}

#[tokio::test]
async fn a_public_url_is_the_name_whatever_a_request_says() {
    let server = start(&["127.0.0.0/8"], Some("https://Public.example:8443/")).await;
    for headers in [
        &[
            ("host", "localhost"),
            ("x-forwarded-host", "memory.example"),
            ("x-forwarded-proto", "http"),
        ][..],
        &[("host", "elsewhere.example")],
        &[
            ("host", "public.example"),
            ("origin", "https://public.example:8443"),
        ],
    ] {
        assert_eq!(
            url(&server, headers).await.unwrap(),
            "https://public.example:8443",
            "{headers:?}"
        );
    }
}

#[tokio::test]
async fn the_names_of_proxies_and_public_urls_are_checked_like_others() {
    let body = request(1, "ping", json!({})).to_string();
    let config = HttpConfig {
        allowed_hosts: vec!["memory.example".to_owned()],
        trusted_proxies: vec!["127.0.0.1/32".parse().unwrap()],
        public_url: Some("https://public.example".parse().unwrap()),
        ..HttpConfig::new(Authentication::Anonymous)
    };
    let server = Server::start_with(&World::new(), config).await;
    let forwarded = "x-forwarded-host";
    for (headers, status) in [
        (&[("host", "public.example")][..], 200),
        (&[("origin", "https://public.example")], 200),
        (&[("origin", "http://public.example")], 403),
        (&[("origin", "https://public.example:8443")], 403),
        (&[("host", "inner"), (forwarded, "memory.example")], 200),
        (&[("host", "inner"), (forwarded, "public.example:443")], 200),
        (&[("host", "inner"), (forwarded, "elsewhere.example")], 403),
        (
            &[("host", "localhost"), (forwarded, "elsewhere.example")],
            403,
        ),
        (&[("host", "inner")], 403),
        (&[("host", "localhost"), (forwarded, "\u{e9}")], 200),
    ] {
        assert_eq!(
            server.post(headers, body.as_bytes()).await.status,
            status,
            "{headers:?}"
        );
    }
}

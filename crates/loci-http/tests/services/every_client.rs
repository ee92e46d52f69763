//! The behaviour that all clients share.

use std::net::TcpListener;
use std::time::Duration;

use loci_core::{Embedder, Enricher, ErrorCode, Result, WebSearch};
use loci_http::{
    ChatModel, ChatModelOptions, HttpModel, HttpModelOptions, TavilySearch, TavilySearchOptions,
};
use serde_json::{Value, json};

use crate::support::{Act, BACKOFF, Endpoint, KEY, TEXT, check, ok, refusal};

/// The options that all clients have.
struct Options {
    key: &'static str,
    timeout: Duration,
    backoff: Duration,
}

const OPTIONS: Options = Options {
    key: KEY,
    timeout: Duration::from_mins(1),
    backoff: BACKOFF,
};

/// A client under test.
struct Subject {
    /// Its name in messages.
    name: &'static str,
    section: &'static str,
    path: &'static str,
    /// A valid reply.
    good: Value,
    /// The noun for the reply in messages.
    reply: &'static str,
    refused: ErrorCode,
    /// Makes a client for a base URL, and has it send [`TEXT`].
    call: fn(&str, Options) -> Result<()>,
}

impl Subject {
    /// Calls an endpoint with these acts, and returns it.
    fn calls(&self, acts: Vec<Act>, options: Options) -> (Result<()>, Endpoint) {
        let endpoint = Endpoint::new(acts);
        ((self.call)(&endpoint.url, options), endpoint)
    }

    /// Asserts that the call fails with this code and these words.
    fn fails(&self, acts: Vec<Act>, options: Options, code: ErrorCode, words: &str) {
        let (result, endpoint) = self.calls(acts, options);
        let address = format!("the {} at {}{}", self.name, endpoint.url, self.path);
        check(&result.unwrap_err(), code, &[&address, words]);
        endpoint.requests();
    }
}

fn subjects() -> [Subject; 3] {
    [
        Subject {
            name: "embedding model some-model",
            section: "embedding",
            path: "/embeddings",
            good: json!({ "data": [{ "index": 0, "embedding": [0, 2] }] }),
            reply: "list of embeddings",
            refused: ErrorCode::Unavailable,
            call: |url,
                   Options {
                       key,
                       timeout,
                       backoff,
                   }| {
                let options = HttpModelOptions::new(url, "some-model");
                let model = HttpModel::new(HttpModelOptions {
                    key: Some(key.to_owned()),
                    timeout,
                    backoff,
                    ..options
                })?;
                model.embed(&[TEXT]).map(|_| ())
            },
        },
        Subject {
            name: "chat model some-model",
            section: "llm",
            path: "/chat/completions",
            good: json!({ "choices": [{ "message": {
                "content": json!({ "importance": 0.5, "summary": "a gist", "memory_type": "fact" }).to_string(),
            } }] }),
            reply: "chat completion",
            refused: ErrorCode::Unavailable,
            call: |url,
                   Options {
                       key,
                       timeout,
                       backoff,
                   }| {
                let options = ChatModelOptions::new(url, "some-model");
                let model = ChatModel::new(ChatModelOptions {
                    key: Some(key.to_owned()),
                    timeout,
                    backoff,
                    ..options
                })?;
                model.enrich(TEXT).map(|_| ())
            },
        },
        Subject {
            name: "web search",
            section: "web_search",
            path: "/search",
            good: json!({ "results": [{ "url": "https://example.org/" }] }),
            reply: "list of pages",
            refused: ErrorCode::RateLimited,
            call: |url,
                   Options {
                       key,
                       timeout,
                       backoff,
                   }| {
                let options = TavilySearchOptions::new(key);
                let search = TavilySearch::new(TavilySearchOptions {
                    base_url: url.to_owned(),
                    timeout,
                    backoff,
                    ..options
                })?;
                search.search(TEXT).map(|_| ())
            },
        },
    ]
}

#[test]
fn posts_json_with_its_key() {
    for subject in subjects() {
        let (result, endpoint) = subject.calls(vec![ok(&subject.good)], OPTIONS);
        result.unwrap();
        let requests = endpoint.requests();
        let (first, lines) = requests[0].head.split_once("\r\n").unwrap();
        assert_eq!(first, format!("POST /v1{} HTTP/1.1", subject.path));
        let expected = [
            format!("authorization: Bearer {KEY}"),
            "content-type: application/json".to_owned(),
            concat!("user-agent: loci/", env!("CARGO_PKG_VERSION")).to_owned(),
        ];
        for line in expected {
            assert!(
                lines.split("\r\n").any(|other| other.starts_with(&line)),
                "{}: no {line} in {lines}",
                subject.name
            );
        }
    }
}

#[test]
fn tries_again_while_that_may_help() {
    for subject in subjects() {
        for failure in [refusal(500), refusal(429), Act::HangUp] {
            let (result, endpoint) =
                subject.calls(vec![refusal(503), failure, ok(&subject.good)], OPTIONS);
            result.unwrap();
            let requests = endpoint.requests();
            assert!(
                requests.len() == 3 && requests[0] == requests[1] && requests[0] == requests[2]
            );
        }
        let thrice = |status| vec![refusal(status), refusal(status), refusal(status)];
        subject.fails(
            thrice(500),
            OPTIONS,
            ErrorCode::Unavailable,
            "(HTTP 500) after 3 tries",
        );
        subject.fails(thrice(429), OPTIONS, subject.refused, "too often");
    }
}

#[test]
fn gives_up_at_once_where_trying_again_cannot_help() {
    for subject in subjects() {
        let statuses = [
            (400, "HTTP 400"),
            (401, "api_key`"),
            (403, "api_key`"),
            (404, "url`"),
            (204, "HTTP 204"),
        ];
        for (status, words) in statuses {
            subject.fails(
                vec![refusal(status)],
                OPTIONS,
                ErrorCode::Unavailable,
                words,
            );
        }
        let key = format!("refused the key; see `{}.api_key`", subject.section);
        subject.fails(vec![refusal(401)], OPTIONS, ErrorCode::Unavailable, &key);
    }
}

#[test]
fn follows_no_redirect() {
    for subject in subjects() {
        for status in [301, 307] {
            let redirect = Act::Reply(status, "location: /elsewhere\r\n", String::new());
            subject.fails(
                vec![redirect],
                OPTIONS,
                ErrorCode::Unavailable,
                "final address",
            );
        }
    }
}

#[test]
fn waits_as_long_as_the_service_asks_within_limits() {
    for subject in subjects() {
        // With its own backoff the call would exceed its timeout, and give up.
        let options = || Options {
            timeout: Duration::from_millis(3_900),
            backoff: Duration::from_secs(4),
            ..OPTIONS
        };
        let now = || Act::Reply(429, "retry-after: 0\r\n", String::new());
        let (result, endpoint) = subject.calls(vec![now(), ok(&subject.good)], options());
        result.unwrap();
        endpoint.requests();
        let much_later = Act::Reply(429, "retry-after: 3600\r\n", String::new());
        subject.fails(
            vec![much_later],
            options(),
            subject.refused,
            "(HTTP 429, which asks for a wait of 3600s)",
        );
        for unreadable in [
            "retry-after: Wed, 21 Oct 2015 07:28:00 GMT\r\n",
            "retry-after: -1\r\n",
            "retry-after: \r\n",
        ] {
            let later = Act::Reply(503, unreadable, String::new());
            let (result, endpoint) = subject.calls(vec![later, ok(&subject.good)], OPTIONS);
            result.unwrap();
            endpoint.requests();
        }
    }
}

#[test]
fn a_silent_service_times_out() {
    for subject in subjects() {
        let options = Options {
            timeout: Duration::from_millis(100),
            ..OPTIONS
        };
        subject.fails(
            vec![Act::Silence],
            options,
            ErrorCode::Unavailable,
            "did not answer within 100ms",
        );
    }
}

#[test]
fn a_reply_without_end_is_cut_off() {
    for subject in subjects() {
        let options = Options {
            timeout: Duration::from_mins(5),
            ..OPTIONS
        };
        subject.fails(
            vec![Act::Flood],
            options,
            ErrorCode::Unavailable,
            "gave a reply of more than",
        );
    }
}

#[test]
fn refuses_replies_of_another_shape() {
    for subject in subjects() {
        let words = format!("gave a reply that is no {} (line 1 column", subject.reply);
        for body in [
            String::new(),
            "<html>".to_owned(),
            "{\"data\": [".to_owned(),
            format!("\"{TEXT}\""),
            "{}".to_owned(),
        ] {
            subject.fails(
                vec![Act::Reply(200, "", body)],
                OPTIONS,
                ErrorCode::Unavailable,
                &words,
            );
        }
    }
}

#[test]
fn a_refused_connection_is_named() {
    for subject in subjects() {
        let address = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        let error = (subject.call)(&format!("http://{address}/v1/"), OPTIONS).unwrap_err();
        let url = format!(
            "{} at http://{address}/v1{} cannot be reached",
            subject.name, subject.path
        );
        let setting = format!("`{}.url`", subject.section);
        check(
            &error,
            ErrorCode::Unavailable,
            &[&url, &setting, "after 3 tries"],
        );
    }
}

#[test]
fn refuses_settings_that_cannot_work() {
    for subject in subjects() {
        let urls = [
            ("", "no URL"),
            ("localhost:11434", "http://"),
            ("ftp://host/v1", "http://"),
            ("http://user:key-that-nobody-may-see@host/v1", "api_key"),
            ("http://host/v1?key=key-that-nobody-may-see", "end before"),
            ("http://host/v1#key-that-nobody-may-see", "end before"),
        ];
        let setting = format!("`{}.url`", subject.section);
        for (url, words) in urls {
            let error = (subject.call)(url, OPTIONS).unwrap_err();
            check(&error, ErrorCode::InvalidArgument, &[&setting, words]);
        }
        let setting = format!("`{}.api_key`", subject.section);
        for key in ["key-that-nobody-may-see\r\n", "schlüssel"] {
            let error = (subject.call)("http://host", Options { key, ..OPTIONS }).unwrap_err();
            check(
                &error,
                ErrorCode::InvalidArgument,
                &[&setting, "printable ASCII"],
            );
        }
        let error = (subject.call)(
            "http://host",
            Options {
                timeout: Duration::ZERO,
                ..OPTIONS
            },
        )
        .unwrap_err();
        check(
            &error,
            ErrorCode::InvalidArgument,
            &[subject.section, "timeout"],
        );
    }
}

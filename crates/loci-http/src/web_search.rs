//! A web search by Tavily, or by a service with its protocol.

use std::time::Duration;

use loci_core::limits::{WEB_REPLY_BYTES_MAX, WEB_SECONDS_MAX};
use loci_core::{Error, ErrorCode, Result, WebPage, WebSearch};
use serde::{Deserialize, Serialize};

use crate::client::{Client, Service};

/// The address of Tavily.
const BASE_URL: &str = "https://api.tavily.com";
/// The number of pages to ask for, which is Tavily's own default.
const RESULTS: usize = 5;

/// The service and its timeouts and retries. Not `Debug`, to keep the key secret.
#[derive(Clone)]
pub struct TavilySearchOptions {
    /// The URL to which `/search` is appended. Default `https://api.tavily.com`.
    pub base_url: String,
    /// Sent as a bearer token; never part of a message.
    pub key: String,
    /// The timeout of a call with all its tries and waits. Default and maximum: [`WEB_SECONDS_MAX`]
    /// seconds.
    pub timeout: Duration,
    /// The number of retries if the service cannot be reached, is overloaded (429) or fails (5xx).
    /// Default 2.
    pub retries: u32,
    /// The wait before the first retry; it doubles each time, up to 4 s, and up to half as much is
    /// added at random. A wait that the service asks for takes precedence; one above 4 s ends the
    /// retries. Default 250 ms.
    pub backoff: Duration,
}

impl TavilySearchOptions {
    /// Returns the defaults for a key.
    pub fn new(key: impl Into<String>) -> Self {
        TavilySearchOptions {
            base_url: BASE_URL.to_owned(),
            key: key.into(),
            timeout: Duration::from_secs(WEB_SECONDS_MAX),
            retries: 2,
            backoff: Duration::from_millis(250),
        }
    }
}

/// Searches the web by Tavily (`POST {base_url}/search`), five pages at a time.
///
/// The protocol: <https://docs.tavily.com/documentation/api-reference/endpoint/search>.
pub struct TavilySearch {
    client: Client,
}

#[derive(Serialize)]
struct Request<'a> {
    query: &'a str,
    max_results: usize,
}

#[derive(Deserialize)]
struct Reply {
    results: Vec<Page>,
}

#[derive(Deserialize)]
struct Page {
    url: String,
    title: Option<String>,
    content: Option<String>,
    score: Option<f64>,
}

impl TavilySearch {
    /// Returns a client of the service. Does not connect.
    ///
    /// # Errors
    /// `invalid_argument`, naming the setting under `web_search`, if the address is not a plain
    /// `http` or `https` URL or holds credentials, if the key is blank or not printable ASCII, or
    /// if the timeout is zero.
    pub fn new(options: TavilySearchOptions) -> Result<Self> {
        if options.key.trim().is_empty() {
            return Err(Error::invalid(
                "web_search.api_key",
                "must not be blank; leave it out to have no web search",
            ));
        }
        let timeout = options.timeout.min(Duration::from_secs(WEB_SECONDS_MAX));
        let client = Client::new(Service {
            what: "web search",
            reply: "list of pages",
            section: "web_search",
            model: None,
            base_url: options.base_url,
            path: "/search",
            key: Some(options.key),
            reply_bytes_max: WEB_REPLY_BYTES_MAX as u64,
            refused: ErrorCode::RateLimited,
            timeout,
            call_timeout: timeout,
            retries: options.retries,
            backoff: options.backoff,
        })?;
        Ok(TavilySearch { client })
    }
}

impl WebSearch for TavilySearch {
    fn search(&self, query: &str) -> Result<Vec<WebPage>> {
        self.client.post(
            &Request {
                query,
                max_results: RESULTS,
            },
            |reply: Reply| {
                let pages = reply.results.into_iter().map(|page| WebPage {
                    title: page.title.unwrap_or_default(),
                    url: page.url,
                    content: page.content.unwrap_or_default(),
                    score: page.score,
                });
                Ok(pages.collect())
            },
        )
    }
}

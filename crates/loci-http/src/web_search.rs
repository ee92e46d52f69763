//! A search of the web by Tavily, or by what speaks its protocol.

use std::time::Duration;

use loci_core::limits::{WEB_REPLY_BYTES_MAX, WEB_SECONDS_MAX};
use loci_core::{Error, ErrorCode, Result, WebPage, WebSearch};
use serde::{Deserialize, Serialize};

use crate::client::{Client, Service};

/// Where Tavily is.
const BASE_URL: &str = "https://api.tavily.com";
/// Pages to ask for; Tavily's own default.
const RESULTS: usize = 5;

/// Where the service is and how patient to be with it. Not `Debug`, for the key's sake.
#[derive(Clone)]
pub struct TavilySearchOptions {
    /// What `/search` is appended to. Default `https://api.tavily.com`.
    pub base_url: String,
    /// Sent as a bearer token; never part of a message.
    pub key: String,
    /// For a call with all its tries and waits. Default and maximum:
    /// [`WEB_SECONDS_MAX`] seconds.
    pub timeout: Duration,
    /// Further tries when the service cannot be reached, is overloaded (429) or fails (5xx).
    /// Default 2.
    pub retries: u32,
    /// The wait before the first further try; it doubles each time, up to 4 s, and up to half
    /// of it is added at random. A wait that the service asks for goes before; one above 4 s ends
    /// the tries. Default 250 ms.
    pub backoff: Duration,
}

impl TavilySearchOptions {
    /// The defaults for a key.
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
    /// A client of the service. Connects to nothing.
    ///
    /// # Errors
    /// `invalid_argument`, naming the setting under `web_search`, if the address is no plain
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

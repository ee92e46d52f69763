//! The tool `search_web`: queries a web search service.

use loci_core::{Result, Scope, WebPage};
use loci_engine::Call;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Hints, Reply, TypedTool};

/// The message that clients of the original match on.
const NOT_CONFIGURED: &str = "Web search service unavailable: Tavily API key not configured";

pub struct SearchWeb;

/// Search the web for what no memory tells. Nothing that is found gets stored.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// For whom you search; it stands in the audit log.
    #[expect(dead_code, reason = "the dialect made it the caller")]
    user_id: String,
    /// The question, or key words.
    query: String,
}

/// The pages that were found, or the reason why there was no search.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Output {
    /// The result of the search.
    Found {
        /// The pages, best first.
        results: Vec<Page>,
        /// The query.
        query: String,
    },
    /// No service is configured.
    NotConfigured {
        /// The reason.
        error: &'static str,
    },
}

/// A page.
#[derive(Serialize, JsonSchema)]
pub struct Page {
    /// Its title.
    title: String,
    /// Its URL.
    url: String,
    /// The excerpt that answers the query.
    content: String,
    /// Its relevance, on the service's own scale.
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f64>,
}

impl From<WebPage> for Page {
    fn from(page: WebPage) -> Self {
        Page {
            title: page.title,
            url: page.url,
            content: page.content,
            score: page.score,
        }
    }
}

impl TypedTool for SearchWeb {
    const NAME: &'static str = "search_web";
    const TITLE: &'static str = "Search the web";
    const SCOPE: Scope = Scope::Read;
    const HINTS: Hints = Hints {
        read_only: true,
        destructive: false,
        idempotent: true,
        open_world: true,
    };
    const OPERATION: &'static str = "web:search";
    const QUERY: Option<&'static str> = Some("query");
    type Arguments = Arguments;
    type Output = Output;

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let found = call.search().search_web(&arguments.query)?;
        let results = found.as_ref().map(|pages| pages.len() as u64);
        let output = match found {
            Some(pages) => Output::Found {
                results: pages.into_iter().map(Page::from).collect(),
                query: arguments.query,
            },
            None => Output::NotConfigured {
                error: NOT_CONFIGURED,
            },
        };
        Reply::json(&output, results)
    }
}

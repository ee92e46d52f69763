//! `search_web`: ask a web search service.

use loci_core::{Result, Scope, WebPage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Context, Hints, Reply, TypedTool};

/// What clients of the original match on.
const NOT_CONFIGURED: &str = "Web search service unavailable: Tavily API key not configured";

pub struct SearchWeb;

/// Search the web for what no memory tells. Nothing that is found gets stored.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// For whom you search; it stands in the audit log.
    #[expect(dead_code, reason = "the dialect made it the caller")]
    user_id: String,
    /// What to search for.
    query: String,
}

/// What was found, or why nothing was looked for.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Output {
    /// What was found.
    Found {
        /// The pages, best first.
        results: Vec<Page>,
        /// What was searched for.
        query: String,
    },
    /// No service is set up.
    NotConfigured {
        /// That it is not.
        error: &'static str,
    },
}

/// A page.
#[derive(Serialize, JsonSchema)]
pub struct Page {
    /// Its title.
    title: String,
    /// Its address.
    url: String,
    /// The part of it that answers.
    content: String,
    /// How well it answers, as the service says.
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
    type Arguments = Arguments;
    type Output = Output;

    fn run(context: Context<'_>, arguments: Arguments) -> Result<Reply> {
        let output = match context.engine.search_web(&arguments.query)? {
            Some(pages) => Output::Found {
                results: pages.into_iter().map(Page::from).collect(),
                query: arguments.query,
            },
            None => Output::NotConfigured {
                error: NOT_CONFIGURED,
            },
        };
        Ok(Reply::json(crate::tool::to_value(&output)?))
    }
}

//! A server with the tools, prompts and resources that the official MCP conformance suite expects,
//! on the router, the middleware and the configuration of the product. `tests/conformance/run.sh`
//! runs it.
//!
//! `LOCI_FIXTURE_SESSIONS=1` switches sessions on, for the scenarios of revision 2025-11-25 in
//! which a server sends requests to its client.

mod content;
mod rounds;

use std::collections::HashSet;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use loci_core::Timestamp;
use loci_engine::{Engine, SearchMode};
use loci_server::{Authentication, Host, HttpConfig, HttpServer};
use loci_testkit::{FixedClock, HashingEmbedder, NaiveStore};
use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, CompletionInfo,
    ErrorData, GetPromptRequestParams, GetPromptResponse, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities,
    ServerConfig, SetLevelRequestMethod, SubscribeRequestParams, SubscriptionFilter, Tool,
    UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, RoleServer, SubscriptionContext};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::broadcast;

/// The lists of tools, prompts and resources of the fixture.
static DEFINITIONS: LazyLock<Value> = LazyLock::new(|| {
    let mut definitions: Value =
        serde_json::from_str(include_str!("definitions.json")).unwrap_or_default();
    for tool in definitions["tools"].as_array_mut().into_iter().flatten() {
        if tool["inputSchema"].is_null() {
            tool["inputSchema"] = json!({"type": "object", "properties": {}});
        }
    }
    definitions
});

/// Converts JSON to a type of the protocol.
fn typed<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value)
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context
        .protocol_version()
        .is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

/// A list change that is announced to listeners.
#[derive(Clone, Copy)]
enum ListChange {
    Tools,
    Prompts,
}

/// The state that all requests share.
#[derive(Clone)]
struct Fixture {
    changes: broadcast::Sender<ListChange>,
    /// States that were given out and not yet returned.
    states: Arc<Mutex<HashSet<String>>>,
    states_given: Arc<AtomicU64>,
}

impl Fixture {
    fn new() -> Self {
        Fixture {
            changes: broadcast::Sender::new(16),
            states: Arc::default(),
            states_given: Arc::default(),
        }
    }

    /// Returns a new state that only this server can have given out.
    fn give_state(&self, round: &str) -> String {
        let state = format!(
            "{round}-{}",
            self.states_given.fetch_add(1, Ordering::Relaxed)
        );
        self.states
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(state.clone());
        state
    }

    /// Returns the round of a returned state and forgets the state: each is accepted once.
    fn take_state(&self, state: &str) -> Result<String, ErrorData> {
        if self
            .states
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(state)
        {
            return Ok(state.split('-').next().unwrap_or_default().to_owned());
        }
        Err(ErrorData::invalid_params(
            "this request state was not given out here",
            None,
        ))
    }
}

impl ServerHandler for Fixture {
    fn get_info(&self) -> ServerConfig {
        let capabilities = json!({
            "tools": {"listChanged": true},
            "prompts": {"listChanged": true},
            "resources": {"subscribe": true},
            "completions": {},
            "logging": {},
        });
        ServerConfig::new(typed::<ServerCapabilities>(capabilities).unwrap_or_default())
    }

    #[expect(deprecated, reason = "the suite for 2025-11-25 asks for it")]
    async fn set_level(
        &self,
        _request: rmcp::model::SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if is_modern(&context) {
            Err(ErrorData::method_not_found::<SetLevelRequestMethod>())
        } else {
            Ok(())
        }
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(typed(
            DEFINITIONS["tools"].clone(),
        )?))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let tools: Vec<Tool> = typed(DEFINITIONS["tools"].clone()).ok()?;
        tools.into_iter().find(|tool| tool.name == name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if let Some(rounds) = rounds::call(self, &request, &context)? {
            return Ok(rounds);
        }
        content::call(self, request, context)
            .await
            .map(CallToolResponse::Complete)
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(typed(
            DEFINITIONS["prompts"].clone(),
        )?))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        if request.name == "test_input_required_result_prompt" {
            return rounds::prompt(&request);
        }
        content::prompt(&request).map(GetPromptResponse::Complete)
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(typed(
            DEFINITIONS["resources"].clone(),
        )?))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(typed(
            DEFINITIONS["resourceTemplates"].clone(),
        )?))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        content::read(&request.uri).map(ReadResourceResponse::Complete)
    }

    async fn subscribe(
        &self,
        _request: SubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn unsubscribe(
        &self,
        _request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let mut values = vec!["paris".to_owned(), "park".to_owned(), "party".to_owned()];
        values.retain(|value| value.starts_with(&request.argument.value));
        let completion = CompletionInfo::with_all_values(values);
        completion
            .map(CompleteResult::new)
            .map_err(|problem| ErrorData::internal_error(problem, None))
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = self.changes.subscribe();
        loop {
            let change = tokio::select! {
                () = context.cancelled() => return Ok(()),
                change = changes.recv() => change,
            };
            // The sink drops a notification that the client did not subscribe to.
            let _ = match change {
                Ok(ListChange::Tools) => context.sink().notify_tool_list_changed().await,
                Ok(ListChange::Prompts) => context.sink().notify_prompt_list_changed().await,
                Err(_) => return Ok(()),
            };
        }
    }
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let clock = Arc::new(FixedClock::new(Timestamp::from_microseconds(0)));
    let embedder = Arc::new(HashingEmbedder::new(8));
    let host = Host::new(Arc::new(Engine::new(
        Arc::new(NaiveStore::new()),
        embedder,
        clock,
        SearchMode::Words,
    )));
    let mut config = HttpConfig::new(Authentication::Anonymous);
    config.legacy_sessions = std::env::var_os("LOCI_FIXTURE_SESSIONS").is_some();
    let server = HttpServer::new(config, host).with_handler("fixture", Fixture::new());
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    writeln!(
        std::io::stderr(),
        "listening on http://{}",
        listener.local_addr()?
    )?;
    server.serve(listener, std::future::pending()).await;
    Ok(())
}

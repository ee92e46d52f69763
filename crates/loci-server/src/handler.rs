//! Serves a dialect as an MCP server.

mod app_views;
mod call_round;
mod question;
mod resource_read;
mod tool_call;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use http::request::Parts;
use loci_admission::Subject;
use loci_core::limits::COMPLETION_VALUES_MAX;
use loci_core::{Caller, Error, ErrorCode, Scope};
use loci_dialects::{Context, Dialect, Resources};
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CompleteRequestMethod,
    CompleteRequestParams, CompleteResult, CompletionInfo, ConstString, CustomRequest,
    CustomResult, DiscoverResult, ErrorCode as ProtocolErrorCode, Extensions,
    GetPromptRequestMethod, GetPromptRequestParams, GetPromptResponse, Implementation,
    InitializeRequestParams, InitializeResult, ListPromptsRequestMethod, ListPromptsResult,
    ListResourceTemplatesRequestMethod, ListResourceTemplatesResult, ListResourcesRequestMethod,
    ListResourcesResult, ListToolsResult, MetaObject, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, Reference, ResourcesCapability,
    ServerCapabilities, ServerConfig, SetLevelRequestMethod, SubscribeRequestMethod,
    SubscribeRequestParams, SubscriptionFilter, Tool, ToolsCapability, UnsubscribeRequestMethod,
    UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, RoleServer, SubscriptionContext};
use rmcp::{ErrorData, ServerHandler};
use serde_json::json;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::app_views::{add_to_list, are_shown_by};
use crate::catalog::{self, Catalog, is_modern};
use crate::error_reply::protocol_error;
use crate::host::{CallKind, Host};
use crate::mutex::lock;
use crate::request_context::{found, session_of};
use crate::subject::subject_of;
use crate::subscription;
use crate::tool_form::{self, ServedDialect};

/// The time that clients may cache a list, in milliseconds: lists change only with the version of
/// loci.
const LIST_TTL_MS: u64 = 300_000;

const SERVER_INFO_KEY: &str = "io.modelcontextprotocol/serverInfo";

/// Maps a dialect to the protocol, for every revision. Cheap to clone.
#[derive(Clone)]
pub struct DialectHandler {
    shared: Arc<HandlerState>,
}

struct HandlerState {
    dialect: &'static Dialect,
    served: ServedDialect,
    host: Arc<Host>,
    identity: Identity,
    catalog: OnceLock<Catalog>,
    /// Cancelled when this handler's service ends: with the host, or with its one client.
    ending: CancellationToken,
    /// The resources that the one client of a pipe subscribed to by `resources/subscribe`, by URI.
    subscribed: Mutex<HashMap<String, DropGuard>>,
}

/// The source of the caller's identity.
enum Identity {
    /// The one client at the other end of a pipe.
    Fixed(Caller),
    /// The caller that a layer in front of the handler found for each request.
    OfRequest,
}

impl DialectHandler {
    /// Returns a handler for one client that is known beforehand: the other end of a pipe.
    pub fn for_caller(served: ServedDialect, host: Arc<Host>, caller: Caller) -> Self {
        Self::new(served, host, Identity::Fixed(caller))
    }

    /// Returns a handler for requests whose [`Caller`] a layer in front put into the HTTP request's
    /// extensions. A request without one is refused.
    pub fn for_requests(dialect: &'static Dialect, host: Arc<Host>) -> Self {
        Self::new(dialect.into(), host, Identity::OfRequest)
    }

    fn new(served: ServedDialect, host: Arc<Host>, identity: Identity) -> Self {
        let ending = host.closing().child_token();
        let (catalog, subscribed) = (OnceLock::new(), Mutex::default());
        let shared = HandlerState {
            dialect: served.dialect,
            served,
            host,
            identity,
            catalog,
            ending,
            subscribed,
        };
        DialectHandler {
            shared: Arc::new(shared),
        }
    }

    /// Returns the token that is cancelled when this handler's service ends.
    pub(crate) fn ending(&self) -> &CancellationToken {
        &self.shared.ending
    }

    fn catalog(&self) -> &Catalog {
        self.shared
            .catalog
            .get_or_init(|| Catalog::of(&self.shared.served))
    }

    /// True if the client gets the compact form, by its handler or by the URL of its request.
    fn is_compact(&self, extensions: &Extensions) -> bool {
        let by_url = |parts: &Parts| -> bool { tool_form::asks_for_compact(parts.uri.query()) };
        self.shared.served.is_compact || extensions.get().is_some_and(by_url)
    }

    fn caller(&self, extensions: &Extensions) -> Result<Caller, ErrorData> {
        match &self.shared.identity {
            Identity::Fixed(caller) => Ok(caller.clone()),
            Identity::OfRequest => found::<Caller>(extensions)
                .map(|caller| Caller {
                    session: extensions.get().and_then(session_of),
                    ..caller
                })
                .ok_or_else(|| {
                    ErrorData::internal_error(
                        "the request reached the dialect without a caller",
                        None,
                    )
                }),
        }
    }

    /// Returns the caller for the dialect's resources if it may read.
    fn reader(&self, extensions: &Extensions) -> Result<Caller, ErrorData> {
        let caller = self.caller(extensions)?;
        if caller.principal.scopes.allow(Scope::Read) {
            return Ok(self.shared.dialect.caller(&caller));
        }
        let error = Error::new(
            ErrorCode::Forbidden,
            "resources need a token with the scope `read`",
        );
        Err(protocol_error(&error))
    }

    /// Returns the subject whose shares a request uses.
    fn subject(&self, extensions: &Extensions) -> Subject {
        let stranger = Subject::network(None);
        match &self.shared.identity {
            Identity::Fixed(caller) => Subject::of(caller, stranger),
            Identity::OfRequest => {
                let parts = extensions.get::<Parts>();
                parts.map_or(stranger, |parts| subject_of(&parts.extensions))
            }
        }
    }

    /// Returns the dialect's resources; if it has none, their methods do not exist.
    fn resources<M: ConstString>(&self) -> Result<&'static Resources, ErrorData> {
        self.shared
            .dialect
            .resources
            .as_ref()
            .ok_or_else(|| no_method(M::VALUE))
    }

    /// True if the client can be notified of changes outside of `subscriptions/listen`: over HTTP
    /// no connection outlives a request.
    fn has_pipe(&self) -> bool {
        matches!(self.shared.identity, Identity::Fixed(_))
    }

    /// True if this handler serves the method in that kind of revision.
    fn serves(&self, method: &str, modern: bool) -> bool {
        let has_resources = self.shared.dialect.resources.is_some();
        match method {
            "initialize" => !modern,
            "resources/subscribe" | "resources/unsubscribe" => {
                has_resources && !modern && self.has_pipe()
            }
            "subscriptions/listen" => has_resources && modern,
            "completion/complete" => has_resources,
            _ => has_resources || !method.starts_with("resources/"),
        }
    }

    async fn complete_resource(
        &self,
        resources: &'static Resources,
        (caller, subject): (Caller, Subject),
        uri: String,
        request: CompleteRequestParams,
    ) -> Result<Vec<String>, ErrorData> {
        let (argument, prefix) = (request.argument.name, request.argument.value);
        let named = (uri.clone(), argument.clone());
        let values = self
            .shared
            .host
            .call(&subject, CallKind::Reads, move |engine| {
                resources.complete(
                    Context {
                        engine,
                        caller: &caller,
                    },
                    &uri,
                    &argument,
                    &prefix,
                )
            });
        values
            .await
            .map_err(|error| protocol_error(&error))?
            .ok_or_else(|| {
                let message = format!(
                    "there is no resource template `{}` with a variable `{}`",
                    named.0, named.1
                );
                ErrorData::invalid_params(message, None)
            })
    }
}

impl ServerHandler for DialectHandler {
    fn get_info(&self) -> ServerConfig {
        let dialect = self.shared.dialect;
        let mut capabilities = ServerCapabilities::default();
        if !dialect.tools.is_empty() {
            capabilities.tools = Some(ToolsCapability::default());
        }
        if let Some(resources) = &dialect.resources {
            let mut capability = ResourcesCapability::default();
            capability.subscribe = Some(true);
            capabilities.resources = Some(capability);
            if !resources.templates.is_empty() {
                capabilities.completions = Some(serde_json::Map::new());
            }
        }
        let info = ServerConfig::new(capabilities).with_server_info(server_info(dialect));
        if dialect.instructions.is_empty() {
            info
        } else {
            info.with_instructions(self.shared.served.instructions())
        }
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        let mut result = self.negotiate_initialize(&request)?;
        let shows_views = are_shown_by(&request.capabilities);
        if shows_views && self.shared.host.app_pages().is_some() {
            app_views::add_to(&mut result.capabilities);
        }
        if !self.has_pipe()
            && let Some(resources) = &mut result.capabilities.resources
        {
            resources.subscribe = None;
        }
        Ok(result)
    }

    async fn discover(
        &self,
        context: RequestContext<RoleServer>,
    ) -> Result<DiscoverResult, ErrorData> {
        let versions = self.supported_protocol_versions().into_owned();
        let mut info = self.get_info();
        let has_views = self.app_pages(&context).is_some();
        if has_views {
            app_views::add_to(&mut info.capabilities);
        }
        let result = DiscoverResult::from_server_info(versions, info);
        Ok(result
            .with_ttl_ms(LIST_TTL_MS)
            .with_cache_scope(list_scope(has_views)))
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        refuse_cursor(request)?;
        let modern = is_modern(context.protocol_version().as_ref());
        let is_compact = self.is_compact(&context.extensions);
        let mut tools = self.catalog().tools(modern, is_compact);
        let has_views = self.app_pages(&context).is_some();
        if has_views {
            add_to_list(&self.shared.served, &mut tools);
        }
        let mut result = ListToolsResult::with_all_items(tools);
        if modern {
            result = result
                .with_ttl_ms(LIST_TTL_MS)
                .with_cache_scope(list_scope(has_views));
            result.meta = Some(stamp(self.shared.dialect));
        }
        Ok(result)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.catalog().tool(name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.call(request, context).await
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let has_views = self.app_pages(&context).is_some();
        let mut listed = match self.resources::<ListResourcesRequestMethod>() {
            Ok(resources) => catalog::fixed_resources(resources),
            Err(_) if has_views => Vec::new(),
            Err(error) => return Err(error),
        };
        refuse_cursor(request)?;
        if has_views {
            listed.extend(crate::app_views::resources());
        }
        let mut result = ListResourcesResult::with_all_items(listed);
        if is_modern(context.protocol_version().as_ref()) {
            result = result
                .with_ttl_ms(LIST_TTL_MS)
                .with_cache_scope(list_scope(has_views));
            result.meta = Some(stamp(self.shared.dialect));
        }
        Ok(result)
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let listed = match self.resources::<ListResourceTemplatesRequestMethod>() {
            Ok(resources) => catalog::resource_templates(resources),
            Err(_) if self.app_pages(&context).is_some() => Vec::new(),
            Err(error) => return Err(error),
        };
        refuse_cursor(request)?;
        let mut result = ListResourceTemplatesResult::with_all_items(listed);
        if is_modern(context.protocol_version().as_ref()) {
            result = result
                .with_ttl_ms(LIST_TTL_MS)
                .with_cache_scope(CacheScope::Public);
            result.meta = Some(stamp(self.shared.dialect));
        }
        Ok(result)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        self.read(request, context)
            .await
            .map(ReadResourceResponse::from)
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let resources = self.resources::<CompleteRequestMethod>()?;
        let caller = self.reader(&context.extensions)?;
        let Reference::Resource(reference) = &request.r#ref else {
            return Err(ErrorData::invalid_params(
                "loci has no prompts; complete a resource template",
                None,
            ));
        };
        let uri = reference.uri.clone();
        let subject = self.subject(&context.extensions);
        let mut values = self
            .complete_resource(resources, (caller, subject), uri, request)
            .await?;
        let total = u32::try_from(values.len()).unwrap_or(u32::MAX);
        let has_more = values.len() > COMPLETION_VALUES_MAX;
        values.truncate(COMPLETION_VALUES_MAX);
        let completion = CompletionInfo::with_pagination(values, Some(total), has_more)
            .map_err(|problem| ErrorData::internal_error(problem, None))?;
        let mut result = CompleteResult::new(completion);
        result.meta =
            is_modern(context.protocol_version().as_ref()).then(|| stamp(self.shared.dialect));
        Ok(result)
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(no_method(ListPromptsRequestMethod::VALUE))
    }

    async fn get_prompt(
        &self,
        _request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        Err(no_method(GetPromptRequestMethod::VALUE))
    }

    #[expect(deprecated, reason = "clients of revisions that have it still ask")]
    async fn set_level(
        &self,
        _request: rmcp::model::SetLevelRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Err(no_method(SetLevelRequestMethod::VALUE))
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let resources = self.shared.dialect.resources.as_ref()?;
        Some(subscription::accepted(resources, requested))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let caller = self.reader(&context.request_context().extensions)?;
        let resources = self.resources::<rmcp::model::SubscriptionsListenRequestMethod>()?;
        let subject = self.subject(&context.request_context().extensions);
        let listening =
            subscription::listen(&self.shared.host, resources, caller, subject, &context);
        tokio::select! {
            () = self.shared.ending.cancelled() => Ok(()),
            ended = listening => ended,
        }
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let resources = self.resources::<SubscribeRequestMethod>()?;
        if !self.has_pipe() {
            return Err(no_method(SubscribeRequestMethod::VALUE));
        }
        let caller = self.reader(&context.extensions)?;
        let ended = self.shared.ending.child_token();
        subscription::subscribe(
            &self.shared.host,
            resources,
            caller,
            &request.uri,
            context.peer,
            ended.clone(),
        )
        .await?;
        lock(&self.shared.subscribed).insert(request.uri, ended.drop_guard());
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if !self.has_pipe() || self.shared.dialect.resources.is_none() {
            return Err(no_method(UnsubscribeRequestMethod::VALUE));
        }
        lock(&self.shared.subscribed).remove(&request.uri);
        Ok(())
    }

    /// Answers a request that the SDK could not parse: an unknown method, or a known one with
    /// malformed parameters.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let modern = is_modern(context.protocol_version().as_ref());
        let method = request.method.as_str();
        let Some(expected) = expected_parameters(method).filter(|_| self.serves(method, modern))
        else {
            return Err(no_method(method));
        };
        Err(ErrorData::invalid_params(
            format!("the parameters of {method} are malformed: {expected}"),
            None,
        ))
    }
}

/// Returns who may keep a list: it is the same for every client of a revision, so that shared caches
/// may serve it, but for clients that show views.
fn list_scope(has_views: bool) -> CacheScope {
    if has_views {
        CacheScope::Private
    } else {
        CacheScope::Public
    }
}

/// Returns the error for a method that this server, or this revision of the protocol, lacks.
fn no_method(method: &str) -> ErrorData {
    let message = format!(
        "there is no method `{method}` here; the capabilities of this server say what it has"
    );
    ErrorData::new(ProtocolErrorCode::METHOD_NOT_FOUND, message, None)
}

/// Describes the parameters that a method expects.
fn expected_parameters(method: &str) -> Option<&'static str> {
    Some(match method {
        "tools/call" => "`name` must be a string and `arguments`, if given, an object",
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => {
            "`uri` must be a string"
        }
        "completion/complete" => {
            "`ref` must be a reference and `argument` an object with `name` and `value`"
        }
        "initialize" => "`protocolVersion`, `capabilities` and `clientInfo` are required",
        "tools/list" | "resources/list" | "resources/templates/list" => {
            "`cursor`, if given, must be a string"
        }
        "subscriptions/listen" => "`notifications` must be an object",
        _ => return None,
    })
}

/// Refuses a cursor: lists have one page, so no cursor was ever given out.
fn refuse_cursor(request: Option<PaginatedRequestParams>) -> Result<(), ErrorData> {
    match request.and_then(|request| request.cursor) {
        None => Ok(()),
        Some(_) => Err(ErrorData::invalid_params(
            "this list has one page; ask for it without `cursor`",
            None,
        )),
    }
}

fn server_info(dialect: &Dialect) -> Implementation {
    Implementation::new("loci", env!("CARGO_PKG_VERSION")).with_title(dialect.title)
}

/// Returns the metadata that names the server of a result (2026-07-28).
fn stamp(dialect: &Dialect) -> MetaObject {
    let mut meta = MetaObject::new();
    meta.insert(SERVER_INFO_KEY.to_owned(), json!(server_info(dialect)));
    meta
}

//! Calls a tool of the dialect and builds the result.

use loci_core::{Caller, Error, ErrorCode};
use loci_dialects::{Context, Hints, Reply, Tool, apps};
use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestMethod, CallToolRequestParams, CallToolResult, ConstString, ContentBlock,
    MetaObject,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Value, json};
use tracing::{Instrument, Span};

use super::{DialectHandler, HandlerState, stamp};
use crate::catalog::is_modern;
use crate::client_calls::{ClientCall, Transport};
use crate::error_reply::error_fields;
use crate::host::{CallKind, ReplyShare};
use crate::request_context::{client_name, found, unless_cancelled};
use crate::trace_context::{record_outcome, span_of_request};

/// Key of a notice about the result, e.g. that a search was incomplete.
const NOTICE_KEY: &str = "loci/notice";
/// Key of the explanations of a search's results, in the order of the results. Only for requests
/// that have this key with the value true in their own metadata: some hosts pass all metadata to
/// the model.
const HITS_KEY: &str = "loci/hits";
/// Key of what the view of a tool needs, for a client that shows views. The protocol keeps metadata
/// from models; it has ids and numbers alone, because some hosts do not.
const VIEW_KEY: &str = "loci/view";
/// Key of the error code and of further details for programs. They are not in `structuredContent`,
/// because clients validate that against the tool's `outputSchema` even for failures (the
/// TypeScript SDK 1.x).
const ERROR_KEY: &str = "loci/error";

/// The tool that a request names.
struct CalledTool {
    tool: &'static Tool,
    /// True if it is a tool of views.
    is_of_views: bool,
}

impl DialectHandler {
    /// Calls the tool that the request names. A failure of the tool is a result, too.
    pub(super) async fn call(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        let dialect = self.shared.dialect;
        let mut caller = self.caller(&context.extensions)?;
        let has_views = self.app_pages(&context).is_some();
        let CalledTool { tool, is_of_views } = self.called_tool(&request.name, has_views)?;
        self.note_client(&mut caller, &context);
        // A view reads the structured form, and no model reads the reply.
        let is_compact = !is_of_views && self.is_compact(&context.extensions);
        let wants_hits = context.meta.0.get(HITS_KEY) == Some(&Value::Bool(true));
        let arguments = request.arguments.unwrap_or_default();
        let view = has_views.then(|| apps::view_of(tool)).flatten();
        let user = view.and_then(|_| dialect.user_in(&arguments).map(str::to_owned));
        let share = found::<ReplyShare>(&context.extensions).unwrap_or_default();
        let subject = self.subject(&context.extensions);
        let call = self.shared.host.call_for_reply(
            &subject,
            &share,
            kind_of(tool.hints),
            |reply: &Reply| reply.texts().map(str::len).sum(),
            move |engine| {
                dialect.call(
                    tool,
                    Context {
                        engine,
                        caller: &caller,
                    },
                    arguments,
                )
            },
        );
        let modern = is_modern(context.protocol_version().as_ref());
        let mut meta = if modern {
            stamp(dialect)
        } else {
            MetaObject::new()
        };
        let span = self.span(CallToolRequestMethod::VALUE, Some(tool.name), &context);
        let outcome = unless_cancelled(&context, call)
            .instrument(span.clone())
            .await;
        record_outcome(&span, &outcome);
        let mut result = match outcome {
            Ok(mut reply) => {
                if let Some(notice) = &reply.notice {
                    meta.insert(NOTICE_KEY.to_owned(), json!(notice));
                }
                if view.is_some() {
                    meta.insert(VIEW_KEY.to_owned(), apps::beside(&reply, user.as_deref()));
                }
                let explanations = std::mem::take(&mut reply.explanations);
                if wants_hits && !explanations.is_empty() {
                    meta.insert(HITS_KEY.to_owned(), Value::Array(explanations));
                }
                self.catalog().result(tool.name, reply, modern, is_compact)
            }
            Err(error) => {
                log_fault(tool.name, &error);
                meta.insert(ERROR_KEY.to_owned(), error_fields(&error));
                CallToolResult::error(vec![ContentBlock::text(error.message)])
            }
        };
        result.meta = (!meta.is_empty()).then_some(meta);
        Ok(result)
    }

    /// Returns the tool that a request names: one of the dialect, or of views.
    fn called_tool(&self, name: &str, has_views: bool) -> Result<CalledTool, ErrorData> {
        let served = &self.shared.served;
        let called = |tool, is_of_views| CalledTool { tool, is_of_views };
        let of_views = || served.tool_of_views(name).filter(|_| has_views);
        served
            .tool(name)
            .map(|tool| called(tool, false))
            .or_else(|| of_views().map(|tool| called(tool, true)))
            .ok_or_else(|| {
                let message = format!("there is no tool `{name}` here; tools/list names the tools");
                ErrorData::invalid_params(message, None)
            })
    }

    /// Gives the caller the name of its client, and records which client calls, if that is due.
    fn note_client(&self, caller: &mut Caller, context: &RequestContext<RoleServer>) {
        caller.client = client_name(context);
        let client = caller.client.as_deref();
        let call = ClientCall::new(client, self.shared.dialect.name, self.transport());
        self.shared.host.note_client(call);
    }

    fn transport(&self) -> Transport {
        if self.has_pipe() {
            Transport::Stdio
        } else {
            Transport::Http
        }
    }

    /// Returns the span of a request with this method.
    pub(super) fn span(
        &self,
        method: &'static str,
        tool: Option<&str>,
        context: &RequestContext<RoleServer>,
    ) -> Span {
        let HandlerState { host, dialect, .. } = &*self.shared;
        let (set_parent, transport) = (host.set_parent(), self.transport());
        span_of_request(set_parent, dialect.name, method, tool, transport, context)
    }
}

/// Returns the kind of the calls of a tool with these hints.
fn kind_of(hints: Hints) -> CallKind {
    match hints {
        Hints {
            open_world: true, ..
        } => CallKind::Outside,
        Hints {
            read_only: true, ..
        } => CallKind::Reads,
        _ => CallKind::Writes,
    }
}

/// Logs a fault of loci itself, with its causes. The other errors are the caller's.
fn log_fault(tool: &str, error: &Error) {
    if error.code == ErrorCode::Internal {
        let error = error.chain();
        tracing::error!(tool, error, "a call failed inside loci");
    }
}

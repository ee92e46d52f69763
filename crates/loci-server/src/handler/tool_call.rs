//! Calls a tool of the dialect and builds the result.

use loci_core::{Caller, Error, ErrorCode};
use loci_dialects::{Context, Hints, Reply, Tool, apps};
use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestMethod, CallToolRequestParams, CallToolResponse, CallToolResult, ConstString,
    ContentBlock, MetaObject,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Value, json};
use tracing::{Instrument, Span};

use super::call_round::{CallEnd, ToolCall};
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
    /// Calls the tool that the request names. A failure of the tool is a result, too; so is a question
    /// to the person, after which the client repeats the call (2026-07-28).
    pub(super) async fn call(
        &self,
        mut request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let call = self.tool_call(&mut request, &context)?;
        let Some(asking) = self.asking(&call, &context) else {
            let outcome = self.run(&call, &context).await;
            return Ok(self.result(&call, outcome, &context).into());
        };
        // Few calls ask, and the others should not pay for the size of this one.
        match Box::pin(self.call_asking(&call, asking, request, &context)).await? {
            CallEnd::Done(outcome) => Ok(self.result(&call, *outcome, &context).into()),
            CallEnd::Asks(mut asks) => {
                asks.meta = Some(stamp(self.shared.dialect));
                Ok((*asks).into())
            }
        }
    }

    /// Returns the call that a request makes.
    fn tool_call(
        &self,
        request: &mut CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<ToolCall, ErrorData> {
        let dialect = self.shared.dialect;
        let mut caller = self.caller(&context.extensions)?;
        let has_views = self.app_pages(context).is_some();
        let CalledTool { tool, is_of_views } = self.called_tool(&request.name, has_views)?;
        self.note_client(&mut caller, context);
        let arguments = request.arguments.take().unwrap_or_default();
        Ok(ToolCall {
            tool,
            is_of_views,
            caller,
            subject: self.subject(&context.extensions),
            view: has_views.then(|| apps::view_of(tool)).flatten(),
            user: dialect.user_in(&arguments).map(str::to_owned),
            arguments,
        })
    }

    /// Runs a call.
    pub(super) async fn run(
        &self,
        call: &ToolCall,
        context: &RequestContext<RoleServer>,
    ) -> Result<Reply, Error> {
        let dialect = self.shared.dialect;
        let ToolCall {
            tool,
            caller,
            arguments,
            ..
        } = call.clone();
        let share = found::<ReplyShare>(&context.extensions).unwrap_or_default();
        let work = self.shared.host.call_for_reply(
            &call.subject,
            &share,
            kind_of(tool.hints),
            |reply: &Reply| reply.texts().map(str::len).sum(),
            move |engine| {
                let context = Context {
                    engine,
                    caller: &caller,
                };
                dialect.call(tool, context, arguments)
            },
        );
        let span = self.span(CallToolRequestMethod::VALUE, Some(tool.name), context);
        let outcome = unless_cancelled(context, work)
            .instrument(span.clone())
            .await;
        record_outcome(&span, &outcome);
        outcome
    }

    /// Returns the result of a call for its client.
    fn result(
        &self,
        call: &ToolCall,
        outcome: Result<Reply, Error>,
        context: &RequestContext<RoleServer>,
    ) -> CallToolResult {
        let modern = is_modern(context.protocol_version().as_ref());
        // A view reads the structured form, and no model reads the reply.
        let is_compact = !call.is_of_views && self.is_compact(&context.extensions);
        let wants_hits = context.meta.0.get(HITS_KEY) == Some(&Value::Bool(true));
        let mut meta = if modern {
            stamp(self.shared.dialect)
        } else {
            MetaObject::new()
        };
        let mut result = match outcome {
            Ok(mut reply) => {
                if let Some(notice) = &reply.notice {
                    meta.insert(NOTICE_KEY.to_owned(), json!(notice));
                }
                if call.view.is_some() {
                    let beside = apps::beside(&reply, call.user.as_deref());
                    meta.insert(VIEW_KEY.to_owned(), beside);
                }
                let explanations = std::mem::take(&mut reply.explanations);
                if wants_hits && !explanations.is_empty() {
                    meta.insert(HITS_KEY.to_owned(), Value::Array(explanations));
                }
                let name = call.tool.name;
                self.catalog().result(name, reply, modern, is_compact)
            }
            Err(error) => {
                log_fault(call.tool.name, &error);
                meta.insert(ERROR_KEY.to_owned(), error_fields(&error));
                CallToolResult::error(vec![ContentBlock::text(error.message)])
            }
        };
        result.meta = (!meta.is_empty()).then_some(meta);
        result
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

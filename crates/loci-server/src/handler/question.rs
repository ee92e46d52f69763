//! Calls of clients that show questions to their person.

use std::time::Duration;

use loci_core::{Caller, Error};
use loci_dialects::questions::{PersonAnswer, Question};
use loci_dialects::{Context, Reply};
use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, CancelledNotification, CancelledNotificationParam, CustomRequest,
    InputRequiredResult, ProtocolVersion, RequestId, ServerRequest,
};
use rmcp::service::{Peer, PeerRequestOptions, RequestContext, RoleServer, ServiceError};
use serde_json::Value;

use super::DialectHandler;
use super::call_round::{CallEnd, ToolCall};
use crate::catalog::is_modern;
use crate::client_session::ClientSession;
use crate::host::CallKind;
use crate::questions::{
    self, ANSWER_KEY, AskedStream, CallKey, DoneCall, answer_in, client_ended, in_time,
    input_requests, is_inability, request_parameters,
};
use crate::request_context::{found, unless_cancelled};

/// The route of a call to the person.
pub(super) struct QuestionRoute {
    way: QuestionForm,
    limit: Duration,
    /// The session whose questions are counted.
    session: String,
}

/// The way of a question.
enum QuestionForm {
    /// The call is repeated with the answer.
    Rounds,
    /// A request to the client at the other end of a pipe.
    Pipe(Peer<RoleServer>, ProtocolVersion),
    /// A request in the event stream that is the reply.
    Stream(AskedStream, ProtocolVersion),
}

/// A question on its way back to the call that raised it.
struct PendingQuestion {
    question: Question,
    /// The work of the call before it asked; `None` if it did nothing yet.
    done: Option<DoneCall>,
}

impl DialectHandler {
    /// Returns how a call can ask the person; `None` if its client shows no questions, or the
    /// installation asks none. A person who uses a view is asked by the view.
    pub(super) fn asking(
        &self,
        call: &ToolCall,
        context: &RequestContext<RoleServer>,
    ) -> Option<QuestionRoute> {
        let limit = self.shared.host.questions().limit()?;
        let version = context.protocol_version()?;
        if call.is_of_views || !questions::exist_in(Some(&version)) {
            return None;
        }
        let declares = context
            .client_capabilities()
            .is_some_and(|declared| questions::are_shown_by(&declared));
        let way = if is_modern(Some(&version)) {
            declares.then_some(QuestionForm::Rounds)
        } else if self.has_pipe() {
            declares.then(|| QuestionForm::Pipe(context.peer.clone(), version))
        } else {
            let parts = context.extensions.get::<http::request::Parts>();
            let session = parts.and_then(ClientSession::of);
            let stream = session
                .filter(|session| session.shows_forms)
                .and_then(|_| found::<AskedStream>(&context.extensions));
            stream.map(|stream| QuestionForm::Stream(stream, version))
        };
        Some(QuestionRoute {
            way: way?,
            limit,
            session: session_name(&call.caller),
        })
    }

    /// Runs a call that may ask the person once, before it runs or after.
    pub(super) async fn call_asking(
        &self,
        call: &ToolCall,
        asking: QuestionRoute,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallEnd, ErrorData> {
        if let (QuestionForm::Rounds, Some(state)) = (&asking.way, &request.request_state) {
            let answers = request.input_responses.unwrap_or_default();
            let answer = answers.get(ANSWER_KEY).unwrap_or(&Value::Null);
            return self.repeated(call, state, answer, context).await;
        }
        let asks_before = call.tool.hints.destructive;
        if asks_before && let Some(question) = self.question_before(call).await {
            let asked = PendingQuestion {
                question,
                done: None,
            };
            return Ok(self.ask(call, &asking, asked, context).await);
        }
        let mut reply = match self.run(call, context).await {
            Ok(reply) => reply,
            Err(error) => return Ok(CallEnd::done(Err(error))),
        };
        let raised = match reply.question.take() {
            Some(raised) => Some((raised.question, raised.decided)),
            None => self
                .question_of_session(call, &asking)
                .await
                .map(|question| (question, reply.clone())),
        };
        let Some((question, decided)) = raised else {
            return Ok(CallEnd::done(Ok(reply)));
        };
        let done = Some(DoneCall { reply, decided });
        Ok(self
            .ask(call, &asking, PendingQuestion { question, done }, context)
            .await)
    }

    /// Asks the person, and goes on as they answer; without a question if they were asked often enough.
    async fn ask(
        &self,
        call: &ToolCall,
        asking: &QuestionRoute,
        asked: PendingQuestion,
        context: &RequestContext<RoleServer>,
    ) -> CallEnd {
        let questions = self.shared.host.questions();
        let question = &asked.question;
        if !questions.count(&asking.session) {
            return CallEnd::done(self.unasked(call, asked.done, context).await);
        }
        let answer = match &asking.way {
            QuestionForm::Rounds => {
                let PendingQuestion { question, done } = asked;
                let key = self.key_of(call);
                let requests = input_requests(&question).ok();
                let kept = requests.and_then(|requests| {
                    let state = questions.open(key, question, done.clone())?;
                    Some(InputRequiredResult::new(Some(requests), Some(state)))
                });
                return match kept {
                    Some(result) => CallEnd::Asks(Box::new(result)),
                    None => CallEnd::done(self.unasked(call, done, context).await),
                };
            }
            QuestionForm::Pipe(peer, version) => {
                let asked = ask_peer(peer, question, version, asking.limit);
                self.unless_gone(context, asked).await
            }
            QuestionForm::Stream(stream, version) => {
                let asked = stream.ask(questions, &call.caller, question, version, asking.limit);
                self.unless_gone(context, asked).await
            }
        };
        match answer {
            Ok(answer) => CallEnd::done(self.answered(call, asked, answer, context).await),
            // The reply has no reader; a call that did not run yet does not.
            Err(gone) => CallEnd::done(asked.done.map(|done| done.reply).ok_or(gone)),
        }
    }

    /// Stops waiting for the person when the client is gone, the call is cancelled, or service ends.
    async fn unless_gone(
        &self,
        context: &RequestContext<RoleServer>,
        asked: impl Future<Output = Result<PersonAnswer, Error>>,
    ) -> Result<PersonAnswer, Error> {
        let asked = async {
            tokio::select! {
                () = self.ending().cancelled() => Err(client_ended()),
                answer = asked => answer,
            }
        };
        unless_cancelled(context, asked).await
    }

    /// Ends a call without a question, as if the client could not ask.
    async fn unasked(
        &self,
        call: &ToolCall,
        done: Option<DoneCall>,
        context: &RequestContext<RoleServer>,
    ) -> Result<Reply, Error> {
        match done {
            Some(done) => Ok(done.reply),
            None => self.run(call, context).await,
        }
    }

    /// Goes on with a call that is repeated with an answer.
    async fn repeated(
        &self,
        call: &ToolCall,
        state: &str,
        answer: &Value,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallEnd, ErrorData> {
        let questions = self.shared.host.questions();
        let taken = questions.take(state, &self.key_of(call));
        let Some((open, is_late)) = taken else {
            let message = "`requestState` is of no question that waits for an answer to this call: it was answered, or \
                           asked too long ago or by another server. A memory that the call stored before it asked is there: look \
                           before you call again, without `requestState`";
            return Err(ErrorData::invalid_params(message, None));
        };
        let answer = in_time(answer_in(answer, &open.question), is_late, &open.question);
        let (question, done) = (open.question, open.done);
        let asked = PendingQuestion { question, done };
        Ok(CallEnd::done(
            self.answered(call, asked, answer, context).await,
        ))
    }

    fn key_of(&self, call: &ToolCall) -> CallKey {
        let arguments = Value::Object(call.arguments.clone());
        CallKey::of(
            &call.caller,
            self.shared.dialect.name,
            call.tool.name,
            &arguments,
        )
    }

    /// Ends a call as the person answered.
    async fn answered(
        &self,
        call: &ToolCall,
        PendingQuestion { question, done }: PendingQuestion,
        answer: PersonAnswer,
        context: &RequestContext<RoleServer>,
    ) -> Result<Reply, Error> {
        let Some(DoneCall { reply, decided }) = done else {
            return match question.refusal(answer) {
                Some(error) => Err(self.refused(call, error).await),
                None => self.run(call, context).await,
            };
        };
        let PersonAnswer::Chosen(chosen) = answer else {
            return Ok(reply.with_notice(Some(question.undecided(answer).to_owned())));
        };
        let agrees = question.is_agreement_to_checkout(answer);
        let checkout = self.shared.host.questions().checkout().filter(|_| agrees);
        let decision = self.with_engine(call, CallKind::Writes, move |dialect, call, context| {
            if let Some(checkout) = checkout {
                checkout.agree()?;
            }
            dialect.decide(context, &question, chosen, call.user.as_deref())
        });
        Ok(match decision.await {
            Ok(told) => decided.with_notice(Some(told)),
            Err(error) => reply.with_notice(Some(format!(
                "the person was asked, and chose `{chosen}`, which failed: {}",
                error.message
            ))),
        })
    }

    /// Records that a call was not run because the person does not want it.
    async fn refused(&self, call: &ToolCall, error: Error) -> Error {
        let refusal = error.clone();
        let refused = self.with_engine(call, CallKind::Writes, |dialect, call, context| {
            Ok(dialect.refuse(call.tool, context, call.arguments, refusal))
        });
        if let Err(failure) = refused.await {
            tracing::warn!(tool = call.tool.name, %failure, "a call that the person refused may not stand in the audit log");
        }
        error
    }

    /// Returns the question that a call raises before it runs, if it raises one.
    async fn question_before(&self, call: &ToolCall) -> Option<Question> {
        let found = self.with_engine(call, CallKind::Reads, |dialect, call, context| {
            Ok(dialect.question_before(call.tool, context, call.arguments))
        });
        found.await.ok().flatten()
    }

    /// Returns a question that no call raises, once for a session, with one of its usual calls: whether
    /// the wing counts that a checkout names for itself, or about an author.
    async fn question_of_session(
        &self,
        call: &ToolCall,
        asking: &QuestionRoute,
    ) -> Option<Question> {
        let is_usual = self.shared.dialect.usual_tools.include(call.tool.name);
        let questions = self.shared.host.questions();
        if !is_usual || !questions.looks_first(&asking.session) {
            return None;
        }
        let checkout = questions.checkout();
        let found = self.with_engine(call, CallKind::Reads, move |dialect, _, context| {
            let named = checkout.and_then(|checkout| checkout.question());
            let named = named.map(|question| dialect.unanswered(context, question));
            match named.transpose()?.flatten() {
                Some(question) => Ok(Some(question)),
                None => dialect.question_of_author(context),
            }
        });
        found.await.ok().flatten()
    }

    /// Runs work for a call beside it.
    async fn with_engine<T: Send + 'static>(
        &self,
        call: &ToolCall,
        kind: CallKind,
        work: impl FnOnce(&'static loci_dialects::Dialect, ToolCall, Context<'_>) -> Result<T, Error>
        + Send
        + 'static,
    ) -> Result<T, Error> {
        let (dialect, owned) = (self.shared.dialect, call.clone());
        self.shared
            .host
            .call(&call.subject, kind, move |engine| {
                let caller = owned.caller.clone();
                let context = Context {
                    engine,
                    caller: &caller,
                };
                work(dialect, owned, context)
            })
            .await
    }
}

/// Returns the name of the session whose questions are counted: over HTTP without sessions, of the
/// program that calls.
fn session_name(caller: &Caller) -> String {
    let principal = &caller.principal;
    let session = caller.session.as_deref().or(caller.client.as_deref());
    format!(
        "{:?} {:?} {:?} {session:?}",
        caller.space, principal.subject, principal.actor
    )
}

/// Asks the person of the client at the other end of a pipe.
///
/// # Errors
/// `unavailable` if the client ended before its person answered.
async fn ask_peer(
    peer: &Peer<RoleServer>,
    question: &Question,
    version: &ProtocolVersion,
    limit: Duration,
) -> Result<PersonAnswer, Error> {
    let parameters = request_parameters(question, version);
    let request = CustomRequest::new("elicitation/create", Some(parameters));
    let request = ServerRequest::CustomRequest(request);
    let options = PeerRequestOptions::no_options();
    let sent = peer.send_cancellable_request(request, options).await;
    let handle = sent.map_err(|_| client_ended())?;
    let mut over = CancelledQuestion {
        peer: peer.clone(),
        question: Some(handle.id.clone()),
    };
    let Ok(response) = tokio::time::timeout(limit, handle.await_response()).await else {
        return Ok(PersonAnswer::Missing);
    };
    over.question = None;
    match response {
        Ok(result) => {
            let result = serde_json::to_value(result).unwrap_or_default();
            Ok(answer_in(&result, question))
        }
        Err(ServiceError::McpError(error)) if is_inability(&error) => Ok(PersonAnswer::Missing),
        Err(_) => Err(client_ended()),
    }
}

/// Tells the client that its person need not answer any more, unless they did.
struct CancelledQuestion {
    peer: Peer<RoleServer>,
    question: Option<RequestId>,
}

impl Drop for CancelledQuestion {
    fn drop(&mut self) {
        let Some(question) = self.question.take() else {
            return;
        };
        let peer = self.peer.clone();
        let reason = "the person need not answer any more".to_owned();
        let parameters = CancelledNotificationParam::new(Some(question), Some(reason));
        tokio::spawn(async move {
            // The client may be gone.
            let notification = CancelledNotification::new(parameters);
            let _ = peer.send_notification(notification.into()).await;
        });
    }
}

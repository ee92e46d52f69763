//! MCP over a pair of pipes: one message per line.
//!
//! Lines are parsed here and not by the SDK, which skips invalid ones: a client that waits for an
//! answer would wait forever. Here every line is answered or is a notification.

mod lines;

use std::collections::{HashMap, HashSet};
use std::io;
use std::pin::pin;
use std::sync::{Arc, Mutex};

use loci_admission::Subject;
use loci_core::limits::{CALLS_IN_FLIGHT_MAX, REQUEST_BYTES_MAX, SUBSCRIPTIONS_MAX};
use loci_core::{Caller, Space};
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorCode, GetExtensions, GetMeta,
    ProtocolVersion, RequestId, ServerJsonRpcMessage, ServerResult,
};
use rmcp::service::{RoleServer, ServerInitializeError};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncBufRead, AsyncRead, AsyncWrite, BufReader};
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;

use lines::{Line, LineEnd, read_line, write_lines};

use crate::connections::{REFUSAL_TIMEOUT, SHUTDOWN_TIMEOUT};
use crate::error_reply::protocol_error;
use crate::handler::DialectHandler;
use crate::host::{self, Host, ReplyShare};
use crate::message::{self, ClientInput, Refusal, Text};
use crate::mutex::lock;
use crate::request_share::RequestShare;
use crate::subscription::{RequestVersion, is_listen};
use crate::tool_form::ServedDialect;

/// The maximum number of requests that are read before earlier ones are answered: those at work, as
/// many waiting, and subscriptions, which are answered when they end.
const IN_FLIGHT_MAX: usize = 2 * CALLS_IN_FLIGHT_MAX + SUBSCRIPTIONS_MAX;
/// The capacity of the queue of messages for the SDK, and of the queue of lines for the client.
const QUEUE_MAX: usize = 16;

/// Serves one client until it closes its end or the host closes; replies to requests read until
/// then are written first, if the client reads them within some seconds. Only the protocol is
/// written to `writer`. When the host closes, calls have little more than a second to end, and are
/// refused after it.
///
/// # Errors
/// `BrokenPipe`, or the error of the writer, as soon as a reply cannot be written; and any other
/// reason why the service ends, except the end of input or the closing of the host.
pub async fn serve_stdio(
    dialect: impl Into<ServedDialect>,
    host: Arc<Host>,
    caller: Caller,
    reader: impl AsyncRead + Send + Unpin + 'static,
    writer: impl AsyncWrite + Send + Unpin + 'static,
) -> io::Result<()> {
    let (replies, lines) = mpsc::channel(QUEUE_MAX);
    let (incoming, messages) = mpsc::channel(QUEUE_MAX);
    let closing = host.closing().clone();
    let space = caller.space.clone();
    let subject = Subject::of(&caller, Subject::network(None));
    let handler = DialectHandler::for_caller(dialect.into(), Arc::clone(&host), caller);
    let session = Arc::new(StdioSession {
        state: Mutex::default(),
        answered: Notify::new(),
        replies,
        host,
        space,
        subject,
    });
    let (ending, over) = (handler.ending().clone(), CancellationToken::new());
    let mut writing = tokio::spawn(write_lines(writer, lines, ending.clone(), over.clone()));
    let reading = tokio::spawn(read_messages(
        BufReader::new(reader),
        Arc::clone(&session),
        incoming,
        ending.clone(),
    ));
    let refused = cut_off(Arc::clone(&session));
    let serving = async {
        match rmcp::serve_server(handler, PipeTransport { messages, session }).await {
            Ok(service) => service
                .waiting()
                .await
                .map(|_| ())
                .map_err(io::Error::other),
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(io::Error::other(error)),
        }
    };
    let outcome = tokio::select! {
        outcome = serving => outcome,
        () = refused => Ok(()),
        // No client would see the answers of further calls, and a client that keeps its other end
        // open would cause them to run for nothing.
        written = &mut writing => {
            reading.abort();
            ending.cancel();
            let written = written.unwrap_or_else(|error| Err(io::Error::other(error)));
            // A client that closed its end and does not read is not a failure of the service.
            return written.or_else(|error| if error.kind() == io::ErrorKind::TimedOut { Ok(()) } else { Err(error) });
        }
    };
    reading.abort();
    ending.cancel();
    over.cancel();
    let given_up = async {
        closing.cancelled().await;
        tokio::time::sleep(REFUSAL_TIMEOUT).await;
    };
    // The service has not failed if the client does not read the last replies.
    tokio::select! {
        _ = writing => {}
        () = given_up => {}
    }
    outcome
}

/// Waits until the host closes and calls had their time to end, and refuses unfinished ones.
async fn cut_off(session: Arc<StdioSession>) {
    session.host.closing().cancelled().await;
    tokio::time::sleep(SHUTDOWN_TIMEOUT).await;
    let refused = async {
        let ids: Vec<_> = lock(&session.state).in_flight.keys().cloned().collect();
        for id in ids {
            let refusal = ServerJsonRpcMessage::error(protocol_error(&host::cut_off()), Some(id));
            if let Some(line) = session.line_for(&refusal)? {
                session.write(line).await?;
            }
        }
        io::Result::Ok(())
    };
    // Sending fails if the client does not read.
    let _ = tokio::time::timeout(REFUSAL_TIMEOUT, refused).await;
}

/// The state that the reading and the writing side share.
struct StdioSession {
    state: Mutex<State>,
    answered: Notify,
    replies: mpsc::Sender<Line>,
    host: Arc<Host>,
    /// The space of the caller.
    space: Space,
    subject: Subject,
}

#[derive(Default)]
struct State {
    /// Requests that were read and not answered.
    in_flight: HashMap<RequestId, InFlight>,
    batches: HashMap<u64, Batch>,
    batches_begun: u64,
    /// The revision that the handshake negotiated.
    negotiated: Option<ProtocolVersion>,
    /// True once the SDK has received the message that opens its session. Before that, anything but
    /// a request would end the service.
    opened: bool,
}

/// The batch that the reply to a request belongs to, and its shares of the budgets.
#[derive(Clone, Default)]
struct InFlight {
    batch: Option<u64>,
    share: ReplyShare,
    /// `None` once the SDK has a subscription.
    request: Option<Arc<RequestShare>>,
}

#[derive(Default)]
struct Batch {
    waiting: usize,
    replies: Vec<Value>,
}

impl State {
    /// Adds a reply to its batch; returns the replies of the batch when they are complete.
    fn complete(&mut self, batch: u64, reply: Option<Value>) -> Option<Vec<Value>> {
        let entry = self.batches.get_mut(&batch)?;
        entry.replies.extend(reply);
        entry.waiting -= 1;
        if entry.waiting > 0 {
            return None;
        }
        self.batches.remove(&batch).map(|batch| batch.replies)
    }
}

impl StdioSession {
    /// Returns the line for an outgoing message, if it should be written now, and removes the
    /// request that it answers.
    fn line_for(&self, message: &ServerJsonRpcMessage) -> io::Result<Option<Line>> {
        let mut state = lock(&self.state);
        if let ServerJsonRpcMessage::Response(response) = message
            && let ServerResult::InitializeResult(result) = &response.result
        {
            state.negotiated = Some(result.protocol_version.clone());
        }
        let id = match message {
            ServerJsonRpcMessage::Response(response) => Some(&response.id),
            ServerJsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        let in_flight = id.map_or_else(
            || Some(InFlight::default()),
            |id| state.in_flight.remove(id),
        );
        // The request was refused or cancelled since.
        let Some(InFlight { batch, share, .. }) = in_flight else {
            return Ok(None);
        };
        self.answered.notify_waiters();
        match batch {
            None => Line::of(message, share).map(Some),
            Some(batch) => {
                let reply = serde_json::to_value(message)?;
                state
                    .complete(batch, Some(reply))
                    .map(|replies| Line::of(&replies, share))
                    .transpose()
            }
        }
    }

    /// Removes a request that the client cancelled: the SDK will not answer it. Returns the replies
    /// of its batch if these are complete without it.
    fn cancelled(&self, id: &RequestId) -> io::Result<Option<Line>> {
        let mut state = lock(&self.state);
        let Some(InFlight { batch, share, .. }) = state.in_flight.remove(id) else {
            return Ok(None);
        };
        self.answered.notify_waiters();
        let replies = batch
            .and_then(|batch| state.complete(batch, None))
            .filter(|replies| !replies.is_empty());
        replies.map(|replies| Line::of(&replies, share)).transpose()
    }

    /// Waits until fewer than `limit` requests are unanswered.
    async fn fewer_than(&self, limit: usize) {
        loop {
            let mut answered = pin!(self.answered.notified());
            answered.as_mut().enable();
            if lock(&self.state).in_flight.len() < limit {
                return;
            }
            answered.await;
        }
    }

    async fn reply(&self, reply: &impl serde::Serialize) -> io::Result<()> {
        self.write(Line::of(reply, ReplyShare::default())?).await
    }

    async fn write(&self, line: Line) -> io::Result<()> {
        self.replies
            .send(line)
            .await
            .map_err(|error| io::Error::new(io::ErrorKind::BrokenPipe, error))
    }
}

/// The SDK's transport over the pipes.
struct PipeTransport {
    messages: mpsc::Receiver<ClientJsonRpcMessage>,
    session: Arc<StdioSession>,
}

impl Transport<RoleServer> for PipeTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let session = Arc::clone(&self.session);
        async move {
            let line = session.line_for(&message)?;
            // The line may wait for a long time, and the message is not needed any more.
            drop(message);
            match line {
                None => Ok(()),
                Some(line) => session.write(line).await,
            }
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        self.messages.recv().await
    }

    async fn close(&mut self) -> io::Result<()> {
        self.messages.close();
        Ok(())
    }
}

/// Reads lines until the end of input or of service, then waits until all requests are answered.
async fn read_messages(
    mut reader: impl AsyncBufRead + Unpin,
    session: Arc<StdioSession>,
    incoming: mpsc::Sender<ClientJsonRpcMessage>,
    ending: CancellationToken,
) {
    let mut line = Vec::new();
    loop {
        session.fewer_than(IN_FLIGHT_MAX).await;
        let end = tokio::select! {
            () = ending.cancelled() => break,
            end = read_line(&mut reader, &mut line) => end,
        };
        let taken = match end {
            Ok(LineEnd::Complete) => take_line(&Text::of(&line), &session, &incoming).await,
            Ok(LineEnd::TooLong) => {
                session
                    .reply(&Refusal::too_long(&line, REQUEST_BYTES_MAX).into_json())
                    .await
            }
            Ok(LineEnd::EndOfInput) => break,
            Err(error) => Err(error),
        };
        if let Err(error) = taken {
            tracing::debug!(%error, "the pipe broke");
            break;
        }
        line.clear();
        line.shrink_to(READ_BUFFER_KEPT_BYTES);
    }
    // Subscriptions end with the service; everything else is answered first.
    ending.cancel();
    session.fewer_than(1).await;
}

/// The maximum bytes that stay allocated after a long line.
const READ_BUFFER_KEPT_BYTES: usize = 64 << 10;

async fn take_line(
    line: &Text<&Vec<u8>>,
    session: &StdioSession,
    incoming: &mpsc::Sender<ClientJsonRpcMessage>,
) -> io::Result<()> {
    if line.bytes.iter().all(u8::is_ascii_whitespace) {
        return Ok(());
    }
    let request = session
        .host
        .requests()
        .hold_line(line, &session.subject)
        .await
        .map(Arc::new);
    let in_flight = InFlight {
        request,
        ..InFlight::default()
    };
    match message::read(line) {
        Ok(ClientInput::Message(mut message, _)) => match admit(&mut message, in_flight, session) {
            Ok(true) => forward(*message, session, incoming).await,
            Ok(false) => Ok(()),
            Err(refusal) => session.reply(&refusal.into_json()).await,
        },
        Ok(ClientInput::Batch(elements)) => {
            take_batch(&elements, in_flight, session, incoming).await
        }
        Err(refusal) => session.reply(&refusal.into_json()).await,
    }
}

/// Registers a request as in flight. Returns true if the message may be passed to the SDK.
fn admit(
    message: &mut ClientJsonRpcMessage,
    in_flight: InFlight,
    session: &StdioSession,
) -> Result<bool, Refusal> {
    let mut state = lock(&session.state);
    let ClientJsonRpcMessage::Request(request) = message else {
        return Ok(state.opened);
    };
    if state.in_flight.contains_key(&request.id) {
        let message = "a request with this id is not answered yet; give every request its own id";
        return Err(Refusal::new(
            Some(request.id.clone()),
            ErrorCode::INVALID_REQUEST,
            message,
        ));
    }
    request
        .request
        .extensions_mut()
        .insert(in_flight.share.clone());
    state.in_flight.insert(request.id.clone(), in_flight);
    state.opened |= match &request.request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::DiscoverRequest(_) | ClientRequest::PingRequest(_) => false,
        other => other
            .get_meta()
            .missing_required_keys(&ProtocolVersion::V_2026_07_28)
            .is_empty(),
    };
    Ok(true)
}

async fn forward(
    mut message: ClientJsonRpcMessage,
    session: &StdioSession,
    incoming: &mpsc::Sender<ClientJsonRpcMessage>,
) -> io::Result<()> {
    let mut subscription = None;
    if is_listen(&message)
        && let ClientJsonRpcMessage::Request(request) = &mut message
    {
        request.request.extensions_mut().insert(
            RequestVersion::now(&session.host, &session.subject, session.space.clone()).await,
        );
        subscription = Some(request.id.clone());
    }
    let cancelled = match &message {
        ClientJsonRpcMessage::Notification(notification) => match &notification.notification {
            ClientNotification::CancelledNotification(cancelled) => {
                cancelled.params.request_id.clone()
            }
            _ => None,
        },
        _ => None,
    };
    incoming
        .send(message)
        .await
        .map_err(|error| io::Error::new(io::ErrorKind::BrokenPipe, error))?;
    if let Some(id) = subscription
        && let Some(in_flight) = lock(&session.state).in_flight.get_mut(&id)
    {
        // A subscription keeps little of its request and may last for days.
        in_flight.request = None;
    }
    match cancelled
        .map(|id| session.cancelled(&id))
        .transpose()?
        .flatten()
    {
        Some(replies) => session.write(replies).await,
        None => Ok(()),
    }
}

async fn take_batch(
    elements: &[Value],
    in_flight: InFlight,
    session: &StdioSession,
    incoming: &mpsc::Sender<ClientJsonRpcMessage>,
) -> io::Result<()> {
    if lock(&session.state).negotiated != Some(ProtocolVersion::V_2025_03_26) {
        return session
            .reply(&Refusal::batch_not_served().into_json())
            .await;
    }
    let number = {
        let mut state = lock(&session.state);
        state.batches_begun += 1;
        state.batches_begun
    };
    let in_flight = InFlight {
        batch: Some(number),
        share: ReplyShare::of_batch(),
        ..in_flight
    };
    let mut batch = Batch::default();
    let mut messages = Vec::new();
    let mut ids = HashSet::new();
    for element in elements {
        match admit_element(element, in_flight.clone(), session) {
            Ok(Some(message)) => {
                if let ClientJsonRpcMessage::Request(request) = &message {
                    ids.insert(request.id.clone());
                }
                messages.push(message);
            }
            Ok(None) => {}
            Err(refusal) => batch.replies.push(refusal.into_json()),
        }
    }
    batch.waiting = ids.len();
    if batch.waiting > 0 {
        lock(&session.state).batches.insert(number, batch);
    } else if !batch.replies.is_empty() {
        session.reply(&batch.replies).await?;
    }
    for message in messages {
        forward(message, session, incoming).await?;
    }
    Ok(())
}

fn admit_element(
    element: &Value,
    in_flight: InFlight,
    session: &StdioSession,
) -> Result<Option<ClientJsonRpcMessage>, Refusal> {
    let mut message = message::read_element(element)?;
    if let ClientJsonRpcMessage::Request(request) = &message
        && matches!(request.request, ClientRequest::InitializeRequest(_))
    {
        let message = "`initialize` must be sent alone, not in a batch";
        return Err(Refusal::new(
            Some(request.id.clone()),
            ErrorCode::INVALID_REQUEST,
            message,
        ));
    }
    Ok(admit(&mut message, in_flight, session)?.then_some(message))
}

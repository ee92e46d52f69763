//! Questions to the person over the protocol: who can be asked, how often, and on which way.
//!
//! - Revision 2026-07-28: the result of a call asks for input, and the client repeats the call with the
//!   answer ([`Questions::open`], [`Questions::take`]).
//! - Earlier revisions over a pipe: a request to the client.
//! - Earlier revisions over HTTP: a request in the event stream that is the reply of the call; the answer
//!   comes as a message of its own ([`AskedStream`], [`Questions::answer`]).

mod form;
mod stream;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use loci_core::{Caller, Error};
use loci_dialects::Reply;
use loci_dialects::questions::{PersonAnswer, Question};
use rmcp::ErrorData;
use rmcp::model::{ClientCapabilities, ProtocolVersion, RequestId};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub(crate) use form::{ANSWER_KEY, answer_in, input_requests, is_inability, request_parameters};
pub(crate) use stream::{AskedStream, client_ended, event_stream};

use crate::mutex::lock;

/// The most questions of a session.
const QUESTIONS_OF_SESSION_MAX: u32 = 3;
/// The time after which a session without an end starts again: revision 2026-07-28 has none over HTTP.
const SESSION_TIME: Duration = Duration::from_hours(1);
/// The most sessions that are remembered; beyond it, the oldest is forgotten.
const SESSIONS_MAX: usize = 1_024;
/// The most questions whose calls wait to be repeated; beyond it, calls do not ask.
const OPEN_MAX: usize = 256;
/// The most bytes of the reply of a call that waits to be repeated; one with a larger reply does not ask,
/// so that the waiting calls of all clients stay within some megabytes.
const OPEN_REPLY_BYTES_MAX: usize = 64 << 10;
/// The most questions whose answers are waited for.
const WAITING_MAX: usize = 256;
/// The time for which a question is remembered beyond its limit, so that a late answer finds what the call did.
const REMEMBERED: Duration = Duration::from_mins(10);

/// The plan of a folder that a client works in, which may name the wing of the folder.
pub trait Checkout: Send + Sync {
    /// Returns the question whether the wing counts that the checkout names for itself; `None` if it
    /// names none, or the person agreed to it.
    fn question(&self) -> Option<Question>;

    /// Records that the person agreed to the name, if the file is as it was when the question was made.
    ///
    /// # Errors
    /// `conflict` if the file was changed; `unavailable` if the agreement cannot be written.
    fn agree(&self) -> Result<(), Error>;
}

/// The questions of a server.
pub(crate) struct Questions {
    /// The time for an answer; `None` if calls do not ask.
    limit: Option<Duration>,
    checkout: Option<Arc<dyn Checkout>>,
    sessions: Mutex<HashMap<String, AskedSession>>,
    open: Mutex<HashMap<String, OpenQuestion>>,
    waiting: Mutex<HashMap<String, Waiting>>,
    /// The calls whose replies are event streams.
    streams: Mutex<HashMap<StreamKey, CancellationToken>>,
}

/// A session of a client, as far as the person was asked in it.
#[derive(Clone, Copy)]
struct AskedSession {
    asked: u32,
    since: Instant,
    /// True once it was looked for questions that no call raises.
    has_looked: bool,
}

/// A question whose call is to be repeated with the answer.
pub(crate) struct OpenQuestion {
    pub(crate) question: Question,
    /// The work of the call before it asked; `None` if it did nothing yet.
    pub(crate) done: Option<DoneCall>,
    call: CallKey,
    asked: Instant,
}

/// A call that ran, whose reply waits for the answer.
#[derive(Debug, Clone)]
pub(crate) struct DoneCall {
    /// Its reply if the person decides nothing.
    pub(crate) reply: Reply,
    /// Its reply if the person decides.
    pub(crate) decided: Reply,
}

/// The identity of a call that is repeated: who calls which tool with which arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallKey([u8; 32]);

impl CallKey {
    pub(crate) fn of(caller: &Caller, dialect: &str, tool: &str, arguments: &Value) -> Self {
        let mut hash = Sha256::new();
        let arguments = arguments.to_string();
        for part in [&who(caller), dialect, tool, &arguments] {
            hash.update(part.len().to_le_bytes());
            hash.update(part);
        }
        CallKey(hash.finalize().into())
    }
}

/// A question in an event stream, whose answer comes as another message.
struct Waiting {
    who: String,
    answer: oneshot::Sender<StreamAnswer>,
}

/// The answer to a question in an event stream: the result, or the error of a client.
pub(crate) type StreamAnswer = Result<Value, ErrorData>;

/// The identity of a call whose reply is an event stream: its session, and the id of its request.
pub(crate) type StreamKey = (String, RequestId);

/// Returns a text that identifies a caller.
fn who(caller: &Caller) -> String {
    let principal = &caller.principal;
    format!(
        "{:?} {:?} {:?}",
        caller.space, principal.subject, principal.actor
    )
}

/// Returns a name that cannot be guessed; `None` if the system has no random numbers.
fn random_name() -> Option<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).ok()?;
    Some(format!("loci-{:032x}", u128::from_be_bytes(bytes)))
}

/// Returns true if a client with these capabilities shows forms to its person.
pub(crate) fn are_shown_by(capabilities: &ClientCapabilities) -> bool {
    let declared = capabilities.elicitation.as_ref();
    // Before there were other ways to ask, forms were meant by nothing.
    declared.is_some_and(|declared| declared.form.is_some() || declared.url.is_none())
}

/// Returns true if a revision has questions to the person.
pub(crate) fn exist_in(version: Option<&ProtocolVersion>) -> bool {
    version.is_some_and(|version| *version >= ProtocolVersion::V_2025_06_18)
}

impl Questions {
    /// Returns the questions of a server: `limit` is the time for an answer, `None` for no questions.
    pub(crate) fn new(limit: Option<Duration>, checkout: Option<Arc<dyn Checkout>>) -> Self {
        Questions {
            limit,
            checkout,
            sessions: Mutex::default(),
            open: Mutex::default(),
            waiting: Mutex::default(),
            streams: Mutex::default(),
        }
    }

    /// Returns the time for an answer, unless calls do not ask.
    pub(crate) fn limit(&self) -> Option<Duration> {
        self.limit
    }

    /// Returns the plan of the folder that the client works in, if it has one.
    pub(crate) fn checkout(&self) -> Option<Arc<dyn Checkout>> {
        self.checkout.clone()
    }

    /// Counts a question of a session. Returns false if the person was asked often enough.
    pub(crate) fn count(&self, session: &str) -> bool {
        self.in_session(session, |session| {
            let may_ask = session.asked < QUESTIONS_OF_SESSION_MAX;
            session.asked += u32::from(may_ask);
            may_ask
        })
    }

    /// Returns true once for each session.
    pub(crate) fn looks_first(&self, session: &str) -> bool {
        self.in_session(session, |session| {
            session.asked < QUESTIONS_OF_SESSION_MAX
                && !std::mem::replace(&mut session.has_looked, true)
        })
    }

    fn in_session<T>(&self, name: &str, look: impl FnOnce(&mut AskedSession) -> T) -> T {
        let mut sessions = lock(&self.sessions);
        let now = Instant::now();
        sessions.retain(|_, session| now.duration_since(session.since) < SESSION_TIME);
        if sessions.len() >= SESSIONS_MAX && !sessions.contains_key(name) {
            let oldest = sessions.iter().min_by_key(|(_, session)| session.since);
            if let Some(oldest) = oldest.map(|(name, _)| name.clone()) {
                sessions.remove(&oldest);
            }
        }
        look(sessions.entry(name.to_owned()).or_insert(AskedSession {
            asked: 0,
            since: now,
            has_looked: false,
        }))
    }

    /// Keeps a question until its call is repeated; returns the name under which it is kept. `None` if
    /// too many are, or the reply of the call is large.
    pub(crate) fn open(
        &self,
        call: CallKey,
        question: Question,
        done: Option<DoneCall>,
    ) -> Option<String> {
        let bytes = |done: &DoneCall| done.reply.texts().map(str::len).sum::<usize>();
        if done.as_ref().map_or(0, bytes) > OPEN_REPLY_BYTES_MAX {
            return None;
        }
        let name = random_name()?;
        let mut open = lock(&self.open);
        let now = Instant::now();
        open.retain(|_, open| now.duration_since(open.asked) < self.remembered());
        if open.len() >= OPEN_MAX {
            return None;
        }
        let asked = OpenQuestion {
            question,
            done,
            call,
            asked: now,
        };
        open.insert(name.clone(), asked);
        Some(name)
    }

    /// Returns the question of that name if it is one of this call, once; and whether its time is over.
    pub(crate) fn take(&self, name: &str, call: &CallKey) -> Option<(OpenQuestion, bool)> {
        let mut open = lock(&self.open);
        let age = |open: &OpenQuestion| Instant::now().duration_since(open.asked);
        let found = open.get(name)?;
        if found.call != *call || age(found) >= self.remembered() {
            return None;
        }
        let taken = open.remove(name)?;
        let is_late = self.limit.is_none_or(|limit| age(&taken) > limit);
        Some((taken, is_late))
    }

    fn remembered(&self) -> Duration {
        self.limit.unwrap_or_default() + REMEMBERED
    }

    /// Begins to wait for an answer of this caller that comes as a message of its own. Returns the id of
    /// the question; `None` if too many are waited for.
    fn wait(&self, caller: &Caller) -> Option<(String, oneshot::Receiver<StreamAnswer>)> {
        let id = random_name()?;
        let (answer, answered) = oneshot::channel();
        let mut waiting = lock(&self.waiting);
        waiting.retain(|_, waiting| !waiting.answer.is_closed());
        if waiting.len() >= WAITING_MAX {
            return None;
        }
        let who = who(caller);
        waiting.insert(id.clone(), Waiting { who, answer });
        Some((id, answered))
    }

    /// Returns the token that is cancelled when the client cancels this call, or its reply ended.
    pub(crate) fn stream(&self, key: &StreamKey) -> CancellationToken {
        let mut streams = lock(&self.streams);
        streams.retain(|_, token| !token.is_cancelled());
        streams.entry(key.clone()).or_default().clone()
    }

    /// Cancels a call whose reply is an event stream. Does nothing to any other call.
    pub(crate) fn cancel_stream(&self, key: &StreamKey) {
        if let Some(token) = lock(&self.streams).remove(key) {
            token.cancel();
        }
    }

    /// Takes the answer of a caller to the question with that id. Returns false if it was asked no such
    /// question, or the question is over.
    pub(crate) fn answer(&self, id: &str, caller: &Caller, answer: StreamAnswer) -> bool {
        let mut waiting = lock(&self.waiting);
        let is_asked = waiting
            .get(id)
            .is_some_and(|waiting| waiting.who == who(caller));
        let asked = is_asked.then(|| waiting.remove(id)).flatten();
        asked.is_some_and(|asked| asked.answer.send(answer).is_ok())
    }
}

/// Returns the answer that counts of one that came in time or late: after its time an answer changes
/// nothing, but that a person who does not want something deleted is heard as long as it is there.
pub(crate) fn in_time(answer: PersonAnswer, is_late: bool, question: &Question) -> PersonAnswer {
    if is_late && question.refusal(answer).is_none() {
        return PersonAnswer::Missing;
    }
    answer
}

#[cfg(test)]
mod tests {
    use loci_core::Caller;
    use serde_json::json;

    use super::*;

    fn questions() -> Questions {
        Questions::new(Some(Duration::from_mins(1)), None)
    }

    fn question() -> Question {
        Question::of_checkout("plan", "wing", "0123456789abcdef".to_owned())
    }

    #[test]
    fn a_client_shows_forms_if_it_says_so_or_nothing_else() {
        for (declared, expected) in [
            (json!({}), true),
            (json!({"form": {}}), true),
            (json!({"form": {}, "url": {}}), true),
            (json!({"url": {}}), false),
        ] {
            let capabilities = json!({"elicitation": declared});
            let capabilities = serde_json::from_value(capabilities).unwrap();
            assert_eq!(are_shown_by(&capabilities), expected, "{declared}");
        }
        assert!(!are_shown_by(&ClientCapabilities::default()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_is_asked_three_times_until_it_starts_again() {
        let questions = questions();
        let asked = |name: &str| (0..5).filter(|_| questions.count(name)).count();
        assert_eq!([asked("a"), asked("a"), asked("b")], [3, 0, 3]);
        assert!(questions.looks_first("c") && !questions.looks_first("c"));
        assert!(!questions.looks_first("a"), "it was asked often enough");
        tokio::time::advance(SESSION_TIME).await;
        assert_eq!(asked("a"), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn an_open_question_is_taken_once_by_the_same_call() {
        let questions = questions();
        let (ann, person) = (Caller::local(), Caller::local_person());
        let key = |caller: &Caller, tool: &str| {
            CallKey::of(caller, "mememory", tool, &json!({"id": "a"}))
        };
        let call = key(&ann, "forget");
        let name = questions.open(call.clone(), question(), None).unwrap();
        let other = Caller {
            principal: loci_core::Principal {
                subject: Some("bob".to_owned()),
                ..person.principal.clone()
            },
            ..person
        };
        assert!(questions.take(&name, &key(&other, "forget")).is_none());
        assert!(questions.take(&name, &key(&ann, "update")).is_none());
        let (_, is_late) = questions.take(&name, &call).unwrap();
        assert!(!is_late);
        assert!(questions.take(&name, &call).is_none());
        let name = questions.open(call.clone(), question(), None).unwrap();
        tokio::time::advance(Duration::from_secs(61)).await;
        assert!(questions.take(&name, &call).unwrap().1, "it is late");
        let name = questions.open(call.clone(), question(), None).unwrap();
        tokio::time::advance(Duration::from_mins(12)).await;
        assert!(questions.take(&name, &call).is_none(), "it is forgotten");
    }

    #[tokio::test]
    async fn calls_with_large_replies_and_too_many_calls_are_not_kept() {
        let questions = questions();
        let call = CallKey::of(&Caller::local(), "mememory", "remember", &json!({}));
        let done = |bytes: usize| {
            let reply = Reply::new("x".repeat(bytes), json!({}), None);
            let decided = reply.clone();
            Some(DoneCall { reply, decided })
        };
        let open = |bytes| {
            questions
                .open(call.clone(), question(), done(bytes))
                .is_some()
        };
        assert!(!open(OPEN_REPLY_BYTES_MAX + 1));
        assert_eq!((0..OPEN_MAX + 9).filter(|_| open(1)).count(), OPEN_MAX);
    }

    #[tokio::test]
    async fn only_who_was_asked_answers() {
        let questions = questions();
        let ann = Caller::local();
        let bob = Caller {
            space: loci_core::Space::parse("space", "other").unwrap(),
            ..Caller::local()
        };
        let (id, answered) = questions.wait(&ann).unwrap();
        assert!(!questions.answer(&id, &bob, Ok(json!(1))));
        assert!(!questions.answer("loci-0", &ann, Ok(json!(2))));
        assert!(questions.answer(&id, &ann, Ok(json!(3))));
        assert!(!questions.answer(&id, &ann, Ok(json!(4))));
        assert_eq!(answered.await.unwrap().unwrap(), json!(3));
        let (id, over) = questions.wait(&ann).unwrap();
        drop(over);
        assert!(!questions.answer(&id, &ann, Ok(json!(5))));
    }
}

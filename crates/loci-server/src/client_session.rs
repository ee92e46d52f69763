//! Sessions over HTTP before 2026-07-28: a client says once what it can, and the name of the session that
//! it is given says so in each later request. Nothing is kept under the name, and it grants nothing.

use http::HeaderValue;
use http::request::Parts;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest};

use crate::host::Host;
use crate::request_context::{SESSION_HEADER, session_of};
use crate::{app_views, questions};

/// The header of a session.
pub(crate) const HEADER: &str = SESSION_HEADER;

/// The abilities of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClientSession {
    /// It shows views of the conversation.
    pub(crate) shows_views: bool,
    /// It shows forms to its person.
    pub(crate) shows_forms: bool,
}

/// The beginnings of the names.
const BEGINNINGS: [(&str, ClientSession); 3] = [
    (
        "apps-asks-",
        ClientSession {
            shows_views: true,
            shows_forms: true,
        },
    ),
    (
        "apps-",
        ClientSession {
            shows_views: true,
            shows_forms: false,
        },
    ),
    (
        "asks-",
        ClientSession {
            shows_views: false,
            shows_forms: true,
        },
    ),
];

impl ClientSession {
    /// Returns what a client can by its greeting, as far as this server makes use of it; `None` for any
    /// other message, and if that is nothing.
    pub(crate) fn of_greeting(message: &ClientJsonRpcMessage, host: &Host) -> Option<Self> {
        let ClientJsonRpcMessage::Request(message) = message else {
            return None;
        };
        let ClientRequest::InitializeRequest(request) = &message.request else {
            return None;
        };
        let capabilities = &request.params.capabilities;
        let version = Some(&request.params.protocol_version);
        let session = ClientSession {
            shows_views: host.app_pages().is_some() && app_views::are_shown_by(capabilities),
            shows_forms: host.questions().limit().is_some()
                && questions::exist_in(version)
                && questions::are_shown_by(capabilities),
        };
        (session.shows_views || session.shows_forms).then_some(session)
    }

    /// Returns what the client of a request can, by the name of its session.
    pub(crate) fn of(parts: &Parts) -> Option<Self> {
        let name = session_of(parts)?;
        let known = BEGINNINGS
            .iter()
            .find(|(beginning, _)| name.starts_with(beginning));
        known.map(|(_, session)| *session)
    }

    /// Returns a new name; `None` if the system has no random numbers.
    pub(crate) fn name(self) -> Option<HeaderValue> {
        let known = BEGINNINGS.iter().find(|(_, session)| *session == self);
        let (beginning, _) = known?;
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).ok()?;
        let name = format!("{beginning}{:032x}", u128::from_be_bytes(bytes));
        HeaderValue::from_str(&name).ok()
    }
}

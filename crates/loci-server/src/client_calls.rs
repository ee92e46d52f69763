//! The clients that call tools, for those who want to know which host has called last.

use loci_core::limits::CLIENT_NAME_CHARACTERS_MAX;

/// A client that calls a tool.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ClientCall {
    /// The name that the client gives itself, `clientInfo.name`, at most
    /// [`CLIENT_NAME_CHARACTERS_MAX`] characters; `None` if it gives none.
    pub client: Option<String>,
    /// The name of the dialect.
    pub dialect: &'static str,
    /// The transport of the call.
    pub transport: Transport,
}

/// A transport of MCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Transport {
    /// The pipes of a process that the client started.
    Stdio,
    /// HTTP.
    Http,
}

impl Transport {
    /// Returns the name of the transport.
    pub const fn name(self) -> &'static str {
        match self {
            Transport::Stdio => "stdio",
            Transport::Http => "http",
        }
    }
}

/// Records which clients call tools.
pub trait ClientCalls: Send + Sync {
    /// Returns true if this call should be recorded. It is asked on the way of every call, so it
    /// must not wait for the disk.
    fn is_due(&self, call: &ClientCall) -> bool;

    /// Records a call that is due. It runs beside the call and may wait for the disk.
    fn record(&self, call: &ClientCall);
}

impl ClientCall {
    /// Returns the call of a client with that name.
    pub(crate) fn new(client: Option<&str>, dialect: &'static str, transport: Transport) -> Self {
        let beginning = |name: &str| name.chars().take(CLIENT_NAME_CHARACTERS_MAX).collect();
        ClientCall {
            client: client.map(beginning),
            dialect,
            transport,
        }
    }
}

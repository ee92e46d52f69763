//! A small dialect, and clients for both transports.

mod dialect;
mod http;
mod pipe;
mod tokens;

pub use dialect::{
    DIALECT, Gate, NO_USUAL_TOOLS, PLAIN, World, long_calls, set_resource,
    set_resource_before_reading,
};
pub use http::{Reply, Server, Stream};
pub use pipe::Pipe;
pub use tokens::{NOW, add_tokens, token, with_issuer};

use serde_json::{Value, json};

/// The revisions with a handshake.
pub const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
/// The revision without a handshake.
pub const MODERN: &str = "2026-07-28";

/// Returns a request of a revision with a handshake.
pub fn request(id: u64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// Returns a request of 2026-07-28.
pub fn modern(id: u64, method: &str, mut params: Value) -> Value {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(MODERN);
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    request(id, method, params)
}

/// Returns the handshake of a revision.
pub fn initialize(id: u64, version: &str) -> Value {
    let client = json!({"name": "test", "version": "1"});
    request(
        id,
        "initialize",
        json!({"protocolVersion": version, "capabilities": {}, "clientInfo": client}),
    )
}

/// Returns the parameters of a tool call.
pub fn call(tool: &str, arguments: Value) -> Value {
    json!({"name": tool, "arguments": arguments})
}

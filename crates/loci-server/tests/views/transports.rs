//! The two transports.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use loci_core::{Caller, Principal, Space, Timestamp, Token, TokenStore};
use loci_dialects::{DIALECTS, Dialect, Tool};
use loci_engine::Engine;
use loci_server::{Authentication, Host, HttpConfig, HttpServer, serve_stdio, token_hash};
use loci_testkit::{FixedClock, NaiveStore};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, duplex, split};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};

use crate::case::carrier::{Answer, Carrier};

/// The timeout of an answer.
const PATIENCE: Duration = Duration::from_mins(1);
/// The revision of every message: it needs no handshake, and its results are not wrapped.
const REVISION: &str = "2026-07-28";

/// Sends a message of the protocol and returns its answer.
trait Transport {
    /// Returns true if the transport can have such a caller.
    fn knows(&self, caller: &Caller) -> bool;

    /// Sends a message and returns its answer.
    fn ask(
        &self,
        dialect: &'static Dialect,
        caller: &Caller,
        message: &Value,
    ) -> Result<Value, String>;
}

impl<T: Transport> Carrier for T {
    fn knows(&self, caller: &Caller) -> bool {
        Transport::knows(self, caller)
    }

    fn call(
        &self,
        dialect: &'static Dialect,
        tool: &'static Tool,
        caller: &Caller,
        arguments: Map<String, Value>,
    ) -> Result<Answer, String> {
        let params = json!({"name": tool.name, "arguments": arguments});
        let mut answer = self.ask(dialect, caller, &message("tools/call", params))?;
        if answer["error"].is_object() {
            // The transport refuses a token that lacks a scope.
            let text = |value: &Value| {
                value
                    .as_str()
                    .map(str::to_owned)
                    .ok_or_else(|| format!("no text in {answer}"))
            };
            let error = &answer["error"];
            let (code, text) = (text(&error["data"]["code"])?, text(&error["message"])?);
            return Ok(Answer {
                code: Some(code),
                argument: None,
                text,
                further_text: None,
                structured: Value::Null,
                notice: None,
            });
        }
        let result = &mut answer["result"];
        let text_at = |place: usize| result["content"][place]["text"].as_str().map(str::to_owned);
        let text = text_at(0).ok_or("the answer has no text")?;
        let further_text = text_at(1);
        let structured = result["structuredContent"].take();
        let field = |name: &str| {
            result["_meta"]["loci/error"][name]
                .as_str()
                .map(str::to_owned)
        };
        let (code, argument) = (field("code"), field("argument"));
        if (result["isError"] == true) != code.is_some() {
            return Err(format!("a failure, and nothing else, has a code: {result}"));
        }
        let notice = result["_meta"]["loci/notice"].as_str().map(str::to_owned);
        Ok(Answer {
            code,
            argument,
            text,
            further_text,
            structured,
            notice,
        })
    }

    fn read(
        &self,
        dialect: &'static Dialect,
        caller: &Caller,
        uri: &str,
    ) -> Result<Option<String>, String> {
        let answer = self.ask(
            dialect,
            caller,
            &message("resources/read", json!({"uri": uri})),
        )?;
        match answer["result"]["contents"][0]["text"].as_str() {
            Some(text) => Ok(Some(text.to_owned())),
            None if answer["error"]["data"]["uri"] == uri => Ok(None),
            None => Err(format!("no resource: {answer}")),
        }
    }

    fn complete(
        &self,
        dialect: &'static Dialect,
        caller: &Caller,
        uri: &str,
        argument: &str,
        prefix: &str,
    ) -> Result<Option<Vec<String>>, String> {
        let argument = json!({"name": argument, "value": prefix});
        let params = json!({"ref": {"type": "ref/resource", "uri": uri}, "argument": argument});
        let mut answer = self.ask(dialect, caller, &message("completion/complete", params))?;
        let values = answer["result"]["completion"]["values"].take();
        serde_json::from_value(values)
            .map(Some)
            .map_err(|error| format!("no completion: {error}: {answer}"))
    }
}

fn message(method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": REVISION,
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

/// Returns a runtime that runs everything on the thread of the case.
fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// A pair of pipes for each message, as if each came from its own process.
pub struct Pipes {
    runtime: Runtime,
    host: Arc<Host>,
}

impl Pipes {
    pub fn to(engine: &Arc<Engine>) -> Self {
        Pipes {
            runtime: runtime(),
            host: Host::new(Arc::clone(engine)),
        }
    }
}

impl Transport for Pipes {
    fn knows(&self, _caller: &Caller) -> bool {
        true
    }

    fn ask(
        &self,
        dialect: &'static Dialect,
        caller: &Caller,
        message: &Value,
    ) -> Result<Value, String> {
        const PIPE_BYTES: usize = 64 << 10;
        let answer = async {
            let (here, there) = duplex(PIPE_BYTES);
            let (reader, writer) = split(there);
            let service = tokio::spawn(serve_stdio(
                dialect,
                Arc::clone(&self.host),
                caller.clone(),
                reader,
                writer,
            ));
            let (output, mut input) = split(here);
            input.write_all(format!("{message}\n").as_bytes()).await?;
            let line = BufReader::new(output).lines().next_line().await?;
            input.shutdown().await?;
            service.await??;
            Ok::<_, std::io::Error>(line.unwrap_or_default())
        };
        let line = self
            .runtime
            .block_on(async { tokio::time::timeout(PATIENCE, answer).await });
        let line = line
            .map_err(|_| format!("no answer to {message}"))?
            .map_err(|error| error.to_string())?;
        serde_json::from_str(&line).map_err(|error| format!("{error}: {line}"))
    }
}

/// Two servers on loopback sockets, one with tokens and one without, over one memory.
pub struct Http {
    runtime: Runtime,
    tokens: Arc<NaiveStore>,
    with_tokens: TcpAddress,
    without: TcpAddress,
    known: Mutex<Vec<Caller>>,
}

type TcpAddress = std::net::SocketAddr;

impl Http {
    pub fn to(engine: &Arc<Engine>, clock: &Arc<FixedClock>) -> Self {
        let (runtime, host, tokens) = (
            runtime(),
            Host::new(Arc::clone(engine)),
            Arc::new(NaiveStore::new()),
        );
        let bearer = Authentication::Bearer {
            tokens: tokens.clone(),
            verifier: None,
            clock: clock.clone(),
            grants: false,
        };
        let start = |authentication| {
            let server = HttpServer::new(HttpConfig::new(authentication), Arc::clone(&host))
                .with_dialects(DIALECTS);
            let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
            let address = listener.local_addr().unwrap();
            // The servers end with the runtime.
            runtime.spawn(server.serve(listener, std::future::pending()));
            address
        };
        let (with_tokens, without) = (start(bearer), start(Authentication::Anonymous));
        Http {
            runtime,
            tokens,
            with_tokens,
            without,
            known: Mutex::default(),
        }
    }

    /// Returns the secret of a named caller's token, which is created at its first call.
    fn secret_of(&self, caller: &Caller) -> Option<String> {
        let subject = caller.principal.subject.clone()?;
        let mut known = self.known.lock().unwrap();
        let number = known
            .iter()
            .position(|one| one == caller)
            .unwrap_or(known.len());
        let secret = format!("secret-{number}");
        if number == known.len() {
            known.push(caller.clone());
            let token = Token {
                id: number.to_string(),
                hash: token_hash(&secret),
                space: caller.space.clone(),
                subject,
                scopes: caller.principal.scopes,
                created_at: Timestamp::from_microseconds(0),
                expires_at: None,
                revoked_at: None,
                grant: None,
            };
            self.tokens.add_token(&token).unwrap();
        }
        Some(secret)
    }
}

impl Transport for Http {
    fn knows(&self, caller: &Caller) -> bool {
        let Caller {
            space, principal, ..
        } = caller;
        let is_anonymous = *principal == Principal::anonymous() && *space == Space::default();
        // Only an issuer's token can name an actor.
        is_anonymous || (principal.subject.is_some() && principal.actor.is_none())
    }

    fn ask(
        &self,
        dialect: &'static Dialect,
        caller: &Caller,
        message: &Value,
    ) -> Result<Value, String> {
        let (address, authorization) = match self.secret_of(caller) {
            Some(secret) => (
                self.with_tokens,
                format!("authorization: Bearer {secret}\r\n"),
            ),
            None => (self.without, String::new()),
        };
        let (body, method, params) = (message.to_string(), &message["method"], &message["params"]);
        let name = params["name"].as_str().or(params["uri"].as_str());
        let named = name.map_or_else(String::new, |name| format!("mcp-name: {name}\r\n"));
        let request = format!(
            "POST /mcp/{} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\nmcp-protocol-version: {REVISION}\r\n\
             mcp-method: {}\r\n{named}{authorization}content-length: {}\r\n\r\n{body}",
            dialect.name,
            method.as_str().unwrap_or_default(),
            body.len(),
        );
        let answer = async {
            let mut stream = TcpStream::connect(address).await?;
            stream.write_all(request.as_bytes()).await?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await?;
            Ok::<_, std::io::Error>(answer)
        };
        let answer = self
            .runtime
            .block_on(async { tokio::time::timeout(PATIENCE, answer).await });
        let answer = answer
            .map_err(|_| format!("no answer to {message}"))?
            .map_err(|error| error.to_string())?;
        let (_, body) = answer
            .split_once("\r\n\r\n")
            .ok_or_else(|| format!("no HTTP: {answer:?}"))?;
        serde_json::from_str(body).map_err(|error| format!("{error}: {answer}"))
    }
}

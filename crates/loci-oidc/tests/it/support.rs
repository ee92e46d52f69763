//! An identity provider on a loopback socket, and verifiers that trust it.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread::{self, JoinHandle};

use loci_core::{Clock, Error, ErrorCode, Identity, Result, TokenVerifier};
use loci_oidc::{OidcOptions, OidcVerifier};
use loci_testkit::FixedClock;
use serde_json::{Value, json};

/// The resource to which tokens are presented.
pub const RESOURCE: &str = "https://memory.example/mcp/mememory";
pub const CONFIGURATION: &str = "/.well-known/openid-configuration";
pub const KEYS: &str = "/keys";
pub const TOKEN: &str = "/token";

/// The reaction of the provider to a request for a document. A document that it does not have is
/// 404.
#[derive(Clone)]
pub enum Page {
    /// Replies with a status and a body.
    Reply(u16, String),
    /// Replies with 200 and this body, after the other side has reached the barrier.
    Held(Arc<Barrier>, String),
    /// Closes the connection.
    HangUp,
    /// Sends nothing until the client has gone.
    Silence,
    /// Sends until the client has gone.
    Flood,
}

impl Page {
    pub fn json(value: &Value) -> Self {
        Page::Reply(200, value.to_string())
    }
}

#[derive(Default)]
struct Shared {
    pages: Mutex<HashMap<String, Page>>,
    /// The requested paths.
    seen: Mutex<Vec<String>>,
    /// The last form that was posted, with the head of its request.
    form: Mutex<(String, String)>,
    is_stopping: AtomicBool,
}

/// A provider with its clock.
pub struct Provider {
    /// The issuer's URL.
    pub url: String,
    pub clock: Arc<FixedClock>,
    address: String,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Provider {
    /// Starts a provider that publishes these keys.
    pub fn new(keys: &[Value]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let shared = Arc::new(Shared::default());
        let thread = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || serve(&listener, &shared))
        };
        let url = format!("http://{address}");
        let provider = Provider {
            url,
            clock: Arc::default(),
            address,
            shared,
            thread: Some(thread),
        };
        provider.put(CONFIGURATION, Page::json(&provider.configuration()));
        provider.publish(keys);
        provider
    }

    pub fn configuration(&self) -> Value {
        json!({
            "issuer": self.url,
            "jwks_uri": format!("{}{KEYS}", self.url),
            "authorization_endpoint": format!("{}/authorize?tenant=a", self.url),
            "token_endpoint": format!("{}{TOKEN}", self.url),
            "other": [],
        })
    }

    /// Replaces its keys.
    pub fn publish(&self, keys: &[Value]) {
        self.put(KEYS, Page::json(&json!({ "keys": keys })));
    }

    pub fn put(&self, path: &str, page: Page) {
        self.shared
            .pages
            .lock()
            .unwrap()
            .insert(path.to_owned(), page);
    }

    pub fn remove(&self, path: &str) {
        self.shared.pages.lock().unwrap().remove(path);
    }

    /// Returns how often a path was requested.
    pub fn asked(&self, path: &str) -> usize {
        self.shared
            .seen
            .lock()
            .unwrap()
            .iter()
            .filter(|seen| *seen == path)
            .count()
    }

    /// Returns the head and the body of the last request that posted a form.
    pub fn posted(&self) -> (String, String) {
        self.shared.form.lock().unwrap().clone()
    }

    /// Returns a verifier without keys.
    pub fn verifier(&self, change: impl FnOnce(&mut OidcOptions)) -> OidcVerifier {
        let mut options = OidcOptions::new(&self.url);
        change(&mut options);
        OidcVerifier::new(options, self.clock.clone()).unwrap()
    }

    /// Returns a verifier that has fetched the keys.
    pub fn ready(&self, change: impl FnOnce(&mut OidcOptions)) -> OidcVerifier {
        let verifier = self.verifier(change);
        verifier.probe().unwrap();
        verifier
    }

    /// Returns the seconds since 1970.
    pub fn now(&self) -> i64 {
        self.clock.now().microseconds() / 1_000_000
    }

    /// Returns the claims of a token that is valid for an hour.
    pub fn claims(&self) -> Value {
        let now = self.now();
        json!({ "iss": self.url, "aud": RESOURCE, "sub": "ann", "iat": now, "nbf": now, "exp": now + 3_600 })
    }

    /// Returns the same claims with some replaced or, by null, removed.
    pub fn claims_with(&self, changes: &Value) -> Value {
        let mut claims = self.claims();
        let object = claims.as_object_mut().unwrap();
        for (name, value) in changes.as_object().unwrap() {
            match value {
                Value::Null => object.remove(name),
                value => object.insert(name.clone(), value.clone()),
            };
        }
        claims
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.shared.is_stopping.store(true, Ordering::SeqCst);
        let _wakes = TcpStream::connect(&self.address);
        let _panicked = self.thread.take().map(JoinHandle::join);
    }
}

fn serve(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.is_stopping.load(Ordering::SeqCst) {
            break;
        }
        let shared = Arc::clone(shared);
        // The errors of a client that disconnects do not matter to the test.
        thread::spawn(move || answer(&stream.ok()?, &shared).ok());
    }
}

fn answer(mut stream: &TcpStream, shared: &Shared) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head)? == 0 {
            return Ok(());
        }
    }
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    if head.starts_with("POST") {
        let length = head.lines().find_map(|line| {
            line.to_ascii_lowercase()
                .strip_prefix("content-length: ")?
                .parse()
                .ok()
        });
        let mut form = vec![0; length.unwrap_or(0)];
        reader.read_exact(&mut form)?;
        let form = String::from_utf8_lossy(&form).into_owned();
        *shared.form.lock().unwrap() = (head.clone(), form);
    }
    shared.seen.lock().unwrap().push(path.clone());
    let page = shared.pages.lock().unwrap().get(&path).cloned();
    let (status, body) = match page.unwrap_or(Page::Reply(404, "no such page".to_owned())) {
        Page::Reply(status, body) => (status, body),
        Page::Held(barrier, body) => {
            barrier.wait();
            (200, body)
        }
        Page::HangUp => return Ok(()),
        Page::Silence => {
            let _gone = reader.read(&mut [0]);
            return Ok(());
        }
        Page::Flood => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n")?;
            loop {
                stream.write_all(&vec![b' '; 1 << 16])?;
            }
        }
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} Status\r\nconnection: close\r\nlocation: {KEYS}\r\ncontent-length: {length}\r\n\r\n"
    );
    stream.write_all((head + &body).as_bytes())
}

pub fn resources() -> [String; 2] {
    ["https://memory.example".to_owned(), RESOURCE.to_owned()]
}

/// Verifies a token for [`RESOURCE`], and without waiting, if that is possible; both must agree.
pub fn verify(verifier: &OidcVerifier, token: &str) -> Result<Identity> {
    let known = verifier.verify_known(token, &resources());
    let verified = verifier.verify(token, &resources());
    assert!(known.is_none_or(|known| known == verified));
    verified
}

/// Asserts that a token is refused with these words, which repeat no part of the token and fit into
/// a challenge.
pub fn refused(verifier: &OidcVerifier, token: &str, words: &str) {
    let error = verify(verifier, token).unwrap_err();
    check(&error, ErrorCode::Unauthorized, words);
    assert!(is_description(&error.message), "{error}");
    for part in token.split('.').filter(|part| part.len() > 8) {
        assert!(!error.message.contains(part), "{error}");
    }
}

/// Returns true if a text can be in a challenge: by its characters (RFC 6750, section 3) and its
/// length.
pub fn is_description(text: &str) -> bool {
    text.len() <= 250
        && text
            .bytes()
            .all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\'))
}

pub fn check(error: &Error, code: ErrorCode, words: &str) {
    assert_eq!(error.code, code, "{error}");
    assert!(error.message.contains(words), "no {words:?} in: {error}");
}

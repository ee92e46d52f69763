//! A page on the naive store, and a browser that keeps its cookie.

use std::collections::HashMap;
use std::fs::File;
use std::future::{Future, ready};
use std::io::Read;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use http::header::{AUTHORIZATION, CONTENT_TYPE, COOKIE, LOCATION, SET_COOKIE};
use http::{Extensions, HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use loci_admission::{Pool, Subject};
use loci_core::{
    Caller, Clock, Error, ErrorCode, Principal, Result, Scope, Scopes, SignInAttempt, SignInGrant,
    SignInProvider, Space, Store, Timestamp,
};
use loci_engine::{Engine, Remember, SearchMode};
use loci_page::{
    Authenticator, BackupFile, ClientActivity, CommandOutput, HostStatus, ImportCounts,
    ImportReport, ImportSample, ImportSource, ImportWork, Installation, OAuth, Page, RestoreReport,
    SearchModel, SentRequests, SettingValue, Storage, StoredLanguage, Task, TokenDetails, Upload,
};
use loci_testkit::{FixedClock, HashingEmbedder, NaiveStore};
use serde_json::Value;
use tempfile::TempDir;
use tower::ServiceExt;

pub const ISSUER: &str = "https://provider.example";
pub const BASE: &str = "http://page.example:7821";

/// Returns the subject that is this user.
pub fn named(user: &str) -> Subject {
    Subject::User(Space::default(), user.to_owned())
}

/// Holds up the threads that pass it while it is closed.
#[derive(Default)]
pub struct Gate {
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Default)]
struct GateState {
    is_closed: bool,
    waiting: usize,
}

impl Gate {
    pub fn close(&self) {
        self.state.lock().unwrap().is_closed = true;
    }

    pub fn open(&self) {
        self.state.lock().unwrap().is_closed = false;
        self.changed.notify_all();
    }

    /// Returns the number of threads that it holds up.
    pub fn waiting(&self) -> usize {
        self.state.lock().unwrap().waiting
    }

    fn pass(&self) {
        let mut state = self.state.lock().unwrap();
        state.waiting += 1;
        state = self
            .changed
            .wait_while(state, |state| state.is_closed)
            .unwrap();
        state.waiting -= 1;
    }
}

/// Marks a request that named a host which is not served.
#[derive(Clone)]
pub struct OtherHost;

/// Takes the name of a user as a token; `admin` has that scope, `other admin` has it in another
/// space, and `reader` may only read. `brief` is a token that expires.
#[derive(Default)]
pub struct NamesAsTokens {
    pub has_brief_expired: AtomicBool,
    /// The requests that subjects may still send; any number, if a subject is not here.
    pub calls_left: Mutex<HashMap<Subject, u32>>,
    /// Before the provider redeems the code `waits`.
    pub provider: Arc<Gate>,
    /// Lets clients in, if it is there; people sign in with tokens only, then.
    oauth: Option<OAuth>,
}

impl Authenticator for NamesAsTokens {
    fn base_url(&self, extensions: &Extensions) -> Option<String> {
        extensions
            .get::<OtherHost>()
            .is_none()
            .then(|| BASE.to_owned())
    }

    fn client(&self, extensions: &Extensions) -> Option<IpAddr> {
        extensions.get().copied()
    }

    fn charge(&self, subject: &Subject) -> std::result::Result<(), Duration> {
        let mut left = self.calls_left.lock().unwrap();
        match left.get_mut(subject) {
            Some(0) => Err(Duration::from_millis(1_500)),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn caller<'a>(
        &'a self,
        headers: &'a HeaderMap,
        _: &'a str,
        _: &'a str,
    ) -> Pin<Box<dyn Future<Output = Result<Caller>> + Send + 'a>> {
        let name = headers
            .get(AUTHORIZATION)
            .and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
        Box::pin(ready(match name {
            Some("brief") if self.has_brief_expired.load(Ordering::Relaxed) => {
                Err(Error::new(ErrorCode::Unauthorized, "the token has expired"))
            }
            Some("revoked") | None => Err(Error::new(ErrorCode::Unauthorized, "no valid token")),
            Some(name) => {
                let scopes = match name {
                    "admin" | "other admin" | "local" => Scopes::of(&[Scope::Admin]),
                    "reader" => Scopes::of(&[Scope::Read]),
                    _ => Scopes::of(&[Scope::Read, Scope::Write]),
                };
                let space = match name {
                    "other admin" => Space::parse("space", "other").unwrap(),
                    _ => Space::default(),
                };
                Ok(Caller::new(space, Principal::new(name, scopes)))
            }
        }))
    }

    fn is_open(&self) -> bool {
        false
    }

    fn oauth(&self) -> Option<&OAuth> {
        self.oauth.as_ref()
    }

    fn issuer(&self, extensions: &Extensions) -> Option<String> {
        self.base_url(extensions)
    }

    fn provider(&self) -> Option<Arc<dyn SignInProvider>> {
        Some(Arc::new(CodesAsTokens(Arc::clone(&self.provider))))
    }
}

/// Grants the code as a token. The token `brief` can be renewed, once.
struct CodesAsTokens(Arc<Gate>);

impl SignInProvider for CodesAsTokens {
    fn issuer(&self) -> &'static str {
        ISSUER
    }

    fn authorization_url(&self, attempt: &SignInAttempt) -> Result<String> {
        assert_eq!(attempt.redirect_url, format!("{BASE}/signed-in"));
        assert_eq!(attempt.resource, BASE);
        Ok(format!("{ISSUER}/authorize?state={}", attempt.state))
    }

    fn redeem(&self, attempt: &SignInAttempt, code: &str) -> Result<SignInGrant> {
        assert!(
            (43..=128).contains(&attempt.verifier.len()),
            "RFC 7636, 4.1"
        );
        if code == "waits" {
            self.0.pass();
        }
        if code == "unknown" {
            return Err(Error::new(ErrorCode::Unauthorized, "invalid_grant"));
        }
        Ok(SignInGrant {
            access_token: code.to_owned(),
            refresh_token: (code == "brief").then(|| "good once".to_owned()),
        })
    }

    fn renew(&self, refresh_token: &str) -> Result<SignInGrant> {
        if refresh_token != "good once" {
            return Err(Error::new(ErrorCode::Unauthorized, "invalid_grant"));
        }
        Ok(SignInGrant {
            access_token: "ann".to_owned(),
            refresh_token: Some("good never".to_owned()),
        })
    }
}

/// Keeps nothing but uploads, in a folder.
struct Uploads {
    folder: TempDir,
    hosts: Arc<Gate>,
    backups: Arc<Gate>,
}

impl Installation for Uploads {
    fn app_title(&self, program: &str) -> Option<&'static str> {
        (program == "claude-code").then_some("Claude Code")
    }

    fn hosts(&self) -> Vec<HostStatus> {
        self.hosts.pass();
        Vec::new()
    }

    fn settings(&self) -> Vec<SettingValue> {
        Vec::new()
    }

    fn storage(&self) -> Storage {
        Storage::default()
    }

    fn backup_draft_bytes(&self) -> u64 {
        7
    }

    fn backup_command(&self) -> String {
        "0 3 * * * loci backup".to_owned()
    }

    fn search_model(&self) -> SearchModel {
        SearchModel {
            name: Some("a model".to_owned()),
            languages: vec![StoredLanguage {
                code: "de".to_owned(),
                texts: 7,
                is_known: Some(false),
            }],
            offer: Some("it does not know German".to_owned()),
            commands: vec!["loci model install another".to_owned()],
        }
    }

    fn version(&self) -> &'static str {
        "1.2.3"
    }

    fn tokens(&self) -> Result<Vec<TokenDetails>> {
        Ok(Vec::new())
    }

    fn remove_tokens(&self, _: &str) -> Result<u64> {
        Ok(0)
    }

    fn at_prompt(
        &self,
        _: &Engine,
        _: &Caller,
        wing: &str,
        prompt: &str,
    ) -> Result<Option<String>> {
        Ok((prompt != "nothing").then(|| format!("{wing}: {prompt}")))
    }

    fn begin_upload(&self, _: u64, _: Option<&str>) -> Result<Upload> {
        let path = self.folder.path().join("upload");
        Ok(Upload {
            name: "upload".to_owned(),
            file: File::create(path).unwrap(),
        })
    }

    fn discard_upload(&self, name: &str) -> Result<()> {
        let _ = std::fs::remove_file(self.folder.path().join(name));
        Ok(())
    }

    fn import_systems(&self) -> Vec<&'static str> {
        vec!["mem0", "claude-mem"]
    }

    fn import(&self, name: &str, source: &ImportSource, work: ImportWork) -> Result<ImportReport> {
        let text = std::fs::read_to_string(self.folder.path().join(name))
            .map_err(|error| Error::not_found(error.to_string()))?;
        if work != ImportWork::Count {
            self.discard_upload(name)?;
        }
        let lines = text.lines().count() as u64;
        let forgotten = match work {
            ImportWork::ImportForgottenToo => 0,
            _ => text.lines().filter(|line| *line == "forgotten").count() as u64,
        };
        let counts = ImportCounts {
            stored: lines - forgotten,
            present: 0,
            refused: 0,
            forgotten,
            note_files: 0,
            updated: u64::from(source.system.is_some()),
            tunnels: 0,
        };
        let sample = |text: &str| ImportSample {
            content: text.to_owned(),
            project: source.zone.clone(),
            kind: "fact".to_owned(),
            created_at: None,
        };
        let samples = text.lines().take(2).map(sample);
        let samples = samples.filter(|_| work == ImportWork::Count).collect();
        Ok(ImportReport {
            counts: Some(counts).filter(|_| !text.starts_with("broken")),
            system: source.system.map(str::to_owned),
            left_out: [("what nobody wants".to_owned(), 3)].into(),
            samples,
            batch: (work != ImportWork::Count).then(|| "batch-1".to_owned()),
            said: CommandOutput {
                succeeded: true,
                text: String::new(),
            },
        })
    }

    fn export(&self) -> Result<Box<dyn Read + Send>> {
        Ok(Box::new(&b"one\ntwo\n"[..]))
    }

    fn run(&self, task: &Task) -> Result<CommandOutput> {
        if *task == Task::BackUp {
            self.backups.pass();
        }
        Ok(CommandOutput {
            succeeded: true,
            text: format!("{task:?}"),
        })
    }

    fn clients(&self) -> Vec<ClientActivity> {
        Vec::new()
    }

    fn sent_requests(&self) -> Vec<SentRequests> {
        Vec::new()
    }

    fn schema_version(&self) -> i64 {
        1
    }

    fn place(&self) -> String {
        "in memory".to_owned()
    }

    fn backups(&self) -> Vec<BackupFile> {
        let made_at = Timestamp::from_microseconds(0);
        vec![BackupFile::new("a.tar".to_owned(), made_at, 1_500)]
    }

    fn restore(&self, name: &str) -> Result<RestoreReport> {
        Ok(RestoreReport {
            said: CommandOutput {
                succeeded: true,
                text: format!("restored {name}"),
            },
            folder: Some("a new folder".to_owned()),
            look: Some("look at it".to_owned()),
            replace: None,
        })
    }
}

/// A page, and the engine below it.
pub struct TestPage {
    pub engine: Arc<Engine>,
    pub clock: Arc<FixedClock>,
    pub authenticator: Arc<NamesAsTokens>,
    pub page: Arc<Page>,
    /// Before the hosts of *Connect and keep* are found.
    pub hosts: Arc<Gate>,
    /// Before a backup is made.
    pub backups: Arc<Gate>,
}

impl TestPage {
    pub fn new() -> Self {
        TestPage::with(|engine| engine)
    }

    /// Returns an installation on this store that lets clients in.
    pub fn letting_in(store: Arc<dyn Store>, oauth: impl FnOnce(Arc<dyn Clock>) -> OAuth) -> Self {
        let clock = Arc::new(FixedClock::default());
        let oauth = oauth(Arc::clone(&clock) as Arc<dyn Clock>);
        TestPage::made(store, clock, |engine| engine, Some(oauth))
    }

    /// Returns an installation whose engine has further parts.
    pub fn with(parts: impl FnOnce(Engine) -> Engine) -> Self {
        let store = Arc::new(NaiveStore::new());
        TestPage::made(store, Arc::new(FixedClock::default()), parts, None)
    }

    fn made(
        store: Arc<dyn Store>,
        clock: Arc<FixedClock>,
        parts: impl FnOnce(Engine) -> Engine,
        oauth: Option<OAuth>,
    ) -> Self {
        let engine = Arc::new(parts(Engine::new(
            store,
            Arc::new(HashingEmbedder::default()),
            Arc::clone(&clock) as Arc<dyn Clock>,
            SearchMode::Hybrid,
        )));
        let authenticator = Arc::new(NamesAsTokens {
            oauth,
            ..NamesAsTokens::default()
        });
        let (hosts, backups) = (Arc::<Gate>::default(), Arc::<Gate>::default());
        let page = Page::new(
            Arc::clone(&engine),
            Arc::clone(&authenticator) as Arc<dyn Authenticator>,
            Arc::new(Uploads {
                folder: tempfile::tempdir().unwrap(),
                hosts: Arc::clone(&hosts),
                backups: Arc::clone(&backups),
            }),
            Arc::new(Pool::new(64 << 20, 48 << 20)),
        );
        TestPage {
            engine,
            clock,
            authenticator,
            page,
            hosts,
            backups,
        }
    }

    /// Stores a private memory of a user, and returns its id.
    pub fn remember(&self, user: &str, text: &str) -> String {
        self.remember_as(user, Remember::new(text, "fact"))
    }

    pub fn remember_as(&self, user: &str, request: Remember) -> String {
        let stored = self
            .engine
            .system(&caller(user))
            .memories()
            .remember(request);
        stored.unwrap().memory.id.as_str().to_owned()
    }

    /// Examines what changed, all that is more than a look at *Review* has the time for on a slow machine.
    pub fn examine(&self) {
        while self.engine.examine().unwrap() > 0 {}
    }

    /// Returns a browser in which this user is signed in.
    pub async fn browser(&self, user: &str) -> Browser {
        let credential = format!("Bearer {user}").parse().unwrap();
        let path = self
            .page
            .sign_in_path(named(user), Some(credential))
            .unwrap();
        let mut browser = Browser {
            router: self.page.router(),
            cookie: None,
        };
        let entered = browser.get(&path).await;
        assert_eq!(entered.status, StatusCode::SEE_OTHER, "{}", entered.text);
        browser
    }

    /// Returns a browser in which no user is signed in.
    pub fn stranger(&self) -> Browser {
        Browser {
            router: self.page.router(),
            cookie: None,
        }
    }
}

/// Returns a user who may read and write.
pub fn caller(user: &str) -> Caller {
    let scopes = Scopes::of(&[Scope::Read, Scope::Write]);
    Caller::new(Space::default(), Principal::new(user, scopes))
}

/// A browser with its cookie.
pub struct Browser {
    pub router: Router,
    pub cookie: Option<String>,
}

/// A reply.
pub struct Reply {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub text: String,
}

impl Reply {
    /// Returns the path that a browser is sent to.
    pub fn location(&self) -> &str {
        self.headers[LOCATION].to_str().unwrap()
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    /// Returns the secret with which the session of this page sends changes.
    pub fn csrf(&self) -> String {
        let (_, rest) = self.text.split_once("name=\"csrf\" value=\"").unwrap();
        rest.split('"').next().unwrap().to_owned()
    }
}

impl Browser {
    /// Sends a request as it is, with the cookie.
    pub async fn send(&mut self, mut request: Request<Body>) -> Reply {
        if let Some(cookie) = &self.cookie {
            request
                .headers_mut()
                .insert(COOKIE, cookie.parse().unwrap());
        }
        let response: Response<Body> = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        if let Some(cookie) = parts.headers.get(SET_COOKIE) {
            let pair = cookie.to_str().unwrap().split(';').next().unwrap();
            self.cookie = Some(pair.to_owned());
        }
        let bytes = body.collect().await.unwrap().to_bytes();
        Reply {
            status: parts.status,
            headers: parts.headers,
            text: String::from_utf8(bytes.to_vec()).unwrap(),
        }
    }

    pub async fn get(&mut self, path: &str) -> Reply {
        self.get_from(path, "none").await
    }

    /// Goes to a path from a page of that site, as browsers name it in `Sec-Fetch-Site`.
    pub async fn get_from(&mut self, path: &str, site: &str) -> Reply {
        let request = Request::get(path).header("sec-fetch-site", site);
        self.send(request.body(Body::empty()).unwrap()).await
    }

    /// Sends a form as a page of this server does.
    pub async fn post(&mut self, path: &str, fields: &[(&str, &str)]) -> Reply {
        let csrf = self.get("/browse").await.csrf();
        let fields: Vec<(&str, &str)> = [("csrf", csrf.as_str())]
            .into_iter()
            .chain(fields.iter().copied())
            .collect();
        let request = form(path, &fields).header("sec-fetch-site", "same-origin");
        self.send(with_fields(request, &fields)).await
    }

    /// Sends a form, follows to the next page, and takes the change back there.
    pub async fn undo_of(&mut self, changed: &Reply) -> Reply {
        assert_eq!(changed.status, StatusCode::SEE_OTHER, "{}", changed.text);
        let shown = self.get(changed.location()).await;
        let (_, rest) = shown
            .text
            .split_once("name=\"number\" value=\"")
            .unwrap_or_else(|| panic!("no undo: {}", shown.text));
        let number = rest.split('"').next().unwrap().to_owned();
        self.post("/undo", &[("number", &number)]).await
    }
}

/// Returns a form, without what a browser adds.
pub fn form(path: &str, _: &[(&str, &str)]) -> http::request::Builder {
    Request::builder()
        .method(Method::POST)
        .uri(path)
        .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
}

pub fn with_fields(request: http::request::Builder, fields: &[(&str, &str)]) -> Request<Body> {
    let body = serde_html_form::to_string(fields).unwrap();
    request.body(Body::from(body)).unwrap()
}

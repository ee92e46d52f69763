//! The page of a server: who gets in, and what it shows of this installation.

mod backups;
mod files;
mod storage;

use std::ffi::OsString;
use std::fs;
use std::future::Future;
use std::io::{self, ErrorKind, Read};
use std::net::IpAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use loci_admission::{Pool, Subject};
use loci_archive::files::create_private_folder;
use loci_core::{Caller, Clock, Error, Result, Scope, SignInProvider, Token, TokenStore};
use loci_dialects::DIALECTS;
use loci_engine::Engine;
use loci_http::{DocumentUrl, Documents};
use loci_page::{
    Authenticator, BackupFile, ClientActivity, ClientDocuments, CommandOutput, HostStatus,
    ImportReport, ImportSource, ImportWork, Installation, OAuth, Page, RestoreReport, SearchModel,
    SentRequests, SettingValue, Storage, StoredLanguage, Task, TokenDetails, Upload, UtcTimestamp,
};
use loci_peers::Peer;
use loci_server::{
    AppPages, Authentication, CallLimit, Extensions, HeaderMap, base_url, client_address,
    client_url,
};

use crate::client_calls::{LastCall, last_calls};
use crate::commands::doctor::{ModelLanguages, model_languages};
use crate::corruption::BACKUPS;
use crate::detected_hosts::{DetectedHost, HostConnection, detected_hosts};
use crate::exit::Failure;
use crate::memory_folder;
use crate::own_program::OwnProgram;
use crate::sent_requests::sent_requests;
use crate::settings::{Origin, Row, Settings};
use crate::time_format;
use crate::wiring::{Parts, SystemClock};

/// The most bytes of what a client says of itself.
const CLIENT_DOCUMENT_BYTES_MAX: u64 = 16 << 10;
/// The longest wait for it.
const CLIENT_DOCUMENT_TIMEOUT: Duration = Duration::from_secs(5);

/// Returns the pages of views of the conversation, unless they are off.
pub fn app_pages(settings: &Settings) -> Option<AppPages> {
    let pages: AppPages = loci_page::conversation_page;
    settings.conversation_views.then_some(pages)
}

/// Lets callers in by the tokens of the server.
struct TokenAuthenticator {
    authentication: Authentication,
    provider: Option<Arc<dyn SignInProvider>>,
    call_limit: Option<Arc<CallLimit>>,
    oauth: Option<OAuth>,
}

impl Authenticator for TokenAuthenticator {
    fn base_url(&self, extensions: &Extensions) -> Option<String> {
        base_url(extensions).map(str::to_owned)
    }

    fn caller<'a>(
        &'a self,
        headers: &'a HeaderMap,
        base_url: &'a str,
        path: &'a str,
    ) -> Pin<Box<dyn Future<Output = Result<Caller>> + Send + 'a>> {
        Box::pin(self.authentication.caller(headers, Some(base_url), path))
    }

    fn client(&self, extensions: &Extensions) -> Option<IpAddr> {
        client_address(extensions)
    }

    fn charge(&self, subject: &Subject) -> std::result::Result<(), Duration> {
        self.call_limit
            .as_ref()
            .map_or(Ok(()), |limit| limit.charge(subject))
    }

    fn is_open(&self) -> bool {
        matches!(self.authentication, Authentication::Anonymous)
    }

    fn provider(&self) -> Option<Arc<dyn SignInProvider>> {
        self.provider.clone()
    }

    fn oauth(&self) -> Option<&OAuth> {
        self.oauth.as_ref()
    }

    fn issuer(&self, extensions: &Extensions) -> Option<String> {
        client_url(extensions).map(str::to_owned)
    }
}

/// Fetches what clients say of themselves, from public addresses only.
struct PublicDocuments(Documents);

impl ClientDocuments for PublicDocuments {
    fn fetch(&self, url: &str) -> Result<serde_json::Value> {
        self.0.get(&DocumentUrl::parse("client_id", url)?)
    }
}

/// Returns what lets clients in by OAuth, to all endpoints of this server.
pub fn oauth(parts: &Parts) -> OAuth {
    let documents = Documents::of_strangers(CLIENT_DOCUMENT_BYTES_MAX, CLIENT_DOCUMENT_TIMEOUT);
    let paths = DIALECTS
        .iter()
        .map(|dialect| format!("/mcp/{}", dialect.name));
    OAuth::new(
        parts.store.clone(),
        Arc::new(SystemClock),
        Arc::new(PublicDocuments(documents)),
        paths.collect(),
    )
}

/// Tells what this installation keeps.
struct LocalInstallation {
    settings: Settings,
    /// The folder with the folder of uploads: the data folder, or one in memory.
    uploads: PathBuf,
    tokens: Arc<dyn TokenStore>,
    engine: Arc<Engine>,
}

impl Installation for LocalInstallation {
    fn app_title(&self, program: &str) -> Option<&'static str> {
        loci_hosts::of_client(program).map(|host| host.title)
    }

    fn hosts(&self) -> Vec<HostStatus> {
        let found = |here: DetectedHost| {
            let (dialect, problem) = match here.connection {
                Ok(HostConnection::Stdio(dialect) | HostConnection::Http(dialect)) => {
                    (Some(dialect.to_owned()), None)
                }
                Ok(HostConnection::Plugin) => (Some("plug-in".to_owned()), None),
                Ok(HostConnection::None) => (None, None),
                Err(problem) => (None, Some(problem)),
            };
            HostStatus {
                name: here.host.name,
                title: here.host.title,
                dialect,
                problem,
                has_hooks: here.has_hooks,
                takes_hooks: here.host.hooks.is_some(),
                called_at: here.called_at.map(UtcTimestamp),
            }
        };
        detected_hosts(&self.settings)
            .into_iter()
            .map(found)
            .collect()
    }

    fn settings(&self) -> Vec<SettingValue> {
        let shown = |row: &Row| SettingValue {
            key: row.setting.key,
            value: row.value.clone().filter(|value| !value.is_empty()),
            origin: row.origin.to_string(),
            variable: row.setting.variable,
            is_default: row.origin == Origin::Default,
        };
        self.settings.rows.iter().map(shown).collect()
    }

    fn tokens(&self) -> Result<Vec<TokenDetails>> {
        let now = SystemClock.now();
        let shown = |token: Token| {
            let ends_at = token.ends_at();
            TokenDetails {
                is_over: token.is_over(now),
                scopes: token.scopes.iter().map(Scope::name).collect(),
                id: token.id,
                subject: token.subject,
                space: token.space.as_str().to_owned(),
                created_at: UtcTimestamp(token.created_at),
                expires_at: ends_at.map(UtcTimestamp),
                client: token.grant.map(|grant| grant.client),
            }
        };
        Ok(self.tokens.tokens()?.into_iter().map(shown).collect())
    }

    fn remove_tokens(&self, subject: &str) -> Result<u64> {
        self.tokens.remove_tokens(subject)
    }

    fn at_prompt(
        &self,
        engine: &Engine,
        caller: &Caller,
        wing: &str,
        prompt: &str,
    ) -> Result<Option<String>> {
        loci_hooks::prompt::preview(engine, caller, wing, prompt)
    }

    /// Runs this program once more, so that the page does what the command does.
    fn run(&self, task: &Task) -> Result<CommandOutput> {
        let backups = self.settings.data.join(BACKUPS);
        create_private_folder(&backups).map_err(|error| {
            Error::unavailable(format!("{} cannot be made: {error}", backups.display()))
        })?;
        let output = self.command(self.words(task))?.output();
        let output = output.map_err(not_started)?;
        let text = [output.stdout, output.stderr].concat();
        Ok(CommandOutput {
            succeeded: output.status.success(),
            text: String::from_utf8_lossy(&text).into_owned(),
        })
    }

    fn begin_upload(&self, bytes: u64, file_name: Option<&str>) -> Result<Upload> {
        files::begin_upload(&self.uploads, bytes, file_name)
    }

    fn discard_upload(&self, name: &str) -> Result<()> {
        let removed = fs::remove_dir_all(files::upload_folder(&self.uploads, name)?);
        match removed {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::unavailable(format!(
                "the uploaded file cannot be removed: {error}"
            ))),
            _ => Ok(()),
        }
    }

    fn import_systems(&self) -> Vec<&'static str> {
        Peer::ALL.map(Peer::name).to_vec()
    }

    fn import(&self, name: &str, source: &ImportSource, work: ImportWork) -> Result<ImportReport> {
        let file = files::upload_path(&self.uploads, name)?.ok_or_else(|| {
            Error::not_found("the uploaded file was removed; choose it once more")
        })?;
        let is_counted = work == ImportWork::Count;
        let file = if is_counted {
            file
        } else {
            files::take_upload(&self.uploads, name)?
        };
        // This server embeds what is stored.
        let mut words: Vec<OsString> = vec!["--json".into(), "import".into(), (&file).into()];
        words.push("--no-wait".into());
        let named = |flag: &str, value: &str| OsString::from(format!("--{flag}={value}"));
        words.extend(source.system.map(|system| named("from", system)));
        words.extend(source.zone.as_deref().map(|zone| named("zone", zone)));
        words.extend(match work {
            ImportWork::Count => Some("--dry-run".into()),
            ImportWork::Import => None,
            ImportWork::ImportForgottenToo => Some("--again".into()),
        });
        let output = self.command(words).and_then(|mut command| {
            let output = command.output();
            output.map_err(not_started)
        });
        if !is_counted {
            files::remove_taken(&self.uploads);
        }
        let output = output?;
        let text = String::from_utf8_lossy(&output.stderr);
        let said = CommandOutput {
            succeeded: output.status.success(),
            text: text.replace(&*file.to_string_lossy(), "the file"),
        };
        let report = files::report_of(&output.stdout, said);
        if is_counted && report.counts.is_none() {
            self.discard_upload(name)?;
        }
        Ok(report)
    }

    fn export(&self) -> Result<Box<dyn Read + Send>> {
        let command = self.command(vec!["export".into(), "-".into()])?;
        Ok(Box::new(
            files::CommandStream::of(command).map_err(not_started)?,
        ))
    }

    fn clients(&self) -> Vec<ClientActivity> {
        let seen = |call: LastCall| {
            let called_at = call.called_at();
            ClientActivity::new(call.client, call.dialect, call.transport, called_at)
        };
        last_calls(&self.settings.data)
            .into_iter()
            .map(seen)
            .collect()
    }

    fn sent_requests(&self) -> Vec<SentRequests> {
        sent_requests(&self.settings.data)
    }

    fn schema_version(&self) -> i64 {
        self.settings
            .store_for(&self.settings.data)
            .schema_version()
    }

    fn place(&self) -> String {
        self.settings.store_for(&self.settings.data).shown()
    }

    fn backups(&self) -> Vec<BackupFile> {
        backups::kept(&self.settings)
    }

    fn backup_draft_bytes(&self) -> u64 {
        backups::draft_bytes(&self.settings)
    }

    fn storage(&self) -> Storage {
        storage::of(&self.settings)
    }

    fn backup_command(&self) -> String {
        backups::command(&self.settings)
    }

    fn search_model(&self) -> SearchModel {
        let Some(ModelLanguages {
            model,
            languages,
            offer,
        }) = model_languages(&self.engine)
        else {
            return SearchModel::default();
        };
        let shown = |(code, texts, is_known): (&'static str, usize, Option<bool>)| StoredLanguage {
            code: code.to_owned(),
            texts,
            is_known,
        };
        let (offer, commands) = match offer {
            Some((why, other)) => {
                let words = ["install", "use"].map(|verb| format!("loci model {verb} {other}"));
                (Some(why), words.to_vec())
            }
            None => (None, Vec::new()),
        };
        SearchModel {
            name: Some(model),
            languages: languages.into_iter().map(shown).collect(),
            offer,
            commands,
        }
    }

    fn version(&self) -> &'static str {
        env!("CARGO_PKG_VERSION")
    }

    fn restore(&self, name: &str) -> Result<RestoreReport> {
        backups::restore(&self.settings, name)
    }
}

fn not_started(error: io::Error) -> Error {
    Error::unavailable(format!("loci cannot be started: {error}"))
}

impl LocalInstallation {
    /// Returns this program with these words, on this installation.
    fn command(&self, words: Vec<OsString>) -> Result<Command> {
        let failed = |failure: Failure| Error::unavailable(failure.message);
        let program = OwnProgram::new(&self.settings).map_err(failed)?;
        let mut command = Command::new(&program.file);
        command.args(words).stdin(Stdio::null());
        for (flag, value) in &program.places {
            command.arg(format!("--{flag}")).arg(value);
        }
        Ok(command)
    }

    /// Returns the words of the command line of a task.
    fn words(&self, task: &Task) -> Vec<OsString> {
        let words = |words: &[&str]| words.iter().map(OsString::from).collect();
        match task {
            Task::Connect {
                host,
                dialect,
                hooks,
            } => {
                let mut all = vec!["connect", host];
                all.extend(dialect.iter().flat_map(|dialect| ["--dialect", dialect]));
                all.extend(hooks.then_some("--hooks"));
                words(&all)
            }
            Task::RemoveHooks(host) => words(&["hook", "uninstall", "--host", host]),
            Task::Disconnect(host) => words(&["connect", host, "--undo"]),
            Task::CheckHost(host) => words(&["connect", host, "--check"]),
            Task::Examine => words(&["doctor", "--json"]),
            Task::BackUp => {
                let name = time_format::format(SystemClock.now()).replace(':', "-");
                let file = self.settings.data.join(BACKUPS).join(format!("{name}.tar"));
                vec!["backup".into(), file.into()]
            }
            Task::MakeToken { subject, scopes } => words(&[
                "token",
                "create",
                "--subject",
                subject,
                "--scopes",
                &scopes.join(","),
            ]),
            Task::RevokeToken(id) => words(&["token", "revoke", id]),
            Task::UndoImport(batch) => words(&["undo", batch, "--yes"]),
        }
    }
}

/// Returns the page of a server that lets callers in like this, within the limits of its MCP
/// endpoints, lets people sign in at the provider, and lets clients in.
pub fn page(
    settings: &Settings,
    parts: &Parts,
    authentication: Authentication,
    (provider, oauth): (Option<Arc<dyn SignInProvider>>, Option<OAuth>),
    (call_limit, bodies): (Option<Arc<CallLimit>>, Arc<Pool>),
) -> Arc<Page> {
    let uploads = memory_folder::folder_of(settings).unwrap_or_else(|| settings.data.clone());
    files::remove_uploads(&uploads);
    let installation = LocalInstallation {
        settings: settings.clone(),
        uploads,
        tokens: parts.store.clone(),
        engine: Arc::clone(&parts.engine),
    };
    Page::new(
        Arc::clone(&parts.engine),
        Arc::new(TokenAuthenticator {
            authentication,
            provider,
            call_limit,
            oauth,
        }),
        Arc::new(installation),
        bodies,
    )
}

//! The page of a server: who gets in, and what it shows of this installation.

mod backups;
mod files;

use std::ffi::OsString;
use std::fs;
use std::future::Future;
use std::io::{self, ErrorKind, Read};
use std::net::IpAddr;
use std::pin::Pin;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use loci_admission::{Pool, Subject};
use loci_archive::files::create_private_folder;
use loci_core::{Caller, Clock, Error, Result, Scope, SignInProvider, Token, TokenStore};
use loci_page::{
    Authenticator, BackupFile, ClientActivity, CommandOutput, HostStatus, ImportReport, ImportWork,
    Installation, Page, RestoreReport, SettingValue, Task, TokenDetails, Upload, UtcTimestamp,
};
use loci_server::{Authentication, CallLimit, Extensions, HeaderMap, base_url, client_address};

use crate::client_calls::{LastCall, last_calls};
use crate::corruption::BACKUPS;
use crate::detected_hosts::{DetectedHost, HostConnection, detected_hosts};
use crate::exit::Failure;
use crate::own_program::OwnProgram;
use crate::settings::{Row, Settings};
use crate::time_format;
use crate::wiring::{Parts, SystemClock};

/// Lets callers in by the tokens of the server.
struct TokenAuthenticator {
    authentication: Authentication,
    provider: Option<Arc<dyn SignInProvider>>,
    call_limit: Option<Arc<CallLimit>>,
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
}

/// Tells what this installation keeps.
struct LocalInstallation {
    settings: Settings,
    tokens: Arc<dyn TokenStore>,
}

impl Installation for LocalInstallation {
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
        };
        self.settings.rows.iter().map(shown).collect()
    }

    fn tokens(&self) -> Result<Vec<TokenDetails>> {
        let now = SystemClock.now();
        let shown = |token: Token| TokenDetails {
            is_over: !token.is_valid(now),
            scopes: token.scopes.iter().map(Scope::name).collect(),
            id: token.id,
            subject: token.subject,
            space: token.space.as_str().to_owned(),
            created_at: UtcTimestamp(token.created_at),
            expires_at: token.expires_at.map(UtcTimestamp),
        };
        Ok(self.tokens.tokens()?.into_iter().map(shown).collect())
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

    fn begin_upload(&self, bytes: u64) -> Result<Upload> {
        files::begin_upload(&self.settings.data, bytes)
    }

    fn discard_upload(&self, name: &str) -> Result<()> {
        let removed = fs::remove_file(files::upload_path(&self.settings.data, name)?);
        match removed {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::unavailable(format!(
                "the uploaded file cannot be removed: {error}"
            ))),
            _ => Ok(()),
        }
    }

    fn import(&self, name: &str, work: ImportWork) -> Result<ImportReport> {
        let file = files::upload_path(&self.settings.data, name)?;
        if !file.is_file() {
            let message = "the uploaded file was removed; choose it once more";
            return Err(Error::not_found(message));
        }
        // This server embeds what is stored.
        let mut words: Vec<OsString> = vec!["--json".into(), "import".into(), (&file).into()];
        words.push("--no-wait".into());
        words.extend(match work {
            ImportWork::Count => Some("--dry-run".into()),
            ImportWork::Import => None,
            ImportWork::ImportForgottenToo => Some("--again".into()),
        });
        let output = self.command(words)?.output().map_err(not_started)?;
        let counts = files::counts_of(&output.stdout);
        if work != ImportWork::Count || counts.is_none() {
            self.discard_upload(name)?;
        }
        let text = String::from_utf8_lossy(&output.stderr);
        Ok(ImportReport {
            counts,
            said: CommandOutput {
                succeeded: output.status.success(),
                text: text.replace(&*file.to_string_lossy(), "the file"),
            },
        })
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

    fn place(&self) -> String {
        self.settings.store_for(&self.settings.data).shown()
    }

    fn backups(&self) -> Vec<BackupFile> {
        backups::kept(&self.settings)
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
            Task::Connect(host) => words(&["connect", host]),
            Task::Disconnect(host) => words(&["connect", host, "--undo"]),
            Task::CheckHost(host) => words(&["connect", host, "--check"]),
            Task::Examine => words(&["doctor"]),
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
        }
    }
}

/// Returns the page of a server that lets callers in like this, within the limits of its MCP
/// endpoints, and lets people sign in at the provider.
pub fn page(
    settings: &Settings,
    parts: &Parts,
    authentication: Authentication,
    provider: Option<Arc<dyn SignInProvider>>,
    (call_limit, bodies): (Option<Arc<CallLimit>>, Arc<Pool>),
) -> Arc<Page> {
    files::remove_uploads(&settings.data);
    let installation = LocalInstallation {
        settings: settings.clone(),
        tokens: parts.store.clone(),
    };
    Page::new(
        Arc::clone(&parts.engine),
        Arc::new(TokenAuthenticator {
            authentication,
            provider,
            call_limit,
        }),
        Arc::new(installation),
        bodies,
    )
}

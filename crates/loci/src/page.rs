//! The page of a server: who gets in, and what it shows of this installation.

use std::ffi::OsString;
use std::future::Future;
use std::pin::Pin;
use std::process::{Command, Stdio};
use std::sync::Arc;

use loci_archive::files::create_private_folder;
use loci_core::{
    Caller, Clock, Error, Result, Scope, SignInProvider, Timestamp, Token, TokenStore,
};
use loci_page::{
    BackupKept, ClientSeen, Gate, HostFound, Keeper, Moment, Page, Said, SettingShown, Task,
    TokenShown,
};
use loci_server::{Authentication, Extensions, HeaderMap, base_url};

use crate::client_calls::{LastCall, last_calls};
use crate::damage::{BACKUPS, newest_backup};
use crate::exit::Failure;
use crate::hosts_here::{HostConnection, HostHere, hosts_here};
use crate::moments::exact;
use crate::own_program::OwnProgram;
use crate::settings::{Row, Settings};
use crate::wiring::{Parts, SystemClock};

/// Lets callers in by the tokens of the server.
struct TokenGate {
    authentication: Authentication,
    provider: Option<Arc<dyn SignInProvider>>,
}

impl Gate for TokenGate {
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

    fn is_open(&self) -> bool {
        matches!(self.authentication, Authentication::Anonymous)
    }

    fn provider(&self) -> Option<Arc<dyn SignInProvider>> {
        self.provider.clone()
    }
}

/// Tells what this installation keeps.
struct Installation {
    settings: Settings,
    tokens: Arc<dyn TokenStore>,
}

impl Keeper for Installation {
    fn hosts(&self) -> Vec<HostFound> {
        let found = |here: HostHere| {
            let (dialect, problem) = match here.connection {
                Ok(HostConnection::Stdio(dialect) | HostConnection::Http(dialect)) => {
                    (Some(dialect.to_owned()), None)
                }
                Ok(HostConnection::Plugin) => (Some("plug-in".to_owned()), None),
                Ok(HostConnection::None) => (None, None),
                Err(problem) => (None, Some(problem)),
            };
            HostFound {
                name: here.host.name,
                title: here.host.title,
                dialect,
                problem,
                has_hooks: here.has_hooks,
                called_at: here.called_at.map(Moment),
            }
        };
        hosts_here(&self.settings).into_iter().map(found).collect()
    }

    fn settings(&self) -> Vec<SettingShown> {
        let shown = |row: &Row| SettingShown {
            key: row.setting.key,
            value: row.value.clone().filter(|value| !value.is_empty()),
            origin: row.origin.to_string(),
        };
        self.settings.rows.iter().map(shown).collect()
    }

    fn tokens(&self) -> Result<Vec<TokenShown>> {
        let now = SystemClock.now();
        let shown = |token: Token| TokenShown {
            is_over: !token.is_valid(now),
            scopes: token.scopes.iter().map(Scope::name).collect(),
            id: token.id,
            subject: token.subject,
            space: token.space.as_str().to_owned(),
            created_at: Moment(token.created_at),
            expires_at: token.expires_at.map(Moment),
        };
        Ok(self.tokens.tokens()?.into_iter().map(shown).collect())
    }

    /// Runs this program once more, so that the page does what the command does.
    fn run(&self, task: &Task) -> Result<Said> {
        let failed = |failure: Failure| Error::unavailable(failure.message);
        let program = OwnProgram::new(&self.settings).map_err(failed)?;
        let backups = self.settings.data.join(BACKUPS);
        create_private_folder(&backups).map_err(|error| {
            Error::unavailable(format!("{} cannot be made: {error}", backups.display()))
        })?;
        let mut command = Command::new(&program.file);
        command.args(self.words(task)).stdin(Stdio::null());
        for (flag, value) in &program.places {
            command.arg(format!("--{flag}")).arg(value);
        }
        let output = command
            .output()
            .map_err(|error| Error::unavailable(format!("loci cannot be started: {error}")))?;
        let text = [output.stdout, output.stderr].concat();
        Ok(Said {
            succeeded: output.status.success(),
            text: String::from_utf8_lossy(&text).into_owned(),
        })
    }

    fn clients(&self) -> Vec<ClientSeen> {
        let seen = |call: LastCall| {
            let called_at = call.called_at();
            ClientSeen::new(call.client, call.dialect, call.transport, called_at)
        };
        last_calls(&self.settings.data)
            .into_iter()
            .map(seen)
            .collect()
    }

    fn place(&self) -> String {
        self.settings.store_for(&self.settings.data).shown()
    }

    fn last_backup(&self) -> Result<Option<BackupKept>> {
        let Some((file, modified)) = newest_backup(&self.settings) else {
            return Ok(None);
        };
        let unreadable =
            |error| Error::unavailable(format!("{} cannot be read: {error}", file.display()));
        let bytes = file.metadata().map_err(unreadable)?.len();
        let since_1970 = modified
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap_or_default();
        let made_at = i64::try_from(since_1970.as_micros()).unwrap_or(i64::MAX);
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        Ok(Some(BackupKept::new(
            name.into_owned(),
            Timestamp::from_microseconds(made_at),
            bytes,
        )))
    }
}

impl Installation {
    /// Returns the words of the command line of a task.
    fn words(&self, task: &Task) -> Vec<OsString> {
        let words = |words: &[&str]| words.iter().map(OsString::from).collect();
        match task {
            Task::Connect(host) => words(&["connect", host]),
            Task::Disconnect(host) => words(&["connect", host, "--undo"]),
            Task::CheckHost(host) => words(&["connect", host, "--check"]),
            Task::Examine => words(&["doctor"]),
            Task::BackUp => {
                let name = exact(SystemClock.now()).replace(':', "-");
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

/// Returns the page of a server that lets callers in like this, and lets people sign in at the
/// provider.
pub fn page(
    settings: &Settings,
    parts: &Parts,
    authentication: Authentication,
    provider: Option<Arc<dyn SignInProvider>>,
) -> Arc<Page> {
    let keeper = Installation {
        settings: settings.clone(),
        tokens: parts.store.clone(),
    };
    Page::new(
        Arc::clone(&parts.engine),
        Arc::new(TokenGate {
            authentication,
            provider,
        }),
        Arc::new(keeper),
    )
}

//! `loci connect`: connects the hosts on this machine to loci.

mod endpoint;
mod report;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use loci_dialects::{DIALECTS, Dialect, mememory};
use loci_hosts::{
    Change, ConnectError, Connection, HOSTS, HookOptions, Hooks, Host, InstructionBlock, Machine,
    OwnEntry, Program, Reach, Scope, Target, program_words, sweep,
};

use self::endpoint::Endpoint;
pub use self::report::kept_sentence;
use self::report::{Outcome, Part, Report};
use crate::cli::Connect;
use crate::commands::hook;
use crate::detected_hosts::double_advice;
use crate::exit::{Exit, Failure};
use crate::output::{Output, status_line};
use crate::own_program::{self, OwnProgram};
use crate::settings::Settings;

pub fn run(settings: &Settings, arguments: &Connect, output: Output) -> Result<(), Failure> {
    if arguments.hooks && arguments.scope == Scope::Project {
        let message =
            "--hooks changes your own settings of a host; leave out --scope project, or --hooks";
        return Err(Failure::new(Exit::Usage, message));
    }
    let machine = Machine::here().ok_or_else(|| {
        let message = "there is no home folder, in which hosts keep their settings; set HOME to it";
        Failure::new(Exit::Failure, message)
    })?;
    let project = std::env::current_dir().map_err(|error| {
        let message = format!("the folder that you are in is unknown: {error}");
        Failure::new(Exit::Failure, message)
    })?;
    let endpoint = arguments.http.as_deref().map(|url| {
        let names = dialect_names();
        Endpoint::parse(url, arguments.dialect.as_deref(), &names)
    });
    let work = Work {
        arguments,
        machine,
        project,
        program: OwnProgram::new(settings)?,
        file_name: own_program::file_name(),
        dialects: dialect_names(),
        endpoint: endpoint.transpose()?,
    };
    let hosts = work.chosen()?;
    if arguments.print {
        return work.print(&hosts, output);
    }
    if arguments.check {
        return work.check(&hosts, output);
    }
    work.change(&hosts, output)
}

fn dialect_names() -> Vec<&'static str> {
    DIALECTS.iter().map(|dialect| dialect.name).collect()
}

/// The name of this program on the path of other machines.
const OWN_NAME: &str = "loci";

/// The work of one call of the command.
struct Work<'a> {
    arguments: &'a Connect,
    machine: Machine,
    /// The folder that the user is in.
    project: PathBuf,
    program: OwnProgram,
    file_name: Option<String>,
    dialects: Vec<&'static str>,
    endpoint: Option<Endpoint>,
}

impl Work<'_> {
    /// Returns the hosts that are named, or else the ones that are found. An undoing looks at all,
    /// since a host may be gone.
    fn chosen(&self) -> Result<Vec<&'static Host>, Failure> {
        if !self.arguments.hosts.is_empty() {
            let mut seen = HashSet::new();
            let named = self.arguments.hosts.iter().copied();
            return Ok(named.filter(|host| seen.insert(host.name)).collect());
        }
        if self.arguments.undo {
            return Ok(HOSTS.to_vec());
        }
        let (found, absent): (Vec<_>, Vec<_>) = HOSTS
            .into_iter()
            .partition(|host| host.is_installed(&self.machine));
        let absent: Vec<_> = absent.into_iter().map(|host| host.name).collect();
        let absent = absent.join(", ");
        if found.is_empty() {
            let message = format!(
                "no host was found on this machine; name one to connect it all the same: `loci connect HOST` with one \
                 of {absent}"
            );
            return Err(Failure::new(Exit::Failure, message));
        }
        if !absent.is_empty() && !self.arguments.check {
            status_line(format_args!(
                "not found on this machine, and skipped unless you name them: {absent}"
            ));
        }
        Ok(found)
    }

    /// Connects or disconnects each host, or shows what that would change.
    fn change(&self, hosts: &[&'static Host], output: Output) -> Result<(), Failure> {
        let mut report = Report::new(self.arguments, output);
        if !self.arguments.dry_run {
            for file in sweep(&self.machine, &self.project) {
                status_line(kept_sentence(&file));
            }
        }
        for host in hosts {
            let connection = self.connection(host);
            let outcome = if self.arguments.undo {
                self.disconnect(&connection, &mut report)
            } else {
                self.connect(&connection, &mut report)
            };
            report.end(host, outcome)?;
        }
        if report.has_connected() {
            if self.endpoint.is_none() {
                self.program.warn_of_build_folder("these hosts");
            } else {
                status_line(loci_hosts::token_advice());
            }
        }
        report.finish()
    }

    fn connect(
        &self,
        connection: &Connection<'_>,
        report: &mut Report,
    ) -> Result<Outcome, ConnectError> {
        let host = connection.host;
        let dialect = self.dialect(connection)?;
        let target = self.target(dialect);
        let change = match connection.connect(&target) {
            Err(ConnectError::Unsupported(reason)) if self.arguments.hosts.is_empty() => {
                return Ok(Outcome::Skipped(reason));
            }
            change => change?,
        };
        let is_new = !self.arguments.hosts.is_empty() && !host.is_installed(&self.machine);
        self.note_own_paths(&change.file, &target, report);
        let mut outcome = self.make(host, change, dialect, report)?;
        if is_new {
            report.note(format!(
                "{} was not found on this machine; its settings wait for it",
                host.title
            ));
        }
        if self.arguments.instructions {
            let block = InstructionBlock {
                server: &self.arguments.name,
                recall: dialect.usual_tools.find,
                remember: dialect.usual_tools.store,
            };
            match connection.instruct(&block) {
                Err(ConnectError::Unsupported(reason)) => report.note(reason),
                change => {
                    let has_changed = report.make(Part::Instructions, &change?)?;
                    outcome = outcome.and(has_changed);
                }
            }
        }
        if matches!(outcome, Outcome::Connected) {
            report.note(host.advice.to_owned());
        }
        if host.has_plugin(&self.machine) {
            report.note(double_advice(host));
        }
        Ok(outcome)
    }

    /// Makes the change of the servers of a host, and of its hooks if they are asked for.
    fn make(
        &self,
        host: &'static Host,
        change: Change<'_>,
        dialect: &Dialect,
        report: &mut Report,
    ) -> Result<Outcome, ConnectError> {
        let Some(file) = self.hooks_file(host).filter(|_| self.arguments.hooks) else {
            let has_changed = report.make(Part::Server, &change)?;
            if self.arguments.hooks {
                report.note(format!("loci installs no hooks for {}", host.title));
            }
            return Ok(Outcome::of(has_changed));
        };
        let (hooks, words) = (self.hooks(host, &file), self.words());
        let options = HookOptions {
            program: &words,
            dialect: Some(dialect.name),
            default_dialect: mememory::DIALECT.name,
            is_shared: false,
            is_verbatim: false,
        };
        // Gemini CLI keeps both in one file.
        if file == change.file {
            let both = hooks.join_install(change, &options)?;
            return Ok(Outcome::of(report.make(Part::ServerAndHooks, &both)?));
        }
        let outcome = Outcome::of(report.make(Part::Server, &change)?);
        let has_changed = report.make(Part::Hooks, &hooks.plan_install(&options)?)?;
        let advice = host.hooks.and_then(|hooks| hooks.advice);
        if let Some(advice) = advice.filter(|_| has_changed) {
            report.note(advice.to_owned());
        }
        Ok(outcome.and(has_changed))
    }

    fn disconnect(
        &self,
        connection: &Connection<'_>,
        report: &mut Report,
    ) -> Result<Outcome, ConnectError> {
        let host = connection.host;
        let mut has_changed = false;
        let mut undo = |part, change: Result<Change<'_>, ConnectError>| match change {
            // There is no file that could have anything.
            Err(ConnectError::Unsupported(_)) => Ok(()),
            Err(error) => Err(error),
            Ok(change) => {
                has_changed |= report.make(part, &change)?;
                Ok(())
            }
        };
        let hooks_file = self.hooks_file(host);
        match hooks_file.filter(|_| connection.scope == Scope::User) {
            Some(file) if connection.file().is_ok_and(|servers| servers == file) => {
                let change = connection.disconnect_with(&self.hooks(host, &file));
                undo(Part::ServerAndHooks, change)?;
            }
            Some(file) => {
                undo(Part::Server, connection.disconnect())?;
                let change = self.hooks(host, &file).plan_uninstall(&self.machine.home);
                undo(Part::Hooks, change.map_err(ConnectError::from))?;
            }
            None => undo(Part::Server, connection.disconnect())?,
        }
        undo(Part::Instructions, connection.uninstruct())?;
        Ok(if has_changed {
            Outcome::Disconnected
        } else {
            Outcome::Nothing
        })
    }

    fn check(&self, hosts: &[&'static Host], output: Output) -> Result<(), Failure> {
        let mut report = Report::new(self.arguments, output);
        for host in hosts {
            let checked = self.connection(host).check();
            report.end(host, checked.map(Outcome::Checked))?;
        }
        report.finish()
    }

    fn print(&self, hosts: &[&'static Host], output: Output) -> Result<(), Failure> {
        let mut report = Report::new(self.arguments, output);
        for host in hosts {
            let connection = self.connection(host);
            let dialect = self.dialect(&connection).unwrap_or(&mememory::DIALECT);
            let target = self.target(dialect);
            let printed = connection.printed(&target).and_then(|text| {
                let link = connection.link(&target)?;
                Ok(Outcome::Printed { text, link })
            });
            report.end(host, printed)?;
        }
        report.finish()
    }

    fn connection(&self, host: &'static Host) -> Connection<'_> {
        Connection {
            host,
            machine: &self.machine,
            scope: self.arguments.scope,
            project: &self.project,
            name: &self.arguments.name,
            own: OwnEntry {
                file_name: self.file_name.as_deref(),
                dialects: &self.dialects,
            },
        }
    }

    /// Returns the dialect that is named, or else the one that the host has, or the usual one.
    fn dialect(&self, connection: &Connection<'_>) -> Result<&'static Dialect, ConnectError> {
        let of_url = self
            .endpoint
            .as_ref()
            .and_then(|endpoint| endpoint.dialect.as_deref());
        let name = match self.arguments.dialect.as_deref().or(of_url) {
            Some(name) => Some(name.to_owned()),
            None if connection.file().is_ok() => connection.dialect()?,
            None => None,
        };
        let found = DIALECTS
            .iter()
            .copied()
            .find(|dialect| Some(dialect.name) == name.as_deref());
        Ok(found.unwrap_or(&mememory::DIALECT))
    }

    /// Returns the server that the host is to reach. A project's file may be shared with others,
    /// so that it calls loci by its name if the path leads to this program.
    fn target(&self, dialect: &Dialect) -> Target {
        if let Some(endpoint) = &self.endpoint {
            return Target::Http {
                url: endpoint.url(dialect.name),
            };
        }
        let mut words = self.words().into_iter();
        let mut program = words.next().unwrap_or_default();
        if self.arguments.scope == Scope::Project && self.is_on_path() {
            OWN_NAME.clone_into(&mut program);
        }
        let server = ["mcp", dialect.name].map(str::to_owned);
        Target::Stdio {
            program,
            arguments: words.chain(server).collect(),
        }
    }

    /// Returns true if `loci` on the path is this program.
    fn is_on_path(&self) -> bool {
        let found = self.machine.program(OWN_NAME);
        let real = |file: &Path| file.canonicalize().ok();
        found.is_some_and(|found| {
            real(&found).is_some_and(|it| Some(it) == real(&self.program.file))
        })
    }

    /// Notes which paths of this machine a project's file now holds.
    fn note_own_paths(&self, file: &Path, target: &Target, report: &mut Report) {
        let Target::Stdio { program, arguments } = target else {
            return;
        };
        let words = std::iter::once(program).chain(arguments);
        let paths: Vec<&str> = words
            .map(String::as_str)
            .filter(|word| Path::new(word).is_absolute())
            .collect();
        if self.arguments.scope != Scope::Project || paths.is_empty() {
            return;
        }
        report.note(format!(
            "{} names {}, which other machines do not have; before you share the file, put loci on the path, name no \
             folder (--data, LOCI_DATA and their like), and repeat this, or connect with --http",
            file.display(),
            paths.join(" and ")
        ));
    }

    /// Returns the words that call this program.
    fn words(&self) -> Vec<String> {
        program_words(&self.program.file, &self.program.places)
    }

    fn hooks_file(&self, host: &Host) -> Option<PathBuf> {
        host.hooks_file_on(&self.machine)
    }

    fn hooks<'a>(&'a self, host: &'a Host, file: &'a Path) -> Hooks<'a> {
        Hooks {
            host,
            file,
            reach: Reach::Everywhere,
            program: Program {
                file_name: self.file_name.as_deref(),
                parse: hook::parse,
            },
        }
    }
}

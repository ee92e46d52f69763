//! Builds the engine from the parts that the settings choose.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use loci_core::{
    Caller, Clock, Embedder, LOCAL, OpenError, OpenFault, OpenStore, Result, Store, Token,
};
use loci_dialects::{Context, Dialect, Reply};
use loci_embed::{CrossEncoder, NoModel};
use loci_engine::{
    Call, CallInfo, Effect, Engine, Policy, ReconciliationReport, SearchMode, System, Weights,
};
use loci_mine::GitTree;
use loci_page::Metrics;
use loci_secrets::SecretRedactor;
use loci_tokens::BpeTokens;
use loci_vault::is_watched;
use serde_json::{Map, Value};

pub use crate::clock::SystemClock;
use crate::corruption::recovery_advice;
use crate::exit::{Exit, Failure};
use crate::former_models::KnownModels;
use crate::machine;
use crate::models::{
    cached, chat_model, embedder, embedder_of_prompt, search_of_prompts, web_search,
};
use crate::output::status_line;
use crate::own_server::own_url;
use crate::settings::Settings;
use crate::store::open_failure;
use crate::store_replacement;
use crate::vault::Vault;

/// The longest wait of a server's shutdown for calls whose clients are gone. Changes that are not
/// committed by then are not acknowledged either.
pub const CALLS_END_TIMEOUT: Duration = Duration::from_millis(250);
/// The longest wait of a client's search for the index; with the rest of its work it takes less
/// than 2 s.
const SEARCH_WAIT: Duration = Duration::from_millis(1_500);

/// The parts of the engine besides its store and the settings.
pub struct Wiring {
    /// The model.
    pub embedder: Arc<dyn Embedder>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Times, thresholds and weights.
    pub policy: Policy,
    /// The weights of the ranking.
    pub weights: Weights,
    /// The wait of [`Engine::with_search_wait`].
    pub search_wait: Option<Duration>,
}

impl Wiring {
    /// Returns the parts that the settings choose.
    fn of(settings: &Settings) -> Result<Self, Failure> {
        Ok(Wiring {
            embedder: cached(&settings.embedding, embedder(&settings.embedding)?),
            clock: Arc::new(SystemClock),
            policy: settings.policy,
            weights: Weights::default(),
            search_wait: None,
        })
    }
}

/// The parts that a command works with.
pub struct Parts {
    /// The store, for tokens and its own checks.
    pub store: Arc<dyn OpenStore>,
    /// The model.
    pub embedder: Arc<dyn Embedder>,
    /// The engine over both.
    pub engine: Arc<Engine>,
    /// The folder of notes.
    pub vault: Vault,
    /// The figures for monitoring, if a setting asks for them.
    pub metrics: Option<Arc<Metrics>>,
    /// True if commands show what other users keep private.
    all_users: bool,
}

impl Parts {
    /// Opens all parts; makes the data folder if it is missing. Loads neither model nor index.
    ///
    /// # Errors
    /// [`Exit::DataFolder`], [`Exit::Database`] or, for an impossible endpoint, [`Exit::Usage`].
    pub fn open(settings: &Settings) -> Result<Self, Failure> {
        Parts::open_at(settings, &settings.data)
    }

    /// Opens all parts with another data folder.
    ///
    /// # Errors
    /// As for [`Parts::open`].
    pub fn open_at(settings: &Settings, data: &Path) -> Result<Self, Failure> {
        Parts::open_with(settings, data, Wiring::of(settings)?)
    }

    /// Opens all parts for clients: a search that would wait too long for the store fails instead.
    ///
    /// # Errors
    /// As for [`Parts::open`].
    pub fn open_for_clients(settings: &Settings) -> Result<Self, Failure> {
        let wiring = Wiring {
            search_wait: Some(SEARCH_WAIT),
            ..Wiring::of(settings)?
        };
        Parts::of_store(settings, &settings.data, wiring, open_store_if_full)
    }

    /// Opens all parts for a hook, which reads a store on a full disk, too.
    ///
    /// # Errors
    /// As for [`Parts::open`]; writes to a store on a full disk fail.
    pub fn open_for_hook(settings: &Settings) -> Result<Self, Failure> {
        let wiring = Wiring::of(settings)?;
        Parts::of_store(settings, &settings.data, wiring, open_store_if_full)
    }

    /// Opens all parts for the hook of a prompt, which is embedded at the same time.
    ///
    /// # Errors
    /// As for [`Parts::open`].
    pub fn open_for_prompt(settings: &Settings, prompt: &str) -> Result<Self, Failure> {
        let settings = Settings {
            search: search_of_prompts(settings),
            ..settings.clone()
        };
        let wiring = Wiring::of(&settings)?;
        let embedder = embedder_of_prompt(&settings, prompt);
        let wiring = Wiring {
            embedder: embedder.unwrap_or(wiring.embedder),
            ..wiring
        };
        Parts::of_store(&settings, &settings.data, wiring, open_store_if_full)
    }

    /// Opens all parts, with the ones that a benchmark chooses for itself.
    ///
    /// # Errors
    /// As for [`Parts::open`].
    pub fn open_with(settings: &Settings, data: &Path, wiring: Wiring) -> Result<Self, Failure> {
        Parts::of_store(settings, data, wiring, open_store)
    }

    /// Opens all parts for a command that changes what is stored, and makes no store.
    ///
    /// # Errors
    /// As for [`Parts::open`]; [`Exit::DataFolder`] if there is no store.
    pub fn open_existing(settings: &Settings) -> Result<Self, Failure> {
        settings.store_for(&settings.data).existing()?;
        Parts::open(settings)
    }

    /// Opens all parts for a command that can work with a read-only store, and prints that it is
    /// one. It makes no store.
    ///
    /// # Errors
    /// As for [`Parts::open_existing`]; writes to a read-only store fail.
    pub fn open_to_read(settings: &Settings) -> Result<Self, Failure> {
        Parts::of_store(
            settings,
            &settings.data,
            Wiring::of(settings)?,
            open_store_to_read,
        )
    }

    fn of_store(
        settings: &Settings,
        data: &Path,
        wiring: Wiring,
        open: impl FnOnce(&Settings, &Path) -> Result<Arc<dyn OpenStore>, Failure>,
    ) -> Result<Self, Failure> {
        let Wiring {
            embedder,
            clock,
            policy,
            weights,
            search_wait,
        } = wiring;
        let vault = Vault::of(settings, data)?;
        let store = open(settings, data)?;
        let shared: Arc<dyn Store> = Arc::<dyn OpenStore>::clone(&store);
        let notes = vault.is_kept.then(|| vault.notes_by(Arc::clone(&clock)));
        let mut engine = Engine::new(shared, Arc::clone(&embedder), clock, settings.search)
            .with_policy(policy)
            .with_page_url(page_url(settings))
            .with_weights(weights)
            .with_trusted_authors(settings.trusted_authors.clone())
            .with_source_tree(Arc::new(GitTree))
            .with_former_models(Arc::new(KnownModels::of(settings)))
            .with_token_counter(Arc::new(BpeTokens))
            .with_phases(settings.phases.clone())
            .with_redactor(Arc::new(SecretRedactor), settings.redaction);
        if let Some(notes) = notes {
            engine = engine.with_notes(Arc::new(notes), loci_dialects::vault::DIALECT.name);
        }
        let id = settings.store_for(data).machine(data)?;
        if !id.is_empty() {
            let keeper = format!("{}:{}", machine::name(), vault.folder.display());
            engine = engine.with_note_keeper(&keeper, &id).with_machine(id);
        }
        engine = engine.with_other_users(other_users(&store, settings));
        if let Some(wait) = search_wait {
            engine = engine.with_search_wait(wait);
        }
        if let Some(model) = &settings.language_model {
            engine = engine.with_enricher(Arc::new(chat_model(model)?));
        }
        if let Some(folder) = &settings.reranker_folder {
            engine = engine.with_reranker(Arc::new(CrossEncoder::of_folder(folder)));
        }
        if let Some(key) = &settings.web_search_key {
            engine = engine.with_web_search(Arc::new(web_search(&settings.web_search_url, key)?));
        }
        let metrics = settings
            .network
            .metrics_bind
            .map(|_| Metrics::new())
            .transpose()?;
        if let Some(metrics) = &metrics {
            engine = engine.with_observer(metrics.observer());
        } else if settings.network.otlp_endpoint.is_some() {
            // An engine that is not observed has no spans of its store and its models either.
            engine = engine.with_observer(Arc::new(()));
        }
        Ok(Parts {
            store,
            embedder,
            engine: Arc::new(engine),
            vault,
            metrics,
            all_users: settings.all_users,
        })
    }

    /// Opens all parts like [`Parts::open_to_read`], and reconciles the notes if no process watches
    /// them and the store can be written.
    ///
    /// # Errors
    /// As for [`Parts::open`]. If the notes cannot be read, it only prints a note.
    pub fn open_current(settings: &Settings) -> Result<Self, Failure> {
        let parts = Parts::open_to_read(settings)?;
        if parts.vault.is_kept
            && !parts.store.is_read_only()
            && !is_watched(&parts.vault.watch_lock)
        {
            match parts.system().notes().reconcile() {
                Ok(ReconciliationReport { away: None, .. }) => {}
                Ok(ReconciliationReport {
                    away: Some(why), ..
                }) => status_line(format_args!("note: {why}")),
                // Of a store that does not answer, the command itself would say the same again.
                Err(error) if parts.store.size().is_err() => return Err(error.into()),
                Err(error) => {
                    status_line(format_args!("note: the notes may be out of date: {error}"));
                }
            }
        }
        Ok(parts)
    }

    /// Calls a tool of the mememory dialect as the local user.
    ///
    /// # Errors
    /// The error of the tool.
    pub fn call(&self, tool: &str, arguments: Map<String, Value>) -> Result<Reply, Failure> {
        let reply = self.call_in(&loci_dialects::mememory::DIALECT, tool, arguments)?;
        if let Some(notice) = &reply.notice {
            status_line(format_args!("note: {notice}"));
        }
        Ok(reply)
    }

    /// Runs a command that no tool has as a call of the local user. The audit log names it by the
    /// command, as a tool of `loci`; the entry of a change is durable when this returns.
    ///
    /// # Errors
    /// The failure of the command.
    pub fn logged<T>(
        &self,
        (command, operation, effect): CommandInfo,
        run: impl FnOnce(&Call<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let info = (command, operation, effect);
        logged(&self.engine, self.caller(), info, run)
    }

    /// Runs a command in the same way that works on the whole store, with the records of all users.
    ///
    /// # Errors
    /// The failure of the command.
    pub fn logged_in_all<T>(
        &self,
        info: CommandInfo,
        run: impl FnOnce(&Call<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let caller = Caller {
            all_users: true,
            ..self.caller()
        };
        logged(&self.engine, caller, info, run)
    }

    /// Runs a command about the files of projects and transcripts as a call, in the same way.
    ///
    /// # Errors
    /// The failure of the command.
    pub fn logged_filing<T>(
        &self,
        info: CommandInfo,
        run: impl FnOnce(&Call<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let Caller {
            client, all_users, ..
        } = self.caller();
        let caller = Caller {
            client,
            all_users,
            ..loci_ingest::caller()
        };
        logged(&self.engine, caller, info, run)
    }

    /// Returns the local user as the caller of a command, who sees what others keep private with
    /// `--all-users`.
    pub fn caller(&self) -> Caller {
        Caller {
            all_users: self.all_users,
            ..Caller::command_line()
        }
    }

    /// Returns the parts of the engine for what the local user only looks at.
    pub fn looking(&self) -> System<'_> {
        self.engine.look(self.caller())
    }

    /// Returns the parts of the engine for work on the whole store, and for the notes, which have no
    /// owner.
    pub fn system(&self) -> System<'_> {
        self.engine.system(&Caller::local())
    }

    /// Calls a tool of that dialect as the local user.
    ///
    /// # Errors
    /// The error of the tool.
    pub fn call_in(
        &self,
        dialect: &Dialect,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> Result<Reply, Failure> {
        let caller = self.caller();
        let tool = dialect.tool(tool).ok_or_else(|| {
            Failure::new(
                Exit::Failure,
                format!("the {} dialect has no tool {tool}", dialect.name),
            )
        })?;
        let context = Context {
            engine: &self.engine,
            caller: &caller,
        };
        let reply = dialect.call(tool, context, arguments)?;
        if !tool.hints.read_only {
            // A person is told of the change now.
            self.engine.audit().flush()?;
        }
        Ok(reply)
    }
}

/// Returns a function that tells if a store has users besides the local one: a token was made for
/// one at some time, or people sign in at a provider. It looks once a second at most.
fn other_users(
    store: &Arc<dyn OpenStore>,
    settings: &Settings,
) -> Arc<dyn Fn() -> bool + Send + Sync> {
    const LOOK_PAUSE: Duration = Duration::from_secs(1);
    let (store, has_provider) = (Arc::clone(store), settings.network.oidc.is_some());
    let last: Mutex<Option<(Instant, bool)>> = Mutex::default();
    Arc::new(move || {
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        match *last {
            // A user that was there once stays one.
            Some((_, true)) => true,
            Some((looked_at, false)) if looked_at.elapsed() < LOOK_PAUSE => false,
            _ => {
                let is_other = |token: &Token| token.subject != LOCAL;
                // If the tokens cannot be read, there may be some.
                let tokens = store.tokens();
                let has = has_provider || tokens.map_or(true, |all| all.iter().any(is_other));
                *last = Some((Instant::now(), has));
                has
            }
        }
    })
}

/// A command as the audit log names it: its words, the kind of its operation, and its effect.
pub type CommandInfo = (&'static str, &'static str, Effect);

/// Runs a command as a call of this caller, as [`Parts::logged`] does.
///
/// # Errors
/// The failure of the command.
pub fn logged<T>(
    engine: &Engine,
    caller: Caller,
    (command, operation, effect): CommandInfo,
    run: impl FnOnce(&Call<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let info = CallInfo::new(env!("CARGO_PKG_NAME"), command, operation, effect, &[]);
    let mut failed = None;
    let outcome = engine.call(caller, info.by_a_person(), |call| {
        run(call).map_err(|failure| failed.insert(failure).error())
    });
    outcome.map_err(|error| failed.unwrap_or_else(|| error.into()))
}

/// Changes something in a store without an engine, e.g. its tokens, as a call of the local user.
///
/// # Errors
/// The failure of the command.
pub fn logged_in_store<T>(
    store: &Arc<dyn OpenStore>,
    info: CommandInfo,
    run: impl FnOnce(&dyn OpenStore) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let shared: Arc<dyn Store> = Arc::<dyn OpenStore>::clone(store);
    let engine = Engine::new(
        shared,
        Arc::new(NoModel::new()),
        Arc::new(SystemClock),
        SearchMode::Words,
    );
    let outcome = logged(&engine, Caller::command_line(), info, |_| run(&**store));
    // A failed attempt waits in the engine, which ends here.
    engine.audit().flush()?;
    outcome
}

impl Drop for Parts {
    /// The buffered audit entries and access counts must not be lost with the process.
    fn drop(&mut self) {
        if self.store.is_read_only() {
            return;
        }
        match self.engine.audit().flush() {
            Err(error) if error.is_disk_full() => status_line(
                "note: the disk with the store is full: the call is not in the audit log",
            ),
            Err(error) => {
                tracing::warn!(%error, "the last entries of the audit log could not be written");
            }
            Ok(()) => {}
        }
    }
}

/// Returns the address of the page, which replies name memories by; empty if nothing tells it.
fn page_url(settings: &Settings) -> String {
    let public = settings
        .network
        .public_url
        .as_ref()
        .map(ToString::to_string);
    let url = public.or_else(|| own_url(settings, "").ok());
    url.unwrap_or_default().trim_end_matches('/').to_owned()
}

/// Opens the store that the settings choose, for this data folder.
///
/// # Errors
/// [`Exit::DataFolder`] or [`Exit::Database`], with what to do.
pub fn open_store(settings: &Settings, data: &Path) -> Result<Arc<dyn OpenStore>, Failure> {
    let location = settings.store_for(data);
    // The data folder holds the token, the locks and the models of this machine.
    location.machine(data)?;
    let mut opened = location.open();
    if matches!(&opened, Err(error) if error.fault == OpenFault::Restoring) {
        store_replacement::end(&*location.files()?)?;
        opened = location.open();
    }
    with_recovery_advice(opened, settings)
}

/// Opens the store for a command that only reads, which makes none.
///
/// # Errors
/// As for [`open_store`]; [`Exit::DataFolder`] if there is no store.
pub fn open_store_to_read(settings: &Settings, data: &Path) -> Result<Arc<dyn OpenStore>, Failure> {
    let location = settings.store_for(data).existing()?;
    match location.open() {
        Err(error) if error.fault == OpenFault::Restoring => open_store(settings, data),
        Err(error) if matches!(error.fault, OpenFault::ReadOnly | OpenFault::Full) => {
            let (store, is_copied) =
                with_recovery_advice(location.open_to_read(error.fault), settings)?;
            let copied = if is_copied {
                ", from a copy in the folder for temporary files"
            } else {
                ""
            };
            let shown = location.shown();
            let why = match error.fault {
                OpenFault::Full => "is on a full disk, and nothing is written",
                _ => "cannot be written",
            };
            status_line(format_args!(
                "note: {shown} {why}; it is read as it is{copied}"
            ));
            Ok(store)
        }
        opened => with_recovery_advice(opened, settings),
    }
}

/// Opens the store for what answers clients: reads go on while the disk is full, and writes once it
/// has room.
fn open_store_if_full(settings: &Settings, data: &Path) -> Result<Arc<dyn OpenStore>, Failure> {
    let location = settings.store_for(data);
    match location.open() {
        Err(error) if error.fault == OpenFault::Full => {
            let (store, _) = with_recovery_advice(location.open_to_read(error.fault), settings)?;
            let shown = location.shown();
            status_line(format_args!(
                "note: {shown} is on a full disk: it is read as it is, and nothing is written until there is room"
            ));
            Ok(store)
        }
        // Where it has to be made ready, e.g. after a restore that was cut off.
        Err(_) => open_store(settings, data),
        Ok(store) => {
            location.machine(data)?;
            Ok(store)
        }
    }
}

fn with_recovery_advice<T>(
    opened: Result<T, OpenError>,
    settings: &Settings,
) -> Result<T, Failure> {
    opened.map_err(|error| {
        let failure = open_failure(&error);
        match error.fault {
            OpenFault::Corrupt => Failure {
                message: format!("{}; {}", failure.message, recovery_advice(settings)),
                ..failure
            },
            _ => failure,
        }
    })
}

//! A case: steps that happen in order on one fresh store.
//!
//! ```yaml
//! about: what the case shows
//! steps:
//!   - call: remember                  # a tool of the dialect that the folder names
//!     as: {subject: ann, scopes: [read]}   # the local user, if left out; scopes are read and write,
//!                                     # if left out; `actor`, `space`, `session`, `anonymous: true` besides
//!     with: {content: Likes tea}
//!     gives: {id: $id, $more: true}   # structuredContent; see matching.rs
//!     text_has: [Likes tea]           # or `text:` for the whole text; a notice is the second text
//!   - wait: 3600                      # seconds on the clock
//!   - call: forget
//!     with: {id: nothing}
//!     fails: {code: not_found, says: [nothing]}    # or `text:` for the whole; `argument:` is the one at fault
//!   - read: mememory://bootstrap      # a resource; `absent: true` if it must not exist
//!     text: ""
//!   - complete: {uri: "mememory://bootstrap/{project}", argument: project, prefix: lo}
//!     gives: [loci]
//!   - maintain: true                  # a round of maintenance
//!   - enrich: true                    # enriches all pending memories
//!   - flush: true                     # writes what is buffered
//!   - audited: {user: ann, tool: recall}   # the audit log, oldest first; of all, without either
//!     gives: [{tool: recall, status: success, $more: true}]
//!   - person: {write: {file: a.md, text: Tea}}   # a person edits the notes; see folder.rs
//!   - reconcile: true                 # indexes the changes in the folder and embeds them
//!     gives: {indexed: 1, $more: true}
//!   - accept: true                    # a person has agents follow what came in files
//!   - file: a.md                      # the text of a file; `absent: true` if it must not exist
//!     text: Tea
//!   - files: [a.md]                   # all files
//! ```
//!
//! At the top, `callers: {ann: {subject: ann}, nobody: {anonymous: true}}` names callers: `as: ann`
//! is that caller, and `as: [ann, nobody]` runs the step once as each, with the same outcome.
//!
//! Also at the top, `embedder: failing` uses a model that never answers, `search: vector` or
//! `words` another search mode, `web: answering` or `failing` a web search, and `notes: none` no
//! folder of notes. `$project` is the path of a folder beside that of the notes, whose files are
//! named `../project/a.rs`. Arguments may hold `{$repeat: a, times: 1048577}` for a long string,
//! the same with an array for a long array, `{$concat: [a, b]}` for concatenated strings, and
//! `$name` or `${name}` for a value that an earlier step bound.

pub mod carrier;
mod folder;
mod matching;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use loci_core::{
    AuditEntry, AuditQuery, Caller, Embedder, Error, Principal, Scope, Scopes, Space, Store,
    Timestamp, WebPage, WebSearch,
};
use loci_dialects::{Dialect, dialect, vault};
use loci_engine::{Engine, ReconciliationReport, SearchMode};
use loci_mine::GitTree;
use loci_testkit::{FailingEmbedder, FixedClock, HashingEmbedder};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use carrier::{Answer, Carrier, Maker};
use folder::{Act, Folder};
use matching::Bindings;

/// 2026-01-01T00:00:00Z, the start time of every case.
const START_MICROSECONDS: i64 = 1_767_225_600_000_000;
/// Enough dimensions to keep the hashed words of a case distinct.
const DIMENSIONS: usize = 1024;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    #[expect(dead_code, reason = "for the reader of the file")]
    about: String,
    #[serde(default)]
    embedder: EmbedderChoice,
    #[serde(default)]
    search: SearchChoice,
    web: Option<WebChoice>,
    #[serde(default)]
    notes: NotesChoice,
    #[serde(default)]
    callers: BTreeMap<String, Who>,
    steps: Vec<Step>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum EmbedderChoice {
    #[default]
    Hashing,
    /// The model never answers.
    Failing,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SearchChoice {
    #[default]
    Hybrid,
    Vector,
    Words,
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum NotesChoice {
    #[default]
    Folder,
    None,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum WebChoice {
    /// Every query finds one page, whose content is the query.
    Answering,
    Failing,
}

impl WebSearch for WebChoice {
    fn search(&self, query: &str) -> loci_core::Result<Vec<WebPage>> {
        match self {
            WebChoice::Failing => Err(Error::unavailable("the service does not answer")),
            WebChoice::Answering => Ok(vec![WebPage {
                title: "A page".to_owned(),
                url: "https://pages.example/1".to_owned(),
                content: query.to_owned(),
                score: Some(0.5),
            }]),
        }
    }
}

#[expect(
    clippy::struct_excessive_bools,
    reason = "a step does one of these, and its file says which"
)]
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Step {
    call: Option<String>,
    dialect: Option<String>,
    r#as: Option<As>,
    with: Map<String, Value>,
    gives: Option<Value>,
    fails: Option<Failure>,
    text: Option<String>,
    text_has: Vec<String>,
    text_lacks: Vec<String>,
    notice_has: Option<String>,
    notice_lacks: Option<String>,
    wait: Option<i64>,
    maintain: bool,
    enrich: bool,
    flush: bool,
    audited: Option<Audited>,
    read: Option<String>,
    absent: bool,
    complete: Option<Completion>,
    person: Option<Act>,
    reconcile: bool,
    accept: bool,
    file: Option<String>,
    files: Option<Vec<String>>,
}

/// The caller or callers of a step.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum As {
    Named(String),
    Each(Vec<String>),
    Who(Who),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Who {
    subject: Option<String>,
    actor: Option<String>,
    #[serde(default)]
    anonymous: bool,
    #[serde(default = "read_and_write")]
    scopes: Vec<String>,
    space: Option<String>,
    /// The session of the client, for calls without a transport.
    session: Option<String>,
}

fn read_and_write() -> Vec<String> {
    vec!["read".to_owned(), "write".to_owned()]
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Failure {
    code: String,
    /// The invalid argument.
    argument: Option<String>,
    /// The whole message.
    text: Option<String>,
    #[serde(default)]
    says: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Completion {
    uri: String,
    argument: String,
    prefix: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Audited {
    user: Option<String>,
    tool: Option<String>,
}

struct World {
    engine: Arc<Engine>,
    carrier: Box<dyn Carrier>,
    clock: Arc<FixedClock>,
    folder: Folder,
    bindings: Bindings,
    callers: BTreeMap<String, Who>,
    /// The number of callers skipped, since the carrier does not support them.
    left_out: usize,
}

impl World {
    /// Returns the callers of a step in order, with their names.
    fn callers(&self, who: Option<&As>) -> Result<Vec<(String, Caller)>, String> {
        let named = |name: &String| {
            let who = self
                .callers
                .get(name)
                .ok_or_else(|| format!("nobody is called {name}"))?;
            Ok((format!("as {name}: "), caller(who)?))
        };
        match who {
            None => Ok(vec![(String::new(), Caller::local_person())]),
            Some(As::Who(who)) => Ok(vec![(String::new(), caller(who)?)]),
            Some(As::Named(name)) => Ok(vec![named(name)?]),
            Some(As::Each(names)) => names.iter().map(named).collect(),
        }
    }
}

/// Returns the tools that a case calls, each with its dialect: the ones called by this caller, or,
/// for `None`, the ones that succeed.
pub fn tools_called(path: &Path, by: Option<&str>) -> BTreeSet<(String, String)> {
    let case: Case = serde_saphyr::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let counts = |step: &Step| match (by, &step.r#as) {
        (None, _) => step.fails.is_none(),
        (Some(by), Some(As::Named(name))) => name == by,
        (Some(by), Some(As::Each(names))) => names.iter().any(|name| name == by),
        _ => false,
    };
    case.steps
        .into_iter()
        .filter(counts)
        .filter_map(|step| Some((step.dialect?, step.call?)))
        .collect()
}

/// Runs the case of a file on a fresh store, with its calls over the carrier that `carrier` creates
/// for the engine. Returns the number of steps skipped because the carrier does not support their
/// caller. The error says which step failed and why.
pub fn run(
    path: &Path,
    dialect_name: &str,
    store: Arc<dyn Store>,
    carrier: &Maker,
) -> Result<usize, String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let case: Case =
        serde_saphyr::from_str(&text).map_err(|error| format!("is no case: {error}"))?;
    let clock = Arc::new(FixedClock::new(Timestamp::from_microseconds(
        START_MICROSECONDS,
    )));
    let embedder: Arc<dyn Embedder> = match case.embedder {
        EmbedderChoice::Hashing => Arc::new(HashingEmbedder::new(DIMENSIONS)),
        EmbedderChoice::Failing => Arc::new(FailingEmbedder::default()),
    };
    let search_mode = match case.search {
        SearchChoice::Hybrid => SearchMode::Hybrid,
        SearchChoice::Vector => SearchMode::Vector,
        SearchChoice::Words => SearchMode::Words,
    };
    let mut engine = Engine::new(store, embedder, clock.clone(), search_mode);
    if let Some(web) = case.web {
        engine = engine.with_web_search(Arc::new(web));
    }
    let folder = Folder::new(clock.clone());
    if case.notes == NotesChoice::Folder {
        engine = engine.with_notes(folder.notes(), vault::DIALECT.name);
    }
    engine = engine.with_source_tree(Arc::new(GitTree));
    let mut bindings = Bindings::default();
    bindings.bind("project", json!(folder.project()));
    let engine = Arc::new(engine);
    let carrier = carrier(&engine, &clock);
    let mut world = World {
        engine,
        carrier,
        clock,
        folder,
        bindings,
        callers: case.callers,
        left_out: 0,
    };
    for (index, step) in case.steps.iter().enumerate() {
        run_step(&mut world, dialect_name, step)
            .map_err(|problem| format!("step {}: {problem}", index + 1))?;
    }
    Ok(world.left_out)
}

fn run_step(world: &mut World, dialect_name: &str, step: &Step) -> Result<(), String> {
    if let Some(seconds) = step.wait {
        world.clock.advance(seconds);
        return Ok(());
    }
    if step.maintain {
        let engine = &world.engine;
        let maintained = engine.audit().flush().and_then(|()| {
            // Both end early on a busy machine, so that writers need not wait.
            while engine.background().sweep()? > 0 {}
            while engine.background().embed_pending()? > 0 {}
            Ok(())
        });
        return maintained.map_err(|error| error.message);
    }
    if step.enrich {
        while world
            .engine
            .background()
            .enrich()
            .map_err(|error| error.message)?
        {}
        return Ok(());
    }
    if step.flush {
        return world.engine.audit().flush().map_err(|error| error.message);
    }
    if let Some(audited) = &step.audited {
        return check_audited(world, step, audited);
    }
    if let Some(act) = &step.person {
        return world.folder.act(act, &|value| world.bindings.fill(value));
    }
    if step.reconcile {
        return reconcile(world, step);
    }
    if step.accept {
        return accept(world);
    }
    if let Some(file) = &step.file {
        return check_file(world, step, file);
    }
    if let Some(files) = &step.files {
        let found = world.folder.files()?;
        return if *files == found {
            Ok(())
        } else {
            Err(format!("expected the files {files:?}, got {found:?}"))
        };
    }
    let name = step.dialect.as_deref().unwrap_or(dialect_name);
    let dialect = dialect(name).ok_or_else(|| format!("there is no dialect {name}"))?;
    for (name, caller) in world.callers(step.r#as.as_ref())? {
        if !world.carrier.knows(&caller) {
            world.left_out += 1;
            continue;
        }
        ask(world, dialect, step, &caller).map_err(|problem| format!("{name}{problem}"))?;
    }
    Ok(())
}

/// Runs one step of a caller through a dialect.
fn ask(
    world: &mut World,
    dialect: &'static Dialect,
    step: &Step,
    caller: &Caller,
) -> Result<(), String> {
    if let Some(uri) = &step.read {
        return read(world, dialect, caller, step, uri);
    }
    if let Some(Completion {
        uri,
        argument,
        prefix,
    }) = &step.complete
    {
        let values = json!(
            world
                .carrier
                .complete(dialect, caller, uri, argument, prefix)?
        );
        let expected = step.gives.clone().unwrap_or(Value::Null);
        return world.bindings.check(&expected, &values, "gives");
    }
    let name = step.call.as_deref().ok_or(
        "does nothing: it needs call, read, complete, wait, maintain, enrich, flush, audited, or what a folder takes",
    )?;
    let tool = dialect
        .tool(name)
        .ok_or_else(|| format!("there is no tool {name}"))?;
    let arguments = world.bindings.fill(&Value::Object(step.with.clone()))?;
    let Value::Object(arguments) = arguments else {
        return Err("arguments are no object".to_owned());
    };
    let answer = world.carrier.call(dialect, tool, caller, arguments)?;
    match (&step.fails, &answer.code) {
        (None, None) => {
            // Clients validate replies against the schema too.
            jsonschema::validate(&tool.output_schema(), &answer.structured)
                .map_err(|error| format!("{name} gave what its schema does not allow: {error}"))?;
            check_texts(&answer)?;
            check_reply(world, step, &answer)
        }
        (None, Some(code)) => Err(format!("{name} failed: {code}: {}", answer.text)),
        (Some(_), None) => Err(format!(
            "{name} should fail, but gave {}",
            answer.structured
        )),
        (Some(failure), Some(code)) => {
            if failure.code != *code {
                return Err(format!(
                    "expected {}, got {code}: {}",
                    failure.code, answer.text
                ));
            }
            if !answer.structured.is_null() || step.gives.is_some() {
                return Err(format!(
                    "a failure has no structured content, and no `gives`: {}",
                    answer.structured
                ));
            }
            if failure.argument.is_some() && failure.argument != answer.argument {
                return Err(format!(
                    "expected the argument {:?}, got {:?}",
                    failure.argument, answer.argument
                ));
            }
            if let Some(expected) = &failure.text {
                let expected = world.bindings.fill_text(expected)?;
                if expected != answer.text {
                    return Err(format!(
                        "expected the failure\n{expected}\ngot\n{}",
                        answer.text
                    ));
                }
            }
            has(&world.bindings, &failure.says, &answer.text)
        }
    }
}

fn accept(world: &World) -> Result<(), String> {
    let system = world.engine.system(&Caller::local());
    let waiting = system
        .context()
        .unreviewed()
        .map_err(|error| error.to_string())?;
    if waiting.is_empty() {
        return Err("nothing that came in a file waits".to_owned());
    }
    for memory in waiting {
        let accepted = system.memories().accept(&memory.id);
        accepted.map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn reconcile(world: &mut World, step: &Step) -> Result<(), String> {
    let reconciled = world
        .engine
        .system(&Caller::local())
        .notes()
        .reconcile()
        .map_err(|error| error.message)?;
    while world
        .engine
        .background()
        .embed_pending()
        .map_err(|error| error.message)?
        > 0
    {}
    let ReconciliationReport {
        indexed,
        moved,
        removed,
        unchanged,
        away,
    } = reconciled;
    let shown = json!({
        "indexed": indexed, "moved": moved, "removed": removed, "unchanged": unchanged, "away": away.is_some(),
    });
    step.gives.as_ref().map_or(Ok(()), |expected| {
        world.bindings.check(expected, &shown, "gives")
    })
}

fn check_file(world: &World, step: &Step, file: &str) -> Result<(), String> {
    let file = world.bindings.fill_text(file)?;
    match (world.folder.text(&file)?, step.absent) {
        (None, true) => Ok(()),
        (None, false) => Err(format!(
            "there is no {file}, but {:?}",
            world.folder.files()?
        )),
        (Some(text), true) => Err(format!("{file} should not exist, but holds {text:?}")),
        (Some(text), false) => check_text(&world.bindings, step, &text),
    }
}

fn check_audited(world: &mut World, step: &Step, audited: &Audited) -> Result<(), String> {
    const ENTRIES_MAX: usize = 100;
    let query = AuditQuery {
        user: audited.user.clone(),
        tool: audited.tool.clone(),
        limit: ENTRIES_MAX,
        ..AuditQuery::default()
    };
    let entries = world
        .engine
        .audit()
        .entries(&query)
        .map_err(|error| error.message)?;
    let shown = entries
        .iter()
        .map(|(_, entry)| shown_entry(entry))
        .collect();
    let expected = step.gives.as_ref().ok_or("audited needs gives")?;
    world
        .bindings
        .check(expected, &Value::Array(shown), "gives")
}

fn shown_entry(entry: &AuditEntry) -> Value {
    let mut shown = json!({
        "user": entry.user,
        "caller": entry.caller,
        "dialect": entry.dialect,
        "tool": entry.tool,
        "operation": entry.operation,
        "status": if entry.failure.is_some() { "error" } else { "success" },
        "query": entry.query,
        "results": entry.results,
        "code": entry.failure.as_ref().map(|failure| failure.code.name()),
        "message": entry.failure.as_ref().and_then(|failure| failure.message.clone()),
    });
    let records: Vec<Value> = entry
        .records
        .iter()
        .map(|record| json!([record.verb.name(), record.id]))
        .collect();
    if !records.is_empty() {
        shown["records"] = json!(records);
    }
    if let Value::Object(fields) = &mut shown {
        fields.retain(|_, value| !value.is_null());
    }
    shown
}

fn read(
    world: &World,
    dialect: &'static Dialect,
    caller: &Caller,
    step: &Step,
    uri: &str,
) -> Result<(), String> {
    let uri = world.bindings.fill_text(uri)?;
    match (world.carrier.read(dialect, caller, &uri)?, step.absent) {
        (None, true) => Ok(()),
        (None, false) => Err(format!("there is no resource {uri}")),
        (Some(text), true) => Err(format!("{uri} should not exist, but holds {text:?}")),
        (Some(text), false) => check_text(&world.bindings, step, &text),
    }
}

/// Checks that programs can use the first text of a reply, whatever there is to note: JSON is
/// taken from the structured content, and a notice is a key of an object or the second text.
fn check_texts(reply: &Answer) -> Result<(), String> {
    let Answer {
        text,
        further_text,
        structured,
        notice,
        ..
    } = reply;
    // The tools of `reference` give the list that is the only field of the structured content.
    let fields = structured.as_object().into_iter().flatten();
    let mut fields = fields.filter(|(name, _)| *name != "notice");
    let is_field = match (fields.next(), fields.next()) {
        (Some((_, field)), None) => {
            field.is_array() && serde_json::from_str(text).is_ok_and(|told: Value| told == *field)
        }
        _ => false,
    };
    let json = structured.to_string();
    let is_whole = is_field || *text == json;
    let is_of_list = matches!(text.as_bytes().first(), Some(b'['));
    if !is_whole && (structured.is_array() || is_of_list) {
        return Err(format!("the text\n{text}\nis not that of {structured}"));
    }
    let fields = serde_json::from_str::<Map<String, Value>>(text).unwrap_or_default();
    if let Some((name, _)) = fields
        .iter()
        .find(|(name, field)| structured[*name] != **field)
    {
        return Err(format!(
            "`{name}` of the text\n{text}\nis not that of {structured}"
        ));
    }
    if structured.is_object() && structured["notice"] != json!(notice) {
        return Err(format!("the notice {notice:?} is not in {structured}"));
    }
    let further = notice
        .as_ref()
        .filter(|_| !is_whole || !structured.is_object())
        .map(|notice| format!("Note: {notice}."));
    if *further_text != further {
        return Err(format!(
            "expected the second text {further:?}, got {further_text:?}"
        ));
    }
    Ok(())
}

fn check_reply(world: &mut World, step: &Step, reply: &Answer) -> Result<(), String> {
    if let Some(expected) = &step.gives {
        world.bindings.check(expected, &reply.structured, "gives")?;
    }
    if let Some(part) = &step.notice_has
        && !reply
            .notice
            .as_ref()
            .is_some_and(|notice| notice.contains(part))
    {
        return Err(format!("the notice {:?} lacks {part:?}", reply.notice));
    }
    let lacks = |part: &String| {
        reply
            .notice
            .as_ref()
            .is_none_or(|notice| !notice.contains(part))
    };
    if let Some(part) = step.notice_lacks.as_ref().filter(|part| !lacks(part)) {
        return Err(format!(
            "the notice {:?} should not have {part:?}",
            reply.notice
        ));
    }
    check_text(&world.bindings, step, &reply.text)
}

fn check_text(bindings: &Bindings, step: &Step, text: &str) -> Result<(), String> {
    if let Some(expected) = &step.text {
        let expected = bindings.fill_text(expected)?;
        if expected != text {
            return Err(format!("expected the text\n{expected}\ngot\n{text}"));
        }
    }
    for part in &step.text_lacks {
        let part = bindings.fill_text(part)?;
        if text.contains(&part) {
            return Err(format!("the text should not have {part:?}:\n{text}"));
        }
    }
    has(bindings, &step.text_has, text)
}

fn has(bindings: &Bindings, parts: &[String], text: &str) -> Result<(), String> {
    for part in parts {
        let part = bindings.fill_text(part)?;
        if !text.contains(&part) {
            return Err(format!("{part:?} is missing in:\n{text}"));
        }
    }
    Ok(())
}

fn caller(who: &Who) -> Result<Caller, String> {
    let scope =
        |name: &String| Scope::from_name(name).ok_or_else(|| format!("there is no scope {name}"));
    let scopes: Vec<Scope> = who.scopes.iter().map(scope).collect::<Result<_, _>>()?;
    if who.anonymous && who.subject.is_some() {
        return Err("whoever has a subject is not anonymous".to_owned());
    }
    let space = who
        .space
        .as_ref()
        .map_or(Ok(Space::default()), |name| Space::parse("space", name));
    let principal = Principal {
        subject: who.subject.clone(),
        actor: who.actor.clone(),
        scopes: Scopes::of(&scopes),
    };
    let caller = Caller::new(space.map_err(|error| error.message)?, principal);
    Ok(Caller {
        session: who.session.clone(),
        ..caller
    })
}

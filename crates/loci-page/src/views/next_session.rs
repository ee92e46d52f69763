//! The view *Next session*: the text that a session starts with, byte for byte, and the memories that
//! hooks add at a prompt. A change of the order here changes the start of sessions.

use loci_core::limits::SESSION_START_BYTES_MAX;
use loci_core::{Caller, Delivery, Error, Forgotten, Result, Tier, Visibility};
use loci_dialects::mempalace;
use loci_engine::{BootstrapItem, BootstrapPlace, Effect, Parts, Refile, Remember};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::memory::reverse;
use crate::change::{Change, Outcome, own_path};
use crate::encoding::encoded;
use crate::installation::HostStatus;
use crate::request::RequestContext;
use crate::request_user::is_owner;
use crate::view::{Tab, view};

/// The path of the view.
const PATH: &str = "/next-session";
/// The dialect of a host whose plug-in brings loci.
const PLUGIN_DIALECT: &str = "mempalace";
/// The type of a memory that is added here.
const KIND: &str = "rule";
/// The colours of a chart.
const COLOURS: usize = 6;

/// The session to show.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct NextSessionQuery {
    /// A host that is found on this machine, whose hook adds to the start of a session.
    client: Option<String>,
    /// The project, with which the global memories are read; these only if it is left out.
    project: Option<String>,
    /// A prompt, to see the memories that hooks add to it.
    prompt: Option<String>,
}

/// The start of a session.
#[derive(Serialize, ToSchema)]
pub(crate) struct NextSession {
    pub(crate) client: Option<String>,
    pub(crate) project: Option<String>,
    /// The document, byte for byte as `loci bootstrap` prints it.
    pub(crate) text: String,
    /// The estimated number of its tokens.
    pub(crate) tokens: usize,
    /// Its memories, in order.
    pub(crate) parts: Vec<SessionPart>,
    /// The text of the host's hook at the start; null without a host, or if its hooks do not call loci.
    pub(crate) hook: Option<SessionText>,
    pub(crate) prompt: Option<String>,
    /// The text that hooks add to the prompt; null if it is nothing.
    pub(crate) at_prompt: Option<SessionText>,
    /// The hosts that are found on this machine, for the owner of the installation.
    pub(crate) hosts: Vec<HostChoice>,
    /// The projects.
    pub(crate) projects: Vec<String>,
}

/// A memory at the start of a session.
#[derive(Serialize, ToSchema)]
pub(crate) struct SessionPart {
    /// The part of the document.
    pub(crate) part: String,
    /// The heading in it.
    pub(crate) heading: String,
    pub(crate) id: String,
    pub(crate) title: String,
    /// The estimated number of its tokens.
    pub(crate) tokens: usize,
    /// True if it can change places with the one above it.
    pub(crate) can_rise: bool,
    /// True if it can change places with the one below it.
    pub(crate) can_fall: bool,
    /// True if the visitor may unpin it.
    pub(crate) may_write: bool,
    #[serde(skip)]
    pub(crate) path: String,
    /// Its place in the stacked bar: left edge, width, colour.
    #[serde(skip)]
    pub(crate) bar: (String, String, usize),
}

/// A text that an agent gets.
#[derive(Serialize, ToSchema)]
pub(crate) struct SessionText {
    pub(crate) text: String,
    /// About how many tokens it has.
    pub(crate) tokens: usize,
}

/// A host that can be chosen.
#[derive(Serialize, ToSchema)]
pub(crate) struct HostChoice {
    /// The name by which commands know it.
    pub(crate) name: &'static str,
    /// The name that people know.
    pub(crate) title: &'static str,
}

view!(NextSession, Tab::Activity, "next_session.html");

/// Shows the start of the next session.
#[utoipa::path(get, path = "/next-session", operation_id = "next_session", params(NextSessionQuery), responses((status = OK, body = NextSession, description = "The content of the view")))]
pub(crate) fn view(context: &RequestContext<'_>, query: NextSessionQuery) -> Result<NextSession> {
    let NextSessionQuery {
        client,
        project,
        prompt,
    } = query;
    let project = project.filter(|project| project != mempalace::GLOBAL_WING);
    let hosts = if is_owner(context.caller()) {
        context.page.installation().hosts()
    } else {
        Vec::new()
    };
    let host = match &client {
        None => None,
        Some(name) => {
            let found = hosts.iter().find(|host| host.name == name);
            let problem = "is no host that is found on this machine, or you may not see which are";
            Some(found.ok_or_else(|| Error::invalid("client", problem))?)
        }
    };
    // As its agents see it, whatever this session of the page shows.
    let reader = Caller {
        all_users: false,
        ..context.caller().clone()
    };
    let what = ("next_session", "memory:read", Effect::Read);
    context.logged(what, None, |_| {
        let parts = context.engine().look(reader.clone());
        let start = parts.context().bootstrap(project.as_deref())?;
        let items = parts.context().bootstrap_items(project.as_deref())?;
        let wing = project.as_deref().unwrap_or(mempalace::GLOBAL_WING);
        let hook = match host {
            Some(host) => at_start(context, &parts, host, wing)?,
            None => None,
        };
        let at_prompt = match prompt.as_deref().filter(|prompt| !prompt.trim().is_empty()) {
            Some(prompt) => {
                let installation = context.page.installation();
                installation.at_prompt(context.engine(), &reader, wing, prompt)?
            }
            None => None,
        };
        Ok(NextSession {
            parts: session_parts(context, &items, start.tokens),
            text: start.markdown,
            tokens: start.tokens,
            hook,
            at_prompt: at_prompt.map(|text| SessionText::of(context, text)),
            hosts: hosts.iter().map(HostChoice::of).collect(),
            projects: parts.listings().collections()?,
            client: client.clone(),
            project: project.clone(),
            prompt: prompt.clone(),
        })
    })
}

/// Returns the text that the hook of a host adds at the start of a session; `None` if its hooks do not
/// call loci.
fn at_start(
    context: &RequestContext<'_>,
    parts: &Parts<'_>,
    host: &HostStatus,
    wing: &str,
) -> Result<Option<SessionText>> {
    let known = host.dialect.as_deref().and_then(loci_dialects::dialect);
    let dialect = known.or_else(|| loci_dialects::dialect(PLUGIN_DIALECT));
    let Some(dialect) = dialect.filter(|_| host.has_hooks) else {
        return Ok(None);
    };
    let text = mempalace::wake_up(parts, Some(wing), dialect, SESSION_START_BYTES_MAX)?;
    Ok(Some(SessionText::of(context, text)))
}

impl SessionText {
    fn of(context: &RequestContext<'_>, text: String) -> Self {
        SessionText {
            tokens: context.engine().budgets().approximate_tokens(&text),
            text,
        }
    }
}

impl HostChoice {
    fn of(host: &HostStatus) -> Self {
        HostChoice {
            name: host.name,
            title: host.title,
        }
    }
}

fn session_parts(
    context: &RequestContext<'_>,
    items: &[BootstrapItem],
    tokens: usize,
) -> Vec<SessionPart> {
    let all = tokens
        .max(items.iter().map(|item| item.tokens).sum())
        .max(1) as f64;
    let (mut left, mut colour, mut before) = (0.0, 0, None);
    let mut parts = Vec::new();
    for item in items {
        let place = Some((&item.part, &item.heading));
        if before != place {
            colour = colour % COLOURS + 1;
            before = place;
        }
        let width = item.tokens as f64 * 600.0 / all;
        let card = context.card(&item.memory);
        parts.push(SessionPart {
            part: item.part.clone(),
            heading: item.heading.clone(),
            path: card.path(),
            id: card.id,
            title: card.title,
            tokens: item.tokens,
            can_rise: item.can_rise,
            can_fall: item.can_fall,
            may_write: context.caller().may_write(&item.memory),
            // A gap of half a unit sets two of one colour apart.
            bar: (
                format!("{left:.2}"),
                format!("{:.2}", (width - 0.5).max(0.5)),
                colour,
            ),
        });
        left += width;
    }
    parts
}

impl NextSession {
    /// Returns the path of this session.
    pub(crate) fn path(&self) -> String {
        let parameters = [("client", &self.client), ("project", &self.project)];
        let given = parameters
            .into_iter()
            .filter_map(|(name, value)| Some(format!("{name}={}", encoded(value.as_ref()?))));
        let given: Vec<String> = given.collect();
        format!("{PATH}?{}", given.join("&"))
    }

    /// Returns the command that prints the same text.
    pub(crate) fn command(&self) -> String {
        match &self.project {
            Some(project) if project.chars().all(char::is_alphanumeric) => {
                format!("loci bootstrap --project {project}")
            }
            Some(project) => format!("loci bootstrap --project '{project}'"),
            None => "loci bootstrap".to_owned(),
        }
    }
}

fn next_path(next: Option<&str>) -> String {
    own_path(next.unwrap_or_default(), PATH).to_owned()
}

/// A memory that changes places.
#[derive(Deserialize, ToSchema)]
pub(crate) struct SessionMove {
    /// The id of the memory, or 8 or more of its characters.
    id: String,
    /// `up` or `down`, past one neighbour; or `before` or `after` the memory that `other` names.
    direction: String,
    /// The id of the memory beside which it goes, or 8 or more of its characters.
    other: Option<String>,
    /// The path of the page to show after it.
    next: Option<String>,
}

/// Moves a memory under its heading at the start of the visitor's sessions.
#[utoipa::path(post, path = "/next-session/move", operation_id = "next_session_move", request_body = SessionMove, responses((status = OK, body = Outcome, description = "The result of the change")))]
pub(crate) fn move_memory(context: &RequestContext<'_>, to: SessionMove) -> Result<Change> {
    let what = ("reorder", "memory:write", Effect::Write);
    let (id, back) = context.logged(what, None, |call| {
        let id = call.memories().memory_id("id", &to.id)?;
        let other = || {
            let named = to.other.as_deref();
            let named = named.ok_or_else(|| Error::invalid("other", "must be there"))?;
            call.memories().memory_id("other", named)
        };
        let place = match to.direction.as_str() {
            "up" => BootstrapPlace::Up,
            "down" => BootstrapPlace::Down,
            "before" => BootstrapPlace::Before(other()?),
            "after" => BootstrapPlace::After(other()?),
            _ => {
                let problem = "must be `up`, `down`, `before` or `after`";
                return Err(Error::invalid("direction", problem));
            }
        };
        let back = call.context().move_in_bootstrap(&id, &place)?;
        Ok((id, back))
    })?;
    Ok(Change::one(
        "done-reordered",
        next_path(to.next.as_deref()),
        Box::new(move |call| call.context().move_in_bootstrap(&id, &back).map(drop)),
    ))
}

/// A memory to unpin.
#[derive(Deserialize, ToSchema)]
pub(crate) struct SessionUnpin {
    /// The id of the memory, or 8 or more of its characters.
    id: String,
    /// The path of the page to show after it.
    next: Option<String>,
}

/// Takes a memory off the start of sessions; the memory stays.
#[utoipa::path(post, path = "/next-session/unpin", operation_id = "next_session_unpin", request_body = SessionUnpin, responses((status = OK, body = Outcome, description = "The result of the change")))]
pub(crate) fn unpin(context: &RequestContext<'_>, unpin: SessionUnpin) -> Result<Change> {
    let next = next_path(unpin.next.as_deref());
    deliver(
        context,
        ("unpin", "done-unpinned"),
        &unpin.id,
        Delivery::OnDemand,
        next,
    )
}

/// A memory for the start of every session: a new one, or one that is there.
#[derive(Deserialize, ToSchema)]
pub(crate) struct SessionAdd {
    /// The text of a new memory.
    content: Option<String>,
    /// The type of a new memory; `rule` if it is left out.
    #[serde(rename = "type")]
    kind: Option<String>,
    /// The project of a new memory; global if it is left out.
    project: Option<String>,
    /// The id of a memory that is there, or 8 or more of its characters, in the place of `content`.
    id: Option<String>,
    /// The path of the page to show after it.
    next: Option<String>,
}

/// Puts a memory at the start of every session.
#[utoipa::path(post, path = "/next-session/add", operation_id = "next_session_add", request_body = SessionAdd, responses((status = OK, body = Outcome, description = "The result of the change")))]
pub(crate) fn add(context: &RequestContext<'_>, add: SessionAdd) -> Result<Change> {
    let next = next_path(add.next.as_deref());
    let content = match (add.content, add.id) {
        (None, Some(id)) => {
            return deliver(
                context,
                ("pin", "done-pinned"),
                &id,
                Delivery::Bootstrap,
                next,
            );
        }
        (Some(content), None) => content,
        _ => {
            let problem = "must be there, or `id` in its place, and not both";
            return Err(Error::invalid("content", problem));
        }
    };
    let remember = Remember {
        collection: add.project.filter(|project| !project.is_empty()),
        delivery: Delivery::Bootstrap,
        // As agents store what is for everyone's sessions.
        visibility: Visibility::Common,
        ..Remember::new(
            content.replace("\r\n", "\n"),
            add.kind.as_deref().unwrap_or(KIND),
        )
    };
    let what = ("store_memory", "memory:write", Effect::Write);
    let id = context.logged(what, None, |call| {
        Ok(call.memories().remember(remember)?.memory.id)
    })?;
    Ok(Change::one(
        "done-pinned",
        next,
        Box::new(move |call| call.memories().forget_softly(&id).map(drop)),
    ))
}

/// Changes whether sessions start with a memory.
fn deliver(
    context: &RequestContext<'_>,
    (tool, message): (&str, &'static str),
    id: &str,
    delivery: Delivery,
    next: String,
) -> Result<Change> {
    let (id, undo) = context.logged((tool, "memory:write", Effect::Write), None, |call| {
        let memories = call.memories();
        let id = memories.memory_id("id", id)?;
        let before = memories.show_of(&id, &Tier::ALL, Forgotten::Show)?;
        let change = Refile {
            delivery: Some(delivery),
            ..Refile::default()
        };
        let undo = reverse(&change, &before);
        memories.refile(&id, change)?;
        Ok((id, undo))
    })?;
    Ok(Change::one(
        message,
        next,
        Box::new(move |call| call.memories().refile(&id, undo).map(drop)),
    ))
}

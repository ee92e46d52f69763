//! Removing a person: the counts of what would go, a name that is typed, and a receipt.

use loci_core::{Error, Result};
use loci_engine::{Effect, PersonData, WIPE};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::admin;
use crate::request::RequestContext;
use crate::view::{Tab, view};

/// The person to look for.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct PersonQuery {
    /// The name, as tokens and records have it.
    name: Option<String>,
}

/// A person whose data can be removed.
#[derive(Serialize, ToSchema)]
pub(crate) struct PersonView {
    /// The counts of what would go; null without a name.
    pub(crate) person: Option<PersonReport>,
    /// The names of people who have a token.
    pub(crate) names: Vec<String>,
}

view!(PersonView, Tab::Settings, "people.html");

/// The counts of a person's data, which goes or went.
#[derive(Serialize, ToSchema)]
pub(crate) struct PersonReport {
    pub(crate) name: String,
    /// True if nothing was removed.
    pub(crate) dry_run: bool,
    /// Memories, messages of conversations among them.
    pub(crate) memories: u64,
    /// Memories and tunnels for everyone, and facts, which stay without the name.
    pub(crate) unnamed: u64,
    /// Private links between rooms.
    pub(crate) tunnels: u64,
    /// Cached answers, and replies that were kept for repeated calls.
    pub(crate) answers: u64,
    pub(crate) decisions: u64,
    pub(crate) settings: u64,
    /// Calls in the audit log.
    pub(crate) calls: u64,
    pub(crate) tokens: u64,
    /// Lists of others that name the person among the authors whom they trust.
    pub(crate) trusted_by: u64,
    /// Memories of others whose texts have the name as a word. They stay.
    pub(crate) mentions: u64,
    /// Backups, which stay, and may have all the data of the person.
    pub(crate) backups: u64,
    /// Settings of the installation whose values have the name. Nothing but a person changes them.
    pub(crate) named_in: Vec<&'static str>,
}

/// The receipt of a removal.
#[derive(Serialize, ToSchema)]
pub(crate) struct PersonRemoved {
    pub(crate) person: PersonReport,
}

view!(PersonRemoved, Tab::Settings, "person_removed.html");

impl PersonReport {
    /// Returns the counts of what goes, with the names of their messages.
    pub(crate) fn going(&self) -> [(&'static str, u64); 8] {
        [
            ("person-memories", self.memories),
            ("person-tunnels", self.tunnels),
            ("person-answers", self.answers),
            ("person-decisions", self.decisions),
            ("person-settings", self.settings),
            ("person-calls", self.calls),
            ("person-tokens", self.tokens),
            ("person-trusted-by", self.trusted_by),
        ]
    }

    /// Returns true if there is nothing of the person.
    pub(crate) fn is_empty(&self) -> bool {
        self.unnamed == 0 && self.going().iter().all(|(_, count)| *count == 0)
    }

    fn of(context: &RequestContext<'_>, name: &str, data: PersonData) -> Result<Self> {
        let installation = context.page.installation();
        let tokens = installation.tokens()?;
        let named_in = installation.settings().into_iter().filter(|setting| {
            let value = setting.value.as_deref().unwrap_or_default();
            value
                .split(|end: char| !is_of_name(end))
                .any(|word| word == name)
        });
        Ok(PersonReport {
            name: name.to_owned(),
            dry_run: true,
            memories: data.memories,
            unnamed: data.unnamed,
            tunnels: data.tunnels,
            answers: data.answers,
            decisions: data.decisions,
            settings: data.settings,
            calls: data.calls,
            tokens: tokens.iter().filter(|token| token.subject == name).count() as u64,
            trusted_by: data.trusted_by,
            mentions: data.mentions,
            backups: installation.backups().len() as u64,
            named_in: named_in.map(|setting| setting.key).collect(),
        })
    }
}

/// Returns true for a character that a name in a list can have.
fn is_of_name(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '-' | '_' | '.' | '@' | ':' | '/')
}

/// Counts what would go with a person.
#[utoipa::path(get, path = "/people", operation_id = "people", params(PersonQuery), responses((status = OK, body = PersonView, description = "The content of the view")))]
pub(crate) fn view(context: &RequestContext<'_>, query: PersonQuery) -> Result<PersonView> {
    admin::admit(context.caller())?;
    let tokens = context.page.installation().tokens()?;
    let mut names: Vec<String> = tokens.into_iter().map(|token| token.subject).collect();
    names.retain(|name| name != loci_core::LOCAL);
    names.sort_unstable();
    names.dedup();
    let person = query.name.map(|name| report(context, &name)).transpose()?;
    Ok(PersonView { person, names })
}

fn report(context: &RequestContext<'_>, name: &str) -> Result<PersonReport> {
    // No entry of the log has the name: it would be what is left of the person.
    let what = ("count_person", "admin:read", Effect::Read);
    let data = context.logged(what, None, |call| call.person_data(name))?;
    PersonReport::of(context, name, data)
}

/// A person to remove, with the name typed once more.
#[derive(Deserialize, ToSchema)]
pub(crate) struct PersonRemoval {
    /// The name.
    name: String,
    /// The same name, as the person who removes it types it.
    confirm: String,
}

/// Removes a person for good, and answers with a receipt.
#[utoipa::path(post, path = "/people/remove", operation_id = "people_remove", request_body = PersonRemoval, responses((status = OK, body = PersonRemoved, description = "The receipt")))]
pub(crate) fn remove(
    context: &RequestContext<'_>,
    removal: PersonRemoval,
) -> Result<PersonRemoved> {
    admin::admit(context.caller())?;
    if removal.confirm != removal.name {
        let problem =
            "is not the name; type it as it stands there, because nothing brings the data back";
        return Err(Error::invalid("confirm", problem));
    }
    Ok(PersonRemoved {
        person: removed(context, &removal.name)?,
    })
}

/// A person to remove, or to count.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct PersonDeletion {
    /// The path names it.
    #[param(ignore)]
    name: String,
    /// True, or without a value, to remove nothing and to count what would go.
    #[param(value_type = Option<bool>)]
    dry_run: Option<String>,
}

/// Removes what is known of a person for good, in all spaces: memories, settings, calls, tokens. What
/// the person stored for everyone stays, without the name.
#[utoipa::path(delete, path = "/people/{name}", operation_id = "person_delete", params(("name" = String, Path, description = "The name, as tokens and records have it"), PersonDeletion), responses((status = OK, body = PersonReport, description = "The counts of what went, or would go")))]
pub(crate) fn delete(
    context: &RequestContext<'_>,
    deletion: PersonDeletion,
) -> Result<PersonReport> {
    admin::admit(context.caller())?;
    match deletion.dry_run.as_deref() {
        Some("" | "true") => report(context, &deletion.name),
        None | Some("false") => removed(context, &deletion.name),
        // Nothing is removed by a misspelled word.
        Some(_) => Err(Error::invalid("dry_run", "must be `true` or `false`")),
    }
}

fn removed(context: &RequestContext<'_>, name: &str) -> Result<PersonReport> {
    let installation = context.page.installation();
    let what = ("remove_person", WIPE, Effect::Destroy);
    let removed = context.logged(what, None, |call| {
        let before = PersonReport::of(context, name, call.person_data(name)?)?;
        // First, so that the person stores nothing while the rest goes.
        let tokens = installation.remove_tokens(name)?;
        let removed = call.remove_person(name)?;
        Ok(PersonReport {
            dry_run: false,
            tokens,
            memories: removed.memories,
            calls: removed.audit_entries,
            ..before
        })
    })?;
    context.page.forget_open_counts();
    Ok(removed)
}

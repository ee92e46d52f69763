//! Changes of facts.

use loci_core::{Fact, Period, Result};
use loci_engine::{AddedFact, Effect, NewFact};
use serde::Deserialize;
use utoipa::ToSchema;

use super::{period, time_path};
use crate::change::{Change, Outcome};
use crate::request::RequestContext;

/// The operation that the audit log has for changes of facts.
const OPERATION: &str = "graph:write";

/// A fact to add.
#[derive(Deserialize, ToSchema)]
#[schema(as = Add)]
pub(crate) struct AddFactRequest {
    subject: String,
    predicate: String,
    object: String,
    /// The day, or the instant, from which it holds.
    from: Option<String>,
    /// The last day on which it holds, or the instant at which it ends.
    until: Option<String>,
    source: Option<String>,
    /// The entity and the day whose view is shown next.
    entity: Option<String>,
    as_of: Option<String>,
}

/// Adds a fact.
#[utoipa::path(post, tag = "time::change", path = "/facts/add", operation_id = "time_add", request_body = AddFactRequest, responses((status = OK, body = Outcome, description = "The result of the change")))]
pub(crate) fn add(context: &RequestContext<'_>, add: AddFactRequest) -> Result<Change> {
    let entity = add.entity.as_deref().unwrap_or(&add.subject);
    let next = time_path(entity, add.as_of.as_deref());
    let request = NewFact {
        valid_from: parsed("from", add.from.as_deref(), None)?,
        valid_to: parsed("until", add.until.as_deref(), None)?,
        subject: add.subject,
        predicate: add.predicate,
        object: add.object,
        source: add.source,
    };
    let added = context.logged(("add_fact", OPERATION, Effect::Write), None, |call| {
        call.graph().add_fact(request)
    })?;
    Ok(match added {
        AddedFact::New(fact) => Change::one(
            "done-fact-added",
            next,
            Box::new(move |call| call.graph().retract_fact(&fact)),
        ),
        AddedFact::Before(_) => Change {
            message: "done-fact-known",
            changed: 0,
            refused: Vec::new(),
            undo: None,
            next,
        },
    })
}

/// A fact to end.
#[derive(Deserialize, ToSchema)]
#[schema(as = End)]
pub(crate) struct EndFactRequest {
    id: String,
    subject: String,
    predicate: String,
    object: String,
    /// The last day on which it holds, or the instant at which it ends.
    ended: String,
    entity: Option<String>,
    as_of: Option<String>,
}

/// Ends a fact.
#[utoipa::path(post, tag = "time::change", path = "/facts/end", operation_id = "time_end", request_body = EndFactRequest, responses((status = OK, body = Outcome, description = "The result of the change")))]
pub(crate) fn end(context: &RequestContext<'_>, end: EndFactRequest) -> Result<Change> {
    let ended = period("ended", &end.ended)?;
    let entity = end.entity.as_deref().unwrap_or(&end.subject);
    let next = time_path(entity, end.as_of.as_deref());
    let (before, after) = context.logged(("end_fact", OPERATION, Effect::Write), None, |call| {
        let triple = [&*end.subject, &*end.predicate, &*end.object];
        let before = call.graph().fact(triple, &end.id)?;
        let after = call.graph().end_fact(&before, ended)?;
        Ok((before, after))
    })?;
    Ok(replaced("done-fact-ended", next, before, after))
}

/// A wrong fact, and what is right.
#[derive(Deserialize, ToSchema)]
#[schema(as = Correct)]
pub(crate) struct CorrectFactRequest {
    id: String,
    /// The parts of the wrong fact.
    subject: String,
    predicate: String,
    object: String,
    /// The parts of the right fact.
    right_subject: String,
    right_predicate: String,
    right_object: String,
    from: Option<String>,
    until: Option<String>,
    source: Option<String>,
    entity: Option<String>,
    as_of: Option<String>,
}

/// Replaces a wrong fact by a right one.
#[utoipa::path(post, tag = "time::change", path = "/facts/correct", operation_id = "time_correct", request_body = CorrectFactRequest, responses((status = OK, body = Outcome, description = "The result of the change")))]
pub(crate) fn correct(context: &RequestContext<'_>, correct: CorrectFactRequest) -> Result<Change> {
    let next = time_path(
        correct.entity.as_deref().unwrap_or(&correct.right_subject),
        correct.as_of.as_deref(),
    );
    let (before, after) =
        context.logged(("correct_fact", OPERATION, Effect::Write), None, |call| {
            let triple = [&*correct.subject, &*correct.predicate, &*correct.object];
            let before = call.graph().fact(triple, &correct.id)?;
            let right = NewFact {
                valid_from: parsed("from", correct.from.as_deref(), before.valid_from)?,
                valid_to: parsed("until", correct.until.as_deref(), before.valid_to)?,
                subject: correct.right_subject,
                predicate: correct.right_predicate,
                object: correct.right_object,
                source: correct.source,
            };
            let after = call.graph().correct_fact(&before, right)?;
            Ok((before, after))
        })?;
    Ok(replaced("done-fact-corrected", next, before, after))
}

/// Returns the change of a fact into another one, with the way back: a fact that says what the
/// first one said, by the same author.
fn replaced(message: &'static str, next: String, before: Fact, after: Fact) -> Change {
    Change::one(
        message,
        next,
        Box::new(move |call| call.graph().restore_fact(&after, &before)),
    )
}

/// Returns the period of a field. The day that a form showed of a known start or end stands for
/// that, which may be an instant of the day.
fn parsed(argument: &str, text: Option<&str>, known: Option<Period>) -> Result<Option<Period>> {
    let Some(text) = text else { return Ok(None) };
    let parsed = period(argument, text)?;
    let is_within = |known: &Period| parsed.first <= known.first && known.last <= parsed.last;
    Ok(Some(known.filter(is_within).unwrap_or(parsed)))
}

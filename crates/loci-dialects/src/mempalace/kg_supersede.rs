//! The tool `mempalace_kg_supersede`: ends a fact and notes the one that takes its place.

use loci_core::{Error, Period, Result, Scope, Timestamp};
use loci_engine::{AddedFact, Call, NewFact};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::arguments::{name, time};
use super::fact::{entity, sentence};
use super::times::{period, shown};
use crate::faults::Faults;
use crate::{Hints, Reply, TypedTool};

/// The length of a day.
const DAY_MICROSECONDS: i64 = 86_400_000_000;

pub struct KgSupersede;

/// Replace a fact that has one value at a time, such as an employer or an address: the old one ends
/// where the new one starts, so that at no time both hold.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// As it was noted.
    subject: String,
    /// The relation.
    predicate: String,
    /// The value that holds until then, as it was noted.
    old_object: String,
    /// The value that holds from then on.
    new_object: String,
    /// The first day (YYYY-MM-DD) or moment (RFC 3339 with offset) of the new one; now, if left
    /// out.
    at: Option<String>,
}

/// The fact that holds now.
#[derive(Serialize, JsonSchema)]
pub struct NewerFact {
    /// Always true.
    success: bool,
    /// The id of the new fact.
    triple_id: String,
    /// The new fact as a line.
    fact: String,
    /// The value that it replaced.
    superseded: String,
    /// The last day on which that held, or the moment at which it ended.
    ended: String,
}

impl TypedTool for KgSupersede {
    const NAME: &'static str = "mempalace_kg_supersede";
    const TITLE: &'static str = "Replace a fact";
    const SCOPE: Scope = Scope::Write;
    // The reply reveals existing data.
    const FURTHER_SCOPES: &'static [Scope] = &[Scope::Read];
    const HINTS: Hints = Hints::CHANGES;
    const OPERATION: &'static str = "graph:write";
    type Arguments = Arguments;
    type Output = NewerFact;

    fn faults(arguments: &Value) -> Vec<Error> {
        let text = |name| arguments.get(name).and_then(Value::as_str).map(str::trim);
        let is_same = text("old_object").is_some() && text("old_object") == text("new_object");
        let same = || {
            Error::invalid(
                "new_object",
                "is the old one; name the value that takes its place",
            )
        };
        Faults::of(arguments)
            .check("subject", entity)
            .check("predicate", name)
            .check("old_object", entity)
            .check("new_object", entity)
            .check("at", time)
            .and(is_same.then(same))
            .found()
    }

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let Arguments {
            subject,
            predicate,
            old_object,
            new_object,
            at,
        } = arguments;
        let now = call.engine().now();
        let from = period("at", at.as_deref())?.unwrap_or(Period {
            first: now,
            last: now,
        });
        let (ended, last) = call
            .graph()
            .end_facts([&subject, &predicate, &old_object], Some(before(from)))
            .map_err(|error| error.with_remedy("ask mempalace_kg_query about the subject"))?;
        let new = NewFact {
            subject,
            predicate,
            object: new_object,
            valid_from: Some(from),
            valid_to: None,
            source: None,
        };
        let added = call.graph().add_fact(new).map_err(|error| {
            let message = format!(
                "the old fact is ended, and the new one was not noted: {}",
                error.message
            );
            error.with_message(message)
        })?;
        let (AddedFact::New(fact) | AddedFact::Before(fact)) = added;
        let superseded = ended.into_iter().next().map(|fact| fact.object.spelling);
        let output = NewerFact {
            success: true,
            fact: sentence(&fact),
            triple_id: fact.id,
            superseded: superseded.unwrap_or(old_object),
            ended: shown(last),
        };
        Reply::json(&output, None)
    }
}

/// Returns the end of what gives way to something that starts then: the day before a day, or the
/// moment itself, which belongs to the next.
fn before(next: Period) -> Period {
    if next.first == next.last {
        return next;
    }
    let earlier = |microseconds: i64| {
        let first = next.first.microseconds();
        Timestamp::from_microseconds(first.saturating_sub(microseconds))
    };
    Period {
        first: earlier(DAY_MICROSECONDS),
        last: earlier(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_has_no_moment_in_common_with_what_starts() {
        let at = Timestamp::from_microseconds;
        let whole = |first, last| Period {
            first: at(first),
            last: at(last),
        };
        assert_eq!(
            before(whole(DAY_MICROSECONDS, 2 * DAY_MICROSECONDS - 1)),
            whole(0, DAY_MICROSECONDS - 1)
        );
        assert_eq!(before(whole(7, 7)), whole(7, 7));
        for next in [
            whole(DAY_MICROSECONDS, 2 * DAY_MICROSECONDS - 1),
            whole(7, 7),
        ] {
            assert_eq!(before(next).end(), next.first);
        }
    }
}

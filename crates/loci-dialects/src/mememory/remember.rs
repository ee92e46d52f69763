//! The tool `remember`: stores a memory.

use loci_core::{CollectionFilter, Delivery, Error, Result, Visibility, limits};
use loci_engine::{Bootstrap, Call, Embedding, PINNED, SimilarMemory, StartOverflow, short_id};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arguments::{DeliveryArgument, MemoryType, NOUNS, Scope, collection_to_write};
use super::record::Record;
use crate::questions::Question;
use crate::wire::{Authorship, Tags, rounded, ttl_seconds};
use crate::{Hints, Reply, TypedTool};

pub struct Remember;

/// Store a memory that outlives this conversation. Write it so that it makes sense by itself: one
/// self-contained fact, rule, decision or piece of feedback. The reply warns when similar memories
/// exist that it may contradict.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The text to remember, kept exactly as given (at most 1 MiB).
    content: String,
    /// `global` (the default without `project`) or `project` (the default with it).
    scope: Option<Scope>,
    /// The project that it belongs to; required for scope `project`.
    project: Option<String>,
    /// Its kind; `fact` if left out. A `rule` says what must or must not be done, `feedback` what a
    /// person said of your work, `decision` what was chosen and why, `context` what is going on;
    /// searches find them. `bootstrap` is read at every session start; so is a `rule` only with
    /// `delivery`.
    r#type: Option<MemoryType>,
    /// Labels, such as `["frontend", "performance"]`.
    tags: Option<Tags>,
    /// The time that it is worth keeping: 90s, 45m, 24h, 7d, 2w, 1h30m, P3D. For good if left out.
    ttl: Option<String>,
    /// Confidence or priority; 1.0 if left out.
    #[schemars(range(min = 0.1, max = 1.0))]
    weight: Option<f64>,
    /// The id of a memory that this one replaces; that one's weight falls to 0.1.
    supersedes: Option<String>,
    /// `bootstrap` to have it read at every session start whatever its type; `pinned` to remind agents
    /// at every prompt as well, where there is room for 600 tokens in all; else `on_demand`.
    delivery: Option<DeliveryArgument>,
    /// true to store it though a memory with the same text is there.
    again: Option<bool>,
}

/// The stored memory (the existing one, if it has the same text), with warnings.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    #[serde(flatten)]
    memory: Record,
    /// Problems that the user should know about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<Warning>,
}

#[derive(Clone, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Warning {
    /// The bootstrap of a session exceeds its budget.
    BootstrapBudget {
        /// Estimated tokens of the bootstrap.
        tokens: usize,
        /// Tokens that it should not exceed.
        budget: usize,
    },
    /// Hosts do not show every memory that a session should start with.
    SessionStart {
        /// The number of memories that the smallest host shows.
        shown: usize,
        /// The total number of such memories.
        total: usize,
        /// True if this memory is among those shown.
        shows_this: bool,
    },
    /// Existing memories may contradict it.
    Contradiction {
        /// The contradicted memories, clearest contradiction first.
        matches: Vec<Match>,
    },
    /// A memory with the same text existed already. Nothing was stored, unless the caller asked for
    /// that.
    Duplicate {
        /// The id of that memory.
        duplicate_of: String,
    },
    /// Only words find it until its embedding is made.
    EmbeddingPending {
        /// The reason.
        reason: String,
    },
}

#[derive(Clone, Serialize, JsonSchema)]
struct Match {
    /// The id of the existing memory.
    id: String,
    /// Its text.
    content: String,
    /// Cosine similarity, 0 to 1.
    similarity: f64,
    #[serde(flatten)]
    authorship: Authorship,
}

impl TypedTool for Remember {
    const NAME: &'static str = "remember";
    const TITLE: &'static str = "Remember";
    const SCOPE: loci_core::Scope = loci_core::Scope::Write;
    const HINTS: Hints = Hints::ADDS;
    const OPERATION: &'static str = "memory:write";
    const COMPARES: bool = true;
    type Arguments = Arguments;
    type Output = Output;

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let memories = call.memories();
        let collection = collection_to_write(arguments.scope, arguments.project)?;
        let kind = arguments.r#type.unwrap_or(MemoryType::Fact);
        let delivery = delivery_of(kind, arguments.delivery.map(Delivery::from))?;
        let is_pinned = arguments.delivery == Some(DeliveryArgument::Pinned);
        let pinned = is_pinned.then(|| (PINNED.to_owned(), "true".to_owned()));
        let supersedes = arguments
            .supersedes
            .map(|id| memories.memory_id("supersedes", &id))
            .transpose()?;
        let case_notice = call
            .listings()
            .differing_in_case(NOUNS, collection.as_deref(), None)?;
        let once = supersedes.is_none() && !arguments.again.unwrap_or(false);
        let remembered = memories.remember(loci_engine::Remember {
            collection: collection.clone(),
            tags: arguments.tags.unwrap_or_default().0,
            weight: arguments.weight.unwrap_or(1.0),
            delivery,
            attributes: pinned.into_iter().collect(),
            visibility: Visibility::Common,
            ttl_seconds: arguments
                .ttl
                .map(|ttl| ttl_seconds("ttl", &ttl))
                .transpose()?,
            supersedes,
            compare_in: Some(
                collection
                    .clone()
                    .map_or(CollectionFilter::Global, CollectionFilter::GlobalAnd),
            ),
            once,
            ..loci_engine::Remember::new(arguments.content, kind.name())
        })?;

        let mut warnings = Vec::new();
        warnings.extend(remembered.duplicate_of.map(|id| Warning::Duplicate {
            duplicate_of: id.to_string(),
        }));
        if delivery == Delivery::Bootstrap {
            let bootstrap = call.context().bootstrap(collection.as_deref())?;
            warnings.extend(budget_warning(&bootstrap));
        }
        warnings.extend(remembered.start_overflow.map(session_start));
        let contradicted = ids_of(&remembered.contradicted);
        let question =
            Question::of_contradiction(call, &remembered.memory, &remembered.contradicted);
        warnings.extend(contradiction(call, remembered.contradicted));
        let pending = match remembered.embedding {
            Embedding::Done => None,
            Embedding::Pending(reason) => Some(reason),
        };
        let waits = |reason| Warning::EmbeddingPending { reason };
        warnings.extend(pending.clone().map(waits));
        let notice = pending.map(pending_notice);
        let id = remembered.memory.id.clone();
        let memory = Record::of(call.caller(), remembered.memory);
        let replied = |memory: Record, warnings: Vec<Warning>| {
            let notices = [notice.clone(), case_notice.clone()];
            let replied =
                reply(Output { memory, warnings })?.with_stored(&id, contradicted.clone());
            Result::Ok(notices.into_iter().fold(replied, Reply::with_notice))
        };
        if question.is_none() {
            return replied(memory, warnings);
        }
        let decided = replied(memory.clone(), without_clearest(&warnings))?;
        Ok(replied(memory, warnings)?.with_question(question, decided))
    }
}

/// Returns the notice that search by meaning does not find the memory yet, for this reason.
fn pending_notice(reason: String) -> String {
    format!(
        "stored and found by its words, not yet by its meaning, and not compared with similar memories: {reason}"
    )
}

fn budget_warning(bootstrap: &Bootstrap) -> Option<Warning> {
    let budget = limits::BOOTSTRAP_TOKENS_MAX;
    bootstrap
        .is_over_budget()
        .then_some(Warning::BootstrapBudget {
            tokens: bootstrap.tokens,
            budget,
        })
}

/// Returns the record as JSON, after the text of its warnings. Clients of the original match on the
/// fixed parts of the contradiction warning.
fn reply(output: Output) -> Result<Reply> {
    let structured = crate::tool::to_value(&output)?;
    let details = crate::tool::to_value(&output.memory)?;
    let mut text = String::new();
    let mut is_contradiction = false;
    for warning in &output.warnings {
        match warning {
            Warning::BootstrapBudget { tokens, budget } => text.push_str(&format!(
                "BOOTSTRAP BUDGET EXCEEDED\nThe memory was stored, but sessions now start with about {tokens} tokens of \
                 memories; the budget is {budget}. Shorten, merge or remove some bootstrap memories.\n\n"
            )),
            Warning::SessionStart { shown, total, shows_this } => text.push_str(&format!(
                "SESSION START FULL\nThe memory was stored, but {shown} of the {total} memories that a session should start \
                 with fit what hosts show at its start, and this one is {}among them. Rules and feedback come first, then \
                 what has more weight, then what is older. Shorten, merge or remove some of them.\n\n",
                if *shows_this { "" } else { "not " }
            )),
            Warning::Contradiction { matches } => {
                is_contradiction = true;
                text.push_str(
                    "CONTRADICTION DETECTED\n\
                     The memory was stored, but similar existing memories were found that may conflict.\n\
                     Ask the user to clarify before proceeding.\n\nNew memory:\n",
                );
                text.push_str(&format!("[{}] {}\n", short_id(&output.memory.id), output.memory.content));
                text.push_str("\nPotentially conflicting memories:\n");
                for near in matches {
                    let percent = (near.similarity * 100.0).round();
                    let by = near.authorship.author().map_or_else(String::new, |author| format!("by {author}: "));
                    text.push_str(&format!("[{}] (similarity: {percent}%) {by}{}\n", short_id(&near.id), near.content));
                }
                text.push_str(
                    "\nOptions:\n\
                     1. Keep both — if they are complementary, not contradictory\n\
                     2. Update old — call update(id=<old_id>, content=<new_content>)\n\
                     3. Supersede — call remember(content=..., supersedes=<old_id>)\n\
                     4. Delete old — call forget(id=<old_id>)\n\n",
                );
            }
            Warning::Duplicate { duplicate_of } => text.push_str(&if *duplicate_of == output.memory.id {
                format!(
                    "DUPLICATE\nA memory with the same text is there, so nothing was stored: [{}]. To store it \
                     again, call remember(content=..., again=true).\n\n",
                    short_id(duplicate_of)
                )
            } else {
                format!("DUPLICATE\nThe memory was stored, with the same text as [{}].\n\n", short_id(duplicate_of))
            }),
            Warning::EmbeddingPending { .. } => {}
        }
    }
    if is_contradiction {
        text.push_str("Stored memory details:\n");
    }
    text.push_str(&details.to_string());
    Ok(Reply::new(text, structured, None))
}

/// Returns the delivery of a memory of this type.
fn delivery_of(kind: MemoryType, delivery: Option<Delivery>) -> Result<Delivery> {
    match (kind, delivery) {
        (MemoryType::Bootstrap, Some(Delivery::OnDemand)) => {
            let problem =
                "cannot be on_demand with type=bootstrap; choose another type or leave it out";
            Err(Error::invalid("delivery", problem))
        }
        (MemoryType::Bootstrap, _) => Ok(Delivery::Bootstrap),
        (_, delivery) => Ok(delivery.unwrap_or_default()),
    }
}

fn session_start(overflow: StartOverflow) -> Warning {
    let StartOverflow {
        shown,
        total,
        shows_this,
    } = overflow;
    Warning::SessionStart {
        shown,
        total,
        shows_this,
    }
}

/// Returns the warnings without the clearest contradiction.
fn without_clearest(warnings: &[Warning]) -> Vec<Warning> {
    let others = warnings.iter().filter_map(|warning| match warning {
        Warning::Contradiction { matches } => {
            let matches = matches.get(1..).unwrap_or_default().to_vec();
            (!matches.is_empty()).then_some(Warning::Contradiction { matches })
        }
        other => Some(other.clone()),
    });
    others.collect()
}

/// Returns the ids of memories.
fn ids_of(similar: &[SimilarMemory]) -> Vec<String> {
    let ids = similar.iter().map(|similar| similar.memory.id.to_string());
    ids.collect()
}

fn contradiction(call: &Call<'_>, contradicted: Vec<SimilarMemory>) -> Option<Warning> {
    let matches: Vec<Match> = contradicted
        .into_iter()
        .map(|similar| Match {
            authorship: Authorship::of(call.caller(), &similar.memory),
            id: similar.memory.id.to_string(),
            content: similar.memory.content,
            similarity: rounded(similar.cosine.into(), 4),
        })
        .collect();
    (!matches.is_empty()).then_some(Warning::Contradiction { matches })
}

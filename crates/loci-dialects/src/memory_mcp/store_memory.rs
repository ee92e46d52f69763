//! The tool `store_memory`: stores messages of a conversation.

use loci_core::{Error, Result, Scope, limits};
use loci_engine::{Call, Conversation, Message};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::object_id;
use crate::{Hints, Reply, TypedTool};

pub struct StoreMemory;

/// Remember messages of a conversation, all of them or none. Each is found as said for a while (a
/// day, unless the installation says otherwise); what people say in more than 30 characters is
/// sorted in the background and kept for good.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Whose conversation it is: the same name for the same person in every call.
    #[expect(dead_code, reason = "the dialect made it the caller")]
    user_id: String,
    /// The conversation: any name, the same for all its messages. Left out, it is a new one, whose
    /// name is in the reply: give that with the messages that follow.
    conversation_id: Option<String>,
    /// The same as `conversation_id`, which some frameworks keep for themselves.
    conversation: Option<String>,
    /// The messages, in order: `[{"role": "human", "content": "I moved to Lisbon.", "tags":
    /// ["home"]}]`.
    #[schemars(length(min = 1, max = limits::MESSAGES_MAX))]
    messages: Vec<MessageArgument>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct MessageArgument {
    /// Who said it: a person (`human`, `user`), the model (`ai`, `assistant`), `system` or `tool`.
    role: Role,
    /// The text, kept exactly as given (at most 1 MiB).
    content: String,
    /// Labels.
    #[serde(default)]
    tags: Vec<String>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Role {
    Human,
    Ai,
    User,
    Assistant,
    System,
    Tool,
}

impl From<Role> for loci_engine::Role {
    fn from(role: Role) -> Self {
        match role {
            Role::Human | Role::User => loci_engine::Role::Human,
            Role::Ai | Role::Assistant => loci_engine::Role::Assistant,
            Role::System => loci_engine::Role::System,
            Role::Tool => loci_engine::Role::Tool,
        }
    }
}

/// The messages that were stored.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The ids of the messages, in their order.
    stm_ids: Vec<String>,
    /// How many these are.
    count: usize,
    /// The name of the new conversation, if the call named none.
    #[serde(skip_serializing_if = "Option::is_none")]
    conversation_id: Option<String>,
}

impl TypedTool for StoreMemory {
    const NAME: &'static str = "store_memory";
    const TITLE: &'static str = "Store messages";
    const SCOPE: Scope = Scope::Write;
    const HINTS: Hints = Hints {
        read_only: false,
        destructive: false,
        idempotent: false,
        open_world: false,
    };
    const OPERATION: &'static str = "memory:write";
    type Arguments = Arguments;
    type Output = Output;

    fn run(call: &Call<'_>, arguments: Arguments) -> Result<Reply> {
        let message = |message: MessageArgument| Message {
            role: message.role.into(),
            content: message.content,
            tags: message.tags,
        };
        let mint = || object_id::mint(call.engine().now());
        let named = named_conversation(arguments.conversation_id, arguments.conversation)?;
        let new = named.is_none().then(|| mint().to_string());
        let given_as = named
            .as_ref()
            .map_or("conversation_id", |named| named.argument);
        let thread = named.map(|named| named.name).or_else(|| new.clone());
        let conversation = Conversation {
            thread: thread.unwrap_or_default(),
            messages: arguments.messages.into_iter().map(message).collect(),
            mint: &mint,
        };
        let conversed = call
            .conversations()
            .store_messages(conversation)
            .map_err(|error| error.renamed("conversation_id", given_as))?;
        let stm_ids: Vec<String> = conversed.ids.iter().map(ToString::to_string).collect();
        let output = Output {
            count: stm_ids.len(),
            stm_ids,
            conversation_id: new,
        };
        let notice = conversed.pending.map(|reason| {
            format!("stored and found by the words, not all of it by its meaning yet: {reason}")
        });
        Ok(Reply::json(&output, Some(output.count as u64))?.with_notice(notice))
    }
}

/// The name of a conversation, and the argument that gave it.
struct NamedConversation {
    name: String,
    argument: &'static str,
}

/// Returns the name of the conversation that the two arguments give; `None` if neither is given.
///
/// # Errors
/// `invalid_argument` if they give different names.
fn named_conversation(
    conversation_id: Option<String>,
    conversation: Option<String>,
) -> Result<Option<NamedConversation>> {
    let named = |argument: &'static str| move |name: String| NamedConversation { name, argument };
    match (conversation_id, conversation) {
        (Some(first), Some(second)) if first != second => Err(Error::invalid(
            "conversation",
            "is another name for `conversation_id`; give one of the two",
        )),
        (Some(name), _) => Ok(Some(name).map(named("conversation_id"))),
        (None, name) => Ok(name.map(named("conversation"))),
    }
}

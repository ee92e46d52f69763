//! The tool `store_memory`: stores messages of a conversation.

use loci_core::{Error, Result, Scope, limits};
use loci_engine::{Call, Conversation, Message, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::object_id;
use crate::faults::items;
use crate::lenient::is_empty;
use crate::{Hints, Reply, TypedTool};

/// The keys of a message that say its role if `role` does not, best first: that of the original, and
/// that of LangChain.
const MESSAGE_TYPE: &str = "message_type";
const TYPE: &str = "type";
/// The most keys that a notice names.
const KEYS_NAMED_MAX: usize = 8;

pub struct StoreMemory;

/// Remember messages of a conversation, all or none. Each is found as said for a while (a day,
/// unless the installation says otherwise); what people say in more than 30 characters is sorted in
/// the background and kept for good.
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
    #[schemars(length(max = limits::MESSAGES_MAX))]
    messages: Vec<MessageArgument>,
}

/// A message as programs have it: further keys are not kept.
#[derive(Deserialize, JsonSchema)]
struct MessageArgument {
    /// Who said it: a person (`human`, `user`), as if left out, the model (`ai`, `assistant`,
    /// `model`), `system` or `developer`, `tool` or `function`.
    role: Option<Role>,
    /// The text, kept exactly as given (at most 1 MiB).
    content: String,
    /// Labels.
    #[serde(default)]
    tags: Vec<String>,
    #[serde(flatten)]
    #[schemars(skip)]
    others: Map<String, Value>,
}

impl MessageArgument {
    /// Takes the role out: that of the key `message_type`, which goes first in the original, of
    /// `role` or of `type`.
    fn take_role(&mut self) -> Role {
        let typed = self.others.remove(MESSAGE_TYPE).and_then(role);
        if typed.is_some() || self.role.is_some() {
            return typed.or(self.role).unwrap_or(Role::Human);
        }
        let kind = self.others.get(TYPE).cloned().and_then(role);
        if kind.is_some() {
            self.others.remove(TYPE);
        }
        kind.unwrap_or(Role::Human)
    }
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
    Developer,
    Model,
    Function,
}

impl From<Role> for loci_engine::Role {
    fn from(role: Role) -> Self {
        match role {
            Role::Human | Role::User => loci_engine::Role::Human,
            Role::Ai | Role::Assistant | Role::Model => loci_engine::Role::Assistant,
            Role::System | Role::Developer => loci_engine::Role::System,
            Role::Tool | Role::Function => loci_engine::Role::Tool,
        }
    }
}

/// Returns the role with this name.
fn role(name: Value) -> Option<Role> {
    serde_json::from_value(name).ok()
}

/// The messages that were stored.
#[derive(Serialize, JsonSchema)]
pub struct Output {
    /// The ids of the messages, in their order.
    stm_ids: Vec<String>,
    /// The number of messages.
    count: usize,
    /// The name of the new conversation, if the call named none.
    #[serde(skip_serializing_if = "Option::is_none")]
    conversation_id: Option<String>,
}

impl TypedTool for StoreMemory {
    const NAME: &'static str = "store_memory";
    const TITLE: &'static str = "Store messages";
    const SCOPE: Scope = Scope::Write;
    const HINTS: Hints = Hints::ADDS;
    const OPERATION: &'static str = "memory:write";
    type Arguments = Arguments;
    type Output = Output;

    fn faults(arguments: &Value) -> Vec<Error> {
        let fault = |(name, message): (String, &Value)| {
            let given = message.get(MESSAGE_TYPE)?;
            let problem = "must be a role: human, user, ai, assistant, model, system, developer, tool or function";
            let is_role = is_empty(given) || role(given.clone()).is_some();
            (!is_role).then(|| Error::invalid(&format!("{name}.{MESSAGE_TYPE}"), problem))
        };
        items(arguments, "messages", limits::MESSAGES_MAX)
            .filter_map(fault)
            .collect()
    }

    fn run(call: &Call<'_>, mut arguments: Arguments) -> Result<Reply> {
        let roles: Vec<Role> = arguments
            .messages
            .iter_mut()
            .map(MessageArgument::take_role)
            .collect();
        let unkept = unkept_keys(&arguments.messages);
        let messages = arguments.messages.into_iter().zip(roles);
        let message = |(message, role): (MessageArgument, Role)| Message {
            role: role.into(),
            content: message.content,
            tags: message.tags,
        };
        let messages: Vec<Message> = messages.map(message).collect();
        let mint = || object_id::mint(call.engine().now());
        let named = named_conversation(arguments.conversation_id, arguments.conversation)?;
        let new = named.is_none().then(|| mint().to_string());
        let given_as = named
            .as_ref()
            .map_or("conversation_id", |named| named.argument);
        if messages.is_empty() {
            if let Some(named) = &named {
                check::name(named.argument, &named.name)?;
            }
            let output = Output {
                stm_ids: Vec::new(),
                count: 0,
                conversation_id: None,
            };
            return Reply::json(&output, Some(0));
        }
        let thread = named.map(|named| named.name).or_else(|| new.clone());
        let conversation = Conversation {
            thread: thread.unwrap_or_default(),
            messages,
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
        Ok(Reply::json(&output, Some(output.count as u64))?
            .with_notice(notice)
            .with_notice(unkept))
    }
}

/// Returns a notice of the keys of messages that are not kept; `None` without any.
fn unkept_keys(messages: &[MessageArgument]) -> Option<String> {
    let mut names: Vec<&str> = messages
        .iter()
        .flat_map(|message| message.others.keys().map(String::as_str))
        .filter(|name| name.len() <= limits::NAME_CHARACTERS_MAX)
        .collect();
    names.sort_unstable();
    names.dedup();
    let more = match names.len().saturating_sub(KEYS_NAMED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    names.truncate(KEYS_NAMED_MAX);
    (!names.is_empty()).then(|| {
        format!(
            "of the messages these keys are not kept: {}{more}",
            names.join(", ")
        )
    })
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

//! The gathering that the forms of a session with an entry a line have in common.

use serde_json::Value;

use super::value::Tally;
use super::{Conversation, ConversationReader};

/// Takes an entry of a form into the conversation; none if it is broken.
pub(super) type TakeEntry = fn(&Value, &mut Conversation, &mut Tally) -> Option<()>;

/// The words gathered from a session.
pub(super) struct Session {
    take: TakeEntry,
    conversation: Conversation,
    tally: Tally,
}

impl Session {
    /// Returns the gatherer of a form.
    pub(super) fn of(take: TakeEntry) -> Self {
        Session {
            take,
            conversation: Conversation::default(),
            tally: Tally::default(),
        }
    }
}

impl ConversationReader for Session {
    fn take(&mut self, value: &Value) {
        let taken = (self.take)(value, &mut self.conversation, &mut self.tally);
        self.tally.check(taken);
    }

    fn resume(&mut self, head: &Value) {
        // Its messages and counts were taken by the reading before.
        let _ = (self.take)(head, &mut self.conversation, &mut Tally::default());
        self.conversation.messages.clear();
    }

    fn folder(&self) -> Option<&str> {
        self.conversation.folder.as_deref()
    }

    fn finish(self: Box<Self>) -> (Vec<Conversation>, Tally) {
        (vec![self.conversation], self.tally)
    }
}

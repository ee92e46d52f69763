//! The reply of tools that change a record.

use loci_core::Result;
use schemars::JsonSchema;
use serde::Serialize;

use crate::Reply;
use crate::wire::Replaced;

/// The result of the change.
#[derive(Serialize, JsonSchema)]
pub struct Outcome {
    /// The id of the record.
    pub id: String,
    /// The same word or two as the text.
    pub status: &'static str,
    /// `private` or `shared`, as it is now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub visibility: Option<&'static str>,
    /// The text that an update replaced, unless the new one is the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaced: Option<Replaced>,
    /// A remark, if there is something to know besides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
}

impl Outcome {
    /// Returns the reply, whose text is only the status, since clients match on it.
    ///
    /// # Errors
    /// As for [`to_value`](crate::tool::to_value).
    pub fn reply(self) -> Result<Reply> {
        let reply = Reply::new(self.status.to_owned(), crate::tool::to_value(&self)?, None);
        Ok(reply.with_notice(self.notice))
    }
}

//! Messages, decisions and cached answers.

pub mod answers;
pub mod decide;
pub mod store_messages;

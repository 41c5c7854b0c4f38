//! The conversation in memory.

mod conversation;
mod valid;

pub(crate) use conversation::{CLEARED, History, user_texts};
pub(crate) use valid::{CALL_NOT_RUN, INTERRUPTED, error_result};

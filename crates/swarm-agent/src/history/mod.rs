//! The conversation in memory.

mod conversation;
mod valid;

pub(crate) use conversation::{CLEARED, History};
pub(crate) use valid::{INTERRUPTED, error_result};

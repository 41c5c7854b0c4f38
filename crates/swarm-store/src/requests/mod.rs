//! Requests to a person: results, and which answers count. No I/O.

mod rules;
mod types;

pub(crate) use rules::{Stored, answer_event, checked, not_found, opened, require_open, sort};
pub use types::{AnswerLookup, NOT_ENTERED, RequestList};

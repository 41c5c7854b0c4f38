//! Requests to a person: results, and which answers count. No I/O.

mod operations;
mod rules;
mod types;

pub use operations::RequestQueue;
pub(crate) use rules::{
    REQUESTER_ENDED, Stored, answer_event, answer_ignored, checked, not_found, notice_id, opened,
    repeated, require_open, sort, without_answer,
};
pub use types::{AnswerLookup, NOT_ENTERED, RequestList};

//! Messages: before they are sent, in an inbox, and the rules of inboxes. No I/O.

mod draft;
mod rules;

pub use draft::{Draft, Inbox, Posted, summary_of};
pub(crate) use rules::{queued, refuse_if_read_by_program, replaces, replaces_others};

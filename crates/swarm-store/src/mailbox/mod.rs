//! Messages: before they are sent, in an inbox, and the rules of inboxes. No I/O.

mod draft;
mod rules;

pub use draft::{Draft, Inbox, Posted};
pub(crate) use rules::{queued, replaces};

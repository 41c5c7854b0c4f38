//! Inboxes: one JSON array for each member, in Claude Code's format.

mod draft;

pub use draft::{Draft, Inbox};

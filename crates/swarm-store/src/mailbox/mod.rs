//! Inboxes: one JSON array for each member, in Claude Code's format.

mod draft;
mod file;
mod file_mailbox;
mod last;
mod prune;
mod quiet;
mod send;
mod withdraw;

pub use draft::{Draft, Inbox, Posted};
pub(crate) use last::LastInbox;
pub(crate) use quiet::QuietInboxes;

//! Inboxes: one JSON array for each member, in Claude Code's format.

mod ack;
mod draft;
mod file;
mod last;
mod prune;
mod quiet;
mod read;
mod send;
mod take;
mod withdraw;

pub use draft::{Draft, Inbox, Posted};
pub(crate) use last::LastInbox;
pub(crate) use quiet::QuietInboxes;

//! Inboxes: one JSON array for each member, in Claude Code's format.

mod inbox;
mod inbox_file;
mod last;
mod prune;
mod quiet;
mod send;
mod withdraw;

pub(crate) use last::LastInbox;
pub(crate) use quiet::QuietInboxes;

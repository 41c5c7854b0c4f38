//! Inboxes: one JSON array for each member, in Claude Code's format.

mod ack;
mod draft;
mod file;
mod prune;
mod read;
mod send;
mod take;
mod withdraw;

pub use draft::{Draft, Inbox, Posted};

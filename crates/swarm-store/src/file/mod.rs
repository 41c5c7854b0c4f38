//! The file kind: teams in Claude Code's files.
//!
//! Locks are taken in one order only: roster before task list before inbox, the task list before a
//! task.

mod accounts;
mod death_news;
mod exchange;
pub(crate) mod hub_file;
mod journal;
mod keys;
mod layout;
mod lifecycle;
mod mailbox;
mod operations;
mod presence;
mod reconcile;
pub(crate) mod record;
mod requests;
mod roster;
mod store;
mod tasks;
mod team;
mod teams;
mod watch;

pub(crate) use layout::Layout;
pub use store::FileStore;

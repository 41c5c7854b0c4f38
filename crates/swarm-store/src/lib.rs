//! The only owner of `teams/` and `tasks/`: mailbox, task list, roster, journal, reconcile.
//!
//! [`TeamStore::team`] returns the handle of a team, whose operations are in one trait per subject
//! ([`Roster`], [`Mailbox`], [`TaskBoard`], [`RequestQueue`], [`Journal`], [`Accounts`], [`Presence`]).
//! [`FileStore`] keeps a team in Claude Code's own files. Synchronous callers wait with [`BlockOn`].
//!
//! Locks are taken in one order only: roster before task list before inbox, the task list before a
//! task.

mod accounts;
mod block_on;
mod blocking_pool;
mod death_news;
mod error;
mod file_store;
mod file_team;
mod journal;
mod keys;
mod layout;
mod limits;
mod mailbox;
mod member_files;
mod operations;
pub mod process;
mod reconcile;
mod record;
mod requests;
mod roster;
mod store;
mod tasks;
mod team;
mod verify_key;

pub use block_on::BlockOn;
pub use error::{Result, StoreError};
pub use file_store::FileStore;
pub use journal::{BrokenJournalLine, Events, JournalLines};
pub use limits::StoreLimits;
pub use mailbox::{Draft, Inbox, Posted};
pub use member_files::{MemberView, TeamView};
pub use reconcile::{Departure, ReconcileReport, RolledBack};
pub use record::BrokenFile;
pub use requests::{AnswerLookup, NOT_ENTERED, RequestList};
pub use roster::{NewMember, RemovedMember};
pub use store::{
    Accounts, Journal, Mailbox, Presence, RequestQueue, Roster, TaskBoard, Team, TeamDirectories,
    TeamStore,
};
pub use tasks::{Actor, StatusChange, TaskChange, TaskList, TaskUpdated};
pub use team::{Leftover, NewTeam, TeamDamage};
pub use verify_key::VerifyKey;

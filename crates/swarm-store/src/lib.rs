//! The only owner of `teams/` and `tasks/`: mailbox, task list, roster, journal, reconcile.
//!
//! [`TeamStore`] is what the other crates speak to; [`FileStore`] keeps a team in Claude Code's own files. Everything
//! is synchronous and may block on a lock, so an async caller gives it a blocking thread. Locks are taken in one
//! order only: roster before task list before inbox, the task list before a task.

mod death_news;
mod error;
mod file_store;
mod journal;
mod layout;
mod limits;
mod mailbox;
mod member_files;
mod pause;
pub mod process;
mod reconcile;
mod record;
mod requests;
mod roster;
mod store;
mod tasks;
mod team;
mod team_files;

pub use error::{Result, StoreError};
pub use file_store::FileStore;
pub use journal::{BrokenJournalLine, Events};
pub use limits::StoreLimits;
pub use mailbox::{Draft, Inbox, Posted};
pub use member_files::{MemberView, TeamView};
pub use reconcile::{Departure, ReconcileReport, RolledBack};
pub use record::BrokenFile;
pub use requests::{AnswerLookup, NOT_ENTERED, RequestList};
pub use roster::{NewMember, RemovedMember};
pub use store::TeamStore;
pub use tasks::{Actor, StatusChange, TaskChange, TaskList, TaskUpdated, tasks_in_journal};
pub use team::{Leftover, NewTeam, TeamDamage};

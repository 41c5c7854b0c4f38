//! The only owner of `teams/` and `tasks/`: mailbox, task list, roster, journal, reconcile.
//!
//! [`TeamStore::team`] returns the handle of a team, whose operations are in one trait per subject
//! ([`Roster`], [`Spawns`], [`Mailbox`], [`TaskBoard`], [`RequestQueue`], [`Journal`], [`Accounts`],
//! [`Presence`], [`Leases`], [`Exchange`]).
//! [`FileStore`] keeps a team in Claude Code's own files. The rules are separate from the kinds of
//! stores. Synchronous callers wait with [`BlockOn`].

mod block_on;
mod blocking_pool;
mod error;
mod exchange;
mod file;
mod hub;
mod journal;
mod keys;
mod lease;
mod lease_term;
mod limits;
mod mailbox;
mod memory;
mod nats;
mod observer;
mod operations;
pub mod process;
mod reconcile;
mod records;
mod requests;
mod roster;
mod store;
mod tasks;
mod team;
mod view;
mod watch;

pub use block_on::BlockOn;
pub use error::{Result, StoreError};
pub use file::FileStore;
pub use hub::{HubStore, RootStore};
pub use journal::{BrokenJournalLine, Cursor, Events, JournalLines};
pub use keys::VerifyKey;
pub use lease::{Lease, LeaseEnd};
pub use limits::StoreLimits;
pub use mailbox::{Draft, Inbox, Posted, summary_of};
pub use memory::{Hold, MemoryStore, Silence};
pub use nats::{HubReport, HubSettings, LeaseTerms};
pub use reconcile::{Departure, ReconcileReport, RolledBack, is_stopped_by_person};
pub use records::{Announced, NodeView, Nodes, Orders, Sessions};
pub use requests::{AnswerLookup, NOT_ENTERED, RequestList, RequestQueue};
pub use roster::{NewMember, RemovedMember, Roster, Spawns, StoppedSpawn};
pub use store::{
    Accounts, Exchange, Journal, Leases, Mailbox, Presence, TaskBoard, Team, TeamStore,
};
pub use tasks::{Actor, StatusChange, TaskChange, TaskList, TaskUpdated, Undelivered};
pub use team::{BrokenFile, Leftover, NewTeam, TeamDamage};
pub use view::{MemberView, TeamView};
pub use watch::{Changes, Topic};

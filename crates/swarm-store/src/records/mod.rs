//! The records kind: teams as records and logs on a server.
//!
//! It has no lock around an operation. A team is a few records, each with a revision; a change reads
//! a record, applies the rules, and writes the record if its revision is still the same, otherwise
//! it starts again. An operation on several records orders its writes such that each of them can be
//! repeated. What it needs from a server is [`Space`].

mod accounts;
mod bell;
mod call;
mod exchange;
mod inbox;
mod key;
mod lifecycle;
mod mailbox;
mod nodes;
mod operations;
mod orders;
mod presence;
mod reconcile;
mod record;
mod requests;
mod roster;
mod seen;
mod send;
mod sessions;
mod space;
mod task_pages;
mod tasks;
mod team;
mod values;
mod views;
mod watch;

pub(crate) use bell::{Bells, Heard};
pub(crate) use call::Patience;
pub(crate) use key::Key;
pub use nodes::{Announced, NodeView, Nodes};
pub use orders::Orders;
pub(crate) use seen::Known;
pub use sessions::Sessions;
pub(crate) use space::{
    Answered, Appending, Entries, FEW, LeaseState, NewEntry, NoAnswer, NotWritten, Space, Stored,
    Taken, WriteId,
};
pub(crate) use team::{Local, RecordsTeam};

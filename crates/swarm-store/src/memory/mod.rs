//! The memory kind: teams in this process, for tests of what is built on the store.
//!
//! It has no lock around an operation. A team is a few records, each with a revision; a change reads
//! a record, applies the rules, and writes the record if its revision is still the same, otherwise
//! it starts again. An operation on several records orders its writes such that each of them can be
//! repeated. A store on a server would do the same, so delays, conflicts and lost acknowledgements
//! can be injected.

mod accounts;
mod bell;
mod call;
mod faults;
mod mailbox;
mod operations;
mod presence;
mod reconcile;
mod record;
mod requests;
mod roster;
mod store;
mod tasks;
mod team;
mod teams;
mod values;
mod watch;

pub use faults::Hold;
pub use store::MemoryStore;

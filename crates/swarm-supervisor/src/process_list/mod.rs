//! The process list of swarm, and detection of orphaned processes.

mod collect;
mod leads;
mod reap;
mod rosters;
mod seen;

pub(crate) use collect::canonical;
pub use collect::{lead_mark, lead_marks, process_list};
pub use leads::{LeadStanding, lead_standing};
pub use reap::{Reaped, end_processes_of_spawn, reap};
pub use seen::{Orphan, ProcessKind, ProcessStatus, SeenProcess};

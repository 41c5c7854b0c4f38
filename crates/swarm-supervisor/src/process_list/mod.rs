//! The process list of swarm, and detection of orphaned processes.

mod leads;
mod look;
mod reap;
mod rosters;
mod seen;
mod spawn;

pub use leads::{LeadStanding, lead_standing};
pub(crate) use look::canonical;
pub use look::{lead_mark, lead_marks, process_list};
pub(crate) use reap::end_marked_of;
pub use reap::{Reaped, reap};
pub use seen::{Orphan, ProcessKind, ProcessStatus, SeenProcess};
pub use spawn::end_marked;
pub(crate) use spawn::{end_member, end_spawns};

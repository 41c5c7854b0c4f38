//! Cleanup after crashes: dead teams, panes, sockets.

mod orphans;
mod panes;
mod teams;

pub use orphans::orphaned_panes;
pub use panes::{LeftPane, left_panes};
pub(crate) use panes::{former_spawns, panes_without_roster, spawns_in_journal};
pub use teams::{Verdict, verdict};

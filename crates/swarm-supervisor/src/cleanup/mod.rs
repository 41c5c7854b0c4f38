//! Cleanup after crashes: dead teams, panes, sockets.

mod panes;
mod teams;

pub use panes::{LeftPane, left_panes, orphaned_panes};
pub(crate) use panes::{former_spawns, panes_without_roster, spawns_in_journal};
pub use teams::{Verdict, verdict};

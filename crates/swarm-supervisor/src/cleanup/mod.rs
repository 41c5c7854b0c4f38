//! Cleanup after crashes: dead teams, panes, sockets.

mod panes;
mod teams;

pub(crate) use panes::Former;
pub use panes::{LeftPane, orphaned_panes};
pub use teams::{Verdict, verdict};

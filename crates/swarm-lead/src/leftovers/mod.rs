//! Clearing away what crashes have left: teams whose processes are all dead, panes, sockets.

mod panes;
mod sockets;
mod teams;

pub(crate) use panes::former_spawns;
pub use panes::{LeftPane, left_panes, panes_without_roster};
pub use sockets::dead_sockets;
pub use teams::{Verdict, verdict};

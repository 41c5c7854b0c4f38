//! `swarm node …`, and orders for nodes.

mod announce;
mod dispatch;
mod drain;
mod elsewhere;
mod execute;
mod join;
mod kept;
mod list;
mod machine;
mod members;
mod relay;
mod serve;
mod worktrees;

pub(crate) use dispatch::NodeCommand;
pub(super) use dispatch::run;
pub(super) use elsewhere::Elsewhere;
pub(super) use relay::{Relayed, RelayedCommand, show_from_node, spawn_on_node};

//! Orders for the nodes of a hub: choosing a node, and waiting for what it does.

mod choose;
mod error;
mod order;
mod spawn_command;
mod wait;

pub use choose::{NodeState, choose_any, choose_node, node_at, node_of};
pub use error::NodeError;
pub use order::{OrderWait, order, order_spawn};
pub use spawn_command::SpawnCommand;
pub(crate) use wait::{OrderEnd, wait_for_order};

//! Commands that a node runs for others.

use std::num::NonZeroI32;

use rustix::process::{
    Pid, Signal, getpid, getppid, kill_process, set_parent_process_death_signal,
};

use crate::environment::raw_variable;

/// Set in a command that a node runs: the PID of the node.
pub(crate) const NODE_PID: &str = "SWARM_NODE_PID";

/// Cancels a command of a node when the node ends, because the command that gave the order has
/// failed then.
pub(crate) fn end_with_node() {
    if is_ordered() && set_parent_process_death_signal(Some(Signal::TERM)).is_ok() && !is_ordered()
    {
        // The node ended before the signal was set.
        let _sent = kill_process(getpid(), Signal::TERM);
    }
}

/// Returns whether this process carries out an order of its parent, a node.
pub(crate) fn is_ordered() -> bool {
    let node: Option<NonZeroI32> =
        raw_variable(NODE_PID).and_then(|pid| pid.to_str()?.parse().ok());
    node.is_some() && node == getppid().map(Pid::as_raw_nonzero)
}

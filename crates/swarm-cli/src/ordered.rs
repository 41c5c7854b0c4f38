//! Commands that a node runs for others.

use rustix::process::{
    Pid, Signal, getpid, getppid, kill_process, set_parent_process_death_signal,
};

use crate::environment::raw_variable;

/// Set in a command that a node runs: the PID of the node.
pub(crate) const NODE_PID: &str = "SWARM_NODE_PID";

/// Lets a command of a node end with the node, as if it were cancelled: who gave the order is told
/// that it failed.
pub(crate) fn end_with_node() {
    let Some(node) = raw_variable(NODE_PID).and_then(|pid| pid.to_str()?.parse().ok()) else {
        return;
    };
    let parent = || getppid().map(Pid::as_raw_nonzero);
    if parent() == Some(node)
        && set_parent_process_death_signal(Some(Signal::TERM)).is_ok()
        && parent() != Some(node)
    {
        // The node ended before the signal was set.
        let _sent = kill_process(getpid(), Signal::TERM);
    }
}

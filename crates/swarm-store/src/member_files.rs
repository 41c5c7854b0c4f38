//! What members write about themselves, and what is known of each.

use swarm_fs::Liveness;
use swarm_protocol::{Member, MemberState, StateReport};

/// A member with what is known of it.
#[derive(Debug, Clone, PartialEq)]
pub struct MemberView {
    /// Its roster entry.
    pub member: Member,
    /// What it is doing, drawn from the facts below.
    pub state: MemberState,
    /// Its own last report, if that is of the present spawn.
    pub report: Option<StateReport>,
    /// Whether it lives.
    pub liveness: Liveness,
    /// How many messages wait for it.
    pub unread: usize,
}

//! A sub-agent that begins with its parent's conversation.

use std::sync::Arc;

use swarm_permissions::same_agent_type;

use super::{Parent, SubAgents};
use crate::fork::{FORK, Origin, is_inside};

/// What a fork is told that would fork.
const NESTED: &str = "\
Agent was not called: fork is not available inside a fork. Do the work yourself, or name a subagent_type for an agent \
that begins afresh";

impl SubAgents {
    /// Whether a call that names this type, or none, forks.
    pub(crate) fn forks(&self, named: Option<&str>) -> bool {
        self.limits().fork && named.is_none_or(|named| same_agent_type(named, FORK))
    }
}

impl Parent {
    /// What a fork of this agent begins with. There are two guards against forks of forks: an agent knows that it is one,
    /// and its conversation says so.
    pub(crate) fn fork_origin(&self) -> Result<Arc<Origin>, String> {
        let origin = self.parts.forks.origin();
        let origin = origin.ok_or("Agent was not called: there is no conversation to fork")?;
        if self.is_fork || is_inside(&origin.messages) {
            return Err(NESTED.to_owned());
        }
        Ok(origin)
    }
}

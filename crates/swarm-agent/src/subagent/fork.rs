//! Sub-agents that begin with their parent's conversation.

use std::sync::Arc;

use swarm_permissions::same_agent_type;

use super::{Parent, SubAgents};
use crate::fork::{FORK, Origin, fork_opening};

const NESTED: &str = "\
Agent was not called: fork is not available inside a fork. Do the work yourself, or set `subagent_type` to start an \
agent with a new conversation";

impl SubAgents {
    /// Returns whether a call with this type, or without one, forks.
    pub(crate) fn forks(&self, named: Option<&str>) -> bool {
        self.limits().fork && named.is_none_or(|named| same_agent_type(named, FORK))
    }
}

impl Parent {
    /// Returns the start of a fork of this agent. Two checks prevent forks of forks: the agent's
    /// flag, and the directive in its conversation.
    pub(crate) fn fork_origin(&self) -> Result<Arc<Origin>, String> {
        let origin = self.parts.forks.origin();
        let origin = origin.ok_or("Agent was not called: there is no conversation to fork")?;
        if self.is_fork || fork_opening(&origin.messages).is_some() {
            return Err(NESTED.to_owned());
        }
        Ok(origin)
    }
}

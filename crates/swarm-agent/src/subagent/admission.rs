//! How many sub-agents there may be. Each bound refuses by its name.

use std::collections::HashMap;

use swarm_permissions::AgentLimits;
use swarm_protocol::SubAgentId;

use super::Parent;

/// The sub-agents that run, and how many there were.
#[derive(Debug, Default)]
pub(super) struct Admission {
    running: HashMap<SubAgentId, Option<SubAgentId>>,
    started: u64,
}

impl Admission {
    /// Lets a new sub-agent run, or says which bound is reached.
    pub(super) fn admit(
        &mut self,
        limits: &AgentLimits,
        parent: &Parent,
        id: &SubAgentId,
    ) -> Result<(), String> {
        if parent.depth >= limits.max_depth {
            return Err(reached(
                "max_depth",
                u64::from(limits.max_depth),
                "sub-agents above one another",
                "do this work yourself",
            ));
        }
        if self.started >= limits.max_total {
            return Err(reached(
                "max_total",
                limits.max_total,
                "sub-agents in the life of this process",
                "do this work yourself",
            ));
        }
        self.readmit(limits, parent, id)?;
        self.started += 1;
        Ok(())
    }

    /// Lets a sub-agent run again that had ended.
    pub(super) fn readmit(
        &mut self,
        limits: &AgentLimits,
        parent: &Parent,
        id: &SubAgentId,
    ) -> Result<(), String> {
        if self.running.len() >= limits.max_concurrent {
            return Err(reached(
                "max_concurrent",
                limits.max_concurrent as u64,
                "sub-agents at once",
                "wait for one of them to end",
            ));
        }
        let siblings = self.running.values().filter(|of| **of == parent.id).count();
        if siblings >= limits.max_per_parent {
            return Err(reached(
                "max_per_parent",
                limits.max_per_parent as u64,
                "sub-agents of one agent at once",
                "wait for one of yours to end",
            ));
        }
        self.running.insert(id.clone(), parent.id.clone());
        Ok(())
    }

    /// A sub-agent has ended.
    pub(super) fn release(&mut self, id: &SubAgentId) {
        self.running.remove(id);
    }
}

fn reached(cap: &str, limit: u64, of_what: &str, instead: &str) -> String {
    format!(
        "The sub-agent was not started: the cap agents.{cap} of {limit} {of_what} is reached. Instead, {instead}."
    )
}

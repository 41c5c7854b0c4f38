//! Limits on the number of sub-agents. A refusal names the limit.

use std::collections::HashMap;

use swarm_permissions::AgentLimits;
use swarm_protocol::SubAgentId;

use super::Parent;

/// The running sub-agents with their parents, and the number of starts.
#[derive(Debug, Default)]
pub(super) struct Admission {
    running: HashMap<SubAgentId, Option<SubAgentId>>,
    started: u64,
}

impl Admission {
    /// Admits a new sub-agent, or returns which limit is reached.
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
                "nested sub-agents",
                "do this work yourself",
            ));
        }
        if self.started >= limits.max_total {
            return Err(reached(
                "max_total",
                limits.max_total,
                "sub-agents per process",
                "do this work yourself",
            ));
        }
        self.readmit(limits, parent, id)?;
        self.started += 1;
        Ok(())
    }

    /// Admits a sub-agent that runs again after its end, or returns which limit is reached.
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
                "concurrent sub-agents",
                "wait until one of them has ended",
            ));
        }
        let siblings = self.running.values().filter(|of| **of == parent.id).count();
        if siblings >= limits.max_per_parent {
            return Err(reached(
                "max_per_parent",
                limits.max_per_parent as u64,
                "concurrent sub-agents per agent",
                "wait until one of yours has ended",
            ));
        }
        self.running.insert(id.clone(), parent.id.clone());
        Ok(())
    }

    /// Releases the slot of a sub-agent that has ended.
    pub(super) fn release(&mut self, id: &SubAgentId) {
        self.running.remove(id);
    }
}

fn reached(setting: &str, limit: u64, of_what: &str, instead: &str) -> String {
    format!(
        "The sub-agent was not started: the limit agents.{setting} of {limit} {of_what} is reached. Instead, {instead}."
    )
}

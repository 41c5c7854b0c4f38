//! Limits on the number of sub-agents. A refusal names the limit.

use std::collections::HashMap;

use swarm_permissions::AgentLimits;
use swarm_protocol::SubAgentId;

use super::Parent;

/// What to do when no sub-agent can be started.
const ALONE: &str = "do this work yourself";

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
        let (depth, most) = (parent.depth.into(), limits.max_depth.into());
        within(depth, most, "max_depth", "nested sub-agents", ALONE)?;
        let (started, most) = (self.started, limits.max_total);
        within(started, most, "max_total", "sub-agents per process", ALONE)?;
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
        let (running, most) = (self.running.len() as u64, limits.max_concurrent as u64);
        let (what, instead) = ("concurrent sub-agents", "wait until one of them has ended");
        within(running, most, "max_concurrent", what, instead)?;
        let siblings = self.running.values().filter(|of| **of == parent.id);
        let (running, most) = (siblings.count() as u64, limits.max_per_parent as u64);
        let what = "concurrent sub-agents per agent";
        let instead = "wait until one of yours has ended";
        within(running, most, "max_per_parent", what, instead)?;
        self.running.insert(id.clone(), parent.id.clone());
        Ok(())
    }

    /// Releases the slot of a sub-agent that has ended.
    pub(super) fn release(&mut self, id: &SubAgentId) {
        self.running.remove(id);
    }
}

/// Returns an error if a limit is reached.
fn within(now: u64, limit: u64, setting: &str, what: &str, instead: &str) -> Result<(), String> {
    if now < limit {
        return Ok(());
    }
    Err(format!(
        "The sub-agent was not started: the limit agents.{setting} of {limit} {what} is reached. Instead, {instead}."
    ))
}

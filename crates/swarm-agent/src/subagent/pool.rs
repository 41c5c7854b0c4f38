//! The tools of a sub-agent.

use std::sync::Arc;

use swarm_permissions::{
    AgentConfig, AgentKind, FilterLayer, PoolRequest, RemovedTool, ToolCeiling, tool_pool,
};
use swarm_protocol::PermissionMode;
use swarm_tools::Tool;

use super::record::Record;
use crate::AgentTool;
use crate::worktree::{MOVING, fixed};

/// What a sub-agent has, and what it could have had.
pub(super) struct Tools {
    pub(super) offered: Vec<Arc<dyn Tool>>,
    pub(super) withheld: Vec<RemovedTool>,
}

impl Tools {
    /// The parent's tools as they are, for a fork: no layer is asked. It moves nobody with them.
    pub(super) fn exactly(tools: &[Arc<dyn Tool>]) -> Self {
        Self {
            offered: fixed(tools),
            withheld: Vec::new(),
        }
    }

    /// Those of these names alone: what an agent has that is taken up again.
    pub(super) fn within(mut self, held: &[String]) -> Self {
        let was_held = |tool: &str| held.iter().any(|name| name == tool);
        for tool in self.offered.iter().filter(|tool| !was_held(tool.name())) {
            self.withheld.push(RemovedTool {
                tool: tool.name().to_owned(),
                layer: FilterLayer::ParentCeiling,
                why: "you did not have it when you began".to_owned(),
            });
        }
        self.offered.retain(|tool| was_held(tool.name()));
        self
    }
}

/// What a coordinator keeps of its process's pool. Its workers get theirs from the whole pool.
pub(super) fn of_coordinator(pool: &[Arc<dyn Tool>]) -> Tools {
    let request = PoolRequest {
        kind: AgentKind::Coordinator,
        levels_left: 1,
        mode: PermissionMode::Default,
        definition: None,
        above: &ToolCeiling::default(),
    };
    let filtered = tool_pool(&request, pool.iter().map(|tool| tool.name()));
    let kept = pool.iter().filter(|tool| filtered.has(tool.name()));
    Tools {
        offered: kept.cloned().collect(),
        withheld: filtered.removed,
    }
}

/// What of the process's pool a sub-agent gets.
pub(super) fn tools(
    pool: &[Arc<dyn Tool>],
    record: &Record,
    mode: PermissionMode,
    agent_config: &AgentConfig,
) -> Tools {
    let limits = &agent_config.limits;
    let levels_left = limits.max_depth.saturating_sub(record.depth());
    let kind = if record.view().background {
        AgentKind::Background
    } else {
        AgentKind::SubAgent
    };
    let request = PoolRequest {
        kind,
        // A worker starts nobody: the coordinator hands out the work.
        levels_left: match agent_config.coordinator {
            Some(_) => 0,
            None => levels_left,
        },
        mode,
        definition: Some(&record.request.definition),
        above: &record.parent.tool_ceiling,
    };
    let mut filtered = tool_pool(
        &request,
        pool.iter()
            .map(|tool| tool.name())
            .filter(|name| !MOVING.contains(name)),
    );
    if levels_left == 0 {
        for removed in &mut filtered.removed {
            if removed.tool == AgentTool::NAME {
                removed.why = format!(
                    "the limit agents.max_depth of {} is reached",
                    limits.max_depth
                );
            }
        }
    }
    Tools {
        offered: pool
            .iter()
            .filter(|tool| filtered.has(tool.name()))
            .cloned()
            .collect(),
        withheld: filtered.removed,
    }
}

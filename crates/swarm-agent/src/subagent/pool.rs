//! The tools of a sub-agent.

use std::sync::Arc;

use swarm_permissions::{
    AgentConfig, AgentKind, FilterLayer, PoolRequest, RemovedTool, ToolCeiling, ToolPool, tool_pool,
};
use swarm_protocol::PermissionMode;
use swarm_tools::{StructuredOutput, Tool};

use super::record::Record;
use crate::AgentTool;
use crate::worktree::{MOVE_TOOLS, fork_tools};

/// The tools of an agent, and those that it does not get.
pub(super) struct ToolSelection {
    pub(super) offered: Vec<Arc<dyn Tool>>,
    pub(super) withheld: Vec<RemovedTool>,
}

impl ToolSelection {
    /// Returns the parent's tools for a fork, without any filter. Those that would move the agent
    /// are refused.
    pub(super) fn for_fork(tools: &[Arc<dyn Tool>]) -> Self {
        Self {
            offered: fork_tools(tools),
            withheld: Vec::new(),
        }
    }

    /// Returns what a filter leaves of a pool.
    fn filtered(pool: &[Arc<dyn Tool>], filter: ToolPool) -> Self {
        let kept = pool.iter().filter(|tool| filter.has(tool.name()));
        Self {
            offered: kept.cloned().collect(),
            withheld: filter.removed,
        }
    }

    /// Keeps only the initial tools of an agent that is resumed.
    pub(super) fn restricted_to(mut self, initial: &[String]) -> Self {
        let was_initial = |tool: &str| initial.iter().any(|name| name == tool);
        for tool in self.offered.iter().filter(|tool| !was_initial(tool.name())) {
            self.withheld.push(RemovedTool {
                tool: tool.name().to_owned(),
                layer: FilterLayer::ParentCeiling,
                why: "you did not have it when you began".to_owned(),
            });
        }
        self.offered.retain(|tool| was_initial(tool.name()));
        self
    }
}

/// Returns the tools that a coordinator keeps. Its workers get theirs from the whole pool.
pub(super) fn coordinator_tools(pool: &[Arc<dyn Tool>]) -> ToolSelection {
    let request = PoolRequest {
        kind: AgentKind::Coordinator,
        levels_left: 1,
        mode: PermissionMode::Default,
        definition: None,
        above: &ToolCeiling::default(),
    };
    let filter = tool_pool(&request, pool.iter().map(|tool| tool.name()));
    ToolSelection::filtered(pool, filter)
}

/// Returns the tools of a sub-agent from the process's pool.
pub(super) fn tools(
    pool: &[Arc<dyn Tool>],
    record: &Record,
    mode: PermissionMode,
    agent_config: &AgentConfig,
) -> ToolSelection {
    let limits = &agent_config.limits;
    let levels_left = limits.max_depth.saturating_sub(record.depth());
    let kind = if record.view().background {
        AgentKind::Background
    } else {
        AgentKind::SubAgent
    };
    let request = PoolRequest {
        kind,
        // Workers cannot start agents, because the coordinator distributes the work.
        levels_left: if agent_config.coordinator {
            0
        } else {
            levels_left
        },
        mode,
        definition: Some(&record.request.definition),
        above: &record.parent.tool_ceiling,
    };
    let mut filtered = tool_pool(
        &request,
        pool.iter()
            .map(|tool| tool.name())
            // The result of a run is its lead's.
            .filter(|name| !MOVE_TOOLS.contains(name) && *name != StructuredOutput::NAME),
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
    ToolSelection::filtered(pool, filtered)
}

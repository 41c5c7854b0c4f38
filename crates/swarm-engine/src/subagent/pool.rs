//! The tools of a sub-agent.

use std::sync::Arc;

use swarm_policy::{AgentKind, AgentLimits, PoolRequest, RemovedTool, tool_pool};
use swarm_protocol::PermissionMode;
use swarm_tools::Tool;

use super::record::Record;
use crate::AgentTool;
use crate::worktree::MOVING;

/// What a sub-agent has, and what it could have had.
pub(super) struct Tools {
    pub(super) offered: Vec<Arc<dyn Tool>>,
    pub(super) withheld: Vec<RemovedTool>,
}

impl Tools {
    /// The parent's tools as they are, for a fork: no layer is asked.
    pub(super) fn exactly(tools: &[Arc<dyn Tool>]) -> Self {
        Self {
            offered: tools.to_vec(),
            withheld: Vec::new(),
        }
    }
}

/// What of the process's pool a sub-agent gets.
pub(super) fn tools(
    pool: &[Arc<dyn Tool>],
    record: &Record,
    mode: PermissionMode,
    limits: &AgentLimits,
) -> Tools {
    let kind = if record.view().background {
        AgentKind::Background
    } else {
        AgentKind::SubAgent
    };
    let request = PoolRequest {
        kind,
        levels_left: limits.max_depth.saturating_sub(record.depth()),
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
    if request.levels_left == 0 {
        for removed in &mut filtered.removed {
            if removed.tool == AgentTool::NAME {
                removed.why = format!(
                    "the cap agents.max_depth of {} is reached",
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

//! The parent of sub-agents.

use std::path::Path;

use serde_json::json;
use swarm_permissions::{Decision, Question, ToolCeiling};
use swarm_protocol::{SubAgentId, ToolKind};

use crate::AgentParts;
use crate::context_files::ContextFiles;

/// An agent from the point of view of its sub-agents.
#[derive(Debug, Clone)]
pub(crate) struct Parent {
    /// Id of a sub-agent; `None` for the process's agent.
    pub(crate) id: Option<SubAgentId>,
    /// Number of agents above it.
    pub(crate) depth: u32,
    /// Its components without its tools, one of which holds this value.
    pub(crate) parts: AgentParts,
    pub(crate) tool_names: Vec<String>,
    /// Upper bound of its sub-agents' tools.
    pub(crate) tool_ceiling: ToolCeiling,
    pub(crate) is_fork: bool,
}

impl Parent {
    /// Creates a parent that holds no reference to its tools.
    pub(crate) fn of(
        id: Option<SubAgentId>,
        depth: u32,
        parts: &AgentParts,
        tool_ceiling: ToolCeiling,
    ) -> Self {
        Self {
            id,
            depth,
            tool_ceiling,
            is_fork: false,
            tool_names: parts
                .tools
                .iter()
                .map(|tool| tool.name().to_owned())
                .collect(),
            parts: AgentParts {
                tools: Vec::new(),
                ..parts.clone()
            },
        }
    }

    /// Returns whether the agent can read the file of a result.
    pub(crate) fn can_read(&self, output: &Path) -> bool {
        let rights = &self.parts.rights;
        let input = json!({"file_path": output});
        let cwd = &self.parts.tool_context.cwd;
        let question = Question {
            tool: "Read",
            input: &input,
            cwd,
            starts_in: cwd,
            anchors: &rights.anchors(cwd, None),
            home: self.parts.home.as_deref(),
            touches: &[output.to_owned()],
            files: &ContextFiles(&self.parts.tool_context),
            read_only: true,
            kind: ToolKind::Read,
            ceiling: rights.highest_mode(),
        };
        self.tool_names.iter().any(|name| name == "Read")
            && matches!(rights.decide(&question), Decision::Allow { .. })
    }
}

//! The agent that has sub-agents.

use std::path::Path;

use serde_json::json;
use swarm_permissions::{Decision, Question, ToolCeiling};
use swarm_protocol::{SubAgentId, ToolKind};

use crate::AgentParts;
use crate::context_files::ContextFiles;

/// An agent as its sub-agents know it.
#[derive(Debug, Clone)]
pub(crate) struct Parent {
    /// Absent for the agent that the process is for.
    pub(crate) id: Option<SubAgentId>,
    /// How many agents stand above it.
    pub(crate) depth: u32,
    /// What it is made of, but for its tools: one of them holds this.
    pub(crate) parts: AgentParts,
    /// Names of its tools.
    pub(crate) tool_names: Vec<String>,
    /// What its sub-agents may use at most.
    pub(crate) tool_ceiling: ToolCeiling,
    /// Whether it is a fork itself.
    pub(crate) is_fork: bool,
}

impl Parent {
    /// A parent that holds no tool alive.
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

    /// Whether it could read the file of a result.
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
        };
        self.tool_names.iter().any(|name| name == "Read")
            && matches!(rights.decide(&question), Decision::Allow { .. })
    }
}

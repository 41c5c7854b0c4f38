//! The parameters of the Agent tool.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Value, json};
use swarm_policy::Isolation;
use swarm_protocol::{Effort, PermissionMode};

/// What a call may say.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    pub(super) description: String,
    pub(super) prompt: String,
    pub(super) name: Option<String>,
    pub(super) subagent_type: Option<String>,
    pub(super) model: Option<String>,
    pub(super) effort: Option<Effort>,
    pub(super) mode: Option<PermissionMode>,
    pub(super) team_name: Option<String>,
    pub(super) cwd: Option<PathBuf>,
    pub(super) isolation: Option<Isolation>,
    pub(super) run_in_background: Option<bool>,
}

impl Input {
    /// Reads the parameters. The error is for the model.
    pub(super) fn read(input: Value) -> Result<Self, String> {
        let input: Self = serde_json::from_value(input)
            .map_err(|error| format!("Agent was not called: {error}"))?;
        if input.prompt.trim().is_empty() {
            return Err(
                "Agent was not called: `prompt` is empty. Say all that the agent needs to know"
                    .to_owned(),
            );
        }
        Ok(input)
    }

    pub(super) fn schema() -> Value {
        let modes: Vec<_> = PermissionMode::ALL.iter().map(|mode| mode.name()).collect();
        json!({
            "type": "object",
            "properties": {
                "description": {"type": "string", "description": "The work in three to five words"},
                "prompt": {"type": "string", "description": "The agent's first message: its whole task"},
                "subagent_type": {"type": "string", "description": "The type of agent; leave it out for a general one"},
                "model": {"type": "string", "description": "Another model than your own"},
                "effort": {"type": "string", "enum": ["low", "medium", "high", "xhigh", "max"], "description": "How hard it thinks"},
                "run_in_background": {"type": "boolean", "description": "Go on at once; you are told when it ends"},
                "name": {"type": "string", "description": "Makes it a teammate of this name: letters, digits, `_` and `-`, beginning with a letter or digit"},
                "team_name": {"type": "string", "description": "Your own team, which is also the default"},
                "mode": {"type": "string", "enum": modes, "description": "Permission mode, at most your own"},
                "isolation": {"type": "string", "enum": ["worktree"], "description": "Give it a git worktree of its own"},
                "cwd": {"type": "string", "description": "Another working folder than your own"}
            },
            "required": ["description", "prompt"],
            "additionalProperties": false
        })
    }
}

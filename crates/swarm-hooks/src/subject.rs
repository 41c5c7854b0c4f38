//! The input fields common to all hooks.

use std::path::PathBuf;

use serde::Serialize;
use serde_json::{Value, json};
use swarm_permissions::HookEvent;
use swarm_protocol::{MemberName, PermissionMode, TaskId, TeamName};

/// The fields of every hook's input, independent of event and agent; null if not applicable.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct HookInput {
    /// The id of the agent's session.
    pub session_id: Option<String>,
    /// The path of the session's transcript.
    pub transcript_path: Option<PathBuf>,
    /// The agent's working directory.
    pub cwd: PathBuf,
    /// The agent's permission mode.
    pub permission_mode: Option<PermissionMode>,
    /// The agent's team.
    pub team: Option<TeamName>,
    /// The member that the agent is or works for.
    pub member: Option<MemberName>,
    /// `name@team` for a member, or the id of a sub-agent.
    pub agent_id: Option<String>,
    /// The type named in the agent's definition.
    pub agent_type: Option<String>,
    /// The task that the agent works on.
    pub task: Option<TaskId>,
    /// The agent id of the parent.
    pub parent: Option<String>,
}

impl HookInput {
    /// Returns the standard input of a hook: these fields, the event's name and the event's fields.
    pub(crate) fn input(&self, event: HookEvent, fields: &Value) -> Value {
        // Serialization fails only for a path that is not valid UTF-8.
        let mut input = serde_json::to_value(self).unwrap_or_else(|_| json!({}));
        input["hook_event_name"] = event.name().into();
        if let (Some(input), Some(fields)) = (input.as_object_mut(), fields.as_object()) {
            input.extend(fields.clone());
        }
        input
    }
}

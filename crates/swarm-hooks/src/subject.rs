//! Whom an event happened to: what every hook is told.

use std::path::PathBuf;

use serde::Serialize;
use serde_json::{Map, Value};
use swarm_permissions::HookEvent;
use swarm_protocol::{MemberName, PermissionMode, TaskId, TeamName};

/// The fields that every hook's input has, whatever the event and wherever the agent runs; null where there is none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Subject {
    /// The conversation.
    pub session_id: Option<String>,
    /// Its transcript.
    pub transcript_path: Option<PathBuf>,
    /// The agent's working directory.
    pub cwd: PathBuf,
    /// Its permission mode.
    pub permission_mode: Option<PermissionMode>,
    /// Its team.
    pub team: Option<TeamName>,
    /// The member that it is or works for.
    pub member: Option<MemberName>,
    /// `name@team` of a member, or the id of a sub-agent.
    pub agent_id: Option<String>,
    /// The type of its definition.
    pub agent_type: Option<String>,
    /// The task that it works on.
    pub task: Option<TaskId>,
    /// Who started it: an agent id.
    pub parent: Option<String>,
}

impl Subject {
    /// What a hook reads from its standard input: these fields, the event's name, and the fields of the event.
    pub(crate) fn input(
        &self,
        event: HookEvent,
        fields: &Map<String, Value>,
    ) -> Map<String, Value> {
        let mut input = match serde_json::to_value(self) {
            Ok(Value::Object(input)) => input,
            // A path that is no text is the only thing that cannot be written down.
            _ => Map::new(),
        };
        input.insert("hook_event_name".to_owned(), event.name().into());
        input.extend(fields.clone());
        input
    }
}

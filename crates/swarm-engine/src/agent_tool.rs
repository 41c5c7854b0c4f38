//! The Agent tool: how a model adds teammates.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};
use swarm_protocol::{MemberName, PermissionMode, ToolKind};
use swarm_tools::{Tool, ToolContext, ToolOutput};

use crate::{Isolation, SpawnRequest, Spawned, TeammateSpawner};

/// The tool `Agent`, with the parameters of Claude Code's.
#[derive(Debug, Clone)]
pub struct AgentTool {
    spawner: Arc<dyn TeammateSpawner>,
}

impl AgentTool {
    /// The tool that asks `spawner`.
    pub fn new(spawner: Arc<dyn TeammateSpawner>) -> Self {
        Self { spawner }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    description: String,
    prompt: String,
    name: Option<String>,
    subagent_type: Option<String>,
    model: Option<String>,
    mode: Option<PermissionMode>,
    team_name: Option<String>,
    cwd: Option<PathBuf>,
    isolation: Option<Isolation>,
    /// A teammate always works beside its lead, so both values mean the same.
    #[serde(rename = "run_in_background")]
    _run_in_background: Option<bool>,
}

#[async_trait]
impl Tool for AgentTool {
    fn name(&self) -> &'static str {
        "Agent"
    }

    fn description(&self) -> String {
        "Adds a teammate: a separate agent with its own conversation, working beside you in its own pane. Give it a \
         `name`; others reach it by that name with SendMessage. It knows nothing of your conversation, so `prompt` must \
         say everything it needs: the goal, the files, what to hand back. The call returns once the teammate is ready, \
         not when its work is done; its results reach you as messages by themselves, so do not wait or ask for them."
            .to_owned()
    }

    fn input_schema(&self) -> Value {
        let modes: Vec<_> = PermissionMode::ALL.iter().map(|mode| mode.name()).collect();
        json!({
            "type": "object",
            "properties": {
                "description": {"type": "string", "description": "The work in three to five words"},
                "prompt": {"type": "string", "description": "The teammate's first message: its whole task"},
                "name": {"type": "string", "description": "The teammate's name: letters, digits, `_` and `-`, beginning with a letter or digit"},
                "subagent_type": {"type": "string", "description": "The agent definition to use; leave it out for the general one"},
                "model": {"type": "string", "description": "Another model than your own"},
                "mode": {"type": "string", "enum": modes, "description": "Permission mode, at most your own; `plan` makes the teammate have its plan approved before it changes anything"},
                "cwd": {"type": "string", "description": "Another working folder than your own"},
                "isolation": {"type": "string", "enum": ["worktree"], "description": "Give it a git worktree of its own"},
                "run_in_background": {"type": "boolean", "description": "A teammate always runs in the background"},
                "team_name": {"type": "string", "description": "Your own team, which is also the default"}
            },
            "required": ["description", "prompt"],
            "additionalProperties": false
        })
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Team
    }

    fn is_read_only(&self, _input: &Value) -> bool {
        false
    }

    fn one_line(&self, input: &Value) -> String {
        let text = |key: &str| input[key].as_str().unwrap_or_default();
        let line: String = format!("Agent {}: {}", text("name"), text("description"));
        line.chars().filter(|c| !c.is_control()).take(120).collect()
    }

    async fn call(&self, input: Value, ctx: &ToolContext) -> ToolOutput {
        let request = match request(input, ctx) {
            Ok(request) => request,
            Err(why) => return ToolOutput::error(why),
        };
        match self.spawner.spawn(request).await {
            Ok(spawned) => report(&spawned),
            Err(why) => ToolOutput::error(why),
        }
    }
}

fn request(input: Value, ctx: &ToolContext) -> Result<SpawnRequest, String> {
    let input: Input =
        serde_json::from_value(input).map_err(|error| format!("Agent was not called: {error}"))?;
    let Some(name) = input.name else {
        return Err(
            "Agent was not called: unnamed sub-agents are not available yet. Pass `name` to add a teammate"
                .to_owned(),
        );
    };
    let name =
        MemberName::teammate(&name).map_err(|error| format!("Agent was not called: {error}"))?;
    Ok(SpawnRequest {
        name,
        agent_type: input.subagent_type,
        prompt: input.prompt,
        description: input.description,
        model: input.model,
        plan: input.mode == Some(PermissionMode::Plan),
        mode: input.mode,
        cwd: input.cwd.map(|cwd| ctx.cwd.join(cwd)),
        isolation: input.isolation,
        team: input.team_name,
        cancel: ctx.cancel.clone(),
    })
}

fn report(spawned: &Spawned) -> ToolOutput {
    let Spawned {
        agent_id,
        model,
        mode,
        pane,
        note,
        ..
    } = spawned;
    let name = &agent_id.name;
    let mut content = format!(
        "Teammate added.\nagent_id: {agent_id}\nname: {name}\nteam_name: {}\nmodel: {model}\nmode: {mode}\npane: {pane}\n\
         It has its instructions as its first message and is at work. Its reports reach you as messages.",
        agent_id.team
    );
    if !note.is_empty() {
        content.push('\n');
        content.push_str(note);
    }
    ToolOutput::ok(content, format!("{name} is ready in {pane}"))
}

//! `TeamCreate`.

use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};
use swarm_protocol::{AgentId, MemberName, TeamName, ToolKind};
use swarm_team::Seat;
use swarm_tools::{Tool, ToolContext, ToolOutput};

use swarm_supervisor::{Deployment, Leadership};

/// Makes the lead's team.
#[derive(Debug)]
pub(crate) struct TeamCreate {
    pub(crate) deployment: Deployment,
    pub(crate) seat: Arc<Seat>,
    pub(crate) leadership: Arc<Leadership>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    team_name: String,
    #[serde(default)]
    description: Option<String>,
}

#[async_trait]
impl Tool for TeamCreate {
    fn name(&self) -> &'static str {
        "TeamCreate"
    }

    fn description(&self) -> String {
        "Make a team that you lead, with a shared task list. Do this once, before you add teammates with the Agent \
         tool (pass `name`). Without it the first named Agent call makes a team for you."
            .to_owned()
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "team_name": { "type": "string", "description": "Letters, digits, _ and -" },
                "description": { "type": "string", "description": "What the team is for" }
            },
            "required": ["team_name"],
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
        format!("TeamCreate {}", input["team_name"].as_str().unwrap_or("?"))
    }

    async fn call(&self, input: Value, _ctx: &ToolContext) -> ToolOutput {
        match self.create(input) {
            Ok(output) => output,
            Err(error) => ToolOutput::error(error),
        }
    }
}

impl TeamCreate {
    fn create(&self, input: Value) -> Result<ToolOutput, String> {
        let input: Input = serde_json::from_value(input)
            .map_err(|error| format!("TeamCreate: the input does not fit its schema: {error}"))?;
        if let Some(team) = self.seat.team() {
            return Err(format!(
                "you lead the team {team} already: delete it with TeamDelete first"
            ));
        }
        let name = TeamName::parse(input.team_name.trim()).map_err(|error| error.to_string())?;
        let team = self
            .leadership
            .create_under_free_name(&name, input.description.as_deref())
            .map_err(|error| error.to_string())?;
        self.seat.set_team(Some(team.clone()));
        let file = self.deployment.store.team_folder(&team).join("config.json");
        let mut out = json!({
            "team_name": team,
            "team_file_path": file,
            "lead_agent_id": AgentId::new(MemberName::lead(), team.clone()),
        });
        if team != name {
            out["message"] = json!(format!(
                "There is a team {name} already, so yours is called {team}. In your calls, team_name {name} means yours."
            ));
        }
        Ok(ToolOutput::ok(out.to_string(), format!("team {team}")))
    }
}

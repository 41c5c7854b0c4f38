//! `TeamCreate`.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use swarm_protocol::{AgentId, MemberName, TeamName, ToolKind};
use swarm_team::MemberContext;
use swarm_tools::{ToolContext, ToolOutput, TypedTool, prompt};

use swarm_supervisor::Leadership;

#[derive(Debug)]
pub(crate) struct TeamCreate {
    pub(crate) context: Arc<MemberContext>,
    pub(crate) leadership: Arc<Leadership>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Letters, digits, `_` and `-`
    team_name: String,
    /// What the team is for
    description: Option<String>,
}

#[async_trait]
impl TypedTool for TeamCreate {
    type Parameters = Input;
    const NAME: &'static str = "TeamCreate";
    const PROMPT: &'static str = prompt!("tools/TeamCreate");
    const KIND: ToolKind = ToolKind::Team;

    fn one_line(&self, input: &Value) -> String {
        format!("TeamCreate {}", input["team_name"].as_str().unwrap_or("?"))
    }

    async fn call(&self, input: Input, _ctx: &ToolContext) -> Result<ToolOutput, String> {
        if let Some(team) = self.context.team() {
            return Err(format!(
                "you already lead team {}: delete it with TeamDelete first",
                team.name()
            ));
        }
        let name = TeamName::parse(input.team_name.trim()).map_err(|error| error.to_string())?;
        let team = self
            .leadership
            .create_under_free_name(&name, input.description.as_deref())
            .map_err(|error| error.to_string())?;
        // A lead creates teams in files only.
        let directory = self.context.join(&team).location();
        let mut out = json!({
            "team_name": team,
            "team_file_path": Path::new(&directory).join("config.json"),
            "lead_agent_id": AgentId::new(MemberName::lead(), team.clone()),
        });
        if team != name {
            out["message"] = json!(format!(
                "Team {name} already exists, so yours is called {team}. In your calls, team_name {name} refers to yours."
            ));
        }
        Ok(ToolOutput::ok(out.to_string(), format!("team {team}")))
    }
}

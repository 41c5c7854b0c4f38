//! `TeamCreate` and `TeamDelete`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use swarm_protocol::{AgentId, MemberName, TeamName, ToolKind};
use swarm_store::Team;
use swarm_supervisor::{LeadError, Leadership, SpawnContext};
use swarm_team::MemberContext;
use swarm_tools::{NoParameters, ToolContext, ToolOutput, TypedTool, prompt};

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

/// Deletes the lead's team once its members have left.
#[derive(Debug)]
pub(crate) struct TeamDelete {
    pub(crate) spawn_context: SpawnContext,
    pub(crate) context: Arc<MemberContext>,
    pub(crate) leadership: Arc<Leadership>,
}

#[async_trait]
impl TypedTool for TeamDelete {
    type Parameters = NoParameters;
    const NAME: &'static str = "TeamDelete";
    const PROMPT: &'static str = prompt!("tools/TeamDelete");
    const KIND: ToolKind = ToolKind::Team;

    async fn call(&self, _input: NoParameters, _ctx: &ToolContext) -> Result<ToolOutput, String> {
        let team = self.context.team().ok_or("you do not lead a team")?;
        let archive = self.delete(&*team).await;
        let archive = archive.map_err(|error| error.to_string())?;
        let team = team.name();
        let out = json!({
            "success": true, "team_name": team, "archive": archive.map(|path| path.display().to_string()),
            "message": format!("Team {team} is deleted."),
        });
        Ok(ToolOutput::ok(
            out.to_string(),
            format!("team {team} deleted"),
        ))
    }
}

impl TeamDelete {
    async fn delete(&self, team: &dyn Team) -> Result<Option<PathBuf>, LeadError> {
        self.await_departing(team).await?;
        self.spawn_context.team(team.name()).clear_dead().await?;
        let archive = team.delete(false, false).await?;
        self.context.leave();
        self.leadership.forget();
        Ok(archive)
    }

    /// Waits briefly for members that have agreed to shut down: their processes exit soon.
    async fn await_departing(&self, team: &dyn Team) -> Result<(), LeadError> {
        let supervised = self.spawn_context.team(team.name());
        for member in team.config().await?.teammates() {
            supervised.member(&member.name).await_reported_end().await?;
        }
        Ok(())
    }
}

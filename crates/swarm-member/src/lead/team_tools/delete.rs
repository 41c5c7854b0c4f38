//! `TeamDelete`.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::json;
use swarm_protocol::ToolKind;
use swarm_store::Team;
use swarm_supervisor::{LeadError, Leadership, SpawnContext, await_reported_end, clear_dead};
use swarm_team::MemberContext;
use swarm_tools::{NoParameters, ToolContext, ToolOutput, TypedTool, prompt};

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
        clear_dead(&self.spawn_context, team.name()).await?;
        let archive = team.delete(false, false).await?;
        self.context.leave();
        self.leadership.forget();
        Ok(archive)
    }

    /// Waits briefly for members that have agreed to shut down: their processes exit soon.
    async fn await_departing(&self, team: &dyn Team) -> Result<(), LeadError> {
        for member in team.config().await?.teammates() {
            await_reported_end(&self.spawn_context, team.name(), &member.name).await?;
        }
        Ok(())
    }
}

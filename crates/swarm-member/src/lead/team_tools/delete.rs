//! `TeamDelete`.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use swarm_protocol::ToolKind;
use swarm_store::Team;
use swarm_supervisor::{LeadError, Leadership, SpawnContext, await_reported_end, clear_dead};
use swarm_team::MemberContext;
use swarm_tools::{NoParameters, Tool, ToolContext, ToolOutput, parse, prompt, schema};

/// Deletes the lead's team once its members have left.
#[derive(Debug)]
pub(crate) struct TeamDelete {
    pub(crate) spawn_context: SpawnContext,
    pub(crate) context: Arc<MemberContext>,
    pub(crate) leadership: Arc<Leadership>,
}

#[async_trait]
impl Tool for TeamDelete {
    fn name(&self) -> &'static str {
        "TeamDelete"
    }

    fn description(&self) -> String {
        prompt!("tools/TeamDelete").to_owned()
    }

    fn input_schema(&self) -> Value {
        schema::<NoParameters>()
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Team
    }

    fn one_line(&self, _input: &Value) -> String {
        "TeamDelete".to_owned()
    }

    async fn call(&self, input: Value, _ctx: &ToolContext) -> ToolOutput {
        if let Err(why) = parse::<NoParameters>(self.name(), input) {
            return ToolOutput::error(why);
        }
        let Some(team) = self.context.team() else {
            return ToolOutput::error("you do not lead a team");
        };
        if let Err(error) = self.await_departing(&*team).await {
            return ToolOutput::error(error.to_string());
        }
        if let Err(error) = clear_dead(&self.spawn_context, team.name()).await {
            return ToolOutput::error(error.to_string());
        }
        match team.delete(false, false).await {
            Ok(archive) => {
                self.context.leave();
                self.leadership.forget();
                let team = team.name();
                let kept = archive.map(|path| path.display().to_string());
                let out = json!({
                    "success": true, "team_name": team, "archive": kept,
                    "message": format!("Team {team} is deleted."),
                });
                ToolOutput::ok(out.to_string(), format!("team {team} deleted"))
            }
            Err(error) => ToolOutput::error(error.to_string()),
        }
    }
}

impl TeamDelete {
    /// Waits briefly for members that have agreed to shut down: their processes exit soon.
    async fn await_departing(&self, team: &dyn Team) -> Result<(), LeadError> {
        for member in team.config().await?.teammates() {
            await_reported_end(&self.spawn_context, team.name(), &member.name).await?;
        }
        Ok(())
    }
}

//! `swarm brief`.

use serde_json::json;
use swarm_team::team_brief;

use super::acting::command_actor;
use crate::app::App;
use crate::failure::Result;

pub(in crate::commands) fn run(app: &App) -> Result<()> {
    let command_actor = command_actor(app, "brief")?;
    let text = team_brief(
        &*command_actor.team,
        &command_actor.name,
        app.settings.handoff,
    )?;
    let document = json!({"team": command_actor.team.name(), "brief": text});
    app.out.result(&document, &text)
}

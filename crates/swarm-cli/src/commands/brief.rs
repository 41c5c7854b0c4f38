//! `swarm brief`.

use std::process::ExitCode;

use serde_json::json;
use swarm_team::team_brief;

use super::acting::command_actor;
use crate::app::App;
use crate::failure::Failure;
use crate::output::plain;

pub(in crate::commands) fn run(app: &App) -> Result<ExitCode, Failure> {
    let command_actor = command_actor(app, "brief")?;
    let text = team_brief(&*app.store.team(&command_actor.team), &command_actor.name)?;
    if app.out.json {
        app.out
            .json(&json!({"team": command_actor.team, "brief": text}))?;
    } else {
        app.out.data(&plain(&text))?;
    }
    Ok(ExitCode::SUCCESS)
}

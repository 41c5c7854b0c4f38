//! `swarm brief`.

use std::process::ExitCode;

use serde_json::json;
use swarm_team::team_brief;

use super::acting::party;
use crate::app::App;
use crate::failure::Failure;
use crate::output::plain;

pub(in crate::commands) fn run(app: &App) -> Result<ExitCode, Failure> {
    let party = party(app, "brief")?;
    let text = team_brief(&*app.store.team(&party.team), &party.name)?;
    if app.out.json {
        app.out.json(&json!({"team": party.team, "brief": text}))?;
    } else {
        app.out.data(&plain(&text))?;
    }
    Ok(ExitCode::SUCCESS)
}

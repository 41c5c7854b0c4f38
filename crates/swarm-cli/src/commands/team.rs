//! `swarm team …`.

use std::process::ExitCode;

use swarm_protocol::TeamName;
use swarm_store::NewTeam;

use crate::app::App;
use crate::args::TeamCommand;
use crate::failure::Failure;
use crate::identity::Acting;

pub(super) fn run(app: &App, command: TeamCommand) -> Result<ExitCode, Failure> {
    Acting::find(&*app.store, app.env.get("SWARM_SPAWN_ID").is_some())?.require_person("team")?;
    match command {
        TeamCommand::Create { name, description } => create(app, &name, description),
        TeamCommand::List | TeamCommand::Show { .. } | TeamCommand::Delete { .. } => {
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn create(app: &App, name: &str, description: Option<String>) -> Result<ExitCode, Failure> {
    let config = app.store.create_team(NewTeam {
        name: TeamName::parse(name)?,
        description,
        lead_session_id: None,
        lead_process: None,
        cwd: app.env.cwd.clone(),
        lead_model: None,
        created_by: "person".to_owned(),
    })?;
    if app.out.json {
        app.out.json(&config)?;
    } else {
        app.out.data(config.name.as_str())?;
    }
    Ok(ExitCode::SUCCESS)
}

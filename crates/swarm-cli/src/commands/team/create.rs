//! `swarm team create`.

use std::process::ExitCode;

use serde_json::json;
use swarm_protocol::TeamName;
use swarm_store::NewTeam;

use super::list::state_of;
use crate::app::App;
use crate::args::TeamCreateArgs;
use crate::failure::Failure;

pub(super) fn run(app: &App, args: TeamCreateArgs) -> Result<ExitCode, Failure> {
    let config = app.store.create_team(NewTeam {
        name: TeamName::parse(&args.name)?,
        description: args.description,
        lead_session_id: None,
        lead_process: None,
        cwd: app.env.cwd.clone(),
        lead_model: None,
        created_by: "person".to_owned(),
    })?;
    if app.out.json {
        let mut record = serde_json::to_value(&config).map_err(anyhow::Error::from)?;
        record["state"] = json!(state_of(app, &config)?);
        app.out.json(&record)?;
    } else {
        app.out.data(config.name.as_str())?;
        app.out.say(
            "start teammates with `swarm spawn NAME`, give them work with `swarm task create`",
        );
    }
    Ok(ExitCode::SUCCESS)
}

//! `swarm team delete`.

use std::path::Path;
use std::process::ExitCode;

use serde_json::json;
use swarm_fs::Liveness;
use swarm_lead::{StopOptions, clear_dead, end_team};
use swarm_protocol::{LifeRecord, MemberName, TeamName};
use swarm_store::StoreError;

use super::dispatch::named;
use crate::app::App;
use crate::args::TeamDeleteArgs;
use crate::commands::runtime;
use crate::deployment::for_stopping;
use crate::failure::Failure;

pub(super) fn run(app: &App, args: &TeamDeleteArgs) -> Result<ExitCode, Failure> {
    let team = named(app, args.name.as_deref())?;
    refuse_if_led(app, &team)?;
    if args.force {
        end_members(app, &team)?;
    }
    runtime()?.block_on(clear_dead(&for_stopping(app), &team))?;
    let archive = app.store.delete_team(&team, args.purge, args.force)?;
    show(app, &team, archive.as_deref())?;
    Ok(ExitCode::SUCCESS)
}

/// A lead would go on in the air. It is ended where it runs, since it ends its team in order.
fn refuse_if_led(app: &App, team: &TeamName) -> Result<(), Failure> {
    let lead = MemberName::lead();
    if app.store.liveness(team, &lead)? != Liveness::Alive {
        return Ok(());
    }
    let life = std::fs::read(app.store.life_path(team, &lead)).ok();
    let life: Option<LifeRecord> = life.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let config = app.store.config(team)?;
    let pid = life.map(|life| life.pid);
    let pid = pid.or(config.lead_process.map(|lead| lead.pid));
    Err(StoreError::LeadAlive {
        team: team.clone(),
        pid: pid.unwrap_or_default(),
    }
    .into())
}

fn end_members(app: &App, team: &TeamName) -> Result<(), Failure> {
    let deployment = for_stopping(app);
    let options = StopOptions {
        reason: Some("the team is deleted".to_owned()),
        timeout: deployment.limits.shutdown_grace(),
        force: true,
    };
    let runtime = runtime()?;
    let ended = runtime.block_on(end_team(&deployment, team, &options));
    // Threads that wait for a member's death end with the process.
    runtime.shutdown_background();
    let ended = ended?;
    for stopped in &ended.stopped {
        app.out
            .say(&format!("{}: {}", stopped.member, stopped.outcome.word()));
    }
    match ended.failed.into_iter().next() {
        Some((_, error)) => Err(error.into()),
        None => Ok(()),
    }
}

fn show(app: &App, team: &TeamName, archive: Option<&Path>) -> Result<(), Failure> {
    if app.out.json {
        return app
            .out
            .json(&json!({ "name": team, "state": "deleted", "archive": archive }));
    }
    app.out.data(&match archive {
        Some(archive) => format!(
            "{team} is deleted; its tasks and journal are in {}",
            archive.display()
        ),
        None => format!("{team} is deleted"),
    })
}

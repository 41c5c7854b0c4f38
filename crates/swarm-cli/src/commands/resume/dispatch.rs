//! With a prompt a lead carries on; without one a person does.

use std::process::ExitCode;

use swarm_protocol::{TeamConfig, TeamName};
use swarm_store::StoreError;
use swarm_supervisor::{LeadStanding, lead_standing};

use super::headless::ResumeArgs;
use super::{by_hand, headless};
use crate::app::App;
use crate::commands::acting::require_no_agent;
use crate::failure::Failure;

pub(in crate::commands) fn run(app: &App, args: &ResumeArgs) -> Result<ExitCode, Failure> {
    require_no_agent(app, "resume")?;
    let team = TeamName::parse(&args.name)?;
    swarm_team::reconcile(&*app.store, &team)?;
    let config = app.store.config(&team)?;
    refuse_if_led(app, &config)?;
    match &args.prompt {
        Some(prompt) => headless::run(app, args, &config, prompt),
        None => by_hand::run(app, args, &config),
    }
}

fn refuse_if_led(app: &App, config: &TeamConfig) -> Result<(), Failure> {
    let team = config.name.clone();
    match lead_standing(&*app.store, config)? {
        LeadStanding::Led { pid } => {
            let pid = pid.unwrap_or_default();
            let failure = Failure::from(StoreError::LeadAlive { team, pid });
            Err(failure.with_hint(format!(
                "its lead runs and needs no other; to replace it, end process {pid} first (Ctrl-C where it runs)"
            )))
        }
        LeadStanding::Unknown { pid } => {
            let failure = Failure::from(StoreError::LeadAlive { team, pid });
            Err(failure.with_hint(
                "it runs on another machine or in another container, where it can be ended",
            ))
        }
        LeadStanding::Foreign { .. } => {
            let path = app.store.team_folder(&team);
            Err(StoreError::ForeignTeam { path }.into())
        }
        LeadStanding::Lost { .. } | LeadStanding::ByHand => Ok(()),
    }
}

//! `swarm resume`: with a prompt a new lead continues, otherwise the person takes over.

use std::process::ExitCode;

use swarm_member::Beginning;
use swarm_os::Liveness;
use swarm_protocol::{ErrorKind, MemberName, TeamConfig, TeamName};
use swarm_store::{BlockOn as _, StoreError};
use swarm_supervisor::{LeadStanding, lead_standing};

use super::by_hand;
use super::headless::{ResumeArgs, take_over};
use crate::app::App;
use crate::commands::acting::require_no_agent;
use crate::commands::input_text::prompt as prompt_of;
use crate::commands::lead::{LeadFlags, Ready, output_format, show};
use crate::failure::{Failure, Result};

pub(in crate::commands) fn run(app: &App, args: &ResumeArgs) -> Result<ExitCode> {
    require_no_agent(app, "resume")?;
    let config = without_lead(app, &TeamName::parse(&args.name)?)
        .map_err(|failure| or_name_of_member(app, &args.name, failure))?;
    let Some(prompt) = args.prompt.given() else {
        by_hand::run(app, args, &config)?;
        return Ok(ExitCode::SUCCESS);
    };
    let prompt = prompt_of(prompt)?;
    let mut ready = take_over(app, &args.lead_flags(), &config, false)?;
    if args.respawn {
        ready.parts.beginning = Beginning::Respawn;
    }
    let report = ready.execute_headless(app, args.output, args.timeout, args.rm, prompt)?;
    show(app, output_format(app, args.output), &report, false)
}

/// Assembles a new lead that continues a team. `what` is the command, for errors.
pub(in crate::commands) fn carry_on(
    app: &App,
    what: &str,
    flags: &LeadFlags,
    team: &TeamName,
    is_interactive: bool,
) -> Result<Ready> {
    require_no_agent(app, what)?;
    let config = without_lead(app, team)?;
    take_over(app, flags, &config, is_interactive)
}

/// Says how to restart a member if a member's name was given instead of a team's.
fn or_name_of_member(app: &App, name: &str, failure: Failure) -> Failure {
    let is_member = || {
        let team = app.store.team(&app.team_as_it_is().ok()?);
        let config = team.config().block_on().ok()?;
        config.member(&MemberName::parse(name).ok()?).map(drop)
    };
    if failure.kind == ErrorKind::NotFound && is_member().is_some() {
        let hint = format!("to restart a member with its conversation: swarm spawn {name}");
        return failure.with_hint(hint);
    }
    failure
}

/// Returns the roster of a team that a lead can take over.
fn without_lead(app: &App, team: &TeamName) -> Result<TeamConfig> {
    let team = app.store.team(team);
    swarm_team::reconcile(&team)?;
    let config = team.config().block_on()?;
    refuse_if_led(app, &config)?;
    Ok(config)
}

fn refuse_if_led(app: &App, config: &TeamConfig) -> Result<()> {
    let team = config.name.clone();
    match lead_standing(&*app.store, config)? {
        LeadStanding::Led(pid) => {
            let pid = pid.unwrap_or_default();
            let hint = format!(
                "its lead is running: write to it with `swarm send team-lead TEXT --team {team}`, or stop process {pid} \
                 first"
            );
            Err(Failure::from(StoreError::LeadAlive { team, pid }).with_hint(hint))
        }
        LeadStanding::Unknown(pid) => Err(led_elsewhere(team, pid)),
        LeadStanding::Foreign(Some(pid)) => {
            let failure = Failure::from(StoreError::LeadAlive { team, pid });
            Err(failure.with_hint("another program leads it; stop that program first"))
        }
        LeadStanding::Foreign(None) => {
            let files = app.store.team(&team);
            let liveness = files.liveness(&MemberName::lead()).block_on()?;
            match &config.lead_process {
                Some(lead) if liveness == Liveness::Foreign => Err(led_elsewhere(team, lead.pid)),
                _ => Ok(files.adopt().block_on()?),
            }
        }
        LeadStanding::Lost(_) | LeadStanding::ByHand => Ok(()),
    }
}

/// Returns the failure for a lead whose process cannot be looked up from here.
fn led_elsewhere(team: TeamName, pid: u32) -> Failure {
    Failure::from(StoreError::LeadAlive { team, pid })
        .with_hint("it runs on another machine or in another container; stop it there")
}

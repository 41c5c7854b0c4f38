//! `swarm resume`: with a prompt a new lead continues, otherwise the person takes over.

use std::process::ExitCode;

use swarm_member::RunReport;
use swarm_protocol::{TeamConfig, TeamName};
use swarm_store::StoreError;
use swarm_supervisor::{LeadStanding, lead_standing};

use super::headless::ResumeArgs;
use super::{by_hand, headless};
use crate::app::App;
use crate::commands::acting::require_no_agent;
use crate::commands::lead::{LeadFlags, OutputFormat, output_format, show};
use crate::commands::run::prompt as prompt_of;
use crate::failure::Failure;

pub(in crate::commands) fn run(app: &App, args: &ResumeArgs) -> Result<ExitCode, Failure> {
    require_no_agent(app, "resume")?;
    let config = without_lead(app, &TeamName::parse(&args.name)?)?;
    let Some(prompt) = &args.prompt else {
        return by_hand::run(app, args, &config);
    };
    let report = headless::run(app, args, &config, Some(prompt_of(prompt)?), false)?;
    show(app, output_format(app, args.output), &report)
}

/// Continues a team with an interactive lead.
pub(in crate::commands) fn carry_on(
    app: &App,
    flags: &LeadFlags,
    team: &TeamName,
    prompt: Option<String>,
) -> Result<RunReport, Failure> {
    require_no_agent(app, "lead --continue")?;
    let config = without_lead(app, team)?;
    let args = ResumeArgs {
        name: team.to_string(),
        prompt: None,
        respawn: false,
        model: flags.model.clone(),
        requests: flags.requests.clone(),
        mode: flags.mode,
        backend: flags.backend.clone(),
        mcp_config: flags.mcp_config.clone(),
        trust: flags.trust,
        output: OutputFormat::Text,
        max_turns: flags.max_turns,
        timeout: None,
        budget: flags.budget,
        rm: false,
        coordinator: flags.coordinator,
    };
    headless::run(app, &args, &config, prompt, true)
}

/// Returns the roster of a team that a lead can take over.
fn without_lead(app: &App, team: &TeamName) -> Result<TeamConfig, Failure> {
    let team = app.store.team(team);
    swarm_team::reconcile(&*team)?;
    let config = team.config()?;
    refuse_if_led(app, &config)?;
    Ok(config)
}

fn refuse_if_led(app: &App, config: &TeamConfig) -> Result<(), Failure> {
    let team = config.name.clone();
    match lead_standing(&*app.store, config)? {
        LeadStanding::Led { pid } => {
            let pid = pid.unwrap_or_default();
            let failure = Failure::from(StoreError::LeadAlive { team, pid });
            Err(failure.with_hint(format!(
                "its lead is running; to replace it, stop process {pid} first (Ctrl-C in its terminal)"
            )))
        }
        LeadStanding::Unknown { pid } => {
            let failure = Failure::from(StoreError::LeadAlive { team, pid });
            Err(failure
                .with_hint("it runs on another machine or in another container; stop it there"))
        }
        LeadStanding::Foreign { .. } => {
            let path = app.store.team(&team).team_directory();
            Err(StoreError::ForeignTeam { path }.into())
        }
        LeadStanding::Lost { .. } | LeadStanding::ByHand => Ok(()),
    }
}

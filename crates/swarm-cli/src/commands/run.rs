//! `swarm run`: the headless team lead.

use std::process::ExitCode;

use serde_json::json;
use swarm_hooks::HookInput;
use swarm_member::{LeadParts, RunReport};
use swarm_os::process::forbid_inspection;
use swarm_permissions::HookEvent;
use swarm_protocol::{SessionId, TeamName};
use swarm_store::{BlockOn as _, StoreError};
use swarm_supervisor::{LeadStanding, implicit_team_name, lead_standing};
use tokio_util::sync::CancellationToken;

use super::acting::require_person;
use super::detach;
use super::hub::HubArgs;
use super::input_text::prompt;
use super::json_schema::required_output;
use super::lead::{
    Earlier, LeadFlags, OutputFormat, PromptArgs, Ready, open_session, output_format, show,
};
use super::resume::carry_on;
use super::runtime;
use crate::app::App;
use crate::failure::{Failure, Result};
use crate::identity::Acting;
use crate::team_hooks::hooks;

#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a separate command line flag"
)]
#[derive(Debug, clap::Args)]
#[command(mut_arg("hub", |hub| hub.conflicts_with_all(["continue", "resume"])))]
#[command(mut_arg("prompt", |prompt| prompt.required(true)))]
#[command(after_help = "\
The lead creates a team when it needs one. The run ends when the lead has finished and every task is completed or \
failed. Exit codes: 0 on success, 9 if the lead or a task failed, 5 if a hook stopped the run, 6 on timeout. In a \
terminal, type to the lead while it works; Esc interrupts it. Press Ctrl-C once to shut the team down, twice to kill it. \
After a timeout or a closed terminal, members wait for `swarm resume`.

Examples:
  swarm run \"Find out why the import is slow, and prove it.\"
  swarm run - --mode acceptEdits --timeout 1800 < prompt.txt
  swarm run --detach \"Update the dependencies\"
  swarm run --continue \"Now write the tests\"
  swarm run \"Review the last commit\" --output json | jq -r .result
  swarm run \"Count the tests\" --json-schema schema.json")]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) prompt: PromptArgs,
    /// Continue the last conversation of a lead in this directory (with --team, that team's), with its team.
    #[arg(short, long, conflicts_with_all = ["resume", "worktree"])]
    pub(crate) r#continue: bool,
    /// Continue the conversation with this ID, or the beginning of one, or the lead of this team.
    #[arg(short, long, value_name = "ID|TEAM", conflicts_with = "worktree")]
    pub(crate) resume: Option<String>,
    #[command(flatten)]
    pub(crate) lead: LeadFlags,
    #[command(flatten)]
    pub(crate) hub: HubArgs,
    /// Output format.
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub(crate) output: OutputFormat,
    /// JSON schema (an object) that the result must match, as JSON or a file; the output has it as `structured_output`.
    #[arg(long, value_name = "JSON|FILE")]
    pub(crate) json_schema: Option<String>,
    /// Stop the run after this many seconds; members then wait for `swarm resume` [default: never].
    #[arg(long, value_name = "SECONDS")]
    pub(crate) timeout: Option<u64>,
    /// Run in the background, without this terminal, and print the name of the team.
    #[arg(short, long)]
    pub(crate) detach: bool,
    /// Delete the team at the end and archive its tasks and journal.
    #[arg(long)]
    pub(crate) rm: bool,
    /// Run the Setup hooks before the lead starts.
    #[arg(long)]
    pub(crate) init: bool,
    /// Run the Setup hooks with the trigger `maintenance` before the lead starts.
    #[arg(long, conflicts_with = "init")]
    pub(crate) maintenance: bool,
    /// Also write the report to this file.
    #[arg(long, value_name = "FILE", hide = true)]
    pub(crate) report: Option<std::path::PathBuf>,
}

pub(super) fn run(app: &App, args: &RunArgs) -> Result<ExitCode> {
    let acting = require_person(app, "run")?;
    forbid_inspection();
    acting.require_trust("run", args.lead.trust)?;
    let given = args.prompt.given().unwrap_or_default();
    if args.detach && !detach::is_background(app) {
        return detach::start(app, given == "-");
    }
    let prompt = prompt(given)?;
    let output = output_format(app, args.output);
    let app = &args.hub.applied(app)?;
    let report = match Earlier::asked(app, args.resume.as_deref(), args.r#continue)? {
        Some(Earlier::Team(team)) => follow_up(app, args, &team, prompt)?,
        Some(Earlier::Alone(session)) => begin(app, &acting, args, session, prompt)?,
        None => begin(app, &acting, args, SessionId::random(), prompt)?,
    };
    if let Some(path) = &args.report {
        let bytes = serde_json::to_vec(&report)?;
        swarm_os::replace_alone(&app.env.cwd.join(path), &bytes).map_err(anyhow::Error::from)?;
    }
    show(app, output, &report, args.detach)
}

/// Runs a lead without a team, in a new conversation or an earlier one.
fn begin(
    app: &App,
    acting: &Acting,
    args: &RunArgs,
    session: SessionId,
    prompt: String,
) -> Result<RunReport> {
    let output = required_output(app, args.json_schema.as_deref())?;
    let mut team = app.asked_team()?;
    if let Some(team) = &team {
        refuse_if_there(app, team)?;
    }
    // On a hub, others find it from the beginning.
    if team.is_none() && (args.detach || app.hubs.new_teams_on().is_some()) {
        team = Some(implicit_team_name(session)?);
    }
    let mut ready = Ready::of(app, acting, "run", &args.lead, session)?;
    let _open = open_session(app, session)?;
    ready.parts = LeadParts {
        team,
        output,
        ..ready.parts
    };
    set_up(app, args)?;
    ready.execute_headless(app, args.output, args.timeout, args.rm, prompt)
}

/// Continues the conversation of a team's lead with a prompt.
fn follow_up(app: &App, args: &RunArgs, team: &TeamName, prompt: String) -> Result<RunReport> {
    set_up(app, args)?;
    let mut ready = carry_on(app, "run --continue", &args.lead, team, false)?;
    ready.parts.output = required_output(app, args.json_schema.as_deref())?;
    ready.execute_headless(app, args.output, args.timeout, args.rm, prompt)
}

/// Runs the Setup hooks. Failures are shown but do not stop the run, as in Claude Code.
fn set_up(app: &App, args: &RunArgs) -> Result<()> {
    let trigger = match (args.init, args.maintenance) {
        (true, _) => "init",
        (_, true) => "maintenance",
        _ => return Ok(()),
    };
    let subject = HookInput {
        cwd: app.env.cwd.clone(),
        ..HookInput::default()
    };
    let fields = json!({"trigger": trigger});
    let (event, never) = (HookEvent::Setup, CancellationToken::new());
    let hooks = hooks(app)?;
    runtime()?.block_on(hooks.run(event, Some(trigger), &subject, &fields, &never));
    Ok(())
}

/// Refuses a name of an existing team, because a run creates its team. Checked before anything is
/// printed or started; of two simultaneous runs the store accepts one.
fn refuse_if_there(app: &App, team: &TeamName) -> Result<()> {
    let config = match app.store.team(team).config().block_on() {
        Err(StoreError::TeamNotFound { .. }) => return Ok(()),
        config => config?,
    };
    let (is_taken, state) = match lead_standing(&*app.store, &config)? {
        LeadStanding::Led(_) | LeadStanding::Unknown(_) => (true, "a lead is running in it"),
        LeadStanding::Lost(_) => (false, "its lead was lost"),
        LeadStanding::ByHand => (false, "it has no lead"),
        LeadStanding::Foreign(_) => (true, "another program created it"),
    };
    let hint = if is_taken {
        "choose another name".to_owned()
    } else if app.store.team(team).is_remote() {
        format!(
            "let a lead carry on in it with `swarm resume {team} PROMPT`, or choose another name"
        )
    } else {
        format!(
            "let a lead carry on in it with `swarm resume {team} PROMPT`, choose another name, or delete it with \
             `swarm team delete {team} --force`"
        )
    };
    let team = team.clone();
    let state = state.to_owned();
    Err(Failure::from(StoreError::TeamExists { team, state }).with_hint(hint))
}

//! `swarm lead`: a lead with a person at its terminal.

use std::io::{self, IsTerminal as _};
use std::process::ExitCode;

use swarm_agent::{LeadSession, lead_sessions};
use swarm_member::{LeadParts, RunReport};
use swarm_os::process::forbid_inspection;
use swarm_protocol::{SessionId, TeamName};
use swarm_store::{BlockOn as _, StoreError};
use swarm_supervisor::implicit_team_name;

use super::execute_lead::LeadConsole;
use super::flags::{LeadFlags, PromptArgs};
use super::parts::Ready;
use super::report::summary;
use super::session_picker::{elsewhere, pick_session};
use super::sessions::{Earlier, open_session};
use super::trust_question::ask_for_trust;
use crate::app::App;
use crate::commands::acting::require_person;
use crate::commands::hub::HubArgs;
use crate::commands::resume::carry_on;
use crate::failure::{Failure, Result, exit_code};
use crate::identity::Acting;

#[derive(Debug, clap::Args)]
#[command(mut_arg("hub", |hub| hub.conflicts_with_all(["continue", "resume"])))]
#[command(mut_arg("prompt", |prompt| prompt.help("First prompt for the lead [default: none]")))]
#[command(after_help = "\
`swarm` alone, with a prompt in quotes or with these options is short for it. Type to the lead; commands begin with `/`, such as \
/status, /task list and /approve. Esc interrupts the lead, Ctrl-D ends the session and shuts the team down; \
`--continue` restores lead, team and conversations. In tmux, requests are answered here only \
while the sandbox confines every agent's shell, or if the setting `permissions.answer_in_place` is `always`.

Examples:
  swarm --model sonnet
  swarm lead \"Find out why the import is slow\" --mode acceptEdits
  swarm lead --continue")]
pub(crate) struct LeadArgs {
    #[command(flatten)]
    pub(crate) prompt: PromptArgs,
    /// Continue the last conversation of a lead in this directory (with --team, that team's), with its team, model and mode.
    #[arg(short, long, conflicts_with_all = ["resume", "worktree"])]
    pub(crate) r#continue: bool,
    /// Continue the conversation with this ID, or the beginning of one, or the lead of this team; without a value, pick one from a list.
    #[arg(short, long, value_name = "ID|TEAM", num_args = 0..=1, default_missing_value = "", conflicts_with = "worktree")]
    pub(crate) resume: Option<String>,
    #[command(flatten)]
    pub(crate) lead: LeadFlags,
    #[command(flatten)]
    pub(crate) hub: HubArgs,
}

pub(in crate::commands) fn run(app: &App, args: &LeadArgs) -> Result<ExitCode> {
    let acting = require_person(app, "lead")?;
    let hint = "use `swarm run PROMPT` in scripts or with `--json` or `--quiet`";
    require_terminal(app, "lead", hint)?;
    acting.require_trust("lead", args.lead.trust)?;
    forbid_inspection();
    ask_for_trust(app, &acting)?;
    let mut earlier = match args.resume.as_deref() {
        Some("") => match picked(app)? {
            Some(session) => Some(Earlier::of(app, &session)),
            None => return Ok(ExitCode::SUCCESS),
        },
        word => Earlier::asked(app, word, args.r#continue)?,
    };
    let app = &args.hub.applied(app)?;
    let mut prompt = args.prompt.given().map(str::to_owned);
    loop {
        let console = LeadConsole::default();
        let report = converse(app, &args.lead, &acting, earlier, &console, prompt.take())?;
        let Some(next) = app.next_session.lock().take() else {
            return Ok(end(app, &report));
        };
        earlier = Earlier::asked(app, Some(&next.to_string()), false)?;
    }
}

/// Lets the person pick a conversation. One of another directory is an error with the command that
/// continues it; `None` if the person picks none.
fn picked(app: &App) -> Result<Option<LeadSession>> {
    let Some(session) = pick_session(app)? else {
        return Ok(None);
    };
    match elsewhere(&session, &app.env.cwd) {
        Some(why) => Err(Failure::conflict(why)),
        None => Ok(Some(session)),
    }
}

/// Runs a lead in a new conversation, or in an earlier one.
pub(in crate::commands) fn converse(
    app: &App,
    flags: &LeadFlags,
    acting: &Acting,
    earlier: Option<Earlier>,
    console: &LeadConsole,
    prompt: Option<String>,
) -> Result<RunReport> {
    let (team, session) = match earlier {
        Some(Earlier::Team(team)) => (Some(team), None),
        Some(Earlier::Alone(session)) => (None, Some(session)),
        None => (existing_team(app)?, None),
    };
    if let Some(team) = team {
        let ready = carry_on(app, "lead --continue", flags, &team, true)?;
        return ready.execute_lead(app, console, prompt);
    }
    let session = session.unwrap_or_else(SessionId::random);
    let _open = open_session(app, session)?;
    let mut ready = Ready::of(app, acting, "lead", flags, session)?;
    let mut team = app.asked_team()?;
    if team.is_none() && app.hubs.new_teams_on().is_some() {
        team = Some(implicit_team_name(session)?);
    }
    ready.parts = LeadParts {
        team,
        is_interactive: true,
        ..ready.parts
    };
    ready.execute_lead(app, console, prompt)
}

/// Returns the named team if it exists; the lead takes it over.
fn existing_team(app: &App) -> Result<Option<TeamName>> {
    let Some(team) = app.asked_team()? else {
        return Ok(None);
    };
    match app.store.team(&team).config().block_on() {
        Ok(_) if app.hubs.new_teams_on().is_some() => {
            let message = format!("team `{team}` exists already: `--hub` is for a new one");
            let hint = format!("use `--team {team}` without `--hub`, or another name");
            Err(Failure::conflict(message).with_hint(hint))
        }
        Ok(_) => Ok(Some(team)),
        Err(StoreError::TeamNotFound { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Returns an error with `hint` unless stdin and stderr are a terminal for the command `what`.
pub(super) fn require_terminal(app: &App, what: &str, hint: &str) -> Result<()> {
    let is_shown = !app.out.json && !app.out.quiet;
    if is_shown && io::stdin().is_terminal() && io::stderr().is_terminal() {
        return Ok(());
    }
    let message = format!("`swarm {what}` requires a terminal");
    Err(Failure::environment(message).with_hint(hint))
}

/// Prints the summary of a session and how to continue it, if anything was said. Quitting counts as success.
fn end(app: &App, report: &RunReport) -> ExitCode {
    for line in summary(report) {
        app.out.say(&line);
    }
    let is_listed = || {
        let sessions = lead_sessions(&app.root, &app.env.cwd);
        sessions.iter().any(|one| one.id == report.session)
    };
    if report.usage.total() > 0 || is_listed() {
        app.out
            .say("swarm: run `swarm lead --continue` to continue this conversation");
    }
    exit_code(report.error_kind())
}

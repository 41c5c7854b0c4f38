//! `swarm lead`: a lead with a person at its terminal.

use std::io::{self, IsTerminal as _};
use std::process::ExitCode;

use swarm_member::{LeadParts, RunReport};
use swarm_os::process::forbid_inspection;
use swarm_protocol::{ErrorKind, SessionId, TeamName};
use swarm_store::StoreError;

use super::flags::LeadFlags;
use super::parts::Ready;
use super::report::{OutputFormat, summary};
use super::sessions;
use crate::app::App;
use crate::commands::acting::require_person;
use crate::commands::resume;
use crate::failure::Failure;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
`swarm` alone, or with a prompt in quotes, is short for it. Type to the lead; commands begin with `/`, such as \
/status, /task list and /approve. Esc interrupts the lead, Ctrl-D ends the session and shuts the team down; \
`--continue` restores lead, team and conversations. In tmux, answer requests from a terminal outside tmux unless \
the setting `permissions.answer_in_place` is `always`.

Examples:
  swarm lead
  swarm lead \"Find out why the import is slow\" --mode acceptEdits
  swarm lead --continue")]
pub(crate) struct LeadArgs {
    /// First prompt for the lead [default: none].
    pub(crate) prompt: Option<String>,
    /// Continue the last conversation of a lead in this directory, with its team.
    #[arg(short, long, conflicts_with = "resume")]
    pub(crate) r#continue: bool,
    /// Continue the conversation with this ID, or the beginning of one; without an ID, list them.
    #[arg(short, long, value_name = "ID", num_args = 0..=1, default_missing_value = "")]
    pub(crate) resume: Option<String>,
    #[command(flatten)]
    pub(crate) lead: LeadFlags,
}

pub(in crate::commands) fn run(app: &App, args: &LeadArgs) -> Result<ExitCode, Failure> {
    let acting = require_person(app, "lead")?;
    require_terminal(app)?;
    acting.require_trust("lead", args.lead.trust)?;
    let earlier = match &args.resume {
        Some(word) => Some(sessions::named(app, word)?),
        None if args.r#continue => Some(sessions::last(app)?),
        None => None,
    };
    forbid_inspection();
    if let Some(session) = &earlier {
        app.out.say(&sessions::continuing(session));
    }
    let prompt = args.prompt.clone();
    let earlier = earlier.map(|session| session.id);
    let team = match earlier {
        Some(session) => sessions::team_of(&*app.store, session),
        None => existing_team(app)?,
    };
    let report = if let Some(team) = team {
        resume::carry_on(app, &args.lead, &team, prompt)?
    } else {
        let session = earlier.unwrap_or_else(SessionId::random);
        let _open = sessions::open(app, session)?;
        let mut ready = Ready::of(app, &acting, "lead", &args.lead, session)?;
        ready.parts = LeadParts {
            team: app.asked_team()?,
            is_interactive: true,
            ..ready.parts
        };
        ready.execute_lead(app, OutputFormat::Text, prompt)?
    };
    Ok(end(app, &report))
}

/// Returns the named team if it exists; the lead takes it over.
fn existing_team(app: &App) -> Result<Option<TeamName>, Failure> {
    let Some(team) = app.asked_team()? else {
        return Ok(None);
    };
    match app.store.team(&team).config() {
        Ok(_) => Ok(Some(team)),
        Err(StoreError::TeamNotFound { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Returns an error unless stdin and stderr are a terminal.
fn require_terminal(app: &App) -> Result<(), Failure> {
    let is_shown = !app.out.json && !app.out.quiet;
    if is_shown && io::stdin().is_terminal() && io::stderr().is_terminal() {
        return Ok(());
    }
    let message = "`swarm lead` requires a terminal";
    Err(Failure::new(ErrorKind::Environment, message)
        .with_hint("use `swarm run PROMPT` in scripts or with `--json` or `--quiet`"))
}

/// Prints the summary of a session and how to continue it. Quitting counts as success.
fn end(app: &App, report: &RunReport) -> ExitCode {
    for line in summary(report) {
        app.out.say(&line);
    }
    app.out
        .say("swarm: run `swarm lead --continue` to continue this conversation");
    match report.outcome.error_kind() {
        None => ExitCode::SUCCESS,
        Some(kind) => ExitCode::from(kind.exit_code().0),
    }
}

//! `swarm team down`.

use serde_json::json;
use swarm_config::TEAM_TEMPLATES;
use swarm_protocol::TeamName;
use swarm_store::{BlockOn as _, StoreError};

use super::delete::{self, TeamDeleteArgs};
use super::up::template;
use crate::app::App;
use crate::commands::acting::require_person;
use crate::commands::members::is_over;
use crate::commands::stop::{ShutdownArgs, StopTargets, shutdown};
use crate::failure::Result;
use crate::output::captured;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Members are asked to stop and may refuse; the team is kept then. Worktrees with unmerged work are kept.

Examples:
  swarm team down review
  swarm team down teams/release.toml --team release-2")]
pub(crate) struct TeamDownArgs {
    /// Template file, built-in template or team [default: as for `--team`].
    #[arg(value_name = "FILE|NAME")]
    pub(crate) template: Option<String>,
}

pub(super) fn run(app: &App, args: &TeamDownArgs) -> Result<()> {
    require_person(app, "team down")?;
    let word = args.template.as_deref();
    let is_template = word.is_some_and(|word| is_template(app, word));
    let name = match word {
        Some(word) if is_template => match app.asked_team()? {
            Some(team) => team,
            None => template(app, word)?.name,
        },
        Some(word) => app.named_team(Some(word))?.name().clone(),
        None => app.team_to_end()?.name().clone(),
    };
    let views = match app.store.team(&name).member_view().block_on() {
        // Its state is the one that was asked for.
        Err(StoreError::TeamNotFound { .. }) if is_template => {
            return report(app, &name, "was not up");
        }
        views => views?,
    };
    let mut running = views.iter();
    if running.any(|view| !view.member.name.is_lead() && !is_over(view.state)) {
        quiet(app, || shut_down(&app.for_team(&name)))?;
    }
    let args = TeamDeleteArgs {
        name: Some(name.to_string()),
        force: false,
        purge: false,
    };
    quiet(app, || delete::run(app, &args))?;
    report(app, &name, "is down")
}

fn shut_down(app: &App) -> Result<()> {
    let args = ShutdownArgs {
        targets: StopTargets {
            names: Vec::new(),
            all: true,
        },
        reason: None,
        timeout: None,
        force: false,
    };
    shutdown(app, args)
}

/// Returns whether the word is a template: a file, or a built-in one.
fn is_template(app: &App, word: &str) -> bool {
    app.env.cwd.join(word).is_file() || TEAM_TEMPLATES.iter().any(|(name, _)| *name == word)
}

fn report(app: &App, name: &TeamName, state: &str) -> Result<()> {
    let document = json!({"team": name, "state": state});
    app.out.result(&document, &format!("team {name} {state}"))
}

/// Runs a part of the command; with `--json` without its own output.
fn quiet(app: &App, run: impl FnOnce() -> Result<()>) -> Result<()> {
    if app.out.json { captured(run).0 } else { run() }
}

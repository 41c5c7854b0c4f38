//! `swarm team down`.

use std::process::ExitCode;

use clap::Parser as _;
use serde_json::json;
use swarm_config::TEAM_TEMPLATES;
use swarm_protocol::TeamName;
use swarm_store::StoreError;

use super::up::template;
use crate::app::App;
use crate::commands::acting::require_person;
use crate::commands::command::Args;
use crate::commands::members::is_over;
use crate::environment;
use crate::failure::Failure;
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

pub(super) fn run(app: &App, args: &TeamDownArgs) -> Result<ExitCode, Failure> {
    require_person(app, "team down")?;
    let name = match (app.asked_team()?, &args.template) {
        (Some(team), _) => team,
        (None, Some(word)) => named(app, word)?,
        (None, None) => app.team_to_end()?,
    };
    let views = match app.store.team(&name).member_view() {
        Err(StoreError::TeamNotFound { .. }) => {
            report(app, &name, "was not up")?;
            return Ok(ExitCode::SUCCESS);
        }
        views => views?,
    };
    let mut running = views.iter();
    if running.any(|view| !view.member.name.is_lead() && !is_over(view.state)) {
        let stopped = command(app, &["shutdown", "--all", "--team", name.as_str()])?;
        if stopped != ExitCode::SUCCESS {
            return Ok(stopped);
        }
    }
    let deleted = command(app, &["team", "delete", name.as_str()])?;
    report(app, &name, "is down")?;
    Ok(deleted)
}

/// Returns the team of a template, or the team with this name.
fn named(app: &App, word: &str) -> Result<TeamName, Failure> {
    let is_template =
        app.env.cwd.join(word).is_file() || TEAM_TEMPLATES.iter().any(|(name, _)| *name == word);
    if is_template {
        Ok(template(app, word)?.name)
    } else {
        Ok(TeamName::parse(word)?)
    }
}

fn report(app: &App, name: &TeamName, state: &str) -> Result<(), Failure> {
    if app.out.json {
        app.out.json(&json!({"team": name, "state": state}))
    } else {
        app.out.data(&format!("team {name} {state}"))
    }
}

/// Runs another command, silently with `--json`.
fn command(app: &App, words: &[&str]) -> Result<ExitCode, Failure> {
    let words = ["swarm"].iter().chain(words);
    let args =
        Args::try_parse_from(words).map_err(|error| Failure::usage(error.render().to_string()))?;
    let mut running = App::new(environment::read()?, &args.global, &args.command.flags())?;
    running.acting.clone_from(&app.acting);
    if app.out.json {
        captured(|| args.command.run(&running)).0
    } else {
        args.command.run(&running)
    }
}

//! `swarm status`: prints a status once or on every change.

use serde_json::Value;
use swarm_os::Liveness;
use swarm_protocol::{SandboxUse, TeamName};
use swarm_store::{BlockOn as _, Topic};
use swarm_tools::sandbox::landlock_works;
use swarm_ui::Theme;
use swarm_ui::print::wrapped;

use super::gather::Status;
use super::past::Past;
use super::{screen, text};
use crate::app::App;
use crate::commands::outage::read_on_reporting;
use crate::commands::requests::waiting_elsewhere;
use crate::commands::watch::Watch;
use crate::failure::{Failure, Result};
use crate::output::{plain, terminal_height, terminal_width};
use crate::shell_guards::find_sandbox;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  swarm status
  swarm status --watch                          until Ctrl-C
  swarm status --all                            every team
  swarm status --json | jq -r '.members[].name'")]
pub(crate) struct StatusArgs {
    /// Keep running and show every change.
    #[arg(long)]
    pub(crate) watch: bool,
    /// Show all teams, those of this directory first.
    #[arg(long, conflicts_with = "watch")]
    pub(crate) all: bool,
}

pub(in crate::commands) fn run(app: &App, args: &StatusArgs) -> Result<()> {
    let app = &app.hurried();
    if args.all {
        return all(app);
    }
    let (team, others) = app.team_and_others()?;
    warn_without_sandbox(app);
    if args.watch {
        return watch(app, &team);
    }
    let status = Status::gather(app, &team, &mut Past::default())?;
    if app.out.json {
        app.out.json(&status.document()?)?;
    } else {
        app.out
            .drawn(text::text(app, &status, app.out.theme, None).trim_end())?;
        if let Some(line) = waiting_elsewhere(app, &others) {
            app.out.say(&line);
        }
    }
    Ok(())
}

/// Prints the status of every team; teams that cannot be read are reported at the end.
fn all(app: &App) -> Result<()> {
    let teams = app.all_teams()?;
    let (mut documents, mut texts, mut damaged) = (Vec::new(), Vec::new(), Vec::new());
    for team in &teams {
        match Status::gather(app, team, &mut Past::default()) {
            Ok(status) if app.out.json => documents.push(status.document()?),
            Ok(status) => texts.push(text::text(app, &status, app.out.theme, None)),
            Err(failure) => damaged.push(failure),
        }
    }
    let is_empty = teams.is_empty() && app.store.teams().block_on()?.is_empty();
    if is_empty && let Some(hidden) = Failure::of_sandbox() {
        return Err(hidden);
    }
    if app.out.json {
        app.out.json(&documents)?;
    } else if is_empty {
        app.out
            .say("no teams; create one with `swarm team create NAME`");
    } else if !texts.is_empty() {
        app.out.drawn(texts.join("\n\n").trim_end())?;
    }
    Failure::worst(damaged).map_or(Ok(()), Err)
}

/// Warns if the settings ask for a sandbox and none works. The cheapest test comes first.
fn warn_without_sandbox(app: &App) {
    let wanted = app.settings.sandbox != SandboxUse::Off;
    if wanted && !landlock_works() && find_sandbox().backend.is_none() {
        app.out
            .warn("swarm: agents' shell commands run without a sandbox; `swarm doctor` says why");
    }
}

/// Prints the status on every change. A terminal is redrawn; other output gets each version once.
fn watch(app: &App, team: &TeamName) -> Result<()> {
    let mut watch = Watch::new()?;
    let store = &app.store;
    let topics = [
        Topic::Roster,
        Topic::AllMail,
        Topic::Tasks,
        Topic::Requests,
        // It contains deaths and damage.
        Topic::Journal,
        Topic::Costs,
        Topic::Budgets,
    ];
    for topic in topics {
        watch.topic(&*store.team(team), topic);
    }
    let draws = screen::is_there() && !app.out.json;
    if draws {
        screen::make_room(app.out)?;
    }
    let shown = show_changes(app, team, &mut watch, draws);
    if draws && shown.is_err() {
        // The last line of the screen has no end.
        app.out.piece("\n")?;
    }
    shown
}

fn show_changes(app: &App, team: &TeamName, watch: &mut Watch, draws: bool) -> Result<()> {
    let mut last = Value::Null;
    let mut past = Past::default();
    let mut status = read(app, team, watch, &mut past)?;
    while app.out.is_wanted() {
        let theme = theme(app);
        let height = terminal_height(std::io::stdout()).map(|height| height.saturating_sub(1));
        let screenful = draws.then(|| text::text(app, &status, theme, height));
        match &screenful {
            Some(text) => screen::draw(app.out, theme, text)?,
            None => last = print_if_new(app, &status, last)?,
        }
        watch.wait(None);
        let out = app.out;
        let report = |note: &str| match &screenful {
            Some(text) => {
                let rows = wrapped(&plain(note), theme.width.unwrap_or(usize::MAX));
                // The next change is drawn, or fails, too.
                drop(screen::draw(
                    out,
                    theme,
                    &format!("{}\n{text}", rows.join("\n")),
                ));
            }
            None => out.remark(note),
        };
        let files = app.store.team(team);
        status = read_on_reporting(out, &*files, report, || read(app, team, watch, &mut past))?;
    }
    Ok(())
}

/// Reads a status, and watches what it depends on.
fn read(app: &App, team: &TeamName, watch: &mut Watch, past: &mut Past) -> Result<Status> {
    let files = app.store.team(team);
    for name in files.config().block_on()?.names() {
        for topic in [Topic::State(name.clone()), Topic::Pause(name)] {
            watch.topic(&*files, topic);
        }
    }
    let status = Status::gather(app, team, past)?;
    for view in &status.members {
        let name = &view.member.name;
        if view.liveness == Liveness::Alive && files.life_record(name).block_on().is_some() {
            watch.lease_end(&*files, name);
        }
    }
    Ok(status)
}

/// Returns how to draw on a terminal whose size may have changed.
fn theme(app: &App) -> Theme {
    Theme {
        width: terminal_width(std::io::stdout()),
        ..app.out.theme
    }
}

/// Prints a status unless it equals the last one; returns it for the next call.
fn print_if_new(app: &App, status: &Status, last: Value) -> Result<Value> {
    let document = status.document()?;
    if document == last {
        return Ok(last);
    }
    if app.out.json {
        app.out.json_line(&document)?;
    } else {
        app.out
            .drawn(&text::text(app, status, app.out.theme, None))?;
    }
    Ok(document)
}

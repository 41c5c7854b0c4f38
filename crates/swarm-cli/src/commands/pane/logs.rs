//! `swarm logs`.

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use swarm_os::Liveness;
use swarm_protocol::{Event, MemberName};
use swarm_store::{BlockOn as _, StoreError, Team};

use super::become_command::become_command;
use super::output;
use super::tail::Tail;
use crate::app::App;
use crate::commands::members;
use crate::commands::node::{Elsewhere, show_from_node};
use crate::commands::outage::read_on;
use crate::commands::watch::Watch;
use crate::failure::Result;
use crate::output::plain;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  swarm logs alice            even after she has stopped
  swarm logs --follow         the lead of a detached run
  swarm logs alice --follow")]
pub(crate) struct LogsArgs {
    /// Member whose output is printed; that of team-lead only after `swarm run --detach` [default: team-lead].
    pub(crate) name: Option<MemberName>,
    /// Keep printing until the member stops.
    #[arg(long)]
    pub(crate) follow: bool,
}

pub(in crate::commands) fn run(app: &App, args: &LogsArgs) -> Result<()> {
    let team = app.team()?;
    let lead = MemberName::lead();
    let name = args.name.as_ref().unwrap_or(&lead);
    if let Some(elsewhere) = Elsewhere::of(&*team, name)? {
        return logs_elsewhere(app, &*team, name, &elsewhere, args.follow);
    }
    let path = output::path(app, &*team, name)?;
    if !path.exists() {
        // A member's output is kept after it leaves the roster.
        members::known(&team.config().block_on()?, name)?;
    }
    if args.follow {
        return follow(app, &*team, name, &path);
    }
    let text = output::read(&path)?.unwrap_or_default();
    if app.out.json {
        app.out
            .json(&json!({ "name": name, "text": plain(&text) }))?;
    } else if text.trim().is_empty() {
        app.out.say(&format!("{name} has printed nothing"));
    } else {
        app.out.drawn(&output::shown(app, text.trim_end()))?;
    }
    if let Some(end) = ending(&*team, name)? {
        app.out.say(&end);
    }
    Ok(())
}

/// Prints the output of a member on another machine.
fn logs_elsewhere(
    app: &App,
    team: &dyn Team,
    name: &MemberName,
    elsewhere: &Elsewhere,
    follow: bool,
) -> Result<()> {
    if follow {
        let words = ["logs", name.as_str(), "--follow"];
        let json = app.out.json.then_some("--json");
        let words: Vec<&str> = words.into_iter().chain(json).collect();
        return become_command(&elsewhere.over_ssh(team.name(), name, &words)?);
    }
    show_from_node(app, (team, name), elsewhere, &["logs", name.as_str()])
}

/// Describes how a stopped member exited, unless its output already does.
fn ending(team: &dyn Team, name: &MemberName) -> Result<Option<String>> {
    if !has_ended(team, name)? {
        return Ok(None);
    }
    let events = team.events().block_on()?.entries;
    Ok(events.iter().rev().find_map(|entry| match &entry.event {
        Event::MemberStopped { member, how, .. } if member == name => {
            let words = match how.as_str() {
                "killed" => "was killed",
                "terminated" => "was terminated (SIGTERM)",
                _ => "has shut down",
            };
            Some(format!("{name} {words}"))
        }
        Event::MemberDied { member, reason, .. } if member == name => {
            Some(format!("{name} died: {}", plain(reason)))
        }
        _ => None,
    }))
}

/// Longest wait for the state of a member before its new output is shown.
const LOOK: Duration = Duration::from_secs(5);

/// Prints new output until the member has stopped.
fn follow(app: &App, team: &dyn Team, name: &MemberName, path: &Path) -> Result<()> {
    let mut watch = Watch::new()?;
    watch.file(path);
    let mut tail = Tail::default();
    let team = &*team.with_lock_timeout(LOOK);
    loop {
        let has_ended = read_on(app.out, team, || {
            // A hub that does not answer must not delay the output.
            tail.read_more(path)?;
            print_new(app, name, &mut tail, false)?;
            has_ended(team, name)
        })?;
        // The state was read before the output, so that the last lines are not missed.
        tail.read_more(path)?;
        print_new(app, name, &mut tail, has_ended)?;
        if has_ended {
            app.out.say(&format!("{name} has stopped"));
        }
        if has_ended || !app.out.is_wanted() {
            return Ok(());
        }
        watch.wait(None);
    }
}

/// Prints JSON by lines and text as it arrives.
fn print_new(app: &App, name: &MemberName, tail: &mut Tail, is_all: bool) -> Result<()> {
    if app.out.json {
        for line in tail.take_lines(is_all) {
            app.out
                .json_line(&json!({ "name": name, "line": plain(&line) }))?;
        }
        return Ok(());
    }
    let text = tail.take_text(is_all);
    if text.is_empty() {
        return Ok(());
    }
    let end = if is_all && !text.ends_with('\n') {
        "\n"
    } else {
        ""
    };
    app.out.piece(&(output::shown(app, &text) + end))
}

fn has_ended(team: &dyn Team, name: &MemberName) -> Result<bool> {
    match team.liveness(name).block_on() {
        Ok(liveness) => Ok(liveness == Liveness::Dead),
        Err(StoreError::MemberNotFound { .. } | StoreError::TeamNotFound { .. }) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

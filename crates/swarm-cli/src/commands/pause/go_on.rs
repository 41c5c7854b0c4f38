//! `swarm continue`.

use std::process::ExitCode;
use std::time::Instant;

use serde_json::json;
use swarm_protocol::{ErrorKind, MemberState};

use super::subject::{PROMPTLY, Subject};
use crate::app::App;
use crate::commands::acting::require_person;
use crate::commands::stop::MemberWord;
use crate::failure::Failure;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  swarm continue alice")]
pub(crate) struct ContinueArgs {
    /// Paused member, as NAME or NAME@TEAM.
    pub(crate) name: MemberWord,
}

pub(in crate::commands) fn run(app: &App, args: &ContinueArgs) -> Result<ExitCode, Failure> {
    require_person(app, "continue")?;
    let mut subject = Subject::find(app, &args.name, "continue")?;
    let before = app
        .store
        .team(&subject.team)
        .set_paused(&subject.name, None)?;
    let end = Instant::now() + PROMPTLY;
    let mut view = subject.view(app)?;
    while view.state == MemberState::Paused {
        if !subject.watch.wait(Some(end)) {
            return Err(subject.silent(&view));
        }
        view = subject.view(app)?;
    }
    if view.state == MemberState::Parked {
        let message = format!(
            "{} cannot take a turn: the team has lost its lead",
            args.name.name
        );
        return Err(
            Failure::new(ErrorKind::Conflict, message).with_hint(format!(
                "run `swarm resume {}` to give the team a lead",
                subject.team
            )),
        );
    }
    if app.out.json {
        app.out.json(&json!({
            "member": args.name.name, "state": view.state, "pause": before,
        }))?;
    } else if before.is_some() {
        app.out.data(&format!("{} continues", args.name.name))?;
    } else {
        app.out
            .data(&format!("{} was not paused", args.name.name))?;
    }
    Ok(ExitCode::SUCCESS)
}

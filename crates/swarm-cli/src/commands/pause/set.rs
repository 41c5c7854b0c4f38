//! `swarm pause`.

use std::time::Instant;

use serde_json::json;
use swarm_protocol::{MemberState, PERSON, PauseMark};
use swarm_store::{BlockOn as _, MemberView};

use super::subject::{PROMPTLY, Subject};
use crate::app::App;
use crate::commands::acting::require_person;
use crate::commands::members::{age, since};
use crate::commands::stop::MemberWord;
use crate::commands::watch::deadline;
use crate::failure::{Failure, Result};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The current turn is finished first. Messages wait until `swarm continue`.

Examples:
  swarm pause alice --reason \"the branch is frozen\"
  swarm pause alice --wait --timeout 120")]
pub(crate) struct PauseArgs {
    /// Member to pause, as NAME or NAME@TEAM.
    pub(crate) name: MemberWord,
    /// Reason, shown in its pane and in `swarm status`.
    #[arg(long)]
    pub(crate) reason: Option<String>,
    /// Wait until its current turn is over.
    #[arg(long)]
    pub(crate) wait: bool,
    /// Maximum wait in seconds [default: no limit].
    #[arg(long, value_name = "SECONDS", requires = "wait")]
    pub(crate) timeout: Option<u64>,
}

pub(in crate::commands) fn run(app: &App, args: PauseArgs) -> Result<()> {
    require_person(app, "pause")?;
    let mut subject = Subject::find(app, &args.name, "pause")?;
    let mark = PauseMark {
        spawn_id: subject.spawn_id,
        by: PERSON.to_owned(),
        at: app.clock.now(),
        reason: args.reason,
    };
    let before = subject
        .team
        .set_paused(&subject.name, Some(&mark))
        .block_on()?;
    if before.is_some() {
        app.out
            .say(&format!("swarm: {} was paused already", subject.name));
    }
    let view = obeyed(&mut subject, args.wait, args.timeout)?;
    report(app, &view, &before.unwrap_or(mark))
}

/// Returns the member once it is paused, or once it will pause at the end of its turn.
fn obeyed(subject: &mut Subject, wait: bool, seconds: Option<u64>) -> Result<MemberView> {
    let end = deadline(seconds);
    let promptly = Instant::now() + PROMPTLY;
    loop {
        let view = subject.view()?;
        let (is_held, is_busy) = match view.state {
            MemberState::Paused | MemberState::Parked => (true, false),
            state if state.waits_for_mail() => (false, false),
            _ => (false, true),
        };
        if is_held || (is_busy && !wait) {
            return Ok(view);
        }
        let end = if is_busy { end } else { Some(promptly) };
        if !subject.watch.wait(end) {
            return Err(if is_busy {
                too_late(&view, seconds)
            } else {
                subject.silent(&view)
            });
        }
    }
}

fn too_late(view: &MemberView, seconds: Option<u64>) -> Failure {
    let message = format!(
        "{} is still {} after {} s; it pauses when its turn ends",
        view.member.name,
        view.state.name(),
        seconds.unwrap_or_default()
    );
    Failure::timed_out(message)
}

fn report(app: &App, view: &MemberView, mark: &PauseMark) -> Result<()> {
    let name = &view.member.name;
    let mut record = serde_json::to_value(mark)?;
    record["member"] = json!(name);
    record["state"] = json!(view.state);
    let line = match view.state {
        MemberState::Paused => format!("{name} is paused"),
        MemberState::Parked => {
            format!("{name} is parked, and stays paused when its team has a lead again")
        }
        state => {
            let time = since(view).map_or_else(String::new, |since| {
                format!(" for {}", age(app.clock.now(), since))
            });
            format!("{name} pauses when its turn ends ({}{time})", state.name())
        }
    };
    app.out.result(&record, &line)
}

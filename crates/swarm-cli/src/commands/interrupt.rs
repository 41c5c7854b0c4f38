//! `swarm interrupt`.

use std::time::{Duration, Instant};

use serde_json::json;
use swarm_protocol::{ControlFrame, InterruptRequest, LEAD_NAME};
use swarm_store::{BlockOn as _, Draft, MemberView, Topic};

use super::acting::require_person;
use super::compact::living;
use super::members::known;
use super::stop::MemberWord;
use super::watch::Watch;
use crate::app::App;
use crate::failure::{Failure, Result};

/// Timeout for a member to end its turn: its model's response and commands are cancelled.
const PROMPTLY: Duration = Duration::from_secs(10);

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The model's response and running commands are cancelled. The member is then idle and reads its mail.

Examples:
  swarm interrupt alice")]
pub(crate) struct InterruptArgs {
    /// Member, as NAME or NAME@TEAM.
    pub(crate) name: MemberWord,
}

pub(in crate::commands) fn run(app: &App, args: &InterruptArgs) -> Result<()> {
    require_person(app, "interrupt")?;
    let team = app.team_of_id(args.name.team.clone())?;
    let name = &args.name.name;
    known(&team.config().block_on()?, name)?;
    if name.is_lead() {
        let message = "a lead cannot be interrupted by this command";
        return Err(Failure::usage(message).with_hint("press Esc in its terminal"));
    }
    let view = living(&*team, name)?;
    if !has_turn(&view) {
        let message = format!(
            "{name} has no turn to interrupt: it is {}",
            view.state.name()
        );
        return Err(Failure::conflict(message));
    }
    let mut watch = Watch::new()?;
    watch.topic(&*team, Topic::State(name.clone()));
    let frame = ControlFrame::InterruptRequest(InterruptRequest {
        from: LEAD_NAME.to_owned(),
        timestamp: app.clock.now().iso(),
    });
    team.send(name, Draft::control(LEAD_NAME, &frame))
        .block_on()?;
    let turns = turns(&view);
    let end = Instant::now() + PROMPTLY;
    loop {
        let view = living(&*team, name)?;
        if !has_turn(&view) || self::turns(&view) > turns {
            break;
        }
        if !watch.wait(Some(end)) {
            let message = format!("{name} has not ended its turn yet; the request stays pending");
            return Err(Failure::timed_out(message));
        }
    }
    app.out.result(
        &json!({"member": name, "interrupted": true}),
        &format!("{name} was interrupted"),
    )
}

fn has_turn(view: &MemberView) -> bool {
    !view.state.waits_for_mail()
}

fn turns(view: &MemberView) -> u64 {
    view.report.as_ref().map_or(0, |report| report.turns)
}

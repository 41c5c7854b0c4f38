//! `swarm compact`.

use serde_json::json;
use swarm_protocol::{
    CompactRequest, ControlFrame, ErrorKind, Event, LEAD_NAME, MemberName, MemberState,
};
use swarm_store::{BlockOn as _, Draft, MemberView, Team, Topic};
use swarm_ui::print::short_count;

use super::acting::require_person;
use super::members::{is_over, known};
use super::stop::MemberWord;
use super::watch::{Watch, deadline};
use crate::app::App;
use crate::failure::{Failure, Result};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
A member with a turn in progress finishes it first; use --wait to wait for that.

Examples:
  swarm compact alice
  swarm compact alice \"Keep the list of failing tests\" --wait")]
pub(crate) struct CompactArgs {
    /// Member, as NAME or NAME@TEAM.
    pub(crate) name: MemberWord,
    /// Instructions for the summary.
    pub(crate) instructions: Option<String>,
    /// Wait even if a turn is in progress.
    #[arg(long)]
    pub(crate) wait: bool,
    /// Maximum wait in seconds [default: no limit].
    #[arg(long, value_name = "SECONDS")]
    pub(crate) timeout: Option<u64>,
}

pub(in crate::commands) fn run(app: &App, args: &CompactArgs) -> Result<()> {
    require_person(app, "compact")?;
    let team = app.team_of_id(args.name.team.clone())?;
    let name = &args.name.name;
    known(&team.config().block_on()?, name)?;
    let view = living(&*team, name)?;
    let mut watch = Watch::new()?;
    for topic in [Topic::Journal, Topic::State(name.clone())] {
        watch.topic(&*team, topic);
    }
    let mut position = team.events().block_on()?.next;
    let frame = ControlFrame::CompactRequest(CompactRequest {
        from: LEAD_NAME.to_owned(),
        instructions: args.instructions.clone(),
        timestamp: app.clock.now().iso(),
    });
    team.send(name, Draft::control(LEAD_NAME, &frame))
        .block_on()?;
    if let Some(when) = later(&view, args.wait) {
        return asked(app, name, when);
    }
    let end = deadline(args.timeout);
    loop {
        let events = team.events_from(position).block_on()?;
        position = events.next;
        for entry in events.entries {
            match entry.event {
                Event::Compacted {
                    member,
                    pre_tokens,
                    tokens,
                    trigger,
                } if member == *name && trigger == "manual" => {
                    return done(app, name, pre_tokens, tokens);
                }
                Event::CompactionFailed { member, reason } if member == *name => {
                    return Err(Failure::new(ErrorKind::AgentFailed, reason));
                }
                _ => {}
            }
        }
        let view = living(&*team, name)?;
        if let Some(when) = held(&view) {
            return asked(app, name, when);
        }
        if !watch.wait(end) {
            let message = format!(
                "{name} has not compacted its conversation within {} s; the request stays pending",
                args.timeout.unwrap_or_default()
            );
            return Err(Failure::timed_out(message));
        }
    }
}

/// Returns an error unless swarm runs the member.
pub(super) fn living(team: &dyn Team, name: &MemberName) -> Result<MemberView> {
    let conflict = |what: &str| Failure::conflict(format!("{name} {what}"));
    let views = team.member_view().block_on()?;
    match views.into_iter().find(|view| view.member.name == *name) {
        None => Err(conflict("has left the team")),
        Some(view) if view.state == MemberState::Foreign => Err(conflict(if name.is_lead() {
            "has no conversation: the team is led manually or by another program"
        } else {
            "belongs to another program"
        })),
        Some(view) if is_over(view.state) => {
            let hint = format!("`swarm spawn {name}` restarts it");
            Err(conflict(&format!("is {}", view.state.name())).with_hint(hint))
        }
        Some(view) => Ok(view),
    }
}

/// Returns when a member will compact its conversation, unless the command waits for that.
fn later(view: &MemberView, wait: bool) -> Option<&'static str> {
    let is_busy = !view.state.waits_for_mail();
    held(view).or((is_busy && !wait).then_some("when its turn ends"))
}

fn held(view: &MemberView) -> Option<&'static str> {
    match view.state {
        MemberState::Paused => Some("when it is continued"),
        MemberState::Parked => Some("when its team has a lead again"),
        _ => None,
    }
}

fn asked(app: &App, name: &MemberName, when: &str) -> Result<()> {
    app.out.result(
        &json!({"member": name, "compacted": false}),
        &format!("{name} compacts its conversation {when}"),
    )
}

fn done(app: &App, name: &MemberName, before: u64, after: u64) -> Result<()> {
    let document = json!({"member": name, "compacted": true, "preTokens": before, "tokens": after});
    let [before, after] = [before, after].map(short_count);
    app.out
        .result(&document, &format!("{name}: {before} to {after} tokens"))
}

//! Stopping a lead's process by name: `swarm shutdown team-lead`.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;
use swarm_os::process::Process;
use swarm_protocol::{LifeRecord, MemberName, TeamName};
use swarm_store::{BlockOn as _, Team};
use swarm_supervisor::{LeadStanding, StopOutcome, lead_standing};

use crate::app::App;
use crate::commands::run_until_ctrl_c;
use crate::failure::{Failure, Result};

/// How long a lead may take to shut its team down. The first signal allows it two seconds, plus the
/// `SessionEnd` hooks.
pub(super) const LEAD_PATIENCE: Duration = Duration::from_secs(5);

/// Time before the second signal, which kills the team. Two simultaneous signals would be merged.
pub(super) const BETWEEN_SIGNALS: Duration = Duration::from_millis(300);

/// Time to kill the team, and then to exit after SIGKILL.
const KILL_WAIT: Duration = Duration::from_secs(3);

/// Stops the lead of a team with the signals of its terminal: the first one shuts the team down, and
/// after `patience` the second one kills it. SIGKILL follows if the process does not respond.
pub(super) fn stop(app: &App, files: &dyn Team, patience: Duration) -> Result<()> {
    let (process, team) = (lead_process(app, files)?, files.name());
    let stopping = escalate(process, patience);
    let standing = || {
        let message = format!("interrupted, but the lead of {team} is still stopping");
        Failure::interrupted(message).with_hint("`swarm status` shows the progress")
    };
    let Some(outcome) = run_until_ctrl_c(standing, stopping)?? else {
        let message = format!("process {} of the lead did not exit", process.pid);
        return Err(Failure::timed_out(message));
    };
    let lead = MemberName::lead();
    if outcome == StopOutcome::Killed {
        end_lease(files, process)?;
    }
    let document = json!({ "member": lead, "outcome": outcome.word(), "released": [] });
    if outcome != StopOutcome::Killed {
        let text = format!("{lead} has shut down, with its teammates");
        return app.out.result(&document, &text);
    }
    app.out.result(&document, &format!("{lead} was killed"))?;
    app.out.say(&format!(
        "its members wait for another lead: `swarm resume {team}`, or `swarm reap --parked {team}`"
    ));
    Ok(())
}

/// Ends the lease of a lead that was killed, which a hub would keep for some time.
fn end_lease(team: &dyn Team, killed: Process) -> Result<()> {
    let lead = MemberName::lead();
    let record = team.life_record(&lead).block_on();
    let its = |record: &LifeRecord| {
        i32::try_from(record.pid) == Ok(killed.pid) && record.proc_start == killed.start.to_string()
    };
    if let Some(record) = record.filter(its) {
        team.end_lease(&lead, &record.spawn_id).block_on()?;
    }
    Ok(())
}

/// Returns how the process ended; `None` if it did not.
async fn escalate(process: Process, patience: Duration) -> Result<Option<StopOutcome>> {
    for (signal, wait, outcome) in [
        (Signal::TERM, patience, StopOutcome::Approved),
        (Signal::TERM, KILL_WAIT, StopOutcome::Terminated),
        (Signal::KILL, KILL_WAIT, StopOutcome::Killed),
    ] {
        process.signal(signal)?;
        if let Ok(ended) = tokio::time::timeout(wait, process.ended()).await {
            ended?;
            return Ok(Some(outcome));
        }
    }
    Ok(None)
}

/// Returns the running process that leads a team on this machine.
fn lead_process(app: &App, files: &dyn Team) -> Result<Process> {
    let team = files.name();
    let pid = match lead_standing(&*app.store, &files.config().block_on()?)? {
        LeadStanding::Led(pid) => pid,
        LeadStanding::Unknown(pid) => {
            let message =
                format!("the lead of {team} is process {pid} of another machine or container");
            return Err(Failure::environment(message).with_hint("stop it there"));
        }
        LeadStanding::Foreign(Some(pid)) => return Err(of_other_program(team, pid)),
        LeadStanding::Foreign(None) => {
            let location = files.location();
            return Err(swarm_store::StoreError::ForeignTeam(location).into());
        }
        LeadStanding::Lost(_) | LeadStanding::ByHand => None,
    };
    // The record names the process that holds the lead's lock.
    let record = files.life_record(&MemberName::lead()).block_on();
    let record = record.filter(|record| Some(record.pid) == pid);
    if let (None, Some(pid)) = (&record, pid) {
        return Err(of_other_program(team, pid));
    }
    let process = record.and_then(|record| {
        let start: u64 = record.proc_start.parse().ok()?;
        Process::running(record.pid).filter(|process| process.start == start)
    });
    process.ok_or_else(|| {
        let message = format!("no process leads team {team}");
        Failure::not_found(message).with_hint(format!(
            "`swarm shutdown --all --team {team}` stops its members"
        ))
    })
}

/// Returns the failure for a running lead that did not take the lead's lock.
fn of_other_program(team: &TeamName, pid: u32) -> Failure {
    Failure::refused(format!(
        "process {pid} of another program leads the team {team}"
    ))
    .with_hint("stop it in that program")
}

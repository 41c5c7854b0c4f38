//! The end of a run, also an early one with one deadline: members are stopped, and the report lists
//! tasks, members and worktrees.

use std::sync::Arc;
use std::time::{Duration, Instant};

use swarm_os::{Liveness, LockInterrupt};
use swarm_protocol::{Event, LEAD_NAME, MemberName, Usage};
use swarm_store::{BlockOn as _, Team, TeamStore};
use swarm_supervisor::{
    LeadError, LeftWorktree, StopOptions, SupervisedTeam, TeamStopReport, blocking,
};
use swarm_worktree::Hazard;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::role::MemberLoop;

use super::LeadParts;
use super::end_deadline::LONGEST;
use super::report::{MemberLine, RunReport, TaskLine};
use super::role::LeadRole;

/// Time after which the person is informed what the end of a run waits for.
const SILENT: Duration = Duration::from_secs(1);

/// End of a member whose end is not recorded.
const ALIVE: &str = "alive";

/// Shuts all members down, or kills them when `at_once` is cancelled.
pub(super) async fn end_members(
    team: SupervisedTeam<'_>,
    at_once: &CancellationToken,
    tell: impl Fn(String),
) -> Result<TeamStopReport, LeadError> {
    let options = StopOptions::now(Some("the run is over".to_owned()), LEAD_NAME);
    let ending = team.shutdown(&options);
    let silent = tokio::time::sleep(SILENT);
    tokio::pin!(ending, silent);
    let mut is_reported = false;
    loop {
        tokio::select! {
            ended = &mut ending => return ended,
            () = at_once.cancelled() => break,
            () = &mut silent, if !is_reported => {
                is_reported = true;
                if let Some(line) = who_is_awaited(team, options.timeout)? {
                    tell(line);
                }
            }
        }
    }
    team.kill().await
}

/// Describes the members for which the end of the run waits, and the limit.
fn who_is_awaited(
    team: SupervisedTeam<'_>,
    at_most: Duration,
) -> Result<Option<String>, LeadError> {
    let views = team.files().member_view().block_on()?;
    let now = team.context.clock.now();
    let awaited: Vec<String> = views
        .iter()
        .filter(|view| !view.member.name.is_lead() && view.liveness == Liveness::Alive)
        .map(|view| {
            let name = &view.member.name;
            let state = view.state.name();
            view.report.as_ref().map_or_else(
                || format!("{name} ({state})"),
                |report| format!("{name} ({state} for {} s)", now.since(report.since) / 1000),
            )
        })
        .collect();
    Ok((!awaited.is_empty()).then(|| {
        format!(
            "waiting for {} to exit, {} s at most; Ctrl-C twice kills the team",
            awaited.join(", "),
            at_most.as_millis().div_ceil(1000)
        )
    }))
}

/// Returns the worktrees of a team's members that have work or are in use.
pub(super) async fn left_worktrees(team: SupervisedTeam<'_>) -> Vec<LeftWorktree> {
    let context = team.context;
    let (worktrees, cwd) = (context.worktrees.clone(), context.workspace.cwd.clone());
    let listed = blocking(move || worktrees.list(&cwd)).await;
    let (listed, _) = listed.unwrap_or_default();
    let left = listed.into_iter().filter_map(|listed| {
        let owner = &listed.record.owner;
        let member = owner.member.clone()?;
        let is_left = owner.team.as_ref() == Some(team.name) && !listed.hazards.is_empty();
        is_left.then(|| LeftWorktree {
            member,
            slug: listed.record.slug.to_string(),
            path: listed.record.path.clone(),
            host: listed.record.remote.as_ref().map(|on| on.host.clone()),
            branch: listed.record.branch.clone(),
            kept: true,
            why: listed.hazards.iter().map(ToString::to_string).collect(),
            can_be_merged: Hazard::commits_can_be_merged(&listed.hazards),
            may_pass: Hazard::may_pass(&listed.hazards),
        })
    });
    left.collect()
}

/// Adds tasks and members to the report. Members that have left are no longer in the roster, so the
/// journal is read.
pub(super) fn take_stock(team: &dyn Team, report: &mut RunReport) -> Result<(), LeadError> {
    let list = team.tasks().block_on()?;
    let line = |task: &swarm_protocol::Task| TaskLine {
        id: task.id,
        subject: task.subject.clone(),
        state: list.state(task),
        owner: task.owner.clone(),
        result: task.swarm().result,
    };
    report.tasks = list.tasks.iter().map(line).collect();
    for entry in team.events().block_on()?.entries {
        note(&mut report.members, &entry.event);
    }
    for member in &mut report.members {
        report.usage += member.usage;
        if member.end == ALIVE && team.liveness(&member.name).block_on()? == Liveness::Dead {
            "stopped".clone_into(&mut member.end);
        }
    }
    Ok(())
}

/// Adds the member data of one journal event.
fn note(members: &mut Vec<MemberLine>, event: &Event) {
    match event {
        Event::SpawnCommitted { member, .. } => ALIVE.clone_into(&mut line(members, member).end),
        Event::TurnEnded { member, usage, .. } if !member.is_lead() => {
            let line = line(members, member);
            line.turns += 1;
            line.usage += *usage;
        }
        Event::SubAgentEnded { member, usage, .. } if !member.is_lead() => {
            line(members, member).usage += *usage;
        }
        Event::MemberStopped { member, how, .. } => line(members, member).end.clone_from(how),
        Event::MemberDied { member, reason, .. } => {
            line(members, member).end = format!("died: {reason}");
        }
        _ => {}
    }
}

fn line<'a>(members: &'a mut Vec<MemberLine>, name: &MemberName) -> &'a mut MemberLine {
    let at = members
        .iter()
        .position(|line| &line.name == name)
        .unwrap_or_else(|| {
            members.push(MemberLine {
                name: name.clone(),
                end: ALIVE.to_owned(),
                turns: 0,
                usage: Usage::default(),
            });
            members.len() - 1
        });
    &mut members[at]
}

/// Members that stop in parallel with the lead's turn; `None` if there were none.
pub(super) type EarlyEnd = AbortOnDropHandle<Option<Result<TeamStopReport, LeadError>>>;

impl MemberLoop<LeadRole> {
    /// Starts the deadline when the run is stopped, and then stops the members unless they outlive
    /// the lead.
    pub(super) fn follow_stop(&self) -> EarlyEnd {
        let parts = &self.role.parts;
        let is_left = outlived(parts);
        let (spawn_context, kill) = (parts.spawn_context.clone(), parts.stops.kill.clone());
        let (deadline, stop) = (Arc::clone(&self.role.deadline), self.stop.clone());
        let (context, reporter) = (Arc::clone(self.context()), Arc::clone(&self.reporter));
        AbortOnDropHandle::new(tokio::spawn(async move {
            stop.cancelled().await;
            deadline.begin();
            if is_left() {
                return None;
            }
            let team = context.team()?;
            let tell = |line| reporter.notice(line);
            let team = spawn_context.team(team.name());
            Some(end_members(team, &kill, tell).await)
        }))
    }
}

/// How long a lead that is killed still waits for locks: enough for those in normal use.
const KILLED: Duration = Duration::from_millis(100);

/// Limits the lead's waits for locks once it is stopped, because another program may hold one: the
/// loop, whose store is returned, no longer waits, and the end of the run waits shortly for other
/// programs, and for members until the deadline, or shortly if it is killed. The team's next program
/// records what could not be written.
pub(super) fn limit_lock_waits(
    parts: &mut LeadParts,
    stop: CancellationToken,
) -> Arc<dyn TeamStore> {
    let (of_loop, of_end) = (LockInterrupt::default(), LockInterrupt::default());
    let store = &mut parts.spawn_context.store;
    let loop_store = store.with_lock_interrupt(&of_loop);
    *store = store.with_lock_interrupt(&of_end);
    let kill = parts.stops.kill.clone();
    // On the caller's threads, because the thread of the loop may be waiting for a lock.
    tokio::spawn(async move {
        stop.cancelled().await;
        of_loop.interrupt();
        of_end.hurry();
        of_end.interrupt_at(Instant::now() + LONGEST);
        kill.cancelled().await;
        of_end.interrupt_at(Instant::now() + KILLED);
    });
    loop_store
}

/// Returns whether members outlive a stopped lead: its terminal was closed or it reached its time
/// limit, and stopping them was not requested.
pub(super) fn outlived(parts: &LeadParts) -> impl Fn() -> bool + Send + 'static {
    let (stops, remove_team) = (parts.stops.clone(), parts.remove_team);
    move || {
        // A terminal that closes cancels `stop` as well.
        let is_timed_out = !stops.stop.is_cancelled() && !remove_team;
        !stops.kill.is_cancelled() && (stops.hangup.is_cancelled() || is_timed_out)
    }
}

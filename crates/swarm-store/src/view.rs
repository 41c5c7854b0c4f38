//! The current state of a team, derived from its records. No I/O.

use swarm_os::Liveness;
use swarm_protocol::{LifeRecord, Member, MemberState, PauseMark, StateReport, TeamConfig};

use crate::{BrokenFile, process};

/// A member and its current state.
#[derive(Debug, Clone, PartialEq)]
pub struct MemberView {
    /// Its roster entry.
    pub member: Member,
    /// Its state, derived from the fields below.
    pub state: MemberState,
    /// Its last state report, if written by the current spawn.
    pub report: Option<StateReport>,
    /// Whether it is alive.
    pub liveness: Liveness,
    /// Whether it is the lead and has no process, because a person leads the team.
    pub by_hand: bool,
    /// Machine on which its process has parked after it has lost its lease: the member counts as dead,
    /// and a new spawn there continues its conversation.
    pub parked_on: Option<String>,
    /// Set while a person pauses it; takes effect after the current turn.
    pub pause: Option<PauseMark>,
    /// Number of unread messages; `None` if its inbox cannot be read.
    pub unread: Option<usize>,
    /// Its inbox file, if damaged.
    pub damaged_inbox: Option<BrokenFile>,
    /// Life record of its current process, if it is running and has one.
    pub process: Option<LifeRecord>,
    /// Whether that process is stopped by a signal and therefore inactive, whatever its state.
    pub frozen: bool,
}

/// Snapshot of a team; each file of its members is read once.
#[derive(Debug, Clone, PartialEq)]
pub struct TeamView {
    /// Its roster.
    pub config: TeamConfig,
    /// Whether another program created it; swarm then only reads it.
    pub is_foreign: bool,
    /// All members, in roster order.
    pub members: Vec<MemberView>,
    /// Whether there are unrecorded changes, such as a death, for [`crate::Team::reconcile`].
    pub needs_reconcile: bool,
}

impl TeamView {
    /// Describes the state of an existing team, as a clause.
    pub(crate) fn in_words(&self) -> String {
        let alive = |view: &&MemberView| view.liveness == Liveness::Alive;
        let lead_lives = self
            .members
            .iter()
            .any(|view| view.member.name.is_lead() && view.liveness == Liveness::Alive);
        let members = self
            .members
            .iter()
            .filter(|view| !view.member.name.is_lead());
        let count = members.clone().count();
        let leader = match &self.config.lead_process {
            Some(lead) if lead_lives => format!("led by process {}", lead.pid),
            Some(lead) => format!("its lead, process {}, is lost", lead.pid),
            None if lead_lives => "its lead runs".to_owned(),
            None => "led from the shell".to_owned(),
        };
        match (count, members.filter(alive).count()) {
            (0, _) => format!("{leader}, no teammates"),
            (1, 0) => format!("{leader}, 1 teammate (not running)"),
            (1, _) => format!("{leader}, 1 teammate (running)"),
            (count, alive) => format!("{leader}, {count} teammates ({alive} running)"),
        }
    }
}

/// What is known about a member, read in this order: a member reports that it works before it
/// acknowledges mail, so counting before reading the report ensures that mail in progress shows in
/// one of the two.
#[derive(Debug)]
pub(crate) struct MemberFacts {
    pub(crate) liveness: Liveness,
    /// The record of its running process.
    pub(crate) process: Option<LifeRecord>,
    pub(crate) parked_on: Option<String>,
    pub(crate) unread: Option<usize>,
    pub(crate) damaged_inbox: Option<BrokenFile>,
    pub(crate) report: Option<StateReport>,
    pub(crate) pause: Option<PauseMark>,
}

impl MemberView {
    pub(crate) fn of(config: &TeamConfig, member: &Member, known: MemberFacts) -> Self {
        // The report of the last lead process does not apply to a person who leads now, except for
        // a failure.
        let by_hand = member.name.is_lead()
            && config.lead_process.is_none()
            && known.liveness != Liveness::Alive;
        let liveness = if by_hand {
            Liveness::Foreign
        } else {
            known.liveness
        };
        let report = known.report.filter(|report| {
            (!by_hand || has_failed(report))
                && member
                    .spawn_id()
                    .is_none_or(|spawn| spawn == report.spawn_id)
        });
        let holder = known.process;
        let frozen = holder
            .as_ref()
            .filter(|_| liveness == Liveness::Alive)
            .is_some_and(|life| process::is_stopped(life.pid, &life.proc_start));
        Self {
            pause: known.pause,
            parked_on: known.parked_on,
            frozen,
            state: state_of(member, liveness, report.as_ref(), holder.is_some()),
            member: member.clone(),
            unread: known.unread,
            damaged_inbox: known.damaged_inbox,
            process: holder,
            report,
            liveness,
            by_hand,
        }
    }
}

/// Returns the liveness of a member from its lease: one that another spawn of the same name holds
/// does not count.
pub(crate) fn life_of(
    member: &Member,
    lease: Liveness,
    holder: Option<LifeRecord>,
) -> (Liveness, Option<LifeRecord>) {
    match (member.spawn_id(), &holder) {
        (Some(spawn), Some(holder)) if holder.spawn_id != spawn => (Liveness::Dead, None),
        _ => (lease, holder),
    }
}

/// Like [`life_of`] for any member: a lead without a lease is identified by its process.
pub(crate) fn life_in(
    config: &TeamConfig,
    member: &Member,
    found: (Liveness, Option<LifeRecord>),
) -> (Liveness, Option<LifeRecord>) {
    if found.0 != Liveness::Foreign || !member.name.is_lead() {
        return found;
    }
    let lead = config.lead_process.as_ref();
    let life = match lead.and_then(process::lead_is_running) {
        Some(true) => Liveness::Alive,
        Some(false) => Liveness::Dead,
        None => Liveness::Foreign,
    };
    (life, None)
}

/// Derives the state: the last report of a dead member counts only if it says that it stops.
fn state_of(
    member: &Member,
    liveness: Liveness,
    report: Option<&StateReport>,
    has_life: bool,
) -> MemberState {
    let mark = member.swarm.as_ref();
    if mark.is_some_and(|mark| mark.reservation.is_some()) {
        return MemberState::Starting;
    }
    let failed = report.filter(|report| has_failed(report));
    if let (Liveness::Foreign, true, Some(report)) = (liveness, member.name.is_lead(), failed) {
        return report.state;
    }
    let has_died = mark.is_some_and(|mark| mark.died_at.is_some());
    match liveness {
        Liveness::Foreign if !has_died => MemberState::Foreign,
        // The lead of another program is known only by its process and never reports.
        Liveness::Alive if !has_died && !has_life && report.is_none() => MemberState::Foreign,
        Liveness::Alive if !has_died => report.map_or(MemberState::Starting, |report| report.state),
        _ if report.is_some_and(has_stopped) => MemberState::Stopped,
        _ => MemberState::Dead,
    }
}

fn has_failed(report: &StateReport) -> bool {
    matches!(report.state, MemberState::Failed | MemberState::Exhausted)
}

/// Returns whether a member's last report says that it stops gracefully.
pub(crate) fn has_stopped(report: &StateReport) -> bool {
    matches!(report.state, MemberState::Stopped | MemberState::Stopping)
}

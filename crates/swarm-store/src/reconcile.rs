//! Discrepancies between the records of members and their processes, and what follows from them.
//! No I/O.

use swarm_os::Liveness;
use swarm_protocol::{
    Event, JournalEntry, LeadProcess, LifeRecord, Member, MemberName, MemberState, PERSON, SpawnId,
    StateReport, TaskId, TeamConfig, TeamName, UnixMs,
};

use crate::tasks::Returned;
use crate::view::has_stopped;
use crate::{Draft, MemberView, Result, process};

/// What a reconciliation has changed about teammates.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReconcileReport {
    /// Members whose death was recorded by this call.
    pub died: Vec<Departure>,
    /// Spawns that were rolled back because their spawner died.
    pub rolled_back: Vec<RolledBack>,
    /// All released tasks.
    pub released: Vec<TaskId>,
}

impl ReconcileReport {
    pub(crate) fn add(&mut self, other: Self) {
        self.died.extend(other.died);
        self.rolled_back.extend(other.rolled_back);
        self.released.extend(other.released);
    }
}

/// A member that died.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Departure {
    /// Name of the member.
    pub member: MemberName,
    /// ID of the spawn.
    pub spawn_id: SpawnId,
    /// Whether it had reported that it stops, or a person had stopped it.
    pub in_order: bool,
    /// Whether a person had stopped it before it could report that.
    pub by_person: bool,
    /// Whether it did not renew its lease on a server in time: its process may still run, and parks then.
    pub is_cut_off: bool,
    /// Known cause of the death.
    pub reason: String,
    /// Tasks that were released.
    pub released: Vec<TaskId>,
}

/// A spawn that was rolled back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RolledBack {
    /// Name of the member.
    pub member: MemberName,
    /// ID of the spawn.
    pub spawn_id: SpawnId,
}

/// Reason of a rollback, for the journal.
pub(crate) const SPAWNER_DIED: &str = "its spawner died before it was committed";

/// By how many milliseconds the clocks of two machines may differ. A spawn on another machine is not
/// given up before.
const DIFFERENCE_OF_CLOCKS: u64 = 15 * 60 * 1000;

/// A discrepancy between a member's record and its process.
#[derive(Debug)]
pub(crate) enum Finding {
    Lapsed(SpawnId),
    Ended(SpawnId),
    /// This process has reported its end, and is still in the roster because another program held a
    /// lock. A lead that crashed is left for `swarm resume`.
    LeadEnded(LeadProcess),
}

/// Returns the discrepancies of the members that `only` selects. `lead_reported_end` returns
/// [`has_reported_end`].
pub(crate) fn findings(
    config: &TeamConfig,
    now: UnixMs,
    only: impl Fn(&MemberName) -> bool,
    life: impl Fn(&Member) -> Result<Liveness>,
    lead_reported_end: impl Fn() -> bool,
) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for member in config.members.iter().filter(|member| only(&member.name)) {
        let found = finding(config, member, now, || life(member), &lead_reported_end);
        findings.extend(found?);
    }
    Ok(findings)
}

/// Returns whether the state of the members shows a discrepancy. `last_life` returns the record of
/// the last holder of a lease.
pub(crate) fn is_outdated(
    config: &TeamConfig,
    members: &[MemberView],
    now: UnixMs,
    last_life: impl Fn(&MemberName) -> Option<LifeRecord>,
) -> Result<bool> {
    for view in members {
        let (member, report) = (&view.member, view.report.as_ref());
        let reported_end = || has_reported_end(report, last_life(&member.name));
        if finding(config, member, now, || Ok(view.liveness), reported_end)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns whether the last report of a dead lead says that it has ended. `last` is the holder of
/// its lease: a later lead may have crashed before its first report.
pub(crate) fn has_reported_end(report: Option<&StateReport>, last: Option<LifeRecord>) -> bool {
    report.zip(last).is_some_and(|(report, last)| {
        report.state == MemberState::Stopped && report.spawn_id == last.spawn_id
    })
}

/// Returns the discrepancy of one member, if any; the functions are called only if needed.
fn finding(
    config: &TeamConfig,
    member: &Member,
    now: UnixMs,
    life: impl FnOnce() -> Result<Liveness>,
    lead_reported_end: impl FnOnce() -> bool,
) -> Result<Option<Finding>> {
    if member.name.is_lead() {
        // What cannot be read is reported elsewhere, and does not prevent commands.
        let named = config.lead_process.clone();
        let ended = named.filter(|_| matches!(life(), Ok(Liveness::Dead)) && lead_reported_end());
        return Ok(ended.map(Finding::LeadEnded));
    }
    let Some(mark) = &member.swarm else {
        return Ok(None);
    };
    if let Some(reservation) = &mark.reservation {
        let late = now.since(reservation.deadline);
        let is_lapsed = match process::spawner_is_running(reservation) {
            Some(is_running) => !is_running && late > 0,
            None => late > DIFFERENCE_OF_CLOCKS,
        };
        return Ok(is_lapsed.then_some(Finding::Lapsed(mark.spawn_id)));
    }
    let has_ended = mark.died_at.is_none() && life()? == Liveness::Dead;
    Ok(has_ended.then_some(Finding::Ended(mark.spawn_id)))
}

/// Implements what the kinds of stores do alike, by their operations of the same names.
macro_rules! reconciled_team {
    ($team:ident) => {
        impl $team {
            /// Returns the discrepancies of the members that `only` selects.
            pub(crate) fn findings(
                &self,
                config: &TeamConfig,
                only: impl Fn(&MemberName) -> bool,
            ) -> Result<Vec<Finding>> {
                let life = self.lives(config, &only)?;
                $crate::reconcile::findings(config, self.now(), &only, life, || {
                    let lead = MemberName::lead();
                    let report = self.state(&lead).ok().flatten();
                    $crate::reconcile::has_reported_end(report.as_ref(), self.life_record(&lead))
                })
            }

            /// Writes to the lead process that a member shut down or was terminated, once for each
            /// spawn.
            pub(crate) fn report_stop(
                &self,
                config: &TeamConfig,
                member: &MemberName,
                spawn_id: SpawnId,
                released: &[TaskId],
            ) -> Result<()> {
                let report_of = |name: &MemberName| self.state(name);
                match $crate::reconcile::stop_news(config, member, released, report_of)? {
                    Some(draft) => self.tell_end(draft, spawn_id),
                    None => Ok(()),
                }
            }
        }
    };
}

pub(crate) use reconciled_team;

impl Departure {
    /// Describes the death of a spawn by its last report and by the journal, which is only read if
    /// the report does not announce the end. No tasks are released yet.
    pub(crate) fn of(
        member: &Member,
        spawn_id: SpawnId,
        report: Option<&StateReport>,
        is_cut_off: bool,
        journal: impl FnOnce() -> Result<Vec<JournalEntry>>,
    ) -> Result<Self> {
        let report = report.filter(|report| report.spawn_id == spawn_id);
        let has_reported = report.is_some_and(has_stopped);
        let by_person = !has_reported && is_stopped_by_person(&journal()?, &member.name);
        Ok(Self {
            member: member.name.clone(),
            spawn_id,
            in_order: has_reported || by_person,
            by_person,
            is_cut_off,
            reason: death_reason(report, is_cut_off),
            released: Vec::new(),
        })
    }

    /// Returns the owner whose tasks are released.
    pub(crate) fn returned(&self, member: &Member, team: &TeamName) -> Returned {
        let failed = (!self.in_order).then(|| format!("{} {}", self.member, self.reason));
        Returned {
            owner: member.id_in(team),
            spawn_id: Some(self.spawn_id),
            failed_because: failed,
        }
    }

    /// Returns the event of the departure, which names the released tasks.
    pub(crate) fn event(&self, released: &[TaskId]) -> Event {
        let (member, spawn_id) = (self.member.clone(), self.spawn_id);
        if self.in_order {
            let how = if self.by_person { "killed" } else { "approved" };
            let how = how.to_owned();
            Event::MemberStopped {
                member,
                spawn_id,
                how,
            }
        } else {
            Event::MemberDied {
                member,
                spawn_id,
                reason: self.reason.clone(),
                released: released.to_vec(),
            }
        }
    }

    /// Returns the message to the lead; its first sentence is also the summary.
    pub(crate) fn news(&self, released: &[TaskId]) -> Draft {
        let died = if self.is_cut_off {
            format!("{} {}.", self.member, self.reason)
        } else {
            format!("{} died unexpectedly ({}).", self.member, self.reason)
        };
        let tasks = given_back(released);
        let text = format!(
            "{died}{tasks} Spawn it again under the same name to continue its conversation, or assign its work to another \
             member."
        );
        Draft::system(text).with_summary(died)
    }
}

/// Returns whether a person was the last to stop the current spawn of a member, by a request that it
/// has not refused or by `kill`, which is recorded as a request.
pub fn is_stopped_by_person(events: &[JournalEntry], name: &MemberName) -> bool {
    let decides = |event: &Event| match event {
        Event::ShutdownRequested { member, by, .. } if member == name => Some(by == PERSON),
        Event::ShutdownRejected { member, .. } | Event::SpawnCommitted { member, .. }
            if member == name =>
        {
            Some(false)
        }
        _ => None,
    };
    let last = events.iter().rev().find_map(|entry| decides(&entry.event));
    last.unwrap_or_default()
}

/// Marks the entry of a dead member.
pub(crate) fn mark_dead(member: &mut Member, now: UnixMs) {
    member.is_active = Some(false);
    if let Some(mark) = &mut member.swarm {
        mark.died_at = Some(now);
    }
}

/// Returns the message to the lead process about a member that shut down or was terminated. A team
/// without a lead process gets none, nor does a lead that is shutting down: the process that stopped
/// the member knows the outcome. `report_of` returns the last report of a member.
pub(crate) fn stop_news(
    config: &TeamConfig,
    member: &MemberName,
    released: &[TaskId],
    report_of: impl Fn(&MemberName) -> Result<Option<StateReport>>,
) -> Result<Option<Draft>> {
    let is_ending = |name: &MemberName| -> Result<bool> {
        Ok(report_of(name)?.as_ref().is_some_and(has_stopped))
    };
    if config.lead_process.is_none() || is_ending(&MemberName::lead())? {
        return Ok(None);
    }
    let what = if is_ending(member)? {
        "has shut down"
    } else {
        "was terminated"
    };
    let text = format!("{member} {what}.{}", given_back(released));
    Ok(Some(Draft::system(text.clone()).with_summary(text)))
}

/// Returns the part of a message that lists the released tasks; empty if there are none.
fn given_back(released: &[TaskId]) -> String {
    if released.is_empty() {
        return String::new();
    }
    let ids: Vec<String> = released.iter().map(|id| format!("#{id}")).collect();
    format!(" Given back: {}.", ids.join(", "))
}

/// Describes a member's death by its last report, as a clause.
fn death_reason(report: Option<&StateReport>, is_cut_off: bool) -> String {
    let ended = if is_cut_off {
        "lost contact with the hub"
    } else {
        "ended"
    };
    match report {
        None => format!("{ended} before its first report"),
        Some(report) => match &report.detail {
            Some(detail) if report.state == MemberState::Dead => format!("ended: {detail}"),
            Some(detail) => format!("{ended} while {} ({detail})", report.state.name()),
            None => format!("{ended} while {}", report.state.name()),
        },
    }
}

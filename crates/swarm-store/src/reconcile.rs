//! Reconciliation: records deaths and rolls back abandoned spawns.

use swarm_os::{Liveness, LockGuard};
use swarm_protocol::{
    Event, Member, MemberName, MemberState, SpawnId, StateReport, TaskId, TeamConfig,
};

use crate::file_team::FileTeam;
use crate::member_files::has_stopped;
use crate::tasks::Returned;
use crate::{Result, process};

/// Result of a reconciliation. Empty if nothing had to be done.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReconcileReport {
    /// Members whose death was recorded by this call.
    pub died: Vec<Departure>,
    /// Spawns that were rolled back because their spawner died.
    pub rolled_back: Vec<RolledBack>,
    /// Returns all released tasks.
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
    /// Whether it had reported that it stops.
    pub in_order: bool,
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

/// A discrepancy between a member's record and its process.
pub(crate) enum Finding {
    Lapsed(SpawnId),
    Ended(SpawnId),
}

impl FileTeam {
    /// Reconciles some members, with the roster locked. Every step is idempotent: the journal is
    /// checked before a death is recorded, and tasks are released once. A step that fails is
    /// retried by the next reconciliation; the others still run, and `done` lists them once the
    /// roster is written.
    pub(crate) fn reconcile_some(
        &self,
        held: &LockGuard,
        config: &mut TeamConfig,
        only: impl Fn(&MemberName) -> bool,
        done: &mut ReconcileReport,
    ) -> Result<()> {
        let findings = self.findings(config, only)?;
        if findings.is_empty() {
            return Ok(());
        }
        let mut report = ReconcileReport::default();
        let mut outcome = Ok(());
        for finding in findings {
            match finding {
                Finding::Lapsed(spawn_id) => match self.undo_reservation(config, spawn_id) {
                    Ok(undone) => {
                        let undone = undone.map(|member| RolledBack { member, spawn_id });
                        report.rolled_back.extend(undone);
                    }
                    Err(error) => outcome = outcome.and(Err(error)),
                },
                Finding::Ended(spawn) => match self.record_death(config, spawn) {
                    Ok(buried) => report.died.extend(buried),
                    Err(error) => outcome = outcome.and(Err(error)),
                },
            }
        }
        self.write_config(held, config)?;
        for undone in &report.rolled_back {
            let reason = "its spawner died before it was committed";
            outcome = outcome.and(self.note_undone(&undone.member, undone.spawn_id, reason));
        }
        for departure in &report.died {
            report.released.extend(&departure.released);
        }
        done.add(report);
        outcome
    }

    pub(crate) fn findings(
        &self,
        config: &TeamConfig,
        only: impl Fn(&MemberName) -> bool,
    ) -> Result<Vec<Finding>> {
        let mut findings = Vec::new();
        for member in config.teammates().filter(|member| only(&member.name)) {
            findings.extend(self.finding(member, || self.life_of(member))?);
        }
        Ok(findings)
    }

    /// Returns the discrepancy of one member, if any; `life` is called only if needed.
    pub(crate) fn finding(
        &self,
        member: &Member,
        life: impl FnOnce() -> Result<Liveness>,
    ) -> Result<Option<Finding>> {
        let Some(mark) = member.swarm.as_ref().filter(|_| !member.name.is_lead()) else {
            return Ok(None);
        };
        if let Some(reservation) = &mark.reservation {
            let overdue = self.now() > reservation.deadline;
            let spawner = (reservation.spawner_pid, reservation.spawner_start.as_str());
            let is_lapsed = overdue && process::is_running(spawner.0, spawner.1) == Some(false);
            return Ok(is_lapsed.then_some(Finding::Lapsed(mark.spawn_id)));
        }
        let has_ended = mark.died_at.is_none() && life()? == Liveness::Dead;
        Ok(has_ended.then_some(Finding::Ended(mark.spawn_id)))
    }

    /// Records a death, releases the member's tasks and notifies the lead unless the member stopped
    /// gracefully. The roster is updated last.
    fn record_death(
        &self,
        config: &mut TeamConfig,
        spawn_id: SpawnId,
    ) -> Result<Option<Departure>> {
        let mut members = config.members.iter();
        let Some(at) = members.position(|member| member.spawn_id() == Some(spawn_id)) else {
            return Ok(None);
        };
        let member = &config.members[at];
        let report = self.state(&member.name).unwrap_or_default();
        let report = report.filter(|report| report.spawn_id == spawn_id);
        let in_order = report.as_ref().is_some_and(has_stopped);
        let reason = death_reason(report.as_ref());
        let released = self.return_tasks_of_dead(member, spawn_id, in_order, &reason)?;
        self.close_requests_of(member)?;
        let departure = Departure {
            member: member.name.clone(),
            spawn_id,
            in_order,
            reason,
            released,
        };
        if in_order {
            let (name, released) = (&departure.member, &departure.released);
            self.report_stop(config, name, spawn_id, released)?;
        } else {
            self.report_death(&departure)?;
        }
        let member = &mut config.members[at];
        member.is_active = Some(false);
        if let Some(mark) = &mut member.swarm {
            mark.died_at = Some(self.now());
        }
        tracing::info!(team = %self.team, member = %member.name, spawn = %spawn_id, "member is dead");
        Ok(Some(departure))
    }

    /// The event is recorded with the task list locked and before the tasks change, so that it
    /// names them and exists for every release.
    fn return_tasks_of_dead(
        &self,
        member: &Member,
        spawn_id: SpawnId,
        in_order: bool,
        reason: &str,
    ) -> Result<Vec<TaskId>> {
        let returned = Returned {
            owner: member.id_in(&self.team),
            spawn_id: Some(spawn_id),
            failed_because: (!in_order).then(|| format!("{} {reason}", member.name)),
        };
        let enter = |released: &[TaskId]| {
            if self.end_is_recorded(spawn_id)? {
                return Ok(());
            }
            self.record(if in_order {
                Event::MemberStopped {
                    member: member.name.clone(),
                    spawn_id,
                    how: "approved".to_owned(),
                }
            } else {
                Event::MemberDied {
                    member: member.name.clone(),
                    spawn_id,
                    reason: reason.to_owned(),
                    released: released.to_vec(),
                }
            })
        };
        self.return_tasks(&returned, enter, || Ok(()))
    }
}

/// Describes a member's death by its last report, as a clause.
fn death_reason(report: Option<&StateReport>) -> String {
    match report {
        None => "ended before its first report".to_owned(),
        Some(report) => match &report.detail {
            Some(detail) if report.state == MemberState::Dead => format!("ended: {detail}"),
            Some(detail) => format!("ended while {} ({detail})", report.state.name()),
            None => format!("ended while {}", report.state.name()),
        },
    }
}

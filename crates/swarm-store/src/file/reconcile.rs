//! Reconciliation: records deaths and rolls back abandoned spawns.

use swarm_os::{Liveness, LockGuard};
use swarm_protocol::{Member, MemberName, SpawnId, TaskId, TeamConfig};

use crate::file::team::FileTeam;
use crate::reconcile::{Finding, SPAWNER_DIED, mark_dead, reconciled_team};
use crate::roster::position_of;
use crate::{Cursor, Departure, ReconcileReport, Result, RolledBack};

reconciled_team!(FileTeam);

impl FileTeam {
    /// Returns a function that says whether a member lives.
    #[expect(clippy::unnecessary_wraps, reason = "another kind reads leases before")]
    fn lives(
        &self,
        _config: &TeamConfig,
        _only: impl Fn(&MemberName) -> bool,
    ) -> Result<impl Fn(&Member) -> Result<Liveness>> {
        Ok(|member: &Member| self.life_of(member))
    }

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
                Finding::LeadEnded(_) => config.lead_process = None,
            }
        }
        self.write_config(held, config)?;
        for undone in &report.rolled_back {
            let noted = self.note_undone(&undone.member, undone.spawn_id, SPAWNER_DIED);
            outcome = outcome.and(noted);
        }
        for departure in &report.died {
            report.released.extend(&departure.released);
        }
        done.add(report);
        outcome
    }

    /// Records a death, releases the member's tasks and notifies the lead unless the member stopped
    /// gracefully. The roster is updated last.
    fn record_death(
        &self,
        config: &mut TeamConfig,
        spawn_id: SpawnId,
    ) -> Result<Option<Departure>> {
        let Some(at) = position_of(config, spawn_id) else {
            return Ok(None);
        };
        let member = &config.members[at];
        let report = self.state(&member.name).unwrap_or_default();
        let journal = || Ok(self.events_from(Cursor::default())?.entries);
        let mut departure = Departure::of(member, spawn_id, report.as_ref(), false, journal)?;
        departure.released = self.return_tasks_of_dead(member, &departure)?;
        self.close_requests_of(member)?;
        if departure.in_order {
            let (name, released) = (&departure.member, &departure.released);
            self.report_stop(config, name, spawn_id, released)?;
        } else {
            self.report_death(&departure)?;
        }
        let member = &mut config.members[at];
        mark_dead(member, self.now());
        tracing::info!(team = %self.team, member = %member.name, spawn = %spawn_id, "member is dead");
        Ok(Some(departure))
    }

    /// The event is recorded with the task list locked and before the tasks change, so that it
    /// names them and exists for every release.
    fn return_tasks_of_dead(&self, member: &Member, departure: &Departure) -> Result<Vec<TaskId>> {
        let enter =
            |released: &[TaskId]| self.record_end(departure.spawn_id, departure.event(released));
        self.return_tasks(&departure.returned(member, &self.team), enter, || Ok(()))
    }
}

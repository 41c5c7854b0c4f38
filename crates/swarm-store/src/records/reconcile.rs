//! Reconciliation of a team in records. Every step can be repeated; the roster is changed last.

use swarm_os::Liveness;
use swarm_protocol::{Member, MemberName, MessageId, SpawnId, TaskId, TeamConfig};

use super::presence::life_among;
use super::team::RecordsTeam;
use super::values;
use crate::process::is_dead;
use crate::reconcile::{Finding, SPAWNER_DIED, mark_dead, reconciled_team};
use crate::roster::position_of;
use crate::{Cursor, Departure, Draft, ReconcileReport, Result, RolledBack, StoreError};

reconciled_team!(RecordsTeam);

impl RecordsTeam {
    pub(super) fn reconcile_into(&self, done: &mut ReconcileReport) -> Result<()> {
        self.reconcile_some(|_| true, done)
    }

    pub(super) fn reconcile_some(
        &self,
        only: impl Fn(&MemberName) -> bool,
        done: &mut ReconcileReport,
    ) -> Result<()> {
        self.space.expect_leases();
        if self.findings(&*self.roster_seen()?, &only)?.is_empty() {
            return Ok(());
        }
        // The roster may have changed without being heard.
        let config = self.config()?;
        let mut outcome = Ok(());
        for finding in self.findings(&config, &only)? {
            let step = match finding {
                Finding::Lapsed(spawn_id) => {
                    let undone = self.undo_reservation(spawn_id, SPAWNER_DIED);
                    undone.map(|undone| {
                        let undone = undone.map(|member| RolledBack { member, spawn_id });
                        done.rolled_back.extend(undone);
                    })
                }
                Finding::Ended(spawn) => self.record_death(&config, spawn).map(|departure| {
                    let released = departure.iter().flat_map(|gone| &gone.released);
                    done.released.extend(released);
                    done.died.extend(departure);
                }),
                Finding::LeadEnded(process) => match self.clear_lost_lead(&process) {
                    // Another lead has taken over meanwhile.
                    Err(StoreError::LeadAlive { .. }) => Ok(()),
                    done => done,
                },
            };
            outcome = outcome.and(step);
        }
        outcome
    }

    /// Returns a function that says whether one of the members that `only` selects lives. The leases of
    /// several members are read at once.
    fn lives(
        &self,
        config: &TeamConfig,
        only: impl Fn(&MemberName) -> bool,
    ) -> Result<impl Fn(&Member) -> Result<Liveness>> {
        let names: Vec<_> = config.names().into_iter().filter(only).collect();
        let leases = if names.len() < 2 {
            None
        } else {
            Some(self.leases(&names)?)
        };
        Ok(move |member: &Member| match &leases {
            Some(leases) => Ok(life_among(leases, member)),
            None => self.life_of(member),
        })
    }

    /// Writes to the lead about the end of a spawn, once.
    fn tell_end(&self, draft: Draft, spawn_id: SpawnId) -> Result<()> {
        let id = MessageId::new(spawn_id.to_string());
        let entry = draft.into_entry(id, self.now());
        self.deliver_end(&MemberName::lead(), spawn_id, &entry)
    }

    /// Returns the departure if this call has recorded it in the roster.
    fn record_death(&self, config: &TeamConfig, spawn_id: SpawnId) -> Result<Option<Departure>> {
        let Some(at) = position_of(config, spawn_id) else {
            return Ok(None);
        };
        let member = &config.members[at];
        let report = self.state(&member.name)?;
        let journal = || Ok(self.events_from(Cursor::default())?.entries);
        let lease = self.lease_state(&member.name)?;
        let lease = lease.filter(|lease| lease.record.spawn_id == spawn_id);
        let is_cut_off = lease
            .is_some_and(|lease| !lease.is_held && !lease.is_released && !is_dead(&lease.record));
        let mut departure = Departure::of(member, spawn_id, report.as_ref(), is_cut_off, journal)?;
        let returned = departure.returned(member, &self.team);
        departure.released =
            self.end_spawn(&returned, |released| Some(departure.event(released)))?;
        self.close_requests_of(member)?;
        if departure.in_order {
            self.report_stop(config, &member.name, spawn_id, &departure.released)?;
        } else {
            self.tell_end(departure.news(&departure.released), spawn_id)?;
        }
        let is_mine = self.change(&values::roster(), |roster, _events| {
            let Some(at) = position_of(&roster.config, spawn_id) else {
                return Ok(false);
            };
            let member: &mut Member = &mut roster.config.members[at];
            let mark = member.swarm.as_ref();
            let is_new = mark.is_some_and(|mark| mark.died_at.is_none());
            if is_new {
                mark_dead(member, self.now());
            }
            Ok(is_new)
        })?;
        Ok(is_mine.then_some(departure))
    }
}

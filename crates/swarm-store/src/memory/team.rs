//! One team of a memory store, and how its records change.

use std::path::PathBuf;
use std::sync::Arc;

use swarm_protocol::{Event, JournalEntry, MemberName, TeamName, UnixMs};
use uuid::Uuid;

use super::call::{Call, Patience};
use super::faults::Faults;
use super::record::{NotWritten, Record, Versioned};
use super::store::MemoryStore;
use super::values::Records;
use crate::roster::{refuse_if_busy, refuse_if_led};
use crate::{MemberView, Result, StoreError, TeamDamage, TeamDirectories, TeamView};

/// The handle of a team, which need not exist.
#[derive(Debug, Clone)]
pub(super) struct MemoryTeam {
    pub(super) store: MemoryStore,
    pub(super) team: TeamName,
    pub(super) patience: Patience,
    pub(super) call: Call,
}

impl MemoryTeam {
    pub(super) fn records(&self) -> Result<Arc<Records>> {
        let teams = self.store.shared.teams.lock();
        let records = teams.get(&self.team).cloned();
        records.ok_or_else(|| StoreError::TeamNotFound {
            team: self.team.clone(),
            known: teams.keys().cloned().collect(),
            remains: None,
        })
    }

    pub(super) fn faults(&self) -> &Faults {
        &self.store.shared.faults
    }

    pub(super) fn now(&self) -> UnixMs {
        self.store.shared.clock.now()
    }

    pub(super) fn read<V>(&self, record: &Record<V>) -> Arc<Versioned<V>> {
        record.read(self.faults()).1
    }

    /// Changes a record: `edit` gets its value and adds the events of the change. If the record
    /// changes meanwhile, `edit` is repeated with the new value. What it checks in other records
    /// holds at the time of the write if a change of those is followed by a write of this record.
    pub(super) fn change<V: Clone, R>(
        &self,
        record: &Record<V>,
        mut edit: impl FnMut(&mut V, &mut Vec<Event>) -> Result<R>,
    ) -> Result<R> {
        let records = self.records()?;
        let mut is_repetition = false;
        loop {
            let (revision, found) = record.read(self.faults());
            self.publish(&records, &found);
            let mut value = found.value.clone();
            let mut events = Vec::new();
            let result = edit(&mut value, &mut events)?;
            let outbox = events.into_iter().map(|event| (Uuid::new_v4(), event));
            let new = Arc::new(Versioned {
                value,
                outbox: outbox.collect(),
            });
            if self.write(record, revision, &new, is_repetition)? {
                self.publish(&records, &new);
                return Ok(result);
            }
            is_repetition = true;
        }
    }

    /// Writes a record; `false` if its revision is another one. A write that is not acknowledged is
    /// repeated.
    fn write<V>(
        &self,
        record: &Record<V>,
        revision: u64,
        new: &Arc<Versioned<V>>,
        mut is_repetition: bool,
    ) -> Result<bool> {
        let id = Uuid::new_v4();
        let mut is_known = true;
        loop {
            // An unacknowledged write may have been done, so it must be found out.
            if is_known {
                self.may_write(is_repetition)?;
            }
            match record.write(self.faults(), revision, id, new) {
                Ok(()) => {
                    self.call.has_written();
                    return Ok(true);
                }
                Err(NotWritten::Conflict) => return Ok(false),
                Err(NotWritten::Unacknowledged) => (is_known, is_repetition) = (false, true),
            }
        }
    }

    pub(super) fn may_write(&self, is_repetition: bool) -> Result<()> {
        let may = self.call.may_write(self.faults(), is_repetition);
        may.map_err(|waited| StoreError::Contended {
            team: self.team.clone(),
            waited,
        })
    }

    /// Appends the events of a written record to the journal, each once.
    pub(super) fn publish<V>(&self, records: &Records, written: &Versioned<V>) {
        for (id, event) in &written.outbox {
            let entry = JournalEntry {
                at: self.now(),
                event: event.clone(),
            };
            records.journal.append(self.faults(), *id, entry);
        }
    }
}

/// The operations on the whole team.
impl MemoryTeam {
    #[expect(clippy::unused_self, reason = "memory is never damaged")]
    pub(super) fn damage(&self) -> Option<TeamDamage> {
        None
    }

    #[expect(
        clippy::unused_self,
        reason = "no other program creates teams in memory"
    )]
    pub(super) fn is_foreign(&self) -> bool {
        false
    }

    pub(super) fn adopt(&self) -> Result<()> {
        self.records().map(drop)
    }

    pub(super) fn is_adopted(&self) -> Result<bool> {
        self.records().map(|_| false)
    }

    pub(super) fn delete(&self, _purge: bool, force: bool) -> Result<Option<PathBuf>> {
        self.may_delete(force)?;
        self.may_write(false)?;
        self.store.shared.teams.lock().remove(&self.team);
        Ok(None)
    }

    pub(super) fn may_delete(&self, force: bool) -> Result<()> {
        let config = self.config()?;
        let (lease, holder) = self.lease_of(&MemberName::lead())?;
        refuse_if_led(&self.team, config.lead_process.as_ref(), lease, holder)?;
        if force {
            return Ok(());
        }
        refuse_if_busy(
            &self.team,
            &config,
            |member| self.life_of(member),
            |name| self.state(name),
        )
    }

    pub(super) fn view(&self) -> Result<TeamView> {
        let config = self.config()?;
        let members = config.members.iter();
        let members: Vec<MemberView> = members
            .map(|member| self.view_of(&config, member))
            .collect::<Result<_>>()?;
        Ok(TeamView {
            is_foreign: false,
            needs_reconcile: !self.findings(&config, |_| true)?.is_empty(),
            config,
            members,
        })
    }
}

impl TeamDirectories for MemoryTeam {
    fn team_directory(&self) -> PathBuf {
        self.store.shared.scratch.join(self.team.as_str())
    }

    fn inbox_directory(&self) -> PathBuf {
        self.team_directory().join("inboxes")
    }

    fn tasks_directory(&self) -> PathBuf {
        self.team_directory().join("tasks")
    }

    fn requests_directory(&self) -> PathBuf {
        self.team_directory().join("requests")
    }

    fn member_dir(&self, name: &MemberName) -> PathBuf {
        self.team_directory().join("members").join(name.as_str())
    }

    fn life_path(&self, name: &MemberName) -> PathBuf {
        self.member_dir(name).join("life")
    }

    fn journal_path(&self) -> PathBuf {
        self.team_directory().join("journal.jsonl")
    }
}

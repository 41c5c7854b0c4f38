//! Reports and leases of the members of a team in records.

use std::collections::BTreeMap;
use std::path::PathBuf;

use swarm_os::Liveness;
use swarm_protocol::{
    Hello, LifeRecord, Member, MemberName, PauseMark, RightsReport, SpawnId, StateReport,
    TeamConfig,
};

use super::space::{LeaseState, Taken, WriteId};
use super::team::RecordsTeam;
use super::values::{self, Reports};
use crate::file::record;
use crate::roster::member_of;
use crate::view::{life_in, life_of};
use crate::{Lease, LeaseEnd, Result, StoreError};

impl RecordsTeam {
    pub(super) fn write_hello(&self, name: &MemberName, hello: &Hello) -> Result<()> {
        self.report(name, |reports| reports.hello = Some(hello.clone()))
    }

    pub(super) fn hello(&self, name: &MemberName) -> Result<Option<Hello>> {
        Ok(self.reports(name)?.hello)
    }

    pub(super) fn write_rights(&self, name: &MemberName, rights: &RightsReport) -> Result<()> {
        self.report(name, |reports| reports.rights = Some(rights.clone()))
    }

    pub(super) fn rights(&self, name: &MemberName) -> Result<Option<RightsReport>> {
        Ok(self.reports(name)?.rights)
    }

    pub(super) fn write_state(&self, name: &MemberName, state: &StateReport) -> Result<()> {
        self.report(name, |reports| reports.state = Some(state.clone()))
    }

    pub(super) fn state(&self, name: &MemberName) -> Result<Option<StateReport>> {
        Ok(self.reports(name)?.state)
    }

    /// A plan is a file also here, because the member's model reads it.
    pub(super) fn write_plan(
        &self,
        name: &MemberName,
        spawn: SpawnId,
        plan: &str,
    ) -> Result<PathBuf> {
        self.require()?;
        let path = self.local.layout.plan(&self.team, name, spawn);
        swarm_os::replace_in_private_dir(&path, plan.as_bytes())?;
        Ok(path)
    }

    pub(super) fn paused(&self, name: &MemberName) -> Result<Option<PauseMark>> {
        let config = self.roster_seen()?;
        self.pause_of(member_of(&self.team, &config, name)?)
    }

    pub(super) fn pause_of(&self, member: &Member) -> Result<Option<PauseMark>> {
        let reports = self.read_watched(&values::reports(&member.name))?;
        Ok(reports.pause_of(member))
    }

    pub(super) fn liveness(&self, name: &MemberName) -> Result<Liveness> {
        let config = self.roster_seen()?;
        let member = member_of(&self.team, &config, name)?;
        Ok(self.life_in(&config, member)?.0)
    }

    pub(super) fn lease(&self, name: &MemberName) -> Result<Liveness> {
        Ok(self.lease_of(name)?.0)
    }

    pub(super) fn end_of_lease(&self, name: &MemberName) -> LeaseEnd {
        self.space.lease_end(name)
    }

    pub(super) fn end_lease(&self, name: &MemberName, spawn: SpawnId) -> Result<()> {
        self.may_write(false)?;
        self.answered(true, |at_most| self.space.end_lease(name, spawn, at_most))
    }

    pub(super) fn life_record(&self, name: &MemberName) -> Option<LifeRecord> {
        let found = self.lease_state(name).ok()?;
        found.map(|lease| lease.record)
    }

    pub(super) fn parked_process(&self, name: &MemberName) -> Option<LifeRecord> {
        let found = self.lease_state(name).ok()?;
        found
            .filter(|lease| lease.is_parked)
            .map(|lease| lease.record)
    }

    pub(super) fn local_directory(&self, name: &MemberName) -> PathBuf {
        self.local.layout.team(&self.team).member(name)
    }

    pub(super) fn life_record_here(&self, name: &MemberName) -> Option<LifeRecord> {
        let at = self.local.layout.team(&self.team);
        record::read(&at.life(name)).ok().flatten()
    }

    pub(super) fn names_on_disk(&self) -> Result<Vec<MemberName>> {
        self.local.layout.team(&self.team).names_of_members()
    }

    pub(super) fn take_life(&self, name: &MemberName, record: &LifeRecord) -> Result<Lease> {
        self.may_write(false)?;
        let id = WriteId::new_v4();
        let taken = self.answered(true, |at_most| {
            self.space.take_lease(name, record, id, at_most)
        })?;
        match taken {
            Taken::Held(held) => {
                self.write_life_record(name, record)?;
                Ok(Lease::new(held))
            }
            Taken::HeldBy(holder) => Err(StoreError::LeaseHeld {
                team: self.team.clone(),
                name: name.clone(),
                reason: format!("process {} holds the lease of `{name}`", holder.pid),
            }),
        }
    }
}

impl Reports {
    /// Returns the mark of a pause of this spawn of the member.
    pub(super) fn pause_of(self, member: &Member) -> Option<PauseMark> {
        let spawn = member.spawn_id();
        self.pause
            .filter(|mark| spawn.is_none_or(|spawn| spawn == mark.spawn_id))
    }
}

impl RecordsTeam {
    /// A caller is identified by the records on its machine, so that no server has to be asked.
    fn write_life_record(&self, name: &MemberName, record: &LifeRecord) -> Result<()> {
        let at = self.local.layout.team(&self.team);
        let path = at.life(name);
        let content = record::line(&path, record)?;
        swarm_os::ensure_private_dir(&at.member(name))?;
        // Not synced: no process survives a power failure.
        let _pending = swarm_os::place_alone(&path, &content)?;
        Ok(())
    }

    /// The state of a member's lease, and the record of its holder while it is held.
    pub(super) fn lease_of(&self, name: &MemberName) -> Result<(Liveness, Option<LifeRecord>)> {
        Ok(facts(self.lease_state(name)?))
    }

    /// Returns those of the wanted leases that were ever held, and perhaps others.
    pub(super) fn leases(&self, wanted: &[MemberName]) -> Result<Leases> {
        self.answered(false, |at_most| self.space.leases(wanted, at_most))
    }

    pub(super) fn lease_state(&self, name: &MemberName) -> Result<Option<LeaseState>> {
        self.answered(false, |at_most| self.space.lease(name, at_most))
    }

    pub(super) fn life_of(&self, member: &Member) -> Result<Liveness> {
        let (lease, holder) = self.lease_of(&member.name)?;
        Ok(life_of(member, lease, holder).0)
    }

    pub(super) fn life_in(
        &self,
        config: &TeamConfig,
        member: &Member,
    ) -> Result<(Liveness, Option<LifeRecord>)> {
        let (lease, holder) = self.lease_of(&member.name)?;
        Ok(life_in(config, member, life_of(member, lease, holder)))
    }

    fn reports(&self, name: &MemberName) -> Result<Reports> {
        self.read(&values::reports(name))
    }

    fn report(&self, name: &MemberName, set: impl Fn(&mut Reports)) -> Result<()> {
        self.change(&values::reports(name), |reports, _events| {
            set(reports);
            Ok(())
        })
    }
}

/// Leases by member.
pub(super) type Leases = BTreeMap<MemberName, LeaseState>;

/// Returns whether a member lives, by its lease among these.
pub(super) fn life_among(leases: &Leases, member: &Member) -> Liveness {
    let (lease, holder) = facts(leases.get(&member.name).cloned());
    life_of(member, lease, holder).0
}

/// The state of a lease, and the record of its holder while it is held.
pub(super) fn facts(lease: Option<LeaseState>) -> (Liveness, Option<LifeRecord>) {
    match lease {
        None => (Liveness::Foreign, None),
        Some(lease) if lease.is_held => (Liveness::Alive, Some(lease.record)),
        Some(_) => (Liveness::Dead, None),
    }
}

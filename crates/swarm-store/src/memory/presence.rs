//! Reports and leases of the members of a memory team.

use std::path::PathBuf;
use std::sync::Arc;

use swarm_os::Liveness;
use swarm_protocol::{
    Hello, LifeRecord, Member, MemberName, PauseMark, RightsReport, SpawnId, StateReport,
    TeamConfig,
};
use tokio::sync::oneshot;

use super::team::MemoryTeam;
use super::values::{MemberRecords, Reports};
use crate::roster::member_of;
use crate::view::{MemberFacts, life_in, life_of};
use crate::{Lease, LeaseEnd, MemberView, Result, StoreError};

impl MemoryTeam {
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
        self.records()?;
        let directory = self.store.shared.scratch.join("plans");
        swarm_os::ensure_private_dir(&directory)?;
        let path = directory.join(format!("{}-{name}-{spawn}.md", self.team));
        swarm_os::replace_alone(&path, plan.as_bytes())?;
        Ok(path)
    }

    pub(super) fn paused(&self, name: &MemberName) -> Result<Option<PauseMark>> {
        let config = self.config()?;
        self.pause_of(member_of(&self.team, &config, name)?)
    }

    pub(super) fn pause_of(&self, member: &Member) -> Result<Option<PauseMark>> {
        let mark = self.reports(&member.name)?.pause;
        let spawn = member.spawn_id();
        Ok(mark.filter(|mark| spawn.is_none_or(|spawn| spawn == mark.spawn_id)))
    }

    pub(super) fn liveness(&self, name: &MemberName) -> Result<Liveness> {
        let config = self.config()?;
        let member = member_of(&self.team, &config, name)?;
        Ok(self.life_in(&config, member)?.0)
    }

    pub(super) fn lease(&self, name: &MemberName) -> Result<Liveness> {
        Ok(self.lease_of(name)?.0)
    }

    pub(super) fn end_of_lease(&self, name: &MemberName) -> LeaseEnd {
        let (tell, ended) = oneshot::channel();
        match self.records() {
            Ok(records) => {
                let records = records.known(name);
                let mut lease = records.lease.lock();
                if lease.is_held {
                    lease.waiting.push(tell);
                } else {
                    drop(tell.send(Ok(())));
                }
            }
            Err(error) => drop(tell.send(Err(error))),
        }
        ended
    }

    pub(super) fn life_record(&self, name: &MemberName) -> Option<LifeRecord> {
        let records = self.records().ok()?.known(name);
        let lease = records.lease.lock();
        lease.record.clone()
    }

    pub(super) fn names_on_disk(&self) -> Vec<MemberName> {
        let Ok(records) = self.records() else {
            return Vec::new();
        };
        records.members.lock().keys().cloned().collect()
    }

    pub(super) fn take_life(&self, name: &MemberName, record: &LifeRecord) -> Result<Lease> {
        let records = self.records()?.member(name);
        self.may_write(false)?;
        {
            let mut lease = records.lease.lock();
            if lease.is_held {
                let holder = lease.record.as_ref().map_or(0, |record| record.pid);
                return Err(StoreError::LeaseHeld {
                    team: self.team.clone(),
                    name: name.clone(),
                    reason: format!("process {holder} holds the lease of `{name}`"),
                });
            }
            lease.is_held = true;
            lease.record = Some(record.clone());
            records.taken.ring();
        }
        Ok(Lease::new(HeldLease(records)))
    }
}

/// Releases the lease when dropped.
#[derive(Debug)]
struct HeldLease(Arc<MemberRecords>);

impl Drop for HeldLease {
    fn drop(&mut self) {
        let waiting = {
            let mut lease = self.0.lease.lock();
            lease.is_held = false;
            std::mem::take(&mut lease.waiting)
        };
        for one in waiting {
            // The receiver may have been dropped.
            drop(one.send(Ok(())));
        }
    }
}

impl MemoryTeam {
    /// The state of a member's lease, and the record of its holder while it is held.
    pub(super) fn lease_of(&self, name: &MemberName) -> Result<(Liveness, Option<LifeRecord>)> {
        let records = self.records()?.known(name);
        let lease = records.lease.lock();
        Ok(match &lease.record {
            None => (Liveness::Foreign, None),
            Some(record) if lease.is_held => (Liveness::Alive, Some(record.clone())),
            Some(_) => (Liveness::Dead, None),
        })
    }

    pub(super) fn life_of(&self, member: &Member) -> Result<Liveness> {
        let (lease, holder) = self.lease_of(&member.name)?;
        Ok(life_of(member, lease, holder).0)
    }

    fn life_in(
        &self,
        config: &TeamConfig,
        member: &Member,
    ) -> Result<(Liveness, Option<LifeRecord>)> {
        let (lease, holder) = self.lease_of(&member.name)?;
        Ok(life_in(config, member, life_of(member, lease, holder)))
    }

    pub(super) fn view_of(&self, config: &TeamConfig, member: &Member) -> Result<MemberView> {
        let (liveness, process) = self.life_in(config, member)?;
        let known = MemberFacts {
            liveness,
            process,
            unread: Some(self.take_unread(&member.name)?.len()),
            damaged_inbox: None,
            report: self.state(&member.name)?,
            pause: self.pause_of(member)?,
        };
        Ok(MemberView::of(config, member, known))
    }

    fn reports(&self, name: &MemberName) -> Result<Reports> {
        let records = self.records()?.known(name);
        Ok(self.read(&records.reports).value.clone())
    }

    fn report(&self, name: &MemberName, set: impl Fn(&mut Reports)) -> Result<()> {
        let records = self.records()?.member(name);
        self.change(&records.reports, |reports, _events| {
            set(reports);
            Ok(())
        })
    }
}

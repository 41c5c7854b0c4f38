//! Files that members write about themselves, and the view of a member derived from them.

use std::path::{Path, PathBuf};
use std::thread;

use serde::Serialize;
use swarm_os::{LifeHolder, Liveness, OsError, remove_if_present};
use swarm_protocol::{
    Hello, LifeRecord, Member, MemberName, PauseMark, RightsReport, SpawnId, StateReport,
    TeamConfig,
};
use tokio::sync::oneshot;

use crate::file::record;
use crate::file::team::{FileTeam, refuse_linked_directory};
use crate::lease::Held;
use crate::roster::refuse_if_led;
use crate::view::{MemberFacts, life_in, life_of};
use crate::{Lease, LeaseEnd, MemberView, Result, StoreError};

impl Held for LifeHolder {}

impl FileTeam {
    pub(crate) fn write_hello(&self, name: &MemberName, hello: &Hello) -> Result<()> {
        self.write_passing(&self.at.hello(name), hello)
    }

    pub(crate) fn hello(&self, name: &MemberName) -> Result<Option<Hello>> {
        self.read_own(&self.at.hello(name))
    }

    pub(crate) fn write_rights(&self, name: &MemberName, rights: &RightsReport) -> Result<()> {
        self.write_passing(&self.at.rights(name), rights)
    }

    pub(crate) fn write_plan(
        &self,
        name: &MemberName,
        spawn: SpawnId,
        plan: &str,
    ) -> Result<PathBuf> {
        let path = self.store.layout.plan(&self.team, name, spawn);
        swarm_os::replace_in_private_dir(&path, plan.as_bytes())?;
        Ok(path)
    }

    pub(crate) fn rights(&self, name: &MemberName) -> Result<Option<RightsReport>> {
        self.read_own(&self.at.rights(name))
    }

    pub(crate) fn write_state(&self, name: &MemberName, state: &StateReport) -> Result<()> {
        self.write_passing(&self.at.state(name), state)
    }

    pub(crate) fn state(&self, name: &MemberName) -> Result<Option<StateReport>> {
        self.read_own(&self.at.state(name))
    }

    pub(crate) fn paused(&self, name: &MemberName) -> Result<Option<PauseMark>> {
        let config = self.config()?;
        self.pause_of(self.member_of(&config, name)?)
    }

    pub(crate) fn pause_of(&self, member: &Member) -> Result<Option<PauseMark>> {
        let mark: Option<PauseMark> = record::read(&self.at.paused(&member.name))?;
        let spawn = member.spawn_id();
        Ok(mark.filter(|mark| spawn.is_none_or(|spawn| spawn == mark.spawn_id)))
    }

    pub(crate) fn liveness(&self, name: &MemberName) -> Result<Liveness> {
        let config = self.config()?;
        let member = self.member_of(&config, name)?;
        Ok(self.life_in(&config, member)?.0)
    }

    pub(crate) fn lease(&self, name: &MemberName) -> Result<Liveness> {
        Ok(swarm_os::probe(&self.at.life(name))?)
    }

    /// A thread waits in the kernel.
    pub(crate) fn end_of_lease(&self, name: &MemberName) -> LeaseEnd {
        let path = self.at.life(name);
        let (tell, ended) = oneshot::channel();
        let waiter = thread::Builder::new().name("waits for a lease".to_owned());
        let spawned = waiter.spawn(move || {
            // The receiver may have been dropped.
            drop(tell.send(swarm_os::wait_for_death(&path).map_err(StoreError::from)));
        });
        if let Err(error) = spawned {
            tracing::warn!(%error, "cannot start a thread that waits for a lease: only sweeps notice its end");
            let (silent, never) = oneshot::channel();
            std::mem::forget(silent);
            return never;
        }
        ended
    }

    #[expect(
        clippy::unused_self,
        clippy::unnecessary_wraps,
        reason = "the kernel releases the locks of the dead"
    )]
    pub(crate) fn end_lease(&self, _name: &MemberName, _spawn: SpawnId) -> Result<()> {
        Ok(())
    }

    pub(crate) fn life_record(&self, name: &MemberName) -> Option<LifeRecord> {
        record::read(&self.at.life(name)).ok().flatten()
    }

    #[expect(clippy::unused_self, reason = "a lock is not lost")]
    pub(crate) fn parked_process(&self, _name: &MemberName) -> Option<LifeRecord> {
        None
    }

    pub(crate) fn local_directory(&self, name: &MemberName) -> PathBuf {
        self.at.member(name)
    }

    pub(crate) fn life_record_here(&self, name: &MemberName) -> Option<LifeRecord> {
        self.life_record(name)
    }

    pub(crate) fn names_on_disk(&self) -> Result<Vec<MemberName>> {
        self.at.names_of_members()
    }

    pub(crate) fn take_life(&self, name: &MemberName, record: &LifeRecord) -> Result<Lease> {
        let path = self.at.life(name);
        let content = record::line(&path, record)?;
        let taken = self
            .refuse_links()
            .and_then(|()| refuse_linked_directory(&path))
            .and_then(|()| Ok(LifeHolder::take(&path, &content)?));
        match taken {
            Ok(held) => Ok(Lease::new(Box::new(held))),
            Err(StoreError::Fs(held @ OsError::LockTimeout { .. })) => Err(StoreError::LeaseHeld {
                team: self.team.clone(),
                name: name.clone(),
                reason: held.to_string(),
            }),
            Err(error) => Err(self.explain(error)),
        }
    }
}

impl FileTeam {
    pub(crate) fn remove_pause(&self, name: &MemberName) -> Result<()> {
        let path = self.at.paused(name);
        remove_if_present(&path)
            .map_err(|source| StoreError::Fs(OsError::io(&path, "remove", source)))
    }

    /// Writes a report of a process without sync: it is obsolete after a reboot.
    fn write_passing<T: Serialize>(&self, path: &Path, content: &T) -> Result<()> {
        let content = record::pretty(path, content)?;
        let written = refuse_linked_directory(path)
            .and_then(|()| Ok(swarm_os::replace_passing(path, &content)?));
        written.map_err(|error| self.explain(error))
    }

    /// Keeps the entry of a member that leaves the roster, with its conversation.
    pub(crate) fn write_former(&self, member: &Member) -> Result<()> {
        let path = self.at.former(&member.name);
        swarm_os::ensure_private_dir(&self.at.member(&member.name))?;
        if let Err(error) = self.former_member(&member.name) {
            let kept = swarm_os::quarantine(&path)?;
            tracing::warn!(%error, kept = %kept.display(), "record of a former member set aside");
        }
        write_alone(&path, member)
    }

    pub(crate) fn read_own<T: serde::de::DeserializeOwned>(
        &self,
        path: &Path,
    ) -> Result<Option<T>> {
        // Written in place: this may be a partial write.
        let found = record::read(path).or_else(|_| record::read(path))?;
        if found.is_none() && !self.exists() {
            return Err(self.not_found());
        }
        Ok(found)
    }

    /// Returns whether the current spawn of a member is alive. A life lock held by another spawn of
    /// the same name does not count.
    pub(crate) fn life_of(&self, member: &Member) -> Result<Liveness> {
        Ok(self.process_of(member)?.0)
    }

    /// Returns the liveness and the life record of the running process.
    fn process_of(&self, member: &Member) -> Result<(Liveness, Option<LifeRecord>)> {
        let path = self.at.life(&member.name);
        let (found, content) = swarm_os::probe_and_read(&path)?;
        // Only the lock counts; the content may be unreadable.
        let holder = content.and_then(|bytes| record::parse(&path, &bytes).ok());
        Ok(life_of(member, found, holder))
    }

    /// Like [`Self::life_of`] for any member: a lead without a life file is identified by its
    /// process.
    fn life_in(
        &self,
        config: &TeamConfig,
        member: &Member,
    ) -> Result<(Liveness, Option<LifeRecord>)> {
        Ok(life_in(config, member, self.process_of(member)?))
    }

    /// Fails while another process leads the team.
    pub(crate) fn refuse_if_led(&self, config: Option<&TeamConfig>) -> Result<()> {
        let path = self.at.life(&MemberName::lead());
        let named = config.and_then(|config| config.lead_process.as_ref());
        let lease = swarm_os::probe(&path)?;
        let holder = record::read::<LifeRecord>(&path).ok().flatten();
        refuse_if_led(&self.team, named, lease, holder)
    }

    pub(crate) fn view_of(&self, config: &TeamConfig, member: &Member) -> Result<MemberView> {
        let (liveness, process) = self.life_in(config, member)?;
        let (unread, damaged_inbox) = self.count_unread(&member.name);
        let known = MemberFacts {
            liveness,
            process,
            parked_on: None,
            unread,
            damaged_inbox,
            // An unreadable report is ignored; it must not hide the other members.
            report: self.state(&member.name).unwrap_or_else(|error| {
                tracing::warn!(team = %self.team, member = %member.name, %error, "state report not read");
                None
            }),
            pause: self.pause_of(member).unwrap_or_else(|error| {
                tracing::warn!(team = %self.team, member = %member.name, %error, "pause mark not read");
                None
            }),
        };
        Ok(MemberView::of(config, member, known))
    }
}

/// Writes a file that has only one writer.
pub(crate) fn write_alone<T: Serialize>(path: &Path, content: &T) -> Result<()> {
    refuse_linked_directory(path)?;
    Ok(swarm_os::replace_alone(
        path,
        &record::pretty(path, content)?,
    )?)
}

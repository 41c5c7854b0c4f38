//! The operations on the roster.

use swarm_os::{LockGuard, PendingSync};
use swarm_protocol::{
    LeadProcess, Member, MemberName, PauseMark, PermissionMode, SpawnId, TaskId, TeamConfig,
};

use crate::file::presence::write_alone;
use crate::file::record;
use crate::file::team::{FileTeam, is_there};
use crate::roster::{
    Place, allow_path, clear_lost_lead, commit, disallow_path, member_of, removable,
    set_lead_process, set_lead_session,
};
use crate::tasks::Returned;
use crate::{NewMember, ReconcileReport, RemovedMember, Result, StoppedSpawn, StoreError};

/// Reads of a roster that may be partly written, before it counts as damaged.
const PARTIAL_READS: usize = 3;

impl FileTeam {
    pub(crate) fn known_config(&self) -> Result<TeamConfig> {
        self.config()
    }

    pub(crate) fn config(&self) -> Result<TeamConfig> {
        // Claude Code writes in place under the lock, so this may be a partial write, which may be
        // complete by the time the lock is looked at.
        for _attempt in 0..PARTIAL_READS {
            match self.read_config() {
                Err(StoreError::Damaged { .. }) if is_there(&self.at.config_lock()) => {
                    return self.with_roster_lock(|_held| self.read_config());
                }
                Err(StoreError::Damaged { .. }) => {}
                read => return read,
            }
        }
        self.read_config()
    }

    pub(crate) fn reserve_into(
        &self,
        new: &NewMember,
        done: &mut ReconcileReport,
    ) -> Result<Member> {
        let (member, pending) = self.with_roster_lock(|held| self.hold_place(held, new, done))?;
        // Without the lock, so that concurrent spawns wait for the disk together.
        if let Err(error) = pending.sync() {
            if let Err(left) = self.abort_spawn(&new.spawn_id, "it could not be saved") {
                tracing::warn!(team = %self.team, member = %new.entry.name, error = %left, "a failed reservation stays until it lapses");
            }
            return Err(error.into());
        }
        Ok(member)
    }

    pub(crate) fn commit_spawn(&self, spawn: SpawnId, place: &Place) -> Result<Member> {
        let (member, pending) = self.with_roster_lock(|held| {
            let mut config = self.read_config()?;
            let hello_of = |name: &MemberName| self.hello(name);
            let (member, event) = commit(&self.team, &mut config, spawn, place.clone(), hello_of)?;
            let Some(event) = event else {
                return Ok((member, PendingSync::default()));
            };
            let placed = self.place_config(held, &config)?;
            // A leftover undo file is harmless once the reservation has left the roster.
            if let Err(error) = self.forget_undo(&member.name) {
                tracing::warn!(team = %self.team, member = %member.name, %error, "left behind");
            }
            Ok((member, placed.and(self.enter_done([event]))))
        })?;
        // Without the lock: the child already sees its commit, and concurrent spawns wait for the
        // disk together.
        pending.sync()?;
        Ok(member)
    }

    pub(crate) fn abort_spawn(&self, spawn: &SpawnId, reason: &str) -> Result<bool> {
        self.with_roster_lock(|held| {
            let mut config = self.read_config()?;
            let undone = self.undo_reservation(&mut config, *spawn)?;
            if let Some(member) = &undone {
                self.write_config(held, &config)?;
                self.note_undone(member, *spawn, reason)?;
            }
            Ok(undone.is_some())
        })
    }

    pub(crate) fn remove_member(
        &self,
        name: &MemberName,
        stopped: Option<&StoppedSpawn>,
    ) -> Result<Option<RemovedMember>> {
        self.with_roster_lock(|held| {
            let mut config = self.read_config()?;
            let spawn = stopped.map(|stopped| stopped.spawn_id);
            let Some(at) = removable(&config, name, spawn) else {
                return Ok(None);
            };
            let member = config.members.remove(at);
            let returned = Returned {
                owner: member.id_in(&self.team),
                spawn_id: member.spawn_id(),
                failed_because: None,
            };
            self.write_former(&member)?;
            self.close_requests_of(&member)?;
            let enter = |_: &[TaskId]| {
                stopped.map_or(Ok(()), |stopped| {
                    self.record_end(stopped.spawn_id, stopped.event(name))
                })
            };
            // It leaves the roster before the tasks can be claimed again, even by itself.
            let leave = || self.write_config(held, &config);
            let released = self.return_tasks(&returned, enter, leave)?;
            self.forget_undo(name)?;
            let mark = member.swarm.as_ref();
            // A recorded death has already been reported.
            if let Some(mark) = mark.filter(|mark| mark.died_at.is_none())
                && let Err(error) = self.report_stop(&config, name, mark.spawn_id, &released)
            {
                // The member has left in any case.
                tracing::warn!(team = %self.team, member = %name, %error, "cannot notify the lead of a departed member");
            }
            Ok(Some(RemovedMember { member, released }))
        })
    }

    pub(crate) fn former_member(&self, name: &MemberName) -> Result<Option<Member>> {
        self.read_own(&self.at.former(name))
    }

    pub(crate) fn set_active(&self, name: &MemberName, active: bool) -> Result<()> {
        let is_so = |member: &Member| member.is_active == Some(active);
        self.note_of(name, is_so, |member| member.is_active = Some(active))
    }

    pub(crate) fn add_allowed_path(&self, path: &str, tool: &str) -> Result<()> {
        self.update_config(|config| {
            allow_path(config, path, tool, self.now());
            Ok(())
        })
        .map(drop)
    }

    pub(crate) fn remove_allowed_path(&self, path: &str, tool: &str) -> Result<()> {
        self.update_config(|config| {
            disallow_path(config, path, tool);
            Ok(())
        })
        .map(drop)
    }

    pub(crate) fn set_mode(&self, name: &MemberName, mode: PermissionMode) -> Result<()> {
        let is_so = |member: &Member| member.mode.as_deref() == Some(mode.name());
        self.note_of(name, is_so, |member| {
            member.mode = Some(mode.name().to_owned());
        })
    }

    pub(crate) fn set_lead_process(&self, lead: Option<&LeadProcess>) -> Result<()> {
        self.update_config(|config| set_lead_process(&self.team, config, lead.cloned()))
            .map(drop)
    }

    pub(crate) fn set_lead_session(&self, session_id: &str, model: &str) -> Result<()> {
        self.update_config(|config| {
            set_lead_session(config, session_id, model);
            Ok(())
        })
        .map(drop)
    }

    pub(crate) fn clear_lost_lead(&self, lost: &LeadProcess) -> Result<()> {
        self.update_config(|config| {
            self.refuse_if_led(Some(config))?;
            clear_lost_lead(&self.team, config, lost)
        })
        .map(drop)
    }

    pub(crate) fn set_paused(
        &self,
        name: &MemberName,
        mark: Option<&PauseMark>,
    ) -> Result<Option<PauseMark>> {
        self.with_roster_lock(|_held| {
            let config = self.read_config()?;
            let member = self.member_of(&config, name)?;
            let before = self.pause_of(member).unwrap_or_else(|error| {
                tracing::warn!(team = %self.team, member = %name, %error, "pause mark not read");
                None
            });
            match mark {
                Some(mark) if member.spawn_id() != Some(mark.spawn_id) => {
                    return Err(StoreError::SpawnGone {
                        team: self.team.clone(),
                        spawn_id: mark.spawn_id,
                    });
                }
                Some(mark) if before.is_none() => write_alone(&self.at.paused(name), mark)?,
                Some(_) => {}
                None => self.remove_pause(name)?,
            }
            Ok(before)
        })
    }
}

impl FileTeam {
    /// Sets a field of a member that other programs display.
    fn note_of(
        &self,
        name: &MemberName,
        is_so: impl Fn(&Member) -> bool,
        note: impl FnOnce(&mut Member),
    ) -> Result<()> {
        // Read without the lock first: most calls change nothing.
        if is_so(self.member_of(&self.config()?, name)?) {
            return Ok(());
        }
        self.with_roster_lock(|held| {
            let mut config = self.read_config()?;
            self.member_of(&config, name)?;
            if let Some(member) = config.member_mut(name) {
                note(member);
            }
            // Not synced: only for programs that are running now.
            let _pending = self.place_config(held, &config)?;
            Ok(())
        })
    }

    /// Changes the roster under its lock and returns it as written. Nothing is written when
    /// `change` fails or changes nothing.
    pub(crate) fn update_config(
        &self,
        change: impl FnOnce(&mut TeamConfig) -> Result<()>,
    ) -> Result<TeamConfig> {
        self.with_roster_lock(|held| {
            let before = self.read_config()?;
            let mut config = before.clone();
            change(&mut config)?;
            if config != before {
                self.write_config(held, &config)?;
            }
            Ok(config)
        })
    }

    pub(crate) fn read_config(&self) -> Result<TeamConfig> {
        record::read_overwritten(&self.at.config())?.ok_or_else(|| self.not_found())
    }

    pub(crate) fn write_config(&self, held: &LockGuard, config: &TeamConfig) -> Result<()> {
        Ok(self.place_config(held, config)?.sync()?)
    }

    /// The same without the wait for the disk.
    pub(crate) fn place_config(
        &self,
        held: &LockGuard,
        config: &TeamConfig,
    ) -> Result<PendingSync> {
        let path = self.at.config();
        Ok(held.place(&path, &record::pretty(&path, config)?)?)
    }

    pub(crate) fn require_member(&self, name: &MemberName) -> Result<()> {
        self.member_of(&self.config()?, name).map(drop)
    }

    pub(crate) fn member_of<'c>(
        &self,
        config: &'c TeamConfig,
        name: &MemberName,
    ) -> Result<&'c Member> {
        member_of(&self.team, config, name)
    }
}

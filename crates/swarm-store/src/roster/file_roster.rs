//! The operations on the roster.

use std::path::PathBuf;

use serde_json::{Value, json};
use swarm_os::{LockGuard, PendingSync};
use swarm_protocol::{
    BackendType, Event, Hello, LEAD_NAME, LeadProcess, Member, MemberName, PaneId, PauseMark,
    PermissionMode, SpawnId, SpawnTerms, TeamConfig,
};

use super::{NewMember, RemovedMember};
use crate::file_team::{FileTeam, is_there};
use crate::member_files::write_alone;
use crate::reconcile::ReconcileReport;
use crate::tasks::Returned;
use crate::{Result, StoreError, process, record};

/// Reads of a roster that may be partly written, before it counts as damaged.
const PARTIAL_READS: usize = 3;

impl FileTeam {
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
                tracing::warn!(team = %self.team, member = %new.name, error = %left, "a failed reservation stays until it lapses");
            }
            return Err(error.into());
        }
        Ok(member)
    }

    pub(crate) fn commit_spawn(
        &self,
        spawn: &SpawnId,
        pane: PaneId,
        backend: BackendType,
        socket: Option<PathBuf>,
    ) -> Result<Member> {
        let spawn = *spawn;
        let (member, pending) = self.with_roster_lock(|held| {
            let mut config = self.read_config()?;
            let Some(at) = position_of(&config, spawn) else {
                return Err(StoreError::SpawnGone {
                    team: self.team.clone(),
                    spawn_id: spawn,
                });
            };
            let member = &mut config.members[at];
            let reserved = member.swarm.as_mut().filter(|m| m.reservation.is_some());
            let Some(mark) = reserved else {
                return Ok((member.clone(), PendingSync::default()));
            };
            mark.reservation = None;
            mark.socket = socket;
            member.tmux_pane_id = pane;
            member.backend_type = Some(backend);
            let hello = self.hello(&member.name)?;
            let hello = hello.filter(|hello| hello.spawn_id == spawn);
            if let Some(hello) = &hello {
                member.session_id = Some(hello.session_id.to_string());
            }
            let member = member.clone();
            let placed = self.place_config(held, &config)?;
            // A leftover undo file is harmless once the reservation has left the roster.
            if let Err(error) = self.forget_undo(&member.name) {
                tracing::warn!(team = %self.team, member = %member.name, %error, "left behind");
            }
            let entered = self.enter_done([Event::SpawnCommitted {
                member: member.name.clone(),
                spawn_id: spawn,
                pid: hello.as_ref().map_or(0, |hello| hello.pid),
                terms: Box::new(terms(&member, hello)),
            }]);
            Ok((member, placed.and(entered)))
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
        spawn: Option<&SpawnId>,
    ) -> Result<Option<RemovedMember>> {
        self.with_roster_lock(|held| {
            let mut config = self.read_config()?;
            let at = config.members.iter().position(|member| {
                let wanted = spawn.is_none_or(|spawn| member.spawn_id() == Some(*spawn));
                member.name == *name && !name.is_lead() && wanted
            });
            let Some(at) = at else {
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
            // It leaves the roster before the tasks can be claimed again, even by itself.
            let released = self.return_tasks(
                &returned,
                |_tasks| Ok(()),
                || self.write_config(held, &config),
            )?;
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
        let entry = json!({
            "path": path, "toolName": tool, "addedBy": LEAD_NAME, "addedAt": self.now(),
        });
        self.update_config(|config| {
            let paths = config
                .rest
                .entry("teamAllowedPaths")
                .or_insert_with(|| json!([]));
            let is_same = |known: &Value| known["path"] == *path && known["toolName"] == *tool;
            if let Value::Array(paths) = paths
                && !paths.iter().any(is_same)
            {
                paths.push(entry);
            }
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

    pub(crate) fn set_lead_process(&self, lead: Option<LeadProcess>) -> Result<()> {
        self.update_config(|config| {
            let other = config.lead_process.as_ref().filter(|present| {
                let same = lead.as_ref().is_some_and(|new| is_same(new, present));
                !same && present.pid != std::process::id()
            });
            if let Some(other) = other
                && process::lead_is_running(other) == Some(true)
            {
                return Err(self.led_by(other.pid));
            }
            config.lead_process = lead;
            Ok(())
        })
        .map(drop)
    }

    pub(crate) fn set_lead_session(&self, session_id: &str, model: &str) -> Result<()> {
        self.update_config(|config| {
            config.lead_session_id = Some(session_id.to_owned());
            if let Some(lead) = config.member_mut(&MemberName::lead()) {
                lead.model = Some(model.to_owned());
            }
            Ok(())
        })
        .map(drop)
    }

    pub(crate) fn clear_lost_lead(&self, lost: &LeadProcess) -> Result<()> {
        self.update_config(|config| {
            self.refuse_if_led(Some(config))?;
            match &config.lead_process {
                Some(present) if !is_same(present, lost) => Err(self.led_by(present.pid)),
                _ => {
                    config.lead_process = None;
                    Ok(())
                }
            }
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
        record::read(&self.at.config())?.ok_or_else(|| self.not_found())
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
        config
            .member(name)
            .ok_or_else(|| StoreError::MemberNotFound {
                team: self.team.clone(),
                name: name.clone(),
                known: config.names(),
            })
    }
}

fn is_same(a: &LeadProcess, b: &LeadProcess) -> bool {
    a.pid == b.pid && a.proc_start == b.proc_start && a.pid_space == b.pid_space
}

/// Returns the index of a spawn in the roster.
pub(crate) fn position_of(config: &TeamConfig, spawn: SpawnId) -> Option<usize> {
    config
        .members
        .iter()
        .position(|member| member.spawn_id() == Some(spawn))
}

/// Returns the terms from the member's hello, completed from its roster entry.
fn terms(member: &Member, hello: Option<Hello>) -> SpawnTerms {
    let reserved = SpawnTerms {
        agent_type: member.agent_type.clone(),
        model: member.model.clone(),
        mode: member.mode.clone(),
        cwd: Some(member.cwd.clone()),
        worktree: member.worktree_path.clone(),
        backend: member.backend_type.clone(),
        pane: Some(member.tmux_pane_id.clone()),
    };
    let Some(hello) = hello else { return reserved };
    SpawnTerms {
        model: Some(hello.model),
        mode: Some(hello.mode.to_string()),
        cwd: Some(hello.cwd),
        worktree: hello.worktree.map(|worktree| worktree.toplevel),
        ..reserved
    }
}

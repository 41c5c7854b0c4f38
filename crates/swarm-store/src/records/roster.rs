//! The roster of a team in records.

use std::path::Path;
use std::sync::Arc;

use swarm_protocol::{
    Event, LeadProcess, Member, MemberName, MessageId, PauseMark, PermissionMode, SpawnId,
    TeamConfig,
};

use super::seen::FormerMembers;
use super::team::RecordsTeam;
use super::values;
use crate::roster::{
    Place, RosterRules, Undo, allow_path, clear_lost_lead, commit, disallow_path, member_of,
    position_of, refuse_if_led, removable, reserved, restore, set_lead_process, set_lead_session,
};
use crate::{NewMember, ReconcileReport, RemovedMember, Result, StoppedSpawn, StoreError};

impl RecordsTeam {
    pub(super) fn config(&self) -> Result<TeamConfig> {
        Ok(self.read(&values::roster())?.config)
    }

    /// Returns the roster, without changes that were not heard of yet.
    pub(super) fn roster_seen(&self) -> Result<Arc<TeamConfig>> {
        Ok(self.roster_and_former()?.0)
    }

    fn roster_and_former(&self) -> Result<(Arc<TeamConfig>, FormerMembers)> {
        let read = || {
            let roster = self.read(&values::roster())?;
            Ok((Arc::new(roster.config), Arc::new(roster.former)))
        };
        self.as_heard(&self.seen.known.roster, values::roster().key, read)
    }

    /// Returns the roster as it was last heard of.
    pub(super) fn known_config(&self) -> Result<TeamConfig> {
        Ok(TeamConfig::clone(&*self.roster_seen()?))
    }

    /// The place is taken first, then the prompt is sent. A reservation whose prompt cannot be sent
    /// is undone.
    pub(super) fn reserve_into(
        &self,
        new: &NewMember,
        done: &mut ReconcileReport,
    ) -> Result<Member> {
        self.reconcile_some(|name| *name == new.entry.name, done)?;
        swarm_os::ensure_private_dir(&self.local_directory(&new.entry.name))?;
        let prompt = new.prompt.is_some().then(MessageId::random);
        let member = self.change(&values::roster(), |roster, events| {
            let rules = RosterRules {
                team: &self.team,
                config: &roster.config,
                now: self.now(),
                life_of: &|member| self.life_of(member),
            };
            let at = rules.place_for(new, self.limits.max_members)?;
            let previous = at.map(|at| roster.config.members[at].clone());
            let member = rules.entry_for(new, previous.as_ref());
            match at {
                Some(at) => roster.config.members[at] = member.clone(),
                None => roster.config.members.push(member.clone()),
            }
            let undo = Undo {
                spawn_id: new.spawn_id,
                prompt: prompt.clone(),
                had_inbox: self.has_inbox(&new.entry.name)?,
                previous,
            };
            roster.undo.insert(new.entry.name.clone(), undo);
            events.push(Event::SpawnReserved {
                member: new.entry.name.clone(),
                spawn_id: new.spawn_id,
                socket: new.socket.clone(),
            });
            Ok(member)
        })?;
        if let (Some(draft), Some(id)) = (new.prompt.clone(), prompt)
            && let Err(error) = self.deliver_prompt(new, draft, id)
        {
            self.undo_reservation(new.spawn_id, "the prompt was not sent")?;
            return Err(error);
        }
        Ok(member)
    }

    pub(super) fn commit_spawn(&self, spawn: SpawnId, place: &Place) -> Result<Member> {
        self.change(&values::roster(), |roster, events| {
            let hello_of = |name: &MemberName| self.hello(name);
            let (member, event) = commit(
                &self.team,
                &mut roster.config,
                spawn,
                place.clone(),
                hello_of,
            )?;
            roster.undo.remove(&member.name);
            // It was committed before.
            events.changes_nothing = event.is_none();
            events.extend(event);
            Ok(member)
        })
    }

    pub(super) fn abort_spawn(&self, spawn: &SpawnId, reason: &str) -> Result<bool> {
        Ok(self.undo_reservation(*spawn, reason)?.is_some())
    }

    /// The roster decides whether the reservation still exists; then its prompt is withdrawn.
    pub(super) fn undo_reservation(
        &self,
        spawn: SpawnId,
        reason: &str,
    ) -> Result<Option<MemberName>> {
        let is_reserved = |config: &TeamConfig| reserved(config, spawn).is_some();
        if !is_reserved(&*self.roster_seen()?) && !is_reserved(&self.config()?) {
            return Ok(None);
        }
        let undone = self.change(&values::roster(), |roster, events| {
            let Some((at, name)) = reserved(&roster.config, spawn) else {
                return Ok(None);
            };
            let undo = roster.undo.remove(&name);
            let undo = undo.filter(|undo| undo.spawn_id == spawn);
            let previous = undo.as_ref().and_then(|undo| undo.previous.clone());
            restore(&mut roster.config, at, previous);
            events.push(Event::SpawnAborted {
                member: name.clone(),
                spawn_id: spawn,
                reason: reason.to_owned(),
            });
            Ok(Some((name, undo)))
        })?;
        let Some((name, undo)) = undone else {
            return Ok(None);
        };
        if let Some(undo) = undo {
            self.withdraw(&name, undo.prompt.as_ref(), !undo.had_inbox)?;
        }
        Ok(Some(name))
    }

    /// Its tasks are released first, together with the event of its end, which also keeps it from
    /// claiming others, and it leaves the roster last, so that an interrupted removal is completed
    /// by the next one.
    pub(super) fn remove_member(
        &self,
        name: &MemberName,
        stopped: Option<&StoppedSpawn>,
    ) -> Result<Option<RemovedMember>> {
        let spawn = stopped.map(|stopped| stopped.spawn_id);
        let config = self.config()?;
        let Some(at) = removable(&config, name, spawn) else {
            return Ok(None);
        };
        let member = config.members[at].clone();
        let mark = member.swarm.as_ref();
        let has_died = mark.is_some_and(|mark| mark.died_at.is_some());
        let released = self.release_tasks_of(&member, has_died, stopped)?;
        self.close_requests_of(&member)?;
        // A recorded death has already been reported.
        if let Some(spawn) = member.spawn_id().filter(|_| !has_died) {
            self.report_stop(&config, name, spawn, &released)?;
        }
        let removed = self.change(&values::roster(), |roster, _events| {
            let Some(at) = removable(&roster.config, name, spawn) else {
                return Ok(None);
            };
            if roster.config.members[at].spawn_id() != member.spawn_id() {
                return Ok(None);
            }
            let member = roster.config.members.remove(at);
            roster.former.insert(name.clone(), member.clone());
            roster.undo.remove(name);
            Ok(Some(member))
        })?;
        Ok(removed.map(|member| RemovedMember { member, released }))
    }

    pub(super) fn add_external(&self, name: &MemberName, cwd: &Path) -> Result<Member> {
        self.change(&values::roster(), |roster, events| {
            let rules = RosterRules {
                team: &self.team,
                config: &roster.config,
                now: self.now(),
                life_of: &|member| self.life_of(member),
            };
            let member = rules.external(name, cwd)?;
            roster.config.members.push(member.clone());
            events.push(Event::MemberAdded {
                member: name.clone(),
            });
            Ok(member)
        })
    }

    pub(super) fn former_member(&self, name: &MemberName) -> Result<Option<Member>> {
        Ok(self.roster_and_former()?.1.get(name).cloned())
    }

    pub(super) fn set_active(&self, name: &MemberName, active: bool) -> Result<()> {
        self.note_of(name, |member| member.is_active = Some(active))
    }

    pub(super) fn set_mode(&self, name: &MemberName, mode: PermissionMode) -> Result<()> {
        self.note_of(name, |member| member.mode = Some(mode.name().to_owned()))
    }

    pub(super) fn add_allowed_path(&self, path: &str, tool: &str) -> Result<()> {
        self.change_config(|config| {
            allow_path(config, path, tool, self.now());
            Ok(())
        })
    }

    pub(super) fn remove_allowed_path(&self, path: &str, tool: &str) -> Result<()> {
        self.change_config(|config| {
            disallow_path(config, path, tool);
            Ok(())
        })
    }

    pub(super) fn set_lead_process(&self, lead: Option<&LeadProcess>) -> Result<()> {
        self.change_config(|config| set_lead_process(&self.team, config, lead.cloned()))
    }

    pub(super) fn set_lead_session(&self, session_id: &str, model: &str) -> Result<()> {
        self.change_config(|config| {
            set_lead_session(config, session_id, model);
            Ok(())
        })
    }

    pub(super) fn clear_lost_lead(&self, lost: &LeadProcess) -> Result<()> {
        self.change_config(|config| {
            let (lease, holder) = self.lease_of(&MemberName::lead())?;
            refuse_if_led(&self.team, config.lead_process.as_ref(), lease, holder)?;
            clear_lost_lead(&self.team, config, lost)
        })
    }

    pub(super) fn set_paused(
        &self,
        name: &MemberName,
        mark: Option<&PauseMark>,
    ) -> Result<Option<PauseMark>> {
        self.change(&values::reports(name), |reports, _events| {
            let config = self.config()?;
            let spawn = member_of(&self.team, &config, name)?.spawn_id();
            let before = reports.pause.clone();
            let before = before.filter(|mark| spawn.is_none_or(|spawn| spawn == mark.spawn_id));
            match mark {
                Some(mark) if spawn != Some(mark.spawn_id) => {
                    return Err(StoreError::SpawnGone {
                        team: self.team.clone(),
                        spawn_id: mark.spawn_id,
                    });
                }
                Some(mark) if before.is_none() => reports.pause = Some(mark.clone()),
                Some(_) => {}
                None => reports.pause = None,
            }
            Ok(before)
        })
    }

    fn note_of(&self, name: &MemberName, note: impl Fn(&mut Member)) -> Result<()> {
        self.change_config(|config| {
            member_of(&self.team, config, name)?;
            if let Some(member) = config.member_mut(name) {
                note(member);
            }
            Ok(())
        })
    }

    fn change_config(&self, mut edit: impl FnMut(&mut TeamConfig) -> Result<()>) -> Result<()> {
        self.change(&values::roster(), |roster, _events| {
            edit(&mut roster.config)
        })
    }

    /// Returns whether a spawn is in the roster.
    pub(super) fn has_spawn(&self, spawn: SpawnId) -> Result<bool> {
        Ok(position_of(&self.config()?, spawn).is_some())
    }
}

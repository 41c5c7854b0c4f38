//! Reserving a roster entry for a spawn, and adding members that other programs run.

use std::path::Path;

use swarm_os::{LockGuard, PendingSync};
use swarm_protocol::{Event, Member, MemberName, MessageId, TeamConfig};

use crate::file::team::{FileTeam, is_surely_there};
use crate::roster::{RosterRules, Undo};
use crate::{NewMember, ReconcileReport, Result};

impl FileTeam {
    pub(super) fn hold_place(
        &self,
        held: &LockGuard,
        new: &NewMember,
        done: &mut ReconcileReport,
    ) -> Result<(Member, PendingSync)> {
        let mut config = self.read_config()?;
        // The death of an earlier member of this name is recorded before its entry is removed.
        self.reconcile_some(held, &mut config, |name| *name == new.entry.name, done)?;
        let max_members = self.store.limits.max_members;
        let at = self.with_rules(&config, |rules| rules.place_for(new, max_members))?;
        let room = self.make_room(new)?;
        let undo = Undo {
            spawn_id: new.spawn_id,
            prompt: new.prompt.is_some().then(MessageId::random),
            had_inbox: is_surely_there(&self.at.inbox(&new.entry.name))?,
            previous: at.map(|at| config.members[at].clone()),
        };
        let mut pending = room.and(self.remember_undo(held, &new.entry.name, &undo)?);
        if undo.previous.is_some() {
            // The roster entry of the dead member is overwritten next, so this must be on disk
            // first.
            std::mem::take(&mut pending).sync()?;
        }
        let previous = undo.previous.as_ref();
        let member = self.with_rules(&config, |rules| rules.entry_for(new, previous));
        match at {
            Some(at) => config.members[at] = member.clone(),
            None => config.members.push(member.clone()),
        }
        let placed = self.place_config(held, &config)?;
        match self.announce(new, undo.prompt) {
            Ok(announced) => Ok((member, pending.and(placed).and(announced))),
            Err(error) => {
                self.undo_failed(held, &mut config, new);
                Err(error)
            }
        }
    }

    /// Adds a member without fields of swarm, as other programs do.
    pub(crate) fn add_external(&self, name: &MemberName, cwd: &Path) -> Result<Member> {
        let (member, pending) = self.with_roster_lock(|held| {
            let mut config = self.read_config()?;
            let member = self.with_rules(&config, |rules| rules.external(name, cwd))?;
            swarm_os::ensure_private_dir(&self.at.member(name))?;
            swarm_os::create_sidecar(&self.at.inbox_lock(name))?;
            config.members.push(member.clone());
            let placed = self.place_config(held, &config)?;
            let entered = self.enter([Event::MemberAdded {
                member: name.clone(),
            }])?;
            Ok((member, placed.and(entered)))
        })?;
        pending.sync()?;
        Ok(member)
    }

    fn with_rules<T>(&self, config: &TeamConfig, ask: impl FnOnce(RosterRules<'_>) -> T) -> T {
        ask(RosterRules {
            team: &self.team,
            config,
            now: self.now(),
            life_of: &|member| self.life_of(member),
        })
    }

    /// Creates the member's directory and the sidecar of its inbox.
    fn make_room(&self, new: &NewMember) -> Result<PendingSync> {
        let made = swarm_os::place_private_dir(&self.at.member(&new.entry.name))?;
        swarm_os::create_sidecar(&self.at.inbox_lock(&new.entry.name))?;
        Ok(made)
    }

    /// Records the reservation in the journal and sends the prompt.
    fn announce(&self, new: &NewMember, prompt: Option<MessageId>) -> Result<PendingSync> {
        let entered = self.enter([Event::SpawnReserved {
            member: new.entry.name.clone(),
            spawn_id: new.spawn_id,
            socket: new.socket.clone(),
        }])?;
        let (Some(draft), Some(id)) = (new.prompt.clone(), prompt) else {
            return Ok(entered);
        };
        let delivered = self.with_inbox_lock(&new.entry.name, |held| {
            self.deliver(held, &new.entry.name, draft, id)
        })?;
        Ok(entered.and(delivered))
    }

    /// Undoes a failed reservation. If that fails too, the reservation expires.
    fn undo_failed(&self, held: &LockGuard, config: &mut TeamConfig, new: &NewMember) {
        let undone = self
            .undo_reservation(config, new.spawn_id)
            .and_then(|_member| self.write_config(held, config))
            .and_then(|()| {
                self.note_undone(&new.entry.name, new.spawn_id, "the prompt was not sent")
            });
        if let Err(error) = undone {
            tracing::warn!(team = %self.team, member = %new.entry.name, %error, "a failed reservation stays until it lapses");
        }
    }
}

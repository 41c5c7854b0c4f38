//! Reserving a roster entry for a spawn, and adding members that other programs run.

use std::path::Path;

use swarm_os::{Liveness, LockGuard, PendingSync};
use swarm_protocol::{
    AgentId, Color, Event, Member, MemberName, MessageId, PaneId, Reservation, SwarmMember,
    TeamConfig, sanitized_collision,
};

use super::NewMember;
use super::undo::Undo;
use crate::file_team::{FileTeam, is_surely_there};
use crate::reconcile::ReconcileReport;
use crate::{Result, StoreError, process};

impl FileTeam {
    pub(super) fn hold_place(
        &self,
        held: &LockGuard,
        new: &NewMember,
        done: &mut ReconcileReport,
    ) -> Result<(Member, PendingSync)> {
        let mut config = self.read_config()?;
        // The death of an earlier member of this name is recorded before its entry is removed.
        self.reconcile_some(held, &mut config, |name| *name == new.name, done)?;
        let at = self.place_for(&config, new)?;
        self.refuse_beyond_cap(&config, new)?;
        self.make_room(new)?;
        let undo = Undo {
            spawn_id: new.spawn_id,
            prompt: new.prompt.is_some().then(MessageId::random),
            had_inbox: is_surely_there(&self.at.inbox(&new.name))?,
            previous: at.map(|at| config.members[at].clone()),
        };
        let mut pending = self.remember_undo(held, &new.name, &undo)?;
        if undo.previous.is_some() {
            // The roster entry of the dead member is overwritten next, so this must be on disk
            // first.
            std::mem::take(&mut pending).sync()?;
        }
        let member = self.entry_for(&config, new, undo.previous.as_ref());
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
            let rival = config
                .members
                .iter()
                .find(|rival| sanitized_collision(rival.name.as_str(), name.as_str()));
            if let Some(rival) = rival {
                return Err(StoreError::NameTaken {
                    team: self.team.clone(),
                    name: name.clone(),
                    holder: format!("the team has the member `{}`", rival.name),
                });
            }
            swarm_os::ensure_private_dir(&self.at.member(name))?;
            swarm_os::create_sidecar(&self.at.inbox_lock(name))?;
            let member = Member {
                agent_id: AgentId::new(name.clone(), self.team.clone()).to_string(),
                name: name.clone(),
                color: Some(free_color(&config).name().to_owned()),
                joined_at: self.now(),
                tmux_pane_id: PaneId::none(),
                backend_type: None,
                is_active: Some(false),
                agent_type: None,
                ..Member::lead(&self.team, cwd.to_owned(), self.now())
            };
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

    /// Returns the index for the new entry: that of a dead member of this name, or `None` for the
    /// end.
    fn place_for(&self, config: &TeamConfig, new: &NewMember) -> Result<Option<usize>> {
        let rivals = config.members.iter().enumerate();
        let mut place = None;
        for (at, rival) in rivals {
            if !sanitized_collision(rival.name.as_str(), new.name.as_str()) {
                continue;
            }
            if let Some(holder) = self.name_conflict(rival, new)? {
                return Err(StoreError::NameTaken {
                    team: self.team.clone(),
                    name: new.name.clone(),
                    holder,
                });
            }
            place = Some(at);
        }
        Ok(place)
    }

    /// Counts members that are running or being spawned. A dead member that is being respawned does
    /// not count.
    fn refuse_beyond_cap(&self, config: &TeamConfig, new: &NewMember) -> Result<()> {
        let limit = self.store.limits.max_members;
        if limit == 0 {
            return Ok(());
        }
        let mut holders = Vec::new();
        for member in config.teammates() {
            let mark = member.swarm.as_ref();
            let is_reserved = mark.is_some_and(|mark| mark.reservation.is_some());
            if is_reserved || self.life_of(member)? != Liveness::Dead {
                holders.push(member.name.clone());
            }
        }
        if holders.len() < limit {
            return Ok(());
        }
        Err(StoreError::TeamFull {
            team: self.team.clone(),
            name: new.name.clone(),
            limit,
            holders,
        })
    }

    /// Returns why a member with the same file names blocks the spawn; `None` if it is dead and can
    /// be replaced.
    fn name_conflict(&self, rival: &Member, new: &NewMember) -> Result<Option<String>> {
        if rival.name != new.name {
            return Ok(Some(format!(
                "it differs from member `{}` only in case, `_` and `-`",
                rival.name
            )));
        }
        if rival.name.is_lead() {
            return Ok(Some("it is the name of the team lead".to_owned()));
        }
        let Some(mark) = &rival.swarm else {
            return Ok(Some("a member of another program has this name".to_owned()));
        };
        if let Some(reservation) = &mark.reservation {
            return Ok(Some(self.spawn_under_way(reservation)));
        }
        Ok(match self.life_of(rival)? {
            Liveness::Dead => None,
            Liveness::Alive => Some("a live member has this name".to_owned()),
            Liveness::Foreign => Some("a member of this name has no life file".to_owned()),
        })
    }

    /// Describes a spawn in progress. The child of a killed spawner may still send hello until the
    /// deadline.
    fn spawn_under_way(&self, reservation: &Reservation) -> String {
        let pid = reservation.spawner_pid;
        if process::is_running(pid, &reservation.spawner_start) != Some(false) {
            return format!("process {pid} is spawning a member of this name");
        }
        let left = reservation.deadline.since(self.now()) / 1000 + 1;
        format!(
            "process {pid} exited while spawning a member of this name, and its child may still start: the name is free in {left} s at the latest"
        )
    }

    /// Creates the member's directory and the sidecar of its inbox.
    fn make_room(&self, new: &NewMember) -> Result<()> {
        swarm_os::ensure_private_dir(&self.at.member(&new.name))?;
        Ok(swarm_os::create_sidecar(&self.at.inbox_lock(&new.name))?)
    }

    fn entry_for(&self, config: &TeamConfig, new: &NewMember, previous: Option<&Member>) -> Member {
        let color = new
            .color
            .or_else(|| previous.and_then(Member::known_color))
            .unwrap_or_else(|| free_color(config));
        let session = new
            .session_id
            .map(|session| session.to_string())
            .or_else(|| previous.and_then(|previous| previous.session_id.clone()));
        Member {
            agent_id: AgentId::new(new.name.clone(), self.team.clone()).to_string(),
            name: new.name.clone(),
            agent_type: new.agent_type.clone(),
            model: new.model.clone(),
            prompt: new.prompt.as_ref().map(|draft| draft.text.clone()),
            color: Some(color.name().to_owned()),
            plan_mode_required: Some(new.plan),
            joined_at: self.now(),
            tmux_pane_id: PaneId::none(),
            cwd: new.cwd.clone(),
            worktree_path: new.worktree_path.clone(),
            session_id: session,
            subscriptions: Some(Vec::new()),
            backend_type: new.backend.clone(),
            is_active: Some(true),
            mode: new.mode.map(|mode| mode.name().to_owned()),
            swarm: Some(SwarmMember {
                socket: new.socket.clone(),
                reservation: Some(new.reservation.clone()),
                runtime: (!new.runtime.is_swarm()).then(|| new.runtime.to_string()),
                ..SwarmMember::new(new.spawn_id)
            }),
            rest: serde_json::Map::new(),
        }
    }

    /// Records the reservation in the journal and sends the prompt.
    fn announce(&self, new: &NewMember, prompt: Option<MessageId>) -> Result<PendingSync> {
        let entered = self.enter([Event::SpawnReserved {
            member: new.name.clone(),
            spawn_id: new.spawn_id,
            socket: new.socket.clone(),
        }])?;
        let (Some(draft), Some(id)) = (new.prompt.clone(), prompt) else {
            return Ok(entered);
        };
        let delivered =
            self.with_inbox_lock(&new.name, |held| self.deliver(held, &new.name, draft, id))?;
        Ok(entered.and(delivered))
    }

    /// Undoes a failed reservation. If that fails too, the reservation expires.
    fn undo_failed(&self, held: &LockGuard, config: &mut TeamConfig, new: &NewMember) {
        let undone = self
            .undo_reservation(config, new.spawn_id)
            .and_then(|_member| self.write_config(held, config))
            .and_then(|()| self.note_undone(&new.name, new.spawn_id, "the prompt was not sent"));
        if let Err(error) = undone {
            tracing::warn!(team = %self.team, member = %new.name, %error, "a failed reservation stays until it lapses");
        }
    }
}

/// Returns the first unused colour; if all are in use, colours repeat.
fn free_color(config: &TeamConfig) -> Color {
    let taken: Vec<Color> = config.teammates().filter_map(Member::known_color).collect();
    let all = 1..Color::ALL.len();
    all.map(Color::nth)
        .find(|color| !taken.contains(color))
        .unwrap_or_else(|| Color::nth(1 + taken.len() % (Color::ALL.len() - 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_go_round_without_the_leads() {
        let mut config: TeamConfig = serde_json::from_str(
            r#"{"name":"t","members":[{"agentId":"team-lead@t","name":"team-lead"}]}"#,
        )
        .unwrap();
        let mut given = Vec::new();
        for index in 0..9 {
            let color = free_color(&config);
            given.push(color.name());
            let entry =
                format!(r#"{{"agentId":"m{index}@t","name":"m{index}","color":"{color}"}}"#);
            config.members.push(serde_json::from_str(&entry).unwrap());
        }
        assert_eq!(
            given,
            [
                "blue", "green", "yellow", "purple", "orange", "pink", "cyan", "blue", "green"
            ]
        );
        config.members.remove(2);
        assert_ne!(free_color(&config), Color::Red);
    }
}

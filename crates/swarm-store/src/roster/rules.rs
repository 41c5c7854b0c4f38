//! Which members may join, and their roster entries. No I/O.

use std::path::Path;

use swarm_os::Liveness;
use swarm_protocol::{
    AgentId, Color, Member, MemberName, PaneId, Reservation, SwarmMember, TeamConfig, TeamName,
    UnixMs, sanitized_collision,
};

use super::NewMember;
use crate::{Result, StoreError, process};

/// A roster whose members are about to change.
#[derive(Clone, Copy)]
pub(crate) struct RosterRules<'a> {
    pub(crate) team: &'a TeamName,
    pub(crate) config: &'a TeamConfig,
    pub(crate) now: UnixMs,
    /// Returns whether the current spawn of a member is alive.
    pub(crate) life_of: &'a dyn Fn(&Member) -> Result<Liveness>,
}

impl RosterRules<'_> {
    /// Returns the index for the new entry: that of a dead member of this name, or `None` for the
    /// end. `max_members` is the limit of [`crate::StoreLimits`].
    pub(crate) fn place_for(&self, new: &NewMember, max_members: usize) -> Result<Option<usize>> {
        let rivals = self.config.members.iter().enumerate();
        let mut place = None;
        for (at, rival) in rivals {
            if !sanitized_collision(rival.name.as_str(), new.entry.name.as_str()) {
                continue;
            }
            if let Some(holder) = self.name_conflict(rival, new)? {
                return Err(self.taken(&new.entry.name, holder));
            }
            place = Some(at);
        }
        self.refuse_beyond_cap(new, max_members)?;
        Ok(place)
    }

    /// Returns the entry of a member without fields of swarm, as other programs write it.
    pub(crate) fn external(&self, name: &MemberName, cwd: &Path) -> Result<Member> {
        let mut members = self.config.members.iter();
        let rival = members.find(|rival| sanitized_collision(rival.name.as_str(), name.as_str()));
        if let Some(rival) = rival {
            let holder = format!("the team has the member `{}`", rival.name);
            return Err(self.taken(name, holder));
        }
        Ok(Member {
            agent_id: AgentId::new(name.clone(), self.team.clone()).to_string(),
            name: name.clone(),
            color: Some(free_color(self.config).name().to_owned()),
            joined_at: self.now,
            tmux_pane_id: PaneId::none(),
            backend_type: None,
            is_active: Some(false),
            agent_type: None,
            ..Member::lead(self.team, cwd.to_owned(), self.now)
        })
    }

    /// Counts members that are running or being spawned. A dead member that is being respawned does
    /// not count.
    fn refuse_beyond_cap(&self, new: &NewMember, limit: usize) -> Result<()> {
        if limit == 0 {
            return Ok(());
        }
        let mut holders = Vec::new();
        for member in self.config.teammates() {
            let mark = member.swarm.as_ref();
            let is_reserved = mark.is_some_and(|mark| mark.reservation.is_some());
            if is_reserved || (self.life_of)(member)? != Liveness::Dead {
                holders.push(member.name.clone());
            }
        }
        if holders.len() < limit {
            return Ok(());
        }
        Err(StoreError::TeamFull {
            team: self.team.clone(),
            name: new.entry.name.clone(),
            limit,
            holders,
        })
    }

    /// Returns why a member with the same file names blocks the spawn; `None` if it is dead and can
    /// be replaced.
    fn name_conflict(&self, rival: &Member, new: &NewMember) -> Result<Option<String>> {
        if rival.name != new.entry.name {
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
        Ok(match (self.life_of)(rival)? {
            Liveness::Dead => None,
            Liveness::Alive => Some("a live member has this name".to_owned()),
            Liveness::Foreign => Some("a member of this name has no life file".to_owned()),
        })
    }

    /// Describes a spawn in progress. The child of a killed spawner may still send hello until the
    /// deadline.
    fn spawn_under_way(&self, reservation: &Reservation) -> String {
        let pid = reservation.spawner_pid;
        if process::spawner_is_running(reservation) != Some(false) {
            return format!("process {pid} is spawning a member of this name");
        }
        let left = reservation.deadline.since(self.now) / 1000 + 1;
        format!(
            "process {pid} exited while spawning a member of this name, and its child may still start: the name is free in {left} s at the latest"
        )
    }

    /// Returns the entry of a reservation; `previous` is the dead member that it replaces.
    pub(crate) fn entry_for(&self, new: &NewMember, previous: Option<&Member>) -> Member {
        let color = (new.entry.known_color())
            .or_else(|| previous.and_then(Member::known_color))
            .unwrap_or_else(|| free_color(self.config));
        let former = previous.and_then(|previous| previous.session_id.clone());
        Member {
            agent_id: AgentId::new(new.entry.name.clone(), self.team.clone()).to_string(),
            prompt: new.prompt.as_ref().map(|draft| draft.text.clone()),
            color: Some(color.name().to_owned()),
            joined_at: self.now,
            session_id: new.entry.session_id.clone().or(former),
            swarm: Some(SwarmMember {
                socket: new.socket.clone(),
                reservation: Some(new.reservation.clone()),
                runtime: (!new.runtime.is_swarm()).then(|| new.runtime.to_string()),
                work_mode: new.work_mode.map(|mode| mode.to_string()),
                ..SwarmMember::new(new.spawn_id)
            }),
            ..new.entry.clone()
        }
    }

    fn taken(&self, name: &MemberName, holder: String) -> StoreError {
        StoreError::NameTaken {
            team: self.team.clone(),
            name: name.clone(),
            holder,
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

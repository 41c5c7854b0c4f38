//! Running members and leads, checked before worktrees are removed.

use std::path::PathBuf;
use std::sync::Arc;

use swarm_os::Liveness;
use swarm_protocol::{AgentId, SpawnId, TeamName};
use swarm_store::{BlockOn as _, TeamStore};
use swarm_team::{MemberProcess, working_directories};
use swarm_worktree::{Occupant, Occupants};

/// Returns the running members and leads of all teams in a store.
pub(crate) fn occupants(store: Arc<dyn TeamStore>) -> Arc<dyn Occupants> {
    Arc::new(OfStore(store))
}

struct OfStore(Arc<dyn TeamStore>);

impl Occupants for OfStore {
    fn here(&self) -> Vec<Occupant> {
        let (teams, remains) = self.0.teams_and_remains().block_on().unwrap_or_default();
        let teams = teams.iter().chain(&remains);
        teams
            .flat_map(|team| {
                let working = working_directories(&*self.0.team(team));
                let working = working.unwrap_or_else(|error| {
                    tracing::error!(%team, %error, "members in worktrees not looked for");
                    Vec::new()
                });
                let working = working.into_iter();
                working.filter_map(|working| occupant(team, working))
            })
            .collect()
    }

    fn is_running(&self, agent: &AgentId, spawn: Option<SpawnId>) -> Result<bool, String> {
        let team = self.0.team(&agent.team);
        let stored = team.is_stored().block_on();
        if !stored.map_err(|error| error.to_string())? {
            return Ok(false);
        }
        let lease = team.lease(&agent.name).block_on();
        if lease.map_err(|error| error.to_string())? != Liveness::Alive {
            return Ok(false);
        }
        // Another spawn of the same name may be running elsewhere. If its record cannot be read, it
        // may be this one.
        let holder = team.life_record(&agent.name).block_on();
        Ok(match (holder, spawn) {
            (Some(holder), Some(spawn)) => holder.spawn_id == spawn,
            _ => true,
        })
    }
}

fn occupant(team: &TeamName, (member, cwd): (MemberProcess, PathBuf)) -> Option<Occupant> {
    Some(Occupant {
        who: if member.name.is_lead() {
            format!("the lead of {team}")
        } else {
            format!("{}@{team}", member.name)
        },
        pid: member.process.pid.try_into().ok()?,
        cwd,
    })
}

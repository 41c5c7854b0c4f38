//! Running members and leads, checked before worktrees are removed.

use std::path::PathBuf;
use std::sync::Arc;

use swarm_protocol::TeamName;
use swarm_store::{BlockOn as _, TeamStore};
use swarm_team::{MemberProcess, working_directories};
use swarm_worktree::{Occupant, Occupants};

/// Returns the running members and leads of all teams in a config directory.
pub(crate) fn occupants(store: Arc<dyn TeamStore>) -> Occupants {
    Occupants::found_by(move || {
        let (teams, remains) = store.teams_and_remains().block_on().unwrap_or_default();
        let teams = teams.iter().chain(&remains);
        teams
            .flat_map(|team| {
                let working = working_directories(&*store.team(team)).into_iter();
                working.filter_map(|working| occupant(team, working))
            })
            .collect()
    })
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

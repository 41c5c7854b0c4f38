//! Rosters for the process list.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use swarm_os::{Liveness, in_parallel};
use swarm_protocol::{LifeRecord, MemberState, SpawnId};
use swarm_store::{BlockOn as _, MemberView, StoreError, Team, TeamStore};
use swarm_team::parks_here;

use super::leads::LeadStanding;
use super::{Orphan, ProcessStatus};

/// How long the process list waits for the server of a team.
const PATIENCE: Duration = Duration::from_secs(1);

/// Every team in the config directory.
pub(super) struct Rosters(HashMap<String, Roster>);

enum Roster {
    Read(Sound),
    /// The roster cannot be read.
    Damaged,
}

struct Sound {
    views: Vec<MemberView>,
    /// Spawns that have lost their leases on a server, and whose processes run here.
    parked: HashSet<SpawnId>,
    lead_lost: bool,
    /// Life record of the running lead.
    lead: Option<LifeRecord>,
}

impl Rosters {
    /// Reads every roster, all at the same time.
    pub(super) fn read(store: &dyn TeamStore) -> Result<Self, StoreError> {
        let teams = store.teams().block_on()?;
        let read = in_parallel(&teams, |team| {
            let handle = store.team(team);
            if handle.is_remote() {
                read_one(&*handle.with_lock_timeout(PATIENCE))
            } else {
                read_one(&*handle)
            }
        });
        let mut rosters = HashMap::new();
        for (team, read) in teams.into_iter().zip(read) {
            match read {
                Ok(sound) => {
                    rosters.insert(team.to_string(), Roster::Read(sound));
                }
                // The team was deleted after the names were listed.
                Err(StoreError::TeamNotFound { .. }) => {}
                Err(error) => {
                    tracing::warn!(%team, %error, "roster not read for the process list");
                    rosters.insert(team.to_string(), Roster::Damaged);
                }
            }
        }
        Ok(Self(rosters))
    }

    /// Returns the running leads with their teams.
    pub(super) fn leads(&self) -> impl Iterator<Item = (&str, &LifeRecord, MemberState)> {
        self.0.iter().filter_map(|(team, roster)| match roster {
            Roster::Read(sound) => {
                let lead = sound.lead.as_ref()?;
                Some((team.as_str(), lead, sound.state_of_lead()))
            }
            Roster::Damaged => None,
        })
    }

    /// Returns the status of a teammate's process.
    pub(super) fn standing(&self, team: &str, member: &str, spawn_id: SpawnId) -> ProcessStatus {
        let sound = match self.0.get(team) {
            None => return ProcessStatus::Orphan(Orphan::TeamGone),
            Some(Roster::Damaged) => return ProcessStatus::Unknown,
            Some(Roster::Read(sound)) => sound,
        };
        let view = sound
            .views
            .iter()
            .find(|view| view.member.name.as_str() == member);
        let Some(view) = view else {
            return ProcessStatus::Orphan(Orphan::NotInRoster);
        };
        if view.member.spawn_id() != Some(spawn_id) {
            return ProcessStatus::Orphan(Orphan::EarlierSpawn);
        }
        // A death counts even if it is not recorded yet; a spawn in progress holds no life lock
        // yet.
        let died = view.member.swarm.as_ref().is_some_and(|mark| {
            mark.died_at.is_some()
                || (mark.reservation.is_none() && view.liveness == Liveness::Dead)
        });
        let state = match (died, sound.parked.contains(&spawn_id)) {
            (false, _) => view.state,
            (true, true) => MemberState::Parked,
            (true, false) => return ProcessStatus::Orphan(Orphan::MemberDead),
        };
        ProcessStatus::Placed {
            state,
            lead_lost: sound.lead_lost,
        }
    }
}

fn read_one(team: &dyn Team) -> Result<Sound, StoreError> {
    let seen = team.view().block_on()?;
    let leads = seen
        .members
        .iter()
        .find(|view| view.member.name.is_lead() && view.liveness == Liveness::Alive);
    let dead = seen
        .members
        .iter()
        .filter(|view| view.liveness == Liveness::Dead);
    let parked = dead.filter_map(|view| {
        let spawn_id = view.member.spawn_id()?;
        parks_here(team, &view.member.name, spawn_id).then_some(spawn_id)
    });
    Ok(Sound {
        parked: parked.collect(),
        lead: leads.and_then(|view| view.process.clone()),
        lead_lost: matches!(LeadStanding::of(&seen), LeadStanding::Lost(_)),
        views: seen.members,
    })
}

impl Sound {
    fn state_of_lead(&self) -> MemberState {
        let lead = self.views.iter().find(|view| view.member.name.is_lead());
        lead.map_or(MemberState::Working, |view| view.state)
    }
}

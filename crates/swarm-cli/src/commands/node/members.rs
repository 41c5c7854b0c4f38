//! The members that run on this machine.

use std::collections::BTreeSet;

use futures::future::join_all;
use swarm_os::Liveness;
use swarm_protocol::{AgentId, TeamName, with_causes};
use swarm_store::{Result, StoreError, Team};

use super::machine::Node;
use crate::app::App;

impl Node<'_> {
    /// Returns the running members on this machine of the teams on the hub. Those of a team that
    /// cannot be looked at stay as they were, and its error is printed once.
    pub(super) async fn members_here(&self) -> Result<Vec<AgentId>> {
        let mut teams = self.app.store.teams().await?;
        teams.retain(|team| is_on_hub(self.app, team, &self.hub.url));
        let looks = teams
            .iter()
            .map(async |team| members_of(&*self.app.store.team(team), team).await);
        let seen = join_all(looks).await;
        let before = self.slots.lock().members.clone();
        let mut found = Vec::new();
        let mut unknown = BTreeSet::new();
        for (team, members) in teams.into_iter().zip(seen) {
            match members {
                Ok(members) => found.extend(members),
                // This machine has joined it, and does not notice that it was deleted.
                Err(error) if is_deleted(&error) => {}
                Err(error) => {
                    found.extend(before.iter().filter(|one| one.team == team).cloned());
                    if !self.is_unknown(&team) {
                        let why = with_causes(&error);
                        let text = format!("its members on this machine are not known: {why}");
                        self.out.tell_of_team("unknown", &team, &text);
                    }
                    unknown.insert(team);
                }
            }
        }
        *self.unknown.lock() = unknown;
        Ok(found)
    }

    /// Returns whether the members of a team were not known at the last look.
    pub(super) fn is_unknown(&self, team: &TeamName) -> bool {
        self.unknown.lock().contains(team)
    }
}

pub(super) fn is_on_hub(app: &App, team: &TeamName, url: &str) -> bool {
    let hub = app.hubs.hub_of(team).ok().flatten();
    hub.is_some_and(|hub| hub.url == url)
}

/// Returns whether an error says that a team was deleted.
pub(super) fn is_deleted(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::NotOnHub { .. } | StoreError::TeamNotFound { .. }
    )
}

async fn members_of(files: &dyn Team, team: &TeamName) -> Result<Vec<AgentId>> {
    let mut found = Vec::new();
    for member in files.config().await?.teammates() {
        let here = files.life_record_here(&member.name).await;
        let is_here = here.is_some_and(|here| member.spawn_id() == Some(here.spawn_id));
        if is_here && files.liveness(&member.name).await? == Liveness::Alive {
            found.push(member.id_in(team));
        }
    }
    Ok(found)
}

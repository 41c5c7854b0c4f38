//! The members that run on this machine.

use swarm_os::Liveness;
use swarm_protocol::{AgentId, TeamName};
use swarm_store::{Result, StoreError, Team};

use crate::app::App;

/// Returns the running members on this machine of the teams on a hub.
pub(super) async fn members_here(app: &App, url: &str) -> Result<Vec<AgentId>> {
    let mut found = Vec::new();
    for team in app.store.teams().await? {
        if is_on_hub(app, &team, url) {
            match members_of(&*app.store.team(&team), &team).await {
                // This machine has joined it, and does not notice that it was deleted.
                Err(error) if is_deleted(&error) => {}
                members => found.extend(members?),
            }
        }
    }
    Ok(found)
}

/// Returns whether a team of this machine is on a hub.
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

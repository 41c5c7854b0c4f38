//! The members that run on this machine.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::future::join_all;
use swarm_os::Liveness;
use swarm_protocol::{AgentId, TeamName, with_causes};
use swarm_store::{Result, StoreError, Team};
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

use super::machine::Node;
use crate::app::App;

/// First and longest pause before teams whose members are not known are tried again.
const PAUSES: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(30));

/// How long a look waits for a team whose members were not known at the last one: the node takes no
/// orders meanwhile.
const BRIEFLY: Duration = Duration::from_secs(2);

impl Node<'_> {
    /// Returns the running members on this machine of the teams on the hub. Those of a team that
    /// cannot be looked at stay as they were, and its error is printed once.
    pub(super) async fn members_here(&self) -> Result<Vec<AgentId>> {
        let mut teams = self.app.store.teams().await?;
        teams.retain(|team| is_on_hub(self.app, team, &self.hub.url));
        let looks = teams.iter().map(async |team| {
            let look = self.members_of(team);
            if self.is_unknown(team) {
                return timeout(BRIEFLY, look).await.ok();
            }
            Some(look.await)
        });
        let seen = join_all(looks).await;
        let before = self.slots.lock().members.clone();
        let mut found = Vec::new();
        let mut unknown = BTreeSet::new();
        for (team, members) in teams.into_iter().zip(seen) {
            match members {
                Some(Ok(members)) => found.extend(members),
                // This machine has joined it, and does not notice that it was deleted.
                Some(Err(error)) if is_deleted(&error) => {}
                failed => {
                    found.extend(before.iter().filter(|one| one.team == team).cloned());
                    if let Some(Err(error)) = failed
                        && !self.is_unknown(&team)
                    {
                        let why = with_causes(&error);
                        let text = format!("its members on this machine are not known: {why}");
                        self.out.tell_of_team("unknown", &team, &text);
                    }
                    unknown.insert(team);
                }
            }
        }
        self.unknown.send_replace(unknown);
        Ok(found)
    }

    /// Returns whether the members of a team were not known at the last look.
    pub(super) fn is_unknown(&self, team: &TeamName) -> bool {
        self.unknown.borrow().contains(team)
    }

    /// Tries teams whose members are not known again, with growing pauses. Resolves when one of them
    /// answers, which then counts as known.
    pub(super) async fn until_known(&self) {
        let mut unknown = self.unknown.subscribe();
        loop {
            // The node holds the other end.
            drop(unknown.wait_for(|teams| !teams.is_empty()).await);
            let (mut pause, longest) = PAUSES;
            while !unknown.borrow().is_empty() {
                sleep(pause).await;
                pause = longest.min(pause * 2);
                let teams = unknown.borrow().clone();
                let looks = teams.iter().map(|team| self.members_of(team));
                let looks = teams.iter().zip(join_all(looks).await);
                let answered = looks.filter(|(_, seen)| seen.as_ref().err().is_none_or(is_deleted));
                let answered: Vec<_> = answered.map(|(team, _)| team).collect();
                if !answered.is_empty() {
                    self.unknown
                        .send_modify(|unknown| unknown.retain(|team| !answered.contains(&team)));
                    return;
                }
            }
        }
    }

    /// Stops what members have started that do not run here any more by their leases, although their
    /// processes may.
    pub(super) async fn stop_work_of_lost(&self, member: AgentId) {
        let team = self.app.store.team(&member.team);
        let name = member.name.clone();
        let stopped = spawn_blocking(move || swarm_team::stop_work_of_lost(&team, &name)).await;
        match stopped {
            Ok(Err(error)) if !is_deleted(&error) => {
                tracing::warn!(%member, %error, "what it has started may still run");
            }
            Ok(_) => {}
            Err(error) => tracing::error!(%member, %error, "what it has started may still run"),
        }
    }

    async fn members_of(&self, team: &TeamName) -> Result<Vec<AgentId>> {
        members_of(&*self.app.store.team(team), team).await
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

//! The members that run on this machine.

use std::time::Duration;

use futures::future::join_all;
use swarm_os::Liveness;
use swarm_protocol::{AgentId, TeamName, with_causes};
use swarm_store::{Result, StoreError, Team};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep, timeout};

use super::machine::Node;
use crate::app::App;

/// First and longest pause before a team that has not answered is asked again.
const PAUSES: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(30));

/// How long a node waits for the answer of a team: until then it takes no orders.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// How long a node that ends waits for a team.
pub(super) const EXIT_TIMEOUT: Duration = Duration::from_secs(2);

impl Node<'_> {
    /// Returns the running members on this machine of the teams on the hub, and the teams that do not
    /// answer. Their members are those of before, and they are not asked here again: orders would wait.
    pub(super) async fn members_here(&self) -> Result<(Vec<AgentId>, Vec<TeamName>)> {
        let teams = self.teams().await?;
        let looks = teams.iter().map(async |team| {
            let took = self.answered.lock().get(team).copied()?;
            // A team behind a slow link is not silent.
            let asked = timeout(ANSWER_TIMEOUT + 2 * took, self.ask(team)).await;
            if asked.is_err() {
                self.answered.lock().remove(team);
            }
            asked.ok()?.ok()
        });
        let seen = join_all(looks).await;
        let before = self.running();
        let (mut found, mut silent) = (Vec::new(), Vec::new());
        for (team, members) in teams.into_iter().zip(seen) {
            if let Some(members) = members {
                found.extend(members);
            } else {
                found.extend(before.iter().filter(|one| one.team == team).cloned());
                silent.push(team);
            }
        }
        Ok((found, silent))
    }

    /// Gives all teams a moment to answer.
    pub(super) async fn ask_all(&self) -> Result<()> {
        self.answered.lock().clear();
        let teams = self.teams().await?;
        let answers = join_all(teams.iter().map(|team| self.ask(team)));
        // The others are asked while the node serves.
        drop(timeout(ANSWER_TIMEOUT, answers).await);
        Ok(())
    }

    /// Asks a team until it answers, with growing pauses. The first error is printed.
    pub(super) async fn until_answered(&self, team: TeamName) -> TeamName {
        let (mut pause, longest) = PAUSES;
        let mut is_told = false;
        while let Err(error) = self.ask(&team).await {
            if !is_told {
                let why = with_causes(&error);
                let text = format!("its members on this machine are not known: {why}");
                self.out.tell_of_team("unknown", &team, &text);
                is_told = true;
            }
            sleep(pause).await;
            pause = longest.min(pause * 2);
        }
        team
    }

    /// Stops what a member has started that does not run here any more by its lease, although its process
    /// may. Tries until its team answers, but not longer than a moment after the node was drained.
    pub(super) async fn stop_work_of_lost(&self, member: AgentId) {
        let over = async {
            self.wait_until_drained().await;
            sleep(EXIT_TIMEOUT).await;
        };
        tokio::select! {
            () = self.try_to_stop_work_of_lost(&member) => {}
            () = over => tracing::warn!(%member, "what it has started may still run"),
        }
    }

    async fn try_to_stop_work_of_lost(&self, member: &AgentId) {
        let (mut pause, longest) = PAUSES;
        loop {
            let team = self.app.store.team(&member.team);
            let name = member.name.clone();
            let stopped = spawn_blocking(move || swarm_team::stop_work_of_lost(&team, &name));
            match stopped.await {
                Ok(Err(error)) if !is_deleted(&error) => {
                    tracing::warn!(%member, %error, "what it has started may still run");
                }
                Ok(_) => return,
                Err(error) => {
                    tracing::error!(%member, %error, "what it has started may still run");
                    return;
                }
            }
            sleep(pause).await;
            pause = longest.min(pause * 2);
        }
    }

    /// Returns whether a team has answered when it was last asked.
    pub(super) fn has_answered(&self, team: &TeamName) -> bool {
        self.answered.lock().contains_key(team)
    }

    /// Returns the teams of the hub that this machine has joined.
    async fn teams(&self) -> Result<Vec<TeamName>> {
        let mut teams = self.app.store.teams().await?;
        teams.retain(|team| is_on_hub(self.app, team, &self.hub.url));
        Ok(teams)
    }

    /// Returns the members of a team that run on this machine.
    async fn ask(&self, team: &TeamName) -> Result<Vec<AgentId>> {
        let began = Instant::now();
        let members = match members_of(&*self.app.store.team(team), team).await {
            // This machine has joined it, and does not notice that it was deleted.
            Err(error) if is_deleted(&error) => Ok(Vec::new()),
            members => members,
        };
        let mut answered = self.answered.lock();
        if members.is_ok() {
            answered.insert(team.clone(), began.elapsed());
        } else {
            answered.remove(team);
        }
        members
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
        if !is_here {
            continue;
        }
        match files.liveness(&member.name).await {
            Ok(Liveness::Alive) => found.push(member.id_in(team)),
            // Or it has left since the roster was read.
            Ok(_) | Err(StoreError::MemberNotFound { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

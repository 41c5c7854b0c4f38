//! Supervision of members: a death or a change of state wakes the lead.

use std::collections::HashSet;
use std::sync::Arc;

use swarm_protocol::{Member, SpawnId, TeamName};
use swarm_store::Topic;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use swarm_supervisor::SpawnContext;

/// Wakes the lead when something may have happened to a member. What happened is read from the
/// files.
#[derive(Debug)]
pub(crate) struct Supervisor {
    spawn_context: SpawnContext,
    woken: Arc<Notify>,
    watched: HashSet<SpawnId>,
    done: CancellationToken,
}

impl Supervisor {
    pub(crate) fn new(spawn_context: SpawnContext) -> Self {
        Self {
            spawn_context,
            woken: Arc::new(Notify::new()),
            watched: HashSet::new(),
            done: CancellationToken::new(),
        }
    }

    /// Resolves when something may have happened since the last call.
    pub(crate) async fn changed(&self) {
        self.woken.notified().await;
    }

    /// Watches every member that swarm has started and that is not watched yet.
    pub(crate) fn watch_all<'a>(
        &mut self,
        team: &TeamName,
        members: impl Iterator<Item = &'a Member>,
    ) {
        for member in members {
            let Some(swarm) = &member.swarm else { continue };
            if swarm.reservation.is_none() && self.watched.insert(swarm.spawn_id) {
                self.watch(team, member);
            }
        }
    }

    fn watch(&self, team: &TeamName, member: &Member) {
        let topic = Topic::State(member.name.clone());
        let team = self.spawn_context.store.team(team);
        let mut death = team.lease_end(&member.name);
        let mut state = team.watch(&self.spawn_context.watcher, &topic);
        let (woken, done) = (Arc::clone(&self.woken), self.done.clone());
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    () = state.changed() => woken.notify_one(),
                    ended = &mut death => {
                        if let Ok(Err(error)) = ended {
                            tracing::warn!(%error, "cannot watch the lease");
                        }
                        woken.notify_one();
                        return;
                    }
                    () = done.cancelled() => return,
                }
            }
        });
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        self.done.cancel();
    }
}

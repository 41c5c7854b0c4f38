//! Two topics of a team, watched together.

use async_trait::async_trait;
use swarm_os::DirectoryWatcher;
use swarm_store::{Changes, Team, Topic};
use swarm_team::ChangeSignal;

/// Wakes when one of two topics may have changed.
#[derive(Debug)]
pub(crate) struct EitherChange(pub(crate) [Changes; 2]);

impl EitherChange {
    pub(crate) fn watch(team: &dyn Team, watcher: &DirectoryWatcher, topics: [Topic; 2]) -> Self {
        Self(topics.map(|topic| team.watch(watcher, &topic)))
    }

    /// Dropping the future loses nothing.
    pub(crate) async fn changed(&mut self) {
        let [one, other] = &mut self.0;
        tokio::select! {
            () = one.changed() => {}
            () = other.changed() => {}
        }
    }
}

#[async_trait]
impl ChangeSignal for EitherChange {
    async fn changed(&mut self) {
        Self::changed(self).await;
    }
}

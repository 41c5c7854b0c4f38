//! Whether the process that leads the team is still there.

use std::sync::Arc;

use swarm_fs::{Liveness, probe, wait_for_death};
use swarm_protocol::{LeadProcess, MemberName, TeamConfig, TeamName};
use swarm_store::{StoreError, TeamStore, process};
use tokio::sync::oneshot;

/// Looks after the lead of one team.
#[derive(Debug)]
pub(crate) struct LeadWatch {
    store: Arc<dyn TeamStore>,
    team: TeamName,
    /// Resolves when the life lock that a thread waits on has fallen.
    fall: Option<oneshot::Receiver<()>>,
    /// What the last look found.
    lost: Option<LeadProcess>,
}

impl LeadWatch {
    pub(crate) fn new(store: Arc<dyn TeamStore>, team: TeamName) -> Self {
        Self {
            store,
            team,
            fall: None,
            lost: None,
        }
    }

    /// The process that led the team and has died; `None` while it lives, where that cannot be known, and in a team that
    /// a person drives by hand.
    pub(crate) fn lost(&mut self) -> Option<LeadProcess> {
        let looked = self.store.config(&self.team);
        let looked = looked.and_then(|roster| self.look(roster.lead_process));
        self.take(looked)
    }

    /// The same with the roster at hand, if it could be read.
    pub(crate) fn lost_in(&mut self, roster: Option<&TeamConfig>) -> Option<LeadProcess> {
        let Some(roster) = roster else {
            return self.lost.clone();
        };
        let looked = self.look(roster.lead_process.clone());
        self.take(looked)
    }

    fn take(&mut self, looked: Result<Option<LeadProcess>, StoreError>) -> Option<LeadProcess> {
        match looked {
            Ok(lost) => self.lost = lost,
            Err(error) => {
                // A file that cannot be read says nothing about the lead: what was known still counts.
                tracing::warn!(team = %self.team, %error, "lead not looked at");
            }
        }
        self.lost.clone()
    }

    fn look(&mut self, lead: Option<LeadProcess>) -> Result<Option<LeadProcess>, StoreError> {
        let Some(lead) = lead else {
            return Ok(None);
        };
        let is_lost = match probe(&self.store.life_path(&self.team, &MemberName::lead()))? {
            Liveness::Alive => {
                self.wait();
                false
            }
            Liveness::Dead => true,
            // A lead of another program has no life lock: only its process can tell.
            Liveness::Foreign => process::lead_is_running(&lead) == Some(false),
        };
        Ok(is_lost.then_some(lead))
    }

    /// Lets the kernel wake us at the lead's death, however soon after the look that comes.
    fn wait(&mut self) {
        if self.fall.is_some() {
            return;
        }
        let path = self.store.life_path(&self.team, &MemberName::lead());
        let (tell, fall) = oneshot::channel();
        let waiter = std::thread::Builder::new().name("waits for the lead".to_owned());
        let spawned = waiter.spawn(move || {
            if let Err(error) = wait_for_death(&path) {
                tracing::debug!(%error, "the lead's life lock is gone");
            }
            // Nobody listens when the member has ended first.
            tell.send(()).ok();
        });
        match spawned {
            Ok(_detached) => self.fall = Some(fall),
            Err(error) => {
                tracing::warn!(%error, "no thread waits for the lead: its death is seen by the sweep only");
            }
        }
    }

    /// Resolves when the lead may have died: look again. Dropping the future loses nothing.
    pub(crate) async fn fallen(&mut self) {
        match &mut self.fall {
            Some(fall) => {
                // An error means that the thread has ended, which is as good.
                fall.await.ok();
                self.fall = None;
            }
            None => std::future::pending().await,
        }
    }
}

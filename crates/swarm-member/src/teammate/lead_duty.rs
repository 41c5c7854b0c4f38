//! What a turn under way does about its lead: it is suspended when that is lost, and says so for as long as it is true.

use swarm_fs::FolderWatcher;
use swarm_protocol::{LeadProcess, MemberState, OnLost, TeamName};
use swarm_store::TeamStore;

use crate::teammate::hold::{Takeover, loss};
use crate::teammate::lead_watch::LeadWatch;

/// Looks after the lead while a turn runs.
pub(crate) struct LeadDuty<'a> {
    pub(crate) watch: &'a mut LeadWatch,
    /// What becomes of the member without one.
    pub(crate) on_lost: OnLost,
    pub(crate) store: &'a dyn TeamStore,
    pub(crate) watcher: &'a FolderWatcher,
    pub(crate) team: &'a TeamName,
    /// There from the loss on: somebody may lead again before the running call has ended.
    pub(crate) takeover: Option<Takeover>,
    /// Whether the last look found the lead lost.
    pub(crate) was_lost: bool,
}

/// Said of a member in whose running call a lead came back.
const LED_AGAIN: &str = "the team is led again, and the turn goes on after the running call";

/// What a look found.
pub(crate) struct LeadLook {
    pub(crate) is_lost: bool,
    /// What is to be reported, where that has changed.
    pub(crate) news: Option<(MemberState, String)>,
}

impl LeadDuty<'_> {
    /// Resolves when the lead may have been lost or, once it was, when there may be one again.
    pub(crate) async fn changed(&mut self) {
        match &mut self.takeover {
            None => self.watch.fallen().await,
            Some(takeover) => tokio::select! {
                () = takeover.changed() => {}
                () = self.watch.fallen() => {}
            },
        }
    }

    pub(crate) fn look(&mut self) -> LeadLook {
        let lost = self.lost();
        let is_lost = lost.is_some();
        let has_changed = std::mem::replace(&mut self.was_lost, is_lost) != is_lost;
        let now = || match lost {
            Some(lead) => self.consequence(&lead),
            None => (MemberState::Working, LED_AGAIN.to_owned()),
        };
        let news = has_changed.then(now);
        LeadLook { is_lost, news }
    }

    fn lost(&mut self) -> Option<LeadProcess> {
        let lost = self.watch.lost()?;
        if self.takeover.is_some() {
            return Some(lost);
        }
        self.takeover = Some(Takeover::watch(self.store, self.watcher, self.team));
        // Looked at once more: the next one may have come before we watched.
        self.watch.lost()
    }

    /// What the member does about the loss while its running call goes on.
    fn consequence(&self, lead: &LeadProcess) -> (MemberState, String) {
        let loss = loss(lead);
        match self.on_lost {
            OnLost::Stop => {
                let detail = format!("{loss}; it stops once the running call has ended");
                (MemberState::Stopping, detail)
            }
            OnLost::Park | OnLost::Continue => {
                let detail = format!("{loss}; the running call is let to its end");
                (MemberState::Parked, detail)
            }
        }
    }
}

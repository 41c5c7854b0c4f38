//! Watches the lead process for a teammate, and suspends the teammate when it is lost.

use std::sync::Arc;

use swarm_agent::or_never;
use swarm_os::{DirectoryWatcher, Liveness};
use swarm_protocol::{LeadProcess, MemberName, MemberState, OnLost, TeamConfig};
use swarm_store::{LeaseEnd, StoreError, Team, Topic, process};

use crate::either_change::EitherChange;
use crate::teammate::suspension::loss;

/// Reported when a new lead takes over while a call of a suspended turn is still running.
const LED_AGAIN: &str = "the team has a lead again; the turn continues after the running call";

#[derive(Debug)]
pub(crate) struct LeadWatch {
    watcher: Arc<DirectoryWatcher>,
    team: Arc<dyn Team>,
    /// What the member does without a lead.
    pub(crate) on_lost: OnLost,
    /// Resolves when the lead's lease is released.
    release: Option<LeaseEnd>,
    /// Watches for a new lead; set once the lead is lost.
    change: Option<EitherChange>,
    /// Result of the last check.
    lost: Option<LeadProcess>,
    /// Whether the current turn depends on the lead, and whether the last check during it found the
    /// lead lost.
    in_turn: Option<bool>,
}

/// Result of a check during a turn.
pub(crate) struct LeadCheck {
    pub(crate) is_lost: bool,
    /// The state to report, if it has changed.
    pub(crate) news: Option<(MemberState, String)>,
}

impl LeadWatch {
    pub(crate) fn new(
        watcher: Arc<DirectoryWatcher>,
        team: Arc<dyn Team>,
        on_lost: OnLost,
    ) -> Self {
        Self {
            watcher,
            team,
            on_lost,
            release: None,
            change: None,
            lost: None,
            in_turn: None,
        }
    }

    /// Returns the dead lead process; `None` while it is running, if that is unknown, and in a team
    /// that a person leads from the shell.
    pub(crate) async fn lost(&mut self) -> Option<LeadProcess> {
        let looked = match self.team.config().await {
            Ok(roster) => self.check(roster.lead_process).await,
            Err(error) => Err(error),
        };
        self.keep(looked)
    }

    /// The lost lead according to a roster that was just read. Without a roster, uses the last
    /// result. `None` for a member that does not need a lead.
    pub(crate) async fn lost_in(&mut self, roster: Option<&TeamConfig>) -> Option<LeadProcess> {
        if self.on_lost == OnLost::Continue {
            return None;
        }
        let Some(roster) = roster else {
            return self.lost.clone();
        };
        let looked = self.check(roster.lead_process.clone()).await;
        self.keep(looked)
    }

    fn keep(&mut self, looked: Result<Option<LeadProcess>, StoreError>) -> Option<LeadProcess> {
        match looked {
            Ok(lost) => self.lost = lost,
            Err(error) => {
                // An unreadable file says nothing about the lead, so the last result is kept.
                tracing::warn!(team = %self.team.name(), %error, "cannot check the lead");
            }
        }
        self.lost.clone()
    }

    async fn check(
        &mut self,
        lead: Option<LeadProcess>,
    ) -> Result<Option<LeadProcess>, StoreError> {
        let Some(lead) = lead else {
            return Ok(None);
        };
        let is_lost = match self.team.lease(&MemberName::lead()).await? {
            Liveness::Alive => {
                self.await_release();
                false
            }
            Liveness::Dead => true,
            // A lead of another program has no life lock: only its process can tell.
            Liveness::Foreign => process::lead_is_running(&lead) == Some(false),
        };
        Ok(is_lost.then_some(lead))
    }

    /// Makes the kernel wake us when the lead dies, even right after the check.
    fn await_release(&mut self) {
        let team = &self.team;
        self.release
            .get_or_insert_with(|| team.lease_end(&MemberName::lead()));
    }

    /// Watches for a new lead. Returns `false` if it was already watching; otherwise the caller
    /// must check again, because a new lead may have started before the watch.
    pub(crate) fn watch_for_change(&mut self) -> bool {
        let is_new = self.change.is_none();
        if is_new {
            // They change when a team gets a lead or a person takes it over.
            let topics = [Topic::Roster, Topic::Lease(MemberName::lead())];
            let change = EitherChange::watch(&*self.team, &self.watcher, topics);
            self.change = Some(change);
        }
        is_new
    }

    /// Stops watching for a new lead.
    pub(crate) fn ignore_change(&mut self) {
        self.change = None;
    }

    /// Resolves when the lead may have died or, if watched, when there may be a new one. Dropping
    /// the future loses nothing.
    pub(crate) async fn changed(&mut self) {
        tokio::select! {
            () = or_never(self.change.as_mut().map(EitherChange::changed)) => {}
            () = released(&mut self.release) => {}
        }
    }

    /// Starts watching for a turn, which is suspended when the lead is lost unless it was requested
    /// at the terminal.
    pub(crate) fn turn_begins(&mut self, is_asked_here: bool) {
        let depends = self.on_lost != OnLost::Continue && !is_asked_here;
        self.in_turn = depends.then_some(false);
        self.change = None;
    }

    /// Resolves when a turn has a reason to check the lead.
    pub(crate) async fn changed_in_turn(&mut self) {
        or_never(self.in_turn.map(|_| self.changed())).await;
    }

    /// Checks the lead during a turn; `None` if the turn does not depend on it.
    pub(crate) async fn check_in_turn(&mut self) -> Option<LeadCheck> {
        let was_lost = self.in_turn?;
        let mut lost = self.lost().await;
        if lost.is_some() && self.watch_for_change() {
            lost = self.lost().await;
        }
        let is_lost = lost.is_some();
        self.in_turn = Some(is_lost);
        let news = (was_lost != is_lost).then(|| match lost {
            Some(lead) => self.consequence(&lead),
            None => (MemberState::Working, LED_AGAIN.to_owned()),
        });
        Some(LeadCheck { is_lost, news })
    }

    /// Describes what the member does about the loss during its running call.
    fn consequence(&self, lead: &LeadProcess) -> (MemberState, String) {
        let loss = loss(lead);
        match self.on_lost {
            OnLost::Stop => {
                let detail = format!("{loss}; it stops once the running call has ended");
                (MemberState::Stopping, detail)
            }
            OnLost::Park | OnLost::Continue => {
                let detail = format!("{loss}; the running call is allowed to finish");
                (MemberState::Parked, detail)
            }
        }
    }
}

async fn released(release: &mut Option<LeaseEnd>) {
    match release {
        Some(receiver) => {
            // An error means that the thread has exited, which has the same effect.
            receiver.await.ok();
            *release = None;
        }
        None => std::future::pending().await,
    }
}

//! Whether the process that leads the team still runs, and what a teammate does when it does not.

use std::sync::Arc;

use swarm_os::{DirectoryWatcher, Liveness, NameFilter, Subscription, probe, wait_for_death};
use swarm_protocol::{LeadProcess, MemberName, MemberState, OnLost, TeamConfig};
use swarm_store::blocking::Team;
use swarm_store::{StoreError, process};
use tokio::sync::oneshot;

use crate::teammate::suspension::loss;

/// Reported when a new lead takes over while a call of a suspended turn is still running.
const LED_AGAIN: &str = "the team has a lead again; the turn continues after the running call";

/// Watches the lead of one team.
#[derive(Debug)]
pub(crate) struct LeadWatch {
    watcher: Arc<DirectoryWatcher>,
    team: Arc<dyn Team>,
    /// What the member does without a lead.
    pub(crate) on_lost: OnLost,
    /// Resolves when the life lock that a thread waits on is released.
    release: Option<oneshot::Receiver<()>>,
    /// Watches for a new lead; only there once the lead is lost.
    change: Option<LeadChange>,
    /// What the last look found.
    lost: Option<LeadProcess>,
    /// Whether the present turn depends on the lead, and whether the last look during it found the
    /// lead lost.
    in_turn: Option<bool>,
}

/// What a look during a turn found.
pub(crate) struct LeadLook {
    pub(crate) is_lost: bool,
    /// The state to report, where that has changed.
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

    /// The process that led the team and has died; `None` while it lives, where that cannot be
    /// known, and in a team that a person leads by hand.
    pub(crate) fn lost(&mut self) -> Option<LeadProcess> {
        let looked = self.team.config();
        let looked = looked.and_then(|roster| self.look(roster.lead_process));
        self.keep(looked)
    }

    /// The lost lead according to a roster that was just read. Without one, what the last look
    /// found. `None` for a member that does not need a lead.
    pub(crate) fn lost_in(&mut self, roster: Option<&TeamConfig>) -> Option<LeadProcess> {
        if self.on_lost == OnLost::Continue {
            return None;
        }
        let Some(roster) = roster else {
            return self.lost.clone();
        };
        let looked = self.look(roster.lead_process.clone());
        self.keep(looked)
    }

    fn keep(&mut self, looked: Result<Option<LeadProcess>, StoreError>) -> Option<LeadProcess> {
        match looked {
            Ok(lost) => self.lost = lost,
            Err(error) => {
                // An unreadable file says nothing about the lead: what was known still counts.
                tracing::warn!(team = %self.team.name(), %error, "cannot check the lead");
            }
        }
        self.lost.clone()
    }

    fn look(&mut self, lead: Option<LeadProcess>) -> Result<Option<LeadProcess>, StoreError> {
        let Some(lead) = lead else {
            return Ok(None);
        };
        let is_lost = match probe(&self.team.life_path(&MemberName::lead()))? {
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

    /// Lets the kernel wake us when the lead dies, however soon after the look that is.
    fn await_release(&mut self) {
        if self.release.is_some() {
            return;
        }
        let path = self.team.life_path(&MemberName::lead());
        let (tell, release) = oneshot::channel();
        let waiter = std::thread::Builder::new().name("waits for the lead".to_owned());
        let spawned = waiter.spawn(move || {
            if let Err(error) = wait_for_death(&path) {
                tracing::debug!(%error, "the lead's life lock is gone");
            }
            // The receiver is gone when the member has ended first.
            tell.send(()).ok();
        });
        match spawned {
            Ok(_detached) => self.release = Some(release),
            Err(error) => {
                tracing::warn!(%error, "cannot start a thread that waits for the lead: only the sweep detects its death");
            }
        }
    }

    /// Watches for a new lead. Returns `false` if that has begun before; otherwise one may have
    /// come before the watch, and the caller has to look again.
    pub(crate) fn watch_for_change(&mut self) -> bool {
        let is_new = self.change.is_none();
        if is_new {
            let change = LeadChange::watch(&self.watcher, &*self.team);
            self.change = Some(change);
        }
        is_new
    }

    /// Stops watching for a new lead.
    pub(crate) fn ignore_change(&mut self) {
        self.change = None;
    }

    /// Resolves when the lead may have died or, where that is watched, when there may be a new one.
    /// Dropping the future loses nothing.
    pub(crate) async fn changed(&mut self) {
        let changed = async {
            match &mut self.change {
                Some(change) => change.changed().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = changed => {}
            () = released(&mut self.release) => {}
        }
    }

    /// A turn begins, which is suspended when the lead is lost unless the person at the terminal
    /// asked for it.
    pub(crate) fn turn_begins(&mut self, is_asked_here: bool) {
        let depends = self.on_lost != OnLost::Continue && !is_asked_here;
        self.in_turn = depends.then_some(false);
        self.change = None;
    }

    /// Resolves when a turn has a reason to look at the lead.
    pub(crate) async fn changed_in_turn(&mut self) {
        match self.in_turn {
            Some(_) => self.changed().await,
            None => std::future::pending().await,
        }
    }

    /// Looks at the lead during a turn; `None` if the turn does not depend on it.
    pub(crate) fn look_in_turn(&mut self) -> Option<LeadLook> {
        let was_lost = self.in_turn?;
        let mut lost = self.lost();
        if lost.is_some() && self.watch_for_change() {
            lost = self.lost();
        }
        let is_lost = lost.is_some();
        self.in_turn = Some(is_lost);
        let news = (was_lost != is_lost).then(|| match lost {
            Some(lead) => self.consequence(&lead),
            None => (MemberState::Working, LED_AGAIN.to_owned()),
        });
        Some(LeadLook { is_lost, news })
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
                let detail = format!("{loss}; the running call is allowed to finish");
                (MemberState::Parked, detail)
            }
        }
    }
}

/// Resolves when the life lock is released that a thread waits for, if one does.
async fn released(release: &mut Option<oneshot::Receiver<()>>) {
    match release {
        Some(receiver) => {
            // An error means that the thread has ended, which is as good.
            receiver.await.ok();
            *release = None;
        }
        None => std::future::pending().await,
    }
}

/// What changes when a team gets a lead, or when a person takes it over.
#[derive(Debug)]
struct LeadChange {
    roster: Subscription,
    life: Subscription,
}

impl LeadChange {
    fn watch(watcher: &DirectoryWatcher, team: &dyn Team) -> Self {
        let watch = |directory, name: &str| {
            watcher.subscribe(directory, NameFilter::Exact(vec![name.into()]))
        };
        Self {
            roster: watch(&team.team_directory(), "config.json"),
            life: watch(&team.member_dir(&MemberName::lead()), "life"),
        }
    }

    async fn changed(&mut self) {
        tokio::select! {
            () = self.roster.changed() => {}
            () = self.life.changed() => {}
        }
    }
}

//! Why a teammate takes no turns although it has work: its lead is lost, or a person has paused it.

use std::sync::Arc;

use swarm_os::DirectoryWatcher;
use swarm_protocol::{
    Event, LeadProcess, MemberName, MemberState, PauseMark, SpawnId, TeamConfig, TeamName,
};
use swarm_store::{Changes, StoreError, Team, Topic};

/// Why a teammate is suspended. Its mail stays queued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Suspension {
    /// The process that led the team is gone.
    Parked(LeadProcess),
    /// A person has paused it.
    Paused(PauseMark),
}

impl Suspension {
    pub(crate) fn state(&self) -> MemberState {
        match self {
            Self::Parked(_) => MemberState::Parked,
            Self::Paused(_) => MemberState::Paused,
        }
    }

    /// The reason, and how it ends.
    pub(crate) fn detail(&self, team: &TeamName) -> String {
        match self {
            Self::Parked(lead) => {
                format!("{}; `swarm resume {team}` takes over", loss(lead))
            }
            Self::Paused(mark) => match &mark.reason {
                Some(reason) => format!("by {}: {reason}", mark.by),
                None => format!("by {}", mark.by),
            },
        }
    }

    /// The event that is added to the journal.
    pub(crate) fn event(&self, member: MemberName) -> Event {
        match self {
            Self::Parked(lead) => Event::MemberParked {
                member,
                reason: loss(lead),
            },
            Self::Paused(mark) => Event::MemberPaused {
                member,
                by: mark.by.clone(),
                reason: mark.reason.clone(),
            },
        }
    }
}

/// Describes what happened to the lead, as a clause.
pub(crate) fn loss(lead: &LeadProcess) -> String {
    format!("its lead, process {}, is gone", lead.pid)
}

/// Watches the mark with which a person pauses this spawn.
#[derive(Debug)]
pub(crate) struct PauseWatch {
    team: Arc<dyn Team>,
    name: MemberName,
    spawn_id: SpawnId,
    mark: Option<PauseMark>,
    changes: Changes,
}

impl PauseWatch {
    pub(crate) fn new(
        watcher: &DirectoryWatcher,
        team: Arc<dyn Team>,
        name: MemberName,
        spawn_id: SpawnId,
    ) -> Self {
        Self {
            changes: team.watch(watcher, &Topic::Pause(name.clone())),
            team,
            name,
            spawn_id,
            mark: None,
        }
    }

    /// The mark, if it is for this spawn.
    pub(crate) async fn mark(&mut self) -> Option<PauseMark> {
        let found = self.team.paused(&self.name).await;
        self.take(found)
    }

    /// The mark according to a roster that was just read. Without a roster, uses the last result.
    pub(crate) async fn mark_in(&mut self, roster: Option<&TeamConfig>) -> Option<PauseMark> {
        match roster.and_then(|roster| roster.member(&self.name)) {
            Some(member) => {
                let found = self.team.pause_of(member).await;
                self.take(found)
            }
            None => self.mark.clone(),
        }
    }

    fn take(&mut self, found: Result<Option<PauseMark>, StoreError>) -> Option<PauseMark> {
        match found {
            Ok(mark) => self.mark = mark.filter(|mark| mark.spawn_id == self.spawn_id),
            Err(error) => {
                // The last result is kept.
                tracing::warn!(team = %self.team.name(), member = %self.name, %error, "pause mark not read");
            }
        }
        self.mark.clone()
    }

    /// Returns whether there was a mark at the last check.
    pub(crate) fn known(&self) -> bool {
        self.mark.is_some()
    }

    /// Resolves when the mark may have been set or taken away.
    pub(crate) async fn changed(&mut self) {
        self.changes.changed().await;
    }
}

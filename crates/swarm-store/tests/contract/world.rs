//! A team of some kind of store.

use std::any::Any;
use std::sync::Arc;

use swarm_protocol::{
    BackendType, Event, InboxEntry, MemberState, MessageId, PaneId, SpawnId, StateReport, TaskId,
    TaskStatus, TeamName, UnixMs,
};
use swarm_store::{
    Actor, BlockOn as _, Draft, Lease, StoreError, StoreLimits, TaskChange, TaskUpdated, Team,
    TeamStore,
};

use crate::values::{id, life_record, name, new_member, new_task, new_team, team};

/// What the contract needs to know about a kind of store.
pub(crate) trait Kind: Send + Sync {
    fn store(&self) -> Arc<dyn TeamStore>;

    /// The same teams under other limits.
    fn limited(&self, limits: StoreLimits) -> Arc<dyn TeamStore>;

    /// Makes all changes of the team `crew` wait until the returned value is dropped.
    fn hold(&self) -> Box<dyn Any>;

    /// Everything that is stored, to see whether something was written.
    fn content(&self) -> String;
}

/// A store with the team `crew`.
pub(crate) struct World {
    kind: Box<dyn Kind>,
    pub(crate) store: Arc<dyn TeamStore>,
    pub(crate) team: TeamName,
}

impl World {
    pub(crate) fn of(kind: impl Kind + 'static) -> Self {
        let world = Self::existing(kind);
        let team = world.store.create_team(new_team("crew"));
        team.block_on().unwrap();
        world
    }

    /// Does not create the team.
    pub(crate) fn existing(kind: impl Kind + 'static) -> Self {
        Self {
            store: kind.store(),
            kind: Box::new(kind),
            team: team("crew"),
        }
    }

    /// Sets the limits.
    pub(crate) fn limit(&self, limits: StoreLimits) -> Arc<dyn Team> {
        self.kind.limited(limits).team(&self.team)
    }

    pub(crate) fn hold(&self) -> Box<dyn Any> {
        self.kind.hold()
    }

    pub(crate) fn content(&self) -> String {
        self.kind.content()
    }

    /// Returns the handle of the team.
    pub(crate) fn handle(&self) -> Arc<dyn Team> {
        self.store.team(&self.team)
    }

    /// Reserves and commits a member.
    pub(crate) fn join(&self, member: &str) -> SpawnId {
        let new = new_member(member);
        let spawn = new.spawn_id;
        self.handle().reserve(new).block_on().unwrap();
        self.commit(spawn);
        spawn
    }

    pub(crate) fn commit(&self, spawn: SpawnId) {
        self.handle()
            .commit_spawn(&spawn, PaneId::new("%1"), BackendType::Tmux, None)
            .block_on()
            .unwrap();
    }

    /// Takes a member's lease in this process.
    pub(crate) fn live(&self, member: &str, spawn: SpawnId) -> Lease {
        let (member, record) = (name(member), life_record(spawn));
        self.handle()
            .take_life(&member, &record)
            .block_on()
            .unwrap()
    }

    pub(crate) fn send(&self, to: &str, text: &str) -> MessageId {
        let draft = Draft::new("team-lead", text);
        self.handle().send(&name(to), draft).block_on().unwrap()
    }

    pub(crate) fn unread(&self, member: &str) -> Vec<InboxEntry> {
        self.handle().take_unread(&name(member)).block_on().unwrap()
    }

    pub(crate) fn texts(&self, member: &str) -> Vec<String> {
        let unread = self.unread(member).into_iter();
        unread.map(|entry| entry.text).collect()
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        let events = self.handle().events().block_on().unwrap();
        let entries = events.entries.into_iter();
        entries.map(|entry| entry.event).collect()
    }

    pub(crate) fn create(&self, subject: &str, blocked_by: &[u64]) -> TaskId {
        let new = [new_task(subject, blocked_by)];
        let made = self.handle().create_tasks(&new, &self.person()).block_on();
        made.unwrap()[0]
    }

    pub(crate) fn update(
        &self,
        number: u64,
        change: TaskChange,
        by: &Actor,
    ) -> Result<TaskUpdated, StoreError> {
        self.handle()
            .update_task(&id(number), change, by)
            .block_on()
    }

    pub(crate) fn person(&self) -> Actor {
        Actor::person(&self.team)
    }

    /// The actor of an unknown spawn.
    pub(crate) fn actor(&self, member: &str) -> Actor {
        Actor::member(&self.team, name(member), None)
    }

    pub(crate) fn spawned(&self, member: &str, spawn: SpawnId) -> Actor {
        Actor::member(&self.team, name(member), Some(spawn))
    }
}

pub(crate) fn status(status: TaskStatus) -> TaskChange {
    TaskChange::from(status)
}

pub(crate) fn owner(member: &str) -> TaskChange {
    TaskChange {
        owner: Some(name(member)),
        ..TaskChange::default()
    }
}

pub(crate) fn report(spawn_id: SpawnId, state: MemberState) -> StateReport {
    StateReport {
        turns: 1,
        progress: 1,
        ..StateReport::new(spawn_id, state, UnixMs(1))
    }
}

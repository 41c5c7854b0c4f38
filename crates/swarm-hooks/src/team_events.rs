//! Team events as recorded in the journal. The process that causes an event writes it once, under a
//! lock, and runs its hooks.

use std::collections::VecDeque;

use parking_lot::Mutex;
use serde_json::{Value, json};
use swarm_permissions::HookEvent;
use swarm_protocol::{AgentId, Event, MemberName, TeamName};
use tokio::sync::Notify;

/// A team event with hooks.
#[derive(Debug, Clone, PartialEq)]
pub struct TeamHook {
    /// The hook event.
    pub event: HookEvent,
    /// The team.
    pub team: TeamName,
    /// The affected member; the lead for events of the whole team.
    pub member: MemberName,
    /// The event's specific fields.
    pub fields: Value,
}

impl TeamHook {
    /// Returns the hook event for a journal entry, if there is one.
    pub fn of(team: &TeamName, event: &Event) -> Option<Self> {
        let lead = MemberName::lead();
        let (event, member, fields) = match event {
            Event::TeamCreated { by } => (HookEvent::TeamCreated, lead, json!({"by": by})),
            Event::TeamDeleted { by } => (HookEvent::TeamDeleted, lead, json!({"by": by})),
            Event::SpawnCommitted {
                member, spawn_id, ..
            } => (
                HookEvent::TeammateSpawned,
                member.clone(),
                json!({"teammate_name": member, "spawn_id": spawn_id}),
            ),
            Event::MemberDied {
                member,
                spawn_id,
                reason,
                released,
            } => (
                HookEvent::TeammateDied,
                member.clone(),
                json!({
                    "teammate_name": member,
                    "spawn_id": spawn_id,
                    "reason": reason,
                    "released_tasks": released,
                }),
            ),
            _ => return None,
        };
        Some(Self {
            event,
            team: team.clone(),
            member,
            fields,
        })
    }

    /// Returns the agent id of the member.
    pub fn agent_id(&self) -> String {
        AgentId::new(self.member.clone(), self.team.clone()).to_string()
    }
}

/// Events caused by this process whose hooks have not run yet. Events are queued here because the
/// journal is written under a lock, and no hook may run while it is held.
#[derive(Debug, Default)]
pub struct TeamEvents {
    waiting: Mutex<VecDeque<TeamHook>>,
    more: Notify,
}

impl TeamEvents {
    /// Queues the hook event of a journal entry, if there is one.
    pub fn note(&self, team: &TeamName, event: &Event) {
        if let Some(hook) = TeamHook::of(team, event) {
            self.waiting.lock().push_back(hook);
            self.more.notify_one();
        }
    }

    /// Removes and returns the oldest event.
    pub fn take(&self) -> Option<TeamHook> {
        self.waiting.lock().pop_front()
    }

    /// Returns whether the queue is empty.
    pub fn is_empty(&self) -> bool {
        self.waiting.lock().is_empty()
    }

    /// Resolves when the queue may have an event.
    pub async fn changed(&self) {
        self.more.notified().await;
    }
}

//! Events of teams, as the journal has them: each is written once, under a lock, by the process that brings it about,
//! and that process runs its hooks.

use std::collections::VecDeque;

use parking_lot::Mutex;
use serde_json::{Value, json};
use swarm_permissions::HookEvent;
use swarm_protocol::{AgentId, Event, MemberName, TeamName};
use tokio::sync::Notify;

/// An event of a team that hooks may be told of.
#[derive(Debug, Clone, PartialEq)]
pub struct TeamHook {
    /// Which.
    pub event: HookEvent,
    /// The team.
    pub team: TeamName,
    /// The member that it is about; the lead for those of the whole team.
    pub member: MemberName,
    /// The fields that the event has of its own.
    pub fields: Value,
}

impl TeamHook {
    /// The event that a line of the journal stands for.
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

    /// The agent id of the member.
    pub fn agent_id(&self) -> String {
        AgentId::new(self.member.clone(), self.team.clone()).to_string()
    }
}

/// Events that this process has brought about and whose hooks have not run yet. What the journal is told is put in
/// under its lock, where no hook may run.
#[derive(Debug, Default)]
pub struct TeamEvents {
    waiting: Mutex<VecDeque<TeamHook>>,
    more: Notify,
}

impl TeamEvents {
    /// Notes what the journal was told.
    pub fn note(&self, team: &TeamName, event: &Event) {
        if let Some(hook) = TeamHook::of(team, event) {
            self.waiting.lock().push_back(hook);
            self.more.notify_one();
        }
    }

    /// The oldest event; each is given once.
    pub fn take(&self) -> Option<TeamHook> {
        self.waiting.lock().pop_front()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.waiting.lock().is_empty()
    }

    /// Resolves when there may be one.
    pub async fn changed(&self) {
        self.more.notified().await;
    }
}

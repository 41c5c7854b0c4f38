//! Bringing the records in line with who is alive.

use swarm_protocol::{MemberName, SpawnId, TaskId};

/// What a reconcile did. Empty when everything was in line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReconcileReport {
    /// Members whose end was noticed by this call and by no other.
    pub died: Vec<Departure>,
    /// Spawns whose reservation lapsed with its spawner.
    pub rolled_back: Vec<RolledBack>,
    /// All tasks that were given back.
    pub released: Vec<TaskId>,
}

/// A member that is no longer alive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Departure {
    /// Who.
    pub member: MemberName,
    /// Which spawn.
    pub spawn_id: SpawnId,
    /// Whether it had said that it would stop.
    pub in_order: bool,
    /// What is known of the reason.
    pub reason: String,
    /// Tasks that were given back.
    pub released: Vec<TaskId>,
}

/// A spawn that was undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RolledBack {
    /// For whom the place was held.
    pub member: MemberName,
    /// Which spawn.
    pub spawn_id: SpawnId,
}

//! The costs of a team, by member, task, model and day.

use std::collections::BTreeMap;

use swarm_protocol::{CostRecord, MemberName, TaskId, TaskStatus};
use swarm_store::{BlockOn as _, Cursor, StoreError, Team};

use super::CostSum;

/// Sums of a team's costs. Kept between reads, so that each record is read once.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TeamSpending {
    /// Position after the last record read.
    next: Cursor,
    /// All requests.
    pub total: CostSum,
    /// By member, including former ones.
    pub members: BTreeMap<MemberName, CostSum>,
    /// By task; `None` are requests of members without one.
    pub tasks: BTreeMap<Option<TaskId>, CostSum>,
    /// By `provider/model`.
    pub models: BTreeMap<String, CostSum>,
    /// By day in UTC, as `2026-03-31`.
    pub days: BTreeMap<String, CostSum>,
}

impl TeamSpending {
    /// Returns the sums of a team's costs.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn of(team: &dyn Team) -> Result<Self, StoreError> {
        let mut spending = Self::default();
        for record in spending.read_on(team)? {
            spending.add(&record);
        }
        Ok(spending)
    }

    /// Returns the records that were written since the last call; [`Self::add`] adds them. Damaged
    /// lines are skipped and logged.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn read_on(&mut self, team: &dyn Team) -> Result<Vec<CostRecord>, StoreError> {
        let read = team.costs_from(self.next).block_on()?;
        self.next = read.next;
        for broken in &read.broken {
            tracing::warn!(team = %team.name(), at = broken.at, reason = %broken.reason, "cost record not read");
        }
        Ok(read.entries)
    }

    /// Adds a record.
    pub fn add(&mut self, record: &CostRecord) {
        self.total.add(record);
        let day = record.at.iso().as_str().chars().take(10).collect();
        self.members
            .entry(record.member.clone())
            .or_default()
            .add(record);
        self.tasks.entry(record.task).or_default().add(record);
        self.models
            .entry(record.model.clone())
            .or_default()
            .add(record);
        self.days.entry(day).or_default().add(record);
    }

    /// Returns the sum of a member.
    pub fn of_member(&self, name: &MemberName) -> CostSum {
        self.members.get(name).cloned().unwrap_or_default()
    }
}

/// Returns the task that a member is working on: of several in progress, the last one that it
/// claimed.
///
/// # Errors
/// Errors of the store.
pub fn current_task(team: &dyn Team, name: &MemberName) -> Result<Option<TaskId>, StoreError> {
    let agent = swarm_protocol::AgentId::new(name.clone(), team.name().clone());
    let tasks = team.tasks().block_on()?.tasks;
    let own = tasks
        .iter()
        .filter(|task| task.status == TaskStatus::InProgress && task.is_owned_by(&agent));
    let last = own.max_by_key(|task| (task.swarm().claimed_at, task.id));
    Ok(last.map(|task| task.id))
}

//! The costs of a team, by member, task, model and day.

use std::collections::BTreeMap;

use swarm_protocol::{CostRecord, MemberName, ReservationId, ReservationMark, TaskId, TaskStatus};
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
    /// What is set aside for requests in progress. No sum contains it.
    reserved: BTreeMap<ReservationId, CostRecord>,
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
        match record.reservation {
            Some(ReservationMark::Reserved(id)) => {
                self.reserved.insert(id, record.clone());
                return;
            }
            Some(ReservationMark::Released(id)) => {
                self.reserved.remove(&id);
                return;
            }
            None => {}
        }
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

    /// Returns the sums as if the reservations for which `counts` holds were spent.
    #[must_use]
    pub fn with_reserved(&self, counts: impl Fn(&CostRecord) -> bool) -> Self {
        let mut spent = self.clone();
        for record in std::mem::take(&mut spent.reserved).into_values() {
            if counts(&record) {
                spent.add(&CostRecord {
                    reservation: None,
                    ..record
                });
            }
        }
        spent
    }

    /// Returns the reservations of a member.
    pub fn reservations_of(&self, name: &MemberName) -> Vec<ReservationId> {
        let reserved = self.reserved.iter();
        let own = reserved.filter(|(_, record)| record.member == *name);
        own.map(|(id, _)| *id).collect()
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

#[cfg(test)]
mod tests {
    use swarm_protocol::{Money, UnixMs, Usage};

    use super::*;

    #[test]
    fn reservations_count_until_they_are_released_and_are_never_spent() {
        let bob = MemberName::parse("bob").unwrap();
        let record = |tokens, reservation| CostRecord {
            at: UnixMs(0),
            member: bob.clone(),
            agent: None,
            task: None,
            model: "anthropic/m".to_owned(),
            usage: Usage {
                input_tokens: tokens,
                ..Usage::default()
            },
            usd: Money::dollars(1.0),
            price: None,
            reservation,
        };
        let id = ReservationId::random();
        let mut spending = TeamSpending::default();
        spending.add(&record(100, Some(ReservationMark::Reserved(id))));
        assert_eq!(spending.total.requests, 0);
        assert_eq!(spending.reservations_of(&bob), [id]);
        let counted = |spending: &TeamSpending, counts: bool| {
            let sums = spending.with_reserved(|_| counts);
            sums.of_member(&bob).usage.total()
        };
        assert_eq!(counted(&spending, true), 100);
        assert_eq!(counted(&spending, false), 0);
        spending.add(&record(7, None));
        spending.add(&record(0, Some(ReservationMark::Released(id))));
        assert_eq!(counted(&spending, true), 7);
        assert_eq!(spending.total.requests, 1);
        assert_eq!(spending.reservations_of(&bob), []);
    }
}

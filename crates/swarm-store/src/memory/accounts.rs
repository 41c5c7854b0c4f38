//! The journal and the accounts of a memory team.

use swarm_protocol::{Budget, BudgetScope, Budgets, CostRecord, Event, JournalEntry, RunBudget};
use uuid::Uuid;

use super::team::MemoryTeam;
use crate::{Cursor, Events, JournalLines, Result};

impl MemoryTeam {
    pub(super) fn journal(&self, event: Event) -> Result<()> {
        let records = self.records()?;
        let at = self.now();
        self.may_write(false)?;
        records
            .journal
            .append(self.faults(), Uuid::new_v4(), JournalEntry { at, event });
        Ok(())
    }

    pub(super) fn events_from(&self, from: Cursor) -> Result<Events> {
        Ok(lines(
            self.records()?.journal.from(self.faults(), from.0),
            from,
        ))
    }

    pub(super) fn journal_end(&self) -> Result<Cursor> {
        Ok(self.events_from(Cursor::default())?.next)
    }

    pub(super) fn record_costs(&self, costs: &[CostRecord]) -> Result<()> {
        let records = self.records()?;
        self.may_write(false)?;
        for cost in costs {
            let log = &records.costs;
            log.append(self.faults(), Uuid::new_v4(), cost.clone());
        }
        Ok(())
    }

    pub(super) fn costs_from(&self, from: Cursor) -> Result<JournalLines<CostRecord>> {
        Ok(lines(
            self.records()?.costs.from(self.faults(), from.0),
            from,
        ))
    }

    pub(super) fn budgets(&self) -> Result<Budgets> {
        Ok(self.read(&self.records()?.budgets).value.clone())
    }

    pub(super) fn set_budget(&self, scope: &BudgetScope, budget: Budget) -> Result<()> {
        self.change(&self.records()?.budgets, |budgets, _events| {
            budgets.set(scope, budget);
            Ok(())
        })
    }

    pub(super) fn set_run_budget(&self, run: Option<RunBudget>) -> Result<()> {
        self.change(&self.records()?.budgets, |budgets, _events| {
            budgets.run = run;
            Ok(())
        })
    }
}

fn lines<T>(entries: Vec<T>, from: Cursor) -> JournalLines<T> {
    JournalLines {
        next: Cursor(from.0 + entries.len() as u64),
        entries,
        broken: Vec::new(),
    }
}

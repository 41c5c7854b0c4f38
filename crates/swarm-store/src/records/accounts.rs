//! The journal and the accounts of a team in records.

use serde::de::DeserializeOwned;
use swarm_protocol::{Budget, BudgetScope, Budgets, CostRecord, Event, JournalEntry, RunBudget};
use uuid::Uuid;

use super::record::Log;
use super::team::RecordsTeam;
use super::values;
use crate::{Cursor, Events, JournalLines, Result};

impl RecordsTeam {
    pub(super) fn journal(&self, event: Event) -> Result<()> {
        let at = self.now();
        self.may_write(false)?;
        let entry = JournalEntry { at, event };
        self.append(&[values::journal().entry(Uuid::new_v4(), &entry)?])?;
        self.observer.notify(&self.team, &entry.event);
        Ok(())
    }

    pub(super) fn events_from(&self, from: Cursor) -> Result<Events> {
        self.lines(&values::journal(), from)
    }

    pub(super) fn events_with(&self, text: &str) -> Result<Vec<JournalEntry>> {
        let found = self.lines_with(&values::journal(), Cursor::default(), text)?;
        Ok(found.entries)
    }

    pub(super) fn journal_end(&self) -> Result<Cursor> {
        let log = values::journal().key;
        let end = match self.space.heard_end() {
            Some((heard, _)) => heard,
            None => self.answered(false, |at_most| self.space.end(&log, at_most))?,
        };
        Ok(Cursor(end))
    }

    pub(super) fn record_costs(&self, costs: &[CostRecord]) -> Result<()> {
        self.may_write(false)?;
        let log = values::costs();
        let entries = costs.iter().map(|cost| log.entry(Uuid::new_v4(), cost));
        self.append(&entries.collect::<Result<Vec<_>>>()?)
    }

    pub(super) fn costs_from(&self, from: Cursor) -> Result<JournalLines<CostRecord>> {
        self.lines(&values::costs(), from)
    }

    pub(super) fn budgets(&self) -> Result<Budgets> {
        let record = values::budgets();
        let read = || self.require().and_then(|()| self.read(&record));
        self.as_heard(&self.seen.known.budgets, record.key.clone(), read)
    }

    pub(super) fn set_budget(&self, scope: &BudgetScope, budget: Option<Budget>) -> Result<()> {
        self.change(&values::budgets(), |budgets, _events| {
            budgets.set(scope, budget);
            Ok(())
        })
    }

    pub(super) fn set_run_budget(&self, run: Option<RunBudget>) -> Result<()> {
        self.change(&values::budgets(), |budgets, _events| {
            budgets.run = run;
            Ok(())
        })
    }

    /// Reads the entries of a log.
    pub(super) fn lines<T: DeserializeOwned>(
        &self,
        log: &Log<T>,
        from: Cursor,
    ) -> Result<JournalLines<T>> {
        self.lines_with(log, from, "")
    }

    /// Reads the entries of a log that contain `text`.
    fn lines_with<T: DeserializeOwned>(
        &self,
        log: &Log<T>,
        from: Cursor,
        text: &str,
    ) -> Result<JournalLines<T>> {
        let key = &log.key;
        let found = self.answered(false, |at_most| self.space.entries(key, from.0, at_most))?;
        let mut entries = Vec::new();
        for (_, entry) in &found.entries {
            entries.extend(log.lines(entry, text)?);
        }
        Ok(JournalLines {
            entries,
            next: Cursor(found.next),
            broken: Vec::new(),
        })
    }
}

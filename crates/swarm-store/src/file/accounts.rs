//! The accounts of a team: what its model requests cost (`cost.jsonl`), and its budgets.

use swarm_protocol::{Budget, BudgetScope, Budgets, CostRecord, RunBudget};

use crate::file::journal::parse_lines;
use crate::file::record;
use crate::file::team::FileTeam;
use crate::{Cursor, JournalLines, Result};

impl FileTeam {
    /// Appends records and returns once they are on disk.
    pub(crate) fn record_costs(&self, records: &[CostRecord]) -> Result<()> {
        let path = self.at.costs();
        let mut lines = Vec::new();
        for cost in records {
            lines.extend(record::line(&path, cost)?);
            lines.push(b'\n');
        }
        if lines.is_empty() {
            return Ok(());
        }
        self.refuse_links().map_err(|error| self.explain(error))?;
        self.store.lock_options.begin_change(&path)?;
        swarm_os::append_durable(&path, &lines).map_err(|error| self.explain(error.into()))
    }

    pub(crate) fn costs_from(&self, from: Cursor) -> Result<JournalLines<CostRecord>> {
        let bytes = swarm_os::read_optional_from(&self.at.costs(), from.0)?;
        if bytes.is_none() && !self.exists() {
            return Err(self.not_found());
        }
        Ok(parse_lines(&bytes.unwrap_or_default(), from))
    }

    pub(crate) fn budgets(&self) -> Result<Budgets> {
        Ok(self.read_own(&self.at.budgets())?.unwrap_or_default())
    }

    pub(crate) fn set_budget(&self, scope: &BudgetScope, budget: Option<Budget>) -> Result<()> {
        self.change_budgets(|budgets| budgets.set(scope, budget))
    }

    pub(crate) fn set_run_budget(&self, run: Option<RunBudget>) -> Result<()> {
        self.change_budgets(|budgets| budgets.run = run)
    }

    fn change_budgets(&self, change: impl FnOnce(&mut Budgets)) -> Result<()> {
        self.with_roster_lock(|_held| {
            let before = self.budgets()?;
            let mut budgets = before.clone();
            change(&mut budgets);
            if budgets == before {
                return Ok(());
            }
            let path = self.at.budgets();
            self.store.lock_options.begin_change(&path)?;
            Ok(swarm_os::replace_alone(
                &path,
                &record::pretty(&path, &budgets)?,
            )?)
        })
    }
}

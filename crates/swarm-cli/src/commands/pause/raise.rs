//! Changing the budgets that hold a member.

use swarm_protocol::{Budget, BudgetChange, BudgetScope, MemberName};
use swarm_store::{BlockOn as _, Team};
use swarm_team::{BudgetUse, TeamSpending, current_task, uses_of};

use crate::app::App;
use crate::commands::members::known;
use crate::failure::{Failure, Result};

/// Changes the budgets that are used up for a member, or its own if none is. An addition to a
/// budget that is used up counts from what is used. Returns the budgets as they are now.
pub(super) fn raise(
    app: &App,
    team: &dyn Team,
    name: &MemberName,
    change: BudgetChange,
) -> Result<Vec<BudgetUse>> {
    known(&team.config().block_on()?, name)?;
    let defaults = app.settings.default_budgets();
    let spending = TeamSpending::of(team)?;
    let task = current_task(team, name)?;
    let current = || -> Result<Vec<BudgetUse>> {
        let budgets = team.budgets().block_on()?;
        Ok(uses_of(name, task, &spending, &budgets, &defaults))
    };
    let own = BudgetScope::Member(name.clone());
    let all = current()?;
    let full = all.iter().filter(|one| one.is_used_up());
    let mut changed: Vec<(BudgetScope, Budget)> = full
        .map(|one| Ok((one.scope.clone(), changed_budget(one, one.used, change)?)))
        .collect::<Result<_>>()?;
    if changed.is_empty() {
        let budget = match (all.iter().find(|one| one.scope == own), change) {
            (Some(one), _) => changed_budget(one, one.budget, change)?,
            (None, BudgetChange::Set(budget)) => budget,
            (None, BudgetChange::Raise(_)) => {
                let message = format!("{name} has no budget to add to");
                return Err(Failure::usage(message).with_hint("set one without the `+`"));
            }
        };
        changed.push((own, budget));
    }
    for (scope, budget) in &changed {
        team.set_budget(scope, Some(*budget)).block_on()?;
    }
    let mut now = current()?;
    now.retain(|used| changed.iter().any(|(scope, _)| *scope == used.scope));
    Ok(now)
}

/// Returns the budget after a change; an addition counts from `base`.
fn changed_budget(used: &BudgetUse, base: Budget, change: BudgetChange) -> Result<Budget> {
    let scope = &used.scope;
    let Some(budget) = change.applied_to(base) else {
        let message = format!(
            "the budget of {scope} is {}; add the same unit",
            used.budget
        );
        return Err(Failure::usage(message).with_hint("or set another budget without the `+`"));
    };
    if used.with_budget(budget).is_used_up() {
        let message = format!("a budget of {budget} for {scope} is already used up: {used}");
        return Err(Failure::conflict(message)
            .with_hint("set a higher one, or add to what is used with `+`"));
    }
    Ok(budget)
}

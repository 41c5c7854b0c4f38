//! What the model requests of a team cost, and how much of its budgets they have used.

mod budget_use;
mod cost_sum;
mod team_spending;

pub use budget_use::{BudgetUse, budget_uses, uses_of};
pub use cost_sum::CostSum;
pub use team_spending::{TeamSpending, current_task};

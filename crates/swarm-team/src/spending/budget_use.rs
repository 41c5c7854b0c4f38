//! How much of each budget is used.

use std::fmt;

use swarm_protocol::{Budget, BudgetScope, Budgets, DefaultBudgets, MemberName, RunBudget, TaskId};

use super::{CostSum, TeamSpending};

/// A budget and what is used of it.
#[derive(Debug, Clone, PartialEq)]
pub struct BudgetUse {
    /// What it applies to.
    pub scope: BudgetScope,
    /// The budget.
    pub budget: Budget,
    /// What is used, in the same unit.
    pub used: Budget,
}

impl BudgetUse {
    fn new(scope: BudgetScope, budget: Budget, sum: &CostSum) -> Self {
        let used = match budget {
            Budget::Money(_) => Budget::Money(sum.usd),
            Budget::Tokens(_) => Budget::Tokens(sum.usage.total()),
        };
        Self {
            scope,
            budget,
            used,
        }
    }

    /// Returns the same use of another budget. Nothing is known to be used of one in another unit.
    #[must_use]
    pub fn with_budget(&self, budget: Budget) -> Self {
        Self {
            budget,
            ..self.clone()
        }
    }

    /// Returns the used part in percent, rounded down.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a percentage; saturates"
    )]
    pub fn percent(&self) -> u64 {
        let part = match (self.used, self.budget) {
            (Budget::Money(used), Budget::Money(all)) => used.as_dollars() / all.as_dollars(),
            (Budget::Tokens(used), Budget::Tokens(all)) => used as f64 / all as f64,
            _ => 0.0,
        };
        (part * 100.0 + 1e-9).floor() as u64
    }

    /// Returns whether more is used than the budget has.
    pub fn is_exceeded(&self) -> bool {
        match (self.used, self.budget) {
            (Budget::Money(used), Budget::Money(all)) => used > all,
            (Budget::Tokens(used), Budget::Tokens(all)) => used > all,
            _ => false,
        }
    }

    /// Returns whether nothing is left.
    pub fn is_used_up(&self) -> bool {
        match (self.used, self.budget) {
            (Budget::Money(used), Budget::Money(all)) => used >= all,
            (Budget::Tokens(used), Budget::Tokens(all)) => used >= all,
            _ => false,
        }
    }
}

/// `$4.10 of $5.00`.
impl fmt::Display for BudgetUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.used, self.budget) {
            (Budget::Tokens(used), Budget::Tokens(all)) => write!(f, "{used} of {all} tokens"),
            (used, all) => write!(f, "{used} of {all}"),
        }
    }
}

/// Returns the use of each budget that applies to a request of a member that works on a task.
pub fn uses_of(
    member: &MemberName,
    task: Option<TaskId>,
    spending: &TeamSpending,
    budgets: &Budgets,
    defaults: &DefaultBudgets,
) -> Vec<BudgetUse> {
    let mut uses: Vec<BudgetUse> = run_use(spending, budgets.run).into_iter().collect();
    let mut add = |scope: BudgetScope, default: Option<Budget>, sum: Option<&CostSum>| {
        if let Some(budget) = budgets.get(&scope).or(default) {
            uses.push(BudgetUse::new(
                scope,
                budget,
                sum.unwrap_or(&CostSum::default()),
            ));
        }
    };
    add(BudgetScope::Team, defaults.team, Some(&spending.total));
    add(
        BudgetScope::Member(member.clone()),
        defaults.member,
        spending.members.get(member),
    );
    if let Some(task) = task {
        let sum = spending.tasks.get(&Some(task));
        add(BudgetScope::Task(task), defaults.task, sum);
    }
    uses
}

/// Returns the use of every budget of a team, including defaults for the members and tasks that
/// have used something.
pub fn budget_uses(
    spending: &TeamSpending,
    budgets: &Budgets,
    defaults: &DefaultBudgets,
) -> Vec<BudgetUse> {
    let mut members: Vec<&MemberName> = budgets.members.keys().collect();
    members.extend(spending.members.keys());
    let mut tasks: Vec<TaskId> = budgets.tasks.keys().copied().collect();
    tasks.extend(spending.tasks.keys().flatten());
    let nobody = MemberName::lead();
    let mut uses = uses_of(&nobody, None, spending, budgets, defaults);
    uses.retain(|used| matches!(used.scope, BudgetScope::Run | BudgetScope::Team));
    for member in members {
        uses.extend(uses_of(member, None, spending, budgets, defaults));
    }
    for task in tasks {
        uses.extend(uses_of(&nobody, Some(task), spending, budgets, defaults));
    }
    let mut seen = std::collections::BTreeSet::new();
    let is_lead = |scope: &BudgetScope| *scope == BudgetScope::Member(MemberName::lead());
    let has_lead = budgets.members.contains_key(&nobody) || spending.members.contains_key(&nobody);
    uses.retain(|used| (has_lead || !is_lead(&used.scope)) && seen.insert(used.scope.clone()));
    uses
}

fn run_use(spending: &TeamSpending, run: Option<RunBudget>) -> Option<BudgetUse> {
    let run = run?;
    let used = match run.limit {
        Budget::Money(_) => Budget::Money(spending.total.usd.saturating_sub(run.usd_before)),
        Budget::Tokens(_) => {
            let tokens = spending.total.usage.total();
            Budget::Tokens(tokens.saturating_sub(run.tokens_before))
        }
    };
    Some(BudgetUse {
        scope: BudgetScope::Run,
        budget: run.limit,
        used,
    })
}

#[cfg(test)]
mod tests {
    use swarm_protocol::{CostRecord, Money, UnixMs, Usage};

    use super::*;

    fn spent(member: &str, task: Option<u64>, dollars: f64) -> CostRecord {
        CostRecord {
            at: UnixMs(0),
            member: MemberName::parse(member).unwrap(),
            agent: None,
            task: task.map(|id| id.to_string().parse().unwrap()),
            model: "anthropic/m".to_owned(),
            usage: Usage {
                input_tokens: 100,
                ..Usage::default()
            },
            usd: Money::dollars(dollars),
            price: None,
            reservation: None,
        }
    }

    fn spending(records: &[CostRecord]) -> TeamSpending {
        let mut spending = TeamSpending::default();
        for record in records {
            spending.add(record);
        }
        spending
    }

    #[test]
    fn each_scope_counts_its_own_requests() {
        let all = spending(&[
            spent("bob", Some(1), 1.0),
            spent("bob", Some(2), 2.0),
            spent("eve", Some(1), 4.0),
        ]);
        let five = |text: &str| text.parse().ok();
        let budgets = Budgets {
            run: Some(RunBudget {
                limit: "5$".parse().unwrap(),
                usd_before: Money::dollars(3.0).unwrap(),
                tokens_before: 0,
            }),
            team: five("1k-tokens"),
            ..Budgets::default()
        };
        let defaults = DefaultBudgets {
            member: five("3$"),
            task: five("10$"),
            ..DefaultBudgets::default()
        };
        let task = "1".parse().ok();
        let bob = MemberName::parse("bob").unwrap();
        let uses = uses_of(&bob, task, &all, &budgets, &defaults);
        let shown: Vec<String> = uses
            .iter()
            .map(|used| {
                let (scope, percent) = (&used.scope, used.percent());
                format!("{scope}: {used}, {percent} %, {}", used.is_used_up())
            })
            .collect();
        assert_eq!(
            shown,
            [
                "the run: $4.00 of $5.00, 80 %, false",
                "the team: 300 of 1000 tokens, 30 %, false",
                "bob: $3.00 of $3.00, 100 %, true",
                "task #1: $5.00 of $10.00, 50 %, false",
            ]
        );
    }

    #[test]
    fn every_budget_of_a_team_is_listed_once() {
        let all = spending(&[spent("bob", Some(1), 1.0), spent("eve", None, 1.0)]);
        let budgets = Budgets {
            team: "5$".parse().ok(),
            ..Budgets::default()
        };
        let defaults = DefaultBudgets {
            member: "3$".parse().ok(),
            ..DefaultBudgets::default()
        };
        let uses = budget_uses(&all, &budgets, &defaults);
        let scopes: Vec<String> = uses.iter().map(|used| used.scope.to_string()).collect();
        assert_eq!(scopes, ["the team", "bob", "eve"]);
    }

    #[test]
    fn a_model_without_a_price_is_not_free() {
        let mut all = spending(&[spent("bob", None, 1.0)]);
        assert_eq!(all.total.to_string(), "$1.00");
        all.add(&CostRecord {
            usd: None,
            model: "openai/local".to_owned(),
            ..spent("eve", None, 0.0)
        });
        assert_eq!(all.total.to_string(), "$1.00+");
        let eve = all.of_member(&MemberName::parse("eve").unwrap());
        assert_eq!(eve.to_string(), "no price");
        let document = serde_json::to_value(&eve).unwrap();
        assert_eq!(document["usd"], serde_json::Value::Null);
        assert_eq!(document["unpriced"]["models"][0], "openai/local");
    }
}

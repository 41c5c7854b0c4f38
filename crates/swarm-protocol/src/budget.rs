//! Budgets in money or tokens.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{MemberName, Money, TaskId};

/// Most that may be used, in money or in tokens. As text `5$` or `500k-tokens`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Budget {
    /// Money.
    Money(Money),
    /// Tokens of all kinds together.
    Tokens(u64),
}

/// A text that is not a budget.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid budget {0:?}: write an amount of money such as 5$, or of tokens such as 500k-tokens"
)]
pub struct InvalidBudget(String);

impl FromStr for Budget {
    type Err = InvalidBudget;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = || InvalidBudget(text.to_owned());
        let trimmed = text.trim().to_ascii_lowercase();
        let tokens = ["-tokens", " tokens", "tokens", "-token", " token"];
        let parsed = match tokens.iter().find_map(|end| trimmed.strip_suffix(end)) {
            Some(count) => parse_tokens(count.trim_end()).map(Self::Tokens),
            None => parse_dollars(&trimmed).map(Self::Money),
        };
        // A budget of nothing would hold every request.
        let is_positive = |budget: &Self| match budget {
            Self::Money(money) => !money.is_zero(),
            Self::Tokens(tokens) => *tokens > 0,
        };
        parsed.filter(is_positive).ok_or_else(invalid)
    }
}

fn parse_dollars(text: &str) -> Option<Money> {
    let number = (text.strip_suffix('$'))
        .or_else(|| text.strip_prefix('$'))
        .or_else(|| text.strip_suffix("usd"))?;
    Money::dollars(number.trim().parse().ok()?)
}

fn parse_tokens(text: &str) -> Option<u64> {
    let (number, unit) = match text.strip_suffix(['k', 'm']) {
        Some(number) if text.ends_with('k') => (number, 1e3),
        Some(number) => (number, 1e6),
        None => return text.parse().ok(),
    };
    let tokens = number.parse::<f64>().ok()? * unit;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the range is checked"
    )]
    (tokens.is_finite() && (0.0..1e15).contains(&tokens)).then_some(tokens.round() as u64)
}

impl TryFrom<String> for Budget {
    type Error = InvalidBudget;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Budget> for String {
    fn from(budget: Budget) -> Self {
        match budget {
            Budget::Money(money) => format!("{}$", money.as_dollars()),
            Budget::Tokens(tokens) => format!("{tokens}-tokens"),
        }
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Money(money) => money.fmt(f),
            Self::Tokens(tokens) => write!(f, "{tokens} tokens"),
        }
    }
}

/// A new budget, or an addition to one. As text a budget, an addition with a leading `+`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BudgetChange {
    /// Replaces the budget.
    Set(Budget),
    /// Adds to the budget.
    Raise(Budget),
}

impl BudgetChange {
    /// Returns the budget after the change; `None` if it would add money to tokens.
    pub fn applied_to(self, before: Budget) -> Option<Budget> {
        match (self, before) {
            (Self::Set(budget), _) => Some(budget),
            (Self::Raise(Budget::Money(more)), Budget::Money(before)) => {
                Some(Budget::Money(before + more))
            }
            (Self::Raise(Budget::Tokens(more)), Budget::Tokens(before)) => {
                Some(Budget::Tokens(before.saturating_add(more)))
            }
            (Self::Raise(_), _) => None,
        }
    }
}

impl FromStr for BudgetChange {
    type Err = InvalidBudget;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.trim().strip_prefix('+') {
            Some(more) => more.parse().map(Self::Raise),
            None => text.parse().map(Self::Set),
        }
    }
}

/// What a budget applies to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BudgetScope {
    /// All members since the lead's run began.
    Run,
    /// All members since the team was created.
    Team,
    /// One member, with its sub-agents.
    Member(MemberName),
    /// One task, for any owner.
    Task(TaskId),
}

impl fmt::Display for BudgetScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run => f.write_str("the run"),
            Self::Team => f.write_str("the team"),
            Self::Member(name) => write!(f, "{name}"),
            Self::Task(id) => write!(f, "task #{id}"),
        }
    }
}

/// The budget of a run, and what the team had used before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunBudget {
    /// The budget.
    pub limit: Budget,
    /// Money that the team had spent before the run.
    #[serde(default)]
    pub usd_before: Money,
    /// Tokens that the team had used before the run.
    #[serde(default)]
    pub tokens_before: u64,
}

/// `budgets.json`: the budgets of a team.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Budgets {
    /// The budget of the current run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<RunBudget>,
    /// The budget of the team.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team: Option<Budget>,
    /// Budgets of members, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub members: BTreeMap<MemberName, Budget>,
    /// Budgets of tasks, by number.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tasks: BTreeMap<TaskId, Budget>,
}

impl Budgets {
    /// Returns a budget.
    pub fn get(&self, scope: &BudgetScope) -> Option<Budget> {
        match scope {
            BudgetScope::Run => self.run.map(|run| run.limit),
            BudgetScope::Team => self.team,
            BudgetScope::Member(name) => self.members.get(name).copied(),
            BudgetScope::Task(id) => self.tasks.get(id).copied(),
        }
    }

    /// Sets or removes a budget. A run that had none begins to count with the team.
    pub fn set(&mut self, scope: &BudgetScope, budget: Option<Budget>) {
        match (scope, budget) {
            (BudgetScope::Run, _) => {
                let before = self.run;
                self.run = budget.map(|limit| RunBudget {
                    limit,
                    usd_before: before.map(|run| run.usd_before).unwrap_or_default(),
                    tokens_before: before.map(|run| run.tokens_before).unwrap_or_default(),
                });
            }
            (BudgetScope::Team, _) => self.team = budget,
            (BudgetScope::Member(name), Some(budget)) => {
                self.members.insert(name.clone(), budget);
            }
            (BudgetScope::Member(name), None) => {
                self.members.remove(name);
            }
            (BudgetScope::Task(id), Some(budget)) => {
                self.tasks.insert(*id, budget);
            }
            (BudgetScope::Task(id), None) => {
                self.tasks.remove(id);
            }
        }
    }
}

/// Budgets that settings give to each run, team, member and task without its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DefaultBudgets {
    /// For each run.
    pub run: Option<Budget>,
    /// For each team.
    pub team: Option<Budget>,
    /// For each member.
    pub member: Option<Budget>,
    /// For each task.
    pub task: Option<Budget>,
    /// Whether the most that a request can use is set aside before it is sent.
    pub strict: bool,
}

impl DefaultBudgets {
    /// Returns whether there is no budget.
    pub fn is_empty(&self) -> bool {
        let all = [self.run, self.team, self.member, self.task];
        all.iter().all(Option::is_none)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_money_or_tokens() {
        let dollars = |amount| Some(Budget::Money(Money::dollars(amount).unwrap()));
        for (text, budget) in [
            ("5$", dollars(5.0)),
            ("$0.50", dollars(0.5)),
            ("2 usd", dollars(2.0)),
            ("500k-tokens", Some(Budget::Tokens(500_000))),
            ("1.5M tokens", Some(Budget::Tokens(1_500_000))),
            ("12-tokens", Some(Budget::Tokens(12))),
            ("5", None),
            ("0$", None),
            ("-1$", None),
            ("k-tokens", None),
            ("", None),
        ] {
            assert_eq!(text.parse::<Budget>().ok(), budget, "{text}");
            if let Some(budget) = budget {
                let written = String::from(budget);
                assert_eq!(written.parse(), Ok(budget), "{written}");
            }
        }
    }

    #[test]
    fn a_budget_is_raised_in_its_own_unit_only() {
        let before: Budget = "5$".parse().unwrap();
        let change = |text: &str| text.parse::<BudgetChange>().unwrap().applied_to(before);
        assert_eq!(change("+2$"), "7$".parse().ok());
        assert_eq!(change("2$"), "2$".parse().ok());
        assert_eq!(change("+2k-tokens"), None);
        assert_eq!(change("2k-tokens"), "2000-tokens".parse().ok());
    }
}

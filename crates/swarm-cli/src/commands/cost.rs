//! `swarm cost`.

use serde_json::{Value, json};
use swarm_os::Liveness;
use swarm_protocol::{Budgets, DefaultBudgets, with_commas};
use swarm_store::{BlockOn as _, Team};
use swarm_team::{BudgetUse, CostSum, TeamSpending, budget_uses};
use swarm_ui::Theme;
use swarm_ui::print::{Cell, Table, short_count};

use crate::app::App;
use crate::failure::Result;
use crate::output::plain;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The cost of each model request is recorded when it ends, at the price that `model.prices` has for the model then; \
sub-agents and failed requests count for the member that sent them. The cost of tokens of a \
model without a price is unknown: `+` marks such sums, and the last line names the models.

Examples:
  swarm cost
  swarm cost --by task
  swarm cost --json | jq .total.usd")]
pub(crate) struct CostArgs {
    /// Grouping.
    #[arg(long, value_enum, default_value_t = CostGroup::Member)]
    by: CostGroup,
}

/// What costs are grouped by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(in crate::commands) enum CostGroup {
    /// Member, with its sub-agents.
    Member,
    /// Task that the member was working on.
    Task,
    /// Model.
    Model,
    /// Day in UTC.
    Day,
}

impl CostGroup {
    fn word(self) -> &'static str {
        match self {
            Self::Member => "member",
            Self::Task => "task",
            Self::Model => "model",
            Self::Day => "day",
        }
    }

    /// Returns the sums with their names; `None` for requests without a task.
    fn rows(self, spending: &TeamSpending) -> Vec<(Option<String>, &CostSum)> {
        fn named<'a, K: ToString + 'a>(
            sums: impl Iterator<Item = (&'a K, &'a CostSum)>,
        ) -> Vec<(Option<String>, &'a CostSum)> {
            sums.map(|(name, sum)| (Some(name.to_string()), sum))
                .collect()
        }
        match self {
            Self::Member => named(spending.members.iter()),
            Self::Model => named(spending.models.iter()),
            Self::Day => named(spending.days.iter()),
            Self::Task => {
                let name = |(task, sum)| {
                    let task: &Option<swarm_protocol::TaskId> = task;
                    (task.map(|id| id.to_string()), sum)
                };
                spending.tasks.iter().map(name).collect()
            }
        }
    }
}

pub(super) fn run(app: &App, args: &CostArgs) -> Result<()> {
    let name = app.team_as_it_is()?;
    let team = app.store.team(&name);
    let (spending, uses) = accounts(app, &*team)?;
    if app.out.json {
        let rows: Vec<Value> = args
            .by
            .rows(&spending)
            .into_iter()
            .map(|(name, sum)| {
                let mut row = json!(sum);
                row[args.by.word()] = json!(name);
                row
            })
            .collect();
        app.out.json(&json!({
            "team": name, "by": args.by.word(), "rows": rows, "total": spending.total,
            "budgets": uses.iter().map(budget_record).collect::<Vec<_>>(),
        }))
    } else {
        let mut text = text(&spending, &uses, args.by, app.out.theme);
        for line in fallbacks(&*team)? {
            text += &plain(&format!("\n{line}"));
        }
        app.out.drawn(&text)
    }
}

/// Returns the costs of a team and the use of its budgets.
pub(in crate::commands) fn accounts(
    app: &App,
    team: &dyn Team,
) -> Result<(TeamSpending, Vec<BudgetUse>)> {
    let spending = TeamSpending::of(team)?;
    let uses = budget_uses(
        &spending,
        &team.budgets().block_on()?,
        &app.settings.default_budgets(),
    );
    Ok((spending, uses))
}

/// Returns which members another model answers at present.
fn fallbacks(team: &dyn Team) -> Result<Vec<String>> {
    let views = team.member_view().block_on()?;
    let lines = views.iter().filter(|view| view.liveness == Liveness::Alive);
    let lines = lines.filter_map(|view| {
        let model = view.report.as_ref()?.fallback.as_ref()?;
        let name = &view.member.name;
        Some(format!(
            "{name}: {model} answers (fallback), until its turn ends"
        ))
    });
    Ok(lines.collect())
}

pub(in crate::commands) fn budget_record(used: &BudgetUse) -> Value {
    json!({
        "scope": used.scope.to_string(), "budget": used.budget, "used": used.used,
        "percent": used.percent(),
    })
}

/// Formats the costs of a lead that has no team yet.
pub(in crate::commands) fn session_text(spending: &TeamSpending, theme: Theme) -> String {
    let uses = budget_uses(spending, &Budgets::default(), &DefaultBudgets::default());
    text(spending, &uses, CostGroup::Model, theme)
}

fn text(spending: &TeamSpending, uses: &[BudgetUse], by: CostGroup, theme: Theme) -> String {
    if spending.total.requests == 0 && uses.is_empty() {
        return "no model requests yet".to_owned();
    }
    let heading = by.word().to_uppercase();
    let headings = [
        heading.as_str(),
        "COST",
        "TOKENS",
        "INPUT",
        "CACHE READ",
        "CACHE WRITE",
        "OUTPUT",
        "REQUESTS",
    ];
    let table = Table::new(headings).spare([7, 5, 4, 3, 6]);
    let mut table = table.right(1..headings.len());
    let rows = by.rows(spending);
    let has_total = rows.len() > 1;
    for (name, sum) in rows {
        let name = match (by, name) {
            (CostGroup::Task, Some(id)) => format!("#{id}"),
            (_, Some(name)) => name,
            (_, None) => "no task".to_owned(),
        };
        table.row(row(&name, sum));
    }
    if has_total {
        table.row(row("total", &spending.total));
    }
    let mut text = if table.is_empty() {
        String::new()
    } else {
        table.render(theme)
    };
    for used in uses {
        let line = format!("budget of {}: {used} ({} %)\n", used.scope, used.percent());
        text += &plain(&line);
    }
    if let Some(line) = unpriced(&spending.total) {
        text += &plain(&format!("{line}\n"));
    }
    text.trim_end().to_owned()
}

/// Returns the line about models without a price.
fn unpriced(total: &CostSum) -> Option<String> {
    if total.unpriced_models.is_empty() {
        return None;
    }
    Some(format!(
        "not in the cost: {} tokens of {}, which had no price; add one under [model.prices] in swarm.toml",
        short_count(total.unpriced_tokens),
        with_commas(&total.unpriced_models)
    ))
}

fn row(name: &str, sum: &CostSum) -> [Cell; 8] {
    let usage = sum.usage;
    let counts = [
        usage.total(),
        usage.input_tokens,
        usage.cache_read_input_tokens,
        usage.cache_creation_input_tokens,
        usage.output_tokens,
    ];
    let [total, input, read, write, output] = counts.map(|count| Cell::new(short_count(count)));
    [
        Cell::new(name),
        Cell::new(sum.to_string()),
        total,
        input,
        read,
        write,
        output,
        Cell::new(sum.requests.to_string()),
    ]
}

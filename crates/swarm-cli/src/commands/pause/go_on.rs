//! `swarm continue`.

use std::time::Instant;

use serde_json::json;
use swarm_protocol::{BudgetChange, MemberState};

use super::raise::raise;
use super::subject::{PROMPTLY, Subject};
use crate::app::App;
use crate::commands::acting::require_person;
use crate::commands::cost::budget_record;
use crate::commands::stop::MemberWord;
use crate::failure::{Failure, Result};
use swarm_store::BlockOn as _;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
`--budget` changes the budgets that are used up for the member: its own, its task's, the team's or the run's. If none \
is, it changes the member's own. `2$` replaces a budget, `+2$` adds to it (if it is used up, to what is used).

Examples:
  swarm continue alice
  swarm continue alice --budget +2$
  swarm continue team-lead --budget 500k-tokens")]
pub(crate) struct ContinueArgs {
    /// Paused member, or with `--budget` any member, as NAME or NAME@TEAM.
    pub(crate) name: MemberWord,
    /// New budget, or with `+` an addition, in money or tokens: 5$, +2$, +500k-tokens.
    #[arg(long, value_name = "[+]AMOUNT")]
    pub(crate) budget: Option<BudgetChange>,
}

pub(in crate::commands) fn run(app: &App, args: &ContinueArgs) -> Result<()> {
    require_person(app, "continue")?;
    let team = app.team_of_id(args.name.team.clone())?;
    let name = &args.name.name;
    let raised = match args.budget {
        Some(change) => raise(app, &*team, name, change)?,
        None => Vec::new(),
    };
    let told = raised
        .iter()
        .map(|used| format!("budget of {}: {used}", used.scope));
    let mut lines: Vec<String> = told.collect();
    let budgets: Vec<_> = raised.iter().map(budget_record).collect();
    if name.is_lead() && args.budget.is_some() {
        // A lead has no pause mark.
        let record = json!({"member": name, "budgets": budgets});
        return app.out.result(&record, &lines.join("\n"));
    }
    let mut subject = Subject::find(app, &args.name, "continue")?;
    let before = team.set_paused(&subject.name, None).block_on()?;
    let end = Instant::now() + PROMPTLY;
    let mut view = subject.view()?;
    while matches!(view.state, MemberState::Paused)
        || (args.budget.is_some() && view.state == MemberState::OverBudget)
    {
        if !subject.watch.wait(Some(end)) {
            return Err(subject.silent(&view));
        }
        view = subject.view()?;
    }
    if view.state == MemberState::Parked {
        let message = format!("{name} cannot take a turn: the team has lost its lead");
        return Err(Failure::conflict(message).with_hint(format!(
            "run `swarm resume {}` to give the team a lead",
            team.name()
        )));
    }
    lines.extend(match (&before, args.budget) {
        (Some(_), _) => Some(format!("{name} continues")),
        (None, None) => Some(format!("{name} was not paused")),
        (None, Some(_)) => None,
    });
    let record = json!({
        "member": name, "state": view.state, "pause": before, "budgets": budgets,
    });
    app.out.result(&record, &lines.join("\n"))
}

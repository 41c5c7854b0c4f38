//! `swarm team list`.

use std::fmt::Display;

use serde_json::{Value, json};
use swarm_protocol::{TeamConfig, TeamName};
use swarm_store::{BlockOn as _, MemberView, StoreError, TaskList, TeamView};
use swarm_supervisor::LeadStanding;
use swarm_ui::print::{Cell, Table};

use crate::app::App;
use crate::commands::members::{age, is_over, state_cell};
use crate::commands::requests::{pending, who_waits};
use crate::failure::{Failure, Result};
use crate::which_team::without_roster;

/// A team as far as it can be read.
struct Line {
    config: TeamConfig,
    members: Vec<MemberView>,
    tasks: TaskList,
    state: &'static str,
    /// Members that wait for an answer.
    waiting: Vec<String>,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Teams that work in this directory come first.

Examples:
  swarm team list
  swarm team list --json | jq -r '.[] | select(.waiting != []) | .name'")]
pub(crate) struct TeamListArgs {
    /// List the teams of all directories (the default).
    #[arg(long)]
    pub(crate) all: bool,
}

pub(super) fn run(app: &App) -> Result<()> {
    let app = &app.hurried();
    let mut lines = Vec::new();
    let mut damaged: Vec<Failure> = Vec::new();
    let (mut teams, remains) = app.store.teams_and_remains().block_on()?;
    let is_any = !teams.is_empty();
    app.leave_out_unreachable(&mut teams);
    app.here_first(&mut teams);
    for team in teams {
        match read_team(app, &team) {
            Ok(line) => lines.push(line),
            // The team was deleted after the names were listed.
            Err(StoreError::TeamNotFound { .. }) => {}
            Err(error) => damaged.push(error.into()),
        }
    }
    for team in remains {
        let damage = app.store.team(&team).damage().block_on();
        damaged.extend(damage.map(|damage| without_roster(&team, damage)));
    }
    let is_empty = !is_any && damaged.is_empty();
    if is_empty && let Some(hidden) = Failure::of_sandbox() {
        return Err(hidden);
    }
    if app.out.json {
        let records: Vec<Value> = lines.iter().map(record).collect::<Result<_>>()?;
        app.out.json(&records)?;
    } else if is_empty {
        app.out
            .say("no teams; create one with `swarm team create NAME`");
    } else if !lines.is_empty() {
        app.out.table(&table(app, &lines))?;
        for line in lines.iter().filter(|line| line.state == "orphaned") {
            let team = &line.config.name;
            app.out.say(&format!(
                "the lead of {team} is lost: `swarm resume {team}` takes it over, `swarm team delete {team} --force` deletes it"
            ));
        }
        say_ended(app, &lines);
    }
    // Readable teams were printed; the error reports the damaged ones.
    Failure::worst(damaged).map_or(Ok(()), Err)
}

/// Says how to continue teams whose lead session has ended.
fn say_ended(app: &App, lines: &[Line]) {
    let ended = lines.iter().filter(|line| line.state == ENDED);
    let ended: Vec<&TeamName> = ended.map(|line| &line.config.name).collect();
    let (what, how) = match ended[..] {
        [] => return,
        [team] => (
            format!("the lead session of {team} has ended"),
            how_to_continue(team),
        ),
        _ => {
            let count = ended.len();
            let what = format!("the lead sessions of {count} teams have ended; for each");
            (what, how_to_continue("TEAM"))
        }
    };
    app.out.say(&format!("{what}: {how}"));
}

fn read_team(app: &App, team: &TeamName) -> Result<Line, StoreError> {
    let team = app.store.team(team);
    let (seen, _not_entered) = swarm_team::reconcile_and_view(&team, team.view().block_on()?)?;
    let requests = pending(&*team)?;
    let waiting = who_waits(&requests)
        .into_iter()
        .map(str::to_owned)
        .collect();
    Ok(Line {
        waiting,
        state: state_in(&seen),
        tasks: team.tasks().block_on()?,
        config: seen.config,
        members: seen.members,
    })
}

/// State of a team whose lead session has ended and whose teammates are all shut down.
pub(in crate::commands) const ENDED: &str = "ended";

/// Returns the state of a member in a team with this lead state: the lead of an ended team does not
/// run anywhere.
pub(in crate::commands) fn member_state(view: &MemberView, state: &str) -> Cell {
    if state == ENDED && view.member.name.is_lead() {
        Cell::new(ENDED)
    } else {
        state_cell(view)
    }
}

/// Says how to continue or delete a team whose lead session has ended.
pub(in crate::commands) fn how_to_continue(team: impl Display) -> String {
    format!(
        "`swarm lead --continue --team {team}` or `swarm run --continue --team {team} PROMPT` continues it, \
         `swarm team delete {team}` deletes it"
    )
}

/// Returns the lead state: `led` by a process, `orphaned` if that process died, `ended`,
/// `by-hand`, or `foreign` if another program created the team.
pub(in crate::commands) fn state_in(seen: &TeamView) -> &'static str {
    let all_over = || {
        let mut members = seen.members.iter();
        members.all(|view| view.member.name.is_lead() || is_over(view.state))
    };
    match LeadStanding::of(seen) {
        LeadStanding::Led(_) | LeadStanding::Unknown(_) => "led",
        LeadStanding::Lost(_) => "orphaned",
        LeadStanding::ByHand if seen.config.lead_session_id.is_some() && all_over() => ENDED,
        LeadStanding::ByHand => "by-hand",
        LeadStanding::Foreign(_) => "foreign",
    }
}

fn record(line: &Line) -> Result<Value> {
    let mut record = serde_json::to_value(&line.config)?;
    record["state"] = json!(line.state);
    record["waiting"] = json!(line.waiting);
    Ok(record)
}

fn table(app: &App, lines: &[Line]) -> Table {
    let mut table = Table::new([
        "TEAM",
        "LEAD",
        "TEAMMATES",
        "OPEN TASKS",
        "WAITING",
        "AGE",
        "DESCRIPTION",
    ])
    .right([2, 3, 5])
    .spare([6, 5]);
    let now = app.clock.now();
    for line in lines {
        let mates = line
            .members
            .iter()
            .filter(|view| !view.member.name.is_lead());
        let (alive, all) = mates.fold((0, 0), |(alive, all), view| {
            (alive + usize::from(!is_over(view.state)), all + 1)
        });
        let tasks = &line.tasks.tasks;
        let open = tasks
            .iter()
            .filter(|task| !line.tasks.state(task).is_terminal())
            .count();
        let state = match line.state {
            "orphaned" => Cell::new(line.state).bad(),
            state => Cell::new(state),
        };
        table.row([
            Cell::name(&line.config.name, None),
            state,
            Cell::new(if alive == all {
                all.to_string()
            } else {
                format!("{alive} of {all}")
            }),
            Cell::new(format!("{open} of {}", tasks.len())),
            Cell::new(line.waiting.join(", ")).warn(),
            Cell::new(if line.config.created_at.is_zero() {
                String::new()
            } else {
                age(now, line.config.created_at)
            }),
            Cell::new(line.config.description.as_deref().unwrap_or_default()),
        ]);
    }
    table
}

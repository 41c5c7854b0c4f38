//! `swarm ps`.

use std::time::Duration;

use serde_json::Value;
use swarm_protocol::shortened;
use swarm_supervisor::{ProcessStatus, SeenProcess, process_list};
use swarm_ui::print::{Cell, Table, short_duration};

use super::text;
use crate::app::App;
use crate::failure::Result;

pub(in crate::commands) fn run(app: &App) -> Result<()> {
    let seen = process_list(&*app.store, &app.root)?;
    let records: Vec<Value> = seen.iter().map(text::record).collect();
    let none = "no swarm processes are running";
    app.out.list(&records, &table(app, &seen), none)?;
    for line in advice(&seen) {
        app.out.say(&line);
    }
    Ok(())
}

fn table(app: &App, seen: &[SeenProcess]) -> Table {
    let mut table = Table::new([
        "TEAM", "MEMBER", "KIND", "PID", "AGE", "STATE", "NOTE", "COMMAND",
    ])
    .right([3, 4])
    .spare([7, 4]);
    for one in seen {
        let word = Cell::new(text::state(&one.standing));
        let word = match &one.standing {
            ProcessStatus::Orphan(_) => word.bad(),
            ProcessStatus::Placed {
                lead_lost: true, ..
            }
            | ProcessStatus::Unknown => word.warn(),
            ProcessStatus::Elsewhere(_) => word.dim(),
            ProcessStatus::Placed { .. } => word,
        };
        table.row([
            Cell::new(one.team.as_deref().unwrap_or("-")),
            Cell::new(one.member.as_deref().unwrap_or("-")),
            Cell::new(one.kind.name()),
            Cell::new(one.pid.to_string()),
            Cell::new(one.age.map(age).unwrap_or_default()),
            word,
            Cell::new(text::note(app, one)),
            Cell::new(short_command(&one.command)),
        ]);
    }
    table
}

fn age(age: Duration) -> String {
    short_duration(age.as_secs().max(1).saturating_mul(1000))
}

/// Formats the program name and as many arguments as fit.
fn short_command(command: &str) -> String {
    const SHOWN: usize = 40;
    let (program, rest) = command.split_once(' ').unwrap_or((command, ""));
    let program = program.rsplit('/').next().unwrap_or(program);
    let line = swarm_ui::clean_line(&format!("{program} {rest}"));
    shortened(line.trim_end(), SHOWN)
}

/// Returns hints about orphaned processes and teams without a lead.
fn advice(seen: &[SeenProcess]) -> Vec<String> {
    let mut lines = Vec::new();
    let strays = seen
        .iter()
        .filter(|one| matches!(one.standing, ProcessStatus::Orphan(_)))
        .count();
    if strays > 0 {
        lines.push("`swarm reap` terminates orphaned processes".to_owned());
    }
    let mut lost: Vec<&str> = seen
        .iter()
        .filter(|one| {
            matches!(
                one.standing,
                ProcessStatus::Placed {
                    lead_lost: true,
                    ..
                }
            )
        })
        .filter_map(|one| one.team.as_deref())
        .collect();
    lost.dedup();
    for team in lost {
        lines.push(format!(
            "the lead of {team} is lost: `swarm lead --continue --team {team}` continues its conversation, `swarm resume {team}` \
             takes the team over, `swarm reap --parked {team}` terminates its members"
        ));
    }
    lines
}

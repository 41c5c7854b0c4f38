//! `swarm worktree list`, and worktrees of teams that no longer exist.

use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};
use swarm_store::{BlockOn as _, TeamStore};
use swarm_ui::print::{Cell, Table};
use swarm_worktree::{Condition, Hazard, ListedWorktree, Worktrees};

use super::published::fetch_listed;
use crate::app::App;
use crate::failure::{Failure, Result};
use crate::output::plain;
use crate::spawn_context::worktrees;

pub(super) fn run(app: &App) -> Result<ExitCode> {
    let worktrees = worktrees(app);
    fetch_listed(app, &worktrees)?;
    let (listed, damaged) = worktrees.list(&app.env.cwd)?;
    if app.out.json {
        let records: Vec<_> = listed.iter().map(record).collect::<Result<_, _>>()?;
        app.out.json(&records)?;
    } else if listed.is_empty() {
        app.out
            .say("no worktrees; create one with `swarm spawn NAME --worktree`");
    } else {
        app.out.table(&table(&listed))?;
        for one in &listed {
            // The table already shows who uses it.
            let owner = one.record.owner.describe();
            let in_table = |hazard: &&Hazard| matches!(hazard, Hazard::InUse(by) if *by == owner);
            let told = one.hazards.iter().filter(|hazard| !in_table(hazard));
            let told: Vec<_> = told.map(ToString::to_string).collect();
            if !told.is_empty() {
                let told = plain(&told.join("; "));
                app.out.say(&format!("{}: {told}", one.record.slug));
            }
        }
    }
    match Failure::worst(damaged.into_iter().map(Failure::from).collect()) {
        Some(failure) => Err(failure),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// Returns the stored record with the detected state.
pub(super) fn record(listed: &ListedWorktree) -> Result<Value> {
    let mut record = serde_json::to_value(&listed.record).map_err(anyhow::Error::from)?;
    let hazards: Vec<_> = listed.hazards.iter().map(ToString::to_string).collect();
    record["state"] = json!(listed.condition.name());
    record["hazards"] = json!(hazards);
    record["bytes"] = json!(listed.size);
    Ok(record)
}

/// Returns the reasons against removal in one line.
pub(super) fn why(listed: &ListedWorktree) -> String {
    if listed.condition == Condition::HalfMade {
        return "it is being created, possibly by a git process whose swarm has exited".to_owned();
    }
    let hazards: Vec<_> = listed.hazards.iter().map(ToString::to_string).collect();
    plain(&hazards.join("; "))
}

fn table(listed: &[ListedWorktree]) -> Table {
    let mut table = Table::new(["WORKTREE", "OWNER", "STATE", "SIZE", "BASE", "PATH"])
        .right([3])
        .spare([4, 5]);
    for one in listed {
        let state = Cell::new(one.condition.name());
        let state = match one.condition {
            Condition::Clean => state.good(),
            Condition::Unknown | Condition::HalfMade | Condition::Gone => state.bad(),
            Condition::InUse | Condition::Work => state,
        };
        table.row([
            Cell::name(one.record.slug.as_str(), None),
            Cell::new(one.record.owner.describe()),
            state,
            Cell::new(match one.record.remote {
                Some(_) => "-".to_owned(),
                None => size(one.size),
            }),
            Cell::new(one.record.base.describe()),
            Cell::new(plain(&one.record.location())),
        ]);
    }
    table
}

/// Formats bytes with one decimal place.
fn size(bytes: u64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB"];
    let mut tenths = bytes.saturating_mul(10);
    let mut unit = 0;
    while tenths >= 10_000 && unit + 1 < units.len() {
        tenths /= 1000;
        unit += 1;
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, units[unit])
}

/// Returns this repository's unused worktrees whose team no longer exists; empty outside a
/// repository or without git.
pub(in crate::commands) fn abandoned(
    worktrees: &Worktrees,
    store: &dyn TeamStore,
    directory: &Path,
) -> Vec<ListedWorktree> {
    let (Ok((listed, _)), Ok(there)) = (worktrees.list(directory), store.teams().block_on()) else {
        return Vec::new();
    };
    let is_left = |listed: &ListedWorktree| {
        let team = listed.record.owner.team.as_ref();
        listed.condition != Condition::InUse && team.is_some_and(|team| !there.contains(team))
    };
    listed.into_iter().filter(is_left).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        let shown: Vec<_> = [0, 999, 1000, 4096, 1_234_567, 44_000_000_000]
            .map(size)
            .into();
        assert_eq!(
            shown,
            ["0.0 B", "999.0 B", "1.0 kB", "4.0 kB", "1.2 MB", "44.0 GB"]
        );
    }
}

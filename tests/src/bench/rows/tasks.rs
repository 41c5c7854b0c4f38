//! Claiming and completing tasks in lists of several lengths.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::json;
use swarm_protocol::{TaskId, TaskStatus, TeamName};
use swarm_store::{BlockOn as _, FileStore, TaskChange, TeamStore as _};

use super::team::{actor, create, store};
use crate::bench::figure::Figure;
use crate::bench::order::Order;
use crate::bench::scratch::everywhere;
use crate::bench::table::{Aim, Line};
use crate::stage::Team;

const LENGTHS: [usize; 3] = [10, 1_000, 10_000];
/// Maximum cost ratio in the longest list for operations that need not read the whole list.
const FLAT: f64 = 1.3;
/// The measured operations.
const KINDS: [&str; 5] = ["claim ID", "complete", "show", "claim --next", "list"];

/// A list and the durations of each operation.
struct List {
    team: TeamName,
    files: Team,
    length: usize,
    times: [Vec<Duration>; 5],
}

/// The same steps in each list in turn.
pub(crate) fn measure(order: &Order) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    for (place, directory) in everywhere() {
        let store = store(directory.path());
        let mut lists = Vec::new();
        for length in LENGTHS {
            let team = create(directory.path(), &format!("tasks-{length}"), &["worker"])?;
            let files = Team::new(directory.path(), team.as_str());
            fill(&files, length)?;
            lists.push(List {
                team,
                files,
                length,
                times: Default::default(),
            });
        }
        for round in 0..order.runs(40) {
            for list in &mut lists {
                step(&store, list, round)?;
            }
        }
        for (kind, name) in KINDS.iter().enumerate() {
            let of = |at: usize| Figure::times(lists[at].times[kind].iter().copied());
            let is_flat = kind < 3;
            for at in [1, 2] {
                let aim = if is_flat { Aim::Ratio(FLAT) } else { Aim::None };
                let what = format!("{name} of {} tasks, {place}", LENGTHS[at]);
                lines.push(Line::against(what, of(at), "of 10", of(0), aim));
            }
        }
    }
    Ok(lines)
}

fn step(store: &FileStore, list: &mut List, round: usize) -> Result<()> {
    let by = actor(&list.team, "worker");
    let team = &list.team;
    // At a random position, and free: completed tasks are released below.
    let number = round * 7919 % list.length + 1;
    let id = TaskId::new(u64::try_from(number)?);
    let mut took = |kind: usize, began: Instant| list.times[kind].push(began.elapsed());
    let began = Instant::now();
    store.team(team).claim(&id, &by).block_on()?;
    took(0, began);
    let began = Instant::now();
    let done = TaskChange::from(TaskStatus::Completed);
    store.team(team).update_task(&id, done, &by).block_on()?;
    took(1, began);
    let began = Instant::now();
    store.team(team).task(&id).block_on()?;
    took(2, began);
    write_task(&list.files, number)?;
    let began = Instant::now();
    let next = store.team(team).claim_next(&by).block_on()?;
    took(3, began);
    if let Some(next) = next {
        store.team(team).release(&next.id, &by).block_on()?;
    }
    let began = Instant::now();
    store.team(team).tasks().block_on()?;
    took(4, began);
    Ok(())
}

fn fill(files: &Team, length: usize) -> Result<()> {
    let directory = files.tasks_directory();
    fs::create_dir_all(&directory)?;
    fs::write(directory.join(".highwatermark"), length.to_string())?;
    (1..=length).try_for_each(|number| write_task(files, number))
}

/// Writes a task without an owner, as Claude Code does.
fn write_task(files: &Team, number: usize) -> Result<()> {
    let task = json!({
        "id": number.to_string(),
        "subject": format!("Look after part {number} of the work"),
        "description": "Read what is there, change what has to be changed, and say what you did.",
        "status": "pending", "blocks": [], "blockedBy": [],
    });
    let path = files.tasks_directory().join(format!("{number}.json"));
    Ok(fs::write(path, serde_json::to_vec_pretty(&task)?)?)
}

//! Creating many tasks with one command.

use std::time::{Duration, Instant};

use anyhow::Result;
use swarm_protocol::NewTask;
use swarm_store::{Actor, BlockOn as _, TeamStore as _};

use super::team::{create, store};
use crate::bench::figure::Figure;
use crate::bench::order::Order;
use crate::bench::scratch::everywhere;
use crate::bench::table::{Aim, Line};

const LENGTHS: [u32; 3] = [100, 1_000, 10_000];
/// Maximum duration of the longest batch in seconds.
const LONGEST: f64 = 5.0;
/// Maximum cost ratio of a task of a long batch and one of a short batch.
const FLAT: f64 = 1.3;

/// Batches in which each task depends on the previous one, each in a new team.
pub(crate) fn measure(order: &Order) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    for (place, directory) in everywhere() {
        let store = store(directory.path());
        let mut times: [Vec<Duration>; 3] = Default::default();
        for round in 0..order.runs(4) {
            for (length, times) in LENGTHS.iter().zip(&mut times) {
                let team = create(directory.path(), &format!("batch-{length}-{round}"), &[])?;
                let new: Vec<NewTask> = (0..*length as usize).map(task).collect();
                let began = Instant::now();
                store
                    .team(&team)
                    .create_tasks(&new, &Actor::person(&team))
                    .block_on()?;
                times.push(began.elapsed());
            }
        }
        let whole = times
            .each_ref()
            .map(|all| Figure::times(all.iter().copied()));
        let each: Vec<Figure> = LENGTHS
            .iter()
            .zip(&times)
            .map(|(length, all)| Figure::times(all.iter().map(|time| *time / *length)))
            .collect();
        for (length, whole) in LENGTHS.iter().zip(whole) {
            let aim = if *length == LENGTHS[2] {
                Aim::AtMost(LONGEST)
            } else {
                Aim::None
            };
            lines.push(Line::alone(
                format!("{length} tasks in one call, {place}"),
                whole,
                aim,
            ));
        }
        for at in [1, 2] {
            let what = format!("a task of {}, {place}", LENGTHS[at]);
            let (ours, short) = (each[at].clone(), each[0].clone());
            lines.push(Line::against(what, ours, "of 100", short, Aim::Ratio(FLAT)));
        }
    }
    Ok(lines)
}

fn task(place: usize) -> NewTask {
    NewTask {
        subject: format!("Look after part {place} of the work"),
        description: "Read what is there, change what has to be changed, and say what you did."
            .to_owned(),
        after: place.checked_sub(1).into_iter().collect(),
        ..NewTask::default()
    }
}

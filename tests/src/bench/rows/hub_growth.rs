//! How the costs of a team on a hub grow with the numbers of its tasks and members.

use std::time::{Duration, Instant};

use anyhow::Result;
use swarm_hubkit::{NatsServer, has_server};
use swarm_protocol::TaskStatus;
use swarm_store::{Actor, BlockOn as _, Draft, TaskChange, Team};

use super::hub::create;
use super::send::text;
use super::team::{member_name, team_name};
use crate::bench::figure::Figure;
use crate::bench::order::Order;
use crate::bench::scratch::on_disk;
use crate::bench::table::{Aim, Line};
use crate::faults::ground::{join, new_task};

const TASKS: [usize; 4] = [10, 1_000, 10_000, 100_000];
const MEMBERS: [usize; 3] = [10, 100, 1_000];

/// One change of a task, one message and one status, by number of tasks and members.
pub(crate) fn measure(order: &Order) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    if has_server() {
        tasks(order, &mut lines)?;
        members(order, &mut lines)?;
    }
    Ok(lines)
}

/// Measures some calls. Their last line is compared with the first one.
fn enter(lines: &mut Vec<Line>, what: &str, count: usize, of: &str, times: Vec<Duration>) {
    let of_this = |line: &&Line| line.what.starts_with(what);
    let first = lines.iter().find(of_this).map(|line| line.ours.clone());
    let (text, ours) = (format!("{what}, {count} {of}"), Figure::times(times));
    lines.push(match first {
        Some(first) => Line::against(text, ours, "the fewest", first, Aim::None),
        None => Line::alone(text, ours, Aim::None),
    });
}

fn timed<T>(runs: usize, mut call: impl FnMut(usize) -> Result<T>) -> Result<Vec<Duration>> {
    let one = |run| {
        let began = Instant::now();
        call(run)?;
        Ok(began.elapsed())
    };
    (0..runs).map(one).collect()
}

fn tasks(order: &Order, lines: &mut Vec<Line>) -> Result<()> {
    for count in TASKS {
        let place = on_disk();
        let server = NatsServer::start(&place.path().join("server"), &[]);
        let team = create(&place.path().join("root"), &server)?;
        let person = Actor::person(&team_name(super::played::TEAM));
        let new: Vec<_> = (0..count).map(|_| new_task("work", &[])).collect();
        let mut ids = Vec::new();
        let created = timed(1, |_| {
            ids = team.create_tasks(&new, &person).block_on()?;
            Ok(())
        })?;
        enter(
            lines,
            "tasks created on a hub by one call",
            count,
            "tasks",
            created,
        );
        let runs = order.runs(if count > 10_000 { 3 } else { 20 }).min(count);
        let changed = timed(runs, |run| {
            let done = TaskChange::from(TaskStatus::Completed);
            Ok(team.update_task(&ids[run], done, &person).block_on()?)
        })?;
        enter(lines, "task completed on a hub", count, "tasks", changed);
    }
    Ok(())
}

fn members(order: &Order, lines: &mut Vec<Line>) -> Result<()> {
    for count in MEMBERS {
        let place = on_disk();
        let server = NatsServer::start(&place.path().join("server"), &[]);
        let team = create(&place.path().join("root"), &server)?;
        let joined = timed(count, |number| {
            join(&*team, &format!("m{number}"));
            Ok(())
        })?;
        enter(
            lines,
            "member reserved and committed on a hub",
            count,
            "members",
            joined,
        );
        let to = member_name("m0");
        let sent = timed(order.runs(20), |run| {
            let draft = Draft::new("team-lead", text(run));
            Ok(team.post(&to, draft).block_on()?)
        })?;
        enter(lines, "send on a hub", count, "members", sent);
        let shown = timed(order.runs(3), |_| Ok(view(&*team)?))?;
        enter(
            lines,
            "state of all members on a hub",
            count,
            "members",
            shown,
        );
    }
    Ok(())
}

fn view(team: &dyn Team) -> swarm_store::Result<()> {
    team.member_view().block_on().map(drop)
}

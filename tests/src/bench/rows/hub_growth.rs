//! How the costs of a team on a hub grow with the numbers of its tasks and members.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use swarm_hubkit::{NatsServer, has_server};
use swarm_protocol::{SpawnId, TaskStatus};
use swarm_store::{Actor, BlockOn as _, Draft, Lease, TaskChange, Team};

use super::hub::{create, join_hub, open};
use super::played::{TEAM, pause};
use super::send::text;
use super::team::{member_name, team_name};
use crate::bench::figure::Figure;
use crate::bench::order::Order;
use crate::bench::process::ticks;
use crate::bench::scratch::on_disk;
use crate::bench::table::{Aim, Line};
use crate::faults::ground::{join, life_record, new_task};

const TASKS: [usize; 4] = [10, 1_000, 10_000, 100_000];
/// Most tasks that are created by one call.
const BATCH: usize = 1_000;
const MEMBERS: [usize; 3] = [10, 100, 1_000];
/// Members on one machine.
const MEMBERS_EACH: usize = 100;
/// Duration of the measurement of CPU time.
const WATCHED: Duration = Duration::from_secs(10);

/// Operations on tasks, messages and members, by number of tasks and members.
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
        let person = Actor::person(&team_name(TEAM));
        let new: Vec<_> = (0..count).map(|_| new_task("work", &[])).collect();
        let (mut ids, mut created) = (Vec::new(), Vec::new());
        for batch in new.chunks(BATCH) {
            let began = Instant::now();
            ids.extend(team.create_tasks(batch, &person).block_on()?);
            created.push(began.elapsed());
        }
        let what = "up to 1,000 tasks created by one call on a hub";
        enter(
            lines,
            what,
            count,
            "tasks",
            created.split_off(created.len() - 1),
        );
        let runs = order.runs(20).min(count / 2);
        let completed = timed(runs, |run| {
            let done = TaskChange::from(TaskStatus::Completed);
            Ok(team.update_task(&ids[run], done, &person).block_on()?)
        })?;
        enter(lines, "task completed on a hub", count, "tasks", completed);
        // These have read nothing before.
        let fresh = || open(&place.path().join("root"));
        let runs = order.runs(4);
        let claimed = timed(runs, |_| Ok(fresh().claim_next(&person).block_on()?))?;
        enter(
            lines,
            "the next task claimed on a hub",
            count,
            "tasks",
            claimed,
        );
        let listed = timed(runs, |_| Ok(fresh().tasks().block_on()?))?;
        enter(lines, "tasks listed on a hub", count, "tasks", listed);
    }
    Ok(())
}

fn members(order: &Order, lines: &mut Vec<Line>) -> Result<()> {
    for count in MEMBERS {
        let place = on_disk();
        let server = NatsServer::start(&place.path().join("server"), &[]);
        let team = create(&place.path().join("root"), &server)?;
        let mut spawns = Vec::new();
        let joined = timed(count, |number| {
            spawns.push(join(&*team, &format!("m{number}")));
            Ok(())
        })?;
        let last = joined.len() - joined.len().min(20);
        let what = "member reserved and committed on a hub";
        enter(lines, what, count, "members", joined[last..].to_vec());
        let nodes = Machines::start(place.path(), &server, &spawns)?;
        let to = member_name("m0");
        let sent = timed(order.runs(20), |run| {
            let draft = Draft::new("team-lead", text(run));
            Ok(team.post(&to, draft).block_on()?)
        })?;
        enter(lines, "send on a hub", count, "members", sent);
        let shown = timed(order.runs(3), |_| Ok(view(&*team)?))?;
        let what = "state of all members on a hub";
        enter(lines, what, count, "members", shown);
        let reconciled = timed(order.runs(3), |_| Ok(team.reconcile().block_on()?))?;
        let what = "reconciliation on a hub";
        enter(lines, what, count, "members", reconciled);
        let before = ticks(server.pid());
        pause(WATCHED);
        let used = Duration::from_millis((ticks(server.pid()) - before) * 10);
        let what = "CPU time of the hub in 10 s, leases renewed on simulated machines";
        enter(lines, what, count, "members", vec![used]);
        drop(nodes);
    }
    Ok(())
}

/// Simulated machines: connections of their own, with the leases of members.
struct Machines {
    _leases: Vec<Lease>,
    _teams: Vec<Arc<dyn Team>>,
}

impl Machines {
    fn start(place: &Path, server: &NatsServer, spawns: &[SpawnId]) -> Result<Self> {
        let (mut leases, mut teams) = (Vec::new(), Vec::new());
        for (machine, spawns) in spawns.chunks(MEMBERS_EACH).enumerate() {
            let team = join_hub(&place.join(format!("machine-{machine}")), server)?;
            for (number, spawn) in spawns.iter().enumerate() {
                let name = member_name(&format!("m{}", machine * MEMBERS_EACH + number));
                leases.push(team.take_life(&name, &life_record(*spawn)).block_on()?);
            }
            teams.push(team);
        }
        Ok(Self {
            _leases: leases,
            _teams: teams,
        })
    }
}

fn view(team: &dyn Team) -> swarm_store::Result<()> {
    team.member_view().block_on().map(drop)
}

//! Latency of `swarm status --watch`.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Signal, kill_process};

use super::played::{Played, pause};
use crate::bench::figure::Figure;
use crate::bench::order::Order;
use crate::bench::table::{Aim, Line};
use crate::fake_api::{Ask, Reply};
use crate::stage::Running;

/// Timeout of an expected output.
const LONGEST: Duration = Duration::from_secs(30);
/// Polling interval.
const POLL_INTERVAL: Duration = Duration::from_millis(1);
/// Maximum latency of a death, in seconds.
const AIM: f64 = 0.1;

/// Members that are killed and tasks that are created, in turn, with one watching command.
pub(crate) fn measure(order: &Order) -> Result<Vec<Line>> {
    let played = Played::new(order, |_: &Ask| Reply::text("Understood."));
    let runs = order.runs(8);
    let (names, pids) = played.idle_mates(runs)?;
    let watching = played.world.start(&["status", "--watch"]);
    shown_after(&watching, 0, |shown| shown.contains("idle"))?;
    let (mut deaths, mut tasks) = (Vec::new(), Vec::new());
    for (run, (name, pid)) in names.iter().zip(pids).enumerate() {
        pause(Duration::from_millis(300));
        let (from, began) = (watching.stdout().len(), Instant::now());
        let subject = format!("subject-{run}");
        played.world.swarm(&["task", "create", &subject]).ok();
        let at = shown_after(&watching, from, |shown| shown.contains(&subject))?;
        tasks.push(at.duration_since(began));
        pause(Duration::from_millis(300));
        let (from, began) = (watching.stdout().len(), Instant::now());
        kill(pid)?;
        let is_dead = |shown: &str| {
            let mut lines = shown.lines().filter(|line| line.contains(name));
            lines.any(|line| line.split_whitespace().nth(1) == Some("dead"))
        };
        let at = shown_after(&watching, from, is_dead)?;
        deaths.push(at.duration_since(began));
    }
    Ok(vec![Line::against(
        "kill -9 of a member -> shown by status --watch",
        Figure::times(deaths),
        "a new task (and the command that creates it)",
        Figure::times(tasks),
        Aim::AtMost(AIM),
    )])
}

fn kill(pid: u32) -> Result<()> {
    let pid = Pid::from_raw(i32::try_from(pid)?).context("the pid of a member")?;
    Ok(kill_process(pid, Signal::KILL)?)
}

/// Returns the time at which a text appeared after the first `from` bytes.
fn shown_after(
    watching: &Running,
    from: usize,
    is_shown: impl Fn(&str) -> bool,
) -> Result<Instant> {
    let began = Instant::now();
    while began.elapsed() < LONGEST {
        let shown = watching.stdout();
        if shown.get(from..).is_some_and(&is_shown) {
            return Ok(Instant::now());
        }
        pause(POLL_INTERVAL);
    }
    bail!("not shown within 30 s; shown was\n{}", watching.stdout())
}

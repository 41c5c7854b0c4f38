//! Costs of idle members.

use std::time::Duration;

use anyhow::Result;

use super::played::{Played, pause};
use crate::bench::figure::{Figure, Unit, number};
use crate::bench::order::Order;
use crate::bench::process::{
    descriptors, proportional, resident, sleeps, threads, ticks, unshared,
};
use crate::bench::table::{Aim, Line};
use crate::fake_api::{Ask, Reply};

/// Number of members.
const MEMBERS: usize = 10;
/// Duration of the measurement.
const WATCHED: Duration = Duration::from_secs(10);

/// Ten idle members for ten seconds.
pub(crate) fn measure(order: &Order) -> Result<Vec<Line>> {
    let played = Played::new(order, |_: &Ask| Reply::text("Understood."));
    let (_, pids) = played.idle_mates(MEMBERS)?;
    pause(Duration::from_secs(3));
    let looks = || pids.iter().map(|pid| (sleeps(*pid), ticks(*pid)));
    let before: Vec<_> = looks().collect();
    pause(WATCHED);
    let (mut woken, mut worked) = (Vec::new(), 0);
    for ((slept, worked_then), (sleeps, ticks)) in before.iter().zip(looks()) {
        // Threads that ended meanwhile are not counted.
        let more = sleeps
            .iter()
            .map(|(thread, count)| count - slept.get(thread).unwrap_or(&0));
        woken.push(number(more.sum()));
        worked += ticks - worked_then;
    }
    let woken = Figure::of(Unit::Count, woken);
    let worked = Figure::of(Unit::Count, [number(worked)]);
    let each = |unit, of: fn(u32) -> u64| Figure::of(unit, pids.iter().map(|pid| number(of(*pid))));
    Ok(vec![
        Line::alone(
            "idle member: resident memory",
            each(Unit::Bytes, resident),
            Aim::None,
        ),
        Line::alone(
            "idle member, of ten: proportional memory",
            each(Unit::Bytes, proportional),
            Aim::None,
        ),
        Line::alone(
            "idle member: private memory",
            each(Unit::Bytes, unshared),
            Aim::AtMost(3e6),
        ),
        Line::alone(
            "idle member: threads",
            each(Unit::Count, |pid| threads(pid).len() as u64),
            Aim::None,
        ),
        Line::alone(
            "idle member: open files",
            each(Unit::Count, |pid| descriptors(pid) as u64),
            Aim::None,
        ),
        Line::alone("idle member: wake-ups in 10 s", woken, Aim::None),
        Line::alone(
            "ten idle members: ticks of 10 ms in 10 s",
            worked,
            Aim::AtMost(1.0),
        ),
    ])
}

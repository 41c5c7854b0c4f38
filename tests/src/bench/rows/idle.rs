//! Costs of idle members.

use std::time::Duration;

use anyhow::Result;
use serde_json::json;
use swarm_protocol::LEAD_NAME;

use super::played::{Played, TEAM, pause};
use crate::bench::figure::{Figure, Unit, number};
use crate::bench::order::Order;
use crate::bench::process::{
    descriptors, proportional, resident, sleeps, threads, ticks, unshared,
};
use crate::bench::table::{Aim, Line};
use crate::fake_api::{Ask, Block, Gate, Reply};
use crate::stage::MODEL;

/// Number of members.
const MEMBERS: usize = 10;
/// Duration of the measurement.
const WATCHED: Duration = Duration::from_secs(10);

/// Returns the private memory of a waiting lead with idle members in its process.
fn memory_of_lead(order: &Order, members: usize) -> u64 {
    let waits = Reply::text("All wait.").held_by(&Gate::closed(), 1);
    let calls = (0..members).map(|number| {
        let name = format!("mate-{number}");
        let input = json!({"name": name, "description": "wait", "prompt": "Wait for mail."});
        Block::tool(name, "Agent", input)
    });
    let spawns = Reply::blocks(calls.collect::<Vec<_>>());
    let played = Played::new(order, move |ask: &Ask| match (&*ask.agent, ask.number) {
        (LEAD_NAME, 1) if members > 0 => spawns.clone(),
        (LEAD_NAME, _) => waits.clone(),
        _ => Reply::text("Understood."),
    });
    let run = ["run", "Start", "--model", MODEL, "--team", TEAM];
    let more = ["--mode", "bypassPermissions", "--backend", "in-process"];
    let lead = played.world.start(&[&run[..], &more].concat());
    for number in 0..members {
        played.wait_for_idle(&format!("mate-{number}"));
    }
    pause(Duration::from_secs(3));
    unshared(lead.pid())
}

/// Ten idle members for ten seconds.
pub(crate) fn measure(order: &Order) -> Result<Vec<Line>> {
    let alone = memory_of_lead(order, 0);
    let more = memory_of_lead(order, MEMBERS).saturating_sub(alone);
    let in_process = number(more) / number(MEMBERS as u64);
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
            "idle member, in-process: private memory",
            Figure::of(Unit::Bytes, [in_process]),
            Aim::None,
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

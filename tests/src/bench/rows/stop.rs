//! Stopping members: idle, in a command, and waiting for their model.

use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::json;

use super::played::{Played, TEAM, settle};
use crate::bench::figure::Figure;
use crate::bench::order::Order;
use crate::bench::table::{Aim, Line};
use crate::fake_api::{Ask, Gate, Reply};

/// Longest time to stop a member that works by force, in seconds.
const WORKING: f64 = 2.0;
/// Longest time to stop an idle member that agrees, in seconds.
const WAITING: f64 = 0.15;

/// What a member does when it is stopped.
const IDLE: &str = "idle";
const COMMAND: &str = "command";
const MODEL: &str = "model";

/// One member after another: an idle one is asked with `swarm shutdown`, one at work stopped with `--force`.
pub(crate) fn measure(order: &Order) -> Result<Vec<Line>> {
    let gate = Gate::closed();
    let held = gate.clone();
    let played = Played::new(order, move |ask: &Ask| {
        if ask.agent.starts_with(COMMAND) && ask.own_texts().count() == 0 {
            Reply::tool("sleep", "Bash", json!({"command": "sleep 100"}))
        } else if ask.agent.starts_with(MODEL) {
            Reply::text("Late.").held_by(&held, 0)
        } else {
            Reply::text("Understood.")
        }
    });
    played.world.swarm(&["team", "create", TEAM]).ok();
    let mut times: [Vec<Duration>; 3] = Default::default();
    for run in 0..order.runs(6) {
        for (times, doing) in times.iter_mut().zip([IDLE, COMMAND, MODEL]) {
            times.push(stop(&played, &format!("{doing}-{run}"), doing)?);
        }
    }
    gate.open();
    let [idle, command, model] = times.map(Figure::times);
    let row = |what: &str, figure, aim| {
        Line::alone(format!("swarm shutdown {what}"), figure, Aim::AtMost(aim))
    };
    Ok(vec![
        row("of an idle member", idle, WAITING),
        row("--force of a member in `sleep 100`", command, WORKING),
        row("--force of a member waiting for its model", model, WORKING),
    ])
}

fn stop(played: &Played, name: &str, doing: &str) -> Result<Duration> {
    played.spawn(name);
    played.next_request(name)?;
    match doing {
        IDLE => played.wait_for_idle(name),
        COMMAND => {
            let team = played.world.team(TEAM);
            let sleeps = || {
                let processes = played.world.processes();
                let sleeps = processes.iter().any(|(_, line)| line.contains("sleep 100"));
                (sleeps && team.state(name)["state"] != "idle").then_some(())
            };
            played.world.wait_for("the command runs", sleeps);
        }
        _ => {}
    }
    settle(Duration::from_millis(50));
    let began = Instant::now();
    match doing {
        IDLE => played.world.swarm(&["shutdown", name]).ok(),
        _ => played.world.swarm(&["shutdown", name, "--force"]).ok(),
    };
    let took = began.elapsed();
    played.forget();
    Ok(took)
}

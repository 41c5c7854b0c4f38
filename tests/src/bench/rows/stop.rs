//! Stopping: members that are idle, in a command or waiting for their model; a run whose commands
//! ignore SIGTERM; and a large team.

use std::time::{Duration, Instant};

use anyhow::Result;
use rustix::process::Signal;
use serde_json::json;

use super::played::{Played, TEAM, pause};
use crate::bench::figure::Figure;
use crate::bench::order::Order;
use crate::bench::table::{Aim, Line};
use crate::fake_api::{Ask, Gate, Reply};
use crate::stage::run_args;

/// Maximum duration of a forced stop of a working member, in seconds.
const WORKING: f64 = 2.0;
/// Maximum duration of a graceful stop of an idle member, in seconds.
const WAITING: f64 = 0.15;

/// Maximum duration of deleting a team of [`MANY`] members, in seconds.
const DELETING: f64 = 1.0;
const MANY: usize = 64;

/// Activity of a member when it is stopped.
const IDLE: &str = "idle";
const COMMAND: &str = "command";
const MODEL: &str = "model";

/// One member after another: an idle one is stopped with `swarm shutdown`, a working one with
/// `--force`.
pub(crate) fn measure(order: &Order) -> Result<Vec<Line>> {
    let (gate, held) = Gate::pair();
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
    drop(played);
    let run: Vec<Duration> = (0..order.runs(3)).map(|_| interrupt(order)).collect();
    let team: Result<Vec<Duration>> = (0..order.runs(3)).map(|_| delete(order)).collect();
    let [idle, command, model] = times.map(Figure::times);
    let row = |what: &str, figure, aim| {
        Line::alone(format!("swarm shutdown {what}"), figure, Aim::AtMost(aim))
    };
    Ok(vec![
        row("of an idle member", idle, WAITING),
        row("--force of a member in `sleep 100`", command, WORKING),
        row("--force of a member waiting for its model", model, WORKING),
        Line::alone(
            "Ctrl-C on a run, lead and member in commands that ignore SIGTERM",
            Figure::times(run),
            Aim::AtMost(WORKING),
        ),
        Line::alone(
            format!("swarm team delete --force of {MANY} members"),
            Figure::times(team?),
            Aim::AtMost(DELETING),
        ),
    ])
}

/// Ctrl-C on a run whose lead and member are both in a command that ignores SIGTERM.
fn interrupt(order: &Order) -> Duration {
    let played = Played::new(order, |ask: &Ask| {
        let is_lead = ask.agent == "team-lead";
        if is_lead && ask.own_texts().count() == 0 {
            let bob = json!({"name": "bob", "description": "bench", "prompt": "Work."});
            return Reply::tool("spawn", "Agent", bob);
        }
        let command = format!("trap '' TERM; touch {}; sleep 100; sleep 100", ask.agent);
        Reply::tool("stuck", "Bash", json!({"command": command}))
    });
    let running = played
        .world
        .start(&run_args("Work.", &["--mode", "bypassPermissions"]));
    for agent in ["team-lead", "bob"] {
        let made = played.world.project().join(agent);
        played
            .world
            .wait_for("the command runs", || made.exists().then_some(()));
    }
    let began = Instant::now();
    running.signal(Signal::INT);
    running.wait();
    began.elapsed()
}

/// `swarm team delete --force` of a large team whose members are idle.
fn delete(order: &Order) -> Result<Duration> {
    let played = Played::new(order, |_: &Ask| Reply::text("Understood."));
    played.idle_mates(MANY)?;
    let began = Instant::now();
    played
        .world
        .swarm(&["team", "delete", TEAM, "--force"])
        .ok();
    Ok(began.elapsed())
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
    pause(Duration::from_millis(50));
    let began = Instant::now();
    match doing {
        IDLE => played.world.swarm(&["shutdown", name]).ok(),
        _ => played.world.swarm(&["shutdown", name, "--force"]).ok(),
    };
    let took = began.elapsed();
    played.forget();
    Ok(took)
}

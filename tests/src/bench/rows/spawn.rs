//! From the instruction to spawn members to their first model requests.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use parking_lot::Mutex;
use serde_json::json;

use super::played::{Played, TEAM};
use crate::bench::figure::Figure;
use crate::bench::floor::receiver::Server;
use crate::bench::order::Order;
use crate::bench::table::{Aim, Line};
use crate::fake_api::{Ask, Block, Reply};
use crate::stage::{MODEL, spawn_args};

/// Number of members spawned together, number of runs, and maximum duration until the last one, in
/// seconds.
const SIZES: [(usize, usize, Option<f64>); 3] =
    [(1, 12, Some(0.05)), (8, 6, None), (LARGEST, 4, Some(1.5))];

/// The size that is also compared with plain panes.
const LARGEST: usize = 32;
/// Maximum duration as a multiple of plain panes.
const TIMES_BARE: f64 = 4.0;

/// A lead spawns members in one answer; for comparison, tmux alone starts a program that sends one
/// request.
pub(crate) fn measure(order: &Order) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    for (size, runs, aim) in SIZES {
        let (mut ours, mut first, mut bare) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..order.runs(runs) {
            let times = by_lead(order, size)?;
            first.extend(times.first().copied());
            ours.extend(times.last().copied());
            bare.push(by_tmux(order, size)?);
        }
        let aim = aim.map_or(Aim::None, Aim::AtMost);
        let what = format!("spawn {size} -> first request of the last member");
        let (ours, bare) = (Figure::times(ours), Figure::times(bare));
        let bare_panes = "tmux split-window alone";
        lines.push(Line::against(
            &what,
            ours.clone(),
            bare_panes,
            bare.clone(),
            aim,
        ));
        if size == LARGEST {
            let aim = Aim::Ratio(TIMES_BARE);
            lines.push(Line::against(
                format!("{what}, ratio"),
                ours,
                bare_panes,
                bare,
                aim,
            ));
        }
        if size > 1 {
            let what = format!("spawn {size} -> first request of the first member");
            lines.push(Line::alone(what, Figure::times(first), Aim::None));
        }
    }
    let shell: Result<Vec<Duration>> = (0..order.runs(10)).map(|_| by_hand(order)).collect();
    let what = "swarm spawn in a shell -> first request";
    lines.push(Line::alone(what, Figure::times(shell?), Aim::None));
    Ok(lines)
}

fn name(number: usize) -> String {
    format!("mate-{number}")
}

/// Time at which the lead was instructed to spawn.
type SpawnTime = Arc<Mutex<Option<Instant>>>;

/// Replies of the lead and its members.
fn brain(size: usize, spawn_time: SpawnTime) -> impl Fn(&Ask) -> Reply + Send + Sync + 'static {
    move |ask| {
        if ask.agent != "team-lead" {
            return Reply::text("Ready.");
        }
        match ask.own_texts().count() {
            0 => Reply::tool(
                "team",
                "TeamCreate",
                json!({"team_name": TEAM, "description": "bench"}),
            ),
            1 => {
                *spawn_time.lock() = Some(Instant::now());
                let mate = |number| {
                    let name = name(number);
                    let input = json!({"name": name, "description": "bench", "prompt": "Say that you are ready."});
                    Block::tool(format!("spawn-{name}"), "Agent", input)
                };
                Reply::blocks((0..size).map(mate))
            }
            _ => Reply::text("All are there."),
        }
    }
}

/// Returns the time to each member's first request, in order.
fn by_lead(order: &Order, size: usize) -> Result<Vec<Duration>> {
    let spawn_time: SpawnTime = Arc::default();
    let played = Played::new(order, brain(size, Arc::clone(&spawn_time)));
    let lead = played.world.start(&[
        "run",
        "Spawn them.",
        "--model",
        MODEL,
        "--mode",
        "bypassPermissions",
        "--backend",
        "tmux",
        "--timeout",
        "100",
    ]);
    let mut asked = Vec::new();
    while asked.len() < size {
        let recorded = played.next_mate()?;
        if !asked.iter().any(|(agent, _)| *agent == recorded.0) {
            asked.push(recorded);
        }
    }
    let spawn_time = spawn_time
        .lock()
        .context("the lead never received the instruction")?;
    let mut times: Vec<Duration> = asked
        .iter()
        .map(|(_, at)| at.duration_since(spawn_time))
        .collect();
    times.sort();
    drop(lead);
    Ok(times)
}

impl Played {
    /// Returns the next member that sends a request, and the time.
    fn next_mate(&self) -> Result<(String, Instant)> {
        let agent = self.next_agent()?;
        let recorded = self.api.last_of(&agent).context("the recorded request")?;
        Ok((agent, recorded.at))
    }

    fn next_agent(&self) -> Result<String> {
        loop {
            let agent = self.next()?;
            if agent.starts_with("mate-") {
                return Ok(agent);
            }
        }
    }
}

/// Spawns one member from a command line.
fn by_hand(order: &Order) -> Result<Duration> {
    let played = Played::new(order, |_: &Ask| Reply::text("Ready."));
    played.world.swarm(&["team", "create", TEAM]).ok();
    let began = Instant::now();
    let more = ["--mode", "bypassPermissions", "--prompt", "Say hello."];
    let spawning = played.world.start(&spawn_args("mate-0", "tmux", &more));
    let (_, at) = played.next_mate()?;
    spawning.wait().ok();
    Ok(at.duration_since(began))
}

/// Creates a number of panes on a new server in which a program sends one request; returns the time
/// to the last one.
fn by_tmux(order: &Order, size: usize) -> Result<Duration> {
    let played = Played::new(order, |_: &Ask| Reply::text("Ready."));
    let tmux = played
        .world
        .tmux_at(&played.world.directory().join("sockets/bare"));
    let program = std::env::current_exe()?.display().to_string();
    let address = played.address();
    let began = Instant::now();
    tmux.run(&["new-session", "-d", "-x", "400", "-y", "200", "cat"]);
    for number in 0..size {
        let name = name(number);
        let words = [
            "split-window",
            "-d",
            "--",
            &program,
            crate::bench::roles::FLAG,
            "ask",
            &address,
            &name,
        ];
        tmux.run(&words);
        if size > 1 {
            tmux.run(&["select-layout", "tiled"]);
        }
    }
    let mut last = began;
    for _ in 0..size {
        last = last.max(played.next_mate()?.1);
    }
    tmux.end();
    Ok(last.duration_since(began))
}

/// Runs a program that sends one request and stays.
pub(crate) fn ask(words: &[&str]) -> Result<()> {
    let [address, name] = words else {
        bail!("ask ADDRESS NAME");
    };
    let body = json!({
        "model": "m", "max_tokens": 1, "stream": true, "system": format!("agent id {name}@{TEAM}"),
        "messages": [{"role": "user", "content": "hello"}],
    });
    Server::connect(address)?.ask(body.to_string().as_bytes())?;
    crate::hostile::stay()
}

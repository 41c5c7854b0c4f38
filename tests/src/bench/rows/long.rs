//! Costs of a long conversation: a request, a message, and memory.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use parking_lot::Mutex;
use serde_json::json;

use super::message::{Bare, Mate, from_file, rest};
use super::played::{Played, TEAM};
use crate::bench::figure::{Figure, Unit, number};
use crate::bench::floor::receiver::Manner;
use crate::bench::order::Order;
use crate::bench::process::{ticks, unshared};
use crate::bench::table::{Aim, Line};
use crate::fake_api::{Ask, Reply};

/// Number of requests of the long conversation; each reads a file of 2.4 kB, so a request has 2 MB
/// in the end.
const TURNS: usize = 800;
/// Number of requests after one message; a turn may have 200.
const OF_ONE_TURN: usize = 100;
/// Number of requests at both ends whose processor time is measured.
const ENDS: usize = 200;
/// Maximum processor time of a request of 2 MB, in seconds.
const REQUEST: f64 = 0.002;
/// Seconds in a tick.
const TICK: f64 = 0.01;

/// A member reads files until its conversation is long; then it and a new one receive messages in
/// turn.
pub(crate) fn measure(order: &Order) -> Result<Vec<Line>> {
    let rounds = order.runs(TURNS / OF_ONE_TURN);
    let turns = (rounds * OF_ONE_TURN).max(2 * ENDS);
    let clocks: Arc<Mutex<Clocks>> = Arc::default();
    let seen = Arc::clone(&clocks);
    let played = Played::new(order, move |ask: &Ask| {
        let mut clocks = seen.lock();
        clocks.answer(ask, turns)
    });
    played.world.swarm(&["team", "create", TEAM]).ok();
    write_files(&played, turns);
    let long = Mate::start(&played, 0)?;
    let fresh = Mate::start(&played, 1)?;
    {
        let mut clocks = clocks.lock();
        clocks.reader = Some((long.name.clone(), played.pid(&long.name)?));
        clocks.directory = played.world.project().display().to_string();
    }
    let small = unshared(played.pid(&fresh.name)?);
    for round in 0..turns / OF_ONE_TURN {
        from_file(&played, &long.inbox, &long.name, round)?;
        rest(&played, &long.name);
    }
    let own = unshared(played.pid(&long.name)?);
    let transcript = transcript_bytes(&played, &long.name)?;
    from_file(&played, &long.inbox, &long.name, turns)?;
    let sent = played.api.last_of(&long.name).context("a request")?.sent;
    rest(&played, &long.name);
    from_file(&played, &fresh.inbox, &fresh.name, turns)?;
    let small_request = played.api.last_of(&fresh.name).context("a request")?.sent;
    rest(&played, &fresh.name);
    let bare = Bare::start(&played, "woken", Manner::Woken, &long.name, &sent)?;
    let bare_small = Bare::start(
        &played,
        "woken-small",
        Manner::Woken,
        &fresh.name,
        &small_request,
    )?;
    let mut times: [Vec<Duration>; 4] = Default::default();
    for run in 0..order.runs(40) {
        for (times, mate) in times.iter_mut().zip([&long, &fresh]) {
            let at = turns + 1 + run;
            times.push(from_file(&played, &mate.inbox, &mate.name, at)?);
            rest(&played, &mate.name);
        }
        times[2].push(from_file(&played, &bare.inbox, "woken", run)?);
        times[3].push(from_file(&played, &bare_small.inbox, "woken-small", run)?);
    }
    let [late, early] = {
        let clocks = clocks.lock();
        [clocks.late, clocks.early].map(|ticks| number(ticks) * TICK / number(ENDS as u64))
    };
    let mut lines = vec![Line::against(
        format!("processor time of a request after {turns}"),
        Figure::of(Unit::Time, [late]),
        "of the first requests",
        Figure::of(Unit::Time, [early]),
        Aim::AtMost(REQUEST),
    )];
    lines.extend(lines_of_times(times, turns));
    lines.extend([
        Line::against(
            "private memory, long conversation",
            Figure::of(Unit::Bytes, [number(own)]),
            "bytes of its transcript",
            Figure::of(Unit::Bytes, [number(transcript)]),
            Aim::Ratio(1.5),
        ),
        Line::alone(
            "private memory, new conversation",
            Figure::of(Unit::Bytes, [number(small)]),
            Aim::AtMost(3e6),
        ),
    ]);
    Ok(lines)
}

/// Compares a message to the long conversation with one to a new conversation, and with minimal
/// programs that send requests of the same sizes. Order of `times`: long, new, minimal program with
/// the long request, minimal program with the short request.
fn lines_of_times(times: [Vec<Duration>; 4], turns: usize) -> [Line; 3] {
    let [long, fresh, bare, bare_small] = times.map(Figure::times);
    // The additional time of the kernel and the server for a long request.
    let transfer = (bare.median() - bare_small.median()).max(0.0);
    let own_share = Figure::of(Unit::Time, [long.median() - transfer]);
    [
        Line::against(
            format!("message -> request, conversation of {turns} turns"),
            long.clone(),
            "minimal program, same request",
            bare,
            Aim::Ratio(1.5),
        ),
        Line::against(
            "message -> request, long conversation",
            long,
            "new conversation",
            fresh.clone(),
            Aim::None,
        ),
        Line::against(
            "message -> request, without the transfer",
            own_share,
            "new conversation",
            fresh,
            Aim::Ratio(1.3),
        ),
    ]
}

/// Progress of the long conversation, and the durations at its ends.
#[derive(Debug, Default)]
struct Clocks {
    /// The reading member, and its process.
    reader: Option<(String, u32)>,
    directory: String,
    asked: usize,
    began: u64,
    early: u64,
    late: u64,
}

impl Clocks {
    fn answer(&mut self, ask: &Ask, turns: usize) -> Reply {
        let Some((_, pid)) = self.reader.as_ref().filter(|(name, _)| *name == ask.agent) else {
            return Reply::text("Understood.");
        };
        let asked = self.asked;
        self.asked += 1;
        match asked {
            0 => self.began = ticks(*pid),
            ENDS => self.early = ticks(*pid) - self.began,
            _ if asked + ENDS == turns => self.began = ticks(*pid),
            _ if asked == turns => self.late = ticks(*pid) - self.began,
            _ => {}
        }
        if asked >= turns || (asked + 1).is_multiple_of(OF_ONE_TURN) {
            return Reply::text("Understood.");
        }
        let file = format!("{}/file-{asked}", self.directory);
        Reply::tool(format!("read-{asked}"), "Read", json!({"file_path": file}))
    }
}

fn write_files(played: &Played, count: usize) {
    for file in 0..count {
        let line = format!("    let value_{file} = \"the content of a source file\";\n");
        played
            .world
            .write(&format!("project/file-{file}"), &line.repeat(36));
    }
}

/// Returns the size of a member's transcript.
fn transcript_bytes(played: &Played, name: &str) -> Result<u64> {
    let hello = played.world.team(TEAM).hello(name);
    let session = hello["sessionId"].as_str().context("a session")?.to_owned();
    let mut directories = vec![played.world.root()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory)?.flatten() {
            let path = entry.path();
            if path.is_dir() {
                directories.push(path);
            } else if path
                .file_name()
                .is_some_and(|file| *file == *format!("{session}.jsonl"))
            {
                return Ok(entry.metadata()?.len());
            }
        }
    }
    anyhow::bail!("{name} has no transcript {session}.jsonl")
}

//! From a message in the inbox file to the model request.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::Value;
use swarm_store::{BlockOn as _, Draft, TeamStore as _};

use super::played::{Played, TEAM, pause};
use super::send::text;
use super::team::{member_name, store, team_name};
use crate::bench::figure::Figure;
use crate::bench::floor::inbox::{BareInbox, Class, entry};
use crate::bench::floor::receiver::{self, Manner};
use crate::bench::order::Order;
use crate::bench::roles::Part;
use crate::bench::table::{Aim, Line};
use crate::fake_api::{Ask, Reply};

/// Polling once per second is slow: number of runs is divided by this.
const POLLS: usize = 8;
/// Number of messages to one member. The minimal programs always send its first request, so its
/// conversation must not grow much beyond that.
const FRESH: usize = 20;

/// Members and minimal programs, each idle, each woken in turn.
pub(crate) fn measure(order: &Order) -> Result<Vec<Line>> {
    let played = Played::new(order, |_: &Ask| Reply::text("Understood."));
    played.world.swarm(&["team", "create", TEAM]).ok();
    let mut mate = Mate::start(&played, 0)?;
    let woken = Bare::start(&played, "woken", Manner::Woken, &mate.name, &mate.first)?;
    let kept = Bare::start(
        &played,
        "kept",
        Manner::WokenAndKept,
        &mate.name,
        &mate.first,
    )?;
    let polls = Bare::start(&played, "polls", Manner::Polls, &mate.name, &mate.first)?;
    let mut times: [Vec<Duration>; 5] = Default::default();
    for run in 0..order.runs(200) {
        if run > 0 && run % FRESH == 0 {
            played.world.swarm(&["kill", &mate.name]).ok();
            mate = Mate::start(&played, run / FRESH)?;
        }
        times[0].push(from_file(&played, &mate.inbox, &mate.name, run)?);
        rest(&played, &mate.name);
        times[1].push(from_sender(&played, &mate.name, run)?);
        rest(&played, &mate.name);
        times[2].push(from_file(&played, &woken.inbox, "woken", run)?);
        times[3].push(from_file(&played, &kept.inbox, "kept", run)?);
        if run % POLLS == 0 {
            // At a random time between two polls.
            pause(Duration::from_millis(u64::try_from(run)? * 137 % 1000));
            times[4].push(from_file(&played, &polls.inbox, "polls", run)?);
        }
    }
    let [file, sent, floor, keeps, poller] = times.map(Figure::times);
    let what = "message in the file -> model request";
    Ok(vec![
        Line::against(
            what,
            file.clone(),
            "floor: wake, lock, parse, request",
            floor,
            Aim::Ratio(1.5),
        ),
        Line::against(
            what,
            file.clone(),
            "floor that stores and marks it first",
            keeps,
            Aim::Ratio(1.5),
        ),
        Line::against(what, file.clone(), "poller, 1 s", poller, Aim::Ratio(0.005)),
        Line::against(
            "send begins -> model request",
            sent,
            "message in the file",
            file,
            Aim::None,
        ),
    ])
}

/// The measured member.
pub(super) struct Mate {
    pub(super) name: String,
    pub(super) inbox: BareInbox,
    /// Its first request.
    first: Value,
}

impl Mate {
    pub(super) fn start(played: &Played, number: usize) -> Result<Self> {
        let name = format!("mate{number}");
        played.spawn(&name);
        let first = played.next_request(&name)?.sent;
        rest(played, &name);
        let team = played.world.team(TEAM);
        let inbox = BareInbox {
            path: team.inbox_path(&name),
            lock: team.directory().join(format!("swarm/locks/inbox-{name}")),
        };
        Ok(Self { name, inbox, first })
    }
}

/// Waits until the member is idle.
pub(super) fn rest(played: &Played, name: &str) {
    played.wait_for_idle(name);
    pause(Duration::from_millis(15));
    played.forget();
}

/// Writes as another program would, and waits for the request.
pub(super) fn from_file(
    played: &Played,
    inbox: &BareInbox,
    agent: &str,
    run: usize,
) -> Result<Duration> {
    let at = inbox.change(Class::Fast, |entries| entries.push(entry(run)))?;
    Ok(played.next_request(agent)?.at.duration_since(at))
}

/// Sends through swarm, and waits for the request.
fn from_sender(played: &Played, name: &str, run: usize) -> Result<Duration> {
    let store = store(&played.world.root());
    let draft = Draft::new("team-lead", text(run));
    let began = Instant::now();
    store
        .team(&team_name(TEAM))
        .post(&member_name(name), draft)
        .block_on()?;
    Ok(played.next_request(name)?.at.duration_since(began))
}

/// A minimal program and its inbox.
pub(super) struct Bare {
    pub(super) inbox: BareInbox,
    _part: Part,
}

impl Bare {
    /// Starts one that sends the request of the member `of` under its own name.
    pub(super) fn start(
        played: &Played,
        name: &str,
        manner: Manner,
        of: &str,
        request: &Value,
    ) -> Result<Self> {
        let directory: PathBuf = played.world.directory().join("bare").join(name);
        let inbox = BareInbox::create(&directory)?;
        let body = directory.join("body");
        let request = request
            .to_string()
            .replace(&format!("{of}@{TEAM}"), &format!("{name}@{TEAM}"));
        std::fs::write(&body, request)?;
        let part = receiver::start(&inbox, &played.address(), Path::new(&body), manner)?;
        Ok(Self { inbox, _part: part })
    }
}

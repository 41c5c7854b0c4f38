//! A team on a hub: a message to a member on another machine, many senders, and a lost member.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use swarm_hubkit::{NatsServer, has_server};
use swarm_os::DirectoryWatcher;
use swarm_protocol::MemberState;
use swarm_store::{
    BlockOn as _, Draft, HubSettings, NewTeam, RootStore, Team, TeamStore as _, Topic,
};

use super::played::{Played, TEAM, pause};
use super::send::{Finish, race, text};
use super::team::{member_name, store, team_name};
use crate::bench::figure::{Figure, Unit};
use crate::bench::floor::hub::BareHub;
use crate::bench::order::Order;
use crate::bench::roles::{Part, ready, say, until_closed};
use crate::bench::scratch::on_disk;
use crate::bench::table::{Aim, Line};
use crate::fake_api::{Ask, Reply};
use crate::faults::ground::join;
use crate::wait::{DEADLINE, wait_until};

const SENDERS: [usize; 3] = [1, 8, 32];
/// Total number of messages of all senders.
const MESSAGES: usize = 640;
/// Number of messages to one member, whose conversation must not grow much.
const FRESH: usize = 20;
/// Pause after a member has become idle, as in the row `message`.
const SETTLED: Duration = Duration::from_millis(15);

/// Latency, throughput and the detection of a lost member.
#[expect(clippy::unnecessary_wraps, reason = "as every row")]
pub(crate) fn measure(order: &Order) -> Result<Vec<Line>> {
    if !has_server() {
        eprintln!("bench: nats-server is not installed, so the row hub is left out");
        return Ok(Vec::new());
    }
    let sent = SENDERS.map(|senders| sends(order, senders).map(|line| vec![line]));
    let mut lines = Vec::new();
    for measured in [messages(order)].into_iter().chain(sent) {
        match measured {
            Ok(measured) => lines.extend(measured),
            Err(error) => eprintln!("bench: a line of the row hub is missing: {error:#}"),
        }
    }
    Ok(lines)
}

fn settings(server: &NatsServer) -> HubSettings {
    HubSettings {
        url: server.url(),
        credentials: None,
        ca: None,
    }
}

pub(super) fn open(root: &Path) -> Arc<dyn Team> {
    RootStore::new(store(root)).team(&team_name(TEAM))
}

/// Opens the team that exists on the hub, for another machine.
pub(super) fn join_hub(root: &Path, server: &NatsServer) -> Result<Arc<dyn Team>> {
    let joined = RootStore::new(store(root));
    let hub = settings(server);
    joined.join_hub(&team_name(TEAM), hub).block_on()?;
    Ok(joined.team(&team_name(TEAM)))
}

/// Creates the team on the hub.
pub(super) fn create(root: &Path, server: &NatsServer) -> Result<Arc<dyn Team>> {
    let new = NewTeam::new(team_name(TEAM), "/", "bench");
    let created = RootStore::new(store(root));
    created
        .creating_on(settings(server))
        .create_team(new)
        .block_on()?;
    Ok(open(root))
}

fn messages(order: &Order) -> Result<Vec<Line>> {
    let played = Played::new(order, |_: &Ask| Reply::text("Understood."));
    let place = on_disk();
    let server = NatsServer::start(&place.path().join("server"), &[]);
    let create = ["team", "create", TEAM, "--hub", &server.url()];
    played.world.swarm(&create).ok();
    let team = join_hub(&place.path().join("sender"), &server)?;
    let bare = BareHub::connect(&server.url())?;
    bare.create()?;
    let (mut name, request) = start(&played, &team, 0)?;
    let asker = asker(&played, &server, &place.path().join("body"), &request)?;
    let (mut times, mut floor) = (Vec::new(), Vec::new());
    for run in 0..order.runs(100) {
        if run > 0 && run % FRESH == 0 {
            played.world.swarm(&["kill", &name]).ok();
            (name, _) = start(&played, &team, run / FRESH)?;
        }
        let began = Instant::now();
        let draft = Draft::new("team-lead", text(run));
        team.post(&member_name(&name), draft).block_on()?;
        times.push(played.next_request(&name)?.at.duration_since(began));
        rest(&played, &team, &name);
        let began = Instant::now();
        bare.send("bench", run)?;
        floor.push(played.next_request("floor")?.at.duration_since(began));
    }
    drop(asker);
    let what = "message on a hub -> remote model request";
    let floor = Figure::times(floor);
    let mut lines = vec![Line::against(
        what,
        Figure::times(times),
        "bare client with the same publishes",
        floor,
        Aim::Ratio(2.0),
    )];
    lines.push(lost(order, &played, &team)?);
    Ok(lines)
}

/// Starts an idle member. Returns its name and its first request.
fn start(played: &Played, team: &Arc<dyn Team>, number: usize) -> Result<(String, Value)> {
    let name = format!("mate{number}");
    played.spawn(&name);
    let first = played.next_request(&name)?.sent;
    rest(played, team, &name);
    Ok((name, first))
}

/// Waits until the member is idle, and has handled the announcement of its own report.
fn rest(played: &Played, team: &Arc<dyn Team>, name: &str) {
    let name = member_name(name);
    let idle = wait_until("the member is idle", DEADLINE, || {
        let unread = team.take_unread(&name).block_on().ok()?;
        let state = team.state(&name).block_on().ok()??;
        (unread.is_empty() && state.state == MemberState::Idle).then_some(())
    });
    idle.expect("a member that becomes idle");
    pause(SETTLED);
    played.forget();
}

/// Starts the minimal program. It sends the request of a member under another name.
fn asker(played: &Played, server: &NatsServer, body: &Path, request: &Value) -> Result<Part> {
    let request = request.to_string();
    let request = request.replace(&format!("mate0@{TEAM}"), &format!("floor@{TEAM}"));
    std::fs::write(body, request)?;
    let body = body.display().to_string();
    Part::start(&["bare-ask", &server.url(), &played.address(), &body])
}

/// Kills members, and waits until another machine counts them as dead.
fn lost(order: &Order, played: &Played, team: &Arc<dyn Team>) -> Result<Line> {
    let mut times = Vec::new();
    for run in 0..order.runs(3) {
        let name = format!("lost{run}");
        played.spawn(&name);
        played.next_request(&name)?;
        rest(played, team, &name);
        let name = member_name(&name);
        let record = team.life_record(&name).block_on().context("a process")?;
        let pid = Pid::from_raw(i32::try_from(record.pid)?).context("a pid")?;
        let end = team.lease_end(&name);
        let began = Instant::now();
        kill_process(pid, Signal::KILL)?;
        end.block_on()??;
        times.push(began.elapsed());
    }
    let what = "SIGKILL of a member -> lost on another machine";
    Ok(Line::alone(what, Figure::times(times), Aim::AtMost(15.0)))
}

fn sends(order: &Order, senders: usize) -> Result<Line> {
    let mut rates: [Vec<f64>; 2] = Default::default();
    let all = MESSAGES.to_string();
    for _ in 0..order.runs(3) {
        let place = on_disk();
        let server = NatsServer::start(&place.path().join("server"), &[]);
        let each = (MESSAGES / senders).to_string();
        let root = place.path().join("root");
        join(&*create(&root, &server)?, "reader");
        let root = root.display().to_string();
        let reader = Part::start(&["hub-read", &root, &all])?;
        let words = ["hub-write", &root, &each];
        rates[0].push(race(reader, senders, &words, Finish::Acknowledged)?.rate());
        BareHub::connect(&server.url())?.create()?;
        let url = server.url();
        let reader = Part::start(&["bare-drain", &url, &all])?;
        let words = ["bare-send", &url, &each];
        rates[1].push(race(reader, senders, &words, Finish::Acknowledged)?.rate());
    }
    let [ours, floor] = rates.map(|rates| Figure::of(Unit::Rate, rates));
    let what = format!("sent and acknowledged on a hub, {senders} senders");
    let floor_is = "bare client with the same publishes";
    Ok(Line::against(
        what,
        ours,
        floor_is,
        floor,
        Aim::AtLeast(0.7),
    ))
}

/// Runs a writer: sends a number of messages and prints the nanoseconds of each.
pub(crate) fn write(words: &[&str]) -> Result<()> {
    let [root, count] = words else {
        bail!("hub-write ROOT COUNT");
    };
    let (team, to) = (open(Path::new(root)), member_name("reader"));
    team.config().block_on()?;
    let mut times = Vec::new();
    ready()?;
    for number in 0..count.parse::<usize>()? {
        let began = Instant::now();
        let draft = Draft::new("team-lead", text(number));
        team.post(&to, draft).block_on()?;
        times.push(began.elapsed().as_nanos().to_string());
    }
    say(&times.join(" "))
}

/// Runs the reader: acknowledges whatever arrives, and says when that is a number of messages.
pub(crate) fn read(words: &[&str]) -> Result<()> {
    let [root, count] = words else {
        bail!("hub-read ROOT COUNT")
    };
    let mut left = count.parse::<usize>()?;
    let (team, name) = (open(Path::new(root)), member_name("reader"));
    let mut mail = team.watch(&DirectoryWatcher::new(), &Topic::Mail(name.clone()));
    ready()?;
    std::thread::spawn(move || {
        while left > 0 {
            let unread = team.take_unread(&name).block_on().unwrap_or_default();
            let ids = unread.into_iter().filter_map(|entry| entry.msg_id);
            let ids: Vec<_> = ids.collect();
            if ids.is_empty() {
                mail.changed().block_on();
                continue;
            }
            match team.delivered(&name, &ids).block_on() {
                Ok(delivered) => left -= delivered.len(),
                Err(error) => {
                    eprintln!("bench: {error}");
                    std::thread::sleep(Duration::from_millis(5));
                }
            }
        }
        say("done")
    });
    until_closed();
    Ok(())
}

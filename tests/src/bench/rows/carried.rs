//! Cost of a message in inboxes that have received few, many, and very many messages.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::{Value, json};
use swarm_protocol::TeamName;
use swarm_store::{BlockOn as _, Draft, FileStore, TeamStore as _};

use super::send::text;
use super::team::{create, member_name, store};
use crate::bench::figure::Figure;
use crate::bench::floor::inbox::entry;
use crate::bench::order::Order;
use crate::bench::scratch::everywhere;
use crate::bench::table::{Aim, Line};
use crate::stage::Team;

const CARRIED: [usize; 3] = [10, 1_000, 100_000];
/// Number of acknowledged messages that remain in the inbox file.
const KEPT: usize = 200;
/// Maximum cost ratio of the oldest inbox and the youngest one with as many messages in its file.
const FLAT: f64 = 1.3;

/// Durations of a send and of an acknowledgement.
#[derive(Default)]
struct Times {
    send: Vec<Duration>,
    ack: Vec<Duration>,
}

/// A send and its acknowledgement, in turn in each inbox.
pub(crate) fn measure(order: &Order) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    for (place, directory) in everywhere() {
        let store = store(directory.path());
        let mut teams = Vec::new();
        for carried in CARRIED {
            let team = create(directory.path(), &format!("carried-{carried}"), &["reader"])?;
            fill(directory.path(), &team, carried)?;
            teams.push((team, Times::default()));
        }
        for number in 0..order.runs(400) {
            for (team, times) in &mut teams {
                exchange(&store, team, number, times)?;
            }
        }
        let figures = |of: fn(&Times) -> &Vec<Duration>| {
            [0, 1, 2].map(|at: usize| Figure::times(of(&teams[at].1).iter().copied()))
        };
        let kinds = [
            ("send", figures(|times| &times.send)),
            ("acknowledge", figures(|times| &times.ack)),
        ];
        for (kind, [young, full, old]) in kinds {
            let what = |carried: usize| format!("{kind} after {carried} messages, {place}");
            lines.push(Line::against(
                what(CARRIED[1]),
                full.clone(),
                "after 10",
                young,
                Aim::None,
            ));
            lines.push(Line::against(
                what(CARRIED[2]),
                old,
                "after 1000",
                full,
                Aim::Ratio(FLAT),
            ));
        }
    }
    Ok(lines)
}

fn exchange(store: &FileStore, team: &TeamName, number: usize, times: &mut Times) -> Result<()> {
    let reader = member_name("reader");
    let began = Instant::now();
    let posted = store
        .team(team)
        .post(&reader, Draft::new("team-lead", text(number)))
        .block_on()?;
    times.send.push(began.elapsed());
    let began = Instant::now();
    store
        .team(team)
        .delivered(&reader, &[posted.msg_id])
        .block_on()?;
    times.ack.push(began.elapsed());
    Ok(())
}

/// Creates the files as they are after this number of messages.
fn fill(root: &Path, team: &TeamName, carried: usize) -> Result<()> {
    let files = Team::new(root, team.as_str());
    let directory = files.directory();
    let acked = |number: usize| {
        let mut entry = entry(number);
        entry["read"] = true.into();
        entry
    };
    let archived = carried.saturating_sub(KEPT);
    write_lines(
        &directory.join("swarm/archive/reader.jsonl"),
        (0..archived).map(acked),
    )?;
    let kept: Vec<Value> = (archived..carried).map(acked).collect();
    fs::write(
        files.inbox_path("reader"),
        serde_json::to_vec_pretty(&kept)?,
    )?;
    let events = (0..carried).flat_map(|number| {
        let id = entry(number)["msg_id"].clone();
        [
            json!({"at": 1_795_195_646_590_u64, "type": "queued", "msg_id": id, "from": "team-lead", "to": "reader"}),
            json!({"at": 1_795_195_646_600_u64, "type": "delivered", "msg_id": id, "to": "reader"}),
        ]
    });
    write_lines(&directory.join("swarm/journal.jsonl"), events)
}

fn write_lines(path: &Path, records: impl Iterator<Item = Value>) -> Result<()> {
    let file = fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)?;
    let mut file = std::io::BufWriter::new(file);
    for record in records {
        writeln!(file, "{record}")?;
    }
    Ok(file.flush()?)
}

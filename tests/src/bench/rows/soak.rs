//! A team at work for a long time: memory and descriptors remain constant, and nothing is lost.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use parking_lot::Mutex;
use serde_json::json;
use swarm_store::{BlockOn as _, Draft, TeamStore as _};

use super::played::{Played, TEAM, pause};
use super::team::{member_name, store, team_name};
use crate::bench::figure::{Figure, Unit, number};
use crate::bench::order::Order;
use crate::bench::process::{descriptors, resident};
use crate::bench::table::{Aim, Line};
use crate::fake_api::{Ask, Reply};

/// Interval between messages from outside.
const GAP: Duration = Duration::from_millis(150);
/// Interval between measurements of the processes.
const SAMPLE_INTERVAL: Duration = Duration::from_secs(10);
/// Interval between progress reports.
const REPORT_INTERVAL: Duration = Duration::from_mins(1);
/// Maximum memory growth of a member after the first measurements: its conversation grows.
const MAX_GROWTH: f64 = 1.25;

/// Number of times that each mark was seen as new by a model.
type Seen = Arc<Mutex<HashMap<String, usize>>>;

/// Messages of several kinds between members and from outside.
pub(crate) fn measure(order: &Order) -> Result<Vec<Line>> {
    let seen = Seen::default();
    let members = order.members;
    let played = Played::new(order, brain(Arc::clone(&seen), members));
    let (names, pids) = played.idle_mates(members)?;
    let samples = Samples::default();
    let (samples, sent) = drive(&played, order, &names, &pids, samples)?;
    lost(&played, &seen, sent)?;
    Ok(samples.lines(sent))
}

/// Members answer, write to a neighbour, or create and complete a task, depending on the message.
fn brain(seen: Seen, members: usize) -> impl Fn(&Ask) -> Reply + Send + Sync + 'static {
    move |ask| {
        let news = ask.news();
        let mut seen = seen.lock();
        for mark in marks(&news) {
            *seen.entry(mark.to_owned()).or_default() += 1;
        }
        drop(seen);
        let number = ask
            .agent
            .trim_start_matches("mate-")
            .parse()
            .unwrap_or(0_usize);
        let next = format!("mate-{}", (number + 1) % members);
        match marks(&news).last() {
            Some(mark) if news.contains("pass it on") => Reply::tool(
                format!("send-{mark}"),
                "SendMessage",
                json!({"to": next, "message": format!("for you: mark<{mark}+>"), "summary": "passed on"}),
            ),
            Some(mark) if news.contains("make a task") => Reply::tool(
                format!("task-{mark}"),
                "TaskCreate",
                json!({"subject": mark, "description": "soak"}),
            ),
            _ => Reply::text("Done."),
        }
    }
}

/// Returns the content of `mark<…>`.
fn marks(text: &str) -> Vec<&str> {
    let parts = text.split("mark<").skip(1);
    parts
        .filter_map(|part| Some(part.split_once('>')?.0))
        .collect()
}

/// Results of each measurement of the processes.
#[derive(Default)]
struct Samples {
    resident: Vec<Vec<u64>>,
    descriptors: Vec<Vec<u64>>,
    latencies: Vec<Duration>,
}

fn drive(
    played: &Played,
    order: &Order,
    names: &[String],
    pids: &[u32],
    mut samples: Samples,
) -> Result<(Samples, usize)> {
    let (store, team) = (store(&played.world.root()), team_name(TEAM));
    let kinds = ["just read this", "pass it on", "make a task"];
    let until = Instant::now() + Duration::from_secs(order.minutes * 60);
    let start = Instant::now();
    let (mut next_sample, mut next_report) = (start, start + REPORT_INTERVAL);
    let mut sent = 0;
    while Instant::now() < until {
        // Shifted by one in each pass, so that all members receive every kind.
        let to = member_name(&names[(sent + sent / names.len()) % names.len()]);
        let text = format!("{}: mark<{sent}>", kinds[sent % kinds.len()]);
        let began = Instant::now();
        store
            .team(&team)
            .post(&to, Draft::new("team-lead", text))
            .block_on()?;
        samples.latencies.push(began.elapsed());
        sent += 1;
        if Instant::now() >= next_sample {
            next_sample = Instant::now() + SAMPLE_INTERVAL;
            samples
                .resident
                .push(pids.iter().map(|pid| resident(*pid)).collect());
            let open = pids.iter().map(|pid| descriptors(*pid) as u64);
            samples.descriptors.push(open.collect());
            read_lead_mail(&store)?;
        }
        if Instant::now() >= next_report {
            next_report += REPORT_INTERVAL;
            let minutes = start.elapsed().as_secs() / 60;
            eprintln!(
                "bench: soak: {minutes} of {} minutes, {sent} messages",
                order.minutes
            );
        }
        pause(GAP);
        played.forget();
    }
    for name in names {
        played.wait_for_idle(name);
    }
    Ok((samples, sent))
}

/// Reads the lead's messages as a person would: an unread inbox would become full.
fn read_lead_mail(store: &swarm_store::FileStore) -> Result<()> {
    let (team, lead) = (team_name(TEAM), member_name("team-lead"));
    let unread = store.team(&team).take_unread(&lead).block_on()?;
    let ids: Vec<_> = unread
        .into_iter()
        .filter_map(|entry| entry.msg_id)
        .collect();
    store.team(&team).ack(&lead, &ids).block_on()?;
    Ok(())
}

/// Checks that every message was seen by a model once, including those that members passed on.
fn lost(played: &Played, seen: &Seen, sent: usize) -> Result<()> {
    let expected: Vec<String> = (0..sent)
        .flat_map(|mark| {
            let passed = (mark % 3 == 1).then(|| format!("{mark}+"));
            [Some(mark.to_string()), passed]
        })
        .flatten()
        .collect();
    let missing = || {
        let seen = seen.lock();
        let missing = expected.iter().filter(|mark| !seen.contains_key(*mark));
        missing.cloned().collect::<Vec<_>>()
    };
    played.world.wait_for("every message has been read", || {
        missing().is_empty().then_some(())
    });
    let seen = seen.lock();
    let twice: Vec<_> = seen.iter().filter(|(_, times)| **times > 1).collect();
    ensure!(twice.is_empty(), "read more than once: {twice:?}");
    Ok(())
}

impl Samples {
    fn lines(self, sent: usize) -> Vec<Line> {
        let at = |samples: &[Vec<u64>], unit, at: usize| {
            Figure::of(
                unit,
                samples
                    .get(at)
                    .into_iter()
                    .flatten()
                    .map(|one| number(*one)),
            )
        };
        // After the first measurements all members have had a turn of each kind.
        let early = self.resident.len().min(6).saturating_sub(1);
        let late = self.resident.len().saturating_sub(1);
        let memory = |sample| at(&self.resident, Unit::Bytes, sample);
        let open = |sample| at(&self.descriptors, Unit::Count, sample);
        vec![
            Line::alone(
                "soak: messages, none lost or doubled",
                Figure::of(Unit::Count, [number(sent as u64)]),
                Aim::None,
            ),
            Line::against(
                "soak: memory at the end",
                memory(late),
                "after a minute",
                memory(early),
                Aim::Ratio(MAX_GROWTH),
            ),
            Line::against(
                "soak: open files at the end",
                open(late),
                "after a minute",
                open(early),
                Aim::Ratio(1.0),
            ),
            Line::alone("soak: one send", Figure::times(self.latencies), Aim::None),
        ]
    }
}

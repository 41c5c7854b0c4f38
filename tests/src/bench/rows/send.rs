//! Many writers with one inbox, while its reader takes the messages.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use swarm_os::{DirectoryWatcher, NameFilter};
use swarm_store::{BlockOn as _, Draft, TeamStore as _};

use super::team::{create, member_name, store, team_name};
use crate::bench::figure::{Figure, Unit};
use crate::bench::floor::inbox::{BareInbox, Class};
use crate::bench::order::Order;
use crate::bench::roles::{Part, ready, say, until_closed};
use crate::bench::scratch::{ON_DISK, everywhere};
use crate::bench::table::{Aim, Line};

const WRITERS: [usize; 3] = [2, 8, 32];
/// Total number of messages of all writers.
const MESSAGES: usize = 640;

/// Minimum ratio to the durable baseline, on a disk and in memory.
const LEAST: [f64; 2] = [0.8, 0.5];

/// Messages per second of swarm and of minimal programs, and the fairness between writers.
pub(crate) fn measure(order: &Order) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    for (place, directory) in everywhere() {
        for writers in WRITERS {
            let mut rounds = Vec::new();
            for round in 0..order.runs(3) {
                let below = directory.path().join(format!("{writers}-{round}"));
                rounds.push([
                    ours(&below.join("swarm"), writers)?,
                    bare(&below.join("durable"), writers, Class::Durable)?,
                    bare(&below.join("fast"), writers, Class::Fast)?,
                    bare(&below.join("interoperable"), writers, Class::Interoperable)?,
                ]);
            }
            lines.extend(lines_of(place, writers, &rounds));
        }
    }
    Ok(lines)
}

fn lines_of(place: &str, writers: usize, rounds: &[[Round; 4]]) -> Vec<Line> {
    let rate = |side: usize| {
        let rates = rounds.iter().map(|round| round[side].rate());
        Figure::of(Unit::Rate, rates)
    };
    let what = format!("send, {writers} writers, {place}");
    let least = LEAST[usize::from(place != ON_DISK)];
    let took = |side: usize| {
        let all = rounds
            .iter()
            .flat_map(|round| round[side].writers.iter().flatten());
        Figure::times(all.copied())
    };
    let uneven = |side: usize| {
        let all = rounds.iter().map(|round| round[side].unevenness());
        Figure::of(Unit::Count, all)
    };
    vec![
        Line::against(
            &what,
            rate(0),
            "durable floor",
            rate(1),
            Aim::AtLeast(least),
        ),
        Line::against(&what, rate(0), "floor without syncs", rate(2), Aim::None),
        Line::against(
            &what,
            rate(0),
            "durable floor with Claude Code's lock",
            rate(3),
            Aim::None,
        ),
        Line::against(
            format!("{what}: one send"),
            took(0),
            "durable floor",
            took(1),
            Aim::None,
        ),
        Line::against(
            format!("{what}: slowest writer / median writer"),
            uneven(0),
            "durable floor",
            uneven(1),
            Aim::None,
        ),
    ]
}

/// Result of one round: the durations of each writer's sends.
pub(super) struct Round {
    took: Duration,
    writers: Vec<Vec<Duration>>,
}

impl Round {
    pub(super) fn rate(&self) -> f64 {
        let sent: usize = self.writers.iter().map(Vec::len).sum();
        f64::from(u32::try_from(sent).unwrap_or(u32::MAX)) / self.took.as_secs_f64()
    }

    /// Ratio of the slowest writer's duration to the median one.
    fn unevenness(&self) -> f64 {
        let sums = self
            .writers
            .iter()
            .map(|times| times.iter().sum::<Duration>());
        let sums = Figure::times(sums);
        sums.percentile(100) / sums.median()
    }
}

fn ours(root: &Path, writers: usize) -> Result<Round> {
    std::fs::create_dir_all(root)?;
    create(root, "bench", &["reader"])?;
    let root = root.display().to_string();
    let each = (MESSAGES / writers).to_string();
    let reader = Part::start(&["read", &root])?;
    race(reader, writers, &["write", &root, &each], Finish::Sent)
}

fn bare(directory: &Path, writers: usize, class: Class) -> Result<Round> {
    let inbox = BareInbox::create(directory)?;
    let (path, lock) = (
        inbox.path.display().to_string(),
        inbox.lock.display().to_string(),
    );
    let each = (MESSAGES / writers).to_string();
    let reader = Part::start(&["drain", &path, &lock, class.word()])?;
    race(
        reader,
        writers,
        &["send", &path, &lock, class.word(), &each],
        Finish::Sent,
    )
}

/// When a round is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Finish {
    /// All messages are sent.
    Sent,
    /// The reader says that it has acknowledged all of them.
    Acknowledged,
}

/// Starts writers at the same time, and ends the reader after them.
pub(super) fn race(
    mut reader: Part,
    writers: usize,
    words: &[&str],
    finish: Finish,
) -> Result<Round> {
    let mut parts: Vec<Part> = (0..writers)
        .map(|_| Part::start(words))
        .collect::<Result<_>>()?;
    reader.begin()?;
    let began = Instant::now();
    for part in &mut parts {
        part.begin()?;
    }
    let mut times = Vec::new();
    for part in &mut parts {
        let line = part.line()?.context("a writer's times")?;
        let nanoseconds = line.split_whitespace().map(str::parse::<u64>);
        let each: Result<Vec<Duration>, _> = nanoseconds
            .map(|time| time.map(Duration::from_nanos))
            .collect();
        times.push(each?);
    }
    if finish == Finish::Acknowledged {
        let said = reader.line()?;
        ensure!(said.as_deref() == Some("done"), "the reader said {said:?}");
    }
    let took = began.elapsed();
    for part in parts {
        part.end()?;
    }
    reader.end()?;
    Ok(Round {
        took,
        writers: times,
    })
}

/// Runs a writer: sends a number of messages and prints the nanoseconds of each.
pub(crate) fn write(words: &[&str]) -> Result<()> {
    let [root, count] = words else {
        bail!("write ROOT COUNT");
    };
    let (store, team) = (store(Path::new(root)), team_name("bench"));
    let to = member_name("reader");
    let mut times = Vec::new();
    ready()?;
    for number in 0..count.parse::<usize>()? {
        let began = Instant::now();
        store
            .team(&team)
            .post(&to, Draft::new("team-lead", text(number)))
            .block_on()?;
        times.push(began.elapsed().as_nanos().to_string());
    }
    say(&times.join(" "))
}

/// A message as long as those of the minimal programs.
pub(crate) fn text(number: usize) -> String {
    let entry = crate::bench::floor::inbox::entry(number);
    entry["text"].as_str().unwrap_or_default().to_owned()
}

/// Runs the reader: acknowledges whatever arrives.
pub(crate) fn read(words: &[&str]) -> Result<()> {
    let [root] = words else { bail!("read ROOT") };
    let (store, team) = (store(Path::new(root)), team_name("bench"));
    let name = member_name("reader");
    let watcher = DirectoryWatcher::new();
    let names = NameFilter::Exact(vec!["reader.json".into()]);
    let mut inbox = watcher.subscribe(&Path::new(root).join("teams/bench/inboxes"), names);
    ready()?;
    std::thread::spawn(move || {
        loop {
            let unread = store
                .team(&team)
                .take_unread(&name)
                .block_on()
                .unwrap_or_default();
            let ids: Vec<_> = unread
                .into_iter()
                .filter_map(|entry| entry.msg_id)
                .collect();
            if !ids.is_empty() {
                // After a lock timeout it is retried in the next pass.
                store.team(&team).delivered(&name, &ids).block_on().ok();
            }
            inbox.changed_blocking(Duration::from_secs(5));
        }
    });
    until_closed();
    Ok(())
}

//! Several processes that find the same stale lock directory at the same time.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result};
use swarm_os::{LockGuard, LockOptions, LockPlan, OsError, with_lock};

use super::dice::{Dice, Seed};
use super::ground::{Locking, place};
use super::log::{Line, Log, lines, monotonic_nanos, path_of};
use super::workers::{Programs, Worker};

/// Timeout of a process: every process gets the lock eventually, regardless of the machine's speed.
const PATIENCE: Duration = Duration::from_mins(2);

/// Interval between two rounds of a lane: enough for all processes on an idle machine; on a busy
/// one rounds are late.
const GAP: Duration = Duration::from_millis(450);

/// Time before a round in which its processes spin, so that they start simultaneously.
const SPIN: Duration = Duration::from_micros(300);

/// Maximum time for which a process holds the lock.
const STAY: Duration = Duration::from_micros(1500);

/// A run of contention rounds.
#[derive(Debug, Clone)]
pub struct LockContention {
    /// Number of processes that compete for each lock.
    pub breakers: u64,
    /// Consecutive rounds in each lane.
    pub rounds: u64,
    /// Number of concurrent lanes.
    pub lanes: u64,
    /// Locking protocols in use.
    pub locking: Locking,
}

impl LockContention {
    /// Runs all rounds and returns their number.
    ///
    /// # Panics
    /// If two processes held a lock at once, one lost its lock, or files were left behind.
    pub fn run(&self, programs: &Programs, seed: Seed) -> u64 {
        let directory = tempfile::Builder::new()
            .prefix("swarm.duel-")
            .tempdir_in(place())
            .expect("a directory");
        let mut dice = Dice::new(seed);
        for lane in 0..self.lanes {
            for round in 0..self.rounds {
                Post::at(directory.path(), lane, round).leave_behind(self.locking, &mut dice);
            }
        }
        let logs = tempfile::tempdir().expect("a directory for logs");
        let begin = monotonic_nanos() + 300_000_000;
        let workers: Vec<Worker> = (0..self.breakers)
            .map(|number| {
                let name = format!("breaker{number}");
                let mut command = Command::new(&programs.worker);
                let role = match self.locking {
                    Locking::Both => "duels",
                    Locking::DirectoryOnly => "duels-by-directory",
                };
                command
                    .arg(role)
                    .args([directory.path(), &path_of(logs.path(), &name)])
                    .arg(&name)
                    .args([self.rounds, self.lanes, begin].map(|number| number.to_string()));
                Worker::start(command, logs.path(), &name)
            })
            .collect();
        workers.into_iter().for_each(Worker::finish);
        self.judge(directory.path(), logs.path());
        self.rounds * self.lanes
    }

    fn judge(&self, directory: &Path, logs: &Path) {
        let mut bad: Vec<Line> = Vec::new();
        for number in 0..self.breakers {
            let said = lines(&path_of(logs, &format!("breaker{number}")));
            let finished = said.last().is_some_and(|line| line.word(0) == "finished");
            assert!(finished, "{number}: {said:?}");
            bad.extend(said.into_iter().filter(|line| line.word(0) != "finished"));
        }
        assert!(bad.is_empty(), "{} of them: {bad:#?}", bad.len());
        for lane in 0..self.lanes {
            for round in 0..self.rounds {
                let post = Post::at(directory, lane, round);
                let entered = fs::read_to_string(&post.data).expect("a count");
                assert_eq!(
                    entered,
                    self.breakers.to_string(),
                    "{}",
                    post.data.display()
                );
            }
        }
        let names = fs::read_dir(directory).expect("a directory").flatten();
        let left: Vec<_> = names
            .map(|entry| entry.file_name())
            .filter(|name| {
                let name = name.to_string_lossy();
                [".lock", ".breaking", ".inside", ".swarm-tmp"]
                    .iter()
                    .any(|end| name.ends_with(end))
            })
            .collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

/// The files of one round.
struct Post {
    data: PathBuf,
    sidecar: PathBuf,
    lock: PathBuf,
    inside: PathBuf,
}

impl Post {
    fn at(directory: &Path, lane: u64, round: u64) -> Self {
        let path = |end: &str| directory.join(format!("{lane}-{round}{end}"));
        Self {
            data: path(".json"),
            sidecar: path(".side"),
            lock: path(".json.lock"),
            inside: path(".inside"),
        }
    }

    /// Creates a lock directory that was abandoned a minute ago: one of another program, or with
    /// directory locks only also one of swarm.
    fn leave_behind(&self, locking: Locking, dice: &mut Dice) {
        swarm_os::create_sidecar(&self.sidecar).expect("a sidecar");
        fs::write(&self.data, "0").expect("a file");
        fs::create_dir(&self.lock).expect("a lock directory");
        if locking == Locking::Both && dice.below(2) == 0 {
            let mark = std::os::unix::fs::PermissionsExt::from_mode(0o1700);
            fs::set_permissions(&self.lock, mark).expect("a mark");
        }
        let long_ago = SystemTime::now() - Duration::from_mins(1);
        let opened = File::open(&self.lock).expect("a lock directory");
        opened.set_modified(long_ago).expect("an old one");
    }

    /// Holds the lock for a moment and increments the counter; returns a violation, if any.
    fn enter(&self, held: &LockGuard, stay: Duration) -> Result<Option<&'static str>, OsError> {
        if File::create_new(&self.inside).is_err() {
            return Ok(Some("two are inside"));
        }
        let count = fs::read_to_string(&self.data).unwrap_or_default();
        thread::park_timeout(stay);
        let next = count.parse::<u64>().unwrap_or(u64::MAX - 1) + 1;
        held.replace(&self.data, next.to_string().as_bytes())?;
        drop(fs::remove_file(&self.inside));
        Ok(None)
    }
}

/// The part of one process: `duels DIRECTORY LOG NAME ROUNDS LANES BEGIN`, where the start is in
/// nanoseconds of the monotonic clock.
pub(super) fn fight(
    directory: &Path,
    log: &Path,
    locking: Locking,
    words: &[String],
) -> Result<()> {
    let number = |at: usize| -> Result<u64> {
        let word = words.get(at).context("a number is missing")?;
        Ok(word.parse()?)
    };
    let (rounds, lanes, begin) = (number(0)?, number(1)?, number(2)?);
    let options = LockOptions {
        deadline: PATIENCE,
        directory_only: locking == Locking::DirectoryOnly,
        ..LockOptions::default()
    };
    thread::scope(|scope| {
        for lane in 0..lanes {
            let options = &options;
            scope.spawn(move || {
                let mut log = Log::open(log).expect("a log");
                let mut dice = Dice::new(Seed(lane + u64::from(std::process::id())));
                for round in 0..rounds {
                    wait_for_round(begin, lane, lanes, round);
                    let post = Post::at(directory, lane, round);
                    let stay = STAY * u32::try_from(dice.below(100)).unwrap_or(0) / 100;
                    let plan = LockPlan {
                        sidecar: &post.sidecar,
                        data: std::slice::from_ref(&post.data),
                    };
                    let outcome = with_lock(&plan, options, |held| post.enter(held, stay));
                    let wrong = match outcome {
                        Ok(None) => continue,
                        Ok(Some(wrong)) => wrong.to_owned(),
                        Err(error) => error.to_string(),
                    };
                    log.say(&format!("{lane}-{round} {wrong}")).expect("a log");
                }
            });
        }
    });
    Log::open(log)?.say("finished")?;
    Ok(())
}

/// Lanes start one after the other, so that not all processes need the processors at once.
fn wait_for_round(begin: u64, lane: u64, lanes: u64, round: u64) {
    let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let at = begin + round * nanos(GAP) + lane * nanos(GAP) / lanes.max(1);
    loop {
        let left = at.saturating_sub(monotonic_nanos());
        if left == 0 {
            return;
        }
        let left = Duration::from_nanos(left);
        match left.checked_sub(SPIN) {
            Some(long) if !long.is_zero() => thread::park_timeout(long),
            _ => std::hint::spin_loop(),
        }
    }
}

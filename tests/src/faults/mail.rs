//! Message delivery under load: many writers, one reader, all of which are killed at random.
//!
//! Every acknowledged message is in the reader's transcript exactly once, in the order of its
//! sender. An interrupted send arrives once or not at all. The inbox is always a complete document.

use std::collections::HashSet;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rustix::process::{Signal, kill_process};
use serde_json::Value;
use swarm_protocol::MessageId;
use swarm_store::{BlockOn as _, TeamStore as _};

use super::arrivals::arrivals;
use super::dice::{Dice, Seed};
use super::ground::{Locking, TeamFixture, name};
use super::log::{lines, path_of};
use super::worker::{READER, transcript_of};
use super::workers::{Programs, Worker};
use crate::wait::wait_until;

/// Timeout for reading the remaining messages.
const LAST_READ: Duration = Duration::from_mins(2);

/// Kind of the foreign writers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Other {
    /// The program of this package.
    Program,
    /// A Node script, with the package proper-lockfile in a directory next to it.
    Script(PathBuf),
}

/// Parameters of a run.
#[derive(Debug, Clone)]
pub struct MailRun {
    /// Number of swarm writers.
    pub writers: usize,
    /// Number of foreign writers.
    pub others: usize,
    /// Kind of the foreign writers.
    pub other: Other,
    /// Minimum number of messages of each writer; it sends more while kills are pending.
    pub messages: u64,
    /// Number of kills: the reader every fourth time, otherwise a writer.
    pub kills: usize,
    /// Whether a foreign writer may be killed while it holds the lock. Because of a weakness of
    /// their protocol, two foreign writers may both take a stale lock, so then there is only one.
    pub kills_holders: bool,
    /// Maximum pause between two kills.
    pub pause: Duration,
    /// Locking protocols of swarm's processes.
    pub locking: Locking,
}

impl Default for MailRun {
    fn default() -> Self {
        Self {
            writers: 8,
            others: 0,
            other: Other::Program,
            messages: 25,
            kills: 20,
            kills_holders: false,
            pause: Duration::from_millis(40),
            locking: Locking::Both,
        }
    }
}

/// Result of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MailReport {
    /// Acknowledged sends.
    pub acknowledged: usize,
    /// Interrupted sends.
    pub cut: usize,
    /// Interrupted sends that arrived.
    pub cut_but_there: usize,
    /// Kills of writers and of the reader.
    pub kills: (usize, usize),
    /// Number of inbox reads during the run.
    pub looks: usize,
}

/// State of a run.
struct Storm<'a> {
    run: &'a MailRun,
    programs: &'a Programs,
    ground: &'a TeamFixture,
    logs: PathBuf,
}

impl MailRun {
    /// Runs it.
    ///
    /// # Panics
    /// If a guarantee is violated.
    pub fn run(&self, programs: &Programs, seed: Seed) -> MailReport {
        let ground = TeamFixture::fresh().locking(self.locking);
        ground.join(READER);
        let logs = tempfile::tempdir().expect("a directory for logs");
        let storm = Storm {
            run: self,
            programs,
            ground: &ground,
            logs: logs.path().to_owned(),
        };
        let over = AtomicBool::new(false);
        let mut report = thread::scope(|scope| {
            let looker = scope.spawn(|| look(&ground.inbox(READER), &over));
            let end = Ends(&over);
            let kills = storm.blow(&mut Dice::new(seed));
            drop(end);
            let looks = looker
                .join()
                .expect("readers of the inbox see a complete document");
            MailReport {
                kills,
                looks,
                ..MailReport::default()
            }
        });
        storm.judge(&mut report);
        report
    }
}

impl Storm<'_> {
    /// Starts all processes, kills and restarts them, and waits for the end. Returns the kills of
    /// writers and of the reader.
    fn blow(&self, dice: &mut Dice) -> (usize, usize) {
        let names = self.names();
        // Message count of each writer.
        let mut quotas = vec![self.run.messages; names.len()];
        let mut writers: Vec<Worker> = names
            .iter()
            .map(|(name, _)| self.writer(name, self.run.messages))
            .collect();
        let mut reader = self.reader();
        let mut kills = (0, 0);
        while kills.0 + kills.1 < self.run.kills {
            dice.linger(self.run.pause);
            for at in 0..writers.len() {
                if writers[at].has_finished() {
                    quotas[at] += self.run.messages;
                    writers[at] = self.writer(&names[at].0, quotas[at]);
                }
            }
            if (kills.0 + kills.1) % 4 == 3 {
                assert!(reader.kill(), "the reader reads on");
                reader = self.reader();
                kills.1 += 1;
            } else {
                // Most of them are blocked. Killing an active one is more useful.
                let at_work = writers.iter().position(|writer| self.is_at_work(writer));
                let at = match at_work {
                    Some(at) if dice.below(2) == 0 => at,
                    _ => dice.below(writers.len()),
                };
                if self.kill(&mut writers[at]) {
                    writers[at] = self.writer(&names[at].0, quotas[at]);
                    kills.0 += 1;
                }
            }
        }
        writers.into_iter().for_each(Worker::finish);
        let rest = wait_until("everything is read", LAST_READ, || {
            let inbox = self
                .ground
                .store
                .team(&self.ground.team)
                .inbox(&name(READER))
                .block_on()
                .ok()?;
            (inbox.unread().next().is_none()).then_some(())
        });
        rest.expect("the reader reads on");
        assert!(!reader.has_finished());
        reader.kill();
        kills
    }

    /// Returns whether this writer locked the sidecar last.
    fn is_at_work(&self, writer: &Worker) -> bool {
        let directory = self.ground.files().directory();
        let sidecar = directory.join(format!("swarm/locks/inbox-{READER}"));
        let record = fs::read_to_string(sidecar).unwrap_or_default();
        let pid = record
            .split_ascii_whitespace()
            .next()
            .and_then(|pid| pid.parse().ok());
        pid == Some(writer.pid().as_raw_nonzero().get())
    }

    /// Returns the writers' names, and whether they are foreign.
    fn names(&self) -> Vec<(String, bool)> {
        let ours = (0..self.run.writers).map(|at| (format!("w{at}"), false));
        let others = (0..self.run.others).map(|at| (format!("o{at}"), true));
        ours.chain(others).collect()
    }

    /// Starts a writer that continues after its predecessor, up to a number.
    fn writer(&self, name: &str, end: u64) -> Worker {
        let log = path_of(&self.logs, name);
        let said = lines(&log);
        // An interrupted send is not retried.
        let next = said
            .iter()
            .rfind(|line| line.word(0) == "begin")
            .map_or(0, |line| line.number(1) + 1);
        let numbers = [next.to_string(), end.to_string()];
        let mut command = if name.starts_with('w') {
            let mut command = Command::new(&self.programs.worker);
            command.arg(self.role("sends")).arg(&self.ground.root);
            command
        } else {
            let mut command = match &self.run.other {
                Other::Program => Command::new(&self.programs.other),
                Other::Script(script) => {
                    let mut node = Command::new("node");
                    node.arg(script);
                    node
                }
            };
            command.arg(self.ground.inbox(READER));
            command
        };
        command.arg(&log).arg(name).args(numbers);
        Worker::start(command, &self.logs, name)
    }

    fn reader(&self) -> Worker {
        let log = path_of(&self.logs, READER);
        let mut command = Command::new(&self.programs.worker);
        command
            .arg(self.role("receives"))
            .args([&self.ground.root, &log])
            .arg(READER)
            .arg(transcript_of(&log));
        Worker::start(command, &self.logs, READER)
    }

    fn role(&self, role: &str) -> String {
        match self.run.locking {
            Locking::Both => role.to_owned(),
            Locking::DirectoryOnly => format!("{role}-by-directory"),
        }
    }

    /// Kills a writer and returns whether it did. The lock directory of a killed foreign writer is
    /// aged here, so that nothing waits for seconds.
    fn kill(&self, writer: &mut Worker) -> bool {
        let leaves_lock =
            self.run.locking == Locking::DirectoryOnly || writer.name.starts_with('o');
        if !leaves_lock {
            return writer.kill();
        }
        if self.run.kills_holders {
            let was_killed = writer.kill();
            self.age_lock();
            return was_killed;
        }
        // Stopped first, so that it cannot take the lock before the kill.
        let pid = writer.pid();
        kill_process(pid, Signal::STOP).expect("a writer that runs");
        let stat = format!("/proc/{}/stat", pid.as_raw_nonzero());
        let stopped = wait_until("it stands still", LAST_READ, || {
            let stat = fs::read_to_string(&stat).unwrap_or_default();
            [") T ", ") Z "]
                .iter()
                .any(|state| stat.contains(state))
                .then_some(())
        });
        stopped.expect("a stopped writer");
        if self.lock().exists() {
            kill_process(pid, Signal::CONT).expect("a writer to go on");
            return false;
        }
        writer.kill()
    }

    fn lock(&self) -> PathBuf {
        self.ground.inbox(READER).with_extension("json.lock")
    }

    /// Ages the lock directory of a dead process.
    fn age_lock(&self) {
        let lock = self.lock();
        let Ok(found) = fs::metadata(&lock) else {
            return;
        };
        let holder_is_dead = self.names().iter().any(|(name, other)| {
            let said = lines(&path_of(&self.logs, name));
            let last = said
                .iter()
                .rfind(|line| ["locked", "released"].contains(&line.word(0)));
            *other
                && last
                    .is_some_and(|line| line.word(0) == "locked" && line.number(1) == found.ino())
        });
        if holder_is_dead && let Ok(opened) = File::open(&lock) {
            drop(opened.set_modified(SystemTime::now() - Duration::from_mins(1)));
        }
    }

    fn judge(&self, report: &mut MailReport) {
        let writers: Vec<String> = self.names().into_iter().map(|(name, _)| name).collect();
        let arrivals = arrivals(&self.logs, &writers, &self.kept());
        report.acknowledged = arrivals.acknowledged;
        report.cut = arrivals.cut;
        report.cut_but_there = arrivals.cut_but_there;
        self.ground.assert_whole();
        if self.run.locking == Locking::Both {
            // The next process that takes the lock removes the remains of a killed one without
            // waiting.
            self.ground.pass_by(&self.ground.hurried());
            assert_eq!(self.ground.litter(), Vec::<PathBuf>::new());
        }
    }

    /// Returns the acknowledged ids in the inbox and its archive.
    fn kept(&self) -> HashSet<MessageId> {
        let inbox = self
            .ground
            .store
            .team(&self.ground.team)
            .inbox(&name(READER))
            .block_on()
            .expect("the inbox");
        let in_file = inbox
            .entries
            .into_iter()
            .filter(|entry| entry.read)
            .filter_map(|entry| entry.msg_id);
        let archive = fs::read_to_string(self.ground.archive(READER)).unwrap_or_default();
        let archived = archive.lines().filter_map(|line| {
            let entry: Value = serde_json::from_str(line).ok()?;
            Some(MessageId::new(entry["msg_id"].as_str()?))
        });
        in_file.chain(archived).collect()
    }
}

/// Reads the inbox repeatedly.
fn look(inbox: &Path, over: &AtomicBool) -> usize {
    let mut looks = 0;
    let mut is_filled = false;
    while !over.load(Ordering::SeqCst) {
        // A foreign program creates the file before it fills it; afterwards it is only replaced.
        let found = fs::read(inbox).ok();
        if let Some(bytes) = found.filter(|bytes| is_filled || !bytes.is_empty()) {
            is_filled = true;
            let entries: Vec<Value> = serde_json::from_slice(&bytes).expect("half a file was seen");
            let ids: HashSet<&str> = entries
                .iter()
                .filter_map(|entry| entry["msg_id"].as_str())
                .collect();
            assert_eq!(ids.len(), entries.len(), "a message is in the inbox twice");
            looks += 1;
        }
        let next = Instant::now() + Duration::from_micros(500);
        while let Some(left) = next.checked_duration_since(Instant::now()) {
            thread::park_timeout(left);
        }
    }
    looks
}

/// Sets a flag on drop, including a panic: threads that wait for it would hang the run.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

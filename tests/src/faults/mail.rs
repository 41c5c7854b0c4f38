//! Mail in a storm: many writers, one reader, and all of them killed at any moment.
//!
//! Every acknowledged send is in the reader's transcript exactly once, in its sender's order. A send that was cut short is there
//! once or not at all. Whoever looks at the inbox sees a whole document.

use std::collections::{BTreeMap, HashMap, HashSet};
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
use swarm_store::TeamStore as _;

use super::dice::{Dice, Seed};
use super::ground::{Ground, Locking, name};
use super::log::{lines, path_of};
use super::worker::{READER, read, transcript_of};
use super::workers::{Programs, Worker};
use crate::wait::wait_until;

/// How long the reader may take for what is left when all is written.
const LAST_READ: Duration = Duration::from_mins(2);

/// Who writes by the other protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Other {
    /// The program of this package.
    Program,
    /// A script for Node, with the package proper-lockfile in the directory beside it.
    Script(PathBuf),
}

/// A run of mail.
#[derive(Debug, Clone)]
pub struct MailRun {
    /// Writers of ours.
    pub writers: usize,
    /// Writers of another make.
    pub others: usize,
    /// What these are.
    pub other: Other,
    /// Messages of each writer, at least: it goes on with as many more while there are kills to come.
    pub messages: u64,
    /// How often somebody is killed: each fourth time the reader, else a writer.
    pub kills: usize,
    /// Whether one of another make may be killed while it has the lock. Two others that find it old may both take it, by
    /// the weakness of their protocol, so that then there is one.
    pub kills_holders: bool,
    /// Longest pause between two kills.
    pub pause: Duration,
    /// How ours lock.
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

/// What came of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MailReport {
    /// Sends that were told to be done.
    pub acknowledged: usize,
    /// Sends that were cut short.
    pub cut: usize,
    /// Of these, how many had arrived.
    pub cut_but_there: usize,
    /// Kills of writers and of the reader.
    pub kills: (usize, usize),
    /// Looks at the inbox while it was written.
    pub looks: usize,
}

/// The stage of a run.
struct Storm<'a> {
    run: &'a MailRun,
    programs: &'a Programs,
    ground: &'a Ground,
    logs: PathBuf,
}

impl MailRun {
    /// Runs it.
    ///
    /// # Panics
    /// When a promise is broken.
    pub fn run(&self, programs: &Programs, seed: Seed) -> MailReport {
        let ground = Ground::fresh().locking(self.locking);
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
                .expect("whoever looks at the inbox sees a whole document");
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
    /// Starts everybody, kills and restarts, and waits for the end. Returns the kills of writers and of the reader.
    fn blow(&self, dice: &mut Dice) -> (usize, usize) {
        let names = self.names();
        // Up to which number each writes.
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
                // Most of them wait. One that is at work is worth more.
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
                .ok()?;
            (inbox.unread().next().is_none()).then_some(())
        });
        rest.expect("the reader reads on");
        assert!(!reader.has_finished());
        reader.kill();
        kills
    }

    /// Whether the sidecar was last locked by this writer.
    fn is_at_work(&self, writer: &Worker) -> bool {
        let directory = self.ground.store.team(&self.ground.team).team_directory();
        let sidecar = directory.join(format!("swarm/locks/inbox-{READER}"));
        let record = fs::read_to_string(sidecar).unwrap_or_default();
        let pid = record
            .split_ascii_whitespace()
            .next()
            .and_then(|pid| pid.parse().ok());
        pid == Some(writer.pid().as_raw_nonzero().get())
    }

    /// The writers' names, and which of them are of another make.
    fn names(&self) -> Vec<(String, bool)> {
        let ours = (0..self.run.writers).map(|at| (format!("w{at}"), false));
        let others = (0..self.run.others).map(|at| (format!("o{at}"), true));
        ours.chain(others).collect()
    }

    /// A writer that goes on behind what its predecessor began, up to a number.
    fn writer(&self, name: &str, end: u64) -> Worker {
        let log = path_of(&self.logs, name);
        let said = lines(&log);
        // The one that was under way is not tried again.
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

    /// Kills a writer; tells whether it did. One of another make that has the lock leaves a lock directory, which grows
    /// old at once here so that nobody waits for seconds.
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
        // Held still, so that it does not take the lock between the look and the kill.
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

    /// Makes the lock directory of a dead one look as if it had been left long ago.
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
        let transcript = read(&transcript_of(&path_of(&self.logs, READER))).expect("a transcript");
        let mut seen: HashMap<&MessageId, usize> = HashMap::new();
        let mut orders: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
        for (id, from, text) in &transcript {
            *seen.entry(id).or_default() += 1;
            let number = text.split(' ').nth(1).and_then(|word| word.parse().ok());
            orders
                .entry(from)
                .or_default()
                .push(number.expect("a number"));
        }
        assert!(
            seen.values().all(|count| *count == 1),
            "a message was taken twice"
        );
        for (from, order) in &orders {
            assert!(
                order.is_sorted_by(|a, b| a < b),
                "{from} is out of order: {order:?}"
            );
        }
        let kept = self.kept();
        for (writer, _) in self.names() {
            let said = lines(&path_of(&self.logs, &writer));
            let begun: HashSet<u64> = said
                .iter()
                .filter(|line| line.word(0) == "begin")
                .map(|line| line.number(1))
                .collect();
            let sent: HashMap<u64, MessageId> = said
                .iter()
                .filter(|line| line.word(0) == "sent")
                .map(|line| (line.number(1), MessageId::new(line.word(2))))
                .collect();
            for (number, id) in &sent {
                assert!(
                    seen.contains_key(id),
                    "{writer} was told that {number} is sent, and it is lost"
                );
                assert!(kept.contains(id), "{writer}'s {number} is in no file");
            }
            let arrived: HashSet<u64> = orders
                .get(writer.as_str())
                .into_iter()
                .flatten()
                .copied()
                .collect();
            assert!(
                arrived.is_subset(&begun),
                "{writer} never sent {:?}",
                arrived.difference(&begun)
            );
            report.acknowledged += sent.len();
            report.cut += begun.len() - sent.len();
            report.cut_but_there += arrived.len() - sent.len();
        }
        self.ground.assert_whole();
        if self.run.locking == Locking::Both {
            // What the last one that was killed left is cleared by the next one that takes the lock, without waiting.
            self.ground.pass_by(&self.ground.hurried());
            assert_eq!(self.ground.litter(), Vec::<PathBuf>::new());
        }
    }

    /// Ids that are acknowledged in the inbox, or in its archive.
    fn kept(&self) -> HashSet<MessageId> {
        let inbox = self
            .ground
            .store
            .team(&self.ground.team)
            .inbox(&name(READER))
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

/// Reads the inbox over and over.
fn look(inbox: &Path, over: &AtomicBool) -> usize {
    let mut looks = 0;
    let mut is_filled = false;
    while !over.load(Ordering::SeqCst) {
        // Another program makes the file before it fills it; from then on it is only replaced.
        let found = fs::read(inbox).ok();
        if let Some(bytes) = found.filter(|bytes| is_filled || !bytes.is_empty()) {
            is_filled = true;
            let entries: Vec<Value> = serde_json::from_slice(&bytes).expect("half a file was seen");
            let ids: HashSet<&str> = entries
                .iter()
                .filter_map(|entry| entry["msg_id"].as_str())
                .collect();
            assert_eq!(
                ids.len(),
                entries.len(),
                "a message stands twice in the inbox"
            );
            looks += 1;
        }
        let next = Instant::now() + Duration::from_micros(500);
        while let Some(left) = next.checked_duration_since(Instant::now()) {
            thread::park_timeout(left);
        }
    }
    looks
}

/// Says that something is over when it goes, also by a panic: threads that wait for it would hang the run.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

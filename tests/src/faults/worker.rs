//! The worker: a process that performs one kind of operation on the files of a team, repeatedly or
//! once, until it is killed.
//!
//! `works-on-a-team ROLE ROOT LOG NAME [NUMBER…]`

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};
use swarm_os::{DirectoryWatcher, LockOptions, LockPlan, with_lock};
use swarm_protocol::{ErrorKind, MemberName, MessageId};
use swarm_store::{BlockOn as _, Draft, RootStore, StoreError, Team, TeamStore as _, Topic};

use super::ground::{Locking, TeamFixture};
use super::log::Log;
use super::steps::Operation;

/// The member that reads all messages.
pub const READER: &str = "reader";

/// Path that a worker accesses before its operation, which marks the position in a trace.
pub const BEGIN: &str = "/swarm-faults/begin";
/// See [`BEGIN`].
pub const END: &str = "/swarm-faults/end";

/// Pause of a reader without messages.
const REST: Duration = Duration::from_millis(1);

/// Longest wait for the hub of a team.
const CONNECTING: Duration = Duration::from_mins(1);

/// Arguments of a worker.
#[derive(Debug)]
pub(super) struct WorkerArguments {
    pub(super) ground: TeamFixture,
    /// In files, or on the hub that the directory names.
    pub(super) team: Arc<dyn Team>,
    pub(super) log: Log,
    pub(super) name: String,
    pub(super) rest: Vec<String>,
}

impl WorkerArguments {
    /// Returns the number at an index after the name.
    pub(super) fn number(&self, at: usize) -> Result<u64> {
        let word = self.rest.get(at).context("a number is missing")?;
        Ok(word.parse()?)
    }

    pub(super) fn member(&self) -> Result<MemberName> {
        Ok(MemberName::parse(&self.name)?)
    }
}

/// Runs the role in the arguments.
pub fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let mut next = || words.next().context("an argument is missing");
    let (role, root, log, name) = (next()?, next()?, next()?, next()?);
    let (role, locking) = match role.strip_suffix("-by-directory") {
        Some(role) => (role.to_owned(), Locking::DirectoryOnly),
        None => (role, Locking::Both),
    };
    if role == "duels" {
        let rest: Vec<String> = words.collect();
        return super::duel::fight(Path::new(&root), Path::new(&log), locking, &rest);
    }
    let ground = TeamFixture::at(Path::new(&root), locking);
    let arguments = WorkerArguments {
        team: RootStore::new(ground.store.clone()).team(&ground.team),
        ground,
        log: Log::open(Path::new(&log))?,
        name,
        rest: words.collect(),
    };
    wait_for_hub(&*arguments.team)?;
    match role.as_str() {
        "sends" => send(arguments),
        "receives" => receive(&arguments),
        "works" => super::tasks::work(arguments),
        "works-without-lock" => super::tasks::work_without_lock(arguments),
        "once" => once(arguments),
        "holds" => hold(arguments),
        "stands" => super::standstill::stand_still(arguments, locking),
        "listens" => super::watching::listen(arguments),
        "everything" => super::everything::try_all(arguments),
        "fills" => super::disk::fill(arguments),
        _ => bail!("no such role: {role}"),
    }
}

/// Waits until the hub of a team can be reached: the first connection is tried only once.
fn wait_for_hub(team: &dyn Team) -> Result<()> {
    let end = Instant::now() + CONNECTING;
    while team.is_remote()
        && let Err(error) = team.config().block_on()
    {
        if Instant::now() > end {
            return Err(error.into());
        }
        std::thread::park_timeout(REST);
    }
    Ok(())
}

/// Returns whether a hub could not be reached for longer than an operation waits.
pub(super) fn is_outage(team: &dyn Team, error: &StoreError) -> bool {
    let kinds = [ErrorKind::Environment, ErrorKind::TimedOut];
    team.is_remote() && kinds.contains(&error.kind())
}

/// Performs one operation between two marks in the trace.
fn once(mut arguments: WorkerArguments) -> Result<()> {
    let operation = arguments
        .rest
        .first()
        .and_then(|word| Operation::parse(word));
    let operation = operation.context("no such operation")?;
    // Facts about the process are cached first: not part of the operation.
    drop(super::ground::new_member("nobody"));
    arguments.log.say("begin")?;
    drop(std::fs::metadata(BEGIN));
    let outcome = operation.perform(&arguments.ground.store, &arguments.ground);
    drop(std::fs::metadata(END));
    match outcome {
        Ok(()) => arguments.log.say("acked")?,
        Err(error) => arguments.log.say(&format!("refused {error}"))?,
    }
    Ok(())
}

/// Holds the lock of the named member's inbox. With a command after the name, the lock is released
/// once the command finishes; otherwise it is held until the worker is killed.
fn hold(mut arguments: WorkerArguments) -> Result<()> {
    let inbox = arguments.ground.inbox(&arguments.name);
    let directory = arguments.ground.files().directory();
    let sidecar = directory.join(format!("swarm/locks/inbox-{}", arguments.name));
    let plan = LockPlan {
        sidecar: &sidecar,
        data: std::slice::from_ref(&inbox),
    };
    let options = LockOptions::default();
    with_lock(&plan, &options, |_held| -> Result<()> {
        arguments.log.say("held")?;
        let Some((program, words)) = arguments.rest.split_first() else {
            loop {
                std::thread::park();
            }
        };
        let status = std::process::Command::new(program).args(words).status()?;
        arguments.log.say(&format!("ran {}", status.success()))?;
        Ok(())
    })
}

/// Sends the numbers from the first to the last, each once. A send that was interrupted by a kill
/// is not repeated: it may have arrived or not. One that a hub refuses during an outage may have
/// arrived too; another number is sent instead. A third number is the pause after each, in
/// milliseconds.
fn send(mut arguments: WorkerArguments) -> Result<()> {
    let reader = MemberName::parse(READER)?;
    let pause = Duration::from_millis(arguments.number(2).unwrap_or_default());
    let mut end = arguments.number(1)?;
    for number in arguments.number(0)?.. {
        if number >= end {
            break;
        }
        arguments.log.say(&format!("begin {number}"))?;
        // Of all lengths, so that the pages of the file fill up differently.
        let padding = "x".repeat(usize::try_from(number % 7 * 97)?);
        let draft = Draft::new(
            &arguments.name,
            format!("{} {number} {padding}", arguments.name),
        );
        match arguments.team.send(&reader, draft).block_on() {
            Ok(id) => arguments.log.say(&format!("sent {number} {id}"))?,
            Err(error) if is_outage(&*arguments.team, &error) => {
                arguments.log.say(&format!("refused {number}"))?;
                end += 1;
            }
            Err(error) => return Err(error.into()),
        }
        std::thread::park_timeout(pause);
    }
    arguments.log.say("finished")?;
    Ok(())
}

/// Returns the file in which a reader stores messages.
pub fn transcript_of(log: &Path) -> PathBuf {
    log.with_extension("jsonl")
}

/// Stores messages in a transcript and then acknowledges them, as a teammate does.
fn receive(arguments: &WorkerArguments) -> Result<()> {
    let transcript = PathBuf::from(
        arguments
            .rest
            .first()
            .context("the transcript is missing")?,
    );
    let me = arguments.member()?;
    let team = &arguments.team;
    let mut known: HashSet<MessageId> = read(&transcript)?
        .into_iter()
        .map(|entry| entry.0)
        .collect();
    // On a hub, a reader that watches its inbox gets messages in another way.
    let watcher = DirectoryWatcher::new();
    let watch = || team.watch(&watcher, &Topic::Mail(me.clone()));
    let _watched = team.is_remote().then(watch);
    loop {
        let unread = match team.take_unread(&me).block_on() {
            Err(error) if is_outage(&**team, &error) => continue,
            unread => unread?,
        };
        let mut ids = Vec::new();
        let mut lines = Vec::new();
        for entry in unread {
            let id = entry.msg_id.context("taken without an id")?;
            if known.insert(id.clone()) {
                let line = json!({"id": id.to_string(), "from": entry.from, "text": entry.text});
                lines.extend(line.to_string().into_bytes());
                lines.push(b'\n');
            }
            ids.push(id);
        }
        if ids.is_empty() {
            std::thread::park_timeout(REST);
            continue;
        }
        if !lines.is_empty() {
            swarm_os::append_durable(&transcript, &lines)?;
        }
        match team.delivered(&me, &ids).block_on() {
            Err(error) if is_outage(&**team, &error) => {}
            done => drop(done?),
        }
    }
}

/// Returns the entries of a transcript: id, sender and text. A truncated last line is ignored.
///
/// # Errors
/// If a complete line is malformed.
pub fn read(transcript: &Path) -> Result<Vec<(MessageId, String, String)>> {
    let text = std::fs::read_to_string(transcript).unwrap_or_default();
    let mut entries = Vec::new();
    for line in text.split_inclusive('\n') {
        if !line.ends_with('\n') {
            break;
        }
        // A truncated line is terminated by the next append and remains as a separate line.
        let Ok(entry) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        let word = |key: &str| entry[key].as_str().unwrap_or_default().to_owned();
        entries.push((MessageId::new(word("id")), word("from"), word("text")));
    }
    Ok(entries)
}

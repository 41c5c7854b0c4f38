//! The worker: a process that does one thing to the files of a team, over and over or once, until it is killed.
//!
//! `works-on-a-team ROLE ROOT LOG NAME [NUMBER…]`

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};
use swarm_os::{LockOptions, LockPlan, with_lock};
use swarm_protocol::{MemberName, MessageId};
use swarm_store::{Draft, TeamStore as _};

use super::ground::{Ground, Locking};
use super::log::Log;
use super::steps::Operation;

/// Who reads all mail.
pub const READER: &str = "reader";

/// What a worker looks at before it does what it was told once, and after: a trace shows both looks.
pub const BEGIN: &str = "/swarm-faults/begin";
/// See [`BEGIN`].
pub const END: &str = "/swarm-faults/end";

/// How long a reader with nothing to read rests.
const REST: Duration = Duration::from_millis(1);

/// What a worker was told.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) ground: Ground,
    pub(super) log: Log,
    pub(super) name: String,
    pub(super) rest: Vec<String>,
}

impl Told {
    /// The number at a place behind the name.
    pub(super) fn number(&self, at: usize) -> Result<u64> {
        let word = self.rest.get(at).context("a number is missing")?;
        Ok(word.parse()?)
    }

    pub(super) fn member(&self) -> Result<MemberName> {
        Ok(MemberName::parse(&self.name)?)
    }
}

/// Plays the role that the arguments name.
///
/// # Errors
/// What the store refuses.
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
    let told = Told {
        ground: Ground::at(Path::new(&root), locking),
        log: Log::open(Path::new(&log))?,
        name,
        rest: words.collect(),
    };
    match role.as_str() {
        "sends" => send(told),
        "receives" => receive(&told),
        "works" => super::tasks::work(told),
        "works-without-lock" => super::tasks::work_without_lock(told),
        "once" => once(told),
        "holds" => hold(told),
        "stands" => super::standstill::stand_still(told, locking),
        "listens" => super::watching::listen(told),
        "everything" => super::everything::try_all(told),
        "fills" => super::disk::fill(told),
        _ => bail!("no such role: {role}"),
    }
}

/// Does one operation, between two looks that a trace shows.
fn once(mut told: Told) -> Result<()> {
    let operation = told.rest.first().and_then(|word| Operation::parse(word));
    let operation = operation.context("no such operation")?;
    // What a process knows of itself it looks up once: not part of the operation.
    drop(super::ground::new_member("nobody"));
    told.log.say("begin")?;
    drop(std::fs::metadata(BEGIN));
    let outcome = operation.perform(&told.ground.store, &told.ground);
    drop(std::fs::metadata(END));
    match outcome {
        Ok(()) => told.log.say("acked")?,
        Err(error) => told.log.say(&format!("refused {error}"))?,
    }
    Ok(())
}

/// Holds the lock of the named member's inbox. With a command behind the name, that is run to its end meanwhile and the lock let
/// go; without, it is held until the worker is killed.
fn hold(mut told: Told) -> Result<()> {
    let inbox = told.ground.inbox(&told.name);
    let directory = told.ground.store.team(&told.ground.team).team_directory();
    let sidecar = directory.join(format!("swarm/locks/inbox-{}", told.name));
    let plan = LockPlan {
        sidecar: &sidecar,
        data: std::slice::from_ref(&inbox),
    };
    let options = LockOptions::default();
    with_lock(&plan, &options, |_held| -> Result<()> {
        told.log.say("held")?;
        let Some((program, arguments)) = told.rest.split_first() else {
            loop {
                std::thread::park();
            }
        };
        let status = std::process::Command::new(program)
            .args(arguments)
            .status()?;
        told.log.say(&format!("ran {}", status.success()))?;
        Ok(())
    })
}

/// Sends the numbers from the first to the last, each once. Which one was under way when it was killed is not tried
/// again: it may be there or not.
fn send(mut told: Told) -> Result<()> {
    let reader = MemberName::parse(READER)?;
    for number in told.number(0)?..told.number(1)? {
        told.log.say(&format!("begin {number}"))?;
        // Of all lengths, so that the file's pages fill up differently.
        let padding = "x".repeat(usize::try_from(number % 7 * 97)?);
        let draft = Draft::new(&told.name, format!("{} {number} {padding}", told.name));
        let store = &told.ground.store;
        let id = store.team(&told.ground.team).send(&reader, draft)?;
        told.log.say(&format!("sent {number} {id}"))?;
    }
    told.log.say("finished")?;
    Ok(())
}

/// Where a reader keeps what it has read.
pub fn transcript_of(log: &Path) -> PathBuf {
    log.with_extension("jsonl")
}

/// Takes mail into a transcript of its own and then acknowledges it, as a teammate does.
fn receive(told: &Told) -> Result<()> {
    let transcript = PathBuf::from(told.rest.first().context("the transcript is missing")?);
    let me = told.member()?;
    let Ground { store, team, .. } = &told.ground;
    let mut known: HashSet<MessageId> = read(&transcript)?
        .into_iter()
        .map(|entry| entry.0)
        .collect();
    loop {
        let unread = store.team(team).take_unread(&me)?;
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
        store.team(team).delivered(&me, &ids)?;
    }
}

/// The entries of a transcript: id, sender and text. A last line that was cut short is none.
///
/// # Errors
/// When a complete line is not one of ours.
pub fn read(transcript: &Path) -> Result<Vec<(MessageId, String, String)>> {
    let text = std::fs::read_to_string(transcript).unwrap_or_default();
    let mut entries = Vec::new();
    for line in text.split_inclusive('\n') {
        if !line.ends_with('\n') {
            break;
        }
        // What was cut short is ended by the next append and stays behind as a line of its own.
        let Ok(entry) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        let word = |key: &str| entry[key].as_str().unwrap_or_default().to_owned();
        entries.push((MessageId::new(word("id")), word("from"), word("text")));
    }
    Ok(entries)
}

//! An independent program that uses the same files, implemented only from the description of the
//! protocol without code of swarm.
//!
//! `writes-as-others-do INBOX LOG NAME FIRST LAST` adds numbered messages to an inbox. The lock of
//! `F` is the directory `F.lock`: created by `mkdir`, removed by `rmdir`, refreshed every 5 s, and
//! considered stale after 10 s without refresh, as in npm's proper-lockfile 4.1.2. The file is
//! replaced by rename.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::log::Log;

const STALE: Duration = Duration::from_secs(10);
const REFRESH: Duration = Duration::from_secs(5);
/// Pauses between attempts: ten, doubling from the first to the maximum.
const TRIES: usize = 10;
const PAUSES: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(100));

/// Runs the program.
pub fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let mut next = || words.next().context("an argument is missing");
    let (inbox, log, name) = (PathBuf::from(next()?), next()?, next()?);
    let (first, last): (u64, u64) = (next()?.parse()?, next()?.parse()?);
    let mut log = Log::open(Path::new(&log))?;
    for number in first..last {
        while !send(&inbox, &mut log, &name, number)? {
            log.say(&format!("gave-up {number}"))?;
        }
    }
    log.say("finished")?;
    Ok(())
}

/// Sends a message; `false` if the lock could not be taken.
fn send(inbox: &Path, log: &mut Log, name: &str, number: u64) -> Result<bool> {
    // Only an existing file can be locked.
    if let Ok(mut made) = File::create_new(inbox) {
        io::Write::write_all(&mut made, b"[]")?;
    }
    let Some(lock) = Lock::take(inbox, log)? else {
        return Ok(false);
    };
    log.say(&format!("begin {number}"))?;
    let mut entries: Vec<Value> = serde_json::from_slice(&fs::read(inbox)?)?;
    let id = format!("{name}-{number}");
    entries.push(json!({
        "from": name, "text": format!("{name} {number}"), "timestamp": "2026-11-20T10:00:00.000Z",
        "msgV": 1, "msg_id": id, "type": "message", "read": false,
    }));
    let temporary = inbox.with_extension(format!("json.tmp.{:08x}", std::process::id()));
    fs::write(&temporary, serde_json::to_vec_pretty(&entries)?)?;
    fs::rename(&temporary, inbox)?;
    log.say(&format!("sent {number} {id}"))?;
    drop(lock);
    log.say("released")?;
    Ok(true)
}

struct Lock {
    directory: PathBuf,
    _refreshes: Sender<()>,
}

impl Lock {
    fn take(file: &Path, log: &mut Log) -> Result<Option<Self>> {
        let directory = file.with_extension("json.lock");
        let mut pause = PAUSES.0;
        for _ in 0..=TRIES {
            match fs::create_dir(&directory) {
                Ok(()) => {
                    let inode = fs::metadata(&directory)?.ino();
                    log.say(&format!("locked {inode}"))?;
                    let refreshes = refresh(&directory);
                    return Ok(Some(Self {
                        directory,
                        _refreshes: refreshes,
                    }));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    if is_stale(&directory) {
                        // Another process may remove it as well.
                        drop(fs::remove_dir(&directory));
                        continue;
                    }
                }
                Err(error) => return Err(error.into()),
            }
            thread::park_timeout(pause);
            pause = (pause * 2).min(PAUSES.1);
        }
        Ok(None)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        drop(fs::remove_dir(&self.directory));
    }
}

fn is_stale(directory: &Path) -> bool {
    let refreshed = fs::metadata(directory).and_then(|found| found.modified());
    let age = refreshed
        .ok()
        .and_then(|at| SystemTime::now().duration_since(at).ok());
    age.is_some_and(|age| age > STALE)
}

/// Refreshes the directory until the sender is dropped.
pub fn refresh(directory: &Path) -> Sender<()> {
    let (stop, stopped) = mpsc::channel();
    let directory = directory.to_owned();
    thread::spawn(move || {
        while stopped.recv_timeout(REFRESH) == Err(RecvTimeoutError::Timeout) {
            if let Ok(opened) = File::open(&directory) {
                drop(opened.set_modified(SystemTime::now()));
            }
        }
    });
    stop
}

//! An idle reader that loses its watch: the event queue overflows, the kernel has no watcher left,
//! or the directory is replaced.

use std::fs::{self, File};
use std::process::Command;
use std::time::Duration;

use anyhow::Result;
use rustix::process::{Signal, kill_process};
use swarm_os::{DirectoryWatcher, NameFilter};
use swarm_store::{BlockOn as _, Draft, TeamStore as _};

use super::ground::{TeamFixture, name};
use super::log::path_of;
use super::worker::{READER, WorkerArguments};
use super::workers::{Programs, Worker};
use crate::wait::wait_for;

/// Timeout of a reader that nothing wakes: effectively forever.
const FOR_EVER: Duration = Duration::from_hours(1);

/// More files than the default size of the kernel's queue (`fs.inotify.max_queued_events`).
const FLOOD: usize = 20_000;

/// Ways to lose the watch of an idle reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// More events than the queue can hold, while the reader is stopped.
    Overflow,
    /// The process has no descriptor left for its watcher.
    NoDescriptors,
    /// The user has as many watchers as the kernel allows.
    NoInstances,
    /// The user has as many watched directories as the kernel allows.
    NoWatches,
    /// The directory is deleted and created again.
    MadeAgain,
    /// The directory is moved away and replaced.
    Moved,
}

impl Loss {
    /// All ways.
    pub const ALL: [Self; 6] = [
        Self::Overflow,
        Self::NoDescriptors,
        Self::NoInstances,
        Self::NoWatches,
        Self::MadeAgain,
        Self::Moved,
    ];

    /// Returns the kernel setting that takes the watch away, in a namespace of the reader.
    fn limit(self) -> Option<&'static str> {
        match self {
            Self::NoInstances => Some("max_inotify_instances"),
            Self::NoWatches => Some("max_inotify_watches"),
            _ => None,
        }
    }
}

/// Takes the watch away, then sends. `false` if this system does not support it.
///
/// # Panics
/// If a message does not reach the reader.
pub fn reaches(programs: &Programs, loss: Loss) -> bool {
    let ground = TeamFixture::fresh();
    ground.join(READER);
    let notes = tempfile::tempdir().expect("a directory for notes");
    let mut command = match loss.limit() {
        Some(limit) if !can_limit(limit) => return false,
        Some(limit) => {
            let script = format!("echo 0 > /proc/sys/user/{limit} && exec \"$0\" \"$@\"");
            let mut command = Command::new("unshare");
            command.args(["--user", "--map-root-user", "sh", "-c", &script]);
            command.arg(&programs.worker);
            command
        }
        None => Command::new(&programs.worker),
    };
    command
        .arg("listens")
        .args([&ground.root, &path_of(notes.path(), "listens")])
        .args([READER, &format!("{loss:?}")]);
    let reader = Worker::start(command, notes.path(), "listens");
    let has_said = |words: String| {
        wait_for(
            &words,
            || format!("{loss:?}: {:?}", reader.said()),
            || {
                let said = reader.said();
                said.iter()
                    .any(|line| line.words.join(" ") == words)
                    .then_some(())
            },
        );
    };
    let blind = [Loss::NoDescriptors, Loss::NoInstances, Loss::NoWatches].contains(&loss);
    has_said(format!(
        "listening {}",
        if blind { "blindly" } else { "well" }
    ));
    // A message before the loss, so that the reader waits again afterwards.
    send(&ground, "before");
    has_said("got before".to_owned());
    lose(&ground, &reader, loss);
    send(&ground, "after");
    if loss == Loss::Overflow {
        kill_process(reader.pid(), Signal::CONT).expect("it can go on");
    }
    has_said("got after".to_owned());
    true
}

fn send(ground: &TeamFixture, text: &str) {
    let sent = ground
        .store
        .team(&ground.team)
        .send(&name(READER), Draft::new("a", text))
        .block_on();
    sent.expect("a message");
}

fn lose(ground: &TeamFixture, reader: &Worker, loss: Loss) {
    let directory = ground.files().directory().join("inboxes");
    match loss {
        Loss::Overflow => {
            kill_process(reader.pid(), Signal::STOP).expect("a reader to stop");
            for number in 0..FLOOD {
                let path = directory.join(format!("flood-{number}"));
                File::create(&path).expect("a file");
                fs::remove_file(&path).expect("a file");
            }
        }
        Loss::MadeAgain => {
            fs::remove_dir_all(&directory).expect("a directory");
            swarm_os::create_private_dir(&directory).expect("a directory");
        }
        Loss::Moved => {
            fs::rename(&directory, directory.with_extension("moved")).expect("a directory");
            swarm_os::create_private_dir(&directory).expect("a directory");
        }
        Loss::NoDescriptors | Loss::NoInstances | Loss::NoWatches => {}
    }
}

fn can_limit(limit: &str) -> bool {
    let script = format!("echo 0 > /proc/sys/user/{limit}");
    let tried = Command::new("unshare")
        .args(["--user", "--map-root-user", "sh", "-c", &script])
        .output();
    let can = tried.is_ok_and(|output| output.status.success());
    if !can {
        eprintln!("skipped: no user namespace with a {limit} of its own here");
    }
    can
}

/// The reader: like an idle teammate, it waits for its directory and then reads.
pub(super) fn listen(mut arguments: WorkerArguments) -> Result<()> {
    let me = arguments.member()?;
    let loss = arguments.rest.first().cloned().unwrap_or_default();
    let (store, team) = (
        arguments.ground.store.clone(),
        arguments.ground.team.clone(),
    );
    let mut hogged = Vec::new();
    if loss == format!("{:?}", Loss::NoDescriptors) {
        let few = rustix::process::Rlimit {
            current: Some(64),
            maximum: Some(64),
        };
        rustix::process::setrlimit(rustix::process::Resource::Nofile, few)?;
        while let Ok(one) = File::open("/dev/null") {
            hogged.push(one);
        }
    }
    let watcher = DirectoryWatcher::new();
    let directory = arguments.ground.files().directory().join("inboxes");
    let mut changes = watcher.subscribe(
        &directory,
        NameFilter::Exact(vec![format!("{me}.json").into()]),
    );
    let blind = watcher.is_degraded();
    // All but one are freed: a watcher needs more.
    drop(hogged.drain(..hogged.len().saturating_sub(1)));
    arguments.log.say(if blind {
        "listening blindly"
    } else {
        "listening well"
    })?;
    loop {
        // While the directory is gone there is nothing to read.
        for entry in store
            .team(&team)
            .take_unread(&me)
            .block_on()
            .unwrap_or_default()
        {
            let ids: Vec<_> = entry.msg_id.into_iter().collect();
            drop(store.team(&team).delivered(&me, &ids).block_on());
            // The parent may stop this process on this line, so it must not hold a lock.
            arguments.log.say(&format!("got {}", entry.text))?;
        }
        changes.changed_blocking(FOR_EVER);
    }
}

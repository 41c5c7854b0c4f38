//! A process that is stopped while it holds a lock, and continues after another one has held it.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, SystemTime};

use anyhow::{Result, bail};
use rustix::process::{Signal, kill_process};
use swarm_os::{InheritableLock, LockOptions, LockPlan, OsError, with_lock};

use super::ground::{Locking, TeamFixture};
use super::log::path_of;
use super::worker::{READER, WorkerArguments};
use super::workers::{Programs, Worker};
use crate::wait::wait_for;

/// Timeout of a wait that must fail.
const IN_VAIN: Duration = Duration::from_millis(100);

/// Timeout of a wait that must succeed: longer than a lock takes to become stale.
const AT_LAST: Duration = Duration::from_mins(1);

/// A lock of a team or of its parent directories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lock {
    /// The lock of a mailbox.
    Mailbox,
    /// The lock of the task list.
    Tasks,
    /// The lock of the roster.
    Roster,
    /// The lock for creating and deleting teams.
    Teams,
    /// The lock of a worktree, which is only a flock.
    Worktree,
}

impl Lock {
    /// All locks.
    pub const ALL: [Self; 5] = [
        Self::Mailbox,
        Self::Tasks,
        Self::Roster,
        Self::Teams,
        Self::Worktree,
    ];

    /// Returns the sidecar, the locked file, and a file to write under the lock.
    fn files(self, ground: &TeamFixture) -> [PathBuf; 3] {
        let team = ground.files().directory();
        let tasks = ground.files().tasks_directory();
        let sidecars = team.join("swarm/locks");
        let all = ground.root.join("swarm/locks");
        match self {
            Self::Mailbox => [
                sidecars.join(format!("inbox-{READER}")),
                ground.inbox(READER),
                ground.inbox(READER),
            ],
            Self::Tasks => [
                sidecars.join("tasks"),
                tasks.join(".lock"),
                tasks.join("1.json"),
            ],
            Self::Roster => [
                sidecars.join("config"),
                team.join("config.json"),
                team.join("config.json"),
            ],
            Self::Teams => [all.join("teams"), all.join("teams"), all.join("written")],
            Self::Worktree => {
                let lock = ground.root.join("work.lock");
                [lock.clone(), lock, ground.root.join("written")]
            }
        }
    }

    /// Takes the lock, writes a file under it, and releases it.
    fn write(
        self,
        ground: &TeamFixture,
        options: &LockOptions,
        word: &str,
        meanwhile: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let [sidecar, data, target] = self.files(ground);
        if self == Self::Worktree {
            let _held = InheritableLock::take(&sidecar, options.deadline)?;
            meanwhile()?;
            return Ok(swarm_os::replace_alone(&target, word.as_bytes())?);
        }
        let plan = LockPlan {
            sidecar: &sidecar,
            data: &[data],
        };
        with_lock(&plan, options, |held| {
            meanwhile()?;
            Ok(held.replace(&target, word.as_bytes())?)
        })
    }
}

/// Stops a process that holds the lock, and lets another one try to take it. With an `age`, the
/// lock is made to look that old; without one, the others wait until it is.
///
/// # Panics
/// If the timeout error does not name the holder, or both write.
pub fn stand(programs: &Programs, lock: Lock, locking: Locking, age: Option<Duration>) {
    let ground = TeamFixture::fresh().locking(locking);
    ground.join(READER);
    ground.task("first", &[]);
    let logs = tempfile::tempdir().expect("a directory for logs");
    let holder = stopped(programs, &ground, &logs, lock, locking);
    let options = |deadline| LockOptions {
        deadline,
        directory_only: locking == Locking::DirectoryOnly,
        ..LockOptions::default()
    };
    let what = format!("{lock:?} {locking:?}");

    let vain = lock.write(&ground, &options(IN_VAIN), "early", || Ok(()));
    let told = vain.expect_err("it is held").to_string();
    let pid = holder.pid().as_raw_nonzero();
    let who = format!("process {pid} (works-on-a-team)");
    for part in [
        who.as_str(),
        "which has held the lock for",
        &*ground.root.to_string_lossy(),
    ] {
        assert!(told.contains(part), "{what}: `{part}` is not in: {told}");
    }

    let [_, data, target] = lock.files(&ground);
    let mut directory = data.clone().into_os_string();
    directory.push(".lock");
    if let (Some(age), Ok(opened)) = (age, File::open(&directory)) {
        let then = SystemTime::now() - age;
        opened.set_modified(then).expect("an old lock directory");
    }
    let takes = locking == Locking::DirectoryOnly && lock != Lock::Worktree;
    if takes {
        let entered = lock.write(&ground, &options(AT_LAST), "theirs", || Ok(()));
        entered.unwrap_or_else(|error| panic!("{what}: it was never broken: {error}"));
    } else {
        let vain = lock.write(&ground, &options(IN_VAIN), "theirs", || Ok(()));
        vain.expect_err("a flock cannot be broken");
    }

    kill_process(holder.pid(), Signal::CONT).expect("it can go on");
    let said = wait_for(
        "it says what came of it",
        || format!("{:?}", holder.said()),
        || {
            holder
                .said()
                .into_iter()
                .find(|line| ["wrote", "refused"].contains(&line.word(0)))
        },
    );
    holder.finish();
    let written = fs::read_to_string(&target).expect("what was written");
    if takes {
        assert_eq!(said.word(0), "refused", "{what}: {said:?}");
        let told = said.words.join(" ");
        assert!(told.contains("was broken by another process"), "{told}");
        assert_eq!(written, "theirs", "{what}: the late one wrote all the same");
    } else {
        assert_eq!(
            (said.word(0), &*written),
            ("wrote", "late"),
            "{what}: {said:?}"
        );
    }
    assert!(ground.litter().is_empty(), "{what}: {:?}", ground.litter());
}

/// Starts a worker that stops itself while it holds the lock.
fn stopped(
    programs: &Programs,
    ground: &TeamFixture,
    logs: &tempfile::TempDir,
    lock: Lock,
    locking: Locking,
) -> Worker {
    let mut command = Command::new(&programs.worker);
    let role = match locking {
        Locking::Both => "stands",
        Locking::DirectoryOnly => "stands-by-directory",
    };
    command
        .arg(role)
        .args([&ground.root, &path_of(logs.path(), "stands")])
        .args([READER, &format!("{lock:?}")]);
    let worker = Worker::start(command, logs.path(), "stands");
    let stat = format!("/proc/{}/stat", worker.pid().as_raw_nonzero());
    wait_for(
        "it is stopped with the lock",
        || format!("{:?}", worker.said()),
        || {
            let stat = fs::read_to_string(&stat).unwrap_or_default();
            let (_, behind_name) = stat.rsplit_once(')')?;
            behind_name.trim_start().starts_with('T').then_some(())
        },
    );
    worker
}

/// The part of the process that is stopped.
pub(super) fn stand_still(mut told: WorkerArguments, locking: Locking) -> Result<()> {
    let word = told.rest.first().cloned().unwrap_or_default();
    let Some(lock) = Lock::ALL
        .into_iter()
        .find(|lock| format!("{lock:?}") == word)
    else {
        bail!("no such lock: {word}");
    };
    let options = LockOptions {
        deadline: AT_LAST,
        directory_only: locking == Locking::DirectoryOnly,
        ..LockOptions::default()
    };
    let outcome = lock.write(&told.ground, &options, "late", || {
        Ok(kill_process(rustix::process::getpid(), Signal::STOP)?)
    });
    match outcome {
        Ok(()) => told.log.say("wrote")?,
        Err(error) if error.downcast_ref::<OsError>().is_some() => {
            told.log.say(&format!("refused {error}"))?;
        }
        Err(error) => return Err(error),
    }
    Ok(())
}

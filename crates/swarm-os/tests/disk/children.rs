//! Child processes: this test program again, told by its environment to play one role.

use std::io::{BufRead, BufReader, Lines, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use swarm_os::{LifeHolder, LockGuard, LockOptions, LockPlan, OsError, with_lock};

const ROLE: &str = "SWARM_FS_ROLE";
const DIRECTORY: &str = "SWARM_OS_DIRECTORY";

/// What a test's directory holds: a sidecar and the data file that it guards.
#[derive(Debug, Clone)]
pub(crate) struct Ground {
    pub(crate) directory: PathBuf,
    pub(crate) sidecar: PathBuf,
    pub(crate) data: PathBuf,
    pub(crate) lock_dir: PathBuf,
}

impl Ground {
    pub(crate) fn at(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            sidecar: directory.join("inbox.lk"),
            data: directory.join("inbox.json"),
            lock_dir: directory.join("inbox.json.lock"),
        }
    }

    /// A fresh one, with content `0`.
    pub(crate) fn fresh() -> (tempfile::TempDir, Self) {
        let directory = tempfile::tempdir().unwrap();
        let ground = Self::at(directory.path());
        swarm_os::create_sidecar(&ground.sidecar).unwrap();
        swarm_os::replace_alone(&ground.data, b"0").unwrap();
        (directory, ground)
    }

    pub(crate) fn content(&self) -> String {
        let bytes = swarm_os::read_optional(&self.data).unwrap().unwrap();
        String::from_utf8(bytes).unwrap()
    }

    pub(crate) fn locked<T>(
        &self,
        options: &LockOptions,
        work: impl FnOnce(&LockGuard) -> Result<T, OsError>,
    ) -> Result<T, OsError> {
        let plan = LockPlan {
            sidecar: &self.sidecar,
            data: std::slice::from_ref(&self.data),
        };
        with_lock(&plan, options, work)
    }

    pub(crate) fn within<T>(
        &self,
        deadline: Duration,
        work: impl FnOnce(&LockGuard) -> Result<T, OsError>,
    ) -> Result<T, OsError> {
        self.locked(&waiting(deadline), work)
    }

    /// Read, add one, replace.
    pub(crate) fn increment(&self, options: &LockOptions) -> Result<u64, OsError> {
        self.locked(options, |held| {
            let next = self.content().parse::<u64>().unwrap() + 1;
            held.replace(&self.data, next.to_string().as_bytes())?;
            Ok(next)
        })
    }

    /// The names in the directory that no orderly writer leaves behind.
    pub(crate) fn litter(&self) -> Vec<String> {
        std::fs::read_dir(&self.directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| {
                let path = std::path::Path::new(name);
                path.extension()
                    .is_some_and(|end| end == "lock" || end == "swarm-tmp")
            })
            .collect()
    }
}

pub(crate) fn waiting(deadline: Duration) -> LockOptions {
    LockOptions {
        deadline,
        ..LockOptions::default()
    }
}

pub(crate) fn directory_only() -> LockOptions {
    LockOptions {
        directory_only: true,
        ..LockOptions::default()
    }
}

/// Waits for a condition that nothing announces.
#[track_caller]
pub(crate) fn until(named: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_mins(1), "never: {named}");
        std::thread::yield_now();
    }
}

/// Waits until so many processes or threads are blocked on the flock of a file, as the kernel shows them.
#[track_caller]
pub(crate) fn until_blocked_on(path: &Path, count: usize) {
    let needle = format!(":{} ", std::fs::metadata(path).unwrap().ino());
    until("blocked on flock", || {
        let locks = std::fs::read_to_string("/proc/locks").unwrap();
        let blocked = |line: &&str| line.contains("-> FLOCK") && line.contains(&needle);
        locks.lines().filter(blocked).count() >= count
    });
}

/// Ends the loops that look at it when a test is over, be it by a panic.
#[derive(Debug, Default)]
pub(crate) struct Over(AtomicBool);

/// See [`Over`].
pub(crate) struct OnEnd<'a>(&'a Over);

impl Over {
    pub(crate) fn at_end(&self) -> OnEnd<'_> {
        OnEnd(self)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for OnEnd<'_> {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

/// A running child, killed when dropped.
#[derive(Debug)]
pub(crate) struct Child {
    process: std::process::Child,
    says: Lines<BufReader<ChildStdout>>,
    hears: ChildStdin,
}

/// The command that plays `role` in `directory`, to be wrapped or started.
pub(crate) fn command(role: &str, directory: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--ignored", "--exact", "children::child", "--nocapture"])
        .arg("--test-threads=1")
        .env(ROLE, role)
        .env(DIRECTORY, directory);
    command
}

impl Child {
    pub(crate) fn start(role: &str, directory: &Path) -> Self {
        let mut process = command(role, directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self {
            says: BufReader::new(process.stdout.take().unwrap()).lines(),
            hears: process.stdin.take().unwrap(),
            process,
        }
    }

    /// The next thing that the child says; the test harness around it says things too.
    pub(crate) fn says(&mut self) -> String {
        loop {
            let line = self.says.next().expect("the child ended").unwrap();
            if let Some(word) = line.strip_prefix('@') {
                return word.to_owned();
            }
        }
    }

    pub(crate) fn go_on(&mut self) {
        writeln!(self.hears, "go on").unwrap();
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// SIGKILL, and back only when the kernel is done with it.
    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    pub(crate) fn finish(mut self) {
        while self.says.next().is_some() {}
        assert!(self.process.wait().unwrap().success());
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.process)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

fn say(word: &str) {
    println!("\n@{word}");
}

fn wait_for_word() {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
}

#[expect(clippy::disallowed_methods, reason = "how a parent talks to its child")]
fn told(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

#[test]
#[ignore = "plays a role in the other tests, and nothing by itself"]
fn child() {
    let (Some(role), Some(directory)) = (told(ROLE), told(DIRECTORY)) else {
        return;
    };
    let ground = Ground::at(Path::new(&directory));
    match role.as_str() {
        "increments" => {
            for _ in 0..50 {
                ground.increment(&LockOptions::default()).unwrap();
            }
        }
        "increments by directory" => {
            for _ in 0..20 {
                ground.increment(&directory_only()).unwrap();
            }
        }
        "increments as others do" => {
            for _ in 0..20 {
                until("let in", || std::fs::create_dir(&ground.lock_dir).is_ok());
                let next = ground.content().parse::<u64>().unwrap() + 1;
                swarm_os::replace_alone(&ground.data, next.to_string().as_bytes()).unwrap();
                std::fs::remove_dir(&ground.lock_dir).unwrap();
            }
        }
        "increments until killed" => loop {
            let next = ground.increment(&LockOptions::default()).unwrap();
            say(&next.to_string());
        },
        "increments once" => {
            ground.increment(&LockOptions::default()).unwrap();
            say("acked");
        }
        "increments once, after a run-up" => {
            crate::faults::run_up(&ground.directory);
            ground.increment(&LockOptions::default()).unwrap();
            say("acked");
        }
        "appends" => {
            let line = format!("{}\n", "x".repeat(3000));
            for _ in 0..50 {
                swarm_os::append_durable(&ground.data, line.as_bytes()).unwrap();
            }
        }
        "holds" => hold(&ground, &LockOptions::default()),
        "holds by directory" => hold(&ground, &directory_only()),
        "lives" => {
            let _life = LifeHolder::take(&ground.data, b"child").unwrap();
            say("alive");
            wait_for_word();
        }
        "makes private things" => make_private_things(&ground),
        _ => panic!("no such role: {role}"),
    }
}

/// Holds the lock until told to go on, then writes.
fn hold(ground: &Ground, options: &LockOptions) {
    let written = ground.locked(options, |held| {
        say("held");
        wait_for_word();
        held.replace(&ground.data, b"late")
    });
    say(&format!("{written:?}"));
}

/// Under each umask a directory of its own, so that no other test sees the umask.
fn make_private_things(ground: &Ground) {
    for umask in [0o000, 0o022, 0o277, 0o777] {
        let directory = ground.directory.join(format!("umask-{umask:03o}"));
        rustix::process::umask(rustix::fs::Mode::from_raw_mode(umask));
        swarm_os::create_private_dir(&directory).unwrap();
        swarm_os::ensure_private_dir(&directory.join("a/b")).unwrap();
        swarm_os::create_private_file(&directory.join("file")).unwrap();
        swarm_os::create_sidecar(&directory.join("sidecar")).unwrap();
        swarm_os::replace_alone(&directory.join("replaced"), b"x").unwrap();
        swarm_os::append_durable(&directory.join("appended"), b"x").unwrap();
        LifeHolder::take(&directory.join("life"), b"x").unwrap();
    }
}

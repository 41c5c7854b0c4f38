//! Child processes: this test program, started again in a role that its environment names.

use std::io::{BufRead, BufReader, Lines, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, setrlimit};
use swarm_os::{LifeHolder, LockGuard, LockOptions, LockPlan, OsError, with_lock};

const ROLE: &str = "SWARM_FS_ROLE";
const DIRECTORY: &str = "SWARM_OS_DIRECTORY";

/// The files of a test: a sidecar and the data file that it protects.
#[derive(Debug, Clone)]
pub(crate) struct LockFixture {
    pub(crate) directory: PathBuf,
    pub(crate) sidecar: PathBuf,
    pub(crate) data: PathBuf,
    pub(crate) lock_dir: PathBuf,
}

impl LockFixture {
    pub(crate) fn at(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            sidecar: directory.join("inbox.lk"),
            data: directory.join("inbox.json"),
            lock_dir: directory.join("inbox.json.lock"),
        }
    }

    /// Creates the files in a temporary directory, with the content `0`.
    pub(crate) fn fresh() -> (tempfile::TempDir, Self) {
        let directory = tempfile::tempdir().unwrap();
        let fixture = Self::at(directory.path());
        swarm_os::create_sidecar(&fixture.sidecar).unwrap();
        swarm_os::replace_alone(&fixture.data, b"0").unwrap();
        (directory, fixture)
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

    /// Adds one to the number in the data file.
    pub(crate) fn increment(&self, options: &LockOptions) -> Result<u64, OsError> {
        self.locked(options, |held| {
            let next = self.content().parse::<u64>().unwrap() + 1;
            held.replace(&self.data, next.to_string().as_bytes())?;
            Ok(next)
        })
    }

    /// Returns the lock directories and temporary files that are in the directory.
    pub(crate) fn leftovers(&self) -> Vec<String> {
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

/// Waits for a condition without a notification.
#[track_caller]
pub(crate) fn until(named: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_mins(1), "never: {named}");
        std::thread::yield_now();
    }
}

/// Waits until `count` processes or threads are blocked on the flock of a file (`/proc/locks`).
#[track_caller]
pub(crate) fn until_blocked_on(path: &Path, count: usize) {
    let needle = format!(":{} ", std::fs::metadata(path).unwrap().ino());
    until("blocked on flock", || {
        let locks = std::fs::read_to_string("/proc/locks").unwrap();
        let blocked = |line: &&str| line.contains("-> FLOCK") && line.contains(&needle);
        locks.lines().filter(blocked).count() >= count
    });
}

/// A flag that stops background loops when a test returns or panics.
#[derive(Debug, Default)]
pub(crate) struct StopFlag(AtomicBool);

/// Sets a [`StopFlag`] on drop.
pub(crate) struct StopGuard<'a>(&'a StopFlag);

impl StopFlag {
    pub(crate) fn stop_on_drop(&self) -> StopGuard<'_> {
        StopGuard(self)
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for StopGuard<'_> {
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

/// Returns the command that runs `role` in `directory`.
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

    /// Returns the next message of the child, skipping the output of the test harness.
    pub(crate) fn says(&mut self) -> String {
        loop {
            let line = self.says.next().expect("the child exited").unwrap();
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

    /// Sends SIGKILL and waits for the exit.
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
        // It may have exited already.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

fn say(word: &str) {
    println!("\n@{word}");
}

fn wait_for_input() {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
}

#[expect(
    clippy::disallowed_methods,
    reason = "the parent passes the role in the environment"
)]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

#[test]
#[ignore = "runs as a child process of other tests"]
fn child() {
    let (Some(role), Some(directory)) = (variable(ROLE), variable(DIRECTORY)) else {
        return;
    };
    let fixture = LockFixture::at(Path::new(&directory));
    match role.as_str() {
        "increments" => {
            for _ in 0..50 {
                fixture.increment(&LockOptions::default()).unwrap();
            }
        }
        "increments by directory" => {
            for _ in 0..20 {
                fixture.increment(&directory_only()).unwrap();
            }
        }
        "increments as others do" => {
            for _ in 0..20 {
                until("lock directory created", || {
                    std::fs::create_dir(&fixture.lock_dir).is_ok()
                });
                let next = fixture.content().parse::<u64>().unwrap() + 1;
                swarm_os::replace_alone(&fixture.data, next.to_string().as_bytes()).unwrap();
                std::fs::remove_dir(&fixture.lock_dir).unwrap();
            }
        }
        "increments until killed" => loop {
            let next = fixture.increment(&LockOptions::default()).unwrap();
            say(&next.to_string());
        },
        "increments once" => {
            fixture.increment(&LockOptions::default()).unwrap();
            say("acked");
        }
        "increments once, after a warm-up" => {
            crate::faults::warm_up(&fixture.directory);
            fixture.increment(&LockOptions::default()).unwrap();
            say("acked");
        }
        "appends" => {
            let line = format!("{}\n", "x".repeat(3000));
            for _ in 0..50 {
                swarm_os::append_durable(&fixture.data, line.as_bytes()).unwrap();
            }
        }
        "appends more than a file may hold" => {
            let limit = Rlimit {
                current: Some(10),
                maximum: Some(10),
            };
            setrlimit(Resource::Fsize, limit).unwrap();
            let failed = swarm_os::append_durable(&fixture.data, b"a longer line");
            say(&failed.unwrap_err().to_string());
        }
        "holds" => hold(&fixture, &LockOptions::default()),
        "holds by directory" => hold(&fixture, &directory_only()),
        "lives" => {
            let _life = LifeHolder::take(&fixture.data, b"child").unwrap();
            say("alive");
            wait_for_input();
        }
        "creates private files" => create_private_files(&fixture),
        _ => panic!("unknown role: {role}"),
    }
}

/// Holds the lock until the parent sends a line, then writes.
fn hold(fixture: &LockFixture, options: &LockOptions) {
    let written = fixture.locked(options, |held| {
        say("held");
        wait_for_input();
        held.replace(&fixture.data, b"late")
    });
    say(&format!("{written:?}"));
}

/// Creates files under several umasks. Runs in a child process, because the umask would affect
/// other tests.
fn create_private_files(fixture: &LockFixture) {
    for umask in [0o000, 0o022, 0o277, 0o777] {
        let directory = fixture.directory.join(format!("umask-{umask:03o}"));
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

//! A member's process: this test program again, with its role in the environment.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use rustix::process::{Pid, Signal, kill_process};
use swarm_os::{LockOptions, LockPlan, OsError, with_lock};
use swarm_protocol::{MemberState, ROOT_VARIABLE as ROOT, SpawnId, SystemClock};
use swarm_store::{FileStore, TeamStore};

use crate::{hold_life, report_state, team, team_file};

const NAME: &str = "SWARM_LEAD_TEST_NAME";
const LOCK: &str = "SWARM_LEAD_TEST_LOCK";
const SPAWN: &str = "SWARM_SPAWN_ID";

/// A process that plays a running member until it is terminated.
#[derive(Debug)]
pub struct Child(std::process::Child);

impl Child {
    /// Starts a process that terminates on SIGTERM.
    pub fn start(root: &Path, member: &str, spawn: SpawnId) -> Self {
        Self::start_by(r#"exec "$0" "$@""#, root, member, spawn)
    }

    /// Starts a process that ignores SIGTERM.
    pub fn stubborn(root: &Path, member: &str, spawn: SpawnId) -> Self {
        Self::start_by(r#"trap '' TERM; exec "$0" "$@""#, root, member, spawn)
    }

    /// Starts a process that stops while it works on a file and holds its lock: `inbox` (its own)
    /// or `roster`.
    pub fn frozen_with(lock: &str, root: &Path, member: &str, spawn: SpawnId) -> Self {
        let script = format!(r#"export {LOCK}={lock}; exec "$0" "$@""#);
        let child = Self::start_by(&script, root, member, spawn);
        let pid = Pid::from_child(&child.0);
        kill_process(pid, Signal::STOP).unwrap();
        child
    }

    fn start_by(script: &str, root: &Path, member: &str, spawn: SpawnId) -> Self {
        let mut process = Command::new("sh")
            .arg("-c")
            .arg(script)
            .arg(std::env::current_exe().unwrap())
            .args(["--ignored", "played_member", "--nocapture"])
            .env(ROOT, root)
            .env(NAME, member)
            .env(SPAWN, spawn.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut says = BufReader::new(process.stdout.take().unwrap()).lines();
        let ready = says.find(|line| line.as_ref().is_ok_and(|line| line == "@ready"));
        assert!(ready.is_some(), "the child is running");
        Self(process)
    }

    /// Returns whether it has exited, and reaps it.
    pub fn has_ended(&mut self) -> bool {
        self.0.try_wait().unwrap().is_some()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // It may have exited already.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the parent passes the role in the environment"
)]
fn role_variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Plays a member if a test started this process for that. Each test binary that uses [`Child`] has
/// an ignored test `played_member` that calls this.
pub fn play_child() {
    let (Some(root), Some(member), Some(spawn)) = (
        role_variable(ROOT),
        role_variable(NAME),
        role_variable(SPAWN),
    ) else {
        return;
    };
    let store = FileStore::new((&root).into(), Arc::new(SystemClock));
    let spawn = spawn.parse().unwrap();
    let shared: Arc<dyn TeamStore> = Arc::new(store.clone());
    let _life = hold_life(&shared, &team(), &member, spawn);
    report_state(&shared, &team(), &member, spawn, MemberState::Idle);
    match role_variable(LOCK).as_deref() {
        Some("inbox") => {
            let directory = team_file(Path::new(&root), "swarm/locks");
            let plan = LockPlan {
                sidecar: &directory.join(format!("inbox-{member}")),
                data: &[],
            };
            with_lock::<(), OsError>(&plan, &LockOptions::default(), |_| live_on()).unwrap();
        }
        Some("roster") => {
            store.update_config(&team(), |_| live_on()).unwrap();
        }
        _ => live_on(),
    }
}

/// Reports readiness and waits until it is terminated.
fn live_on() -> ! {
    println!("\n@ready");
    loop {
        std::thread::park();
    }
}

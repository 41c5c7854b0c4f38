//! A member's process: this test program again, told by its environment whom to play.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use rustix::process::{Pid, Signal, kill_process};
use swarm_os::{LockOptions, LockPlan, OsError, with_lock};
use swarm_protocol::{MemberState, ROOT_VARIABLE as ROOT, SpawnId, SystemClock};
use swarm_store::{FileStore, TeamStore as _};

use crate::{hold_life, report_state, team};

const NAME: &str = "SWARM_LEAD_TEST_NAME";
const LOCK: &str = "SWARM_LEAD_TEST_LOCK";
const SPAWN: &str = "SWARM_SPAWN_ID";

/// A process that lives as a member until it is ended.
#[derive(Debug)]
pub struct Child(std::process::Child);

impl Child {
    /// One that ends at SIGTERM.
    pub fn start(root: &Path, member: &str, spawn: SpawnId) -> Self {
        Self::start_by(r#"exec "$0" "$@""#, root, member, spawn)
    }

    /// One that SIGTERM does not end.
    pub fn stubborn(root: &Path, member: &str, spawn: SpawnId) -> Self {
        Self::start_by(r#"trap '' TERM; exec "$0" "$@""#, root, member, spawn)
    }

    /// One that is frozen in the middle of its work on a file, with the lock of it: `inbox` (its own) or `roster`.
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
        assert!(ready.is_some(), "the child lives");
        Self(process)
    }

    /// Whether it has ended by now; collects it then.
    pub fn has_ended(&mut self) -> bool {
        self.0.try_wait().unwrap().is_some()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[expect(clippy::disallowed_methods, reason = "how a parent talks to its child")]
fn told(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Plays a member, if a test has started this process for that. Each test binary that uses [`Child`] has an ignored test
/// `played_member` that calls this.
pub fn play_child() {
    let (Some(root), Some(member), Some(spawn)) = (told(ROOT), told(NAME), told(SPAWN)) else {
        return;
    };
    let store = FileStore::new(root.into(), Arc::new(SystemClock));
    let spawn = spawn.parse().unwrap();
    let _life = hold_life(&store, &team(), &member, spawn);
    report_state(&store, &team(), &member, spawn, MemberState::Idle);
    match told(LOCK).as_deref() {
        Some("inbox") => {
            let directory = store.team(&team()).team_directory();
            let plan = LockPlan {
                sidecar: &directory
                    .join("swarm/locks")
                    .join(format!("inbox-{member}")),
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

/// Says that all is as it should be, and stays until it is ended.
fn live_on() -> ! {
    println!("\n@ready");
    loop {
        std::thread::park();
    }
}

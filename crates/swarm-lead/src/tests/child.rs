//! A member's process: this test program again, told by its environment whom to play.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use swarm_protocol::{MemberState, SpawnId, SystemClock};
use swarm_store::FileStore;

use super::world::{hold_life, report_state, team};

const ROOT: &str = "SWARM_LEAD_TEST_ROOT";
const NAME: &str = "SWARM_LEAD_TEST_NAME";
const SPAWN: &str = "SWARM_SPAWN_ID";

/// A process that lives as a member until it is ended.
#[derive(Debug)]
pub(crate) struct Child(std::process::Child);

impl Child {
    /// One that ends at SIGTERM.
    pub(crate) fn start(root: &Path, member: &str, spawn: SpawnId) -> Self {
        Self::start_by(r#"exec "$0" "$@""#, root, member, spawn)
    }

    /// One that SIGTERM does not end.
    pub(crate) fn stubborn(root: &Path, member: &str, spawn: SpawnId) -> Self {
        Self::start_by(r#"trap '' TERM; exec "$0" "$@""#, root, member, spawn)
    }

    fn start_by(script: &str, root: &Path, member: &str, spawn: SpawnId) -> Self {
        let mut process = Command::new("sh")
            .arg("-c")
            .arg(script)
            .arg(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "tests::child::child", "--nocapture"])
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
    pub(crate) fn has_ended(&mut self) -> bool {
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

#[test]
#[ignore = "plays a member in the other tests, and nothing by itself"]
fn child() {
    let (Some(root), Some(member), Some(spawn)) = (told(ROOT), told(NAME), told(SPAWN)) else {
        return;
    };
    let store = FileStore::new(root.into(), Arc::new(SystemClock));
    let spawn = spawn.parse().unwrap();
    let _life = hold_life(&store, &team(), &member, spawn);
    report_state(&store, &team(), &member, spawn, MemberState::Idle);
    println!("\n@ready");
    loop {
        std::thread::park();
    }
}

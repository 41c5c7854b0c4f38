//! Locks whose holders are killed, frozen, or start other programs.

use std::process::Command;
use std::time::Duration;

use rustix::process::{Signal, kill_process};
use swarm_os::LockOptions;
use swarm_store::{BlockOn as _, Draft, TeamStore as _};
use swarm_tests::faults::ground::{TeamFixture, name};
use swarm_tests::faults::log::path_of;
use swarm_tests::faults::worker::READER;
use swarm_tests::faults::workers::Worker;
use swarm_tests::wait_for;

use super::setting::programs;

/// Far less than any lock takes to grow old, and enough for a busy machine.
const SOON: Duration = Duration::from_secs(10);

/// A worker that holds the lock of the reader's inbox, with a command to run meanwhile or for ever.
fn holder(ground: &TeamFixture, logs: &tempfile::TempDir, command: &[&str]) -> Worker {
    let mut worker = Command::new(programs().worker);
    worker
        .arg("holds")
        .args([&ground.root, &path_of(logs.path(), "holder")])
        .arg(READER)
        .args(command);
    let worker = Worker::start(worker, logs.path(), "holder");
    wait_for(
        "it has the lock",
        || "it has not",
        || {
            worker
                .said()
                .iter()
                .any(|line| line.word(0) == "held")
                .then_some(())
        },
    );
    worker
}

fn send_within(ground: &TeamFixture, deadline: Duration) -> swarm_store::Result<()> {
    let store = ground.store.clone().with_lock_options(LockOptions {
        deadline,
        ..LockOptions::default()
    });
    store
        .team(&ground.team)
        .send(&name(READER), Draft::new("a", "hello"))
        .block_on()
        .map(drop)
}

#[test]
fn d16_the_next_process_gets_the_lock_immediately_when_its_holder_is_killed() {
    let ground = TeamFixture::fresh();
    ground.join(READER);
    let logs = tempfile::tempdir().unwrap();
    for _ in 0..5 {
        let mut holder = holder(&ground, &logs, &[]);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| send_within(&ground, SOON));
            holder.kill();
            waiting.join().unwrap().unwrap();
        });
        std::fs::remove_file(path_of(logs.path(), "holder")).unwrap();
    }
    assert!(ground.litter().is_empty());
}

#[test]
fn d16_a_tmux_server_started_under_a_lock_does_not_keep_it() {
    let ground = TeamFixture::fresh();
    ground.join(READER);
    let logs = tempfile::Builder::new().tempdir_in("/tmp").unwrap();
    let socket = logs.path().join("sock");
    let socket = socket.to_str().unwrap();
    let tmux = ["tmux", "-S", socket, "-f", "/dev/null"];
    let start = [&tmux[..], &["new-session", "-d", "sleep 600"]].concat();
    holder(&ground, &logs, &start).finish();
    let sent = send_within(&ground, SOON);
    let ended = Command::new(tmux[0])
        .args(&tmux[1..])
        .arg("kill-server")
        .status();
    sent.unwrap();
    assert!(ended.unwrap().success(), "the server ran until now");
}

#[test]
fn d16_a_lock_timeout_names_the_path_the_holder_and_how_long_it_has_held_the_lock() {
    let ground = TeamFixture::fresh();
    ground.join(READER);
    let logs = tempfile::tempdir().unwrap();
    let holder = holder(&ground, &logs, &[]);
    kill_process(holder.pid(), Signal::STOP).unwrap();
    let refused = send_within(&ground, Duration::from_millis(100)).unwrap_err();
    let told = refused.to_string();
    let pid = holder.pid().as_raw_nonzero();
    for part in [
        "/swarm/locks/inbox-reader",
        &format!("process {pid} (works-on-a-team)"),
        ", which has held the lock for ",
    ] {
        assert!(told.contains(part), "{told}");
    }
}

#[test]
fn d16_twenty_contenders_all_get_in() {
    let ground = TeamFixture::fresh();
    ground.join(READER);
    std::thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| send_within(&ground, Duration::from_mins(1)).unwrap());
        }
    });
    let inbox = ground
        .store
        .team(&ground.team)
        .inbox(&name(READER))
        .block_on()
        .unwrap();
    assert_eq!(inbox.entries.len(), 20);
}

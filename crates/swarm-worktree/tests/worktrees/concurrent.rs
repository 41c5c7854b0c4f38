//! Concurrent changes of a record by several processes.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use serde_json::Value;
use swarm_os::InheritableLock;
use swarm_worktree::{Created, MergeOutcome, Uncommitted, WorktreeError};

use crate::fixture::{RepositoryFixture, request};

const LONG: std::time::Duration = std::time::Duration::from_mins(1);

fn records(fixture: &RepositoryFixture) -> std::path::PathBuf {
    fixture.repo().join(".git/swarm/worktrees")
}

fn record(fixture: &RepositoryFixture, name: &str) -> Value {
    let bytes = fs::read(records(fixture).join(format!("{name}.json"))).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

/// Adds a notice to a record, as another process that holds its lock.
fn change(fixture: &RepositoryFixture, name: &str) {
    let mut record = record(fixture, name);
    record["notices"]
        .as_array_mut()
        .unwrap()
        .push("by another".into());
    let path = records(fixture).join(format!("{name}.json"));
    fs::write(path, record.to_string()).unwrap();
}

/// Returns whether a thread or process waits for the flock of a file (`/proc/locks`).
pub(crate) fn is_waited_for(path: &Path) -> bool {
    let inode = std::os::unix::fs::MetadataExt::ino(&fs::metadata(path).unwrap());
    let needle = format!(":{inode} ");
    let locks = fs::read_to_string("/proc/locks").unwrap();
    let waits = |line: &str| line.contains("-> FLOCK") && line.contains(&needle);
    locks.lines().any(waits)
}

/// Runs `act` while another process holds a lock, and changes the record of `a` before the lock is
/// released.
fn during_a_change<T: Send>(
    fixture: &RepositoryFixture,
    lock: &Path,
    act: impl FnOnce() -> T + Send,
) -> T {
    thread::scope(|scope| {
        let held = InheritableLock::take(lock, LONG).unwrap();
        let acting = scope.spawn(act);
        while !is_waited_for(lock) {
            assert!(!acting.is_finished(), "it did not wait for the lock");
            thread::yield_now();
        }
        change(fixture, "a");
        drop(held);
        acting.join().unwrap()
    })
}

fn made(fixture: &RepositoryFixture) -> Created {
    fixture.create(&fixture.repo(), "a").unwrap()
}

#[test]
fn changes_of_a_record_keep_concurrent_changes() {
    type Act = fn(&RepositoryFixture, &Created);
    let acts: [(Act, bool); 3] = [
        (
            |fixture, made| fixture.worktrees().rely_on_life_lock(made).unwrap(),
            true,
        ),
        (
            |fixture, made| fixture.worktrees().release(made).unwrap(),
            false,
        ),
        (
            |fixture, made| fixture.worktrees().reacquire(made).unwrap(),
            true,
        ),
    ];
    let fixture = Arc::new(RepositoryFixture::new());
    let made = made(&fixture);
    let lock = records(&fixture).join("a.lock");
    for (number, (act, in_use)) in acts.into_iter().enumerate() {
        during_a_change(&fixture, &lock, || act(&fixture, &made));
        let record = record(&fixture, "a");
        let others = record["notices"].as_array().unwrap().iter();
        assert_eq!(
            others.filter(|notice| **notice == "by another").count(),
            number + 1
        );
        assert_eq!(record["inUse"], in_use, "{record}");
    }
    // The record is also read again when the agent stops: a worktree without changes is removed.
    during_a_change(&fixture, &lock, || {
        let outcome = fixture.worktrees().finish(
            &made.record.path,
            &made.record.former_owner(),
            crate::fixture::NOW,
        );
        assert!(outcome.unwrap().is_some());
    });
    assert!(!made.record.path.exists());
}

/// Creates a worktree `a` based on uncommitted changes, with a commit that can be merged.
fn with_work(fixture: &RepositoryFixture) {
    let repo = fixture.repo();
    fixture.write(&repo, "b.txt", "b\nhalf a thought\n");
    let wanted = request(&repo, "a", Some(Uncommitted::Snapshot));
    let made = fixture.worktrees().create(&wanted).unwrap();
    fixture.worktrees().release(&made).unwrap();
    fixture.write(&made.record.path, "c.txt", "work\n");
    fixture.commit(&made.record.path, "work");
    fixture.git_in(&repo, &["stash", "-q"]);
}

#[test]
fn a_merge_that_waited_for_the_lock_keeps_concurrent_changes_of_the_record() {
    for lock in ["lock", "worktrees/a.lock"] {
        let fixture = RepositoryFixture::new();
        with_work(&fixture);
        let lock = fixture.repo().join(".git/swarm").join(lock);
        let merge = || fixture.merge("a").unwrap();
        let merged = during_a_change(&fixture, &lock, merge);
        assert_eq!(merged.outcome, MergeOutcome::Copied);
        let record = record(&fixture, "a");
        assert_eq!(record["takenAs"], merged.head.as_str(), "{record}");
        let notices = record["notices"].to_string();
        assert!(notices.contains("by another"), "{record}");
    }
}

#[test]
fn a_merge_that_waited_for_the_lock_reads_the_record_again() {
    let fixture = RepositoryFixture::new();
    drop(made(&fixture));
    let repo = fixture.repo();
    let path = records(&fixture).join("a.json");
    let kept = record(&fixture, "a");
    let lock = InheritableLock::take(&repo.join(".git/swarm/merge.lock"), LONG).unwrap();
    let merged = thread::scope(|scope| {
        let merging = scope.spawn(|| fixture.merge("a"));
        while !is_waited_for(&repo.join(".git/swarm/merge.lock")) {
            assert!(!merging.is_finished(), "it did not wait for the lock");
            thread::yield_now();
        }
        fs::remove_file(&path).unwrap();
        drop(lock);
        merging.join().unwrap()
    });
    let error = merged.unwrap_err();
    assert!(
        matches!(error, WorktreeError::NotFound { .. }),
        "{kept}: {error}"
    );
}

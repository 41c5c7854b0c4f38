//! Records that several processes change at the same time.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use serde_json::Value;
use swarm_os::HandedLock;
use swarm_worktree::{Created, MergeOutcome, Uncommitted, WorktreeError};

use crate::scene::{Scene, request, slug};

const LONG: std::time::Duration = std::time::Duration::from_mins(1);

fn records(scene: &Scene) -> std::path::PathBuf {
    scene.repo().join(".git/swarm/worktrees")
}

fn record(scene: &Scene, name: &str) -> Value {
    let bytes = fs::read(records(scene).join(format!("{name}.json"))).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

/// Adds a notice to a record, as another process would that has its lock.
fn change(scene: &Scene, name: &str) {
    let mut record = record(scene, name);
    record["notices"]
        .as_array_mut()
        .unwrap()
        .push("by another".into());
    let path = records(scene).join(format!("{name}.json"));
    fs::write(path, record.to_string()).unwrap();
}

/// Whether another thread or process waits for the flock of a file, as the kernel shows it.
pub(crate) fn is_waited_for(path: &Path) -> bool {
    let inode = std::os::unix::fs::MetadataExt::ino(&fs::metadata(path).unwrap());
    let needle = format!(":{inode} ");
    let locks = fs::read_to_string("/proc/locks").unwrap();
    let waits = |line: &str| line.contains("-> FLOCK") && line.contains(&needle);
    locks.lines().any(waits)
}

/// Does something while somebody else has a lock and changes the record of `a`.
fn amid_a_change<T: Send>(scene: &Scene, lock: &Path, act: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let held = HandedLock::take(lock, LONG).unwrap();
        let acting = scope.spawn(act);
        while !is_waited_for(lock) {
            assert!(!acting.is_finished(), "it did not wait for the lock");
            thread::yield_now();
        }
        change(scene, "a");
        drop(held);
        acting.join().unwrap()
    })
}

fn made(scene: &Scene) -> Created {
    scene.create(&scene.repo(), "a").unwrap()
}

#[test]
fn whoever_changes_a_record_begins_with_what_another_has_just_written() {
    type Act = fn(&Scene, &Created);
    let acts: [(Act, bool); 3] = [
        (|scene, made| scene.worktrees().settle(made).unwrap(), true),
        (
            |scene, made| scene.worktrees().release(made).unwrap(),
            false,
        ),
        (|scene, made| scene.worktrees().hold(made).unwrap(), true),
    ];
    let scene = Arc::new(Scene::new());
    let made = made(&scene);
    let lock = records(&scene).join("a.lock");
    for (number, (act, in_use)) in acts.into_iter().enumerate() {
        amid_a_change(&scene, &lock, || act(&scene, &made));
        let record = record(&scene, "a");
        let others = record["notices"].as_array().unwrap().iter();
        assert_eq!(
            others.filter(|notice| **notice == "by another").count(),
            number + 1
        );
        assert_eq!(record["inUse"], in_use, "{record}");
    }
    // At its end it is looked at anew, too: a worktree in which there is nothing goes.
    amid_a_change(&scene, &lock, || {
        let outcome =
            scene
                .worktrees()
                .part(&made.record.path, &made.record.leaver(), crate::scene::NOW);
        assert!(outcome.unwrap().is_some());
    });
    assert!(!made.record.path.exists());
}

/// A worktree `a` that began at uncommitted changes and has work of its own, which can be merged.
fn with_work(scene: &Scene) {
    let repo = scene.repo();
    scene.write(&repo, "b.txt", "b\nhalf a thought\n");
    let wanted = request(&repo, "a", Some(Uncommitted::Snapshot));
    let made = scene.worktrees().create(&wanted).unwrap();
    scene.worktrees().release(&made).unwrap();
    scene.write(&made.record.path, "c.txt", "work\n");
    scene.commit(&made.record.path, "work");
    scene.git_in(&repo, &["stash", "-q"]);
}

#[test]
fn a_merge_that_has_waited_writes_no_old_copy_of_the_record() {
    for lock in ["lock", "worktrees/a.lock"] {
        let scene = Scene::new();
        with_work(&scene);
        let lock = scene.repo().join(".git/swarm").join(lock);
        let merge = || scene.worktrees().merge(&scene.repo(), &slug("a")).unwrap();
        let merged = amid_a_change(&scene, &lock, merge);
        assert_eq!(merged.outcome, MergeOutcome::Copied);
        let record = record(&scene, "a");
        assert_eq!(record["takenAs"], merged.head.as_str(), "{record}");
        let notices = record["notices"].to_string();
        assert!(notices.contains("by another"), "{record}");
    }
}

#[test]
fn a_merge_that_has_waited_goes_by_the_record_as_it_is_by_then() {
    let scene = Scene::new();
    drop(made(&scene));
    let repo = scene.repo();
    let path = records(&scene).join("a.json");
    let kept = record(&scene, "a");
    let lock = HandedLock::take(&repo.join(".git/swarm/lock"), LONG).unwrap();
    let merged = thread::scope(|scope| {
        let merging = scope.spawn(|| scene.worktrees().merge(&repo, &slug("a")));
        while !is_waited_for(&repo.join(".git/swarm/lock")) {
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

//! Large values and published branches.

use std::time::Duration;

use swarm_protocol::{BlobRef, ErrorKind, PublishedBranch, UnixMs};
use swarm_store::{BlockOn as _, StoreError, StoreLimits};

use crate::values::{name, team};
use crate::world::World;

/// Content of several parts, each of them different.
fn content(parts: usize) -> Vec<u8> {
    (0..=parts * (256 << 10))
        .map(|at| u8::try_from(at / 1000 % 251).unwrap())
        .collect()
}

fn stored(world: &World, blob: &BlobRef) -> Option<Vec<u8>> {
    world.handle().blob(blob).block_on().unwrap()
}

pub(crate) fn publish(
    world: &World,
    member: &str,
    commit: &str,
    bundle: Option<BlobRef>,
) -> PublishedBranch {
    let branch = PublishedBranch {
        member: name(member),
        worktree: member.to_owned(),
        host: "there".to_owned(),
        path: "/work/tree".into(),
        branch: format!("worktree-{member}"),
        commit: commit.to_owned(),
        base: "base".to_owned(),
        snapshot: None,
        target: Some("main".to_owned()),
        uncommitted: Vec::new(),
        bundle,
        merged: None,
        published_at: UnixMs(1),
    };
    world.handle().publish_branch(&branch).block_on().unwrap();
    branch
}

pub(crate) fn a_large_value_is_complete_until_it_is_deleted(world: &World) {
    let team = world.handle();
    for content in [Vec::new(), b"small".to_vec(), content(3)] {
        let blob = team.put_blob(content.clone()).block_on().unwrap();
        assert_eq!(blob.bytes, content.len() as u64);
        let other = team.put_blob(content.clone()).block_on().unwrap();
        assert_ne!(blob.id, other.id);
        assert!(stored(world, &blob) == Some(content.clone()));
        team.delete_blob(&blob).block_on().unwrap();
        team.delete_blob(&blob).block_on().unwrap();
        // Without content there is nothing to delete.
        assert!(content.is_empty() || stored(world, &blob).is_none());
        assert!(stored(world, &other) == Some(content));
    }
}

pub(crate) fn a_large_value_that_no_branch_names_is_removed_when_it_is_old(world: &World) {
    // Values in files are used on one machine, by one process.
    if world.handle().orders().is_none() {
        return;
    }
    let team = world.handle();
    let [unnamed, named] = [(); 2].map(|()| team.put_blob(content(1)).block_on().unwrap());
    publish(world, "bob", "1", Some(named));
    assert!(stored(world, &unnamed).is_some(), "it is not old");
    let limited = world.limit(StoreLimits {
        keep_unnamed_blobs: Duration::ZERO,
        ..StoreLimits::default()
    });
    let new = limited.put_blob(content(1)).block_on().unwrap();
    assert!(stored(world, &unnamed).is_none());
    assert!(stored(world, &named).is_some() && stored(world, &new).is_some());
}

pub(crate) fn a_value_above_the_limit_or_without_a_team_is_refused(world: &World) {
    let limited = world.limit(StoreLimits {
        max_blob_bytes: 1_000_000,
        ..StoreLimits::default()
    });
    let refused = limited.put_blob(vec![0; 1_000_001]).block_on().unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Refused);
    assert_eq!(
        refused.to_string(),
        "2 MB are too much for one transfer: the limit is 1 MB"
    );
    limited.put_blob(vec![0; 1_000_000]).block_on().unwrap();
    let absent = world.store.team(&team("absent"));
    let refused = absent.put_blob(vec![0]).block_on().unwrap_err();
    assert!(
        matches!(
            refused,
            StoreError::TeamNotFound { .. } | StoreError::NotOnHub { .. }
        ),
        "{refused}"
    );
}

pub(crate) fn past_its_deadline_a_large_value_has_left_nothing(world: &World) {
    let before = world.content();
    let team = world.handle();
    let team = team.with_lock_timeout(Duration::from_millis(30));
    let held = world.hold();
    let refused = team.put_blob(content(2)).block_on().unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::TimedOut, "{refused}");
    drop(held);
    assert_eq!(world.content(), before);
}

pub(crate) fn of_two_published_branches_the_newest_wins_and_the_other_bundle_is_gone(
    world: &World,
) {
    let team = world.handle();
    assert_eq!(team.published_branches().block_on().unwrap(), []);
    let publish = |member, commit, bundle| publish(world, member, commit, bundle);
    let put = || team.put_blob(content(1)).block_on().unwrap();
    let (first, second) = (put(), put());
    publish("bob", "1", Some(first));
    let alice = publish("alice", "2", None);
    publish("bob", "3", Some(second));
    assert!(stored(world, &first).is_none());
    // Published again with the same bundle, for example with other uncommitted changes.
    let bob = publish("bob", "3", Some(second));
    assert!(stored(world, &second).is_some());
    let published = team.published_branches().block_on().unwrap();
    assert_eq!(published, [alice, bob], "by member");
}

pub(crate) fn what_was_merged_stays_noted_when_a_branch_is_published_again(world: &World) {
    let team = world.handle();
    let note = |member: &str| team.note_merged(&name(member), "1").block_on().unwrap();
    note("bob");
    assert_eq!(team.published_branches().block_on().unwrap(), []);
    publish(world, "bob", "1", None);
    publish(world, "alice", "2", None);
    note("bob");
    note("bob");
    let bob = publish(world, "bob", "3", None);
    let late = PublishedBranch {
        merged: Some("0".to_owned()),
        ..bob
    };
    team.publish_branch(&late).block_on().unwrap();
    let published = team.published_branches().block_on().unwrap();
    let merged = published.iter().map(|branch| branch.merged.as_deref());
    assert_eq!(merged.collect::<Vec<_>>(), [None, Some("1")], "by member");
}

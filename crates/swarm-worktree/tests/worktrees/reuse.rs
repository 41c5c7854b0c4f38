//! A worktree that was taken up by somebody else is no longer that of whoever had it before.

use std::path::Path;

use swarm_protocol::{MemberName, SpawnId};
use swarm_worktree::{
    Created, Hazard, Occupant, Occupants, ProcessMark, Record, Request, WorktreeError,
    WorktreeOutcome,
};

use crate::scene::{NOW, Scene, request, slug};

/// Somebody who works in a directory according to records alone.
fn working(pid: u32, cwd: &Path) -> Occupants {
    let occupant = Occupant {
        who: "the lead of other".to_owned(),
        pid,
        cwd: cwd.to_owned(),
    };
    Occupants::found_by(move || vec![occupant.clone()])
}

#[test]
fn a_worktree_in_which_a_lead_works_on_record_is_neither_removed_nor_taken_up() {
    let scene = Scene::new();
    let tree = scene.left("one");
    scene.worktrees().release(&tree).unwrap();
    let inside = tree.record.path.join("src");
    let worktrees = scene.worktrees().with_occupants(working(1, &inside));
    let used = "the lead of other (process 1)".to_owned();
    let refused = worktrees.remove(&scene.repo(), &slug("one"), false, NOW);
    let Err(WorktreeError::Unsafe { hazards, .. }) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(hazards, [Hazard::InUse(used.clone())]);
    let pruned = worktrees.prune(&scene.repo(), false, NOW).unwrap();
    assert_eq!((pruned.gone.len(), pruned.kept.len()), (0, 1));
    let taken = worktrees.create(&request(&scene.repo(), "one", None));
    assert!(matches!(taken, Err(WorktreeError::Taken { by, .. }) if by == used));
    // Neither does one that works elsewhere keep it, nor whoever removes it.
    for (pid, cwd) in [(1, scene.repo()), (std::process::id(), inside)] {
        let worktrees = scene.worktrees().with_occupants(working(pid, &cwd));
        let pruned = worktrees.prune(&scene.repo(), true, NOW).unwrap();
        assert_eq!((pruned.gone.len(), pruned.kept.len()), (1, 0));
    }
}

#[test]
fn a_worktree_is_taken_over_from_a_holder_that_has_ended_whoever_else_works_there() {
    let scene = Scene::new();
    let lost = of(&scene, "alice", ended());
    let worktrees = scene
        .worktrees()
        .with_occupants(working(1, &lost.record.path));
    let taken = worktrees.create(&request(&scene.repo(), "one", None));
    assert!(
        matches!(taken, Err(WorktreeError::Taken { .. })),
        "{taken:?}"
    );
    let own = crate::scene::this_process();
    let now = worktrees.take_over(&lost.record, own.clone()).unwrap();
    assert_eq!(
        (now.fresh, &now.record.process),
        (false, &Some(own.clone()))
    );
    assert_eq!(record(&scene), now.record);
    let again = worktrees.take_over(&lost.record, own);
    assert!(
        matches!(again, Err(WorktreeError::Taken { .. })),
        "{again:?}"
    );
}

/// A process that has ended.
fn ended() -> ProcessMark {
    ProcessMark {
        pid: std::process::id(),
        start: "0".to_owned(),
    }
}

/// The worktree `one` for a member of this name, in a spawn of its own.
fn of(scene: &Scene, member: &str, process: ProcessMark) -> Created {
    let asked = request(&scene.repo(), "one", None);
    let mut owner = asked.owner;
    owner.member = Some(MemberName::parse(member).unwrap());
    owner.spawn_id = Some(SpawnId::random());
    let asked = Request {
        owner,
        process,
        ..asked
    };
    scene.worktrees().create(&asked).unwrap()
}

fn record(scene: &Scene) -> Record {
    let listed = scene.worktrees().list(&scene.repo()).unwrap().0;
    listed[0].record.clone()
}

fn part(scene: &Scene, whose: &Created) -> Option<WorktreeOutcome> {
    let (path, leaver) = (&whose.record.path, whose.record.leaver());
    scene.worktrees().part(path, &leaver, NOW).unwrap()
}

#[test]
fn the_end_of_one_member_does_not_touch_what_another_has_taken_up() {
    let scene = Scene::new();
    let before = of(&scene, "alice", ended());
    let now = of(&scene, "bob", crate::scene::this_process());
    assert!(!now.fresh);
    assert_eq!(part(&scene, &before), None);
    scene.worktrees().release(&before).unwrap();
    scene.worktrees().settle(&before).unwrap();
    scene.worktrees().undo(&before).unwrap();
    scene.worktrees().hold(&before).unwrap();
    assert_eq!(record(&scene), now.record);
    assert!(now.record.path.is_dir());
    // Nor once the other is done with it: it may want to come back.
    scene.worktrees().release(&now).unwrap();
    assert_eq!(part(&scene, &before), None);
    assert!(matches!(
        part(&scene, &now),
        Some(WorktreeOutcome::Removed(_))
    ));
}

#[test]
fn the_end_of_one_spawn_does_not_touch_what_the_next_one_works_in() {
    let scene = Scene::new();
    let before = of(&scene, "alice", ended());
    let now = of(&scene, "alice", crate::scene::this_process());
    let Some(WorktreeOutcome::Kept { why, .. }) = part(&scene, &before) else {
        panic!("it is in use");
    };
    assert!(
        why.iter().any(|why| matches!(why, Hazard::InUse(_))),
        "{why:?}"
    );
    scene.worktrees().release(&before).unwrap();
    scene.worktrees().undo(&before).unwrap();
    assert_eq!(record(&scene), now.record);
    // The next one came to nothing: what is left is the first one's again.
    scene.worktrees().undo(&now).unwrap();
    assert!(matches!(
        part(&scene, &before),
        Some(WorktreeOutcome::Removed(_))
    ));
}

#[test]
fn one_process_does_not_give_back_what_another_has_taken_up() {
    let scene = Scene::new();
    let enter = |process| {
        let asked = request(&scene.repo(), "one", None);
        let owner = swarm_worktree::Owner::default();
        let asked = Request {
            owner,
            process,
            ..asked
        };
        scene.worktrees().create(&asked).unwrap()
    };
    let before = enter(ended());
    let now = enter(crate::scene::this_process());
    scene.worktrees().release(&before).unwrap();
    assert!(matches!(
        part(&scene, &before),
        Some(WorktreeOutcome::Kept { .. })
    ));
    assert_eq!(record(&scene), now.record);
    scene.worktrees().release(&now).unwrap();
    assert!(!record(&scene).in_use);
}

#[test]
fn who_works_on_in_what_was_handed_back_and_on_is_its_owner_again() {
    let scene = Scene::new();
    let first = of(&scene, "alice", crate::scene::this_process());
    scene.worktrees().release(&first).unwrap();
    let other = of(&scene, "bob", crate::scene::this_process());
    scene.worktrees().release(&other).unwrap();
    scene.worktrees().hold(&first).unwrap();
    assert_eq!(record(&scene), first.record);
    let path: &Path = &first.record.path;
    let removed = scene
        .worktrees()
        .remove(&scene.repo(), &slug("one"), true, NOW);
    assert!(removed.is_err() && path.is_dir());
}

//! Reuse of a worktree by another owner: the former owner cannot change it any more.

use std::path::Path;
use std::sync::Arc;

use swarm_protocol::{AgentId, MemberName, SpawnId};
use swarm_worktree::{
    Created, Hazard, Occupant, Occupants, ProcessMark, Record, Request, WorktreeError,
    WorktreeOutcome,
};

use crate::fixture::{NOW, RepositoryFixture, request, slug};

/// An occupant of a directory that is known from records only.
fn working(pid: u32, cwd: &Path) -> Arc<dyn Occupants> {
    Arc::new(Working(Occupant {
        who: "the lead of other".to_owned(),
        pid,
        cwd: cwd.to_owned(),
    }))
}

struct Working(Occupant);

impl Occupants for Working {
    fn here(&self) -> Vec<Occupant> {
        vec![self.0.clone()]
    }

    fn is_running(&self, _: &AgentId, _: Option<SpawnId>) -> Result<bool, String> {
        Ok(false)
    }
}

#[test]
fn a_worktree_with_a_recorded_lead_is_neither_removed_nor_reused() {
    let fixture = RepositoryFixture::new();
    let tree = fixture.left("one");
    fixture.worktrees().release(&tree).unwrap();
    let inside = tree.record.path.join("src");
    let worktrees = fixture.worktrees().with_occupants(working(1, &inside));
    let used = "the lead of other (process 1)".to_owned();
    let refused = worktrees.remove(&fixture.repo(), &slug("one"), false, NOW);
    let Err(WorktreeError::Unsafe { hazards, .. }) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(hazards, [Hazard::InUse(used.clone())]);
    let pruned = worktrees.prune(&fixture.repo(), false, NOW).unwrap();
    assert_eq!((pruned.gone.len(), pruned.kept.len()), (0, 1));
    let taken = worktrees.create(&request(&fixture.repo(), "one", None));
    assert!(matches!(taken, Err(WorktreeError::Taken { by, .. }) if by == used));
    // An occupant elsewhere and the removing process itself do not block the removal.
    for (pid, cwd) in [(1, fixture.repo()), (std::process::id(), inside)] {
        let worktrees = fixture.worktrees().with_occupants(working(pid, &cwd));
        let pruned = worktrees.prune(&fixture.repo(), true, NOW).unwrap();
        assert_eq!((pruned.gone.len(), pruned.kept.len()), (1, 0));
    }
}

#[test]
fn a_worktree_of_a_dead_process_can_be_taken_over_despite_other_occupants() {
    let fixture = RepositoryFixture::new();
    let lost = of(&fixture, "alice", ended());
    let worktrees = fixture
        .worktrees()
        .with_occupants(working(1, &lost.record.path));
    let taken = worktrees.create(&request(&fixture.repo(), "one", None));
    assert!(
        matches!(taken, Err(WorktreeError::Taken { .. })),
        "{taken:?}"
    );
    let own = crate::fixture::this_process();
    let now = worktrees.take_over(&lost.record, own.clone()).unwrap();
    assert_eq!(
        (now.fresh, &now.record.process),
        (false, &Some(own.clone()))
    );
    assert_eq!(record(&fixture), now.record);
    let again = worktrees.take_over(&lost.record, own);
    assert!(
        matches!(again, Err(WorktreeError::Taken { .. })),
        "{again:?}"
    );
}

/// A process that has exited.
fn ended() -> ProcessMark {
    ProcessMark {
        pid: std::process::id(),
        start: "0".to_owned(),
    }
}

/// Creates the worktree `one` for a new spawn of a member.
fn of(fixture: &RepositoryFixture, member: &str, process: ProcessMark) -> Created {
    let asked = request(&fixture.repo(), "one", None);
    let mut owner = asked.owner;
    owner.member = Some(MemberName::parse(member).unwrap());
    owner.spawn_id = Some(SpawnId::random());
    let asked = Request {
        owner,
        process,
        ..asked
    };
    fixture.worktrees().create(&asked).unwrap()
}

fn record(fixture: &RepositoryFixture) -> Record {
    let listed = fixture.worktrees().list(&fixture.repo()).unwrap().0;
    listed[0].record.clone()
}

fn finish(fixture: &RepositoryFixture, whose: &Created) -> Option<WorktreeOutcome> {
    let (path, former_owner) = (&whose.record.path, whose.record.former_owner());
    fixture
        .worktrees()
        .finish(path, &former_owner, NOW)
        .unwrap()
}

#[test]
fn a_former_member_does_not_change_a_worktree_reused_by_another_member() {
    let fixture = RepositoryFixture::new();
    let before = of(&fixture, "alice", ended());
    let now = of(&fixture, "bob", crate::fixture::this_process());
    assert!(!now.fresh);
    assert_eq!(finish(&fixture, &before), None);
    fixture.worktrees().release(&before).unwrap();
    fixture.worktrees().rely_on_life_lock(&before).unwrap();
    fixture.worktrees().undo(&before).unwrap();
    fixture.worktrees().reacquire(&before).unwrap();
    assert_eq!(record(&fixture), now.record);
    assert!(now.record.path.is_dir());
    // Not even after the other has released it: it may return.
    fixture.worktrees().release(&now).unwrap();
    assert_eq!(finish(&fixture, &before), None);
    assert!(matches!(
        finish(&fixture, &now),
        Some(WorktreeOutcome::Removed(_))
    ));
}

#[test]
fn a_former_spawn_does_not_change_a_worktree_used_by_the_next_spawn() {
    let fixture = RepositoryFixture::new();
    let before = of(&fixture, "alice", ended());
    let now = of(&fixture, "alice", crate::fixture::this_process());
    let Some(WorktreeOutcome::Kept { why, .. }) = finish(&fixture, &before) else {
        panic!("it is in use");
    };
    assert!(
        why.iter().any(|why| matches!(why, Hazard::InUse(_))),
        "{why:?}"
    );
    fixture.worktrees().release(&before).unwrap();
    fixture.worktrees().undo(&before).unwrap();
    assert_eq!(record(&fixture), now.record);
    // The next spawn failed: the worktree belongs to the first one again.
    fixture.worktrees().undo(&now).unwrap();
    assert!(matches!(
        finish(&fixture, &before),
        Some(WorktreeOutcome::Removed(_))
    ));
}

#[test]
fn a_process_does_not_release_a_worktree_reused_by_another_process() {
    let fixture = RepositoryFixture::new();
    let enter = |process| {
        let asked = request(&fixture.repo(), "one", None);
        let owner = swarm_worktree::Owner::default();
        let asked = Request {
            owner,
            process,
            ..asked
        };
        fixture.worktrees().create(&asked).unwrap()
    };
    let before = enter(ended());
    let now = enter(crate::fixture::this_process());
    fixture.worktrees().release(&before).unwrap();
    assert!(matches!(
        finish(&fixture, &before),
        Some(WorktreeOutcome::Kept { .. })
    ));
    assert_eq!(record(&fixture), now.record);
    fixture.worktrees().release(&now).unwrap();
    assert!(!record(&fixture).in_use);
}

#[test]
fn an_agent_that_continues_in_a_released_worktree_becomes_its_owner_again() {
    let fixture = RepositoryFixture::new();
    let first = of(&fixture, "alice", crate::fixture::this_process());
    fixture.worktrees().release(&first).unwrap();
    let other = of(&fixture, "bob", crate::fixture::this_process());
    fixture.worktrees().release(&other).unwrap();
    fixture.worktrees().reacquire(&first).unwrap();
    assert_eq!(record(&fixture), first.record);
    let path: &Path = &first.record.path;
    let removed = fixture.remove("one", true);
    assert!(removed.is_err() && path.is_dir());
}

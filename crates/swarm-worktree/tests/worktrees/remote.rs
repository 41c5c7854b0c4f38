//! Work of members on other machines: a clone with worktrees of its own, whose work is fetched.

use std::fs;
use std::path::{Path, PathBuf};

use swarm_protocol::{ErrorKind, PublishedBranch, TeamName};
use swarm_worktree::{
    Condition, ExportedTarget, MergeOutcome, OutgoingWork, Record, Uncommitted, Wanted,
    WorktreeError,
};

use crate::fixture::{NOW, RepositoryFixture, request, slug};

const LIMIT: u64 = 1 << 20;

/// The lead's repository, and a clone of it on another machine.
struct Machines {
    fixture: RepositoryFixture,
    there: PathBuf,
}

impl Machines {
    fn new() -> Self {
        let fixture = RepositoryFixture::new();
        let there = fixture.path("there");
        fixture.git_in(&fixture.path(""), &["clone", "-q", "repo", "there"]);
        Self { fixture, there }
    }

    /// Creates a worktree there with a commit.
    fn work(&self, name: &str, file: &str, text: &str) -> PathBuf {
        let created = self.fixture.create(&self.there, name).unwrap();
        self.fixture.write(&created.record.path, file, text);
        self.fixture.commit(&created.record.path, name);
        created.record.path
    }

    fn outgoing(&self, tree: &Path) -> OutgoingWork {
        self.fixture.worktrees().outgoing(tree).unwrap().unwrap()
    }

    fn bundle(&self, work: &OutgoingWork) -> Vec<u8> {
        self.fixture.worktrees().bundle(work, LIMIT).unwrap()
    }

    fn fetch(&self, branch: &PublishedBranch, bundle: &[u8]) -> Result<Record, WorktreeError> {
        self.fixture
            .worktrees()
            .fetch(&self.fixture.repo(), &team(), branch, Some(bundle))
    }

    fn publish(&self, tree: &Path) -> Record {
        let work = self.outgoing(tree);
        let bundle = self.bundle(&work);
        self.fetch(&published(&work), &bundle).unwrap()
    }

    /// Refs and packs of the lead's repository.
    fn state(&self) -> (String, String) {
        let repo = self.fixture.repo();
        (
            self.fixture.git_in(&repo, &["for-each-ref"]),
            self.fixture.git_in(&repo, &["count-objects", "-v"]),
        )
    }
}

fn team() -> TeamName {
    TeamName::parse("demo").unwrap()
}

fn published(work: &OutgoingWork) -> PublishedBranch {
    let record = &work.record;
    PublishedBranch {
        member: record.owner.member.clone().unwrap(),
        worktree: record.slug.to_string(),
        host: "there".to_owned(),
        path: record.path.clone(),
        branch: record.branch.clone(),
        commit: work.commit.clone(),
        base: work.base().to_owned(),
        snapshot: record
            .base
            .snapshot_of
            .as_ref()
            .map(|_| record.base.sha.clone()),
        target: record.target.clone(),
        uncommitted: work.uncommitted.clone(),
        bundle: None,
        merged: None,
        published_at: NOW,
    }
}

#[test]
fn work_of_another_machine_is_listed_diffed_and_merged_like_that_of_this_one() {
    let machines = Machines::new();
    let (fixture, repo) = (&machines.fixture, machines.fixture.repo());
    let tree = machines.work("alice", "new.txt", "new\n");
    fixture.write(&tree, "draft.txt", "not yet\n");
    let branches = fixture.branches(&repo);
    let record = machines.publish(&tree);
    assert_eq!(fixture.branches(&repo), branches, "no branch was added");

    let listed = fixture.worktrees().list(&repo).unwrap().0;
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].condition, Condition::Work);
    assert_eq!(
        listed[0].record.location(),
        format!("there:{}", tree.display())
    );
    let hazards: Vec<_> = listed[0].hazards.iter().map(ToString::to_string).collect();
    let wanted = [
        "1 commit is neither merged nor pushed",
        "uncommitted changes of draft.txt",
    ];
    assert_eq!(hazards, wanted);
    let diff = fixture.worktrees().diff(&repo, &slug("alice")).unwrap();
    assert!(
        diff.diff.contains("+new\n") && !diff.diff.contains("not yet"),
        "{}",
        diff.diff
    );

    let merged = fixture.merge("alice").unwrap();
    assert_eq!(
        (merged.outcome, &merged.branch),
        (MergeOutcome::FastForward, &record.branch)
    );
    assert_eq!(fs::read_to_string(repo.join("new.txt")).unwrap(), "new\n");

    fixture.commit_file(&repo, "mine.txt", "mine\n", "mine");
    fixture.commit(&tree, "the draft");
    machines.publish(&tree);
    let merged = fixture.merge("alice").unwrap();
    assert_eq!(merged.outcome, MergeOutcome::MergeCommit);
    assert!(repo.join("draft.txt").exists() && repo.join("mine.txt").exists());
    assert_eq!(fixture.status(&repo), "");

    let pruned = fixture.prune(false);
    assert_eq!((pruned.gone.len(), pruned.failed.len()), (1, 0));
    assert!(tree.is_dir(), "nothing changes there");
    assert_eq!(fixture.git_in(&repo, &["for-each-ref", "refs/swarm"]), "");
    assert!(fixture.worktrees().list(&repo).unwrap().0.is_empty());
}

#[test]
fn a_bundle_that_is_not_what_was_announced_changes_nothing() {
    let machines = Machines::new();
    let fixture = &machines.fixture;
    let tree = machines.work("alice", "new.txt", "new\n");
    let work = machines.outgoing(&tree);
    let (good, bundle) = (published(&work), machines.bundle(&work));
    let other = fixture.init("other");
    let unrelated = fixture.git_in(&other, &["commit-tree", "HEAD^{tree}", "-m", "root"]);
    let raw = |at: &Path, revisions: &[&str]| {
        let file = fixture.path("raw");
        let mut words = vec!["bundle", "create", "-q", file.to_str().unwrap()];
        words.extend(revisions);
        fixture.git_in(at, &words);
        fs::read(file).unwrap()
    };
    fixture.git_in(&other, &["branch", "-f", "unrelated", &unrelated]);
    fixture.git_in(&machines.there, &["branch", "second", "worktree-alice"]);
    let two = raw(&machines.there, &["worktree-alice", "second", "^main"]);
    let stranger = raw(&other, &["unrelated"]);
    let mut damaged = bundle.clone();
    *damaged.last_mut().unwrap() ^= 1;
    let truncated = &bundle[..bundle.len() - 30];
    let is = |change: &dyn Fn(&mut PublishedBranch)| {
        let mut branch = good.clone();
        change(&mut branch);
        branch
    };
    let of_stranger = is(&|branch| branch.commit.clone_from(&unrelated));
    let before = machines.state();
    for (what, branch, bundle, said) in [
        (
            "other refs",
            good.clone(),
            &two[..],
            "contains other commits",
        ),
        (
            "another commit",
            good.clone(),
            &stranger,
            "contains other commits",
        ),
        ("an unrelated root", of_stranger, &stranger, "not based on"),
        ("truncated", good.clone(), truncated, "is damaged"),
        ("a changed byte", good.clone(), &damaged, "is damaged"),
        ("no bundle", good.clone(), b"hello", "not a git bundle"),
        ("nothing", good.clone(), b"", "not a git bundle"),
        (
            "an option",
            is(&|branch| branch.base = "--all".to_owned()),
            &bundle,
            "invalid",
        ),
        (
            "a branch",
            is(&|branch| branch.commit = "main".to_owned()),
            &bundle,
            "invalid",
        ),
        (
            "a path",
            is(&|branch| branch.worktree = "../a".to_owned()),
            &bundle,
            "invalid",
        ),
        (
            "an unknown base",
            is(&|branch| branch.base = "1".repeat(40)),
            &bundle,
            "lacks the commit",
        ),
    ] {
        let refused = machines.fetch(&branch, bundle).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Refused, "{what}: {refused}");
        assert!(refused.to_string().contains(said), "{what}: {refused}");
        let unmerged = fixture.worktrees().list(&fixture.repo()).unwrap().0;
        assert!(unmerged.is_empty(), "{what}");
        assert_eq!(machines.state(), before, "{what}");
    }
    machines.fetch(&good, &bundle).unwrap();
    // Known commits need no bundle.
    let (worktrees, repo) = (fixture.worktrees(), fixture.repo());
    let wanted = || worktrees.wants(&repo, &team(), &good).unwrap();
    assert_eq!(wanted(), Wanted::Record);
    worktrees.fetch(&repo, &team(), &good, None).unwrap();
    worktrees.merge(&repo, &slug("alice")).unwrap();
    assert_eq!(wanted(), Wanted::Record);
    worktrees.prune(&repo, false, NOW).unwrap();
    assert_eq!(wanted(), Wanted::Nothing, "merged and forgotten");
    assert_eq!(
        worktrees.wants(&machines.there, &team(), &good).unwrap(),
        Wanted::Nothing
    );
}

#[test]
fn commits_above_the_limit_are_not_sent() {
    let machines = Machines::new();
    let tree = machines.work("alice", "new.txt", "new\n");
    let work = machines.outgoing(&tree);
    let refused = machines.fixture.worktrees().bundle(&work, 100).unwrap_err();
    assert!(
        matches!(refused, WorktreeError::BundleTooLarge { .. }),
        "{refused}"
    );
    let left = machines
        .fixture
        .git_in(&machines.there, &["for-each-ref", "refs/swarm"]);
    assert_eq!(left, "");
}

#[test]
fn uncommitted_changes_that_the_work_is_based_on_are_left_out() {
    let machines = Machines::new();
    let (fixture, repo) = (&machines.fixture, machines.fixture.repo());
    fixture.write(&machines.there, "b.txt", "changed there\n");
    let asked = request(&machines.there, "alice", Some(Uncommitted::Snapshot));
    let tree = fixture.worktrees().create(&asked).unwrap().record.path;
    fixture.commit_file(&tree, "new.txt", "new\n", "new");
    machines.publish(&tree);
    for outcome in [MergeOutcome::Copied, MergeOutcome::AlreadyThere] {
        let merged = fixture.merge("alice").unwrap();
        assert_eq!(merged.outcome, outcome);
    }
    assert!(repo.join("new.txt").exists());
    assert_eq!(fs::read_to_string(repo.join("b.txt")).unwrap(), "b\n");
    // Fetched again, the copied commits are still known.
    machines.publish(&tree);
    let listed = fixture.worktrees().list(&repo).unwrap().0;
    assert_eq!(
        listed[0].condition,
        Condition::Clean,
        "{:?}",
        listed[0].hazards
    );
}

#[test]
fn a_forecast_has_work_of_other_machines() {
    let machines = Machines::new();
    let (fixture, repo) = (&machines.fixture, machines.fixture.repo());
    let here = fixture.left("bob").record.path;
    fixture.commit_file(&here, "src/a.txt", "one\nBBB\nthree\n", "b");
    let tree = machines.work("alice", "src/a.txt", "one\nAAA\nthree\n");
    machines.publish(&tree);
    let collisions = fixture.worktrees().forecast(&repo).unwrap();
    let pairs: Vec<_> = collisions
        .iter()
        .map(|found| found.worktrees.each_ref().map(|side| side.slug.as_str()))
        .collect();
    assert_eq!(pairs, [["alice", "bob"]]);
    fixture.merge("bob").unwrap();
    let refused = fixture.merge("alice").unwrap_err();
    let WorktreeError::Conflict { sides, .. } = &refused else {
        panic!("{refused}");
    };
    assert_eq!((sides.ours.len(), sides.theirs.len()), (1, 1));
}

#[test]
fn a_name_of_two_agents_is_not_guessed_and_fetched_work_is_removed_by_force_only() {
    let machines = Machines::new();
    let (fixture, repo) = (&machines.fixture, machines.fixture.repo());
    let tree = machines.work("alice", "new.txt", "new\n");
    let work = machines.outgoing(&tree);
    let bundle = machines.bundle(&work);
    machines.fetch(&published(&work), &bundle).unwrap();
    let refused = fixture.remove("alice", false);
    assert!(
        matches!(refused, Err(WorktreeError::Unsafe { .. })),
        "{refused:?}"
    );
    let other = TeamName::parse("other").unwrap();
    fixture
        .worktrees()
        .fetch(&repo, &other, &published(&work), None)
        .unwrap();
    let refused = fixture.merge("alice").unwrap_err();
    let said =
        "there are several worktrees `alice`: of alice@demo on there, of alice@other on there;";
    assert!(refused.to_string().starts_with(said), "{refused}");
    // The member itself works here by now.
    drop(fs::remove_file(
        repo.join(".git/swarm/members/other.alice.json"),
    ));
    fixture.left("alice");
    let diff = fixture.worktrees().diff(&repo, &slug("alice")).unwrap();
    assert!(diff.record.remote.is_none());
    let own = fixture.remove("alice", false).unwrap();
    assert_eq!(own.remains_on, None);
    let removed = fixture.remove("alice", true).unwrap();
    assert_eq!(removed.remains_on.as_deref(), Some("there"));
    let saved = removed.rescue.unwrap().reference;
    assert_eq!(fixture.git_in(&repo, &["rev-parse", &saved]), work.commit);
    assert!(tree.is_dir());
}

#[test]
fn the_target_of_a_conflict_comes_to_the_worktree_under_a_name_that_is_no_branch() {
    let machines = Machines::new();
    let (fixture, repo) = (&machines.fixture, machines.fixture.repo());
    let worktrees = fixture.worktrees();
    let tree = machines.work("alice", "song.txt", "alice\n");
    machines.publish(&tree);
    let published = published(&machines.outgoing(&tree));
    let export = |limit| worktrees.export_target(&repo, &published, limit);
    assert_eq!(export(LIMIT).unwrap(), None, "there is nothing new");
    fixture.commit_file(&repo, "song.txt", "mine\n", "mine");
    let refused = worktrees.merge(&repo, &slug("alice")).unwrap_err();
    assert!(matches!(refused, WorktreeError::Conflict { .. }));
    let too_large = export(1).unwrap_err();
    assert!(matches!(too_large, WorktreeError::BundleTooLarge { .. }));
    let target = export(LIMIT).unwrap().unwrap();

    let branches = fixture.branches(&machines.there);
    let name = worktrees.receive_target(&tree, &target).unwrap();
    assert_eq!(name, format!("refs/swarm/target/{}", target.branch));
    assert_eq!(
        fixture.git_in(&tree, &["rev-parse", &name]).trim(),
        target.commit
    );
    assert_eq!(fixture.branches(&machines.there), branches);
    fixture.git_in(&tree, &["merge", "-q", "-X", "ours", &name]);
    machines.publish(&tree);
    worktrees.merge(&repo, &slug("alice")).unwrap();
    let merged = fs::read_to_string(repo.join("song.txt")).unwrap();
    assert_eq!(merged, "alice\n");

    let escaping = ExportedTarget {
        branch: "../heads/main".to_owned(),
        ..target.clone()
    };
    let option = ExportedTarget {
        commit: "--all".to_owned(),
        ..target.clone()
    };
    let damaged = ExportedTarget {
        bundle: target.bundle[..target.bundle.len() / 2].to_vec(),
        ..target
    };
    let refs = fixture.git_in(&tree, &["for-each-ref"]);
    for hostile in [escaping, option, damaged] {
        let refused = worktrees.receive_target(&tree, &hostile).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Refused, "{refused}");
    }
    assert_eq!(fixture.git_in(&tree, &["for-each-ref"]), refs);
}

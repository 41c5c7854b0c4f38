//! Repositories that are sent to another machine and received there.

use std::fs;
use std::path::PathBuf;

use swarm_protocol::ErrorKind;
use swarm_worktree::{Exported, Hazard, Uncommitted, WorktreeError, WorktreeOutcome};

use crate::fixture::{NOW, RepositoryFixture, request, says, slug};

const LIMIT: u64 = 1 << 20;

/// Directory of a node for what it receives.
fn own(fixture: &RepositoryFixture) -> PathBuf {
    fixture.path("root/swarm/node/repositories")
}

fn exported(fixture: &RepositoryFixture) -> Exported {
    let known = fixture
        .worktrees()
        .known_commits(&own(fixture), &fixture.path(""));
    let exported = fixture.worktrees().export(&fixture.repo(), &known, LIMIT);
    exported.unwrap().unwrap()
}

/// Receives without a checkout of the same repository on that machine.
fn receive(fixture: &RepositoryFixture, sent: &Exported) -> Result<PathBuf, WorktreeError> {
    let here = fixture.path("");
    let received = fixture.worktrees().receive(
        &own(fixture),
        &sent.repository,
        sent.bundle.as_deref(),
        &here,
    );
    received.map(|received| received.checkout.clone())
}

#[test]
fn a_commit_becomes_a_checkout_and_the_next_bundle_has_only_what_is_new() {
    let (fixture, repo) = RepositoryFixture::with_repo();
    fixture.write(
        &repo,
        "large.txt",
        &"some text of the first commit\n".repeat(50),
    );
    fixture.commit(&repo, "large");
    let first = exported(&fixture);
    assert_eq!(first.repository.branch.as_deref(), Some("main"));
    let checkout = receive(&fixture, &first).unwrap();
    assert_eq!(checkout, own(&fixture).join(&first.repository.root));
    assert_eq!(fs::read_to_string(checkout.join("b.txt")).unwrap(), "b\n");
    assert_eq!(
        fixture.git_in(&checkout, &["symbolic-ref", "--short", "HEAD"]),
        "main"
    );
    // A member works there, and its worktree is based on that commit.
    let made = fixture
        .worktrees()
        .create(&request(&checkout, "alice", None))
        .unwrap();
    assert_eq!(made.record.base.sha, first.repository.base);
    assert_eq!(made.record.target.as_deref(), Some("main"));

    assert_eq!(exported(&fixture).bundle, None, "it has the commit");
    receive(&fixture, &exported(&fixture)).unwrap();
    fixture.commit_file(&repo, "b.txt", "changed\n", "second");
    let second = exported(&fixture);
    let (whole, more) = (
        first.bundle.unwrap().len(),
        second.bundle.clone().unwrap().len(),
    );
    assert!(more < whole, "{more} < {whole}");
    assert_eq!(receive(&fixture, &second).unwrap(), checkout);
    assert_eq!(
        fs::read_to_string(checkout.join("b.txt")).unwrap(),
        "changed\n"
    );
    assert_eq!(
        fixture.git_in(&made.record.path, &["rev-parse", "HEAD"]),
        first.repository.base
    );
}

#[test]
fn i4_a_node_keeps_a_worktree_with_ignored_files_that_are_no_copies() {
    let (fixture, repo) = RepositoryFixture::with_repo();
    let ignored = "results/\nbuild/\nnode_modules/\n.env\n";
    fixture.write(&repo, ".worktreeinclude", ".env\n");
    fixture.commit_file(&repo, ".gitignore", ignored, "ignore");
    let checkout = receive(&fixture, &exported(&fixture)).unwrap();
    fixture.write(&checkout, "node_modules/one/index.js", "1\n");
    fixture.write(&checkout, ".env", "KEY=1\n");

    let unchanged = fixture.create(&checkout, "alice").unwrap();
    assert_eq!(unchanged.record.carried.len(), 2);
    let outcome = fixture.finish(&unchanged);
    assert!(
        matches!(outcome, Some(WorktreeOutcome::Removed(_))),
        "{outcome:?}"
    );

    let made = fixture.create(&checkout, "bob").unwrap();
    let tree = &made.record.path;
    fixture.write(tree, "results/r.csv", "1\n");
    fixture.write(tree, "build/a.o", "a\n");
    fixture.write(tree, "build/b/c.o", "c\n");
    let outcome = fixture.finish(&made);
    let Some(WorktreeOutcome::Kept { why, .. }) = outcome else {
        panic!("{outcome:?}");
    };
    let named = ["build/", "results/r.csv"].map(str::to_owned);
    assert_eq!(why, [Hazard::Ignored(named.to_vec())]);
    assert!(tree.join("results/r.csv").exists());
    let worktrees = fixture.worktrees();
    let pruned = worktrees.prune(&checkout, false, NOW).unwrap();
    assert_eq!((pruned.gone.len(), pruned.kept.len()), (0, 1));
    let refused = worktrees.remove(&checkout, &slug("bob"), true, NOW);
    says(&refused.unwrap_err(), "`--force` does not help");
}

#[test]
fn commits_come_from_a_checkout_on_the_machine_or_from_the_remote() {
    let (fixture, repo) = RepositoryFixture::with_repo();
    let mut sent = exported(&fixture);
    sent.bundle = None;
    let refused = receive(&fixture, &sent).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Refused);
    assert!(
        refused
            .to_string()
            .contains("this machine lacks the commit"),
        "{refused}"
    );
    let received = fixture
        .worktrees()
        .receive(&own(&fixture), &sent.repository, None, &repo);
    drop(received.unwrap());

    // Above the limit, only what is on the remote can be sent.
    let refused = fixture.worktrees().export(&repo, &[], 10).unwrap_err();
    assert!(
        matches!(refused, WorktreeError::BundleTooLarge { .. }),
        "{refused}"
    );
    fixture.git_in(&fixture.path(""), &["clone", "-q", "repo", "clone"]);
    let clone = fixture.path("clone");
    fixture.git_in(
        &clone,
        &[
            "remote",
            "set-url",
            "origin",
            "https://example.invalid/a.git",
        ],
    );
    let sent = fixture
        .worktrees()
        .export(&clone, &[], 10)
        .unwrap()
        .unwrap();
    assert_eq!(sent.bundle, None);
    assert_eq!(
        sent.repository.remote.as_deref(),
        Some("https://example.invalid/a.git")
    );
    fixture.git_in(
        &clone,
        &[
            "remote",
            "set-url",
            "origin",
            "https://me:secret@example.invalid/a",
        ],
    );
    fixture.worktrees().export(&clone, &[], 10).unwrap_err();
}

#[test]
fn what_is_sent_can_run_no_program_and_name_no_other_place() {
    let fixture = RepositoryFixture::new();
    let sent = exported(&fixture);
    let mark = fixture.path("mark");
    let evil = format!("ext::touch {}", mark.display());
    let other = fixture.init("other");
    fixture.git_in(&other, &["checkout", "-q", "--orphan", "unrelated"]);
    fixture.commit(&other, "another root");
    let foreign = fixture
        .worktrees()
        .export(&other, &[], LIMIT)
        .unwrap()
        .unwrap();
    let with = |change: &dyn Fn(&mut Exported)| {
        let mut changed = sent.clone();
        change(&mut changed);
        changed
    };
    for (what, sent) in [
        (
            "a program",
            with(&|sent| {
                sent.bundle = None;
                sent.repository.remote = Some(evil.clone());
            }),
        ),
        (
            "a file",
            with(&|sent| {
                sent.bundle = None;
                sent.repository.remote = Some(fixture.repo().display().to_string());
            }),
        ),
        (
            "a directory",
            with(&|sent| sent.repository.root = "../other".to_owned()),
        ),
        (
            "an option",
            with(&|sent| sent.repository.base = "--all".to_owned()),
        ),
        (
            "a branch",
            with(&|sent| sent.repository.branch = Some("--orphan".to_owned())),
        ),
        (
            "another root",
            with(&|sent| {
                sent.repository.base.clone_from(&foreign.repository.base);
                sent.bundle.clone_from(&foreign.bundle);
            }),
        ),
        (
            "another commit",
            with(&|sent| sent.bundle.clone_from(&foreign.bundle)),
        ),
    ] {
        let refused = receive(&fixture, &sent).unwrap_err();
        assert!(
            refused.to_string().contains("was not received"),
            "{what}: {refused}"
        );
        assert_eq!(refused.kind(), ErrorKind::Refused, "{what}: {refused}");
    }
    assert!(!mark.exists());
    receive(&fixture, &sent).unwrap();
}

#[test]
fn uncommitted_changes_are_not_left_out_in_silence() {
    let mut fixture = RepositoryFixture::new();
    let repo = fixture.repo();
    fixture.write(&repo, "b.txt", "changed\n");
    let refused = fixture.worktrees().export(&repo, &[], LIMIT).unwrap_err();
    assert!(
        matches!(refused, WorktreeError::Uncommitted { .. }),
        "{refused}"
    );
    fixture.settings.uncommitted = Uncommitted::Leave;
    exported(&fixture);
    let outside = fixture.path("");
    assert_eq!(
        fixture.worktrees().export(&outside, &[], LIMIT).unwrap(),
        None
    );
}

//! Worktrees of various kinds of repositories.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use swarm_worktree::{Hazard, WorktreeError, WorktreeOutcome};

use crate::fixture::{NOW, RepositoryFixture, says, slug};

/// Creates a worktree from a directory, checks that it isolates the repository that contains the
/// directory, and removes it.
fn assert_isolated(fixture: &RepositoryFixture, from: &Path, repository: &Path) {
    let branch = fixture.git_in(from, &["rev-parse", "--abbrev-ref", "HEAD"]);
    let made = fixture
        .create(from, "one")
        .unwrap_or_else(|error| panic!("{from:?}: {error}"));
    assert_eq!(
        made.record.path,
        repository.join(".claude/worktrees/one"),
        "{from:?}"
    );
    let common = |at: &Path| {
        fixture.git_in(
            at,
            &["rev-parse", "--path-format=absolute", "--git-common-dir"],
        )
    };
    assert_eq!(common(&made.cwd), common(from));
    assert_eq!(
        fixture.git_in(from, &["rev-parse", "--abbrev-ref", "HEAD"]),
        branch
    );
    assert_eq!(made.head, fixture.git_in(from, &["rev-parse", "HEAD"]));
    fixture.write(&made.record.path, "b.txt", "mine\n");
    assert_eq!(fixture.status(from), "", "{from:?}");
    assert_eq!(fs::read_to_string(repository.join("b.txt")).unwrap(), "b\n");
    fixture.git_in(&made.record.path, &["checkout", "-q", "b.txt"]);
    fixture.worktrees().rely_on_life_lock(&made).unwrap();
    fixture
        .worktrees()
        .remove(from, &slug("one"), false, NOW)
        .unwrap();
    assert!(
        !fixture
            .git_in(from, &["worktree", "list"])
            .contains("worktrees/one")
    );
    assert!(!made.record.path.exists());
}

#[test]
fn i10_submodules_nested_repositories_and_worktrees_are_isolated() {
    let (fixture, repo) = RepositoryFixture::with_repo();
    assert_isolated(&fixture, &repo, &repo);
    assert_isolated(&fixture, &repo.join("src"), &repo);

    // A submodule is a separate repository, and its files are not in the git directory.
    fixture.init("library");
    fixture.git_in(
        &repo,
        &["submodule", "--quiet", "add", "../library", "library"],
    );
    fixture.commit(&repo, "submodule");
    assert_isolated(&fixture, &repo.join("library"), &repo.join("library"));
    assert!(!repo.join(".git/modules/.claude").exists());
    assert_isolated(&fixture, &repo, &repo);
    let made = fixture.create(&repo, "modules").unwrap();
    assert!(
        made.notices
            .iter()
            .any(|notice| notice.contains("submodules are empty")),
        "{:?}",
        made.notices
    );

    // So is a nested repository: no branch is created in the outer one.
    fixture.commit_file(&repo, ".gitignore", "/nested/\n", "ignore");
    let nested = fixture.init("repo/nested");
    assert_isolated(&fixture, &nested.join("src"), &nested);
    assert!(!fixture.branches(&repo).contains(&"worktree-one".to_owned()));

    // From inside a worktree, the new one is created next to it and based on its HEAD.
    let outer = fixture.create(&repo, "outer").unwrap().record.path;
    fixture.commit_file(&outer, "more.txt", "more\n", "ahead of main");
    assert_isolated(&fixture, &outer, &repo);

    // Settings of a single worktree.
    fixture.git_in(&repo, &["config", "extensions.worktreeConfig", "true"]);
    fixture.git_in(&repo, &["config", "--worktree", "user.name", "only here"]);
    assert_isolated(&fixture, &repo, &repo);
}

#[test]
fn i10_directories_that_cannot_be_isolated_are_refused() {
    let fixture = RepositoryFixture::new();
    let refused = |from: &Path, named: &str| {
        let refused = fixture.create(from, "one").unwrap_err();
        assert!(refused.to_string().contains(named), "{from:?}: {refused}");
    };
    let plain = fixture.path("plain");
    fs::create_dir(&plain).unwrap();
    refused(&plain, "is not in a git repository");
    let unborn = fixture.path("unborn");
    fs::create_dir(&unborn).unwrap();
    fixture.git_in(&unborn, &["init", "-q"]);
    refused(&unborn, "no commit yet");
    refused(
        &fixture.repo().join(".git"),
        "run the command in a checkout",
    );
    fixture.git_in(
        &fixture.path(""),
        &["clone", "-q", "--bare", "repo", "bare.git"],
    );
    refused(&fixture.path("bare.git"), "run the command in a checkout");
    fixture.git_in(
        &fixture.path("bare.git"),
        &["worktree", "add", "-q", "../checkout", "main"],
    );
    refused(&fixture.path("checkout"), "set worktree.location");

    // A link would put the worktrees in an unexpected place.
    let linked = fixture.init("linked");
    fs::create_dir(fixture.path("elsewhere")).unwrap();
    fs::create_dir(linked.join(".claude")).unwrap();
    symlink(fixture.path("elsewhere"), linked.join(".claude/worktrees")).unwrap();
    refused(&linked, "symbolic link");
    assert!(
        fs::read_dir(fixture.path("elsewhere"))
            .unwrap()
            .next()
            .is_none()
    );
}

#[test]
fn i10_remains_of_a_worktree_are_not_reused() {
    let (fixture, repo) = RepositoryFixture::with_repo();
    // The directory was deleted manually, and git still lists it.
    let made = fixture.left("one");
    fs::remove_dir_all(&made.record.path).unwrap();
    let made = fixture.create(&repo, "one").unwrap();
    assert!(made.fresh);
    assert_eq!(fixture.linked(&repo), 1);
    fixture.worktrees().rely_on_life_lock(&made).unwrap();
    // Its commits are only on its branch.
    fixture.write(&made.record.path, "c.txt", "c\n");
    fixture.commit(&made.record.path, "mine");
    fs::remove_dir_all(&made.record.path).unwrap();
    says(
        &fixture.create(&repo, "one").unwrap_err(),
        "1 commits that no other branch has",
    );
    // Once they are merged, the name can be used again.
    fixture.merge("one").unwrap();
    let made = fixture.create(&repo, "one").unwrap();
    assert!(made.fresh && made.record.path.join("c.txt").exists());
    fixture.worktrees().rely_on_life_lock(&made).unwrap();
    fs::remove_dir_all(&made.record.path).unwrap();
    // Another directory is at its path.
    fs::create_dir(&made.record.path).unwrap();
    let refused = fixture.create(&repo, "one").unwrap_err();
    assert!(
        matches!(refused, WorktreeError::Mismatch { .. }),
        "{refused}"
    );
    // Or the checkout of another repository.
    fs::remove_dir(&made.record.path).unwrap();
    fixture.init("repo/.claude/worktrees/one");
    let refused = fixture.create(&repo, "one").unwrap_err().to_string();
    says(&refused, "belongs to another repository, ");
    says(&refused, "move that directory away");
}

/// Returns paths and sizes of all files in a checkout except those of git.
fn inventory(at: &Path) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    let mut directories = vec![at.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let found = path.symlink_metadata().unwrap();
            if path.ends_with(".git") {
                continue;
            }
            if found.is_dir() {
                directories.push(path.clone());
            }
            all.insert(path.display().to_string(), found.len());
        }
    }
    all
}

#[test]
fn i9_worktrees_outside_the_repository_leave_no_trace_in_it() {
    let mut fixture = RepositoryFixture::new();
    let repo = fixture.repo();
    fixture.settings.location = Some(fixture.path("trees"));
    let before = (fixture.status(&repo), inventory(&repo));
    let exclude = fs::read(repo.join(".git/info/exclude")).unwrap_or_default();
    let made = fixture.create(&repo, "one").unwrap();
    assert!(
        made.record.path.starts_with(fixture.path("trees")),
        "{:?}",
        made.record.path
    );
    assert_eq!((fixture.status(&repo), inventory(&repo)), before);
    assert_eq!(
        fs::read(repo.join(".git/info/exclude")).unwrap_or_default(),
        exclude
    );
    let (listed, _) = fixture.worktrees().list(&repo).unwrap();
    assert!(listed[0].size > 0);
    assert_eq!(listed[0].record.owner.describe(), "one@demo");
    // Two repositories of the same name use different directories.
    let other = fixture.init("x/repo");
    let second = fixture.create(&other, "one").unwrap();
    assert_ne!(second.record.path, made.record.path);
    fixture.worktrees().rely_on_life_lock(&made).unwrap();
    fixture.remove("one", false).unwrap();
    assert_eq!((fixture.status(&repo), inventory(&repo)), before);
}

#[test]
fn i9_git_does_not_list_worktrees_below_the_main_checkout() {
    let (fixture, repo) = RepositoryFixture::with_repo();
    let listed = |words: &[&str]| fixture.git_in(&repo, &[&["ls-files"], words].concat());
    let seen = || {
        [
            fixture.status(&repo),
            listed(&["--others", "--exclude-standard"]),
            fixture.git_in(&repo, &["clean", "-nd"]),
            fixture.git_in(&repo, &["grep", "--untracked", "-l", "-e", "b"]),
        ]
    };
    let before = seen();
    for name in ["one", "two"] {
        let made = fixture.create(&repo, name).unwrap();
        assert!(made.record.path.starts_with(&repo));
        assert_eq!(seen(), before);
        fixture.worktrees().rely_on_life_lock(&made).unwrap();
    }
    // One line excludes all of them.
    let excluded = fs::read_to_string(repo.join(".git/info/exclude")).unwrap();
    let lines = excluded
        .lines()
        .filter(|line| *line == "/.claude/worktrees/");
    assert_eq!(lines.count(), 1, "{excluded}");
}

#[test]
fn i10_worktrees_of_a_bare_repository_are_inspected_and_removed() {
    let mut fixture = RepositoryFixture::new();
    fixture.git_in(
        &fixture.path(""),
        &["clone", "-q", "--bare", "repo", "bare.git"],
    );
    let (bare, lead) = (fixture.path("bare.git"), fixture.path("lead"));
    fixture.git_in(&bare, &["worktree", "add", "-q", "../lead", "main"]);
    fixture.settings.location = Some(fixture.path("trees"));
    for begin in ["one", "two"] {
        let made = fixture.create(&lead, begin).unwrap();
        fixture.worktrees().rely_on_life_lock(&made).unwrap();
        for from in [&lead, &made.record.path] {
            let (listed, _) = fixture.worktrees().list(from).unwrap();
            assert_eq!(listed[0].hazards, [], "{from:?}");
        }
        if begin == "two" {
            // Its stashes are detected too.
            fixture.write(&made.record.path, "b.txt", "stash me\n");
            fixture.git_in(&made.record.path, &["stash", "-q"]);
            let (listed, _) = fixture.worktrees().list(&made.record.path).unwrap();
            assert_eq!(listed[0].hazards, [Hazard::Stashed(1)]);
            continue;
        }
        let outcome = fixture.finish(&made);
        assert!(
            matches!(outcome, Some(WorktreeOutcome::Removed(_))),
            "{outcome:?}"
        );
    }
}

#[test]
fn i10_the_error_names_an_unsupported_reftable_repository() {
    let (fixture, repo) = RepositoryFixture::with_repo();
    // As git 2.45 and later creates it with `--ref-format=reftable`, see gitrepository-layout(5).
    fs::create_dir(repo.join(".git/reftable")).unwrap();
    says(&fixture.create(&repo, "one").unwrap_err(), "reftable");
    assert!(!repo.join(".claude").exists());
}

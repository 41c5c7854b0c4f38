//! Repositories of every shape.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use swarm_worktree::{Hazard, WorktreeError, WorktreeOutcome};

use crate::scene::{NOW, Scene, slug};

/// Makes a worktree from a directory, finds that it isolates the repository which holds that directory, and removes it.
fn isolates(scene: &Scene, from: &Path, repository: &Path) {
    let branch = scene.git_in(from, &["rev-parse", "--abbrev-ref", "HEAD"]);
    let made = scene
        .create(from, "one")
        .unwrap_or_else(|error| panic!("{from:?}: {error}"));
    assert_eq!(
        made.record.path,
        repository.join(".claude/worktrees/one"),
        "{from:?}"
    );
    let common = |at: &Path| {
        scene.git_in(
            at,
            &["rev-parse", "--path-format=absolute", "--git-common-dir"],
        )
    };
    assert_eq!(common(&made.cwd), common(from));
    assert_eq!(
        scene.git_in(from, &["rev-parse", "--abbrev-ref", "HEAD"]),
        branch
    );
    assert_eq!(made.head, scene.git_in(from, &["rev-parse", "HEAD"]));
    scene.write(&made.record.path, "b.txt", "mine\n");
    assert_eq!(scene.status(from), "", "{from:?}");
    assert_eq!(fs::read_to_string(repository.join("b.txt")).unwrap(), "b\n");
    scene.git_in(&made.record.path, &["checkout", "-q", "b.txt"]);
    scene.worktrees().settle(&made).unwrap();
    scene
        .worktrees()
        .remove(from, &slug("one"), false, NOW)
        .unwrap();
    assert!(
        !scene
            .git_in(from, &["worktree", "list"])
            .contains("worktrees/one")
    );
    assert!(!made.record.path.exists());
}

#[test]
fn i10_every_shape_of_repository_is_isolated_or_refused_with_the_reason() {
    let scene = Scene::new();
    let repo = scene.repo();
    isolates(&scene, &repo, &repo);
    isolates(&scene, &repo.join("src"), &repo);

    // A submodule is a repository of its own, and its files do not lie in git's directory.
    scene.init("library");
    scene.git_in(
        &repo,
        &["submodule", "--quiet", "add", "../library", "library"],
    );
    scene.commit(&repo, "submodule");
    isolates(&scene, &repo.join("library"), &repo.join("library"));
    assert!(!repo.join(".git/modules/.claude").exists());
    isolates(&scene, &repo, &repo);
    let made = scene.create(&repo, "modules").unwrap();
    assert!(
        made.notices
            .iter()
            .any(|told| told.contains("submodules are empty")),
        "{:?}",
        made.notices
    );

    // So is a nested repository, which the outer one must not be branched for.
    scene.write(&repo, ".gitignore", "/nested/\n");
    scene.commit(&repo, "ignore");
    let nested = scene.init("repo/nested");
    isolates(&scene, &nested.join("src"), &nested);
    assert!(!scene.branches(&repo).contains(&"worktree-one".to_owned()));

    // From inside a worktree, the new one lies beside it and begins where it stands.
    let outer = scene.create(&repo, "outer").unwrap().record.path;
    scene.write(&outer, "more.txt", "more\n");
    scene.commit(&outer, "ahead of main");
    isolates(&scene, &outer, &repo);

    // Settings of the worktree alone.
    scene.git_in(&repo, &["config", "extensions.worktreeConfig", "true"]);
    scene.git_in(&repo, &["config", "--worktree", "user.name", "only here"]);
    isolates(&scene, &repo, &repo);
}

#[test]
fn i10_what_cannot_be_isolated_is_refused() {
    let scene = Scene::new();
    let refused = |from: &Path, named: &str| {
        let refused = scene.create(from, "one").unwrap_err();
        assert!(refused.to_string().contains(named), "{from:?}: {refused}");
    };
    let plain = scene.path("plain");
    fs::create_dir(&plain).unwrap();
    refused(&plain, "is in no git repository");
    let unborn = scene.path("unborn");
    fs::create_dir(&unborn).unwrap();
    scene.git_in(&unborn, &["init", "-q"]);
    refused(&unborn, "no commit yet");
    refused(&scene.repo().join(".git"), "go to a checkout of it");
    scene.git_in(
        &scene.path(""),
        &["clone", "-q", "--bare", "repo", "bare.git"],
    );
    refused(&scene.path("bare.git"), "go to a checkout of it");
    scene.git_in(
        &scene.path("bare.git"),
        &["worktree", "add", "-q", "../checkout", "main"],
    );
    refused(&scene.path("checkout"), "set worktree.location");

    // A link would put the worktrees where nobody looks for them.
    let linked = scene.init("linked");
    fs::create_dir(scene.path("elsewhere")).unwrap();
    fs::create_dir(linked.join(".claude")).unwrap();
    symlink(scene.path("elsewhere"), linked.join(".claude/worktrees")).unwrap();
    refused(&linked, "symbolic link");
    assert!(
        fs::read_dir(scene.path("elsewhere"))
            .unwrap()
            .next()
            .is_none()
    );
}

#[test]
fn i10_what_is_left_of_a_worktree_is_not_taken_for_one() {
    let scene = Scene::new();
    let repo = scene.repo();
    // The directory was deleted by hand, and git still lists it.
    let made = scene.left("one");
    fs::remove_dir_all(&made.record.path).unwrap();
    let made = scene.create(&repo, "one").unwrap();
    assert!(made.fresh);
    assert_eq!(scene.linked(&repo), 1);
    scene.worktrees().settle(&made).unwrap();
    // Its commits are on its branch alone.
    scene.write(&made.record.path, "c.txt", "c\n");
    scene.commit(&made.record.path, "mine");
    fs::remove_dir_all(&made.record.path).unwrap();
    let refused = scene.create(&repo, "one").unwrap_err().to_string();
    assert!(
        refused.contains("1 commits that no other branch has"),
        "{refused}"
    );
    // Once they are merged the name is free again.
    scene.worktrees().merge(&repo, &slug("one")).unwrap();
    let made = scene.create(&repo, "one").unwrap();
    assert!(made.fresh && made.record.path.join("c.txt").exists());
    scene.worktrees().settle(&made).unwrap();
    fs::remove_dir_all(&made.record.path).unwrap();
    // Another directory has taken its place.
    fs::create_dir(&made.record.path).unwrap();
    let refused = scene.create(&repo, "one").unwrap_err();
    assert!(
        matches!(refused, WorktreeError::Mismatch { .. }),
        "{refused}"
    );
    // Or the checkout of another repository.
    fs::remove_dir(&made.record.path).unwrap();
    scene.init("repo/.claude/worktrees/one");
    let refused = scene.create(&repo, "one").unwrap_err().to_string();
    assert!(
        refused.contains("belongs to another repository, ")
            && refused.contains("move that directory away"),
        "{refused}"
    );
}

/// Paths and sizes of everything in a checkout but git's own.
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
fn i9_with_a_location_of_their_own_worktrees_leave_no_trace_in_the_repository() {
    let mut scene = Scene::new();
    let repo = scene.repo();
    scene.settings.location = Some(scene.path("trees"));
    let before = (scene.status(&repo), inventory(&repo));
    let exclude = fs::read(repo.join(".git/info/exclude")).unwrap_or_default();
    let made = scene.create(&repo, "one").unwrap();
    assert!(
        made.record.path.starts_with(scene.path("trees")),
        "{:?}",
        made.record.path
    );
    assert_eq!((scene.status(&repo), inventory(&repo)), before);
    assert_eq!(
        fs::read(repo.join(".git/info/exclude")).unwrap_or_default(),
        exclude
    );
    let (listed, _) = scene.worktrees().list(&repo).unwrap();
    assert!(listed[0].size > 0);
    assert_eq!(listed[0].record.owner.describe(), "one@demo");
    // Two repositories of one name do not meet.
    let other = scene.init("x/repo");
    let second = scene.create(&other, "one").unwrap();
    assert_ne!(second.record.path, made.record.path);
    scene.worktrees().settle(&made).unwrap();
    scene
        .worktrees()
        .remove(&repo, &slug("one"), false, NOW)
        .unwrap();
    assert_eq!((scene.status(&repo), inventory(&repo)), before);
}

#[test]
fn i9_below_the_main_checkout_nothing_that_asks_git_sees_them() {
    let scene = Scene::new();
    let repo = scene.repo();
    let listed = |words: &[&str]| scene.git_in(&repo, &[&["ls-files"], words].concat());
    let seen = || {
        [
            scene.status(&repo),
            listed(&["--others", "--exclude-standard"]),
            scene.git_in(&repo, &["clean", "-nd"]),
            scene.git_in(&repo, &["grep", "--untracked", "-l", "-e", "b"]),
        ]
    };
    let before = seen();
    for name in ["one", "two"] {
        let made = scene.create(&repo, name).unwrap();
        assert!(made.record.path.starts_with(&repo));
        assert_eq!(seen(), before);
        scene.worktrees().settle(&made).unwrap();
    }
    // One line for all of them.
    let excluded = fs::read_to_string(repo.join(".git/info/exclude")).unwrap();
    let lines = excluded
        .lines()
        .filter(|line| *line == "/.claude/worktrees/");
    assert_eq!(lines.count(), 1, "{excluded}");
}

#[test]
fn i10_the_worktrees_of_a_bare_repository_are_looked_at_and_removed_like_others() {
    let mut scene = Scene::new();
    scene.git_in(
        &scene.path(""),
        &["clone", "-q", "--bare", "repo", "bare.git"],
    );
    let (bare, lead) = (scene.path("bare.git"), scene.path("lead"));
    scene.git_in(&bare, &["worktree", "add", "-q", "../lead", "main"]);
    scene.settings.location = Some(scene.path("trees"));
    for begin in ["one", "two"] {
        let made = scene.create(&lead, begin).unwrap();
        scene.worktrees().settle(&made).unwrap();
        for from in [&lead, &made.record.path] {
            let (listed, _) = scene.worktrees().list(from).unwrap();
            assert_eq!(listed[0].hazards, [], "{from:?}");
        }
        if begin == "two" {
            // Its stashes are seen, too.
            scene.write(&made.record.path, "b.txt", "stash me\n");
            scene.git_in(&made.record.path, &["stash", "-q"]);
            let (listed, _) = scene.worktrees().list(&made.record.path).unwrap();
            assert_eq!(listed[0].hazards, [Hazard::Stashed(1)]);
            continue;
        }
        let parted = scene
            .worktrees()
            .part(&made.record.path, &made.record.leaver(), NOW)
            .unwrap();
        assert!(
            matches!(parted, Some(WorktreeOutcome::Removed(_))),
            "{parted:?}"
        );
    }
}

#[test]
fn i10_refs_in_tables_are_refused_by_name() {
    let scene = Scene::new();
    let repo = scene.repo();
    // As git 2.45 and later make it with `--ref-format=reftable`, see gitrepository-layout(5).
    fs::create_dir(repo.join(".git/reftable")).unwrap();
    let refused = scene.create(&repo, "one").unwrap_err().to_string();
    assert!(refused.contains("reftable"), "{refused}");
    assert!(!repo.join(".claude").exists());
}

//! Worktrees of a project: their creation progress, and their final state.

use std::fs;
use std::path::{Path, PathBuf};

use super::super::places::Scene;
use super::duty::PRECIOUS;
use crate::stage::World;

/// Number of files of a checkout: enough to interrupt it.
const FILES: usize = 400;

/// Makes the project a repository with many files.
pub(super) fn make_project(world: &World) {
    let text = "all work and no play\n".repeat(200);
    for number in 0..FILES {
        world.write(&format!("project/part/{number}.txt"), &text);
    }
    world.commit_project();
}

/// Returns the path of a worktree.
pub(super) fn tree(world: &World, name: &str) -> PathBuf {
    world.project().join(".claude/worktrees").join(name)
}

/// Steps of creating a worktree, as visible on disk.
#[derive(Debug, Clone, Copy)]
pub(super) enum Stage {
    /// Its record is written.
    Recorded,
    /// It is registered with git.
    Registered,
    /// It has a branch.
    Branched,
    /// Its first files exist.
    Begun,
    /// Its last file exists.
    Filled,
}

impl Stage {
    pub(super) const ALL: [Self; 5] = [
        Self::Recorded,
        Self::Registered,
        Self::Branched,
        Self::Begun,
        Self::Filled,
    ];

    pub(super) fn is_reached(self, world: &World, name: &str) -> bool {
        let git = world.project().join(".git");
        let path = match self {
            Self::Recorded => git.join(format!("swarm/worktrees/{name}.json")),
            Self::Registered => git.join("worktrees").join(name),
            Self::Branched => git.join(format!("refs/heads/worktree-{name}")),
            Self::Begun => tree(world, name).join("part"),
            Self::Filled => tree(world, name).join(format!("part/{}.txt", FILES - 1)),
        };
        path.exists()
    }
}

/// Asserts that the member's uncommitted file still exists.
#[track_caller]
pub(super) fn assert_kept(world: &World, name: &str) {
    let kept = fs::read_to_string(tree(world, name).join(PRECIOUS));
    assert_eq!(kept.ok().as_deref(), Some("mine\n"), "{}", world.report());
}

/// Removes empty worktrees; those of these members remain. A git process of a killed lead may still
/// use a worktree, which is then kept with a reason.
#[track_caller]
pub(super) fn prune_to(scene: &Scene, names: &[&str]) {
    scene.world.wait_for("no worktree is being created", || {
        let pruned = scene.world.swarm(&["worktree", "prune"]);
        let told = &pruned.ok().stderr;
        assert!(!told.lines().any(|line| line.ends_with(": ")), "{told}");
        (!told.contains("it is being created")).then_some(())
    });
    assert_only(scene, names);
}

/// Asserts that worktrees, branches and directories exist for exactly these members, and no git
/// lock is left.
#[track_caller]
fn assert_only(scene: &Scene, names: &[&str]) {
    let world = &scene.world;
    let listed = world.swarm(&["worktree", "list", "--json"]).json();
    let listed = listed.as_array().expect("a list").iter();
    let listed: Vec<_> = listed
        .map(|one| one["slug"].as_str().unwrap_or_default())
        .collect();
    assert_eq!(listed, names);

    let mut expected = vec![world.project()];
    expected.extend(names.iter().map(|name| tree(world, name)));
    let known = git(world, &["worktree", "list", "--porcelain"]);
    let known = known
        .lines()
        .filter_map(|line| line.strip_prefix("worktree "));
    let known: Vec<PathBuf> = known.map(PathBuf::from).collect();
    assert_eq!(known, expected);

    let mut expected = vec!["refs/heads/main".to_owned()];
    expected.extend(
        names
            .iter()
            .map(|name| format!("refs/heads/worktree-{name}")),
    );
    let branches = git(world, &["for-each-ref", "--format=%(refname)"]);
    assert_eq!(branches.lines().collect::<Vec<_>>(), expected);

    let directories = fs::read_dir(world.project().join(".claude/worktrees"));
    let mut directories: Vec<_> = directories
        .into_iter()
        .flatten()
        .flatten()
        .map(|one| one.file_name())
        .collect();
    directories.sort();
    assert_eq!(directories, names);
    assert_eq!(
        locks_of_git(&world.project().join(".git")),
        Vec::<PathBuf>::new()
    );
}

/// Runs git in the project.
#[track_caller]
fn git(world: &World, words: &[&str]) -> String {
    let output = world.command("git").args(words).output().expect("git");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {words:?}: {said}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Lock files of git, for which it does not wait. Those of swarm are flocks, so their existence is
/// irrelevant.
fn locks_of_git(git: &Path) -> Vec<PathBuf> {
    let mut locks = Vec::new();
    let mut directories = vec![git.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let path = entry.path();
            let is_lock = path
                .extension()
                .is_some_and(|extension| extension == "lock");
            if is_lock {
                locks.push(path);
            } else if path.is_dir() && path != git.join("swarm") {
                directories.push(path);
            }
        }
    }
    locks
}

//! Removing worktrees.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use swarm_worktree::{Condition, Created, Hazard, Pruned, WorktreeError, WorktreeOutcome};

use crate::scene::{NOW, Scene, leaver, slug};

type Spoil = fn(&Scene, &Path);

/// What makes each removal unsafe, how it is named, and whether a rescue saves it.
const UNSAFE: [(&str, Spoil, &str, bool); 14] = [
    (
        "dirty",
        |s, at| s.write(at, "b.txt", "changed\n"),
        "uncommitted changes of b.txt",
        true,
    ),
    (
        "staged",
        |s, at| {
            s.write(at, "b.txt", "x\n");
            s.git_in(at, &["add", "b.txt"]);
        },
        "uncommitted changes of b.txt",
        true,
    ),
    (
        "untracked",
        |s, at| s.write(at, "new/file.txt", "new\n"),
        "does not know: new/file.txt",
        true,
    ),
    (
        "listed",
        |s, at| s.write(at, ".env", "KEY=changed\n"),
        "differ from where they came from: .env",
        true,
    ),
    (
        "stashed",
        |s, at| {
            s.write(at, "b.txt", "stash me\n");
            s.git_in(at, &["stash", "-q"]);
        },
        "a stash was made",
        true,
    ),
    (
        "unmerged",
        |s, at| {
            s.write(at, "c.txt", "c\n");
            s.commit(at, "mine");
        },
        "1 commit is neither merged nor pushed",
        true,
    ),
    (
        "detached",
        |s, at| {
            s.git_in(at, &["checkout", "-q", "--detach"]);
        },
        "its HEAD is detached",
        true,
    ),
    (
        "elsewhere",
        |s, at| {
            s.git_in(at, &["checkout", "-q", "-b", "other"]);
        },
        "it is on the branch other",
        true,
    ),
    (
        "locked",
        |s, at| {
            s.git_in(at, &["worktree", "unlock", "."]);
            s.git_in(at, &["worktree", "lock", "--reason", "on a stick", "."]);
        },
        "locked with git: on a stick",
        true,
    ),
    (
        "merging",
        |s, at| {
            let head = s.git_in(at, &["rev-parse", "--git-path", "MERGE_HEAD"]);
            fs::write(at.join(head), "0\n").unwrap();
        },
        "a merge is under way",
        true,
    ),
    (
        "own refs",
        |s, at| {
            s.git_in(at, &["update-ref", "refs/worktree/mine", "HEAD"]);
        },
        "refs of its own",
        false,
    ),
    (
        "repository",
        |s, at| {
            fs::create_dir(at.join("inner")).unwrap();
            s.git_in(&at.join("inner"), &["init", "-q"]);
            s.write(&at.join("inner"), "f", "f\n");
            s.commit(&at.join("inner"), "inner");
        },
        "repositories of their own: inner/",
        false,
    ),
    (
        "git fails",
        |s, at| {
            let index = s.git_in(at, &["rev-parse", "--git-path", "index"]);
            fs::write(at.join(index), "no index").unwrap();
        },
        "cannot be found out",
        false,
    ),
    (
        "no git file",
        |_, at| fs::remove_file(at.join(".git")).unwrap(),
        "not as it was made: it has no usable `.git` file",
        false,
    ),
];

fn scene() -> Scene {
    let scene = Scene::new();
    let repo = scene.repo();
    scene.write(&repo, ".gitignore", ".env\n/build/\n");
    scene.write(&repo, ".worktreeinclude", ".env\n");
    scene.commit(&repo, "ignore");
    scene.write(&repo, ".env", "KEY=1\n");
    scene
}

fn everything(scene: &Scene, made: &Created) -> (bool, usize, Vec<String>) {
    let repo = scene.repo();
    (
        made.record.path.is_dir(),
        scene.linked(&repo),
        scene.branches(&repo),
    )
}

#[test]
fn i4_no_removal_destroys_work() {
    for (what, spoil, named, can_be_rescued) in UNSAFE {
        let scene = scene();
        let repo = scene.repo();
        let made = scene.left("one");
        spoil(&scene, &made.record.path);
        let before = everything(&scene, &made);
        let refused = scene.worktrees().remove(&repo, &slug("one"), false, NOW);
        let refused = refused.expect_err(what);
        assert!(
            matches!(refused, WorktreeError::Unsafe { .. }),
            "{what}: {refused}"
        );
        assert!(refused.to_string().contains(named), "{what}: {refused}");
        assert_eq!(everything(&scene, &made), before, "{what}");
        let Pruned { gone, kept, .. } = scene.worktrees().prune(&repo, false, NOW).unwrap();
        assert_eq!((gone.len(), kept.len()), (0, 1), "{what}");
        let tips = made_of(&scene, &made.record.path);
        let forced = scene.worktrees().remove(&repo, &slug("one"), true, NOW);
        if !can_be_rescued {
            let refused = forced.expect_err(what).to_string();
            assert!(
                refused.contains("`--force` does not help"),
                "{what}: {refused}"
            );
            assert_eq!(everything(&scene, &made), before, "{what}");
            continue;
        }
        let saved = forced
            .unwrap_or_else(|error| panic!("{what}: {error}"))
            .rescue
            .unwrap();
        assert!(!made.record.path.exists(), "{what}");
        assert_eq!(scene.linked(&repo), 0, "{what}");
        assert!(
            !scene.branches(&repo).contains(&"worktree-one".to_owned()),
            "{what}"
        );
        assert_eq!(made_of_ref(&scene, &repo, &saved.reference), tips, "{what}");
        // The patch brings the same files back.
        scene.git_in(
            &repo,
            &[
                "worktree",
                "add",
                "-q",
                "--detach",
                "../back",
                &made.record.base.sha,
            ],
        );
        let back = scene.path("back");
        if fs::metadata(&saved.patch).unwrap().len() > 0 {
            scene.git_in(&back, &["apply", "--binary", saved.patch.to_str().unwrap()]);
        }
        assert_eq!(made_of(&scene, &back).0, tips.0, "{what}");
    }
}

/// Names and contents of the files in a worktree that are worth saving, and the commit it is on.
fn made_of(scene: &Scene, at: &Path) -> (Vec<(String, String)>, String) {
    if !at.join(".git").exists() {
        return <_>::default();
    }
    let files = Command::new("git")
        .args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ])
        .current_dir(at)
        .output()
        .unwrap();
    let mut names: Vec<_> = String::from_utf8(files.stdout)
        .unwrap()
        .split('\0')
        .filter(|name| !name.is_empty() && !name.ends_with('/'))
        .map(str::to_owned)
        .collect();
    names.push(".env".to_owned());
    names.sort();
    let read = |name: String| {
        let text = fs::read_to_string(at.join(&name)).ok()?;
        // As it came it is in the checkout still.
        (text != "KEY=1\n").then_some((name, text))
    };
    (
        names.into_iter().filter_map(read).collect(),
        scene.git_in(at, &["rev-parse", "HEAD"]),
    )
}

fn made_of_ref(scene: &Scene, repo: &Path, reference: &str) -> (Vec<(String, String)>, String) {
    let names = scene.git_in(repo, &["ls-tree", "-r", "--name-only", reference]);
    let read = |name: &str| {
        let text = scene.git_in(repo, &["show", &format!("{reference}:{name}")]);
        (name.to_owned(), format!("{text}\n"))
    };
    let head = scene.git_in(repo, &["rev-parse", &format!("{reference}^1")]);
    (names.lines().map(read).collect(), head)
}

#[test]
fn i4_a_worktree_that_somebody_works_in_stays_whatever_is_said() {
    let scene = scene();
    let repo = scene.repo();
    let made = scene.create(&repo, "one").unwrap();
    let refused = |named: &str| {
        for force in [false, true] {
            let refused = scene.worktrees().remove(&repo, &slug("one"), force, NOW);
            let refused = refused.unwrap_err().to_string();
            assert!(refused.contains(named), "{refused}");
        }
        assert!(made.record.path.is_dir());
    };
    // By the process that was given it,
    refused("in use by one@demo");
    scene.worktrees().settle(&made).unwrap();
    // and by whoever stands in it.
    let mut child = Command::new("sleep")
        .arg("600")
        .current_dir(made.record.path.join("src"))
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let cwd = format!("/proc/{}/cwd", child.id());
    while !fs::read_link(&cwd).is_ok_and(|at| at.starts_with(&made.record.path)) {
        std::thread::yield_now();
    }
    refused("(sleep)");
    child.kill().unwrap();
    child.wait().unwrap();
    scene
        .worktrees()
        .remove(&repo, &slug("one"), false, NOW)
        .unwrap();
}

#[test]
fn what_holds_nothing_is_removed_with_its_branch_and_build_output() {
    let scene = scene();
    let repo = scene.repo();
    let made = scene.left("one");
    assert_eq!(
        fs::read_to_string(made.record.path.join(".env")).unwrap(),
        "KEY=1\n"
    );
    scene.write(&made.record.path, "build/out.o", "o\n");
    // Work that another branch has is not lost.
    scene.write(&made.record.path, "c.txt", "c\n");
    scene.commit(&made.record.path, "mine");
    scene.git_in(&repo, &["merge", "-q", "--ff-only", "worktree-one"]);
    let removed = scene
        .worktrees()
        .remove(&repo, &slug("one"), false, NOW)
        .unwrap();
    assert!(removed.rescue.is_none());
    assert_eq!(
        (scene.linked(&repo), scene.branches(&repo)),
        (0, vec!["main".to_owned()])
    );
    let left: Vec<_> = fs::read_dir(repo.join(".git/swarm/worktrees"))
        .unwrap()
        .collect();
    assert!(left.is_empty(), "{left:?}");
    let gone = scene
        .worktrees()
        .remove(&repo, &slug("one"), false, NOW)
        .unwrap_err();
    assert!(matches!(gone, WorktreeError::NotFound { .. }), "{gone}");
}

#[test]
fn at_its_members_end_an_unchanged_worktree_goes_and_a_changed_one_stays() {
    let scene = scene();
    let repo = scene.repo();
    let made = scene.create(&repo, "one").unwrap();
    let parted = scene
        .worktrees()
        .part(&made.record.path, &made.record.leaver(), NOW)
        .unwrap();
    assert!(
        matches!(parted, Some(WorktreeOutcome::Removed(_))),
        "{parted:?}"
    );
    assert!(!made.record.path.exists());

    let made = scene.create(&repo, "two").unwrap();
    scene.write(&made.record.path, "c.txt", "c\n");
    scene.commit(&made.record.path, "mine");
    let parted = scene
        .worktrees()
        .part(&made.record.path.join("src"), &made.record.leaver(), NOW)
        .unwrap();
    let Some(WorktreeOutcome::Kept {
        path, branch, why, ..
    }) = parted
    else {
        panic!("{parted:?}");
    };
    assert_eq!((path, branch.as_str()), (made.record.path, "worktree-two"));
    assert_eq!(why, [Hazard::Unmerged(1)]);
    let listed = scene.git_in(&repo, &["worktree", "list", "--porcelain"]);
    assert!(!listed.contains("locked"), "{listed}");
    // A checkout that is none of ours is nobody's business.
    assert_eq!(
        scene.worktrees().part(&repo, &leaver("one"), NOW).unwrap(),
        None
    );
}

#[test]
fn prune_tells_what_it_would_do_and_touches_only_what_is_ours() {
    let scene = scene();
    let repo = scene.repo();
    scene.left("clean");
    let work = scene.left("work");
    scene.write(&work.record.path, "new.txt", "n\n");
    let gone = scene.left("gone");
    fs::remove_dir_all(&gone.record.path).unwrap();
    scene.git_in(
        &repo,
        &["worktree", "add", "-q", "-b", "theirs", "../theirs"],
    );
    let names = |listed: Vec<swarm_worktree::ListedWorktree>| -> Vec<_> {
        listed
            .into_iter()
            .map(|l| (l.record.slug.to_string(), l.condition))
            .collect()
    };
    let wanted = [
        ("clean".to_owned(), Condition::Clean),
        ("gone".to_owned(), Condition::Gone),
    ];
    let Pruned {
        gone: would, kept, ..
    } = scene.worktrees().prune(&repo, true, NOW).unwrap();
    assert_eq!(names(would), wanted);
    assert_eq!(names(kept), [("work".to_owned(), Condition::Work)]);
    assert_eq!(scene.linked(&repo), 4);
    let Pruned { gone, .. } = scene.worktrees().prune(&repo, false, NOW).unwrap();
    assert_eq!(names(gone), wanted);
    assert_eq!(scene.branches(&repo), ["main", "theirs", "worktree-work"]);
    assert_eq!(scene.linked(&repo), 2);
}

#[test]
fn i4_files_in_the_empty_directory_of_a_submodule_keep_the_worktree() {
    let scene = Scene::new();
    let repo = scene.repo();
    scene.init("library");
    scene.git_in(
        &repo,
        &["submodule", "--quiet", "add", "../library", "vendor"],
    );
    scene.commit(&repo, "submodule");
    let made = scene.left("one");
    // Git does not look below a submodule, not even one that is not there.
    scene.write(&made.record.path, "vendor/notes.txt", "work\n");
    assert_eq!(scene.status(&made.record.path), "");
    for force in [false, true] {
        let refused = scene
            .worktrees()
            .remove(&repo, &slug("one"), force, NOW)
            .unwrap_err()
            .to_string();
        assert!(refused.contains("vendor"), "{refused}");
    }
    assert!(made.record.path.join("vendor/notes.txt").exists());
    fs::remove_file(made.record.path.join("vendor/notes.txt")).unwrap();
    let parted = scene
        .worktrees()
        .part(&made.record.path, &made.record.leaver(), NOW)
        .unwrap();
    assert!(
        matches!(parted, Some(WorktreeOutcome::Removed(_))),
        "{parted:?}"
    );
}

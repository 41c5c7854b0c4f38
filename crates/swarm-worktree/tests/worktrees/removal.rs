//! Removal of worktrees.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use swarm_worktree::{Condition, Created, Hazard, Pruned, WorktreeError, WorktreeOutcome};

use crate::fixture::{NOW, RepositoryFixture, former_owner, says};

type Spoil = fn(&RepositoryFixture, &Path);

/// Name of a case, its preparation, the expected error text, and whether a forced removal can
/// rescue the work.
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
        "untracked files: new/file.txt",
        true,
    ),
    (
        "listed",
        |s, at| s.write(at, ".env", "KEY=changed\n"),
        "differ from the originals: .env",
        true,
    ),
    (
        "stashed",
        |s, at| {
            s.write(at, "b.txt", "stash me\n");
            s.git_in(at, &["stash", "-q"]);
        },
        "a stash was created",
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
        "a merge is in progress",
        true,
    ),
    (
        "own refs",
        |s, at| {
            s.git_in(at, &["update-ref", "refs/worktree/mine", "HEAD"]);
        },
        "private refs",
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
        "nested repositories: inner/",
        false,
    ),
    (
        "git fails",
        |s, at| {
            let index = s.git_in(at, &["rev-parse", "--git-path", "index"]);
            fs::write(at.join(index), "no index").unwrap();
        },
        "its state is unknown",
        false,
    ),
    (
        "no git file",
        |_, at| fs::remove_file(at.join(".git")).unwrap(),
        "not match its record: it has no usable `.git` file",
        false,
    ),
];

fn fixture() -> RepositoryFixture {
    let (fixture, repo) = RepositoryFixture::with_repo();
    fixture.write(&repo, ".gitignore", ".env\n/build/\n");
    fixture.commit_file(&repo, ".worktreeinclude", ".env\n", "ignore");
    fixture.write(&repo, ".env", "KEY=1\n");
    fixture
}

fn everything(fixture: &RepositoryFixture, made: &Created) -> (bool, usize, Vec<String>) {
    let repo = fixture.repo();
    (
        made.record.path.is_dir(),
        fixture.linked(&repo),
        fixture.branches(&repo),
    )
}

#[test]
fn i4_no_removal_destroys_work() {
    for (what, spoil, named, can_be_rescued) in UNSAFE {
        let fixture = fixture();
        let repo = fixture.repo();
        let made = fixture.left("one");
        spoil(&fixture, &made.record.path);
        let before = everything(&fixture, &made);
        let refused = fixture.remove("one", false);
        let refused = refused.expect_err(what);
        assert!(
            matches!(refused, WorktreeError::Unsafe { .. }),
            "{what}: {refused}"
        );
        assert!(refused.to_string().contains(named), "{what}: {refused}");
        assert_eq!(everything(&fixture, &made), before, "{what}");
        let Pruned { gone, kept, .. } = fixture.prune(false);
        assert_eq!((gone.len(), kept.len()), (0, 1), "{what}");
        let tips = made_of(&fixture, &made.record.path);
        let forced = fixture.remove("one", true);
        if !can_be_rescued {
            let refused = forced.expect_err(what).to_string();
            assert!(
                refused.contains("`--force` does not help"),
                "{what}: {refused}"
            );
            assert_eq!(everything(&fixture, &made), before, "{what}");
            continue;
        }
        let saved = forced
            .unwrap_or_else(|error| panic!("{what}: {error}"))
            .rescue
            .unwrap();
        assert!(!made.record.path.exists(), "{what}");
        assert_eq!(fixture.linked(&repo), 0, "{what}");
        assert!(
            !fixture.branches(&repo).contains(&"worktree-one".to_owned()),
            "{what}"
        );
        assert_eq!(
            made_of_ref(&fixture, &repo, &saved.reference),
            tips,
            "{what}"
        );
        // The patch restores the same files.
        fixture.git_in(
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
        let back = fixture.path("back");
        if fs::metadata(&saved.patch).unwrap().len() > 0 {
            fixture.git_in(&back, &["apply", "--binary", saved.patch.to_str().unwrap()]);
        }
        assert_eq!(made_of(&fixture, &back).0, tips.0, "{what}");
    }
}

/// Returns names and contents of the files in a worktree that must be rescued, and its commit.
fn made_of(fixture: &RepositoryFixture, at: &Path) -> (Vec<(String, String)>, String) {
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
        // An unchanged copy is still in the main checkout.
        (text != "KEY=1\n").then_some((name, text))
    };
    (
        names.into_iter().filter_map(read).collect(),
        fixture.git_in(at, &["rev-parse", "HEAD"]),
    )
}

fn made_of_ref(
    fixture: &RepositoryFixture,
    repo: &Path,
    reference: &str,
) -> (Vec<(String, String)>, String) {
    let names = fixture.git_in(repo, &["ls-tree", "-r", "--name-only", reference]);
    let read = |name: &str| {
        let text = fixture.git_in(repo, &["show", &format!("{reference}:{name}")]);
        (name.to_owned(), format!("{text}\n"))
    };
    let head = fixture.git_in(repo, &["rev-parse", &format!("{reference}^1")]);
    (names.lines().map(read).collect(), head)
}

#[test]
fn i4_a_worktree_in_use_is_not_removed_even_with_force() {
    let fixture = fixture();
    let repo = fixture.repo();
    let made = fixture.create(&repo, "one").unwrap();
    let refused = |named: &str| {
        for force in [false, true] {
            says(&fixture.remove("one", force).unwrap_err(), named);
        }
        assert!(made.record.path.is_dir());
    };
    // By its owner,
    refused("in use by one@demo");
    fixture.worktrees().rely_on_life_lock(&made).unwrap();
    // and by a process whose working directory is inside.
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
    fixture.remove("one", false).unwrap();
}

#[test]
fn a_worktree_without_work_is_removed_with_its_branch_and_build_output() {
    let fixture = fixture();
    let repo = fixture.repo();
    let made = fixture.left("one");
    assert_eq!(
        fs::read_to_string(made.record.path.join(".env")).unwrap(),
        "KEY=1\n"
    );
    fixture.write(&made.record.path, "build/out.o", "o\n");
    // Commits on another branch are not lost.
    fixture.write(&made.record.path, "c.txt", "c\n");
    fixture.commit(&made.record.path, "mine");
    fixture.git_in(&repo, &["merge", "-q", "--ff-only", "worktree-one"]);
    let removed = fixture.remove("one", false).unwrap();
    assert!(removed.rescue.is_none());
    assert_eq!(
        (fixture.linked(&repo), fixture.branches(&repo)),
        (0, vec!["main".to_owned()])
    );
    let left: Vec<_> = fs::read_dir(repo.join(".git/swarm/worktrees"))
        .unwrap()
        .collect();
    assert!(left.is_empty(), "{left:?}");
    let gone = fixture.remove("one", false).unwrap_err();
    assert!(matches!(gone, WorktreeError::NotFound { .. }), "{gone}");
}

#[test]
fn when_a_member_stops_an_unchanged_worktree_is_removed_and_a_changed_one_is_kept() {
    let fixture = fixture();
    let repo = fixture.repo();
    let made = fixture.create(&repo, "one").unwrap();
    let outcome = fixture.finish(&made);
    assert!(
        matches!(outcome, Some(WorktreeOutcome::Removed(_))),
        "{outcome:?}"
    );
    assert!(!made.record.path.exists());

    let made = fixture.create(&repo, "two").unwrap();
    fixture.write(&made.record.path, "c.txt", "c\n");
    fixture.commit(&made.record.path, "mine");
    let outcome = fixture
        .worktrees()
        .finish(
            &made.record.path.join("src"),
            &made.record.former_owner(),
            NOW,
        )
        .unwrap();
    let Some(WorktreeOutcome::Kept {
        path, branch, why, ..
    }) = outcome
    else {
        panic!("{outcome:?}");
    };
    assert_eq!((path, branch.as_str()), (made.record.path, "worktree-two"));
    assert_eq!(why, [Hazard::Unmerged(1)]);
    let listed = fixture.git_in(&repo, &["worktree", "list", "--porcelain"]);
    assert!(!listed.contains("locked"), "{listed}");
    // Other checkouts are ignored.
    assert_eq!(
        fixture
            .worktrees()
            .finish(&repo, &former_owner("one"), NOW)
            .unwrap(),
        None
    );
}

#[test]
fn prune_supports_a_dry_run_and_ignores_worktrees_of_others() {
    let fixture = fixture();
    let repo = fixture.repo();
    fixture.left("clean");
    let work = fixture.left("work");
    fixture.write(&work.record.path, "new.txt", "n\n");
    let gone = fixture.left("gone");
    fs::remove_dir_all(&gone.record.path).unwrap();
    fixture.git_in(
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
    } = fixture.prune(true);
    assert_eq!(names(would), wanted);
    assert_eq!(names(kept), [("work".to_owned(), Condition::Work)]);
    assert_eq!(fixture.linked(&repo), 4);
    let Pruned { gone, .. } = fixture.prune(false);
    assert_eq!(names(gone), wanted);
    assert_eq!(fixture.branches(&repo), ["main", "theirs", "worktree-work"]);
    assert_eq!(fixture.linked(&repo), 2);
}

#[test]
fn i4_files_in_the_empty_directory_of_a_submodule_keep_the_worktree() {
    let (fixture, repo) = RepositoryFixture::with_repo();
    fixture.init("library");
    fixture.git_in(
        &repo,
        &["submodule", "--quiet", "add", "../library", "vendor"],
    );
    fixture.commit(&repo, "submodule");
    let made = fixture.left("one");
    // Git does not look below a submodule, even if it is not initialized.
    fixture.write(&made.record.path, "vendor/notes.txt", "work\n");
    assert_eq!(fixture.status(&made.record.path), "");
    for force in [false, true] {
        says(&fixture.remove("one", force).unwrap_err(), "vendor");
    }
    assert!(made.record.path.join("vendor/notes.txt").exists());
    fs::remove_file(made.record.path.join("vendor/notes.txt")).unwrap();
    let outcome = fixture.finish(&made);
    assert!(
        matches!(outcome, Some(WorktreeOutcome::Removed(_))),
        "{outcome:?}"
    );
}

//! Making worktrees.

use std::fs;
use std::thread;

use swarm_worktree::{
    MergeMode, Resident, Slug, Uncommitted, WorktreeError, moved_notice, worktree_notice,
};

use crate::scene::{NOW, Scene, request, slug};

#[test]
fn a_worktree_is_made_where_claude_code_makes_it_and_the_repository_ignores_it() {
    let scene = Scene::new();
    let repo = scene.repo();
    let made = scene.create(&repo.join("src"), "fix/import").unwrap();
    assert_eq!(made.record.path, repo.join(".claude/worktrees/fix+import"));
    assert_eq!(made.cwd, made.record.path.join("src"));
    assert_eq!(made.record.branch, "worktree-fix+import");
    assert_eq!(
        fs::read_to_string(made.cwd.join("a.txt")).unwrap(),
        "one\ntwo\nthree\n"
    );
    assert_eq!(scene.status(&repo), "");
    assert_eq!(scene.status(&made.record.path), "");
    let config = fs::read_to_string(repo.join(".git/config")).unwrap();
    assert!(!config.contains("worktree-fix"), "{config}");
    let listed = scene.git_in(&repo, &["worktree", "list", "--porcelain"]);
    assert!(
        listed.contains("locked swarm: in use by fix-import@demo"),
        "{listed}"
    );
}

#[test]
fn i3_a_worktree_begins_at_the_callers_head_and_says_so() {
    let scene = Scene::new();
    let origin = scene.repo();
    scene.git_in(&scene.path(""), &["clone", "-q", "repo", "mine"]);
    let mine = scene.path("mine");
    scene.git_in(
        &mine,
        &["checkout", "-q", "-b", "feature", "--track", "origin/main"],
    );
    scene.write(&mine, "c.txt", "c\n");
    let head = scene.commit(&mine, "only here");
    scene.write(&origin, "d.txt", "d\n");
    scene.commit(&origin, "only there");
    scene.git_in(&mine, &["fetch", "-q"]);

    let made = scene.create(&mine, "one").unwrap();
    assert_eq!(made.head, head);
    assert_eq!(made.record.base.sha, head);
    assert_eq!(made.record.target.as_deref(), Some("feature"));
    let told = made.record.base.describe();
    let wanted = format!(
        "{} (feature, 1 ahead of and 1 behind origin/main)",
        &head[..12]
    );
    assert_eq!(told, wanted);

    // What no commit holds is not silently missing.
    scene.write(&mine, "b.txt", "changed\n");
    scene.write(&mine, "new.txt", "new\n");
    let refused = scene.create(&mine, "two").unwrap_err();
    assert!(
        matches!(&refused, WorktreeError::Uncommitted { files, .. } if files == &["b.txt", "new.txt"]),
        "{refused}"
    );
    assert!(
        refused.to_string().contains("commit them first"),
        "{refused}"
    );
    assert_eq!(scene.branches(&mine), ["feature", "main", "worktree-one"]);

    // Or it is taken along, and index, stash and branch stay as they are.
    scene.git_in(&mine, &["add", "b.txt"]);
    let before = fs::read(mine.join(".git/index")).unwrap();
    let asked = request(&mine, "two", Some(Uncommitted::Snapshot));
    let made = scene.worktrees().create(&asked).unwrap();
    assert_eq!(made.record.base.snapshot_of, Some(head.clone()));
    assert_eq!(
        fs::read_to_string(made.record.path.join("b.txt")).unwrap(),
        "changed\n"
    );
    assert_eq!(
        fs::read_to_string(made.record.path.join("new.txt")).unwrap(),
        "new\n"
    );
    assert_eq!(fs::read(mine.join(".git/index")).unwrap(), before);
    assert_eq!(scene.git_in(&mine, &["rev-parse", "feature"]), head);
    assert_eq!(scene.git_in(&mine, &["stash", "list"]), "");
    assert_eq!(scene.status(&mine), "M  b.txt\n?? new.txt");

    let asked = request(&mine, "three", Some(Uncommitted::Leave));
    let made = scene.worktrees().create(&asked).unwrap();
    assert!(
        made.notices[0].contains("left behind: b.txt, new.txt"),
        "{:?}",
        made.notices
    );
}

#[test]
fn i5_forty_worktrees_made_by_eight_at_a_time_are_all_there() {
    let scene = Scene::new();
    let origin = scene.repo();
    scene.git_in(&scene.path(""), &["clone", "-q", "repo", "mine"]);
    let mine = scene.path("mine");
    // What makes git write to the configuration for each new branch, where eight at a time fail.
    scene.git_in(&mine, &["config", "branch.autoSetupMerge", "always"]);
    for round in 0..5 {
        thread::scope(|scope| {
            for lane in 0..8 {
                let (scene, mine) = (&scene, &mine);
                scope.spawn(move || scene.create(mine, &format!("w-{round}-{lane}")).unwrap());
            }
        });
    }
    assert_eq!(scene.linked(&mine), 40);
    let branches = scene.branches(&mine);
    assert_eq!(
        branches
            .iter()
            .filter(|name| name.starts_with("worktree-w-"))
            .count(),
        40
    );
    let (listed, damaged) = scene.worktrees().list(&mine).unwrap();
    assert!(damaged.is_empty());
    for listed in &listed {
        assert_eq!(scene.status(&listed.record.path), "");
    }
    assert_eq!(listed.len(), 40);
    assert_eq!(scene.linked(&origin), 0);

    // A failed creation leaves neither branch nor directory: this tree has a file that cannot be checked out.
    scene.write(&mine, ".gitattributes", "*.txt filter=broken\n");
    scene.commit(&mine, "filtered");
    scene.git_in(&mine, &["config", "filter.broken.smudge", "false"]);
    scene.git_in(&mine, &["config", "filter.broken.required", "true"]);
    scene.create(&mine, "failed").unwrap_err();
    assert_eq!(scene.linked(&mine), 40);
    assert!(
        !scene
            .branches(&mine)
            .contains(&"worktree-failed".to_owned())
    );
    assert!(!mine.join(".claude/worktrees/failed").exists());
    assert!(!mine.join(".git/swarm/worktrees/failed.json").exists());
    assert!(!mine.join(".git/swarm/worktrees/failed.lock").exists());
}

#[test]
fn a_worktree_is_taken_up_again_without_git_and_by_one_at_a_time() {
    let mut scene = Scene::new();
    let repo = scene.repo();
    let first = scene.create(&repo, "one").unwrap();
    let refused = scene.create(&repo, "one").unwrap_err();
    assert!(matches!(refused, WorktreeError::Taken { .. }), "{refused}");
    assert!(refused.to_string().contains("one@demo"), "{refused}");

    scene.worktrees().settle(&first).unwrap();
    scene.write(&first.record.path, "work.txt", "work\n");
    let head = scene.commit(&first.record.path, "work");
    scene.write(&repo, "later.txt", "later\n");
    scene.commit(&repo, "later");
    // The one call of git that is made finds the repository.
    let count = scene.path("count");
    let script = format!(
        "#!/bin/sh\necho \"$*\" >> {}\nexec git \"$@\"\n",
        count.display()
    );
    scene.git = scene.path("git");
    fs::write(&scene.git, script).unwrap();
    executable(&scene.git);
    let again = scene.create(&repo, "one").unwrap();
    let calls = fs::read_to_string(&count).unwrap();
    let asked: Vec<_> = calls
        .lines()
        .filter(|line| !line.contains("rev-parse --path-format") && !line.contains("worktree list"))
        .collect();
    assert!(asked.is_empty(), "{asked:?}");
    assert!(!again.fresh);
    assert_eq!(again.head, head);
    let told = again.notices.join("\n");
    assert!(
        told.contains("was there already") && told.contains("your HEAD is"),
        "{told}"
    );
}

#[test]
fn whatever_is_in_the_way_is_named_and_left_alone() {
    let scene = Scene::new();
    let repo = scene.repo();
    scene.git_in(&repo, &["branch", "worktree-taken"]);
    let refused = scene.create(&repo, "taken").unwrap_err().to_string();
    assert!(
        refused.contains("there is a branch worktree-taken already"),
        "{refused}"
    );
    scene.write(&repo, ".claude/worktrees/there/file", "mine\n");
    scene.git_in(&repo, &["config", "status.showUntrackedFiles", "no"]);
    let asked = request(&repo, "there", Some(Uncommitted::Leave));
    let refused = scene.worktrees().create(&asked).unwrap_err().to_string();
    assert!(
        refused.contains("is there already and is no worktree of swarm"),
        "{refused}"
    );
    assert!(repo.join(".claude/worktrees/there/file").exists());
    assert_eq!(scene.branches(&repo), ["main", "worktree-taken"]);
}

#[test]
fn a_spawn_that_failed_takes_its_worktree_back_and_only_that() {
    let scene = Scene::new();
    let repo = scene.repo();
    let made = scene.create(&repo, "one").unwrap();
    scene.worktrees().undo(&made).unwrap();
    assert_eq!((scene.linked(&repo), scene.branches(&repo).len()), (0, 1));
    let made = scene.left("two");
    scene.write(&made.record.path, "work.txt", "work\n");
    let again = scene.create(&repo, "two").unwrap();
    scene.worktrees().undo(&again).unwrap();
    assert!(made.record.path.join("work.txt").exists());
    // It can be taken up at once.
    assert!(!scene.create(&repo, "two").unwrap().fresh);
}

#[test]
fn sparse_paths_are_all_that_is_checked_out() {
    let mut scene = Scene::new();
    let repo = scene.repo();
    scene.write(&repo, "docs/page.md", "page\n");
    scene.commit(&repo, "docs");
    scene.settings.sparse_paths = vec!["docs".to_owned()];
    let made = scene.create(&repo, "one").unwrap();
    assert!(made.record.path.join("docs/page.md").exists());
    assert!(!made.record.path.join("src").exists());
    assert_eq!(scene.status(&made.record.path), "");
    assert!(repo.join("src/a.txt").exists());
    scene.worktrees().settle(&made).unwrap();
    scene
        .worktrees()
        .remove(&repo, &slug("one"), false, NOW)
        .unwrap();
}

#[test]
fn git_is_told_where_the_hooks_are_and_not_to_tidy_up() {
    let scene = Scene::new();
    let repo = scene.repo();
    scene.write(&repo, ".gitignore", "/.husky/_/\n");
    scene.commit(&repo, "ignore");
    scene.write(&repo, ".husky/_/pre-commit", "#!/bin/sh\ntouch hook-ran\n");
    executable(&repo.join(".husky/_/pre-commit"));
    scene.git_in(&repo, &["config", "core.hooksPath", ".husky/_"]);
    let made = scene.create(&repo, "one").unwrap();
    assert_eq!(made.record.hooks_path, Some(repo.join(".husky/_")));
    let mut env = std::collections::BTreeMap::new();
    env.insert("GIT_CONFIG_COUNT".to_owned(), "1".to_owned());
    made.record.extend_env(&mut env);
    assert_eq!(env["GIT_CONFIG_COUNT"], "4");
    assert_eq!(env["GIT_CONFIG_KEY_3"], "core.hooksPath");
    assert_eq!(env["GIT_CONFIG_KEY_1"], "gc.auto");
}

#[test]
fn a_fork_is_told_that_its_paths_have_moved() {
    let told = moved_notice("/repo".as_ref(), "/repo/.claude/worktrees/x".as_ref());
    assert!(
        told.contains("/repo/.claude/worktrees/x") && told.contains("/repo."),
        "{told}"
    );
    assert_eq!(
        Slug::of_agent("a1b2c3d4e5").unwrap().branch(),
        "worktree-agent-a1b2c3d4"
    );
}

#[test]
fn an_agent_is_told_its_branch_how_its_work_is_merged_and_what_stayed_behind() {
    let mut scene = Scene::new();
    scene.settings.uncommitted = Uncommitted::Leave;
    let repo = scene.repo();
    scene.write(&repo, ".gitignore", "*.key\n.env\n");
    scene.write(&repo, ".worktreeinclude", ".env\n");
    scene.commit(&repo, "list");
    scene.write(&repo, ".env", "A=b\n");
    scene.write(&repo, "b.txt", "changed\n");
    let made = scene.create(&repo, "x").unwrap();
    let told = |resident| worktree_notice(&made, resident);
    let auto = told(Resident::Teammate(MergeMode::Auto));
    for words in [
        &*made.record.path.display().to_string(),
        "Its branch is worktree-x, which began at ",
        "Completing a task with TaskUpdate merges them into main",
        "`swarm worktree merge x`",
        "files that git ignores stayed behind, but for .env (copy).",
        "uncommitted changes were left behind: b.txt",
    ] {
        assert!(auto.contains(words), "{words}: {auto}");
    }
    let manual = told(Resident::Teammate(MergeMode::Manual));
    assert!(!manual.contains("TaskUpdate"), "{manual}");
    let sub_agent = told(Resident::SubAgent);
    assert!(sub_agent.contains("`git merge worktree-x`"), "{sub_agent}");
    scene.settings.uncommitted = Uncommitted::Snapshot;
    let made = scene.create(&repo, "y").unwrap();
    let told = worktree_notice(&made, Resident::Lead);
    assert!(
        told.contains("came along in the commit at which your branch began"),
        "{told}"
    );
    scene.git_in(&repo, &["checkout", "-q", "-f", "--detach"]);
    let made = scene.create(&repo, "z").unwrap();
    let told = worktree_notice(&made, Resident::SubAgent);
    assert!(told.contains("without a branch to merge into"), "{told}");
}

pub(crate) fn executable(path: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn i5_a_checkout_that_another_git_is_just_adding_is_waited_for() {
    let mut scene = Scene::new();
    // Between two writes of `git worktree add`, every list fails so.
    let script = "#!/bin/sh\ncase \" $* \" in *\" worktree list \"*) if mkdir \"$0.tried\" 2>/dev/null; then\n\
                  echo 'fatal: failed to read .git/worktrees/w/commondir: Success' >&2; exit 128; fi;; esac\n\
                  exec git \"$@\"\n";
    scene.git = scene.path("git");
    fs::write(&scene.git, script).unwrap();
    executable(&scene.git);
    scene.create(&scene.repo(), "one").unwrap();
    assert!(scene.path("git.tried").exists());
}

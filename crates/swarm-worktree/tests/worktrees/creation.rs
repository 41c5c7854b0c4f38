//! Creation of worktrees.

use std::fs;
use std::thread;

use swarm_worktree::{
    MergeMode, Resident, Slug, Uncommitted, WorktreeError, moved_notice, worktree_notice,
};

use crate::fixture::{RepositoryFixture, request, says};

#[test]
fn a_worktree_has_the_same_path_as_in_claude_code_and_is_ignored_by_the_repository() {
    let (fixture, repo) = RepositoryFixture::with_repo();
    let made = fixture.create(&repo.join("src"), "fix/import").unwrap();
    assert_eq!(made.record.path, repo.join(".claude/worktrees/fix+import"));
    assert_eq!(made.cwd, made.record.path.join("src"));
    assert_eq!(made.record.branch, "worktree-fix+import");
    assert_eq!(
        fs::read_to_string(made.cwd.join("a.txt")).unwrap(),
        "one\ntwo\nthree\n"
    );
    assert_eq!(fixture.status(&repo), "");
    assert_eq!(fixture.status(&made.record.path), "");
    let config = fs::read_to_string(repo.join(".git/config")).unwrap();
    assert!(!config.contains("worktree-fix"), "{config}");
    let listed = fixture.git_in(&repo, &["worktree", "list", "--porcelain"]);
    says(&listed, "locked swarm: in use by fix-import@demo");
}

#[test]
fn i3_a_worktree_is_based_on_the_callers_head_and_reports_it() {
    let fixture = RepositoryFixture::new();
    let origin = fixture.repo();
    fixture.git_in(&fixture.path(""), &["clone", "-q", "repo", "mine"]);
    let mine = fixture.path("mine");
    fixture.git_in(
        &mine,
        &["checkout", "-q", "-b", "feature", "--track", "origin/main"],
    );
    fixture.write(&mine, "c.txt", "c\n");
    let head = fixture.commit(&mine, "only here");
    fixture.commit_file(&origin, "d.txt", "d\n", "only there");
    fixture.git_in(&mine, &["fetch", "-q"]);

    let made = fixture.create(&mine, "one").unwrap();
    assert_eq!(made.head, head);
    assert_eq!(made.record.base.sha, head);
    assert_eq!(made.record.target.as_deref(), Some("feature"));
    let notice = made.record.base.describe();
    let wanted = format!(
        "{} (feature, 1 ahead of and 1 behind origin/main)",
        &head[..12]
    );
    assert_eq!(notice, wanted);

    // Uncommitted changes are not dropped silently.
    fixture.write(&mine, "b.txt", "changed\n");
    fixture.write(&mine, "new.txt", "new\n");
    let refused = fixture.create(&mine, "two").unwrap_err();
    assert!(
        matches!(&refused, WorktreeError::Uncommitted { files, .. } if files == &["b.txt", "new.txt"]),
        "{refused}"
    );
    says(&refused, "commit them first");
    assert_eq!(fixture.branches(&mine), ["feature", "main", "worktree-one"]);

    // They can be copied; index, stash and branch do not change.
    fixture.git_in(&mine, &["add", "b.txt"]);
    let before = fs::read(mine.join(".git/index")).unwrap();
    let asked = request(&mine, "two", Some(Uncommitted::Snapshot));
    let made = fixture.worktrees().create(&asked).unwrap();
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
    assert_eq!(fixture.git_in(&mine, &["rev-parse", "feature"]), head);
    assert_eq!(fixture.git_in(&mine, &["stash", "list"]), "");
    assert_eq!(fixture.status(&mine), "M  b.txt\n?? new.txt");

    let asked = request(&mine, "three", Some(Uncommitted::Leave));
    let made = fixture.worktrees().create(&asked).unwrap();
    assert!(
        made.notices[0].contains("not copied: b.txt, new.txt"),
        "{:?}",
        made.notices
    );
}

#[test]
fn i5_forty_worktrees_can_be_created_eight_at_a_time() {
    let fixture = RepositoryFixture::new();
    let origin = fixture.repo();
    fixture.git_in(&fixture.path(""), &["clone", "-q", "repo", "mine"]);
    let mine = fixture.path("mine");
    // Makes git write its configuration for each new branch, which fails for concurrent calls.
    fixture.git_in(&mine, &["config", "branch.autoSetupMerge", "always"]);
    for round in 0..5 {
        thread::scope(|scope| {
            for lane in 0..8 {
                let (fixture, mine) = (&fixture, &mine);
                scope.spawn(move || fixture.create(mine, &format!("w-{round}-{lane}")).unwrap());
            }
        });
    }
    assert_eq!(fixture.linked(&mine), 40);
    let branches = fixture.branches(&mine);
    assert_eq!(
        branches
            .iter()
            .filter(|name| name.starts_with("worktree-w-"))
            .count(),
        40
    );
    let (listed, damaged) = fixture.worktrees().list(&mine).unwrap();
    assert!(damaged.is_empty());
    for listed in &listed {
        assert_eq!(fixture.status(&listed.record.path), "");
    }
    assert_eq!(listed.len(), 40);
    assert_eq!(fixture.linked(&origin), 0);

    // A failed creation leaves neither branch nor directory: this commit has a file that cannot be
    // checked out.
    fixture.commit_file(&mine, ".gitattributes", "*.txt filter=broken\n", "filtered");
    fixture.git_in(&mine, &["config", "filter.broken.smudge", "false"]);
    fixture.git_in(&mine, &["config", "filter.broken.required", "true"]);
    fixture.create(&mine, "failed").unwrap_err();
    assert_eq!(fixture.linked(&mine), 40);
    assert!(
        !fixture
            .branches(&mine)
            .contains(&"worktree-failed".to_owned())
    );
    assert!(!mine.join(".claude/worktrees/failed").exists());
    assert!(!mine.join(".git/swarm/worktrees/failed.json").exists());
    assert!(!mine.join(".git/swarm/worktrees/failed.lock").exists());
}

#[test]
fn a_worktree_is_reused_without_running_git_and_by_one_agent_at_a_time() {
    let mut fixture = RepositoryFixture::new();
    let repo = fixture.repo();
    let first = fixture.create(&repo, "one").unwrap();
    let refused = fixture.create(&repo, "one").unwrap_err();
    assert!(matches!(refused, WorktreeError::Taken { .. }), "{refused}");
    says(&refused, "one@demo");

    fixture.worktrees().rely_on_life_lock(&first).unwrap();
    fixture.write(&first.record.path, "work.txt", "work\n");
    let head = fixture.commit(&first.record.path, "work");
    fixture.commit_file(&repo, "later.txt", "later\n", "later");
    // The only call of git finds the repository.
    let count = fixture.path("count");
    let script = format!(
        "#!/bin/sh\necho \"$*\" >> {}\nexec git \"$@\"\n",
        count.display()
    );
    fixture.git = fixture.path("git");
    fs::write(&fixture.git, script).unwrap();
    executable(&fixture.git);
    let again = fixture.create(&repo, "one").unwrap();
    let calls = fs::read_to_string(&count).unwrap();
    let asked: Vec<_> = calls
        .lines()
        .filter(|line| !line.contains("rev-parse --path-format") && !line.contains("worktree list"))
        .collect();
    assert!(asked.is_empty(), "{asked:?}");
    assert!(!again.fresh);
    assert_eq!(again.head, head);
    let notice = again.notices.join("\n");
    says(&notice, "already existed");
    says(&notice, "your HEAD is");
}

#[test]
fn an_existing_branch_or_directory_is_reported_and_not_changed() {
    let (fixture, repo) = RepositoryFixture::with_repo();
    fixture.git_in(&repo, &["branch", "worktree-taken"]);
    says(
        &fixture.create(&repo, "taken").unwrap_err(),
        "the branch worktree-taken already exists",
    );
    fixture.write(&repo, ".claude/worktrees/there/file", "mine\n");
    fixture.git_in(&repo, &["config", "status.showUntrackedFiles", "no"]);
    let asked = request(&repo, "there", Some(Uncommitted::Leave));
    says(
        &fixture.worktrees().create(&asked).unwrap_err(),
        "already exists and is not a worktree of swarm",
    );
    assert!(repo.join(".claude/worktrees/there/file").exists());
    assert_eq!(fixture.branches(&repo), ["main", "worktree-taken"]);
}

#[test]
fn a_failed_spawn_removes_only_the_worktree_that_it_created() {
    let (fixture, repo) = RepositoryFixture::with_repo();
    let made = fixture.create(&repo, "one").unwrap();
    fixture.worktrees().undo(&made).unwrap();
    assert_eq!(
        (fixture.linked(&repo), fixture.branches(&repo).len()),
        (0, 1)
    );
    let made = fixture.left("two");
    fixture.write(&made.record.path, "work.txt", "work\n");
    let again = fixture.create(&repo, "two").unwrap();
    fixture.worktrees().undo(&again).unwrap();
    assert!(made.record.path.join("work.txt").exists());
    // It can be reused immediately.
    assert!(!fixture.create(&repo, "two").unwrap().fresh);
}

#[test]
fn only_sparse_paths_are_checked_out() {
    let mut fixture = RepositoryFixture::new();
    let repo = fixture.repo();
    fixture.commit_file(&repo, "docs/page.md", "page\n", "docs");
    fixture.settings.sparse_paths = vec!["docs".to_owned()];
    let made = fixture.create(&repo, "one").unwrap();
    assert!(made.record.path.join("docs/page.md").exists());
    assert!(!made.record.path.join("src").exists());
    assert_eq!(fixture.status(&made.record.path), "");
    assert!(repo.join("src/a.txt").exists());
    fixture.worktrees().rely_on_life_lock(&made).unwrap();
    fixture.remove("one", false).unwrap();
}

#[test]
fn the_environment_sets_the_hooks_path_and_disables_maintenance() {
    let (fixture, repo) = RepositoryFixture::with_repo();
    fixture.commit_file(&repo, ".gitignore", "/.husky/_/\n", "ignore");
    fixture.write(&repo, ".husky/_/pre-commit", "#!/bin/sh\ntouch hook-ran\n");
    executable(&repo.join(".husky/_/pre-commit"));
    fixture.git_in(&repo, &["config", "core.hooksPath", ".husky/_"]);
    let made = fixture.create(&repo, "one").unwrap();
    assert_eq!(made.record.hooks_path, Some(repo.join(".husky/_")));
    let mut env = std::collections::BTreeMap::new();
    env.insert("GIT_CONFIG_COUNT".to_owned(), "1".to_owned());
    made.record.extend_env(&mut env);
    assert_eq!(env["GIT_CONFIG_COUNT"], "4");
    assert_eq!(env["GIT_CONFIG_KEY_3"], "core.hooksPath");
    assert_eq!(env["GIT_CONFIG_KEY_1"], "gc.auto");
}

#[test]
fn the_notice_for_a_fork_names_both_directories() {
    let notice = moved_notice("/repo".as_ref(), "/repo/.claude/worktrees/x".as_ref());
    says(&notice, "/repo/.claude/worktrees/x");
    says(&notice, "/repo.");
    assert_eq!(
        Slug::of_agent("a1b2c3d4e5").unwrap().branch(),
        "worktree-agent-a1b2c3d4"
    );
}

#[test]
fn the_notice_names_the_branch_the_merge_command_and_the_missing_files() {
    let mut fixture = RepositoryFixture::new();
    fixture.settings.uncommitted = Uncommitted::Leave;
    let repo = fixture.repo();
    fixture.write(&repo, ".gitignore", "*.key\n.env\n");
    fixture.commit_file(&repo, ".worktreeinclude", ".env\n", "list");
    fixture.write(&repo, ".env", "A=b\n");
    fixture.write(&repo, "b.txt", "changed\n");
    let made = fixture.create(&repo, "x").unwrap();
    let notice = |resident| worktree_notice(&made, resident);
    let auto = notice(Resident::Teammate(MergeMode::Auto));
    for words in [
        &*made.record.path.display().to_string(),
        "Its branch is worktree-x, based on ",
        "Completing a task with TaskUpdate merges them into main",
        "`swarm worktree merge x`",
        "files that git ignores were not copied, except .env (copy).",
        "uncommitted changes were not copied: b.txt",
    ] {
        assert!(auto.contains(words), "{words}: {auto}");
    }
    let manual = notice(Resident::Teammate(MergeMode::Manual));
    assert!(!manual.contains("TaskUpdate"), "{manual}");
    let sub_agent = notice(Resident::SubAgent);
    says(&sub_agent, "`git merge worktree-x`");
    fixture.settings.uncommitted = Uncommitted::Snapshot;
    let made = fixture.create(&repo, "y").unwrap();
    let notice = worktree_notice(&made, Resident::Lead);
    says(
        &notice,
        "The commit that your branch is based on includes the uncommitted changes",
    );
    fixture.git_in(&repo, &["checkout", "-q", "-f", "--detach"]);
    let made = fixture.create(&repo, "z").unwrap();
    let notice = worktree_notice(&made, Resident::SubAgent);
    says(&notice, "no target branch");
}

pub(crate) fn executable(path: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn i5_creation_waits_for_a_checkout_that_another_git_process_is_adding() {
    let mut fixture = RepositoryFixture::new();
    // Every list fails like this between two writes of `git worktree add`.
    let script = "#!/bin/sh\ncase \" $* \" in *\" worktree list \"*) if mkdir \"$0.tried\" 2>/dev/null; then\n\
                  echo 'fatal: failed to read .git/worktrees/w/commondir: Success' >&2; exit 128; fi;; esac\n\
                  exec git \"$@\"\n";
    fixture.git = fixture.path("git");
    fs::write(&fixture.git, script).unwrap();
    executable(&fixture.git);
    fixture.create(&fixture.repo(), "one").unwrap();
    assert!(fixture.path("git.tried").exists());
}

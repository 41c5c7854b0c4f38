//! The sandbox of shell commands: attempts to get out of it, and what works inside.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;
use swarm_protocol::{SandboxKind, SandboxUse};
use swarm_tests::escapes::{disagreements, stated_rows, try_escapes, working_backends};
use swarm_tests::fake_api::{Ask, Reply};
use swarm_tests::{DEADLINE, wait_until};
use swarm_tools::ToolContext;

use super::guards::{Repository, bash};
use crate::scene::{spawn_with, team_with, wait_for_state, world};

const GUIDE: &str = include_str!("../../../docs/guide.md");

#[tokio::test]
async fn the_guide_says_what_each_sandbox_stops() {
    let world = world();
    let program = world.program("swarm-teammate");
    for backend in working_backends(&program) {
        // `scripts/stress escapes` makes all of them.
        let report = try_escapes(&program, backend, 2).await;
        let differing = disagreements(&stated_rows(GUIDE), backend, &report);
        assert!(differing.is_empty(), "{}: {differing:#?}", backend.name());
    }
}

/// Context of an agent in the main checkout, or `None` where no namespaces work.
pub(super) fn in_main_checkout(repository: &Repository) -> Option<ToolContext> {
    let program = repository.world.program("swarm-teammate");
    if !working_backends(&program).contains(&SandboxKind::Namespaces) {
        return None;
    }
    let mut ctx = repository.context("one");
    ctx.cwd = repository.world.project().canonicalize().unwrap();
    ctx.confine = None;
    let guards = Arc::make_mut(&mut ctx.guards);
    // Without the wrapper of git, which refuses some of its commands.
    (guards.sandbox, guards.shims) = (SandboxUse::Always, None);
    Some(ctx)
}

#[tokio::test]
async fn commands_have_terminals_of_their_own() {
    let repository = Repository::new();
    let Some(ctx) = in_main_checkout(&repository) else {
        return;
    };
    let opened =
        "python3 -c 'import pty, sys; sys.exit(pty.spawn([\"test\", \"-t\", \"0\"]))' < /dev/null";
    let opened = bash(opened, &ctx).await;
    assert!(!opened.is_error, "{}", opened.content);
}

#[tokio::test]
async fn placeholders_of_settings_are_invisible_to_git_and_removed() {
    let repository = Repository::new();
    let Some(ctx) = in_main_checkout(&repository) else {
        return;
    };
    let project = ctx.cwd.clone();
    std::fs::remove_dir_all(project.join(".claude")).unwrap();
    // Everything that walks the checkout works.
    let work = "echo x > new && git add -A && git status --porcelain && git reset -q && git stash -q -u \
        && test ! -e new && git stash pop -q > /dev/null && git clean -fdq && test ! -e new && git rebase -q HEAD && git worktree prune";
    let worked = bash(work, &ctx).await;
    assert_eq!(worked.content, "A  new", "{}", worked.content);
    let reserved = reserved_in(&project);
    assert!(reserved.iter().all(|path| path.exists()));
    let status = repository.git(&["status", "--porcelain"]);
    assert_eq!(status, "");
    let other = in_main_checkout(&repository).unwrap();
    assert!(!bash("true", &other).await.is_error);
    drop(ctx);
    let write = "echo '{}' > .mcp.json || echo '{}' > .claude/settings.json";
    assert!(bash(write, &other).await.is_error);
    drop(other);
    let left: Vec<_> = reserved.iter().filter(|path| path.exists()).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test]
async fn a_merge_adds_settings_of_programs_while_an_agent_runs() {
    let repository = Repository::new();
    let Some(ctx) = in_main_checkout(&repository) else {
        return;
    };
    let names = ["opencode.json", "opencode.jsonc", ".mcp.json"];
    for name in names {
        std::fs::write(ctx.cwd.join(name), "{}").unwrap();
    }
    let words = [&["add", "-f"][..], &names].concat();
    repository.git(&words);
    repository.git(&["commit", "-q", "-m", "settings"]);
    repository.git(&["branch", "settings"]);
    repository.git(&["reset", "-q", "--hard", "HEAD~1"]);
    assert!(!bash("true", &ctx).await.is_error);
    repository.git(&["merge", "-q", "settings"]);
    assert!(names.iter().all(|name| ctx.cwd.join(name).is_file()));
    let write = "echo x > opencode.json || echo x > .mcp.json";
    assert!(bash(write, &ctx).await.is_error, "they are read-only");
}

/// Paths of placeholders in a checkout without these files.
fn reserved_in(project: &Path) -> [PathBuf; 3] {
    [".claude", ".mcp.json", ".git/commondir"].map(|name| project.join(name))
}

#[test]
fn no_placeholder_remains_after_a_shutdown() {
    no_placeholder_remains_after("shutdown");
}

#[test]
fn no_placeholder_remains_after_a_kill() {
    no_placeholder_remains_after("kill");
}

fn no_placeholder_remains_after(end: &str) {
    let (_api, world) = team_with(|ask: &Ask| {
        if ask.result_of("a").is_none() {
            let command = "sleep 999 > /dev/null 2>&1 & true";
            Reply::tool("a", "Bash", json!({ "command": command }))
        } else {
            Reply::text("done")
        }
    });
    if !working_backends(&world.program("swarm-teammate")).contains(&SandboxKind::Namespaces) {
        return;
    }
    world.write("project/a.txt", "main\n");
    world.commit_project();
    world.write("root/swarm.toml", "[sandbox]\nbash = \"always\"\n");
    let reserved = reserved_in(&world.project());
    let more = ["--mode", "bypassPermissions", "--prompt", "go"];
    spawn_with(&world, "bob", &more);
    wait_for_state(&world, "bob", "idle");
    assert!(reserved.iter().all(|path| path.exists()));
    world.swarm(&[end, "bob"]).ok();
    let left: Vec<_> = reserved.iter().filter(|path| path.exists()).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test]
async fn an_empty_directory_of_the_user_stays() {
    let repository = Repository::new();
    let Some(ctx) = in_main_checkout(&repository) else {
        return;
    };
    let reserved = reserved_in(&ctx.cwd);
    let own = [ctx.cwd.join(".claude"), ctx.cwd.join(".git/hooks")];
    for directory in &own {
        std::fs::remove_dir_all(directory).unwrap();
        std::fs::create_dir(directory).unwrap();
    }
    let write = "echo x > .claude/x || echo x > .git/hooks/x";
    assert!(bash(write, &ctx).await.is_error);
    drop(ctx);
    assert!(own.iter().all(|path| path.is_dir()));
    assert!(!reserved[1].exists() && !reserved[2].exists());
}

#[tokio::test]
async fn settings_that_appear_outside_are_never_writable() {
    let repository = Repository::new();
    let Some(ctx) = in_main_checkout(&repository) else {
        return;
    };
    std::fs::remove_dir_all(ctx.cwd.join(".claude")).unwrap();
    // It tries all the time, also while the entries are mounted anew.
    let attack = "(while :; do { : > .claude/forged && : > forged; } 2> /dev/null; done) > /dev/null 2>&1 & true";
    assert!(!bash(attack, &ctx).await.is_error);
    let settings = ctx.cwd.join(".claude/settings.json");
    for _ in 0..20 {
        std::fs::write(&settings, "{}").unwrap();
        let seen = bash("cat .claude/settings.json", &ctx).await;
        assert_eq!(seen.content, "{}");
        std::fs::remove_file(&settings).unwrap();
        assert!(!bash("true", &ctx).await.is_error);
    }
    assert!(!ctx.cwd.join("forged").exists());
}

#[tokio::test]
async fn an_agent_in_the_main_checkout_cannot_redirect_the_git_of_worktrees() {
    let repository = Repository::new();
    let Some(ctx) = in_main_checkout(&repository) else {
        return;
    };
    let tree = ".claude/worktrees/one";
    for attempt in [
        "echo x > .git/worktrees/one/commondir",
        "echo x > .git/worktrees/one/gitdir",
        "rm .git/worktrees/one/commondir",
        "mv .git/worktrees/one .git/worktrees/old",
        "mv .git/worktrees .git/old",
        &format!("echo x > {tree}/.git"),
        &format!("rm {tree}/.git"),
        &format!("mv {tree} moved"),
        "mv .claude/worktrees moved",
        "git worktree remove .claude/worktrees/two",
    ] {
        let tried = bash(attempt, &ctx).await;
        assert!(tried.is_error, "{attempt}");
    }
    let work = format!(
        "echo y > {tree}/b && git -C {tree} add b && git -C {tree} commit -qm b \
         && git worktree add -q own && git worktree prune && git worktree remove own && git worktree list"
    );
    let worked = bash(&work, &ctx).await;
    assert!(!worked.is_error, "{}", worked.content);
    // Without its file, the configuration of a worktree could be created.
    repository.git(&["config", "extensions.worktreeConfig", "true"]);
    let created = bash("touch .git/worktrees/one/config.worktree", &ctx).await;
    assert!(created.is_error);
}

#[tokio::test]
async fn placeholders_remain_while_a_command_of_another_agent_runs() {
    let repository = Repository::new();
    let Some(one) = in_main_checkout(&repository) else {
        return;
    };
    let project = one.cwd.clone();
    let reserved = reserved_in(&project);
    std::fs::remove_dir_all(&reserved[0]).unwrap();
    assert!(!bash("true", &one).await.is_error);
    let other = in_main_checkout(&repository).unwrap();
    let end_one = tokio::task::spawn_blocking(move || {
        let started = || project.join("started").exists().then_some(());
        wait_until("the command runs", DEADLINE, started).unwrap();
        drop(one);
        std::fs::write(project.join("go"), "").unwrap();
    });
    let write = "touch started; until test -e go; do sleep 0.05; done; \
        ! { mkdir -p .claude && echo '{}' > .claude/settings.json; }";
    let written = bash(write, &other).await;
    end_one.await.unwrap();
    assert!(!written.is_error, "{}", written.content);
    drop(other);
    let left: Vec<_> = reserved.iter().filter(|path| path.exists()).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test]
async fn commands_see_worktrees_that_appear_later() {
    let repository = Repository::new();
    let Some(ctx) = in_main_checkout(&repository) else {
        return;
    };
    std::fs::remove_dir_all(ctx.cwd.join(".claude")).unwrap();
    assert!(!bash("true", &ctx).await.is_error);
    let path = ".claude/worktrees/three";
    repository.git(&["worktree", "add", "-q", "-b", "three", path]);
    let work = format!("git -C {path} diff && ls .claude/worktrees && touch {path}/new");
    let seen = bash(&work, &ctx).await;
    assert_eq!(seen.content, "three");
    assert!(bash("touch .claude/settings.json", &ctx).await.is_error);
}

#[tokio::test]
async fn a_configuration_that_git_replaces_outside_stays_read_only() {
    let repository = Repository::new();
    let Some(ctx) = in_main_checkout(&repository) else {
        return;
    };
    assert!(!bash("true", &ctx).await.is_error);
    for value in ["1", "2", "3"] {
        // The second write may give the file the number that it had first.
        repository.git(&["config", "swarm.test", value]);
        repository.git(&["config", "swarm.other", value]);
        let changed = bash("echo >> .git/config", &ctx).await;
        assert!(changed.is_error, "{value}");
    }
}

#[tokio::test]
async fn an_entry_that_cannot_be_mounted_is_named_and_tried_again() {
    let repository = Repository::new();
    let Some(ctx) = in_main_checkout(&repository) else {
        return;
    };
    assert!(!bash("true", &ctx).await.is_error);
    let common = ctx.cwd.join(".git/commondir");
    std::fs::remove_file(&common).unwrap();
    std::fs::write(&common, ".\n").unwrap();
    let file = std::fs::File::open(&common).unwrap();
    file.lock().unwrap();
    let refused = bash("true", &ctx).await;
    assert!(refused.is_error);
    let words = [common.to_str().unwrap(), "fuser"];
    assert!(
        words.iter().all(|word| refused.content.contains(word)),
        "{}",
        refused.content
    );
    drop(file);
    assert!(!bash("true", &ctx).await.is_error);
    assert!(bash("echo x > .git/commondir", &ctx).await.is_error);
}

#[tokio::test]
async fn later_commands_cannot_change_a_repository_that_an_earlier_one_created() {
    let repository = Repository::new();
    let Some(mut ctx) = in_main_checkout(&repository) else {
        return;
    };
    ctx.cwd = ctx.cwd.join("inner");
    std::fs::create_dir(&ctx.cwd).unwrap();
    let created = bash("sleep 999 > /dev/null 2>&1 & git init -q .", &ctx).await;
    assert!(!created.is_error, "{}", created.content);
    for change in [
        "git config core.fsmonitor x",
        "touch .git/hooks/post-commit",
        "echo x > .git/commondir",
        "mv .git old",
        "touch .claude/x",
        "touch .mcp.json/x",
    ] {
        assert!(bash(change, &ctx).await.is_error, "{change}");
    }
    // The earlier command still runs, and the work continues.
    let continued = bash(
        "pgrep -f 'sleep 999' > /dev/null && touch a && git add a && git commit -qm a",
        &ctx,
    )
    .await;
    assert!(!continued.is_error, "{}", continued.content);
    // What was replaced from outside is protected again.
    std::fs::remove_dir(ctx.cwd.join(".claude")).unwrap();
    std::fs::create_dir(ctx.cwd.join(".claude")).unwrap();
    assert!(bash("touch .claude/settings.json", &ctx).await.is_error);
}

#[tokio::test]
async fn an_agent_that_moves_to_a_worktree_writes_only_there() {
    let repository = Repository::new();
    let Some(mut ctx) = in_main_checkout(&repository) else {
        return;
    };
    assert!(!bash("echo x > a.txt", &ctx).await.is_error);
    let main = ctx.cwd.clone();
    let moved = repository.context("two");
    (ctx.cwd, ctx.confine) = (moved.cwd, moved.confine);
    assert!(!bash("echo x > a.txt", &ctx).await.is_error);
    let outside = format!("echo y > {}/a.txt", main.display());
    assert!(bash(&outside, &ctx).await.is_error);
}

#[tokio::test]
async fn an_agent_in_a_worktree_cannot_damage_packed_objects_and_branches_of_others() {
    let repository = Repository::new();
    let ctx = repository.context("one");
    if ctx.guards.backend != Some(SandboxKind::Namespaces) {
        return;
    }
    repository.git(&["branch", "-m", "one", "group/one"]);
    repository.git(&["branch", "-m", "two", "group/two"]);
    repository.git(&["repack", "-adq"]);
    let main = repository.git(&["symbolic-ref", "--short", "HEAD"]);
    let git = repository.git(&["rev-parse", "--absolute-git-dir"]);
    let (main, git) = (main.trim(), git.trim());
    for attempt in [
        "rm -f objects/pack/*.pack",
        "truncate -s 0 objects/pack/*.idx",
        "mv objects/pack/*.pack objects/",
        "mv objects/pack objects/old",
        "mv objects old",
        "echo /tmp > objects/info/alternates",
        &format!("echo 0 > refs/heads/{main}"),
        &format!("rm -f refs/heads/{main}"),
        "echo 0 > refs/heads/group/two",
        "mv refs/heads/group refs/heads/old",
        "mv refs/heads refs/old",
    ] {
        let tried = bash(&format!("cd {git} && {attempt}"), &ctx).await;
        assert!(tried.is_error, "{attempt}");
    }
    let work = format!(
        "set -e; echo x > x && git add x; git commit -qm x; git branch other HEAD~1; git tag t; git switch -q other; \
         echo y > y && git add y; git commit -qm y; git rebase -q {main}; git cherry-pick group/one > /dev/null; \
         echo z > y; test -n \"$(git stash create)\"; git commit -qam z; git merge -q group/one; git switch -q group/one; \
         git reset -q --keep HEAD~1; git fsck --no-progress --no-dangling"
    );
    let worked = bash(&work, &ctx).await;
    assert!(!worked.is_error, "{}", worked.content);
    repository.git(&["fsck", "--connectivity-only"]);
}

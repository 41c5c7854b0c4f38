//! A member that tries to get out of the worktree it was given.

use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use swarm_protocol::{SandboxUse, ShellGuards};
use swarm_tests::fake_api::{Ask, Reply};
use swarm_tests::stage::World;
use swarm_tools::Confinement;

use super::guards::{Repository, bash, kernel_has_none};
use crate::scene::{MODEL, team_with, wait_for_state};

/// What the member's shell finds out on its own before each attempt.
const KNOWS: &str = "shared=$(git rev-parse --path-format=absolute --git-common-dir); main=${shared%/.git}; \
                     bob=$main/.claude/worktrees/bob; ";

/// Ways out of a worktree; each ends well if it leads anywhere.
const ATTEMPTS: [&str; 15] = [
    "echo mine > $main/song.txt",
    "touch $main/new.txt",
    "(cd $main && rm song.txt)",
    "ln -s $main way && echo mine > way/song.txt",
    "python3 -c 'import os, sys; os.truncate(sys.argv[1], 0)' $main/song.txt",
    "echo mine > $bob/song.txt",
    "git -C $bob commit -q --allow-empty -m mine",
    "git -C $main commit -q --allow-empty -m mine",
    "git -C $main reset -q --hard",
    "git config core.fsmonitor 'touch /dev/null'",
    "git config --global user.name mine",
    "echo '[core]' >> $shared/config",
    "printf '#!/bin/sh\\n' > $shared/hooks/pre-commit",
    "echo 'ref: refs/heads/mine' > $shared/HEAD",
    "mv $shared/hooks $shared/hooks.old",
];

/// What it is there for, which goes on as ever.
const WORKS: &str = "rm -f way; echo four >> song.txt && git add song.txt && git commit -q -m 'a verse' && git status --short";

fn git(world: &World, at: &Path, words: &[&str]) -> String {
    let output = world
        .command("git")
        .arg("-C")
        .arg(at)
        .args(words)
        .output()
        .expect("git");
    assert!(output.status.success(), "git {words:?}: {output:?}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Everything of the repository that the member must not change, as text.
fn kept(world: &World) -> Vec<String> {
    let (main, bob) = (
        world.project(),
        world.project().join(".claude/worktrees/bob"),
    );
    let file = |path: &str| std::fs::read_to_string(main.join(path)).expect("a file");
    let hooks = std::fs::read_dir(main.join(".git/hooks"));
    let mut hooks: Vec<String> = hooks
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    hooks.sort();
    vec![
        file("song.txt"),
        file(".git/config"),
        file(".git/HEAD"),
        hooks.join(" "),
        git(world, &main, &["status", "--porcelain"]),
        git(world, &main, &["rev-parse", "main"]),
        git(world, &bob, &["status", "--porcelain"]),
        git(world, &bob, &["rev-parse", "HEAD"]),
    ]
}

#[test]
fn i2_the_shell_of_a_member_cannot_write_outside_its_worktree() {
    if kernel_has_none() {
        return;
    }
    let (api, world) = team_with(|ask: &Ask| {
        let id = |number: usize| format!("attempt-{number}");
        let next = (0..ATTEMPTS.len()).find(|number| ask.result_of(&id(*number)).is_none());
        match (next, ask.news_has("go") || ask.result_of(&id(0)).is_some()) {
            (_, false) => Reply::text("I see."),
            (Some(number), _) => {
                let command = format!("{KNOWS}{} && echo WENT THROUGH", ATTEMPTS[number]);
                Reply::tool(id(number), "Bash", json!({ "command": command }))
            }
            (None, _) if ask.result_of("works").is_none() => {
                Reply::tool("works", "Bash", json!({ "command": WORKS }))
            }
            (None, _) => Reply::text("done"),
        }
    });
    world.write("project/song.txt", "one\ntwo\nthree\n");
    world.commit_project();
    for name in ["alice", "bob"] {
        let arguments = ["spawn", name, "--worktree", "--model", MODEL];
        let rights = ["--backend", "headless", "--mode", "bypassPermissions"];
        world.swarm(&[&arguments[..], &rights].concat()).ok();
    }
    let before = kept(&world);
    world.swarm(&["send", "alice", "go"]).ok();
    let last = api.wait_for("the work", "alice", |ask| ask.result_of("works").is_some());
    for (number, attempt) in ATTEMPTS.iter().enumerate() {
        let (told, failed) = last
            .ask
            .result_of(&format!("attempt-{number}"))
            .expect("a result");
        assert!(
            failed && !told.contains("WENT THROUGH"),
            "{attempt}: {told}"
        );
    }
    // It is told what confines it, and its work is not blocked.
    let (told, _) = last.ask.result_of("attempt-0").expect("a result");
    assert!(told.contains("in your worktree"), "{told}");
    let (told, failed) = last.ask.result_of("works").expect("a result");
    assert!(!failed && !told.contains("song.txt"), "{told}");
    assert_eq!(kept(&world), before);
    wait_for_state(&world, "alice", "idle");
    world.swarm(&["worktree", "merge", "alice"]).ok();
    let sung = std::fs::read_to_string(world.project().join("song.txt")).expect("a file");
    assert_eq!(sung, "one\ntwo\nthree\nfour\n");
    for name in ["alice", "bob"] {
        world.swarm(&["shutdown", name]).ok();
    }
}

/// Makes git's directories of its own, one of which leads out, and names them in its `.git` file.
const FORGES: &str = "echo no > $HOME/before; mkdir -p fake/worktrees/x; echo ../.. > fake/worktrees/x/commondir; \
                      echo $PWD/.git > fake/worktrees/x/gitdir; ln -s $HOME fake/objects; \
                      echo gitdir: fake/worktrees/x > .git; echo forged";

/// The same without the look of a repository's directories.
const FORGES_PLAINLY: &str = "echo no > $HOME/before; mkdir -p fake; echo . > fake/commondir; ln -s $HOME fake/objects; \
                              echo gitdir: fake > .git; echo forged";

#[test]
fn i2_a_git_file_written_by_an_agent_is_no_escape() {
    if kernel_has_none() {
        return;
    }
    for forges in [FORGES, FORGES_PLAINLY] {
        let (api, world) = team_with(move |ask: &Ask| {
            let bash =
                |id: &str, command: &str| Reply::tool(id, "Bash", json!({ "command": command }));
            let had = |id: &str| ask.result_of(id).is_some();
            if !had("enter") {
                Reply::tool("enter", "EnterWorktree", json!({"name": "mine"}))
            } else if !had("forge") {
                bash("forge", forges)
            } else if !had("leave") {
                bash("leave", "echo owned > $HOME/.profile; echo tried")
            } else {
                Reply::text("done")
            }
        });
        world.write("project/song.txt", "one\n");
        world.commit_project();
        let run = ["run", "go", "--model", MODEL, "--mode", "bypassPermissions"];
        world.swarm(&run).ok();
        let last = api.requests().pop().expect("a request").ask;
        let (forged, _) = last.result_of("forge").expect("a result");
        assert!(forged.contains("forged"), "{forged}");
        let (told, _) = last.result_of("leave").expect("a result");
        let home = world.directory().join("home");
        assert!(
            !home.join(".profile").exists() && !home.join("before").exists(),
            "{told}"
        );
        assert!(told.contains("tried"), "{told}");
    }
}

#[tokio::test]
async fn i2_directories_replaced_by_links_are_no_escape() {
    if kernel_has_none() {
        return;
    }
    let repository = Repository::new();
    let home = repository.world.directory().join("home");
    let tree = repository.tree("one");
    let (memory, scratch) = (tree.join(".claude/agent-memory/x"), tree.join("scratch"));
    let mut ctx = repository.context("one");
    ctx.confine = Some(Arc::new(Confinement::new(&tree).also(&memory)));
    let mut env = (*ctx.env).clone();
    env.insert("TMPDIR".to_owned(), scratch.display().to_string());
    ctx.env = Arc::new(env);
    ctx.guards = Arc::new(ShellGuards {
        write: vec![tree.join("cache")],
        ..(*ctx.guards).clone()
    });
    std::fs::create_dir_all(tree.join(".claude/agent-memory")).unwrap();
    let command = "for at in .claude/agent-memory/x scratch cache; do ln -s $HOME $at; done";
    let made = bash(command, &ctx).await;
    assert!(!made.is_error, "{}", made.content);
    // What was resolved when the agent began, and what would be if it began now.
    let begun = ctx.clone();
    ctx.confine = Some(Arc::new(Confinement::new(&tree).also(&memory)));
    for ctx in [begun, ctx] {
        let output = bash("echo owned > $HOME/.profile", &ctx).await;
        assert!(
            output.is_error && !home.join(".profile").exists(),
            "{}",
            output.content
        );
        // What it is there for goes on as ever.
        let output = bash("git commit -q --allow-empty -m more", &ctx).await;
        assert!(!output.is_error, "{}", output.content);
    }
}

#[tokio::test]
async fn i2_without_a_worktree_a_forged_git_file_is_no_escape_either() {
    if kernel_has_none() {
        return;
    }
    let repository = Repository::new();
    let mut ctx = repository.context("one");
    ctx.confine = None;
    ctx.guards = Arc::new(ShellGuards {
        sandbox: SandboxUse::Always,
        ..(*ctx.guards).clone()
    });
    let worked = bash("git commit -q --allow-empty -m more", &ctx).await;
    assert!(!worked.is_error, "{}", worked.content);
    for forges in [FORGES, FORGES_PLAINLY] {
        let forged = bash(&format!("rm -rf fake; {forges}"), &ctx).await;
        assert!(forged.content.contains("forged"), "{}", forged.content);
        let output = bash("echo owned > $HOME/.profile", &ctx).await;
        let home = repository.world.directory().join("home");
        assert!(
            output.is_error && !home.join(".profile").exists() && !home.join("before").exists(),
            "{}",
            output.content
        );
    }
}

//! Agents in worktrees of one repository: what they write, and what of git they share.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use swarm_protocol::{MemberName, SANDBOX_HELPER, SandboxKind, SandboxUse, ShellGuards};
use swarm_tests::fake_api::{Ask, Reply};
use swarm_tests::stage::World;
use swarm_tools::sandbox::{landlock_works, probe_sandbox};
use swarm_tools::{Caller, Confinement, ProtectedPaths, ToolContext, ToolOutput, builtin};

use crate::scene::{spawn_idle, team_with, world};

/// A repository with worktrees for two mates, and the real programs.
pub(super) struct Repository {
    pub(super) world: World,
}

impl Repository {
    pub(super) fn new() -> Self {
        let world = world();
        world.write("project/a.txt", "main\n");
        world.commit_project();
        for mate in ["one", "two"] {
            let path = format!(".claude/worktrees/{mate}");
            git(
                &world,
                &world.project(),
                &["worktree", "add", "-q", "-b", mate, &path],
            );
        }
        Self { world }
    }

    /// Runs git in the main checkout, outside any sandbox.
    pub(super) fn git(&self, words: &[&str]) -> String {
        git(&self.world, &self.main(), words)
    }

    fn main(&self) -> PathBuf {
        self.world.project().canonicalize().unwrap()
    }

    pub(super) fn tree(&self, mate: &str) -> PathBuf {
        self.main().join(".claude/worktrees").join(mate)
    }

    /// The context of a mate's calls, with the sandbox and the wrapper programs.
    pub(super) fn context(&self, mate: &str) -> ToolContext {
        let program = self.world.program("swarm-teammate");
        let shims = self.world.directory().join("shims");
        std::fs::create_dir_all(&shims).unwrap();
        if !shims.join("git").exists() {
            std::os::unix::fs::symlink(&program, shims.join("git")).unwrap();
        }
        let text = |path: &Path| path.display().to_string();
        let env = BTreeMap::from([
            ("PATH".to_owned(), std::env::var("PATH").unwrap()),
            (
                "HOME".to_owned(),
                text(&self.world.directory().join("home")),
            ),
            ("SWARM_NAME".to_owned(), mate.to_owned()),
            ("GIT_CONFIG_NOSYSTEM".to_owned(), "1".to_owned()),
            ("GIT_AUTHOR_NAME".to_owned(), mate.to_owned()),
            ("GIT_AUTHOR_EMAIL".to_owned(), format!("{mate}@example.com")),
            ("GIT_COMMITTER_NAME".to_owned(), mate.to_owned()),
            (
                "GIT_COMMITTER_EMAIL".to_owned(),
                format!("{mate}@example.com"),
            ),
        ]);
        let caller = Caller::new(MemberName::parse(mate).unwrap());
        ToolContext {
            confine: Some(Arc::new(Confinement::new(&self.tree(mate)))),
            env: Arc::new(env),
            protected: Arc::new(ProtectedPaths::new(&self.world.root())),
            guards: Arc::new(ShellGuards {
                backend: probe_sandbox(&[text(&program), SANDBOX_HELPER.to_owned()]).backend,
                helper: vec![text(&program), SANDBOX_HELPER.to_owned()],
                shims: Some(shims),
                ..ShellGuards::default()
            }),
            tool_use_id: "t".to_owned(),
            ..ToolContext::new(self.tree(mate), caller)
        }
    }
}

fn git(world: &World, directory: &Path, words: &[&str]) -> String {
    let output = world
        .command("git")
        .arg("-C")
        .arg(directory)
        .args(words)
        .output()
        .unwrap();
    assert!(output.status.success(), "git {words:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

async fn call(tool: &str, input: Value, ctx: &ToolContext) -> ToolOutput {
    let tool = builtin()
        .into_iter()
        .find(|known| known.name() == tool)
        .unwrap();
    tool.call(input, ctx).await
}

pub(super) async fn bash(command: &str, ctx: &ToolContext) -> ToolOutput {
    call("Bash", json!({ "command": command }), ctx).await
}

/// Says so where nothing can be proven, since a test that passes in silence would look like a proof.
#[expect(
    clippy::print_stderr,
    reason = "the developer must see that the test was skipped"
)]
pub(crate) fn kernel_has_none() -> bool {
    let absent = !landlock_works();
    if absent {
        eprintln!("NOT PROVEN HERE: no sandbox works, so no command was held in its worktree");
    }
    absent
}

#[tokio::test]
async fn i2_file_tools_write_only_in_the_own_worktree_and_name_the_right_path() {
    let repository = Repository::new();
    let ctx = repository.context("one");
    let outside = repository.main().join("a.txt");
    let own = repository.tree("one").join("a.txt").display().to_string();
    call("Read", json!({"file_path": outside}), &ctx).await;
    for (tool, input) in [
        ("Write", json!({"file_path": outside, "content": "mine"})),
        (
            "Edit",
            json!({"file_path": outside, "old_string": "main", "new_string": "mine"}),
        ),
    ] {
        let output = call(tool, input, &ctx).await;
        assert!(
            output.is_error && output.content.contains(&own),
            "{}",
            output.content
        );
    }
    let status = git(
        &repository.world,
        &repository.main(),
        &["status", "--porcelain", "-uno"],
    );
    assert_eq!(status, "");
}

#[tokio::test]
async fn a_command_leads_a_group_of_a_session_without_a_terminal_with_the_sandbox_and_without() {
    let repository = Repository::new();
    for sandbox in [SandboxUse::Off, SandboxUse::Worktree] {
        let mut ctx = repository.context("one");
        Arc::make_mut(&mut ctx.guards).sandbox = sandbox;
        let output = bash("sed 's/.*) //' /proc/$$/stat; echo $$", &ctx).await;
        let lines: Vec<&str> = output.content.lines().collect();
        let fields: Vec<&str> = lines[0].split(' ').collect();
        let [group, session, terminal] = fields[2..5] else {
            panic!("{output:?}");
        };
        assert_eq!([group, terminal], [lines[1], "0"], "{sandbox}: {output:?}");
        // In namespaces it is the session of the helper that starts the agent's commands.
        let namespaces = ctx.guards.backend == Some(SandboxKind::Namespaces);
        let shares = sandbox == SandboxUse::Worktree && namespaces;
        assert_eq!(session != lines[1], shares, "{sandbox}: {output:?}");
    }
}

#[tokio::test]
async fn i2_commands_write_only_in_the_own_worktree() {
    if kernel_has_none() {
        return;
    }
    let repository = Repository::new();
    let ctx = repository.context("one");
    let main = repository.main();
    let (at, other) = (main.display(), repository.tree("two"));
    for command in [
        format!("echo mine > {at}/a.txt"),
        format!("touch {at}/new"),
        format!("cd {at} && rm a.txt"),
        format!("ln -s {at}/a.txt way && echo mine > way"),
        format!("mv {at}/a.txt ."),
        format!("sed -i s/main/mine/ {at}/a.txt"),
        format!("echo mine > {}/a.txt", other.display()),
        format!("echo '#!/bin/sh' > {at}/.git/hooks/post-commit"),
        "git config core.hooksPath /x".to_owned(),
        format!("echo x >> {}/teams/x", repository.world.root().display()),
        format!("bash -c 'python3 -c pass; perl -e 1; : > {at}/a.txt'"),
    ] {
        let output = bash(&command, &ctx).await;
        assert!(output.is_error, "{command}: {}", output.content);
    }
    let told = bash(&format!("touch {at}/new"), &ctx).await.content;
    assert!(told.contains("in your worktree"), "{told}");
    let status = git(&repository.world, &main, &["status", "--porcelain", "-uno"]);
    assert_eq!(status, "");
    assert_eq!(
        git(
            &repository.world,
            &main,
            &["rev-parse", "--abbrev-ref", "HEAD"]
        )
        .trim()
        .len(),
        git(&repository.world, &main, &["branch", "--show-current"])
            .trim()
            .len()
    );
    assert!(!main.join("new").exists() && !main.join(".git/hooks/post-commit").exists());
    assert_eq!(
        git(&repository.world, &other, &["status", "--porcelain"]),
        ""
    );
}

#[tokio::test]
async fn i2_git_works_normally_in_a_sandboxed_worktree() {
    if kernel_has_none() {
        return;
    }
    let repository = Repository::new();
    let ctx = repository.context("one");
    for command in [
        "echo one > new.txt && git add new.txt && git commit -q -m 'one more'",
        "git branch side && git switch -q side && echo 2 >> new.txt && git commit -qam two && git switch -q one",
        "git merge -q side && git log --oneline && git tag mark && git reset -q --hard HEAD~1 && git status",
        "git rebase -q side && git diff HEAD~1 && git rev-parse HEAD",
        "file=$(mktemp) && echo x > $file && cat $file && echo > /dev/null && cat a.txt",
    ] {
        let output = bash(command, &ctx).await;
        assert!(
            !output.is_error && !output.content.contains("packed-refs"),
            "{command}: {}",
            output.content
        );
    }
    let log = git(
        &repository.world,
        &repository.main(),
        &["log", "--format=%s", "one"],
    );
    assert!(log.contains("one more"), "{log}");
    assert_eq!(
        git(
            &repository.world,
            &repository.main(),
            &["status", "--porcelain", "-uno"]
        ),
        ""
    );
}

#[tokio::test]
async fn i2_a_finished_git_operation_in_a_sandboxed_worktree_leaves_no_state() {
    if kernel_has_none() {
        return;
    }
    let repository = Repository::new();
    let ctx = repository.context("one");
    let begin = "git switch -qc side && echo side > a.txt && git commit -qam side && git switch -q one \
                 && echo one > a.txt && git commit -qam one && cat a.txt";
    let output = bash(begin, &ctx).await;
    assert_eq!(output.content, "one");
    let staged = "echo both > a.txt && git add a.txt";
    for (starts, ends) in [
        ("git cherry-pick side", "git commit -qm picked"),
        (
            "git cherry-pick side",
            "git -c alias.ci='commit -q' ci -m picked",
        ),
        ("git cherry-pick side", "git cherry-pick --continue"),
        ("git cherry-pick side", "git cherry-pick --abort"),
        ("git cherry-pick side", "git reset -q --hard"),
        ("git revert --no-edit HEAD~1", "git revert --continue"),
        ("git merge -q side", "git commit -qm merged"),
        ("git rebase -q side", "git rebase --continue"),
        ("git rebase -q side", "git rebase --abort"),
    ] {
        bash("git tag -f before", &ctx).await;
        let started = bash(starts, &ctx).await;
        assert!(
            started.is_error && started.content.contains("CONFLICT"),
            "{starts}: {}",
            started.content
        );
        let command = format!("{staged} && GIT_EDITOR=true {ends}");
        let ended = bash(&command, &ctx).await;
        assert!(!ended.is_error, "{starts}, {ends}: {}", ended.content);
        for told in [started.content, ended.content] {
            assert!(!told.contains("packed-refs"), "{starts}, {ends}: {told}");
        }
        let status = bash("git status", &ctx).await.content;
        assert!(
            !status.contains("You are currently") && status.contains("On branch one"),
            "{starts}, {ends}: {status}"
        );
        let left = bash(
            "ls $(git rev-parse --git-dir) | grep -E 'PICK|REVERT|MERGE|REBASE'",
            &ctx,
        )
        .await;
        assert!(
            !left.content.contains("HEAD") && !left.content.contains("AUTO"),
            "{ends}: {}",
            left.content
        );
        bash("git reset -q --hard before", &ctx).await;
    }
    // An unsupported operation is explained.
    let told = bash("git branch -D side", &ctx).await;
    assert!(
        told.is_error
            && told
                .content
                .contains("cannot delete or rename in the sandbox"),
        "{}",
        told.content
    );
}

#[tokio::test]
async fn i2_without_a_sandbox_file_tools_stay_confined_and_a_required_sandbox_refuses_commands() {
    let repository = Repository::new();
    let mut ctx = repository.context("one");
    // As on a kernel that has none.
    ctx.guards = Arc::new(ShellGuards {
        helper: Vec::new(),
        ..(*ctx.guards).clone()
    });
    assert!(!bash("echo free", &ctx).await.is_error);
    let outside = repository.main().join("b.txt");
    let output = call("Write", json!({"file_path": outside, "content": "x"}), &ctx).await;
    assert!(output.is_error, "{}", output.content);
    ctx.guards = Arc::new(ShellGuards {
        required: true,
        ..(*ctx.guards).clone()
    });
    let output = bash("echo free", &ctx).await;
    assert!(
        output.is_error && output.content.contains("sandbox.required"),
        "{}",
        output.content
    );
}

#[tokio::test]
async fn i6_mates_that_stash_and_pop_a_hundred_times_keep_their_own_files() {
    const COMMAND: &str = "for i in $(seq 25); do git stash -q -u; git stash pop -q; done 2>said; tail -n 1 said; rm said";
    let repository = Repository::new();
    for mate in ["one", "two"] {
        let tree = repository.tree(mate);
        std::fs::write(tree.join("a.txt"), format!("{mate} was here\n")).unwrap();
        std::fs::write(tree.join("own.txt"), mate).unwrap();
    }
    let (one, two) = (repository.context("one"), repository.context("two"));
    let (first, second) = tokio::join!(bash(COMMAND, &one), bash(COMMAND, &two));
    for told in [first.content, second.content] {
        assert!(
            told.contains("refused by swarm: git stash uses one stack"),
            "{told}"
        );
    }
    for mate in ["one", "two"] {
        let read = |name: &str| std::fs::read_to_string(repository.tree(mate).join(name)).unwrap();
        assert_eq!(
            (read("a.txt"), read("own.txt")),
            (format!("{mate} was here\n"), mate.to_owned())
        );
    }
    assert_eq!(
        git(&repository.world, &repository.main(), &["stash", "list"]),
        ""
    );
    // What the refusal advises works, and stays with who does it.
    let advised = "at=$(git stash create) && git checkout -q -- a.txt && cat a.txt && git stash apply -q $at && cat a.txt";
    let output = bash(advised, &one).await;
    assert_eq!(output.content, "main\none was here", "{}", output.content);
}

#[test]
fn i6_a_mate_without_a_worktree_cannot_switch_branches_but_the_person_can() {
    let (api, world) = team_with(|ask: &Ask| {
        let bash = |id: &str, command: &str| Reply::tool(id, "Bash", json!({ "command": command }));
        match (
            ask.result_of("t1"),
            ask.result_of("t2"),
            ask.result_of("t3"),
            ask.result_of("t4"),
        ) {
            (None, ..) => bash("t1", "git switch -c mine"),
            (_, None, ..) => bash("t2", "git checkout -q -b mine"),
            (.., None) if ask.result_of("t3").is_some() => bash(
                "t4",
                "for words in 'reset --hard' 'checkout .' 'restore .' 'clean -fdq' '--attr-source HEAD reset --hard'; do git $words && echo GONE; done; cat of-the-person.txt b.txt",
            ),
            (_, _, None, _) => bash(
                "t3",
                "echo x > a.txt; git checkout -- a.txt && git status --short && git --version",
            ),
            _ => Reply::text("done"),
        }
    });
    world.write("project/a.txt", "main\n");
    world.write("project/b.txt", "b\n");
    world.commit_project();
    world.write("project/b.txt", "not committed\n");
    world.write("project/of-the-person.txt", "not known\n");
    let before = git(&world, &world.project(), &["branch", "--show-current"]);
    spawn_idle(&world, "bob");
    let last = api.requests().last().unwrap().ask.clone();
    for id in ["t1", "t2"] {
        let (told, failed) = last.result_of(id).unwrap();
        assert!(failed && told.contains("this checkout is shared"), "{told}");
    }
    let (told, failed) = last.result_of("t3").unwrap();
    assert!(!failed && told.contains("git version"), "{told}");
    // Nor does it drop what may belong to another agent.
    let (told, _) = last.result_of("t4").unwrap();
    assert!(
        !told.contains("GONE") && told.contains("not committed"),
        "{told}"
    );
    assert_eq!(told.matches("would discard").count(), 5, "{told}");
    assert_eq!(
        git(&world, &world.project(), &["branch", "--show-current"]),
        before
    );
    git(
        &world,
        &world.project(),
        &["switch", "-q", "-c", "of-the-person"],
    );
    world.swarm(&["shutdown", "bob"]).ok();
}

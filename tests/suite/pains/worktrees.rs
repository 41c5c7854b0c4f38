//! Members who work apart from each other.

use std::path::{Path, PathBuf};

use serde_json::json;
use swarm_tests::fake_api::{Ask, FakeApi, Reply};
use swarm_tests::stage::World;

use super::guards::kernel_has_none;
use crate::scene::{runs_once, spawn_args, spawn_with, wait_for_state, world_over};

/// Runs git in a directory as a person would.
pub(crate) fn git(world: &World, at: &Path, arguments: &[&str]) -> String {
    let output = world
        .command("git")
        .current_dir(at)
        .args(arguments)
        .output()
        .expect("git");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {arguments:?}: {said}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// A project with one file in a repository.
pub(crate) fn project(api: &FakeApi) -> World {
    let world = world_over(api);
    world.write("project/song.txt", "one\ntwo\nthree\n");
    world.commit_project();
    world
}

pub(crate) fn spawn_apart(world: &World, name: &str) -> PathBuf {
    let arguments = spawn_args(name, "headless", &["--worktree"]);
    let rights = ["--mode", "bypassPermissions", "--prompt", "hello"];
    world.swarm(&[&arguments[..], &rights].concat()).ok();
    world.project().join(".claude/worktrees").join(name)
}

pub(crate) fn commit(world: &World, at: &Path, file: &str, text: &str) {
    std::fs::write(at.join(file), text).expect("a file");
    git(world, at, &["add", "-A"]);
    git(world, at, &["commit", "-q", "-m", "work"]);
}

#[test]
fn i1_a_member_with_a_worktree_reports_its_path_or_is_not_spawned() {
    let api = FakeApi::start(|_: &Ask| Reply::text("I see."));
    let world = project(&api);
    let head = git(&world, &world.project(), &["rev-parse", "HEAD"]);
    let path = spawn_apart(&world, "alice");
    let hello = world.team("demo").hello("alice");
    assert_eq!(
        hello["worktree"],
        json!({"toplevel": path, "branch": "worktree-alice", "head": head})
    );
    assert_eq!(hello["cwd"], json!(path));
    let member = world.team("demo").member("alice").expect("alice");
    assert_eq!(member["worktreePath"], json!(path));
    let listed = world.swarm(&["worktree", "list", "--json"]).json();
    assert_eq!(listed[0]["state"], "in-use");
    assert_eq!(listed[0]["base"]["sha"], json!(head));

    // A missing worktree is an error: no member works in the shared checkout instead.
    std::fs::write(world.project().join("song.txt"), "changed\n").expect("a file");
    let arguments = spawn_args("bob", "headless", &["--worktree", "--json"]);
    let said = world.swarm(&arguments).error(4);
    assert!(said.to_string().contains("uncommitted changes"), "{said}");
    assert!(world.team("demo").member("bob").is_none());
    git(&world, &world.project(), &["checkout", "-q", "song.txt"]);

    // A member that died continues in its worktree; one whose worktree is gone gets a note.
    crate::scene::kill_member(&world, "alice");
    world.swarm(&["status"]).ok();
    spawn_with(&world, "alice", &[]);
    assert_eq!(world.team("demo").hello("alice")["cwd"], json!(path));
    crate::scene::kill_member(&world, "alice");
    world.swarm(&["status"]).ok();
    std::fs::remove_dir_all(&path).expect("the worktree");
    let again = spawn_args("alice", "headless", &["--json"]);
    let said = world.swarm(&again).error(4);
    assert!(said.to_string().contains("is gone"), "{said}");
    world.swarm(&["shutdown", "alice"]).ok();
}

#[test]
fn i1_a_replaced_member_continues_in_its_worktree_and_a_former_one_starts() {
    let api = FakeApi::start(|_: &Ask| Reply::text("I see."));
    let world = project(&api);
    let path = spawn_apart(&world, "alice");
    wait_for_state(&world, "alice", "idle");
    // A worktree without changes goes with its member, and one with uncommitted changes stays.
    for changes in [false, true] {
        if changes {
            std::fs::write(path.join("song.txt"), "alice\n").expect("a file");
        }
        spawn_with(&world, "alice", &["--replace"]);
        let member = world.team("demo").member("alice").expect("alice");
        assert_eq!(member["worktreePath"], json!(path), "{member}");
        assert_eq!(world.team("demo").hello("alice")["cwd"], json!(path));
    }
    let song = std::fs::read_to_string(path.join("song.txt")).expect("the file");
    assert_eq!(song, "alice\n");
    world.swarm(&["kill", "alice"]).ok();
    // One that left before its first turn, with its worktree, can be started again.
    spawn_with(&world, "bob", &["--worktree", "--mode", "plan"]);
    world.swarm(&["kill", "bob"]).ok();
    spawn_with(&world, "bob", &[]);
    let member = world.team("demo").member("bob").expect("bob");
    assert_eq!(member["mode"], "plan", "{member}");
    world.swarm(&["shutdown", "bob"]).ok();
}

#[test]
fn i1_a_failed_spawn_leaves_no_worktree_and_no_budget() {
    let api = FakeApi::start(|_: &Ask| Reply::text("I see."));
    let program = Path::new(env!("CARGO_BIN_EXE_dies-early"));
    let world = project(&api).with_teammate(program);
    let more = ["--worktree", "--budget", "500k-tokens", "--json"];
    let failed = world.swarm(&spawn_args("alice", "headless", &more));
    failed.assert_code(9);
    let budgets = world.swarm(&["cost", "--json"]).json()["budgets"].clone();
    assert_eq!(budgets, json!([]), "its budget goes with it");
    let project = world.project();
    let branches = git(&world, &project, &["branch", "--list", "worktree-*"]);
    assert_eq!(branches, "");
    assert!(!project.join(".claude/worktrees/alice").exists());
    let listed = world.swarm(&["worktree", "list", "--json"]).json();
    assert_eq!(listed, json!([]));
}

#[test]
fn i4_an_unmergeable_worktree_is_not_offered_for_merging() {
    let api = FakeApi::start(|_: &Ask| Reply::text("I see."));
    let world = project(&api);
    let alice = spawn_apart(&world, "alice");
    git(&world, &alice, &["checkout", "-q", "-b", "elsewhere"]);
    commit(&world, &alice, "new.txt", "new\n");
    wait_for_state(&world, "alice", "idle");
    world
        .swarm(&["shutdown", "alice"])
        .stderr_has("branch elsewhere")
        .stderr_lacks("worktree merge");
    world.swarm(&["worktree", "merge", "alice"]).assert_code(4);
}

#[test]
fn i4_a_worktree_with_work_is_kept_and_reported_when_its_member_ends() {
    let api = FakeApi::start(|_: &Ask| Reply::text("I see."));
    let world = project(&api);
    let (alice, bob) = (spawn_apart(&world, "alice"), spawn_apart(&world, "bob"));
    commit(&world, &alice, "new.txt", "new\n");
    wait_for_state(&world, "alice", "idle");
    wait_for_state(&world, "bob", "idle");
    world
        .swarm(&["worktree", "merge", "--all"])
        .stderr_has("they are in use: alice, bob");
    let stopped = world.swarm(&["shutdown", "alice", "--json"]).json();
    assert_eq!(stopped["worktree"]["kept"], true, "{stopped}");
    assert_eq!(stopped["worktree"]["branch"], "worktree-alice");
    let stopped = world.swarm(&["shutdown", "bob", "--json"]).json();
    assert_eq!(stopped["worktree"]["kept"], false, "{stopped}");
    assert!(alice.join("new.txt").exists() && !bob.exists());
    let branches = git(
        &world,
        &world.project(),
        &["branch", "--list", "worktree-*"],
    );
    assert_eq!(branches.trim_start_matches("+ "), "worktree-alice");
    // Nothing is lost by force either.
    let removed = world
        .swarm(&["worktree", "remove", "alice", "--force", "--json"])
        .json();
    let saved = removed["rescueRef"].as_str().expect("a ref").to_owned();
    let shown = git(
        &world,
        &world.project(),
        &["show", &format!("{saved}:new.txt")],
    );
    assert_eq!(shown, "new");
}

#[test]
fn t8_a_task_is_completed_only_when_its_work_is_in_the_target() {
    // Alice completes her task when she is asked to.
    let api = FakeApi::start(|ask: &Ask| {
        let completes = json!({"taskId": "1", "status": "completed", "result": "sung"});
        match ask.result_of("done") {
            None if ask.news_has("finish") => Reply::tool("done", "TaskUpdate", completes),
            _ => Reply::text("I see."),
        }
    });
    let world = project(&api);
    let project = world.project();
    let path = spawn_apart(&world, "alice");
    world.swarm(&["task", "create", "sing"]).ok();
    world.swarm(&["task", "claim", "1", "--as", "alice"]).ok();
    commit(&world, &path, "song.txt", "one\nALICE\nthree\n");
    commit(&world, &project, "song.txt", "one\nMAIN\nthree\n");
    let target = git(&world, &project, &["rev-parse", "main"]);
    world.swarm(&["send", "alice", "finish"]).ok();
    let answered = api.wait_for("the answer", "alice", |ask| ask.result_of("done").is_some());
    let (said, is_error) = answered.ask.result_of("done").expect("an answer");
    assert!(is_error && said.contains("song.txt"), "{said}");
    let task = world.team("demo").task(1);
    assert_eq!(
        (&task["status"], &task["owner"]),
        (&json!("in_progress"), &json!("alice"))
    );
    assert_eq!(git(&world, &project, &["rev-parse", "main"]), target);
    assert_eq!(git(&world, &project, &["status", "--porcelain"]), "");

    // A person is refused as well, and the owner hears of it.
    let force = [
        "task",
        "update",
        "1",
        "--status",
        "completed",
        "--force",
        "--json",
    ];
    let refused = world.swarm(&force).error(4);
    assert!(refused.to_string().contains("song.txt"), "{refused}");
    let mail = world.team("demo").inbox("alice");
    assert!(
        mail.iter()
            .any(|entry| entry["text"].to_string().contains("is not completed")),
        "{mail:#?}"
    );

    // Once it is fixed the same command merges and completes.
    git(&world, &path, &["merge", "-q", "-s", "ours", "main"]);
    world.swarm(&force).ok();
    assert_eq!(world.team("demo").task(1)["status"], "completed");
    assert_eq!(
        std::fs::read_to_string(project.join("song.txt")).expect("a file"),
        "one\nALICE\nthree\n"
    );
    git(
        &world,
        &project,
        &["merge-base", "--is-ancestor", "worktree-alice", "main"],
    );
    wait_for_state(&world, "alice", "idle");
    world.swarm(&["shutdown", "alice"]).ok();
    assert!(!path.exists());
}

#[test]
fn t8_with_manual_merging_a_task_is_completed_without() {
    let api = FakeApi::start(|_: &Ask| Reply::text("I see."));
    let world = project(&api).with_variable("SWARM_WORKTREE_MERGE", "manual");
    let path = spawn_apart(&world, "alice");
    world.swarm(&["task", "create", "sing"]).ok();
    world.swarm(&["task", "claim", "1", "--as", "alice"]).ok();
    commit(&world, &path, "new.txt", "new\n");
    world
        .swarm(&["task", "update", "1", "--status", "completed", "--force"])
        .ok();
    assert!(!world.project().join("new.txt").exists());
    world.swarm(&["worktree", "merge", "alice"]).ok();
    assert!(world.project().join("new.txt").exists());
    wait_for_state(&world, "alice", "idle");
    world.swarm(&["shutdown", "alice"]).ok();
}

#[test]
fn t8_hooks_see_a_task_that_may_be_completed_and_before_its_work_is_merged() {
    let api = FakeApi::start(|_: &Ask| Reply::text("I see."));
    let world = project(&api);
    let project = world.project();
    let (asked, agrees) = (
        world.directory().join("out/asked"),
        world.directory().join("out/agrees"),
    );
    let hook = format!(
        "echo >> {}; [ -e {} ] || {{ echo not yet >&2; exit 2; }}",
        asked.display(),
        agrees.display()
    );
    let hooks =
        json!({"hooks": {"TaskCompleted": [{"hooks": [{"type": "command", "command": hook}]}]}});
    world.write("root/settings.json", &hooks.to_string());
    let times = || std::fs::read_to_string(&asked).map_or(0, |text| text.lines().count());
    let complete = |id: &str, force: &[&str]| {
        let arguments = ["task", "update", id, "--status", "completed"];
        world.swarm(&[&arguments[..], force].concat())
    };
    let path = spawn_apart(&world, "alice");
    world.swarm(&["task", "create", "listen"]).ok();
    let sing = [
        "task",
        "create",
        "sing",
        "--owner",
        "alice",
        "--blocked-by",
        "1",
    ];
    world.swarm(&sing).ok();
    commit(&world, &path, "new.txt", "new\n");
    let made = project.join("new.txt");

    // It waits for another: no hook is asked, nothing is merged.
    assert_ne!(complete("2", &["--force"]).code, Some(0));
    assert_eq!((times(), made.exists()), (0, false));
    std::fs::write(&agrees, "").expect("a file");
    complete("1", &["--force"]).ok();
    assert_eq!(complete("1", &["--force"]).code, Some(0));
    assert_eq!(times(), 1);

    // What the hook refuses is not merged; the same command merges and completes when it agrees.
    std::fs::remove_file(&agrees).expect("a file");
    let refused = complete("2", &["--force"]);
    assert_eq!(refused.code, Some(5), "{}", refused.story());
    refused.stderr_has("not yet");
    assert_eq!((times(), made.exists()), (2, false));
    assert_eq!(world.team("demo").task(2)["status"], "pending");
    std::fs::write(&agrees, "").expect("a file");
    complete("2", &["--force"]).ok();
    assert_eq!((times(), made.exists()), (3, true));
    wait_for_state(&world, "alice", "idle");
    world.swarm(&["shutdown", "alice"]).ok();
}

#[test]
fn i8_a_member_reads_the_dependencies_of_the_main_checkout_and_changes_none() {
    const CHANGES: &str = "cat node_modules/dep/c.js && for file in node_modules/dep/c.js \
                           node_modules/@x/y/c.js; do echo mine > $file; done; \
                           rm -rf node_modules/dep/c.js; echo tried";
    let api = runs_once(CHANGES);
    let world = project(&api);
    for (path, text) in [
        (".gitignore", "node_modules/\n"),
        ("node_modules/dep/c.js", "yours\n"),
        ("node_modules/@x/y/c.js", "yours\n"),
    ] {
        world.write(&format!("project/{path}"), text);
    }
    world.commit_project();
    spawn_apart(&world, "alice");
    let last = api.wait_for("the result", "alice", |ask| ask.result_of("t1").is_some());
    let (result, _) = last.ask.result_of("t1").unwrap();
    assert!(
        result.contains("yours") && result.contains("tried"),
        "{result}"
    );
    let system = last.ask.system();
    for words in [
        "Its branch is worktree-alice",
        "Completing a task with TaskUpdate merges them into main",
        "node_modules (",
    ] {
        assert!(system.contains(words), "{words}: {system}");
    }
    if !kernel_has_none() {
        for path in ["dep", "@x/y"] {
            let file = world.project().join("node_modules").join(path).join("c.js");
            assert_eq!(std::fs::read_to_string(file).unwrap(), "yours\n", "{path}");
        }
    }
    world.swarm(&["kill", "alice"]).ok();
}

//! Leads that move into a worktree.

use std::path::Path;

use rustix::process::Signal;
use serde_json::json;
use swarm_tests::fake_api::{Ask, FakeApi, Reply};

use super::worktrees::project;
use crate::scene::{MODEL, world_with};

/// Options of a run that asks nobody.
const FREE: [&str; 4] = ["--model", MODEL, "--mode", "bypassPermissions"];

#[test]
fn a_lead_moves_into_a_worktree_and_leaves_none_with_work_behind_by_mistake() {
    let bash = |command: &str| json!({ "command": command });
    let discard = json!({"action": "remove", "discard_changes": true});
    let script = [
        ("enter", "EnterWorktree", json!({"name": "mine"})),
        ("again", "EnterWorktree", json!({})),
        ("write", "Bash", bash("pwd && echo work > inner.txt")),
        ("refused", "ExitWorktree", json!({"action": "remove"})),
        ("inside", "Bash", bash("pwd")),
        ("inner", "Bash", bash("git init -q inner && touch inner/x")),
        ("forced", "ExitWorktree", discard.clone()),
        (
            "record",
            "Bash",
            bash("grep inUse ../../../.git/swarm/worktrees/mine.json"),
        ),
        ("free", "Bash", bash("rm -r inner")),
        ("left", "ExitWorktree", discard),
        ("outside", "Bash", bash("pwd && ls")),
        ("nowhere", "ExitWorktree", json!({"action": "keep"})),
    ];
    let api = FakeApi::start(move |ask: &Ask| {
        let next = script.iter().find(|(id, ..)| ask.result_of(id).is_none());
        match next {
            Some((id, tool, input)) => Reply::tool(*id, *tool, input.clone()),
            None => Reply::text("done"),
        }
    });
    let world = project(&api);
    world
        .swarm(&[&["run", "go apart"][..], &FREE].concat())
        .ok();
    let last = api.requests().pop().expect("a request").ask;
    let result = |id: &str| last.result_of(id).expect("a result");
    let tree = world.project().join(".claude/worktrees/mine");
    let inside = tree.display().to_string();
    let outside = world.project().display().to_string();
    let (entered, is_error) = result("enter");
    assert!(!is_error && entered.contains(&inside), "{entered}");
    assert!(result("again").1 && result("again").0.contains("ExitWorktree first"));
    assert!(result("write").0.contains(&inside), "{:?}", result("write"));
    let (refused, is_error) = result("refused");
    assert!(is_error && refused.contains("inner.txt"), "{refused}");
    assert!(result("inside").0.contains(&inside));
    // What cannot be removed even so is the lead's still.
    let (forced, is_error) = result("forced");
    assert!(
        is_error && forced.contains("nested repositories"),
        "{forced}"
    );
    let (record, _) = result("record");
    assert!(record.contains("true"), "{record}");
    let (left, is_error) = result("left");
    assert!(
        !is_error && left.contains("refs/swarm/rescue/mine-"),
        "{left}"
    );
    let (there, _) = result("outside");
    assert!(
        !there.contains(&inside) && there.contains(&outside),
        "{there}"
    );
    assert!(!there.contains("inner.txt"), "{there}");
    assert!(result("nowhere").1);
    assert!(!tree.exists());
}

#[test]
fn the_worktree_that_a_lead_entered_is_reported_when_the_run_ends() {
    let api = FakeApi::start(|ask: &Ask| {
        let write = json!({"command": "echo work > new.txt"});
        match (ask.result_of("enter"), ask.result_of("write")) {
            (None, _) => Reply::tool("enter", "EnterWorktree", json!({"name": "mine"})),
            (_, None) if ask.has_seen("write it") => Reply::tool("write", "Bash", write),
            _ => Reply::text("done"),
        }
    });
    let world = project(&api);
    let tree = world.project().join(".claude/worktrees/mine");
    let run = |prompt: &str| {
        let run = world.swarm(&[&["run", prompt][..], &FREE].concat());
        run.ok().stderr.clone()
    };
    let said = run("look");
    assert!(
        said.contains("mine had no unmerged work and was removed"),
        "{said}"
    );
    assert!(!tree.exists());
    let said = run("write it");
    assert!(
        said.contains("is kept") && said.contains("new.txt"),
        "{said}"
    );
    let listed = world.swarm(&["worktree", "list", "--json"]).json();
    assert_eq!(listed[0]["state"], "work", "{listed}");
    assert!(tree.join("new.txt").exists());
}

#[test]
fn a_lost_lead_resumes_in_its_worktree_and_a_lead_that_works_there_keeps_it() {
    let (api, world) = world_with(|ask: &Ask| {
        let bash = |id: &str, command: &str| Reply::tool(id, "Bash", json!({"command": command}));
        let create = |name: &str| Reply::tool("team", "TeamCreate", json!({"team_name": name}));
        if !ask.has_seen("carry on") {
            let name = if ask.has_seen("visit") {
                "guest"
            } else {
                "demo"
            };
            return match ask.result_of("team") {
                None => create(name),
                Some(_) => bash("wait", "sleep 600"),
            };
        }
        let outside = json!({"file_path": "../../../outside.txt", "content": "x"});
        match (ask.result_of("where"), ask.result_of("outside")) {
            (None, _) => bash("where", "pwd > where.txt"),
            (_, None) => Reply::tool("outside", "Write", outside),
            _ => Reply::text("done"),
        }
    });
    world.write("project/song.txt", "one\n");
    world.commit_project();
    let tree = world.project().join(".claude/worktrees/side");
    let waits = |prompt: &str| {
        api.wait_for("its team", "team-lead", |ask| {
            ask.has_seen(prompt) && ask.result_of("team").is_some()
        });
    };
    let begin = ["run", "begin", "--worktree", "side"];
    let first = world.start(&[&begin[..], &FREE].concat());
    waits("begin");
    first.signal(Signal::KILL);
    first.wait();
    let inside = ["env", "-C", tree.to_str().unwrap()];
    let guest = world.start_under(&inside, &[&["run", "visit"][..], &FREE].concat(), &[]);
    waits("visit");
    let refused = world.swarm(&["worktree", "remove", "side", "--json"]);
    let refused = refused.error(5)["message"].to_string();
    let used = format!("the lead of guest (process {})", guest.pid());
    assert!(refused.contains(&used), "{refused}");
    let pruned = world.swarm(&["worktree", "prune", "--json"]).json();
    let reason = pruned["kept"][0]["reason"].to_string();
    assert!(reason.contains(&used), "{pruned}");
    guest.signal(Signal::INT);
    guest.wait();

    let resumed = world.swarm(&[&["resume", "demo", "carry on"][..], &FREE[2..]].concat());
    let there = std::fs::read_to_string(tree.join("where.txt")).unwrap();
    assert_eq!(
        Path::new(there.trim()),
        tree.canonicalize().unwrap(),
        "{}",
        resumed.story()
    );
    let last = api.requests().pop().expect("a request").ask;
    let (outside, is_error) = last.result_of("outside").expect("a result");
    assert!(is_error && outside.contains("worktree"), "{outside}");
    resumed.stderr_has("the worktree is kept");
    world.end_all();
}

#[test]
fn in_plan_mode_a_lead_creates_no_worktree() {
    let api = FakeApi::start(|ask: &Ask| match ask.result_of("enter") {
        None => Reply::tool("enter", "EnterWorktree", json!({"name": "mine"})),
        Some(_) => Reply::text("done"),
    });
    let world = project(&api);
    world
        .swarm(&["run", "go apart", "--model", MODEL, "--mode", "plan"])
        .ok();
    let last = api.requests().pop().expect("a request").ask;
    let (told, is_error) = last.result_of("enter").expect("a result");
    assert!(is_error && told.contains("plan"), "{told}");
    assert!(!world.project().join(".claude/worktrees").exists());
}

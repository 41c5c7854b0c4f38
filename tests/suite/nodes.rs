//! Members on another machine: nodes of a hub carry out what a person orders elsewhere.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use rustix::process::Signal;
use serde_json::json;
use swarm_tests::fake_api::{Ask, FakeApi, Reply};
use swarm_tests::stage::World;

use crate::hub_failures::pid_of;
use crate::machines::{Machines, hello_args};
use crate::pains::worktrees::{commit, git};
use crate::scene::{spawn_args, world};

/// The message of a command that fails with this code.
pub(crate) fn refusal(world: &World, words: &[&str], code: i32) -> String {
    let refused = world.swarm(&[words, &["--json"]].concat()).error(code);
    refused["message"].as_str().unwrap().to_owned()
}

/// A machine on which a script is found first as the program of this name.
pub(crate) fn world_with_program(name: &str, script: &str) -> World {
    let world = world();
    let program = world.program(name);
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    world
}

/// A machine whose `ssh` runs the command on this one.
fn world_with_ssh() -> World {
    let script = "#!/bin/sh\n[ \"$1 $2\" = \"-- box.example\" ] && exec sh -c \"$3\"\n";
    world_with_program("ssh", script)
}

/// A machine whose git waits before a command that contains these words, while the file `gate` is not
/// there. Each that waits adds a line to the file `waits`.
pub(crate) fn world_with_slow_git(words: &str) -> World {
    let script = format!(
        "#!/bin/sh\n\
        here=${{0%/*}}; PATH=${{PATH#*:}}; export PATH\n\
        case \"$*\" in *'{words}'*)\n\
            [ -e \"$here/gate\" ] || echo >> \"$here/waits\"\n\
            until [ -e \"$here/gate\" ]; do sleep 0.02; done\n\
        esac\n\
        exec git \"$@\"\n"
    );
    world_with_program("git", &script)
}

pub(crate) fn says_done() -> FakeApi {
    FakeApi::start(|_: &Ask| Reply::text("done"))
}

/// The output of a member of the node, and where it runs.
fn shows_what_bob_does(first: &World) {
    let logs = first.swarm(&["logs", "bob", "--json"]).json();
    assert_eq!(
        (&logs["node"], &logs["name"]),
        (&"box".into(), &"bob".into())
    );
    assert!(logs["text"].as_str().unwrap().contains("done"), "{logs}");
    first
        .swarm(&["peek", "bob", "-n", "5"])
        .ok()
        .stdout_has("done");
    let status = first.swarm(&["status", "--json"]).json();
    assert_eq!(status["members"][1]["node"], "box", "{status}");
    first.swarm(&["status"]).ok().stdout_has("headless on box");
}

/// The output of a member that has ended is still there.
fn shows_what_bob_did(first: &World) {
    let logs = first.swarm(&["logs", "bob", "--json"]).json();
    assert_eq!(logs["node"], "box", "{logs}");
    let followed = first.swarm(&["logs", "bob", "--follow"]);
    followed.ok().stdout_has("done");
    followed.stderr_has("bob has stopped");
}

#[test]
fn the_nodes_of_an_unknown_team_are_not_found() {
    let world = world();
    let list = ["node", "list", "--team", "demo"];
    assert_eq!(refusal(&world, &list, 3), "team `demo` not found");
    world.swarm(&["team", "create", "demo"]).ok();
    assert_eq!(refusal(&world, &list, 2), "team demo is not on a hub");
}

#[test]
fn the_hint_of_a_failed_login_names_the_file_of_credentials_that_was_given() {
    let world = world();
    let hub = "nats://127.0.0.1:1";
    for command in [
        &["node", "join", hub][..],
        &["node", "list", "--hub", hub],
        &["node", "drain", "box", "--hub", hub],
        &["team", "create", "demo", "--hub", hub],
        &["team", "join", "demo", "--hub", hub],
        &["team", "up", "review", "--hub", hub],
    ] {
        let more = ["--credentials", "missing", "--json"];
        let refused = world.swarm(&[command, &more].concat()).error(7);
        let file = world.project().join("missing");
        let hint = format!("check the credentials in {}", file.display());
        assert_eq!(refused["hint"], hint, "{command:?}");
    }
}

#[test]
fn a_node_runs_members_that_another_machine_orders() {
    let api = says_done();
    let Some(machines) = Machines::with(world_with_ssh(), world().with_api(&api)) else {
        return;
    };
    let (first, second) = (&machines.first, &machines.second);
    let on_box = spawn_args("bob", "headless", &["--on", "box"]);
    assert_eq!(
        refusal(first, &on_box, 3),
        "no node has the name or label `box`; no node has joined the hub"
    );
    let node = machines.node(&["--slots", "1", "--label", "gpu", "--ssh", "box.example"]);
    let nodes = machines.nodes();
    assert_eq!(nodes[0]["slots"], 1, "{nodes}");
    let same = refusal(first, &machines.node_args("box", &[]), 4);
    assert!(
        same.starts_with("node `box` has joined already: process "),
        "{same}"
    );
    let beside = refusal(second, &machines.node_args("other", &[]), 4);
    assert!(beside.contains(" already runs in "), "{beside}");

    let spawned = first.swarm(&hello_args("bob", &["--on", "gpu"]));
    let line = spawned.ok().stdout.lines().next().unwrap().to_owned();
    assert!(
        line.starts_with("bob@demo is ready (headless, ") && line.ends_with(") on box"),
        "{line}"
    );
    let listed = || machines.nodes()[0]["members"].clone();
    assert_eq!(
        listed(),
        json!(["bob@demo"]),
        "the commands that follow find bob"
    );
    api.wait_for("the prompt", "bob", |ask| ask.news_has("hello"));
    assert!(second.team("demo").member_directory("bob").exists());
    first.swarm(&["send", "bob", "from afar"]).ok();
    api.wait_for("the message", "bob", |ask| ask.news_has("from afar"));

    let taken = refusal(first, &spawn_args("bob", "headless", &["--on", "gpu"]), 4);
    assert!(taken.contains("a live member has this name"), "{taken}");
    let full = spawn_args("carl", "headless", &["--on", "gpu"]);
    assert_eq!(
        refusal(first, &full, 4),
        "no node for `gpu` takes a member now: box (all 1 slots in use)"
    );
    shows_what_bob_does(first);

    let killed = first.swarm(&["kill", "bob", "--json"]).json();
    assert_eq!(
        (&killed["outcome"], &killed["node"]),
        (&"killed".into(), &"box".into())
    );
    assert_eq!(machines.members(), ["team-lead"]);
    shows_what_bob_did(first);

    // What fails on the node is the failure of the command.
    let wrong = ["--agent", "nobody", "--on", "box"];
    first.wait_until("the slot is free", || listed() == json!([]));
    let said = refusal(first, &spawn_args("carl", "headless", &wrong), 3);
    assert!(
        said.starts_with("on box: ") && said.contains("nobody"),
        "{said}"
    );

    first.swarm(&["node", "drain", "box"]).ok();
    node.wait().ok().stdout_has("demo: bob has stopped");
    assert_eq!(machines.nodes().as_array().unwrap().len(), 0);
    machines.end();
}

#[test]
fn a_member_that_is_replaced_leaves_its_slot_to_the_new_one() {
    let api = says_done();
    let Some(machines) = Machines::start(world().with_api(&api)) else {
        return;
    };
    let first = &machines.first;
    let node = machines.node(&["--slots", "1"]);
    let on_box = hello_args("bob", &["--on", "box"]);
    first.swarm(&on_box).ok();
    let bob = pid_of(&machines.second, "bob");
    let said = refusal(first, &on_box, 4);
    assert!(said.contains("a live member has this name"), "{said}");
    first.swarm(&[&on_box[..], &["--replace"]].concat()).ok();
    assert_ne!(pid_of(&machines.second, "bob"), bob);
    assert_eq!(machines.nodes()[0]["members"], json!(["bob@demo"]));
    first.swarm(&["kill", "bob"]).ok();
    machines.end_with_node(node);
}

/// Returns whether the only published work is committed.
fn is_published(first: &World) -> bool {
    let found = &first.swarm(&["worktree", "list", "--json"]).json()[0];
    let uncommitted = found["remote"]["uncommitted"].as_array();
    found["slug"] == "bob" && uncommitted.is_none_or(Vec::is_empty)
}

/// Lets the node run a member in the repository of the first machine. Returns its worktree.
pub(crate) fn worktree_on_box(first: &World, name: &str) -> PathBuf {
    let spawned = first.swarm(&hello_args(name, &["--on", "box", "--json"]));
    let spawned = spawned.json();
    PathBuf::from(spawned["worktree"]["path"].as_str().unwrap())
}

#[test]
fn an_unchanged_worktree_is_removed_from_the_node_when_its_member_leaves() {
    let api = says_done();
    let Some(machines) = Machines::with_repository(world().with_api(&api)) else {
        return;
    };
    let first = &machines.first;
    first.write("project/.gitignore", "*.csv\n");
    first.commit_project();
    let node = machines.node(&["--slots", "3"]);
    let [bob, carl, dan] = ["bob", "carl", "dan"].map(|name| worktree_on_box(first, name));
    std::fs::write(carl.join("draft.txt"), "not yet\n").unwrap();
    std::fs::write(carl.join("result.csv"), "1\n").unwrap();
    first.swarm(&["shutdown", "bob", "carl"]).ok();
    let told = |text: &str| first.wait_until(text, || node.stdout().contains(text));
    told("the worktree of bob had no unmerged work and was removed, with worktree-bob");
    assert!(!bob.exists());
    told("the worktree of carl is kept: ");
    told("(untracked files: draft.txt; ignored files: result.csv)");
    assert!(carl.join("draft.txt").exists() && dan.exists());

    // The next node handles what happened while there was none.
    node.signal(Signal::KILL);
    node.wait();
    first.swarm(&["shutdown", "dan"]).ok();
    let node = machines.node(&[]);
    first.wait_until("dan's worktree is removed", || !dan.exists());
    machines
        .end_with_node(node)
        .stdout_lacks("the worktree of carl");
}

#[test]
fn a_node_serves_other_teams_after_one_was_deleted() {
    let api = says_done();
    let Some(machines) = Machines::start(world().with_api(&api)) else {
        return;
    };
    let first = &machines.first;
    machines.on_hub(first, &["team", "create", "two"]);
    let node = machines.node(&[]);
    let run_and_kill = |name: &str, team: &str| {
        let options = ["--on", "box", "--team", team];
        first.swarm(&hello_args(name, &options)).ok();
        first.swarm(&["kill", name, "--team", team]).ok();
    };
    run_and_kill("eve", "two");
    first.swarm(&["team", "delete", "two"]).ok();
    run_and_kill("bob", "demo");
    machines
        .end_with_node(node)
        .stdout_has("demo: bob has stopped");
}

#[test]
fn a_node_takes_orders_while_git_removes_a_worktree() {
    let api = says_done();
    let slow = world_with_slow_git("worktree remove");
    let Some(machines) = Machines::with_repository(slow.with_api(&api)) else {
        return;
    };
    let (first, second) = (&machines.first, &machines.second);
    let node = machines.node(&["--slots", "2"]);
    let [bob, carl] = ["bob", "carl"].map(|name| worktree_on_box(first, name));
    first.swarm(&["shutdown", "bob"]).ok();
    let waits = second.program("waits");
    first.wait_until("git removes bob's worktree", || waits.exists());
    first.swarm(&["peek", "carl"]).ok();
    // Only a spawn of the same name waits: it would start in the worktree.
    let spawned = first.start(&hello_args("bob", &["--on", "box", "--json"]));
    first.wait_until("the spawn of bob waits", || {
        node.stdout().contains("the spawn of bob waits until git")
    });
    first.swarm(&["peek", "carl"]).ok();
    assert!(bob.exists() && carl.exists());
    assert!(!node.stdout().contains("the worktree of bob"));
    std::fs::write(second.program("gate"), "").unwrap();
    let spawned = spawned.wait().json();
    assert_eq!(spawned["worktree"]["path"], bob.to_str().unwrap());
    assert!(bob.exists());
    first.swarm(&["kill", "bob", "carl"]).ok();
    machines
        .end_with_node(node)
        .stdout_has("the worktree of bob had no unmerged work and was removed");
}

#[test]
fn a_node_serves_other_teams_while_one_cannot_be_looked_at() {
    let api = says_done();
    let Some(machines) = Machines::start(world().with_api(&api)) else {
        return;
    };
    let (first, second) = (&machines.first, &machines.second);
    machines.on_hub(first, &["team", "create", "two"]);
    let copied = std::fs::read_to_string(&machines.credentials).unwrap();
    let copy = second.write("copied", &copied);
    let [hub, url, credentials, _] = machines.hub_options();
    let join = ["team", "join", "two", hub, url, credentials];
    let file = [copy.to_str().unwrap()];
    second.swarm(&[&join[..], &file].concat()).ok();
    second.swarm(&hello_args("eve", &["--team", "two"])).ok();
    std::fs::remove_file(&copy).unwrap();
    let node = machines.node(&[]);
    let options = ["--on", "box", "--team", "demo"];
    first.swarm(&hello_args("bob", &options)).ok();
    first.swarm(&["kill", "bob", "--team", "demo"]).ok();
    first.wait_until("bob has ended", || {
        node.stdout().contains("demo: bob has stopped")
    });
    // Nothing happens on the machine that would make the node look.
    second.write("copied", &copied);
    first.wait_until("eve is found", || {
        machines.nodes()[0]["members"] == json!(["eve@two"])
    });
    second.swarm(&["kill", "eve", "--team", "two"]).ok();
    let ended = machines.end_with_node(node);
    ended.stdout_has("two: eve has stopped");
    let unknown = "two: its members on this machine are not known: ";
    assert_eq!(
        ended.stdout.matches(unknown).count(),
        1,
        "{}",
        ended.story()
    );
}

#[test]
fn a_worktree_whose_work_was_merged_elsewhere_is_removed_from_the_node() {
    let api = says_done();
    let Some(machines) = Machines::with_repository(world().with_api(&api)) else {
        return;
    };
    let (first, second) = (&machines.first, &machines.second);
    let node = machines.node(&[]);
    let tree = worktree_on_box(first, "bob");
    commit(second, &tree, "new.txt", "new\n");
    first.swarm(&["send", "bob", "look"]).ok();
    first.wait_until("bob's work is published", || is_published(first));
    first.swarm(&["worktree", "merge", "bob"]).ok();
    first.swarm(&["shutdown", "bob"]).ok();
    first.wait_until("bob's worktree is removed", || !tree.exists());
    machines
        .end_with_node(node)
        .stdout_lacks("the worktree of bob is kept");
}

#[test]
fn work_that_is_merged_after_its_member_has_left_is_removed_from_the_node() {
    let api = says_done();
    let Some(machines) = Machines::with_repository(world().with_api(&api)) else {
        return;
    };
    let (first, second) = (&machines.first, &machines.second);
    let node = machines.node(&["--slots", "2"]);
    let [bob, carl] = ["bob", "carl"].map(|name| worktree_on_box(first, name));
    for (name, tree) in [("bob", &bob), ("carl", &carl)] {
        commit(second, tree, &format!("{name}.txt"), "new\n");
        first.swarm(&["send", name, "look"]).ok();
    }
    // A turn ends with the publication of its work.
    let is_idle = |name: &str| {
        let status = first.swarm(&["status", "--json"]).json();
        let mut members = status["members"].as_array().unwrap().iter();
        let member = members.find(|member| member["name"] == name).unwrap();
        member["state"] == "idle" && member["unread"] == 0
    };
    for name in ["bob", "carl"] {
        api.wait_for("the message", name, |ask| ask.news_has("look"));
        first.wait_until("the turn has ended", || is_idle(name));
    }
    // Not published.
    commit(second, &carl, "late.txt", "late\n");
    first.swarm(&["shutdown", "bob"]).ok();
    let killed = first.swarm(&["kill", "carl"]);
    let said = &killed.ok().stderr;
    assert!(said.contains("the worktree of carl is kept: "), "{said}");
    let told = |text: &str| first.wait_until(text, || node.stdout().contains(text));
    told("the worktree of bob is kept: ");
    // It is removed when nobody uses it.
    let mut shell = second.command("sleep");
    let mut shell = shell.arg("600").current_dir(&bob).spawn().unwrap();
    first.swarm(&["worktree", "merge", "bob"]).ok();
    told("(it is in use by process ");
    shell.kill().unwrap();
    shell.wait().unwrap();
    told("the worktree of bob had no unmerged work and was removed, with worktree-bob");
    assert!(!bob.exists());
    let branches = git(second, &carl, &["branch", "--list", "worktree-bob"]);
    assert_eq!(branches, "", "its branch is removed too");
    first.swarm(&["worktree", "merge", "carl"]).ok();
    told("the worktree of carl is kept: ");
    assert!(carl.join("late.txt").exists());
    machines.end_with_node(node);
}

#[test]
fn a_repository_comes_to_the_node_and_the_work_goes_back() {
    let api = says_done();
    let Some(machines) = Machines::with_repository(world().with_api(&api)) else {
        return;
    };
    let (first, second) = (&machines.first, &machines.second);
    let node = machines.node(&["--slots", "2"]);
    let own = second.root().join("swarm/node/repositories");
    let spawn = |name| {
        let tree = worktree_on_box(first, name);
        assert!(tree.starts_with(&own), "{}", tree.display());
        tree
    };
    let tree = spawn("bob");
    assert!(tree.join("song.txt").exists());
    commit(second, &tree, "new.txt", "new\n");
    first.swarm(&["send", "bob", "look"]).ok();
    api.wait_for("the message", "bob", |ask| ask.news_has("look"));
    first.wait_until("bob's work is published", || is_published(first));
    first.swarm(&["worktree", "merge", "bob"]).ok();
    assert!(first.project().join("new.txt").exists());

    // Only what is new is sent for the next member.
    assert!(spawn("carl").join("new.txt").exists());
    second.swarm(&["kill", "carl", "--team", "demo"]).ok();

    // The second signal pauses the member, which stays: also if somebody else drained the node.
    first.swarm(&["node", "drain", "box"]).ok();
    for told in 1..=2 {
        first.wait_until("the node drains", || {
            node.stdout().matches("draining: ").count() == told
        });
        node.signal(Signal::INT);
    }
    node.wait().ok().stdout_has("bob is paused");
    let status = first.swarm(&["status", "--json"]).json();
    assert!(!status["members"][1]["pause"].is_null(), "{status}");
    second.swarm(&["kill", "bob", "--team", "demo"]).ok();
    machines.end();
}

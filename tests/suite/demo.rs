//! The demonstration, as a program without a terminal sees it.

use rustix::process::Signal;
use swarm_tests::stage::{InsideTmux, Tmux, World};

use crate::machines::free_port_of_a_server;
use crate::scene::{not_proven, world};

#[test]
fn the_demo_mends_its_repository_and_leaves_nothing() {
    let world = world();
    let shown = world.swarm(&[
        "demo",
        "--no-attach",
        "--pace",
        "0",
        "--recording",
        "demo.svg",
    ]);
    let account = shown.ok().stdout.clone() + &shown.stderr;
    for part in [
        "asks: Bash git commit",
        "explorer     died",
        "$ swarm spawn explorer",
        "person       answers implementer: approved",
        "A lead and 3 teammates: ",
        "3 tasks completed, 1 question answered, 1 teammate killed and continued.",
        "swarm doctor",
    ] {
        assert!(account.contains(part), "{part}: {}", shown.story());
    }
    let recording = std::fs::read_to_string(world.project().join("demo.svg")).unwrap();
    assert!(recording.matches("class=\"frame\"").count() > 1);
    assert_leaves_nothing(&world);
}

#[test]
fn the_demo_on_two_machines_merges_the_work_of_the_node() {
    let world = world();
    if free_port_of_a_server(&world).is_none() {
        return not_proven("nats-server is not installed");
    }
    let shown = world.swarm(&["demo", "--hub", "--no-attach", "--pace", "0"]);
    let account = shown.ok().stdout.clone() + &shown.stderr;
    for part in [
        "$ swarm team create demo --hub",
        "person@box   $ swarm node join --name box",
        "implementer@demo",
        "explorer     writes to implementer: ",
        "person       answers implementer: approved",
        "ok    several of one\n",
        "implementer  has stopped",
        "A lead and 2 teammates: ",
        "3 tasks completed, 2 questions answered.",
    ] {
        assert!(account.contains(part), "{part}: {}", shown.story());
    }
    assert_leaves_nothing(&world);
}

#[test]
fn an_interrupted_demo_on_two_machines_leaves_nothing() {
    let world = world();
    if free_port_of_a_server(&world).is_none() {
        return not_proven("nats-server is not installed");
    }
    let running = world.start(&["demo", "--hub", "--no-attach"]);
    world.wait_until("the node runs its member", || {
        let processes = world.processes();
        processes
            .iter()
            .any(|(_, line)| line.contains("--agent-id implementer"))
    });
    running.signal(Signal::INT);
    running.wait().assert_code(130);
    assert_leaves_nothing(&world);
}

fn assert_leaves_nothing(world: &World) {
    assert_eq!(world.processes(), []);
    let panes: Vec<_> = world.own_servers().iter().flat_map(Tmux::panes).collect();
    assert_eq!(panes, []);
    let left = std::fs::read_dir(world.directory().join("tmp")).unwrap();
    assert_eq!(left.count(), 0, "{}", world.report());
    let teams = world.root().join("teams");
    assert!(!teams.exists(), "the user's own root is left alone");
}

#[test]
fn an_interrupted_demo_leaves_nothing() {
    let world = world();
    let running = world.start(&["demo", "--no-attach"]);
    world.wait_until("the team works", || {
        let processes = world.processes();
        processes
            .iter()
            .any(|(_, line)| line.contains("--agent-id tester"))
    });
    running.signal(Signal::HUP);
    running.wait().assert_code(130);
    assert_leaves_nothing(&world);
}

#[test]
fn ctrl_c_ends_a_demo_in_a_terminal_whichever_pane_it_shows() {
    let world = world();
    let inside = InsideTmux::start(&world, 80, 24);
    let (tmux, pane) = (inside.tmux(), inside.pane());
    let program = world.program("swarm");
    let words = format!("{} demo; echo \"code $?\"; exec cat", program.display());
    tmux.run(&["respawn-pane", "-k", "-t", pane, &words]);
    world.wait_until("the team works", || {
        let processes = world.processes();
        processes
            .iter()
            .any(|(_, line)| line.contains("--agent-id tester"))
    });
    tmux.run(&["send-keys", "-t", pane, "C-c"]);
    tmux.wait_for_text(pane, "code 130");
    let left = std::fs::read_dir(world.directory().join("tmp")).unwrap();
    assert_eq!(left.count(), 0, "{}", world.report());
}

#[test]
fn a_demo_that_cannot_be_shown_does_not_start() {
    let world = world();
    world.swarm(&["demo", "--pace", "200"]).assert_code(2);
    let nowhere = world.swarm(&["demo", "--no-attach", "--picture", "nowhere/demo.svg"]);
    nowhere.assert_code(3);
    nowhere.stderr_has("nowhere/demo.svg");
}

//! Members in panes of a terminal that a program of the user controls (row R1).

use std::os::unix::fs::PermissionsExt;

use swarm_tests::fake_api::{Ask, FakeApi, Reply};
use swarm_tests::stage::{InsideTmux, World, spawn_args};

use crate::scene::{wait_for_state, world_over};

/// Variables that name a new pane program.
fn pane_program(world: &World, script: &str) -> (String, String) {
    let program = world.write("panes", &format!("#!/bin/sh\n{script}"));
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).expect("a program");
    let name = "SWARM_SPAWN_PANE_PROGRAM".to_owned();
    (name, program.display().to_string())
}

#[test]
fn r1_a_pane_program_gets_the_variables_of_its_terminal_and_no_key() {
    let api = FakeApi::start(|_: &Ask| Reply::text("done"));
    let world = world_over(&api);
    let refuses = pane_program(&world, "env >\"$0.env\"\necho closed >&2\nexit 1\n");
    let terminal = ("KITTY_LISTEN_ON".to_owned(), "unix:/tmp/kitty-1".to_owned());
    let variables = [refuses.clone(), terminal];
    let spawning = world.start_with(&spawn_args("bob", "command", &[]), &variables);
    spawning.wait().code(7).stderr_has("open failed: closed");
    let seen = std::fs::read_to_string(format!("{}.env", refuses.1)).expect("its variables");
    for line in ["KITTY_LISTEN_ON=unix:/tmp/kitty-1", "SWARM_PANE_MEMBER=bob"] {
        assert!(seen.lines().any(|found| found == line), "{line}: {seen}");
    }
    assert!(!seen.contains("ANTHROPIC_API_KEY"), "{seen}");
}

#[test]
fn r1_o5_a_member_in_a_pane_of_a_program_is_seen_while_it_runs_and_after_its_pane_is_closed() {
    const TMUX: &str = r#"case $1 in
open) tmux split-window -d -P -F '#{pane_id}' "$2 '$3'" ;;
close) tmux kill-pane -t "$2" ;;
capture) tmux capture-pane -p -t "$2" -S - ;;
focus) tmux select-pane -t "$2" ;;
esac
"#;
    let api = FakeApi::start(|_: &Ask| Reply::text("heard you"));
    let world = world_over(&api);
    let inside = InsideTmux::start(&world, 200, 50);
    let variables = [inside.variables(), &[pane_program(&world, TMUX)]].concat();
    let swarm = |arguments: &[&str]| world.start_with(arguments, &variables).wait();
    let spawn = || {
        swarm(&spawn_args("bob", "command", &["--prompt", "hello"])).ok();
    };
    spawn();
    wait_for_state(&world, "bob", "idle");
    for command in ["peek", "logs"] {
        swarm(&[command, "bob"]).ok().stdout_has("heard you");
    }
    let panes = inside.tmux().run(&["list-panes", "-s", "-F", "#{pane_id}"]);
    let pane = panes.lines().next_back().expect("bob's pane");
    inside.tmux().run(&["kill-pane", "-t", pane]);
    world.wait_until("bob is dead", || {
        swarm(&["status"]).stdout.contains("its pane was closed")
    });
    for command in ["peek", "logs"] {
        swarm(&[command, "bob"]).ok().stdout_has("heard you");
    }
    swarm(&["attach", "bob"])
        .code(3)
        .stderr_has("the pane of bob is gone");
    spawn();
    swarm(&["kill", "bob"]).ok();
}

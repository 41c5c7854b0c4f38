//! swarm's own tmux server, which a person finds only if told where it is.

use swarm_tests::fake_api::{Ask, FakeApi, Reply};
use swarm_tests::stage::{Finished, InsideTmux, World};

use crate::scene::{
    kill_member, spawn_args, spawn_in_pane, wait_for_state, world_over, world_saying,
};

fn spawn(world: &World, name: &str) -> Finished {
    let arguments = spawn_args(name, "tmux", &["--prompt", "hello"]);
    let spawned = world.swarm(&arguments);
    spawned.ok();
    wait_for_state(world, name, "idle");
    spawned
}

#[test]
fn the_server_is_described_once_and_each_spawn_prints_its_attach_command() {
    let (_api, world) = world_saying("here");
    let first = spawn(&world, "ann").stderr;
    let server = world.own_servers().remove(0);
    let socket = server.socket().display().to_string();
    assert!(first.contains(&socket), "{first}");
    assert!(first.contains("`swarm attach ann` shows it"), "{first}");
    let second = spawn(&world, "bob").stderr;
    assert!(!second.contains(&socket), "{second}");
    assert!(second.contains("`swarm attach bob` shows it"), "{second}");
    world.swarm(&["team", "delete", "--force"]).ok();
}

#[test]
fn a_server_started_by_an_agent_passes_no_agent_variables_to_shells() {
    let api = FakeApi::start(|_: &Ask| Reply::text("here"));
    let world = world_over(&api).with_variable("CLAUDECODE", "1");
    spawn(&world, "ann");
    let server = world.own_servers().remove(0);
    let pid = server.run(&["display-message", "-p", "#{pid}"]);
    let own = std::fs::read_to_string(format!("/proc/{}/environ", pid.trim())).unwrap();
    let given = server.run(&["show-environment", "-g"]);
    for variable in own.split('\0').chain(given.lines()) {
        let is_mark = variable.starts_with("CLAUDE") || variable.starts_with("SWARM_");
        assert!(!is_mark, "{variable}");
    }
    world.swarm(&["team", "delete", "--force"]).ok();
}

#[test]
fn first_spawns_in_parallel_share_one_server() {
    let (_api, world) = world_saying("here");
    let names: Vec<String> = (0..8).map(|n| format!("mate-{n}")).collect();
    let started: Vec<_> = names
        .iter()
        .map(|name| world.start(&spawn_args(name, "tmux", &[])))
        .collect();
    for spawned in started {
        spawned.wait().ok();
    }
    let servers = world.own_servers();
    assert_eq!(servers.len(), 1, "{}", world.report());
    assert_eq!(servers[0].panes().len(), names.len());
    world.swarm(&["team", "delete", "--force"]).ok();
    assert!(world.own_servers().is_empty());
}

#[test]
fn attach_without_a_name_shows_the_pane_of_a_running_member() {
    let (_api, world) = world_saying("here");
    spawn(&world, "ann");
    spawn(&world, "bob");
    let shown = || world.swarm(&["attach", "--json"]).json()["name"].clone();
    assert_eq!(shown(), "ann");
    kill_member(&world, "ann");
    assert_eq!(shown(), "bob");
    kill_member(&world, "bob");
    assert_eq!(shown(), "ann", "the last lines of a dead member are shown");
    world.swarm(&["team", "delete", "--force"]).ok();
}

#[test]
fn panes_on_several_servers_are_distinguished() {
    let (_api, world) = world_saying("here");
    spawn(&world, "ann");
    let server = world.own_servers().remove(0);
    let own = server.socket().file_name().unwrap().to_str().unwrap();
    let told = |command: &[&str]| world.swarm(command).ok().stdout.clone();
    for command in [&["status"][..], &["team", "show"]] {
        let alone = told(command);
        assert!(!alone.contains(own), "{alone}");
    }
    let inside = InsideTmux::start(&world, 200, 50);
    spawn_in_pane(&world, &inside, "bob", &[]).ok();
    let users = inside
        .tmux()
        .socket()
        .file_name()
        .unwrap()
        .to_str()
        .unwrap();
    for command in [&["status"][..], &["team", "show"]] {
        let both = told(command);
        for server in [own, users] {
            assert!(both.contains(&format!(" on {server}")), "{both}");
        }
    }
    world.swarm(&["team", "delete", "--force"]).ok();
}

#[test]
fn panes_of_a_team_whose_directory_was_removed_are_found_and_closed_with_their_server() {
    let (_api, world) = world_saying("here");
    for name in ["ann", "bob", "eve"] {
        spawn(&world, name);
        kill_member(&world, name);
    }
    let server = world.own_servers().remove(0);
    std::fs::remove_dir_all(world.team("demo").directory()).unwrap();
    std::fs::remove_dir_all(world.team("demo").tasks_directory()).unwrap();
    // One that is of a team of the same name below another root.
    let bob = server.pane_titled("bob").unwrap().id;
    let belongs_to = |root: &str| {
        server.run(&["set-option", "-p", "-t", &bob, "@swarm_root", root]);
    };
    belongs_to("/elsewhere");
    let found = world.swarm(&["doctor"]).stdout;
    assert!(found.contains("2 panes of deleted teams (demo)"), "{found}");
    let planned = world.swarm(&["gc", "--dry-run"]).ok().stdout.clone();
    assert!(
        planned.contains("of ann@demo: its team no longer exists"),
        "{planned}"
    );
    assert_eq!(server.panes().len(), 3);
    world.swarm(&["gc"]).ok();
    let left: Vec<String> = server.panes().into_iter().map(|pane| pane.id).collect();
    assert_eq!(left, [bob.as_str()]);
    belongs_to(world.root().to_str().unwrap());
    world.swarm(&["gc"]).ok();
    assert!(world.own_servers().is_empty());
}

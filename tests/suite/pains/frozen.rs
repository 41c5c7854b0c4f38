//! Frozen processes and terminals, and deaths that are noticed immediately.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use swarm_tests::fake_api::{Ask, FakeApi, Gate, Reply};
use swarm_tests::stage::{InsideTmux, World};

use crate::scene::{
    idle_world, run_args, signal_member, spawn_args, spawn_in_pane, spawns, team_with,
    wait_for_first_turn, wait_for_state, wait_until_gone, world_over,
};

/// A process that is stopped until this is dropped, also when the test fails: otherwise it could not be terminated.
struct Frozen(Pid);

impl Frozen {
    fn new(pid: Pid) -> Self {
        kill_process(pid, Signal::STOP).expect("a process to stop");
        Self(pid)
    }

    /// The tmux server of the user.
    fn server(inside: &InsideTmux) -> Self {
        Self::new(server_of(inside))
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        // It may have exited.
        kill_process(self.0, Signal::CONT).ok();
    }
}

fn server_of(inside: &InsideTmux) -> Pid {
    let pid = inside.tmux().run(&["display-message", "-p", "#{pid}"]);
    Pid::from_raw(pid.trim().parse().expect("a pid")).expect("a pid")
}

fn spawn_bob_in_pane(world: &World, inside: &InsideTmux) {
    let more = ["--mode", "bypassPermissions", "--prompt", "hello"];
    spawn_in_pane(world, inside, "bob", &more).ok();
    wait_for_state(world, "bob", "idle");
}

/// The process of bob.
fn bob(world: &World) -> Pid {
    let pid = world.team("demo").hello("bob")["pid"]
        .as_i64()
        .expect("a pid");
    Pid::from_raw(i32::try_from(pid).expect("a pid")).expect("a pid")
}

#[test]
fn a_member_with_a_blocked_terminal_works_reads_mail_and_shuts_down() {
    // More than the buffer of a terminal that is not read.
    let long = "all that there is to be said about it ".repeat(10_000);
    let (api, world) = team_with(move |ask: &Ask| {
        if ask.news_has("knock") {
            Reply::text(long.clone())
        } else {
            Reply::text("here")
        }
    });
    let inside = InsideTmux::start(&world, 200, 50);
    spawn_bob_in_pane(&world, &inside);
    let pid = bob(&world);
    let server = Frozen::server(&inside);
    for number in 0..3 {
        let text = format!("knock {number}");
        world
            .swarm(&["send", "bob", &text, "--wait", "acked", "--timeout", "50"])
            .ok();
        api.wait_for(&text, "bob", |ask| ask.news_has(&text));
    }
    wait_for_state(&world, "bob", "idle");
    let asking = world.start(&["shutdown", "bob", "--timeout", "50", "--json"]);
    wait_until_gone(&world, pid);
    drop(server);
    let ended = asking.wait().json();
    assert_eq!(ended["outcome"], "approved", "{ended}");
    let agreed = world.team("demo").frames("team-lead", "shutdown_approved");
    assert_eq!(agreed.len(), 1, "{agreed:?}");
}

#[test]
fn l6_the_first_status_after_a_death_shows_it_whatever_the_cause() {
    let api = FakeApi::start(|_: &Ask| Reply::text("here"));
    for way in [
        "kill -9",
        "kill-pane",
        "kill-server",
        "kill -9 of the server",
    ] {
        let world = world_over(&api);
        let inside = InsideTmux::start(&world, 200, 50);
        spawn_bob_in_pane(&world, &inside);
        let pid = bob(&world);
        match way {
            "kill -9" => {
                signal_member(&world, "demo", "bob", Signal::KILL);
            }
            "kill-pane" => {
                let pane = world.team("demo").member("bob").unwrap()["tmuxPaneId"].clone();
                inside
                    .tmux()
                    .run(&["kill-pane", "-t", pane.as_str().unwrap()]);
            }
            "kill-server" => drop(inside.tmux().try_run(&["kill-server"])),
            _ => kill_process(server_of(&inside), Signal::KILL).unwrap(),
        }
        wait_until_gone(&world, pid);
        let status = world.swarm(&["status", "--json"]).json();
        assert_eq!(status["members"][1]["state"], "dead", "{way}: {status}");
        assert_eq!(world.team("demo").events("member_died").len(), 1, "{way}");
        world.swarm(&["team", "delete", "demo"]).ok();
    }
}

#[test]
fn a_frozen_member_keeps_its_mail_and_its_place_and_resumes() {
    let (api, world) = idle_world("here", "bob");
    let frozen = Frozen::new(signal_member(&world, "demo", "bob", Signal::STOP));
    let sent = world.swarm(&[
        "send",
        "bob",
        "are you there?",
        "--wait",
        "acked",
        "--timeout",
        "1",
    ]);
    sent.assert_code(6);
    let status = world.swarm(&["status", "--json"]).json();
    assert_eq!(status["members"][1]["state"], "idle", "it lives: {status}");
    let taken = spawn_args("bob", "headless", &["--json"]);
    world.swarm(&taken).error(4);
    drop(frozen);
    let asked = api.wait_for("the turn", "bob", |ask| ask.news_has("are you there?"));
    assert_eq!(asked.ask.times_told("are you there?"), 1);
    wait_for_state(&world, "bob", "idle");
    assert!(world.team("demo").events("member_died").is_empty());
    world.swarm(&["shutdown", "bob"]).ok();
}

#[test]
fn members_of_a_frozen_lead_work_on_and_do_not_park() {
    let (gate, held) = Gate::pair();
    let api = FakeApi::start(
        move |ask: &Ask| match (ask.agent.as_str(), ask.result_of("bob")) {
            ("team-lead", None) => spawns("bob"),
            ("team-lead", Some(_)) => Reply::text("well done").held_by(&held, 1),
            _ => Reply::text("here"),
        },
    );
    let world = crate::scene::world().with_api(&api);
    let words = run_args("go", &["--team", "demo"]);
    let leading = world.start(&words);
    wait_for_state(&world, "bob", "idle");
    let pid = i32::try_from(leading.pid())
        .ok()
        .and_then(Pid::from_raw)
        .unwrap();
    let frozen = Frozen::new(pid);
    let send = [
        "send",
        "bob",
        "go on",
        "--wait",
        "acked",
        "--timeout",
        "50",
        "--team",
        "demo",
    ];
    world.swarm(&send).ok();
    api.wait_for("the turn", "bob", |ask| ask.news_has("go on"));
    wait_for_state(&world, "bob", "idle");
    let status = world.swarm(&["status", "--team", "demo", "--json"]).json();
    assert_eq!(status["members"][1]["state"], "idle", "{status}");
    world.swarm(&["resume", "demo", "--json"]).error(4);
    drop(frozen);
    gate.open();
    leading.wait().ok();
}

#[test]
fn a_frozen_member_is_reported_as_frozen_wherever_its_state_is_shown() {
    let (_api, world) = idle_world("here", "bob");
    wait_for_first_turn(&world, "bob");
    let frozen = |is: bool| {
        world.wait_until(&format!("frozen: {is}"), || {
            let status = world.swarm(&["status", "--json"]).json();
            let bob = &status["members"][1];
            assert_eq!(bob["state"], "idle", "{bob}");
            bob["frozen"] == is
        });
    };
    frozen(false);
    let pid = bob(&world);
    let stopped = Frozen::new(pid);
    frozen(true);
    for command in [&["status"][..], &["team", "show"]] {
        let shown = world.swarm(command).ok().stdout.clone();
        let name = format!("frozen-{}", command.join("-"));
        insta::assert_snapshot!(name, world.stable(&shown));
    }
    let shown = world.swarm(&["ps"]).ok().stdout.clone();
    let resume = format!("kill -CONT {}", pid.as_raw_nonzero());
    assert!(shown.contains("idle") && shown.contains(&resume), "{shown}");
    let ps = world.swarm(&["ps", "--json"]).json();
    // Processes of other config directories are listed as well.
    let its = |one: &&Value| one["pid"] == pid.as_raw_nonzero().get();
    let listed = ps.as_array().and_then(|all| all.iter().find(its));
    assert_eq!(listed.map(|one| &one["frozen"]), Some(&true.into()), "{ps}");
    drop(stopped);
    frozen(false);
    world.swarm(&["shutdown", "bob"]).ok();
}

//! Processes and terminals that stand still, and ends that are seen at once.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use swarm_tests::fake_api::{Ask, FakeApi, Gate, Reply};
use swarm_tests::stage::{InsideTmux, World};

use crate::scene::{MODEL, signal_member, spawn_over, wait_for_state, wait_until_gone, world_over};

/// A process that stands still until this is dropped, also when the test fails: nobody could be ended else.
struct Frozen(Pid);

impl Frozen {
    fn new(pid: Pid) -> Self {
        kill_process(pid, Signal::STOP).expect("a process to stop");
        Self(pid)
    }

    /// The tmux server in which the person sits.
    fn server(inside: &InsideTmux) -> Self {
        Self::new(server_of(inside))
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        // It may have been ended.
        kill_process(self.0, Signal::CONT).ok();
    }
}

fn server_of(inside: &InsideTmux) -> Pid {
    let pid = inside.tmux().run(&["display-message", "-p", "#{pid}"]);
    Pid::from_raw(pid.trim().parse().expect("a pid")).expect("a pid")
}

fn spawn_in_pane(world: &World, inside: &InsideTmux, name: &str) {
    let arguments = [
        "spawn",
        name,
        "--model",
        MODEL,
        "--backend",
        "tmux",
        "--mode",
        "bypassPermissions",
        "--prompt",
        "hello",
    ];
    world.start_with(&arguments, inside.variables()).wait().ok();
    wait_for_state(world, name, "idle");
}

/// The process of bob.
fn bob(world: &World) -> Pid {
    let pid = world.team("demo").hello("bob")["pid"]
        .as_i64()
        .expect("a pid");
    Pid::from_raw(i32::try_from(pid).expect("a pid")).expect("a pid")
}

#[test]
fn a_member_whose_terminal_nobody_reads_works_on_takes_its_mail_and_ends_when_asked() {
    // More than a terminal holds that nobody reads.
    let long = "all that there is to be said about it ".repeat(10_000);
    let api = FakeApi::start(move |ask: &Ask| {
        if ask.news_has("knock") {
            Reply::text(long.clone())
        } else {
            Reply::text("here")
        }
    });
    let world = world_over(&api);
    let inside = InsideTmux::start(&world, 200, 50);
    spawn_in_pane(&world, &inside, "bob");
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
fn l6_the_first_look_after_an_end_sees_it_whatever_ended_it() {
    let api = FakeApi::start(|_: &Ask| Reply::text("here"));
    for way in [
        "kill -9",
        "kill-pane",
        "kill-server",
        "kill -9 of the server",
    ] {
        let world = world_over(&api);
        let inside = InsideTmux::start(&world, 200, 50);
        spawn_in_pane(&world, &inside, "bob");
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
fn a_member_that_stands_still_keeps_its_mail_and_its_place_and_goes_on() {
    let api = FakeApi::start(|_: &Ask| Reply::text("here"));
    let world = world_over(&api);
    spawn_over(&world, "bob");
    wait_for_state(&world, "bob", "idle");
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
    let taken = [
        "spawn",
        "bob",
        "--model",
        MODEL,
        "--backend",
        "headless",
        "--json",
    ];
    world.swarm(&taken).error(4);
    drop(frozen);
    let asked = api.wait_for("the turn", "bob", |ask| ask.news_has("are you there?"));
    assert_eq!(asked.ask.times_told("are you there?"), 1);
    wait_for_state(&world, "bob", "idle");
    assert!(world.team("demo").events("member_died").is_empty());
    world.swarm(&["shutdown", "bob"]).ok();
}

#[test]
fn members_of_a_lead_that_stands_still_work_on_and_do_not_park() {
    let gate = Gate::closed();
    let held = gate.clone();
    let api = FakeApi::start(
        move |ask: &Ask| match (ask.agent.as_str(), ask.result_of("bob")) {
            ("team-lead", None) => {
                let input = json!({"name": "bob", "description": "work", "prompt": "hello"});
                Reply::tool("bob", "Agent", input)
            }
            ("team-lead", Some(_)) => Reply::text("well done").held_by(&held, 1),
            _ => Reply::text("here"),
        },
    );
    let world = crate::scene::world().with_api(&api);
    let words = [
        "run",
        "go",
        "--team",
        "demo",
        "--model",
        MODEL,
        "--backend",
        "headless",
    ];
    let leading = world.start(&words);
    world.wait_for("bob is there", || {
        (world.team("demo").state("bob")["state"] == "idle").then_some(())
    });
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
fn a_member_that_stands_still_is_told_to_be_frozen_wherever_its_state_is() {
    let api = FakeApi::start(|_: &Ask| Reply::text("here"));
    let world = world_over(&api);
    spawn_over(&world, "bob");
    wait_for_state(&world, "bob", "idle");
    let frozen = |is: bool| {
        world.wait_for(&format!("frozen: {is}"), || {
            let status = world.swarm(&["status", "--json"]).json();
            let bob = &status["members"][1];
            assert_eq!(bob["state"], "idle", "{bob}");
            (bob["frozen"] == is).then_some(())
        });
    };
    frozen(false);
    let pid = bob(&world);
    let stopped = Frozen::new(pid);
    frozen(true);
    let let_go = format!("kill -CONT {}", pid.as_raw_nonzero());
    for (command, words) in [
        (&["status"][..], ["idle, frozen", &let_go]),
        (&["team", "show"], ["idle, frozen", "bob"]),
        (&["ps"], ["idle", &let_go]),
    ] {
        let shown = world.swarm(command).ok().stdout.clone();
        for words in words {
            assert!(shown.contains(words), "{shown}");
        }
    }
    let ps = world.swarm(&["ps", "--json"]).json();
    // Those of other roots are listed as well.
    let its = |one: &&Value| one["pid"] == pid.as_raw_nonzero().get();
    let listed = ps.as_array().and_then(|all| all.iter().find(its));
    assert_eq!(listed.map(|one| &one["frozen"]), Some(&true.into()), "{ps}");
    drop(stopped);
    frozen(false);
    world.swarm(&["shutdown", "bob"]).ok();
}

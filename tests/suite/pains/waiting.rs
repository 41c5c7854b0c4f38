//! Commands that wait: for whom, and what remains when the wait is cancelled.

use std::path::Path;

use rustix::process::{Pid, Signal};
use swarm_tests::fake_api::{Ask, FakeApi, Gate, Recorded, Reply};
use swarm_tests::stage::{Finished, Running, World};

use crate::scene::{MODEL, spawn_over, team_with, wait_for_state, wait_until_gone};

/// A model whose turns last until the gate opens, in a world with bob at work.
fn at_work(gate: &Gate) -> (FakeApi, World) {
    let held = gate.clone();
    let (api, world) = team_with(move |_: &Ask| Reply::text("late").held_by(&held, 1));
    spawn_over(&world, "bob");
    wait_for_state(&world, "bob", "working");
    api.wait_for("bob's turn", "bob", |_| true);
    (api, world)
}

fn bob(world: &World) -> Pid {
    let pid = world.team("demo").hello("bob")["pid"]
        .as_i64()
        .expect("a pid");
    Pid::from_raw(i32::try_from(pid).expect("a pid")).expect("a pid")
}

/// Presses Ctrl-C once the command has its own way with that.
fn interrupt(world: &World, command: Running) -> Finished {
    let status = format!("/proc/{}/status", command.pid());
    world.wait_for("Ctrl-C is looked for", || {
        let status = std::fs::read_to_string(Path::new(&status)).ok()?;
        let caught = status.lines().find_map(|l| l.strip_prefix("SigCgt:"))?;
        let caught = u64::from_str_radix(caught.trim(), 16).ok()?;
        (caught & (1 << (Signal::INT.as_raw() - 1)) != 0).then_some(())
    });
    command.signal(Signal::INT);
    command.wait().code(130)
}

fn asked_to_end(world: &World) {
    world.wait_until("bob is asked to end", || {
        !world
            .team("demo")
            .frames("bob", "shutdown_request")
            .is_empty()
    });
}

#[test]
fn ctrl_c_on_a_shutdown_keeps_the_request_and_says_so() {
    let gate = Gate::closed();
    let (_api, world) = at_work(&gate);
    let pid = bob(&world);
    let asking = world.start(&["shutdown", "bob", "--json"]);
    asked_to_end(&world);
    let error = interrupt(&world, asking).error(130);
    let message = error["message"].as_str().unwrap();
    assert!(
        message.contains("the request stays pending: bob (working)"),
        "{message}"
    );
    assert!(
        error["hint"].as_str().unwrap().contains("swarm status"),
        "{error}"
    );
    gate.open();
    wait_until_gone(&world, pid);
    let agreed = world.team("demo").frames("team-lead", "shutdown_approved");
    assert_eq!(agreed.len(), 1, "{agreed:?}");
}

#[test]
fn ctrl_c_on_a_forced_delete_says_that_the_team_is_still_there() {
    let gate = Gate::closed();
    let (_api, world) = at_work(&gate);
    let deleting = world.start(&["team", "delete", "--force", "--json"]);
    asked_to_end(&world);
    let error = interrupt(&world, deleting).error(130);
    let message = error["message"].as_str().unwrap();
    assert!(
        // Working, or stopping once it has read the request.
        message.contains("demo is not deleted; asked to stop after the turn: bob ("),
        "{message}"
    );
    gate.open();
    world.swarm(&["team", "delete", "--force"]).ok();
}

#[test]
fn ctrl_c_on_a_send_that_waits_says_that_the_message_stays_and_it_does() {
    let gate = Gate::closed();
    let (api, world) = at_work(&gate);
    let sending = world.start(&["send", "bob", "a second thing", "--wait", "acked", "--json"]);
    world.wait_until("it is queued", || {
        let mail = world.team("demo").inbox("bob");
        let is_there = |entry: &serde_json::Value| entry["text"] == "a second thing";
        mail.iter().any(is_there)
    });
    let sent = interrupt(&world, sending);
    let message = sent.error(130)["message"].to_string();
    assert!(message.contains("it stays queued"), "{message}");
    sent.stdout_has("queued");
    gate.open();
    api.wait_for("it is read", "bob", |ask| ask.news_has("a second thing"));
    world.swarm(&["shutdown", "bob"]).ok();
}

#[test]
fn a_spawn_that_replaces_waits_for_no_model() {
    let gate = Gate::closed();
    let (api, world) = at_work(&gate);
    let spawn_id = world.team("demo").hello("bob")["spawnId"].clone();
    let asked = api.requests_of("bob").len();
    let arguments = ["spawn", "bob", "--replace", "--model", MODEL];
    // The model is still silent.
    world
        .swarm(&[&arguments[..], &["--backend", "headless"]].concat())
        .ok();
    let team = world.team("demo");
    assert_ne!(team.hello("bob")["spawnId"], spawn_id);
    let ended = team.events("member_stopped");
    assert_eq!(ended[0]["how"], "approved", "{ended:?}");
    let later = api.requests_of("bob");
    let told = |asked: &Recorded| asked.ask.news_has("replaces you");
    assert!(!later[asked..].iter().any(told), "{later:?}");
    gate.open();
    world.swarm(&["shutdown", "bob", "--force"]).ok();
}

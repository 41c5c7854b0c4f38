//! Members without a lead, and paused members.

use rustix::process::Signal;
use serde_json::json;
use swarm_tests::fake_api::{Ask, Gate, Reply};

use crate::scene::{
    busy_bob_and_idle_eve, run_args, runs_once, spawn_idle, team_with, wait_for_state, world,
    world_with,
};

#[test]
fn l4_members_of_a_killed_lead_park_immediately_and_make_no_requests() {
    let gate = Gate::closed();
    let (api, world) = world_with(busy_bob_and_idle_eve(&gate));
    let arguments = run_args("have them work", &["--mode", "bypassPermissions"]);
    let lead = world.start(&arguments);
    api.wait_for("bob's turn", "bob", |_| true);
    let teams = world.swarm(&["team", "list", "--json"]).json();
    let team = teams[0]["name"].as_str().expect("a team").to_owned();
    let state = |name: &str| world.team(&team).state(name)["state"].clone();
    world.wait_until("eve is idle", || state("eve") == "idle");

    lead.signal(Signal::KILL);
    for name in ["bob", "eve"] {
        world.wait_until("it is parked", || state(name) == "parked");
    }
    // A request that the lead sent as it died may still arrive.
    let asked = || ["bob", "eve"].map(|name| api.requests_of(name).len());
    let before = asked();
    gate.open();
    world.swarm(&["send", "eve", "more work"]).ok();
    let status = world.swarm(&["status", "--json"]).json();
    assert_eq!(status["state"], "orphaned");
    let members = status["members"].as_array().unwrap();
    let eve = members.iter().find(|member| member["name"] == "eve");
    assert_eq!(eve.unwrap()["unread"], 1, "{status}");
    world.wait_until("both say so in the journal", || {
        world.team(&team).events("member_parked").len() == 2
    });

    let ended = world.swarm(&["shutdown", "--all", "--json"]).json();
    assert_eq!(ended[0]["outcome"], "approved", "{ended}");
    assert_eq!(ended[1]["outcome"], "approved", "{ended}");
    assert_eq!(asked(), before, "nothing was asked while parked");
    assert_eq!(world.processes(), []);
}

#[test]
fn l5_pause_takes_effect_after_the_current_turn_until_continue() {
    let (gate, held) = Gate::pair();
    let (api, world) = team_with(move |ask: &Ask| {
        if ask.news_has("long work") {
            Reply::text("at last").held_by(&held, 1)
        } else {
            Reply::text("ok")
        }
    });
    spawn_idle(&world, "bob");
    world.swarm(&["send", "bob", "long work"]).ok();
    api.wait_for("the turn", "bob", |ask| ask.news_has("long work"));

    world
        .swarm(&["pause", "bob", "--reason", "lunch"])
        .ok()
        .stdout_has("pauses when its turn ends");
    world.swarm(&["send", "bob", "and then this"]).ok();
    world
        .swarm(&["pause", "bob", "--wait", "--timeout", "1"])
        .assert_code(6);
    let waiting = world.start(&["pause", "bob", "--wait", "--json"]);
    gate.open();
    let paused = waiting.wait().json();
    assert_eq!(
        (&paused["state"], &paused["reason"]),
        (&json!("paused"), &json!("lunch"))
    );
    let status = world.swarm(&["status", "--json"]).json();
    assert_eq!(status["members"][1]["unread"], 1, "{status}");
    assert_eq!(status["members"][1]["detail"], "by person: lunch");

    let on = world.swarm(&["continue", "bob"]);
    assert_eq!(on.ok().stdout.trim(), "bob continues", "{}", on.story());
    api.wait_for("the next turn", "bob", |ask| ask.news_has("and then this"));
    wait_for_state(&world, "bob", "idle");
    let again = world.swarm(&["continue", "bob"]);
    assert_eq!(again.ok().stdout.trim(), "bob was not paused");
    world.swarm(&["pause", "team-lead"]).assert_code(2);
    world.swarm(&["pause", "nobody"]).assert_code(3);
    world.swarm(&["pause", "bob"]).ok();
    world.swarm(&["shutdown", "bob"]).ok();
}

#[test]
fn l5_an_agent_can_neither_pause_nor_continue() {
    let (api, world) = team_with(move |ask: &Ask| {
        if ask.news_has("try it") {
            let command = "swarm pause bob; echo $?; swarm continue bob; echo $?";
            Reply::tool("t1", "Bash", json!({"command": command}))
        } else {
            Reply::text("ok")
        }
    });
    spawn_idle(&world, "bob");
    world.swarm(&["send", "bob", "try it"]).ok();
    api.wait_for("the result", "bob", |ask| {
        ask.news().lines().filter(|line| line.trim() == "5").count() == 2
    });
    world.swarm(&["shutdown", "bob"]).ok();
}

#[test]
fn a_question_of_a_killed_lead_is_not_answered() {
    let api = runs_once("touch made");
    let world = world().with_api(&api);
    let lead = world.start(&run_args("go", &["--team", "lost"]));
    world.wait_until("the lead asks", || {
        !world.team("lost").requests().is_empty()
    });
    let asked = world.swarm(&["requests", "--json"]).json();
    assert_eq!(asked[0]["from"], "team-lead", "{asked}");
    lead.signal(Signal::KILL);
    lead.wait();
    for answer in ["approve", "deny"] {
        let refused = world.swarm(&[answer, "p1", "--json"]).error(4);
        let message = refused["message"].as_str().unwrap();
        assert!(message.ends_with("ago: its lead has ended"), "{refused}");
    }
    let status = world.swarm(&["status", "--json"]).json();
    assert_eq!(status["requests"], json!([]), "{status}");
    let log = world.swarm(&["log", "--type", "request"]).stdout;
    assert!(log.contains("its lead has ended"), "{log}");
    assert!(!world.project().join("made").exists());
    world.swarm(&["team", "delete", "lost", "--force"]).ok();
}

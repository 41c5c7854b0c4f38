//! Members whose conversations outgrow the context window.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use swarm_tests::fake_api::{Ask, FakeApi, Gate, Recorded, Reply};
use swarm_tests::stage::World;

use crate::scene::{MODEL, kill_member, spawn_over, wait_for_state, world_over};

/// Tokens that the server takes.
const WINDOW: u64 = 30_000;

/// Reads a long file in every turn.
fn reader(numbers: AtomicUsize) -> impl Fn(&Ask) -> Reply + Send + Sync {
    move |ask: &Ask| {
        if ask.tokens() > WINDOW {
            return Reply::too_long(ask.tokens(), WINDOW);
        }
        if ask.asks_for_summary() {
            return Reply::text("SUMMARY: the notes were read.");
        }
        if !ask.news_has("please read") {
            return Reply::text("Read.");
        }
        let number = numbers.fetch_add(1, Ordering::SeqCst);
        let input = json!({"command": "cat notes.txt", "description": "Look"});
        Reply::tool(format!("toolu_{number}"), "Bash", input)
    }
}

fn world_in_window(api: &FakeApi) -> World {
    let world = world_over(api);
    let setting = format!(
        "[model.windows]\n\"anthropic/\" = {WINDOW}\n[compact]\nclear_tool_results = false\n"
    );
    world.write("root/swarm.toml", &setting);
    world.write(
        "project/notes.txt",
        &"All is well in the engine room.\n".repeat(150),
    );
    world
}

/// Has the member read once more, and waits until it is done.
fn read_again(world: &World, number: usize) {
    let text = format!("please read, number {number}.");
    world.swarm(&["send", "bob", &text, "--wait", "acked"]).ok();
    wait_for_state(world, "bob", "idle");
}

fn context(world: &World) -> Value {
    let status = world.swarm(&["status", "--json"]).json();
    let members = status["members"].as_array().unwrap().clone();
    let bob = members.into_iter().find(|member| member["name"] == "bob");
    bob.unwrap()["context"].clone()
}

fn summaries(api: &FakeApi) -> usize {
    let requests = api.requests_of("bob");
    let asked = requests.iter().filter(|one| one.ask.asks_for_summary());
    asked.count()
}

/// Everything that the first message of a request says.
fn first_message(request: &Recorded) -> String {
    request.ask.messages()[0].to_string()
}

#[test]
fn a_member_is_compacted_told_of_its_team_and_respawned_behind_the_summary() {
    let api = FakeApi::start(reader(AtomicUsize::default()));
    let world = world_in_window(&api);
    world
        .swarm(&["task", "create", "Paint the boat", "--description", "red"])
        .ok();
    spawn_over(&world, "bob");
    wait_for_state(&world, "bob", "idle");
    let mut number = 0;
    let mut before = 0;
    while summaries(&api) == 0 {
        before = context(&world)["percent"].as_u64().unwrap();
        read_again(&world, number);
        number += 1;
    }
    assert!((50..=100).contains(&before), "{before}");
    let after = context(&world);
    assert_eq!(after["window"], WINDOW);
    assert!(after["percent"].as_u64().unwrap() < before, "{after}");
    let shown = world.swarm(&["status"]).ok().stdout.clone();
    let share = format!("{}%", after["percent"]);
    assert!(
        shown.contains("CONTEXT") && shown.contains(&share),
        "{shown}"
    );
    let request = api.last_of("bob").unwrap();
    let first = first_message(&request);
    for part in [
        "SUMMARY: the notes were read.",
        "Your team at this moment:",
        "You are bob of team demo.",
        "- team-lead (team-lead): ",
        "- #1 [pending] Paint the boat",
    ] {
        assert!(first.contains(part), "{part}: {first}");
    }
    kill_member(&world, "bob");
    spawn_over(&world, "bob");
    wait_for_state(&world, "bob", "idle");
    let respawned = api.last_of("bob").unwrap();
    assert_eq!(
        first_message(&respawned),
        first,
        "it goes on behind the summary"
    );
    assert_eq!(summaries(&api), 1);
    let last = number - 1;
    assert_eq!(
        respawned
            .ask
            .times_told(&format!("please read, number {last}.")),
        1
    );
    for number in 0..last {
        let line = format!("please read, number {number}.");
        let times = respawned.ask.times_told(&line);
        assert!(times <= 1, "{line} came {times} times");
    }
    assert_eq!(api.refused(), [""; 0]);
    world.swarm(&["kill", "--all"]).ok();
}

/// A member that has read a few times, in a window that it does not fill.
fn with_bob(api: &FakeApi) -> World {
    let world = world_in_window(api);
    spawn_over(&world, "bob");
    wait_for_state(&world, "bob", "idle");
    for number in 0..3 {
        read_again(&world, number);
    }
    world
}

#[test]
fn a_person_compacts_a_conversation_by_hand() {
    let api = FakeApi::start(reader(AtomicUsize::default()));
    let world = with_bob(&api);
    let before = context(&world)["tokens"].as_u64().unwrap();
    let told = world
        .swarm(&["compact", "bob", "Keep the numbers.", "--json"])
        .json();
    assert_eq!(told["compacted"], true, "{told}");
    assert_eq!(told["preTokens"], before);
    let asked = api.last_of("bob").unwrap();
    assert!(asked.ask.asks_for_summary() && asked.ask.news_has("Keep the numbers."));
    let events = world.team("demo").events("compacted");
    assert_eq!(events.len(), 1, "{events:?}");
    assert_eq!(events[0]["trigger"], "manual");
    wait_for_state(&world, "bob", "idle");
    assert!(!world.team("demo").has_unread("bob"));
    let log = world.swarm(&["log"]).ok().stdout.clone();
    assert!(
        log.contains("bob's conversation was compacted by hand"),
        "{log}"
    );
    read_again(&world, 3);
    let request = api.last_of("bob").unwrap();
    assert!(first_message(&request).contains("SUMMARY: the notes were read."));
    assert!(
        !request.ask.has_seen("compact_request"),
        "the frame is for the program"
    );
    assert_eq!(api.refused(), [""; 0]);
    world.swarm(&["kill", "--all"]).ok();
}

#[test]
fn a_busy_member_compacts_its_conversation_when_its_turn_ends() {
    let gate = Gate::closed();
    let held = gate.clone();
    let reads = reader(AtomicUsize::default());
    let api = FakeApi::start(move |ask: &Ask| {
        if ask.news_has("take your time") && !ask.asks_for_summary() {
            return Reply::text("Done at last.").held_by(&held, 0);
        }
        reads(ask)
    });
    let world = with_bob(&api);
    world.swarm(&["send", "bob", "take your time"]).ok();
    wait_for_state(&world, "bob", "working");
    let told = world.swarm(&["compact", "bob"]).ok().stdout.clone();
    assert_eq!(
        told.trim(),
        "bob compacts its conversation when its turn ends"
    );
    assert_eq!(summaries(&api), 0);
    gate.open();
    world.wait_for("it is compacted", || {
        let events = world.team("demo").events("compacted");
        (!events.is_empty()).then_some(())
    });
    wait_for_state(&world, "bob", "idle");
    assert!(api.last_of("bob").unwrap().ask.has_seen("Done at last."));
    world.swarm(&["kill", "--all"]).ok();
}

#[test]
fn who_cannot_be_compacted_says_why() {
    let reads = reader(AtomicUsize::default());
    let api = FakeApi::start(move |ask: &Ask| {
        if ask.asks_for_summary() {
            return Reply::text("");
        }
        reads(ask)
    });
    let world = with_bob(&api);
    let error = world.swarm(&["compact", "bob", "--json"]).error(9);
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("the model wrote no summary"), "{message}");
    assert_eq!(summaries(&api), 3);
    wait_for_state(&world, "bob", "idle");
    assert!(
        !world.team("demo").has_unread("bob"),
        "it is not tried again"
    );
    let error = world.swarm(&["compact", "team-lead", "--json"]).error(4);
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("has no conversation"), "{message}");
    read_again(&world, 3);
    world.swarm(&["kill", "--all"]).ok();
}

#[test]
fn a_lead_that_waits_for_its_members_compacts_its_conversation() {
    let gate = Gate::closed();
    let held = gate.clone();
    let api = FakeApi::start(move |ask: &Ask| {
        let is_lead = ask.agent == "team-lead";
        match ask.number {
            _ if ask.asks_for_summary() => Reply::text("SUMMARY: bob was started."),
            1 if is_lead => {
                let input = json!({"name": "bob", "description": "work", "prompt": "hello"});
                Reply::tool("toolu_1", "Agent", input)
            }
            _ if is_lead => Reply::text("All is well."),
            _ => Reply::text("I am done.").held_by(&held, 0),
        }
    });
    let world = world_in_window(&api);
    world.swarm(&["team", "delete", "demo"]).ok();
    let running = world.start(&[
        "run",
        "go",
        "--team",
        "demo",
        "--model",
        MODEL,
        "--mode",
        "bypassPermissions",
        "--backend",
        "headless",
    ]);
    wait_for_state(&world, "team-lead", "idle");
    let told = world
        .swarm(&["compact", "team-lead", "--team", "demo", "--json"])
        .json();
    assert_eq!(told["compacted"], true, "{told}");
    gate.open();
    running.wait().ok();
    let last = first_message(&api.last_of("team-lead").unwrap());
    assert!(last.contains("SUMMARY: bob was started."), "{last}");
    assert!(last.contains("- bob: "), "{last}");
    assert_eq!(api.refused(), [""; 0]);
}

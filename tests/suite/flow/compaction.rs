//! Members whose conversations outgrow the context window.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use swarm_tests::fake_api::{Ask, FakeApi, Recorded, Reply};
use swarm_tests::stage::World;

use crate::scene::{kill_member, spawn_over, wait_for_state, world_over};

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

//! Members whose conversations outgrow the context window.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use swarm_tests::fake_api::{Ask, FakeApi, Gate, Recorded, Reply};
use swarm_tests::stage::World;

use crate::scene::{demo_run_args, kill_member, spawn_idle, wait_for_state, world_over};

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
fn a_member_is_compacted_keeps_its_team_brief_and_is_respawned_after_the_summary() {
    let api = FakeApi::start(reader(AtomicUsize::default()));
    let world = world_in_window(&api);
    world
        .swarm(&["task", "create", "Paint the boat", "--description", "red"])
        .ok();
    spawn_idle(&world, "bob");
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
        "Your team now:",
        "You are bob of team demo.",
        "- team-lead (team-lead): ",
        "- #1 [pending] Paint the boat",
    ] {
        assert!(first.contains(part), "{part}: {first}");
    }
    kill_member(&world, "bob");
    spawn_idle(&world, "bob");
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
    spawn_idle(&world, "bob");
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
        log.contains("bob's conversation was compacted manually"),
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
    let (gate, held) = Gate::pair();
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
    world.wait_until("it is compacted", || {
        let events = world.team("demo").events("compacted");
        !events.is_empty()
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
    assert!(
        message.contains("the response contains no summary"),
        "{message}"
    );
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
    let (gate, held) = Gate::pair();
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
    let running = world.start(&demo_run_args("go", &[]));
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

/// Requests of a long conversation, each of which but the last calls a tool.
const TURNS: usize = 300;

/// What its agent has on its list, and files that it reads again and again.
const TODO: &str = "Count the sails";
const FILES: [&str; 3] = ["crew.txt", "cargo.txt", "route.txt"];

/// Makes a list, and then reads: long output of a command, and now and then one of a few short files.
fn reads_for_long() -> impl Fn(&Ask) -> Reply + Send + Sync {
    let (answers, summaries) = (AtomicUsize::default(), AtomicUsize::default());
    move |ask: &Ask| {
        if ask.tokens() > WINDOW {
            return Reply::too_long(ask.tokens(), WINDOW);
        }
        if ask.agent == "ann" {
            return Reply::tool("touch", "Bash", json!({"command": "touch made"}));
        }
        if ask.asks_for_summary() {
            let number = summaries.fetch_add(1, Ordering::SeqCst);
            return Reply::text(format!("SUMMARY {number}."));
        }
        let number = answers.fetch_add(1, Ordering::SeqCst);
        let (tool, input) = match number {
            TURNS => return Reply::text("I have read enough."),
            0 => {
                let todo =
                    json!({"content": TODO, "status": "in_progress", "activeForm": "Counting"});
                ("TodoWrite", json!({"todos": [todo]}))
            }
            number if number % 3 == 0 => {
                let file = FILES[number / 3 % FILES.len()];
                ("Read", json!({"file_path": file}))
            }
            _ => (
                "Bash",
                json!({"command": "cat notes.txt", "description": "Look"}),
            ),
        };
        Reply::tool(format!("toolu_{number}"), tool, input)
    }
}

/// The team of a long conversation: ann waits for an answer, bob reads.
fn long_conversation(api: &FakeApi) -> World {
    let world = world_over(api);
    let setting = format!(
        "[model.windows]\n\"anthropic/\" = {WINDOW}\n[compact]\nclear_tool_results = false\n[turn]\nmax_requests = 1000\n"
    );
    world.write("root/swarm.toml", &setting);
    world.write("project/CLAUDE.md", "Whistle while you work.\n");
    let line = "All is well in the engine room.\n";
    world.write("project/notes.txt", &line.repeat(150));
    for file in FILES {
        world.write(&format!("project/{file}"), &format!("contents of {file}\n"));
    }
    world
        .swarm(&["task", "create", "Paint the boat", "--description", "red"])
        .ok();
    let ask = ["--mode", "default", "--prompt", "go"];
    crate::scene::spawn_with(&world, "ann", &ask);
    wait_for_state(&world, "ann", "waiting-permission");
    spawn_idle(&world, "bob");
    world
}

/// The blocks of messages without cache markers, as texts.
fn plain(messages: &[Value]) -> Vec<String> {
    let mut messages = messages.to_vec();
    for message in &mut messages {
        for block in message["content"].as_array_mut().into_iter().flatten() {
            if let Some(fields) = block.as_object_mut() {
                fields.remove("cache_control");
            }
        }
    }
    messages.iter().map(Value::to_string).collect()
}

/// Every call of a conversation has its result in the message behind it.
fn assert_answered(messages: &[Value]) {
    let ids = |message: &Value, kind: &str, key: &str| -> Vec<String> {
        let blocks = message["content"].as_array().into_iter().flatten();
        let blocks = blocks.filter(|block| block["type"] == kind);
        blocks.map(|block| block[key].to_string()).collect()
    };
    for (at, message) in messages.iter().enumerate() {
        let calls = ids(message, "tool_use", "id");
        let results = messages.get(at + 1);
        let results = results.map(|next| ids(next, "tool_result", "tool_use_id"));
        assert_eq!(calls, results.unwrap_or_default(), "behind message {at}");
    }
}

/// What a conversation begins with after the compaction of this number. `tail` is what was kept verbatim.
fn assert_reattached(number: usize, first: &str, tail: &str) {
    let summary = format!("SUMMARY {number}.");
    for part in [
        "Whistle while you work.",
        &summary,
        TODO,
        "You are bob of team demo.",
        "- team-lead (team-lead): ",
        "- ann: waiting-permission",
        "- #1 [pending] Paint the boat",
        "- ann asks: ",
    ] {
        assert!(first.contains(part), "{part}: {first}");
    }
    for file in FILES {
        let text = format!("contents of {file}");
        // Of the first files some were not read yet.
        assert!(
            number == 0 || first.contains(&text) || tail.contains(&text),
            "{file}: {first}"
        );
    }
}

#[test]
fn a_conversation_of_300_turns_in_a_small_window_ends_with_all_that_it_needs() {
    let api = FakeApi::start(reads_for_long());
    let world = long_conversation(&api);
    assert_eq!(api.refused(), [""; 0]);
    let requests = api.requests_of("bob");
    assert_eq!(requests.len(), TURNS + 1 + summaries(&api));
    assert!(summaries(&api) >= 10, "{}", api.summary());
    let texts: Vec<_> = requests
        .iter()
        .map(|one| plain(one.ask.messages()))
        .collect();
    let (mut number, mut read, mut all) = (0, 0, 0);
    for (pair, texts) in requests.windows(2).zip(texts.windows(2)) {
        let ([before, after], [old, new]) = (pair, texts) else {
            unreachable!("windows of two")
        };
        assert!(after.ask.tokens() <= WINDOW);
        assert_answered(after.ask.messages());
        read += after.tokens.read;
        all += after.tokens.total();
        if before.ask.asks_for_summary() {
            let (tail, whole) = (&new[1..], &old[..old.len() - 1]);
            assert!(
                tail.len() >= 2 && whole.ends_with(tail),
                "the last messages are the same"
            );
            assert_reattached(number, &new[0], &tail.concat());
            number += 1;
        } else {
            // Also the request for a summary: the whole conversation, and only something behind it.
            assert!(new.starts_with(old), "nothing is left out");
            let known = before.tokens.read + before.tokens.written;
            assert_eq!(after.tokens.read, known, "it is read from the cache");
        }
    }
    assert!(read * 100 > all * 85, "{read} of {all}");
    world.swarm(&["kill", "--all"]).ok();
}

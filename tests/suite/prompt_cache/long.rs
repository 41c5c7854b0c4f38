//! A long conversation.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use swarm_tests::fake_api::{Ask, Block, PromptTokens, Recorded, Reply};
use swarm_tests::stage::World;

use crate::scene::{run_args, world_with};

/// Requests of the conversation.
const REQUESTS: usize = 40;

/// The request whose answer makes more calls than a mark looks back over blocks.
const WIDE: usize = 20;

/// Reads a file of the project in every answer but the last, and once in thirty calls at a time.
fn reads(ask: &Ask) -> Reply {
    if ask.number == REQUESTS {
        return Reply::text("I have read enough.");
    }
    let calls = if ask.number == WIDE { 30 } else { 1 };
    Reply::blocks((0..calls).map(|call| {
        let id = format!("toolu_{}_{call}", ask.number);
        Block::tool(
            id,
            "Bash",
            json!({"command": "cat notes.txt", "description": "Look"}),
        )
    }))
}

/// Lets the lead read the notes, and gives the report of the run.
fn run(world: &World) -> Value {
    let notes = "All is well in the engine room.\n".repeat(60);
    world.write("project/notes.txt", &notes);
    let more = ["--mode", "bypassPermissions", "--output", "json"];
    world.swarm(&run_args("Read the notes.", &more)).json()
}

#[test]
fn a_conversation_of_forty_requests_is_read_from_the_cache_for_more_than_nine_tenths() {
    let (api, world) = world_with(reads);
    run(&world);
    let requests = api.requests();
    assert_eq!(requests.len(), REQUESTS, "{}", api.summary());
    assert_eq!(api.refused(), [""; 0]);
    for pair in requests.windows(2) {
        let [before, after] = pair else {
            unreachable!("windows of two")
        };
        let known = before.tokens.read + before.tokens.written;
        assert_eq!(
            after.tokens.read, known,
            "request {} reads what the one before left",
            after.ask.number
        );
    }
    let all: PromptTokens = requests.iter().map(|request| request.tokens).sum();
    assert!(all.read * 10 > all.total() * 9, "{all:?}");
    assert!(all.total() > 500_000, "a long conversation: {all:?}");
}

/// Tokens that the server takes.
const WINDOW: u64 = 30_000;

/// Requests for an answer after which the work is done.
const MANY: usize = 120;

/// The same work with a small context window, until everything that was asked for is read.
fn reads_in_a_small_window() -> impl Fn(&Ask) -> Reply + Send + Sync {
    let answers = AtomicUsize::new(0);
    move |ask: &Ask| {
        if ask.tokens() > WINDOW {
            return Reply::too_long(ask.tokens(), WINDOW);
        }
        if ask.asks_for_summary() {
            return Reply::text("The notes are being read, and nothing was found so far.");
        }
        let number = answers.fetch_add(1, Ordering::SeqCst);
        if number == MANY {
            return Reply::text("I have read enough.");
        }
        let input = json!({"command": "cat notes.txt", "description": "Look"});
        Reply::tool(format!("toolu_{number}"), "Bash", input)
    }
}

#[test]
fn a_run_goes_on_when_its_conversation_outgrows_the_window() {
    let (api, world) = world_with(reads_in_a_small_window());
    let setting = format!(
        "[model.windows]\n\"anthropic/\" = {WINDOW}\n[compact]\nclear_tool_results = false\n"
    );
    world.write("root/swarm.toml", &setting);
    world.write("project/CLAUDE.md", "Whistle while you work.\n");
    let report = run(&world);
    assert_eq!(report["result"], "I have read enough.", "{report}");
    assert_eq!(api.refused(), [""; 0]);
    let requests = api.requests();
    let is_summary = |request: &Recorded| request.ask.asks_for_summary();
    let summaries = requests
        .iter()
        .filter(|request| is_summary(request))
        .count();
    assert!(summaries >= 2, "{}", api.summary());
    assert_eq!(requests.len(), MANY + 1 + summaries);
    let (mut read, mut all) = (0, 0);
    for pair in requests.windows(2) {
        let [before, after] = pair else {
            unreachable!("windows of two")
        };
        assert!(after.ask.tokens() <= WINDOW);
        if is_summary(before) {
            assert!(after.ask.has_seen("Whistle while you work."));
            assert!(after.ask.has_seen("nothing was found so far"));
            assert!(!after.ask.has_seen("Read the notes."), "but in the summary");
            let kept = after.ask.messages().len() - 1;
            let whole = before.ask.messages();
            let last = &whole[whole.len() - 1 - kept..whole.len() - 1];
            assert_eq!(texts(&after.ask.messages()[1..]), texts(last));
        } else {
            read += after.tokens.read;
            all += after.tokens.total();
            let known = before.tokens.read + before.tokens.written;
            assert_eq!(
                after.tokens.read, known,
                "the summary too is asked for on the cached prefix"
            );
        }
    }
    assert!(read * 10 > all * 9, "{read} of {all}");
}

/// Messages without cache markers.
fn texts(messages: &[Value]) -> Vec<String> {
    let messages = messages.iter();
    messages
        .map(|message| {
            let mut message = message.clone();
            for block in message["content"].as_array_mut().into_iter().flatten() {
                if let Some(fields) = block.as_object_mut() {
                    fields.remove("cache_control");
                }
            }
            message.to_string()
        })
        .collect()
}

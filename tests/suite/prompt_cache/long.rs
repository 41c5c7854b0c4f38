//! A long conversation.

use serde_json::json;
use swarm_tests::fake_api::{Ask, Block, FakeApi, PromptTokens, Reply};

use crate::scene::{MODEL, world};

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

#[test]
fn a_conversation_of_forty_requests_is_read_from_the_cache_for_more_than_nine_tenths() {
    let api = FakeApi::start(reads);
    let world = world().with_api(&api);
    world.write(
        "project/notes.txt",
        &"All is well in the engine room.\n".repeat(60),
    );
    let arguments = [
        "run",
        "Read the notes.",
        "--model",
        MODEL,
        "--mode",
        "bypassPermissions",
    ];
    world
        .swarm(&[&arguments[..], &["--backend", "headless"]].concat())
        .ok();
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

//! The request prefix, on which the prompt cache depends.

use serde_json::{Value, json};
use swarm_agent::Injected;
use swarm_model::{ContentBlock, Message, StopReason};

use crate::model::{Asked, call, reply, say, tool_use};
use crate::setup::{Setup, on};
use crate::tools::{Log, change, echo};
use crate::valid::assert_valid;

/// Returns every block of every message as text.
fn blocks(messages: &[Message]) -> Vec<String> {
    messages
        .iter()
        .flat_map(|message| {
            message
                .content
                .iter()
                .map(|block| format!("{:?} {}", message.role, json!(block)))
        })
        .collect()
}

fn head(request: &Asked) -> Value {
    let system: Vec<_> = request.system.iter().map(|b| (&b.text, b.cache)).collect();
    let tools: Vec<_> = request
        .tools
        .iter()
        .map(|t| (&t.name, &t.description, &t.input_schema))
        .collect();
    json!([request.model, request.max_tokens, system, tools])
}

#[tokio::test]
async fn each_request_begins_with_the_bytes_of_the_one_before() {
    let setup = Setup::new(vec![change(Log::default()), echo()]);
    let thinking = ContentBlock::Thinking {
        thinking: "let me see".into(),
        signature: "c2ln".into(),
    };
    let first = vec![
        thinking,
        ContentBlock::text(" \n"),
        tool_use(
            "a",
            "Echo",
            json!({"z": 1.5, "a": {"y": 0.1, "b": []}, "text": "é"}),
        ),
        tool_use("b", "Change", json!({"text": "1"})),
    ];
    setup.model.play([
        reply(first, StopReason::ToolUse),
        call([("c", "Echo", json!({"text": "2"}))]),
        say("one"),
        say("two"),
        reply(vec![], StopReason::EndTurn),
        call([("d", "Nothing", json!({}))]),
        say("four"),
    ]);
    let urgent = vec![Injected::prompt("quick!")];
    setup.mail.batches.lock().push_back(urgent);
    for turn in 0..4 {
        // A new process for each turn: the messages read from disk must equal those that were sent.
        let mut session = setup.open();
        session
            .deliver(vec![Injected::prompt(format!("turn {turn}"))])
            .unwrap();
        session.run_turn(on()).await;
    }
    let requests = setup.model.requests();
    assert_eq!(requests.len(), 7);
    for pair in requests.windows(2) {
        assert_eq!(head(&pair[0]), head(&pair[1]));
        let (before, after) = (blocks(&pair[0].messages), blocks(&pair[1].messages));
        assert!(after.len() > before.len());
        assert_eq!(before[..], after[..before.len()]);
    }
    for request in &requests {
        assert_valid(&request.messages);
    }
    let system = &requests[0].system;
    assert_eq!((system[0].cache, system[1].cache), (false, true));
}

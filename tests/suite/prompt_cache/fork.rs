//! Five agents of one conversation, started at once.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use swarm_tests::fake_api::{Ask, Block, Gate, PromptTokens, Recorded, Reply};

use crate::scene::{run_args, world_with};

/// Agents that are started in one answer.
const AGENTS: usize = 5;

/// Answers in which the parent reads before that.
const READS: usize = 10;

/// Further calls of the answer that starts the agents: more blocks than a mark looks back over.
const BESIDE: usize = 10;

/// The beginning of each agent's work.
const WORK: &str = "Look at part";

/// What one token read from the cache costs, and one written, when one that is neither costs 1
/// (<https://docs.claude.com/en/docs/build-with-claude/prompt-caching>).
const PRICES: (f64, f64) = (0.1, 1.25);

/// What a run of the work sent.
struct Work {
    /// Of the parent, until it starts the agents.
    parent: Vec<Recorded>,
    /// Of the agents.
    agents: Vec<Recorded>,
}

fn is_fork(ask: &Ask) -> bool {
    ask.has_seen("<fork-boilerplate>")
}

/// An agent that begins afresh knows its work and nothing before it.
fn is_fresh(ask: &Ask) -> bool {
    ask.messages()[0].to_string().contains(WORK)
}

fn read(number: usize) -> Block {
    let input = json!({"command": format!("cat notes-{number}.txt"), "description": "Read"});
    Block::tool(format!("read_{number}"), "Bash", input)
}

/// The answer that starts the agents.
fn start(kind: Option<&str>) -> Reply {
    let agents = (0..AGENTS).map(|number| {
        let mut input =
            json!({"description": "one part", "prompt": format!("{WORK} {number} of the notes.")});
        if let Some(kind) = kind {
            input["subagent_type"] = json!(kind);
        }
        Block::tool(format!("agent_{number}"), "Agent", input)
    });
    let beside = (0..BESIDE).map(|number| {
        let input = json!({"command": "true", "description": "Nothing"});
        Block::tool(format!("beside_{number}"), "Bash", input)
    });
    Reply::blocks(agents.chain(beside))
}

/// Lets a lead read fifty thousand tokens and start its agents, which answer when all of them have asked.
fn work(kind: Option<&'static str>) -> Work {
    let gate = Gate::closed();
    let come = AtomicUsize::new(0);
    let (api, world) = world_with(move |ask: &Ask| {
        let own = ask.own_texts().count();
        let begins = is_fork(ask) || is_fresh(ask) && own == 0;
        if begins && come.fetch_add(1, Ordering::SeqCst) + 1 == AGENTS {
            gate.open();
        }
        match own {
            0 if is_fresh(ask) => Reply::blocks((0..READS).map(read)).held_by(&gate, 0),
            _ if is_fork(ask) => Reply::text("My part is done.").held_by(&gate, 0),
            _ if is_fresh(ask) => Reply::text("My part is done."),
            own if own < READS => Reply::blocks([read(own)]),
            READS => start(kind),
            _ => Reply::text("All parts are done."),
        }
    });
    let settings = "[agents]\nfork = \"on\"\nmax_concurrent = 8\n";
    world.write("root/swarm.toml", settings);
    for number in 0..READS {
        let notes = format!("Note {number}: all is well.\n").repeat(850);
        world.write(&format!("project/notes-{number}.txt"), &notes);
    }
    let arguments = run_args("Read the notes.", &[]);
    let mode = ["--mode", "bypassPermissions", "--timeout", "100"];
    world.swarm(&[&arguments[..], &mode].concat()).ok();
    assert_eq!(api.refused(), [""; 0]);
    let (agents, parent): (Vec<_>, Vec<_>) = api
        .requests()
        .into_iter()
        .partition(|request| is_fork(&request.ask) || is_fresh(&request.ask));
    Work {
        parent: parent.into_iter().take(READS + 1).collect(),
        agents,
    }
}

fn sum<'a>(requests: impl IntoIterator<Item = &'a Recorded>) -> PromptTokens {
    requests.into_iter().map(|request| request.tokens).sum()
}

fn share(tokens: PromptTokens) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]
    let share = tokens.read as f64 / tokens.total() as f64;
    share
}

/// A line of the table in `docs/performance.md`.
fn line(name: &str, tokens: PromptTokens) -> String {
    #[expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]
    let [read, written, fresh] = [tokens.read, tokens.written, tokens.fresh].map(|n| n as f64);
    let price = read * PRICES.0 + written * PRICES.1 + fresh;
    format!(
        "| {name} | {} | {} | {} | {} | {:.1} % | {price:.0} |",
        tokens.total(),
        tokens.read,
        tokens.written,
        tokens.fresh,
        share(tokens) * 100.0
    )
}

/// The block of a request that is marked first in its messages; the place of the mark.
fn first_mark(body: &mut Value) -> (usize, usize) {
    let messages = body["messages"].as_array_mut().unwrap();
    for (at, message) in messages.iter_mut().enumerate() {
        let blocks = message["content"].as_array_mut().unwrap();
        for (block, value) in blocks.iter_mut().enumerate() {
            if value
                .as_object_mut()
                .unwrap()
                .remove("cache_control")
                .is_some()
            {
                return (at, block);
            }
        }
    }
    panic!("no mark in {body}")
}

#[test]
fn five_forks_at_once_read_their_parents_conversation_from_the_cache() {
    let forked = work(None);
    let [.., last] = &forked.parent[..] else {
        panic!("the parent asked")
    };
    assert!(last.tokens.total() >= 50_000, "{:?}", last.tokens);
    assert_eq!(forked.agents.len(), AGENTS);
    let forks = sum(&forked.agents);
    println!("{}", line("5 forks", forks));
    assert!(share(forks) >= 0.95, "{forks:?}");
    let known = last.tokens.read + last.tokens.written;
    for fork in &forked.agents {
        assert_eq!(
            fork.tokens.read, known,
            "all that the parent's last request left"
        );
    }

    // The same requests once more, counted as they were, and with what must not happen.
    let sent = |requests: &[Recorded]| -> Vec<Value> {
        requests
            .iter()
            .map(|request| request.sent.clone())
            .collect()
    };
    let replayed = |change: &dyn Fn(&mut Value)| {
        let mut rounds: Vec<Vec<Value>> = forked
            .parent
            .iter()
            .map(|one| vec![one.sent.clone()])
            .collect();
        let mut agents = sent(&forked.agents);
        agents.iter_mut().for_each(change);
        rounds.push(agents);
        let last = PromptTokens::of_rounds(&rounds).pop().unwrap();
        last.into_iter().sum::<PromptTokens>()
    };
    assert_eq!(replayed(&|_| {}), forks);
    let one_byte = replayed(&|body| {
        let text = body["tools"][0]["description"].as_str().unwrap().to_owned();
        body["tools"][0]["description"] = json!(format!("{text}."));
    });
    assert_eq!(one_byte.read, 0, "{one_byte:?}");
    let moved = replayed(&|body| {
        let (at, _) = first_mark(body);
        body["messages"][at - 2]["content"][0]["cache_control"] = json!({"type": "ephemeral"});
    });
    assert!(share(moved) < 0.95, "{moved:?}");
}

#[test]
fn siblings_send_the_same_bytes_but_for_their_directive() {
    let forked = work(None);
    let mut prefixes: Vec<String> = forked
        .agents
        .iter()
        .map(|fork| {
            let mut body = fork.sent.clone();
            let messages = body["messages"].as_array_mut().unwrap();
            let last = messages.last_mut().unwrap()["content"]
                .as_array_mut()
                .unwrap();
            let directive = last.pop().unwrap();
            assert!(
                directive["text"].as_str().unwrap().contains(WORK),
                "{directive}"
            );
            body.to_string()
        })
        .collect();
    prefixes.dedup();
    assert_eq!(prefixes.len(), 1);
}

#[test]
fn fresh_agents_do_not_read_from_their_parents_cache() {
    let fresh = work(Some("general-purpose"));
    assert_eq!(fresh.agents.len(), 2 * AGENTS);
    let tokens = sum(&fresh.agents);
    println!("{}", line("5 fresh sub-agents", tokens));
    assert!(share(tokens) < 0.5, "{tokens:?}");
    assert!(tokens.written > 200_000, "{tokens:?}");
}

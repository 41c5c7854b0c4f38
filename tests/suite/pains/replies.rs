//! Messages of members to a lead that is killed meanwhile.

use std::collections::{BTreeMap, BTreeSet};

use rustix::process::Signal;
use serde_json::{Value, json};
use swarm_tests::fake_api::{Ask, Block, FakeApi, Gate, Reply};
use swarm_tests::stage::World;

use crate::scene::{demo_run_args, world};

const COUNT: usize = 100;
/// Messages in one answer of a model.
const BATCH: usize = 10;
/// After so many, each sender waits until its lead is dead.
const BEFORE: usize = 50;
const BY_TOOL: [&str; 2] = ["ann", "eve"];
const BY_SHELL: &str = "bob";

/// Bodies with characters that files, shells and frames could change.
fn body(name: &str, number: usize) -> String {
    format!("{name} {number:03}: \"grüße\" \\n $HOME `x` <b>&amp;\n  line two\t{{\"n\":{number}}}")
}

/// The messages of one answer, from this number on.
fn batch(name: &str, first: usize) -> Reply {
    let call = |number| {
        let input = json!({"to": "team-lead", "summary": "a word", "message": body(name, number)});
        Block::tool(format!("{name}-{number}"), "SendMessage", input)
    };
    Reply::blocks((first..first + BATCH).map(call))
}

/// A member that sends by its tool continues where its conversation ends.
fn sends(ask: &Ask, gate: &Gate) -> Reply {
    let name = ask.agent.as_str();
    let sent = (1..=COUNT)
        .take_while(|number| ask.result_of(&format!("{name}-{number}")).is_some())
        .count();
    match sent {
        COUNT => Reply::text("all said"),
        BEFORE => batch(name, sent + 1).held_by(gate, 0),
        sent => batch(name, sent + 1),
    }
}

/// A loop in a shell that sends the bodies from files, half of them after its lead is dead.
fn shell_loop(world: &World) -> String {
    for number in 1..=COUNT {
        world.write(&format!("project/bodies/{number}"), &body(BY_SHELL, number));
    }
    format!(
        "for n in $(seq {COUNT}); do swarm send team-lead - < bodies/$n || exit 1; \
         [ $n = {BEFORE} ] && until [ -e go ]; do sleep 0.02; done; done; true"
    )
}

fn lead(ask: &Ask) -> Reply {
    let next = ["ann", "eve", "bob"]
        .iter()
        .find(|name| ask.result_of(name).is_none());
    match next {
        Some(name) => {
            let input = json!({"name": *name, "description": "tell", "prompt": "count to me"});
            Reply::tool(*name, "Agent", input)
        }
        None => Reply::text("I hear you"),
    }
}

/// All messages that were ever in the lead's inbox, by id.
fn lead_messages(world: &World) -> BTreeMap<String, Value> {
    let archive = world
        .team("demo")
        .directory()
        .join("swarm/archive/team-lead.jsonl");
    let archived = std::fs::read_to_string(archive).unwrap_or_default();
    let archived = archived
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let kept = world.team("demo").inbox("team-lead");
    archived
        .chain(kept)
        .filter_map(|entry: Value| Some((entry["msg_id"].as_str()?.to_owned(), entry)))
        .collect()
}

/// The lead's conversation on disk, as one text.
fn conversation(world: &World) -> String {
    let session = world.team("demo").config()["leadSessionId"].clone();
    let name = format!("{}.jsonl", session.as_str().unwrap());
    let directories = std::fs::read_dir(world.root().join("projects")).unwrap();
    let file = directories
        .map(|directory| directory.unwrap().path().join(&name))
        .find(|file| file.is_file())
        .unwrap();
    let lines = std::fs::read_to_string(file).unwrap();
    let mut told = String::new();
    for line in lines.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        if line["type"] == "user" {
            gather(&line["message"]["content"], &mut told);
        }
    }
    told
}

fn gather(content: &Value, told: &mut String) {
    match content {
        Value::String(text) => {
            told.push_str(text);
            told.push('\n');
        }
        Value::Array(blocks) => blocks.iter().for_each(|block| gather(&block["text"], told)),
        _ => {}
    }
}

/// The bodies of one sender, in order.
fn of(name: &str, bodies: &[String]) -> Vec<String> {
    let begins = format!("{name} ");
    let mut bodies = bodies.to_vec();
    bodies.retain(|body| body.starts_with(&begins) && body.contains("line two"));
    bodies
}

#[test]
fn d4_three_hundred_messages_reach_a_lead_that_is_killed_meanwhile_in_order_and_once() {
    let (gate, held) = Gate::pair();
    let world = world();
    // The sandbox hides the team from commands of agents.
    world.write("root/swarm.toml", "[sandbox]\nbash = \"off\"\n");
    let command = shell_loop(&world);
    let api = FakeApi::start(move |ask: &Ask| match ask.agent.as_str() {
        "team-lead" => lead(ask),
        name if BY_TOOL.contains(&name) => sends(ask, &held),
        _ if ask.result_of("loop").is_some() => Reply::text("all said"),
        _ => Reply::tool(
            "loop",
            "Bash",
            json!({"command": command, "timeout": 180_000}),
        ),
    });
    let world = world.with_api(&api);
    let running = world.start(&demo_run_args("go", &[]));
    let team = world.team("demo");
    world.wait_until("half of all messages are sent, and some are read", || {
        let sent = |name: &str| {
            let events = team.events("queued");
            events.iter().filter(|event| event["from"] == name).count() >= BEFORE
        };
        let read = team.events("delivered").len();
        ["ann", "eve", "bob"].iter().all(|name| sent(name)) && read > 0
    });
    running.signal(Signal::KILL);
    assert_eq!(running.wait().code, None);
    world.write("project/go", "");
    gate.open();
    let resumed = world.swarm(&["resume", "demo", "go on", "--json", "--timeout", "180"]);
    resumed.ok();

    let messages = lead_messages(&world);
    // A reader that is killed right after its journal entry writes it again; the conversation below still has
    // each message once.
    let mut seen = BTreeSet::new();
    let delivered: Vec<String> = team
        .events("delivered")
        .iter()
        .filter(|event| event["to"] == "team-lead")
        .filter_map(|event| event["msgId"].as_str().map(str::to_owned))
        .filter(|id| seen.insert(id.clone()))
        .filter_map(|id| messages.get(&id))
        .map(|entry| entry["text"].as_str().unwrap().to_owned())
        .collect();
    let conversation = conversation(&world);
    for name in ["ann", "eve", "bob"] {
        let sent: Vec<String> = (1..=COUNT).map(|number| body(name, number)).collect();
        assert_eq!(of(name, &delivered), sent, "journal of {name}");
        let mut rest = conversation.as_str();
        for text in &sent {
            let framed = format!(">\n{text}\n</teammate-message>");
            assert_eq!(conversation.matches(&framed).count(), 1, "{framed}");
            rest = rest.split_once(&framed).expect("in order").1;
        }
    }
}

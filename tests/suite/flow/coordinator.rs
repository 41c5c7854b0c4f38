//! Coordinator mode: a lead that only delegates, over the wire.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::{Value, json};
use swarm_tests::fake_api::{Ask, Block, FakeApi, Recorded, Reply};

use super::run_in_pane::RunInPane;
use crate::scene::{MODEL, world};

const TOOLS: [&str; 3] = ["Agent", "SendMessage", "TaskStop"];

fn is_coordinator(ask: &Ask) -> bool {
    ask.system().contains("You are a coordinator")
}

fn start(id: &str, prompt: &str) -> Block {
    let input = json!({"description": id, "prompt": prompt, "subagent_type": "worker"});
    Block::tool(id, "Agent", input)
}

/// The agent ID of the worker that a call started.
fn worker_of(ask: &Ask, call: &str) -> String {
    let (result, is_error) = ask.result_of(call).expect("a started worker");
    assert!(!is_error, "{result}");
    let id = result.split("agentId: ").nth(1).expect("its id");
    id.split_whitespace().next().expect("its id").to_owned()
}

fn send(ask: &Ask, id: &str, message: &str) -> Reply {
    let to = worker_of(ask, "r1");
    let input = json!({"to": to, "message": message, "summary": "go on"});
    Reply::tool(id, "SendMessage", input)
}

/// Research by two workers, a specification, implementation by the first of them, verification by a third.
fn coordinator(ask: &Ask) -> Reply {
    if ask.has_seen("CARRY ON") {
        return if ask.result_of("again").is_none() {
            send(ask, "again", "SPEC-2: also fix src/b.rs:4.")
        } else {
            Reply::text("carried on")
        };
    }
    if ask.result_of("r1").is_none() {
        let parts = [
            "RESEARCH-A. Change no files.",
            "RESEARCH-B. Change no files.",
        ];
        return Reply::blocks([start("r1", parts[0]), start("r2", parts[1])]);
    }
    if !(ask.has_seen("finding one") && ask.has_seen("finding two")) {
        return Reply::text("research is under way");
    }
    if ask.result_of("lazy").is_none() {
        return send(ask, "lazy", "Based on your findings, fix the bug.");
    }
    if ask.result_of("impl").is_none() {
        return send(ask, "impl", "SPEC-1: fix src/a.rs:3.");
    }
    if !ask.has_seen("changed it") {
        return Reply::text("implementation is under way");
    }
    if ask.result_of("v").is_none() {
        return Reply::blocks([start("v", "VERIFY: prove that src/a.rs:3 is fixed.")]);
    }
    if !ask.has_seen("it holds") {
        return Reply::text("verification is under way");
    }
    Reply::text("report: fixed and verified")
}

fn scratchpad(ask: &Ask) -> PathBuf {
    let system = ask.system();
    let after = system.split("Scratchpad directory: ").nth(1);
    let line = after.and_then(|after| after.lines().next());
    PathBuf::from(line.unwrap_or_else(|| panic!("no scratchpad in {system}")))
}

fn worker(ask: &Ask) -> Reply {
    if ask.has_seen("SPEC-2") {
        Reply::text("went on")
    } else if ask.has_seen("SPEC-1") {
        if ask.result_of("note").is_none() {
            let note = json!({"file_path": scratchpad(ask).join("note.md"), "content": "noted"});
            return Reply::tool("note", "Write", note);
        }
        Reply::text("changed it")
    } else if ask.has_seen("RESEARCH-A") {
        Reply::text("finding one")
    } else if ask.has_seen("RESEARCH-B") {
        Reply::text("finding two")
    } else {
        Reply::text("it holds")
    }
}

fn api() -> FakeApi {
    FakeApi::start(|ask: &Ask| {
        if is_coordinator(ask) {
            coordinator(ask)
        } else {
            worker(ask)
        }
    })
}

/// Which requests came in which order, by what they saw last.
fn position(requests: &[Recorded], fits: impl Fn(&Ask) -> bool) -> usize {
    let found = requests.iter().position(|request| fits(&request.ask));
    found.expect("such a request")
}

fn sorted(ask: &Ask) -> Vec<&str> {
    let mut tools = ask.tools();
    tools.sort_unstable();
    tools
}

/// The coordinator has exactly its tools, workers everything but those with which they could delegate.
fn assert_tools(requests: &[Recorded]) {
    let (of_coordinator, of_workers): (Vec<&Recorded>, Vec<&Recorded>) = requests
        .iter()
        .partition(|request| is_coordinator(&request.ask));
    for request in &of_coordinator {
        assert_eq!(sorted(&request.ask), TOOLS);
    }
    for request in &of_workers {
        let tools = sorted(&request.ask);
        for tool in ["Read", "Edit", "Write", "Bash"] {
            assert!(tools.contains(&tool), "{tools:?}");
        }
        for barred in [
            "Agent",
            "SendMessage",
            "TeamCreate",
            "TeamDelete",
            "TaskStop",
        ] {
            assert!(!tools.contains(&barred), "{tools:?}");
        }
        assert!(
            !request.ask.has_seen("fix the bug"),
            "it knows its prompt alone"
        );
    }
}

#[test]
fn the_status_line_of_a_lead_shows_coordinator_mode() {
    let run = RunInPane::shell("sh", |_: &Ask| Reply::text("understood"));
    run.swarm("lead --coordinator --mode default; echo code $?");
    run.shows("coordinator · default");
    run.press("C-d");
    run.shows("code 0");
}

#[test]
fn p4_a_coordinator_leads_workers_through_four_phases_and_stays_one_when_it_is_resumed() {
    let api = api();
    let world = world().with_api(&api);
    world.commit_project();
    let common = ["--mode", "default", "--output", "json"];
    let run = [
        "run",
        "fix the bug",
        "--coordinator",
        "--team",
        "crew",
        "--model",
        MODEL,
    ];
    let report = world.swarm(&[&run[..], &common[..]].concat()).json();
    assert_eq!(
        report["result"],
        "report: fixed and verified",
        "{}",
        api.summary()
    );

    let requests = api.requests();
    assert_tools(&requests);
    let last = requests.iter().rev();
    let mut last = last.filter(|request| is_coordinator(&request.ask));
    let last = &last.next().expect("a request of the coordinator").ask;
    let (lazy, is_error) = last.result_of("lazy").expect("the returned message");
    assert!(
        is_error && lazy.contains("based on your findings"),
        "{lazy}"
    );
    assert!(!last.result_of("impl").expect("the sent one").1);
    let first = worker_of(last, "r1");
    let seen = last
        .messages()
        .iter()
        .map(Value::to_string)
        .collect::<String>();
    for part in [
        format!("<task-id>{first}</task-id>"),
        "<status>completed</status>".to_owned(),
        "<summary>Agent ".to_owned(),
        "<result>finding two</result>".to_owned(),
        "<usage><total_tokens>".to_owned(),
    ] {
        assert!(seen.contains(&part), "{part}: {seen}");
    }

    // Both researchers begin before a specification exists; the implementation is theirs, the verification is not.
    let errand = |name: &'static str| {
        move |ask: &Ask| !is_coordinator(ask) && ask.messages()[0].to_string().contains(name)
    };
    let spec = position(&requests, |ask| {
        !is_coordinator(ask) && ask.has_seen("SPEC-1")
    });
    let verify = position(&requests, errand("VERIFY"));
    assert!(position(&requests, errand("RESEARCH-A")) < spec);
    assert!(position(&requests, errand("RESEARCH-B")) < spec);
    assert!(spec < verify);
    assert!(
        requests[spec].ask.has_seen("finding one"),
        "resumed with its context"
    );
    assert!(!requests[verify].ask.has_seen("finding one"), "fresh eyes");

    let pad = scratchpad(&requests[spec].ask);
    assert_eq!(pad, scratchpad(last), "one directory for all");
    let mode = std::fs::metadata(&pad)
        .expect("the scratchpad")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o700);
    assert_eq!(
        std::fs::read_to_string(pad.join("note.md")).expect("the note"),
        "noted"
    );

    let resume = ["resume", "crew", "CARRY ON"];
    let report = world.swarm(&[&resume[..], &common[..]].concat()).json();
    assert_eq!(report["result"], "carried on", "{}", api.summary());
    let requests = api.requests();
    let again = position(&requests, |ask| {
        is_coordinator(ask) && ask.has_seen("CARRY ON")
    });
    assert_eq!(sorted(&requests[again].ask), TOOLS);
    let spec = position(&requests, |ask| {
        !is_coordinator(ask) && ask.has_seen("SPEC-2")
    });
    assert!(
        requests[spec].ask.has_seen("changed it"),
        "resumed in another process"
    );
}

#[test]
fn the_variable_starts_a_coordinator_and_does_not_change_a_conversation_that_has_begun() {
    let api = FakeApi::start(|_: &Ask| Reply::text("done"));
    let normal = world().with_api(&api);
    let run = ["run", "go", "--team", "crew", "--model", MODEL];
    normal.swarm(&run).ok();
    let coordinates = || is_coordinator(&api.requests().last().expect("a request").ask);
    assert!(!coordinates());
    let world = normal.with_variable("CLAUDE_CODE_COORDINATOR_MODE", "1");
    world
        .swarm(&["resume", "crew", "more"])
        .ok()
        .stderr_has("has no effect");
    assert!(!coordinates());
    world.swarm(&["run", "go", "--model", MODEL]).ok();
    assert!(coordinates());
    let pads = std::fs::read_dir(world.root().join("scratchpad")).expect("scratchpads");
    assert_eq!(pads.count(), 0, "an empty scratchpad is removed");
}

//! Costs and budgets with real programs: every request is counted once, at the member that sent it, and none is sent
//! beyond a budget.

use serde_json::{Value, json};
use swarm_tests::fake_api::{Ask, Block, FakeApi, Gate, Reply};
use swarm_tests::stage::World;

use crate::scene::{
    demo_run_args, runs_once, spawn_with, team_with, wait_for_state, world_over, world_saying,
};

/// One dollar per token, so that costs can be compared with token counts.
const DOLLAR_A_TOKEN: &str = "[model.prices]\n\"anthropic/claude-sonnet-4-6\" = { input = 1000000, output = 1000000, as_of = \"2026-01\" }\n";

fn total(usage: &Value) -> u64 {
    let counts = usage.as_object().expect("usage").values();
    counts.filter_map(Value::as_u64).sum()
}

fn costs(world: &World, by: &str) -> Value {
    world
        .swarm(&["cost", "--team", "demo", "--by", by, "--json"])
        .json()
}

/// A lead that creates a task, asks a sub-agent about it, and spawns bob.
fn lead_with_helpers(ask: &Ask) -> Reply {
    let is_errand = ask.messages()[0].to_string().contains("small errand");
    match ask.agent.as_str() {
        "bob" => Reply::text("bob is here"),
        _ if is_errand => Reply::text("found"),
        _ if ask.result_of("s").is_some() => Reply::text("done"),
        _ => {
            let errand = json!({
                "description": "an errand", "prompt": "a small errand",
                "subagent_type": "general-purpose",
            });
            let bob = json!({"name": "bob", "description": "work", "prompt": "hello"});
            Reply::blocks([
                Block::tool("s", "Agent", errand),
                Block::tool("b", "Agent", bob),
            ])
        }
    }
}

#[test]
fn a_run_costs_what_its_requests_were_counted_with() {
    let api = FakeApi::start(lead_with_helpers);
    let world = crate::scene::world().with_api(&api);
    std::fs::create_dir_all(world.root()).unwrap();
    std::fs::write(world.root().join("swarm.toml"), DOLLAR_A_TOKEN).unwrap();
    let report = world
        .swarm(&demo_run_args("go", &["--output", "json"]))
        .json();
    let costs = costs(&world, "member");
    // The report counts from the transcripts and the journal, the costs from each request.
    assert_eq!(
        costs["total"]["usage"],
        report["usage"],
        "{}",
        api.summary()
    );
    let tokens = total(&report["usage"]);
    assert!(tokens > 0);
    assert_eq!(costs["total"]["usd"].to_string(), format!("{tokens}.0"));
    assert_eq!(report["usd"], costs["total"]["usd"]);
    assert_eq!(costs["total"]["requests"], api.requests().len());
    let rows = costs["rows"].as_array().unwrap();
    let members: Vec<&str> = rows
        .iter()
        .filter_map(|row| row["member"].as_str())
        .collect();
    assert_eq!(members, ["bob", "team-lead"]);
    let file = world.team("demo").directory().join("swarm/cost.jsonl");
    let lines = std::fs::read_to_string(file).unwrap();
    assert!(lines.contains(r#""agent":"general-purpose""#), "{lines}");
    assert!(lines.contains(r#""price":"2026-01""#), "{lines}");
}

#[test]
fn a_request_that_breaks_off_is_counted_too() {
    let (api, world) = team_with(|ask: &Ask| match ask.number {
        1 => Reply::text("a text that breaks off in the middle").cut_after(3),
        _ => Reply::text("done"),
    });
    spawn_with(&world, "bob", &["--prompt", "hello"]);
    wait_for_state(&world, "bob", "idle");
    let sum = &costs(&world, "model")["total"];
    let asked: u64 = api.requests().iter().map(|asked| asked.tokens.fresh).sum();
    assert_eq!(api.requests().len(), 2);
    assert_eq!(sum["usage"]["input_tokens"], asked, "{}", api.summary());
    world.swarm(&["kill", "bob"]).ok();
}

#[test]
fn a_model_without_a_price_is_named_and_not_counted_as_free() {
    let (_api, world) = world_saying("hi");
    let unknown = "anthropic/claude-unheard-of";
    let arguments = ["spawn", "bob", "--prompt", "hello", "--model", unknown];
    world
        .swarm(&[&arguments[..], &["--backend", "headless"]].concat())
        .ok();
    wait_for_state(&world, "bob", "idle");
    let sum = &costs(&world, "member")["total"];
    assert_eq!(sum["usd"], Value::Null, "{sum}");
    assert_eq!(sum["unpriced"]["models"], json!([unknown]));
    let shown = world.swarm(&["cost"]).ok().stdout.clone();
    assert!(shown.contains("no price"), "{shown}");
    assert!(shown.contains("[model.prices] in swarm.toml"), "{shown}");
    let refused = world.swarm(&["spawn", "eve", "--model", unknown, "--budget", "5$"]);
    let error = refused.code(2).stderr.clone();
    assert!(error.contains("has no price"), "{error}");
    world.swarm(&["kill", "bob"]).ok();
}

#[test]
fn o2_a_member_over_its_budget_sends_nothing_until_a_person_raises_it() {
    let (api, world) = team_with(|ask: &Ask| match ask.result_of("t1") {
        None => Reply::tool("t1", "TaskList", json!({})),
        Some(_) => Reply::text("finished"),
    });
    spawn_with(
        &world,
        "bob",
        &["--prompt", "hello", "--budget", "10-tokens"],
    );
    wait_for_state(&world, "bob", "over-budget");
    // The request in flight went over the budget; the next one was not sent.
    assert_eq!(api.requests().len(), 1);
    let mail = world.team("demo").inbox("team-lead");
    let told = mail.iter().any(|mail| {
        let text = mail["text"].as_str().unwrap_or_default();
        text.starts_with("The budget of bob is used up")
    });
    assert!(told, "{mail:?}");
    let status = world.swarm(&["status"]).ok().stdout.clone();
    assert!(status.contains("budget of bob:"), "{status}");
    let same = world.swarm(&["continue", "bob", "--budget", "11-tokens"]);
    assert!(same.code(4).stderr.contains("already used up"));
    let other = world.swarm(&["continue", "bob", "--budget", "+2$"]);
    assert!(other.code(2).stderr.contains("add the same unit"));
    assert_eq!(api.requests().len(), 1);
    world
        .swarm(&["continue", "bob", "--budget", "+1M-tokens"])
        .ok();
    wait_for_state(&world, "bob", "idle");
    assert_eq!(api.requests().len(), 2);
    let peeked = world.swarm(&["peek", "bob"]).ok().stdout.clone();
    assert!(peeked.contains("finished"), "{peeked}");
    world.swarm(&["kill", "bob"]).ok();
}

/// The most that the requests in progress can use, as reserved in the team's files.
fn reserved(world: &World) -> Vec<u64> {
    let file = world.team("demo").directory().join("swarm/cost.jsonl");
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let records: Vec<Value> = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    let id = |record: &Value, mark: &str| record["reservation"][mark].as_str().map(str::to_owned);
    let released: Vec<_> = records
        .iter()
        .filter_map(|one| id(one, "released"))
        .collect();
    let open = records
        .iter()
        .filter(|one| id(one, "reserved").is_some_and(|id| !released.contains(&id)));
    open.map(|record| total(&record["usage"])).collect()
}

#[test]
fn a_strict_budget_has_room_for_the_most_that_each_request_can_use() {
    let gate = Gate::closed();
    let held = Reply::text("finished").held_by(&gate, 1);
    let api = FakeApi::start(move |ask: &Ask| match ask.agent.as_str() {
        "bob" => held.clone(),
        _ => Reply::text("finished"),
    });
    let world = world_over(&api).with_variable("SWARM_BUDGET_STRICT", "true");
    let small = ["--prompt", "hello", "--budget", "1k-tokens"];
    spawn_with(&world, "bob", &small);
    wait_for_state(&world, "bob", "over-budget");
    assert_eq!(api.requests().len(), 0);
    let mail = world.team("demo").inbox("team-lead");
    let told = mail.iter().any(|mail| {
        let text = mail["text"].as_str().unwrap_or_default();
        text.contains("the budget of bob (1000 tokens) has no room for the most")
    });
    assert!(told, "{mail:?}");
    world
        .swarm(&["continue", "bob", "--budget", "+100M-tokens"])
        .ok();
    api.wait_for("bob's request", "bob", |_| true);
    let most = match reserved(&world).as_slice() {
        [most] => *most,
        other => panic!("{other:?}"),
    };

    // The team's budget has room for one of two requests at a time.
    let budgets = world.team("demo").directory().join("swarm/budgets.json");
    let text = std::fs::read_to_string(&budgets).expect("budgets");
    let mut all: Value = serde_json::from_str(&text).expect("JSON");
    all["team"] = json!(format!("{}-tokens", most + most / 2));
    std::fs::write(&budgets, all.to_string()).expect("budgets");
    spawn_with(&world, "eve", &["--prompt", "hello"]);
    wait_for_state(&world, "eve", "over-budget");
    assert_eq!(api.requests().len(), 1);
    gate.open();
    wait_for_state(&world, "bob", "idle");
    wait_for_state(&world, "eve", "idle");
    assert_eq!(api.requests().len(), 2);
    world.wait_until("everything is released", || reserved(&world).is_empty());
    assert_eq!(costs(&world, "member")["total"]["requests"], 2);
    world.swarm(&["kill", "--all"]).ok();
}

#[test]
fn a_run_over_its_budget_holds_the_lead_its_sub_agents_and_its_members() {
    let api = FakeApi::start(lead_with_helpers);
    let world = crate::scene::world().with_api(&api);
    let more = ["--budget", "10-tokens"];
    let mut running = world.start(&demo_run_args("go", &more));
    let state = |name: &str| world.team("demo").state(name)["state"].clone();
    world.wait_until("bob and the sub-agent of the lead are held", || {
        world.team("demo").directory().is_dir() && state("bob") == "over-budget"
    });
    // Only the lead's first request was sent: its sub-agent and bob were held before theirs.
    assert_eq!(api.requests().len(), 1, "{}", api.summary());
    assert!(!running.has_ended());
    world
        .swarm(&[
            "continue",
            "team-lead",
            "--team",
            "demo",
            "--budget",
            "+1M-tokens",
        ])
        .ok();
    let done = running.wait();
    assert_eq!(done.ok().stdout.trim(), "done");
    assert_eq!(
        api.requests().len(),
        costs(&world, "member")["total"]["requests"]
    );
}

#[test]
fn agents_cannot_raise_budgets() {
    let command = "swarm continue bob --budget +5\\$; swarm task create x --budget 5\\$";
    let api = runs_once(command);
    let world = world_over(&api);
    spawn_with(
        &world,
        "bob",
        &[
            "--prompt",
            "hello",
            "--mode",
            "bypassPermissions",
            "--budget",
            "1M-tokens",
        ],
    );
    wait_for_state(&world, "bob", "idle");
    let budgets =
        std::fs::read_to_string(world.team("demo").directory().join("swarm/budgets.json"));
    assert_eq!(
        serde_json::from_str::<Value>(&budgets.unwrap()).unwrap(),
        json!({"members": {"bob": "1000000-tokens"}})
    );
    assert_eq!(world.team("demo").tasks().len(), 0);
    world.swarm(&["kill", "bob"]).ok();
}

#[test]
fn the_lead_is_told_once_when_four_fifths_of_a_budget_are_used() {
    let (api, world) = world_saying("hello");
    let more = ["--prompt", "hello", "--budget", "9M-tokens"];
    spawn_with(&world, "bob", &more);
    wait_for_state(&world, "bob", "idle");
    let first = total(&costs(&world, "member")["total"]["usage"]);
    // A second request like the first one lies between 80 % and 100 %.
    let budget = format!("{}-tokens", first * 12 / 5);
    world.swarm(&["continue", "bob", "--budget", &budget]).ok();
    let warnings = || {
        let mail = world.team("demo").inbox("team-lead").into_iter();
        let texts = mail.map(|mail| mail["text"].as_str().unwrap_or_default().to_owned());
        let told = texts.filter(|text| text.contains("% of the budget of bob is used"));
        told.collect::<Vec<String>>()
    };
    assert_eq!(
        warnings(),
        [""; 0],
        "{first} tokens are not 80 % of {budget}"
    );
    world.swarm(&["send", "bob", "again"]).ok();
    world.wait_until("the warning", || !warnings().is_empty());
    wait_for_state(&world, "bob", "idle");
    assert_eq!(api.requests().len(), 2, "it is only a warning");
    assert_eq!(warnings().len(), 1, "{:?}", warnings());
    world.swarm(&["kill", "bob"]).ok();
}

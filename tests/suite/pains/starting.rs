//! Spawns: who gets a name, how many processes a request starts, and in which environment.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::json;
use swarm_tests::fake_api::{Ask, FakeApi, Gate, Reply};
use swarm_tests::stage::{InsideTmux, Running, World};

use crate::scene::{
    MODEL, enter_foreign, run_args, runs_once, spawn_args, spawn_in_pane, spawn_over, spawn_with,
    wait_for_state, world, world_over, world_saying, world_with,
};

#[test]
fn s12_one_request_made_five_times_gives_one_process() {
    let (_api, world) = world_saying("here");
    let arguments = spawn_args("bob", "headless", &["--json"]);
    let all: Vec<_> = (0..5).map(|_| world.start(&arguments)).collect();
    let codes: Vec<_> = all.into_iter().map(|one| one.wait().code).collect();
    assert_eq!(
        codes.iter().filter(|code| **code == Some(0)).count(),
        1,
        "{codes:?}"
    );
    assert_eq!(
        codes.iter().filter(|code| **code == Some(4)).count(),
        4,
        "{codes:?}"
    );
    let seen = world.swarm(&["ps", "--json"]).json();
    let ours = seen
        .as_array()
        .unwrap()
        .iter()
        // Processes that name neither config directory nor team may belong to another test.
        .filter(|one| one["root"].is_null() && one["team"] == "demo");
    let spawns: BTreeSet<_> = ours.map(|one| one["spawnId"].to_string()).collect();
    let bob = world.team("demo").member("bob").unwrap();
    assert_eq!(
        spawns,
        BTreeSet::from([bob["swarm"]["spawnId"].to_string()])
    );
    assert_eq!(world.processes().len(), 1, "{:?}", world.processes());
    world.swarm(&["kill", "bob"]).ok();
}

#[test]
fn s13_a_taken_name_is_refused_with_a_hint() {
    let (_api, world) = world_saying("here");
    spawn_over(&world, "bob");
    let refused = world
        .swarm(&["spawn", "bob", "--model", MODEL, "--json"])
        .error(4);
    let hint = refused["hint"].as_str().unwrap();
    for way in ["swarm send bob", "--replace", "another name"] {
        assert!(hint.contains(way), "{hint}");
    }
    assert_eq!(
        world.team("demo").names(),
        ["team-lead", "bob"],
        "no clone of another name"
    );
    world.swarm(&["kill", "bob"]).ok();
}

#[test]
fn s15_spawning_works_after_a_pane_was_closed_by_hand() {
    let (_api, world) = world_saying("here");
    let inside = InsideTmux::start(&world, 200, 50);
    let spawn = |name: &str| {
        spawn_in_pane(&world, &inside, name, &["--prompt", "hello"]).ok();
    };
    spawn("ann");
    spawn("bob");
    let pane = world.team("demo").member("ann").unwrap()["tmuxPaneId"].clone();
    inside
        .tmux()
        .run(&["kill-pane", "-t", pane.as_str().unwrap()]);
    spawn("eve");
    world.wait_until("ann is seen to be gone", || {
        let status = world.swarm(&["status", "--json"]).json();
        matches!(
            status["members"][1]["state"].as_str(),
            Some("dead" | "stopped")
        )
    });
    spawn("ann");
    assert_eq!(
        world.team("demo").names(),
        ["team-lead", "ann", "bob", "eve"]
    );
    world.swarm(&["kill", "--all"]).ok();
}

#[test]
fn c3_a_child_works_in_the_requested_directory_and_a_missing_one_is_refused() {
    let api = runs_once("pwd; echo $CLAUDE_CONFIG_DIR");
    let world = world_over(&api);
    let directory = world.project().join("part");
    std::fs::create_dir(&directory).unwrap();
    let place = ["--cwd", "part", "--prompt", "go"];
    let more = [&["--mode", "bypassPermissions"], &place[..]].concat();
    spawn_with(&world, "bob", &more);
    let hello = world.team("demo").hello("bob");
    assert_eq!(hello["cwd"], directory.display().to_string());
    let pid = hello["pid"].to_string();
    assert_eq!(
        std::fs::read_link(Path::new("/proc").join(&pid).join("cwd")).unwrap(),
        directory
    );
    let told = api.wait_for("the result", "bob", |ask| ask.result_of("t1").is_some());
    let printed = told.ask.result_of("t1").unwrap().0;
    assert!(
        printed.contains(&directory.display().to_string()),
        "{printed}"
    );
    assert!(
        printed.contains(&world.root().display().to_string()),
        "{printed}"
    );
    let missing = [
        "spawn",
        "eve",
        "--model",
        MODEL,
        "--cwd",
        "no-such-directory",
        "--json",
    ];
    let refused = world.swarm(&missing).error(2);
    let told = refused["message"].as_str().unwrap();
    assert!(
        told.ends_with("no-such-directory is not a directory"),
        "{told}"
    );
    let team = world.team("demo");
    assert_eq!(team.names(), ["team-lead", "bob"]);
    let journal = serde_json::to_string(&team.journal()).unwrap();
    assert!(!journal.contains("eve"), "nothing was begun: {journal}");
    world.swarm(&["kill", "bob"]).ok();
}

#[test]
fn o3_every_child_process_has_its_members_variables() {
    let api = runs_once("env | grep ^SWARM_ | sort");
    let world = world_over(&api);
    let inside = InsideTmux::start(&world, 200, 50);
    for (name, backend) in [("ann", "headless"), ("bob", "tmux")] {
        let more = ["--mode", "bypassPermissions", "--prompt", "go"];
        let arguments = spawn_args(name, backend, &more);
        world.start_with(&arguments, inside.variables()).wait().ok();
        let told = api.wait_for("the result", name, |ask| ask.result_of("t1").is_some());
        let printed = told.ask.result_of("t1").unwrap().0;
        let spawn = world.team("demo").hello(name)["spawnId"]
            .as_str()
            .unwrap()
            .to_owned();
        for line in [
            format!("SWARM_AGENT_ID={name}@demo"),
            format!("SWARM_NAME={name}"),
            format!("SWARM_SPAWN_ID={spawn}"),
            "SWARM_TEAM=demo".to_owned(),
        ] {
            assert!(
                printed.lines().any(|have| have == line),
                "{line}: {printed}"
            );
        }
    }
    world.swarm(&["kill", "--all"]).ok();
}

/// The contents of a team: the subjects of its tasks and the texts in its inboxes.
fn property(world: &World, team: &str) -> Vec<String> {
    let team = world.team(team);
    let tasks = team.tasks().into_iter().map(|task| task["subject"].clone());
    let mail = ["team-lead", "bob"].map(|name| team.inbox(name));
    let mail = mail
        .into_iter()
        .flatten()
        .map(|entry| entry["text"].clone());
    tasks
        .chain(mail)
        .map(|text| text.as_str().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn l11_of_two_concurrent_team_creations_one_wins_and_teams_stay_separate() {
    let world = world();
    let names: Vec<_> = (0..100).map(|round| format!("obs{round}")).collect();
    for name in &names {
        let arguments = ["team", "create", name];
        let both = [world.start(&arguments), world.start(&arguments)];
        let mut codes = both.map(|one| one.wait().code);
        codes.sort_unstable();
        assert_eq!(codes, [Some(0), Some(4)], "{name}");
    }
    for name in &names[..3] {
        enter_foreign(&world, name, &["bob"]);
        for words in [
            ["task", "create", &format!("work of {name}")],
            ["send", "bob", &format!("mail of {name}")],
        ] {
            world.swarm(&[&words[..], &["--team", name]].concat()).ok();
        }
    }
    for (at, name) in names.iter().enumerate() {
        let own = [format!("work of {name}"), format!("mail of {name}")];
        let own = if at < 3 { &own[..] } else { &[] };
        assert_eq!(property(&world, name), own, "{name}");
    }
}

#[test]
fn l11_of_two_concurrent_runs_of_one_team_one_leads_and_the_other_fails() {
    let (gate, held) = Gate::pair();
    let (api, world) = world_with(move |ask: &Ask| match ask.result_of("t1") {
        None => {
            let input = json!({"subject": ask.agent, "description": "do it"});
            Reply::tool("t1", "TaskCreate", input).held_by(&held, 1)
        }
        Some(_) if ask.result_of("t2").is_none() => Reply::tool(
            "t2",
            "TaskUpdate",
            json!({"taskId": "1", "status": "completed"}),
        ),
        Some(_) => Reply::text("that is all"),
    });
    let mut leads =
        ["north", "south"].map(|prompt| Some(world.start(&run_args(prompt, &["--team", "obs"]))));
    let loser = world.wait_for("one of them gives up", || {
        leads
            .iter_mut()
            .position(|lead| lead.as_mut().is_some_and(Running::has_ended))
    });
    leads[loser]
        .take()
        .unwrap()
        .wait()
        .code(4)
        .stderr_has("obs");
    gate.open();
    leads[1 - loser].take().unwrap().wait().ok();
    let told = |prompt| {
        let requests = api.requests();
        requests
            .iter()
            .any(|recorded| recorded.ask.has_seen(prompt))
    };
    let prompts = ["north", "south"];
    assert!(told(prompts[1 - loser]) && !told(prompts[loser]));
    assert_eq!(world.team("obs").tasks().len(), 1);
}

#[test]
fn l12_a_run_ends_when_all_tasks_are_terminal_and_its_exit_code_says_how() {
    for (status, code) in [("completed", 0), ("pending", 9)] {
        let (_api, world) = world_with(move |ask: &Ask| {
            let create = json!({"subject": "the one", "description": "do it"});
            let update = json!({"taskId": "1", "status": status});
            match (ask.result_of("t1"), ask.result_of("t2")) {
                (None, _) => Reply::tool("t1", "TaskCreate", create),
                (Some(_), None) => Reply::tool("t2", "TaskUpdate", update),
                _ => Reply::text("that is all"),
            }
        });
        for _ in 0..3 {
            let team = "run";
            let arguments = run_args("go", &["--team", team]);
            world.swarm(&arguments).assert_code(code);
            assert_eq!(world.processes(), []);
            world.swarm(&["team", "delete", team, "--purge"]).ok();
        }
    }
}

#[test]
fn s14_of_concurrent_spawns_all_that_succeed_are_members_and_no_others() {
    let api = FakeApi::start(|_: &Ask| Reply::text("here"));
    let program = Path::new(env!("CARGO_BIN_EXE_some-stay-silent"));
    let world = world_over(&api).with_teammate(program);
    let spawns: Vec<_> = (0..9)
        .map(|number| {
            // One that joins, one refused before it is reserved, one that is reserved and never ready.
            let (kind, directory, seconds, code) = match number % 3 {
                0 => ("mate", ".", "30", 0),
                1 => ("nowhere", "no-such-directory", "30", 2),
                _ => ("silent", ".", "1", 6),
            };
            let name = format!("{kind}{number}");
            let more = ["--cwd", directory, "--timeout", seconds];
            let running = world.start(&spawn_args(&name, "headless", &more));
            (name, code, running)
        })
        .collect();
    let mut joined = BTreeSet::from(["team-lead".to_owned()]);
    for (name, code, running) in spawns {
        running.wait().assert_code(code);
        if code == 0 {
            joined.insert(name);
        }
    }
    let names: BTreeSet<String> = world.team("demo").names().into_iter().collect();
    assert_eq!(names, joined);
    assert_eq!(world.processes().len(), 3, "{:?}", world.processes());
    wait_for_state(&world, "mate0", "idle");
    world.swarm(&["kill", "--all"]).ok();
}

//! What remains when a lead, a member or a whole run dies, and how it is recovered.

use rustix::process::Signal;
use serde_json::{Value, json};
use swarm_tests::fake_api::{Ask, FakeApi, Reply, Script, Step};
use swarm_tests::stage::{Running, World};

use crate::scene::{
    MODEL, column, demo_run_args, idle_world, kill_process_of, spawn_args, spawn_idle, spawns,
    wait_for_file, wait_for_state, world, world_with,
};

/// Kills the process of a run with SIGKILL.
fn kill_lead(running: Running) {
    running.signal(Signal::KILL);
    assert_eq!(running.wait().code, None);
}

/// A run with the members bob and ann that is killed once both are idle.
fn lost_lead() -> (World, FakeApi) {
    let script = Script::new().agent(
        "team-lead",
        [
            Step::says(spawns("bob")),
            Step::says(spawns("ann")),
            Step::says(Reply::tool(
                "list",
                "TaskCreate",
                json!({"subject": "the open one", "description": "do it"}),
            )),
            Step::says(Reply::tool(
                "wait",
                "Bash",
                json!({"command": "touch waiting; exec sleep 600"}),
            )),
            Step::says(Reply::text("I am back")),
            Step::says(Reply::text("nothing more")),
        ],
    );
    let (api, world) = world_with(script);
    // Processes in a sandbox would end with the lead.
    world.write("root/swarm.toml", "[sandbox]\nbash = \"off\"\n");
    let running = world.start(&demo_run_args("go", &[]));
    wait_for_file(&world, "waiting");
    for name in ["bob", "ann"] {
        wait_for_state(&world, name, "idle");
    }
    kill_lead(running);
    (world, api)
}

/// Sends a message of bob to the lead of `demo`.
fn send_to_lead(world: &World) {
    let send = ["send", "team-lead", "a word for the lead"];
    let names = ["--from", "bob", "--team", "demo"];
    world.swarm(&[&send[..], &names].concat()).ok();
}

fn ps(world: &World) -> Vec<Value> {
    let root = world.root().canonicalize().unwrap();
    let seen = world.swarm(&["ps", "--json"]).json();
    let mut seen = seen.as_array().cloned().unwrap();
    seen.retain(|one| one["root"].is_null() || one["root"] == root.display().to_string());
    seen
}

#[test]
fn commands_on_a_copied_config_directory_stop_no_member_of_the_original() {
    let (_api, world) = idle_world("here", "bob");
    let copy = world.directory().join("copy");
    let (from, to) = (world.root(), copy.to_str().unwrap());
    let copied = world.start_program("cp", &["-r", from.to_str().unwrap(), to]);
    copied.wait().ok();
    let in_copy = [("CLAUDE_CONFIG_DIR".to_owned(), to.to_owned())];
    for words in [
        &["team", "list"][..],
        &["status", "--team", "demo"],
        &["reap"],
        &["gc"],
        &["team", "delete", "demo", "--force"],
    ] {
        world.start_with(words, &in_copy).wait().ok();
    }
    world
        .swarm(&["send", "bob", "and you?", "--wait", "acked"])
        .ok();
    wait_for_state(&world, "bob", "idle");
    world.swarm(&["peek", "bob"]).ok();
    world.swarm(&["shutdown", "bob"]).ok();
}

#[test]
fn processes_of_a_lead_are_listed_with_its_team() {
    // The first call creates the team, so the environment of the lead's shell names none.
    let script = Script::new().agent(
        "team-lead",
        [
            Step::says(Reply::tool(
                "wait",
                "Bash",
                json!({"command": "touch waiting; exec sleep 600"}),
            )),
            Step::says(Reply::text("done")),
        ],
    );
    let (_api, world) = world_with(script);
    let running = world.start(&demo_run_args("go", &[]));
    wait_for_file(&world, "waiting");
    let mut seen = ps(&world);
    // Other tests have processes that name no root at all.
    seen.retain(|one| one["state"] != "elsewhere");
    assert_eq!(column(&Value::from(seen.clone()), "team"), ["demo", "demo"]);
    let mut kinds = column(&Value::from(seen), "kind");
    kinds.sort();
    assert_eq!(kinds, ["child", "lead"]);
    running.signal(Signal::INT);
    running.wait().assert_code(130);
}

#[test]
fn l4_after_kill_9_of_the_lead_its_members_are_shown_adopted_or_stopped() {
    let (world, api) = lost_lead();
    let checked = world.swarm(&["doctor", "--json"]).json();
    let lead = checked.as_array().unwrap().iter().find(|one| {
        let found = one["found"].as_str().unwrap_or_default();
        found.contains("team-lead")
    });
    let hint = lead
        .map(|lead| lead["hint"].to_string())
        .unwrap_or_default();
    assert!(hint.contains("swarm resume demo"), "{checked:#}");
    let seen = ps(&world);
    let of = |name: &str| {
        let its: Vec<&Value> = seen.iter().filter(|one| one["member"] == name).collect();
        assert!(!its.is_empty(), "{seen:#?}");
        its[0].clone()
    };
    for name in ["bob", "ann"] {
        let one = of(name);
        assert_eq!(one["kind"], "teammate", "{one}");
        assert_eq!(one["leadLost"], true, "{one}");
        assert!(
            one["stray"].is_null(),
            "a member in its roster is no stray: {one}"
        );
    }
    world
        .swarm(&["status"])
        .ok()
        .stdout_has("swarm resume demo");
    let asked = api.requests().len();

    // The process that the lead's shell left is orphaned and the only one that reap stops; members are stopped only on request.
    let shell = of("team-lead");
    assert_eq!(
        shell["stray"], "the lead that started it has exited",
        "{shell}"
    );
    let reaped = world.swarm(&["reap", "--json"]).json();
    assert_eq!(column(&reaped, "member"), ["team-lead"], "{reaped}");
    let mut left = ps(&world);
    left.retain(|one| one["kind"] == "teammate");
    assert_eq!(left.len(), 2, "{left:#?}");

    // A member spawned now would only park: the spawn fails with a hint.
    let spawn = spawn_args("eve", "headless", &["--json"]);
    let refused = world.swarm(&spawn).error(4);
    assert_eq!(
        refused["hint"],
        "take the team over first with `swarm resume demo`"
    );
    // A newer team is still preferred to the orphaned one.
    world.swarm(&["team", "create", "other"]).ok();
    world
        .swarm(&["task", "create", "x"])
        .ok()
        .stderr_has("in team `other`");
    world.swarm(&["team", "delete", "other"]).ok();

    let taken = world.swarm(&["resume", "demo", "--json"]).json();
    assert_eq!(column(&taken["live"], "name"), ["bob", "ann"], "{taken}");
    assert_eq!(column(&taken["tasks"], "subject"), ["the open one"]);
    assert_eq!(api.requests().len(), asked, "nobody spent a turn meanwhile");
    world.swarm(&["send", "bob", "who is there?"]).ok();
    api.wait_for("bob goes on", "bob", |ask| ask.news_has("who is there?"));
    assert!(ps(&world).iter().all(|one| one["leadLost"] == false));
    world.swarm(&["team", "delete", "demo", "--force"]).ok();
    assert_eq!(world.processes(), []);
}

#[test]
fn l4_reap_stops_members_of_a_lost_lead_when_asked() {
    let (world, _api) = lost_lead();
    let dry = world
        .swarm(&["reap", "--parked", "--dry-run", "bob@demo", "--json"])
        .json();
    assert_eq!(column(&dry, "member"), ["bob"], "{dry}");
    assert_eq!(world.team("demo").names(), ["team-lead", "bob", "ann"]);
    world.swarm(&["reap", "--parked"]).ok();
    assert_eq!(world.processes(), []);
    assert_eq!(world.team("demo").names(), ["team-lead"]);
}

#[test]
fn l9_a_resumed_team_keeps_its_id_its_mail_and_its_members() {
    let (world, api) = lost_lead();
    let before = world.team("demo").config();
    world
        .swarm(&["task", "claim", "1", "--as", "ann", "--team", "demo"])
        .ok();
    kill_process_of(&world, "demo", "ann");
    send_to_lead(&world);
    let taken = world.swarm(&["resume", "demo", "--json"]).json();
    assert_eq!(taken["leadSessionId"], before["leadSessionId"]);
    assert_eq!(column(&taken["live"], "name"), ["bob"]);
    assert_eq!(taken["dead"][0]["name"], "ann");
    assert_eq!(taken["dead"][0]["tasks"], json!(["1"]));
    let unread = world
        .swarm(&["inbox", "team-lead", "--unread", "--json"])
        .json();
    assert_eq!(taken["unread"], unread.as_array().unwrap().len());

    // The command that is printed for a dead member does what it says.
    let command = taken["dead"][0]["command"].as_str().unwrap().to_owned();
    let session = world.team("demo").member("ann").unwrap()["sessionId"].clone();
    for part in command.split(" && ") {
        let words: Vec<&str> = part.split(' ').skip(1).collect();
        world.swarm(&words).ok();
    }
    assert_eq!(
        world.team("demo").member("ann").unwrap()["sessionId"],
        session
    );
    assert_eq!(world.team("demo").task(1)["owner"], "ann");
    api.wait_for("ann hears of it", "ann", |ask| ask.news_has("the open one"));

    // Dead again; this time all of them are respawned together.
    kill_process_of(&world, "demo", "ann");
    kill_process_of(&world, "demo", "bob");
    let again = world
        .swarm(&["resume", "demo", "--respawn", "--json"])
        .json();
    assert_eq!(
        column(&again["respawned"], "name"),
        ["bob", "ann"],
        "{again}"
    );
    let ann = world.team("demo").member("ann").unwrap();
    assert_eq!(
        (&ann["sessionId"], &ann["model"]),
        (&session, &json!(MODEL))
    );
    assert_eq!(world.team("demo").task(1)["owner"], "ann");
    world.swarm(&["team", "delete", "demo", "--force"]).ok();
}

#[test]
fn l7_a_respawned_member_gets_the_state_of_its_team_and_the_same_prompt() {
    let (api, world) = idle_world("here", "bob");
    let before = api.last_of("bob").unwrap();
    spawn_idle(&world, "ann");
    world.swarm(&["task", "create", "Paint the boat"]).ok();
    kill_process_of(&world, "demo", "bob");
    spawn_idle(&world, "bob");
    let after = api.last_of("bob").unwrap().ask;
    assert_eq!(after.system(), before.ask.system());
    for part in [
        "Your process was restarted",
        "You are bob of team demo.",
        "- team-lead (team-lead): ",
        "- ann: ",
        "- #1 [pending] Paint the boat",
        "Requests that wait for a person: none",
    ] {
        assert!(after.news_has(part), "{part}: {}", after.news());
    }
    let changed = "The environment has changed:\nTeam members: team-lead, ann";
    assert!(after.news_has(changed), "{}", after.news());
    world.swarm(&["kill", "--all"]).ok();
}

#[test]
fn l9_a_new_lead_continues_the_conversation_and_reads_its_mail_once() {
    let (world, api) = lost_lead();
    let before = world.team("demo").config();
    send_to_lead(&world);
    let wrong = ["--json", "--mcp-config", "nowhere.json"];
    let wrong = [&["resume", "demo", "finish it"], &wrong[..]].concat();
    let refused = world.swarm(&wrong).error(2);
    let why = refused["message"].as_str().unwrap();
    assert!(why.contains("nowhere.json"), "{refused}");
    let resumed = world.swarm(&["resume", "demo", "finish it", "--json", "--timeout", "20"]);
    let report: Value =
        serde_json::from_str(&resumed.stdout).unwrap_or_else(|_| panic!("{}", resumed.story()));
    assert_eq!(report["team"], "demo", "{report}");
    let last = api.requests_of("team-lead").pop().unwrap().ask;
    let told = last
        .messages()
        .iter()
        .map(Value::to_string)
        .collect::<String>();
    assert_eq!(told.matches("summary=\\\"a word").count(), 1, "{told}");
    assert!(
        told.contains("finish it") && told.contains("Alive: bob, ann."),
        "{told}"
    );
    let first = told.find("\"go\"").unwrap_or(usize::MAX);
    assert!(
        first < told.find("finish it").unwrap(),
        "the conversation goes on: {told}"
    );
    assert_eq!(
        world.team("demo").config()["leadSessionId"],
        before["leadSessionId"]
    );
    assert_eq!(world.processes(), []);
    world.swarm(&["resume", "demo", "--json"]).ok();
}

#[test]
fn l9_a_team_with_a_running_lead_is_not_taken_over() {
    let (api, world) =
        world_with(|_: &Ask| Reply::tool("t", "Bash", json!({"command": "sleep 600"})));
    let running = world.start(&demo_run_args("go", &[]));
    api.wait_for("its turn", "team-lead", |_| true);
    let pid = running.pid().to_string();
    for more in [&[][..], &["go on"]] {
        let arguments = [&["resume", "demo", "--json"][..], more].concat();
        let refused = world.swarm(&arguments).error(4);
        assert!(
            refused["message"].as_str().unwrap().contains(&pid),
            "{refused}"
        );
    }
    running.signal(Signal::INT);
    running.wait().assert_code(130);
}

#[test]
fn l10_gc_takes_only_teams_whose_processes_are_all_dead() {
    let (world, _api) = lost_lead();
    world.swarm(&["team", "create", "by-hand"]).ok();
    // A team with old files is not stale while its life locks are held.
    let age = |path: &std::path::Path| {
        let file = std::fs::File::open(path).unwrap();
        let long_ago = std::time::SystemTime::now() - std::time::Duration::from_hours(72);
        file.set_modified(long_ago).unwrap();
    };
    age(&world.team("demo").directory());
    age(&world.team("demo").directory().join("config.json"));
    let gc = |more: &[&str]| {
        let arguments = [&["gc", "--json"][..], more].concat();
        world.swarm(&arguments).json()
    };
    let kept = gc(&[]);
    assert_eq!(column(&kept, "action"), ["kept"], "{kept}");
    assert!(
        kept[0]["reason"]
            .as_str()
            .unwrap()
            .contains("bob is running"),
        "{kept}"
    );

    for name in ["bob", "ann"] {
        kill_process_of(&world, "demo", name);
    }
    world.swarm(&["reap"]).ok();
    let kept = gc(&["--dry-run"]);
    assert!(
        kept[0]["reason"].as_str().unwrap().contains("1 open tasks"),
        "{kept}"
    );
    let exists = world.swarm(&["team", "create", "demo", "--json"]).error(4);
    let told = exists.to_string();
    for part in [
        "its lead, process",
        "is lost",
        "2 teammates",
        "swarm resume demo",
        "swarm team delete demo",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }

    let planned = gc(&["--dry-run", "--unfinished"]);
    assert_eq!(column(&planned, "action"), ["archived"], "{planned}");
    assert!(world.team("demo").directory().exists());
    let done = gc(&["--unfinished"]);
    assert_eq!(
        (&done[0]["what"], &done[0]["done"]),
        (&json!("team demo"), &json!(true)),
        "{done}"
    );
    assert!(!world.team("demo").directory().exists());
    assert!(
        world.team("by-hand").directory().exists(),
        "a person's team is not touched"
    );
    let archives = std::fs::read_dir(world.root().join("swarm/archive")).unwrap();
    let archive = archives.flatten().next().unwrap().path();
    for part in [
        "tasks/1.json",
        "journal.jsonl",
        "config.json",
        "inboxes/team-lead.json",
    ] {
        assert!(archive.join(part).is_file(), "{part}");
    }
    assert_eq!(gc(&[]), json!([]));
}

#[test]
fn l10_gc_removes_leftovers_of_killed_commands() {
    let world = world();
    world.swarm(&["team", "create", "demo"]).ok();
    let id = "0f7e9c1e-58ab-4b52-9c2f-8a9a3c0a4b11";
    let left = [
        format!("root/teams/.half.new-{id}/config.json"),
        format!("root/teams/gone.deleted-{id}/swarm/journal.jsonl"),
        // The tasks of a purged team are moved aside, too.
        format!("root/teams/purged.deleted-{id}/swarm/journal.jsonl"),
        format!("root/tasks/purged.deleted-{id}/1.json"),
        format!("root/teams/demo/swarm/members/bob/order-{id}.json"),
    ];
    for path in &left {
        world.write(path, "{}");
    }
    let mine = world.write("root/teams/.half.new-mine/keep", "a person's");
    let planned = world.swarm(&["gc", "--dry-run", "--json"]).json();
    assert_eq!(planned.as_array().unwrap().len(), left.len(), "{planned}");
    assert!(
        left.iter()
            .all(|path| world.directory().join(path).exists())
    );
    world.swarm(&["gc"]).ok();
    assert!(
        left.iter()
            .all(|path| !world.directory().join(path).exists())
    );
    assert!(mine.exists() && world.team("demo").directory().exists());
    let archives = std::fs::read_dir(world.root().join("swarm/archive")).unwrap();
    let archives: Vec<_> = archives.flatten().map(|archive| archive.path()).collect();
    let [archive] = &archives[..] else {
        panic!("one archive, of the team that was gone: {archives:?}");
    };
    assert!(archive.to_string_lossy().contains("archive/gone-"));
    assert_eq!(
        std::fs::read_to_string(archive.join("journal.jsonl")).unwrap(),
        "{}"
    );
}

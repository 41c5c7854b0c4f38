//! Spawning, watching and ending members from the shell.

use std::path::Path;

use swarm_tests::fake_api::Script;
use swarm_tests::stage::World;

use crate::scene::{
    MODEL, column, idle_world, kill_member, spawn_idle, spawn_over, team_with, wait_for_state,
    world_with_team,
};

/// A scenario in which every member answers each prompt with one line.
const POLITE: &str =
    "chunk_ms = 0\n\n[[turn]]\n\n  [[turn.step]]\n  say = \"${agent} heard it.\"\n";

/// A team whose members follow a scenario.
fn world_of(scenario: &str) -> (World, String) {
    let world = world_with_team("demo");
    let path = world.write("scenario.toml", scenario);
    let model = format!("scripted/{}", path.display());
    (world, model)
}

/// The arguments of `swarm spawn` with a model from a file.
fn spawn_words<'a>(name: &'a str, model: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["spawn", name, "--model", model], more].concat()
}

/// Spawns a headless member that says hello.
fn spawn(world: &World, name: &str, model: &str) {
    let more = ["--backend", "headless", "--prompt", "say hello"];
    world.swarm(&spawn_words(name, model, &more)).ok();
}

#[test]
fn a_member_is_spawned_works_reports_and_shuts_down() {
    let (world, model) = world_of(POLITE);
    spawn(&world, "bob", &model);
    let team = world.team("demo");
    let hello = team.hello("bob");
    assert_eq!(hello["model"], model.as_str());
    assert_eq!(team.names(), ["team-lead", "bob"]);
    assert!(team.member("bob").unwrap()["swarm"]["reservation"].is_null());
    wait_for_state(&world, "bob", "idle");
    let notices = world.wait_for("bob's report", || {
        let notices = team.frames("team-lead", "idle_notification");
        (!notices.is_empty()).then_some(notices)
    });
    assert_eq!(notices[0]["result"], "bob heard it.");
    let ended = world.swarm(&["shutdown", "bob", "--json"]).json();
    assert!(ended.to_string().contains("approved"), "{ended}");
    assert_eq!(team.names(), ["team-lead"]);
    assert_eq!(team.events("member_stopped").len(), 1);
    world.swarm(&["team", "delete", "demo"]).ok();
}

#[test]
fn d6_an_idle_member_is_woken_by_mail_alone_and_acknowledges_it() {
    let (world, model) = world_of(POLITE);
    spawn(&world, "bob", &model);
    wait_for_state(&world, "bob", "idle");
    world
        .swarm(&[
            "send",
            "bob",
            "are you there?",
            "--wait",
            "acked",
            "--timeout",
            "10",
        ])
        .ok();
    let entries = world.team("demo").inbox("bob");
    assert!(
        entries.iter().all(|entry| entry["read"] == true),
        "{entries:?}"
    );
    world.swarm(&["shutdown", "--all"]).ok();
}

#[test]
fn s3_a_program_that_exits_immediately_is_not_a_member_and_its_last_output_is_shown() {
    let (world, model) = world_of(POLITE);
    let world = world.with_teammate(Path::new(env!("CARGO_BIN_EXE_dies-early")));
    for backend in ["headless", "tmux"] {
        let failed = world.swarm(&spawn_words(
            "bob",
            &model,
            &["--backend", backend, "--timeout", "60"],
        ));
        failed.assert_code(9);
        assert_eq!(
            failed.stderr,
            "swarm: bob was not spawned: its process exited before it was ready (exit status 7). Its last lines:\n    \
             reading the configuration\n    the flux capacitor is missing\n    giving up\n",
            "{backend}"
        );
        let team = world.team("demo");
        assert_eq!(team.names(), ["team-lead"], "{backend}");
        assert!(!team.inbox_path("bob").exists(), "{backend}");
        assert_eq!(
            world
                .own_servers()
                .iter()
                .map(|server| server.panes().len())
                .sum::<usize>(),
            0
        );
    }
}

#[test]
fn a_damaged_record_of_a_former_member_blocks_no_fresh_spawn_and_is_kept() {
    let (world, model) = world_of(POLITE);
    let spawn = |more: &[&str]| {
        let more = [&["--backend", "headless"], more].concat();
        world.swarm(&spawn_words("bob", &model, &more))
    };
    spawn(&[]).ok();
    world.swarm(&["shutdown", "bob"]).ok();
    let directory = world.team("demo").directory().join("swarm/members/bob");
    std::fs::write(directory.join("former.json"), "{garbage").unwrap();
    spawn(&[]).code(8).stderr_has("--fresh");
    spawn(&["--fresh"]).ok();
    world.swarm(&["shutdown", "bob"]).ok();
    let names = std::fs::read_dir(&directory).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let kept: Vec<String> = names
        .filter(|name| name.starts_with("former.json.damaged-"))
        .collect();
    assert_eq!(kept.len(), 1, "{kept:?}");
    let text = std::fs::read_to_string(directory.join(&kept[0])).unwrap();
    assert_eq!(text, "{garbage");
    spawn(&[]).ok();
    world.swarm(&["shutdown", "bob"]).ok();
}

#[test]
fn s3_a_program_that_never_says_hello_is_not_a_member_and_is_stopped() {
    let (world, model) = world_of(POLITE);
    let world = world.with_teammate(Path::new(env!("CARGO_BIN_EXE_ignores-shutdown")));
    for backend in ["headless", "tmux"] {
        let more = ["--backend", backend, "--timeout", "1", "--json"];
        world.swarm(&spawn_words("bob", &model, &more)).error(6);
        assert_eq!(world.team("demo").names(), ["team-lead"], "{backend}");
    }
    // The world asserts at its end that the stubborn programs are gone.
}

#[test]
fn l6_a_killed_member_is_dead_with_one_event_and_its_task_is_free() {
    let (world, model) = world_of(POLITE);
    spawn(&world, "bob", &model);
    wait_for_state(&world, "bob", "idle");
    world.swarm(&["task", "create", "half done"]).ok();
    world.swarm(&["task", "claim", "1", "--as", "bob"]).ok();
    let team = world.team("demo");
    let pid = i32::try_from(team.hello("bob")["pid"].as_u64().unwrap()).unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let state = || {
        let status = world.swarm(&["status", "--json"]).json();
        let members = status["members"].as_array().unwrap().clone();
        members
            .into_iter()
            .find(|member| member["name"] == "bob")
            .map(|member| member["state"].clone())
    };
    world.wait_for("bob is dead", || (state()? == "dead").then_some(()));
    world.swarm(&["status"]).ok();
    assert_eq!(team.events("member_died").len(), 1);
    let task = team.task(1);
    assert_eq!(task["status"], "pending");
    assert_eq!(task["metadata"]["swarm"]["attempt"], 1);
}

#[test]
fn l1_killing_a_member_kills_its_process_tree() {
    let leaves = env!("CARGO_BIN_EXE_leaves-grandchildren");
    let scenario = format!(
        "chunk_ms = 0\n[[turn]]\n[[turn.step]]\n[[turn.step.call]]\ntool = \"Bash\"\ninput = {{ command = \"{leaves}\" }}\n\
        [[turn.step]]\nsay = \"done\"\n"
    );
    let (world, model) = world_of(&scenario);
    world
        .swarm(&[
            "spawn",
            "bob",
            "--model",
            &model,
            "--backend",
            "headless",
            "--mode",
            "bypassPermissions",
            "--prompt",
            "go",
        ])
        .ok();
    world.wait_until("the grandchildren", || {
        let running = world.processes();
        let left = running
            .iter()
            .filter(|(_, command)| command.contains("grandchild"))
            .count();
        left == 3
    });
    wait_for_state(&world, "bob", "idle");
    world.swarm(&["kill", "bob"]).ok();
    assert_eq!(world.processes(), []);
    assert_eq!(world.team("demo").names(), ["team-lead"]);
}

#[test]
fn a_live_member_keeps_its_team_from_being_deleted() {
    let (world, model) = world_of(POLITE);
    spawn(&world, "bob", &model);
    let error = world.swarm(&["team", "delete", "demo", "--json"]).error(4);
    assert!(error.to_string().contains("bob"), "{error}");
    world.swarm(&["team", "delete", "demo", "--force"]).ok();
    assert!(!world.team("demo").directory().exists());
}

#[test]
fn a_headless_member_that_died_is_respawned_headless() {
    let (_api, world) = team_with(Script::new());
    spawn_over(&world, "bob");
    kill_member(&world, "bob");
    world.swarm(&["spawn", "bob"]).ok();
    let bob = world.team("demo").member("bob").unwrap();
    assert_eq!(bob["backendType"], "headless", "{bob}");
    world.swarm(&["kill", "bob"]).ok();
}

#[test]
fn an_unknown_agent_type_is_refused_with_the_known_ones() {
    let world = world_with_team("demo");
    let error = world
        .swarm(&["spawn", "bob", "--agent", "nosuch", "--json"])
        .error(3);
    let message = error["message"].as_str().unwrap();
    for words in ["agent type `nosuch` not found", "general-purpose"] {
        assert!(message.contains(words), "{message}");
    }
    assert_eq!(world.team("demo").names(), ["team-lead"]);
}

#[test]
fn removing_a_dead_member_reports_what_became_of_its_conversation() {
    let (_api, world) = team_with(Script::new());
    for (command, json) in [("shutdown", false), ("kill", false), ("shutdown", true)] {
        spawn_idle(&world, "bob");
        kill_member(&world, "bob");
        world.wait_until("its death is recorded", || {
            let status = world.swarm(&["status", "--json"]).json();
            column(&status["members"], "state")[1] == "dead"
        });
        let path = if json {
            let record = world.swarm(&[command, "bob", "--json"]).json();
            assert_eq!(record["outcome"], "already_gone", "{record}");
            record["transcript"].as_str().unwrap().to_owned()
        } else {
            let done = world.swarm(&[command, "bob"]);
            let said = &done.ok().stderr;
            assert!(
                said.contains("`swarm spawn bob` continues its conversation"),
                "{}",
                done.story()
            );
            said.trim_end().rsplit(' ').next().unwrap().to_owned()
        };
        let kept = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        assert!(kept.contains("hello"), "{kept}");
    }
    // A running member ends its conversation itself.
    spawn_over(&world, "bob");
    world
        .swarm(&["kill", "bob"])
        .ok()
        .stderr_lacks("conversation");
}

#[test]
fn a_member_that_was_shut_down_carries_on_its_conversation_when_it_is_spawned_again() {
    let (api, world) = idle_world("noted", "bob");
    world.swarm(&["send", "bob", "the word is heron"]).ok();
    api.wait_for("the word", "bob", |ask| ask.news_has("heron"));
    wait_for_state(&world, "bob", "idle");
    world.swarm(&["shutdown", "bob"]).ok();
    assert_eq!(world.team("demo").names(), ["team-lead"]);
    let again = |prompt: &str, more: &[&str]| {
        let words = ["spawn", "bob", "--backend", "headless", "--prompt", prompt];
        let said = world
            .swarm(&[&words[..], more].concat())
            .ok()
            .stderr
            .clone();
        let asked = api.wait_for("the prompt", "bob", |ask| ask.news_has(prompt));
        wait_for_state(&world, "bob", "idle");
        (said, asked.ask.has_seen("heron"))
    };
    let (said, knows) = again("which word?", &[]);
    assert!(knows && said.contains("`--fresh`"), "{said}");
    world.swarm(&["shutdown", "bob", "--force"]).ok();
    let (said, knows) = again("begin anew", &["--fresh", "--model", MODEL]);
    assert!(!knows && !said.contains("`--fresh`"), "{said}");
    world.swarm(&["kill", "bob"]).ok();
}

#[test]
fn a_member_that_is_stopped_during_a_command_exits_without_a_kill() {
    let scenario = "chunk_ms = 0\n[[turn]]\n[[turn.step]]\n[[turn.step.call]]\ntool = \"Bash\"\n\
        input = { command = \"touch begun; sleep 1000\" }\n[[turn.step]]\nsay = \"done\"\n";
    let (world, model) = world_of(scenario);
    let more = ["--backend", "headless", "--mode", "bypassPermissions"];
    let words = spawn_words("bob", &model, &more);
    world
        .swarm(&[&words[..], &["--prompt", "go"]].concat())
        .ok();
    let begun = world.project().join("begun");
    world.wait_until("the command runs", || begun.exists());
    // The processes of its sandbox end only after those of the command were reaped.
    let ended = world
        .swarm(&["shutdown", "bob", "--force", "--json"])
        .json();
    assert!(ended.to_string().contains("approved"), "{ended}");
}

#[test]
fn resume_with_a_members_name_says_how_to_restart_the_member() {
    let (world, model) = world_of(POLITE);
    spawn(&world, "bob", &model);
    let refused = world.swarm(&["resume", "bob"]);
    assert_eq!(refused.code, Some(3), "{}", refused.story());
    refused.stderr_has("swarm spawn bob");
    world.swarm(&["shutdown", "bob"]).ok();
}

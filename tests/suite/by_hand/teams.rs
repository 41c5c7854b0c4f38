//! Making, looking at and deleting teams.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use swarm_tests::fake_api::Script;
use swarm_tests::stage::{Finished, World};

use crate::scene::{
    MODEL, column, enter_foreign, spawn_over, world, world_with, world_with_foreign,
    world_with_team,
};

#[test]
fn a_team_is_created_with_its_directories_and_a_roster() {
    let world = world();
    world
        .swarm(&["team", "create", "demo", "--description", "try it"])
        .ok();
    let team = world.team("demo");
    let config = team.config();
    assert_eq!(config["name"], "demo");
    assert_eq!(config["description"], "try it");
    assert_eq!(config["leadAgentId"], "team-lead@demo");
    assert_eq!(team.names(), ["team-lead"]);
    assert_eq!(team.member("team-lead").unwrap()["tmuxPaneId"], "leader");
    for directory in [team.directory().join("inboxes"), team.tasks_directory()] {
        assert!(directory.is_dir(), "{}", directory.display());
    }
    let ours = std::fs::metadata(team.directory().join("swarm")).unwrap();
    assert_eq!(ours.permissions().mode() & 0o777, 0o700);
    assert_eq!(
        column(&world.swarm(&["team", "list", "--json"]).json(), "name"),
        ["demo"]
    );
    let shown = world.swarm(&["team", "show", "demo", "--json"]).json();
    assert_eq!(column(&shown["members"], "name"), ["team-lead"]);
}

#[test]
fn an_existing_name_is_a_conflict_and_so_is_one_with_the_same_file_name() {
    let world = world_with_team("my-team");
    for name in ["my-team", "My_Team"] {
        let error = world.swarm(&["team", "create", name, "--json"]).error(4);
        assert!(
            error["message"].as_str().unwrap().contains("my-team"),
            "{error}"
        );
        assert!(error["hint"].is_string(), "{error}");
    }
}

#[test]
fn invalid_names_are_refused_before_anything_is_created() {
    let world = world();
    for name in [
        "../out",
        "a/b",
        "",
        ".",
        "-x",
        "a b",
        "a;b",
        "#(touch x)",
        "é",
    ] {
        world
            .swarm(&["team", "create", "--json", "--", name])
            .assert_code(2);
    }
    assert!(
        !world.root().join("teams").exists()
            || world.swarm(&["team", "list", "--json"]).json() == serde_json::json!([])
    );
    assert_eq!(std::fs::read_dir(world.project()).unwrap().count(), 0);
}

#[test]
fn an_unknown_team_is_not_found_and_the_known_ones_are_named() {
    let world = world_with_team("demo");
    let error = world.swarm(&["team", "show", "dmeo", "--json"]).error(3);
    assert!(error.to_string().contains("demo"), "{error}");
}

#[test]
fn the_only_team_needs_no_name_and_the_newest_of_several_neither() {
    let world = world_with_team("one");
    assert_eq!(
        world.swarm(&["team", "show", "--json"]).json()["name"],
        "one"
    );
    world.swarm(&["team", "create", "two"]).ok();
    assert_eq!(
        world.swarm(&["team", "show", "--json"]).json()["name"],
        "two",
        "the newest"
    );
    world.swarm(&["--team", "two", "task", "list"]).ok();
    let world = world.with_variable("SWARM_TEAM", "two");
    assert_eq!(
        world.swarm(&["team", "show", "--json"]).json()["name"],
        "two"
    );
}

#[test]
fn of_several_teams_changes_default_to_the_newest_and_deletion_requires_a_name() {
    let (_api, world) = world_with(Script::new());
    world.swarm(&["team", "create", "old"]).ok();
    spawn_over(&world, "bob");
    world.swarm(&["team", "create", "new"]).ok();
    world
        .swarm(&["task", "create", "x"])
        .ok()
        .stderr_has("in team `new`, the newest one in this directory (of 2 teams)");
    assert_eq!(world.swarm(&["task", "list"]).ok().stderr, "");
    let quiet = world.swarm(&["task", "create", "y", "--json"]);
    assert_eq!(quiet.ok().stderr, "");
    for command in [
        &["team", "delete", "--force"][..],
        &["shutdown", "--all"],
        &["kill", "--all"],
    ] {
        world
            .swarm(command)
            .code(2)
            .stderr_has("several teams: new, old");
    }
    assert_eq!(world.team("old").names(), ["team-lead", "bob"]);
    // The id names the team, whatever the variable says; a flag that contradicts it is a mistake.
    let world = world.with_variable("SWARM_TEAM", "new");
    world.swarm(&["send", "bob@old", "hi"]).ok();
    world.swarm(&["pause", "bob@old"]).ok();
    world.swarm(&["send", "bob@nosuch", "hi"]).assert_code(3);
    for command in [&["send", "bob@old", "hi"][..], &["kill", "bob@old"]] {
        let flagged = [command, &["--team", "new"]].concat();
        world.swarm(&flagged).assert_code(2);
    }
    world.swarm(&["kill", "bob@old"]).ok();
}

fn swarm_in(world: &World, directory: &Path, arguments: &[&str]) -> Finished {
    let directory = directory.to_str().unwrap();
    let started = world.start_under(&["env", "-C", directory], arguments, &[]);
    started.wait()
}

#[test]
fn of_several_teams_the_one_of_this_directory_is_preferred_to_a_newer_one() {
    let world = world();
    world.swarm(&["team", "create", "here"]).ok();
    let there = world.root().join("elsewhere");
    std::fs::create_dir_all(&there).unwrap();
    swarm_in(&world, &there, &["team", "create", "there"]).ok();
    let name = |shown: Finished| shown.json()["name"].clone();
    assert_eq!(name(world.swarm(&["team", "show", "--json"])), "here");
    let shown = swarm_in(&world, &there, &["team", "show", "--json"]);
    assert_eq!(name(shown), "there");
    let nowhere = world.root().join("nowhere");
    std::fs::create_dir_all(&nowhere).unwrap();
    swarm_in(&world, &nowhere, &["task", "create", "x"])
        .ok()
        .stderr_has("in team `there`, the newest of 2");
}

/// The directory of a session of Claude Code whose lead is the process `pid`.
fn enter_session(world: &World, pid: u32, start: &str) {
    let directory = world.root().join("teams/session-a6b470fe");
    std::fs::create_dir_all(directory.join("inboxes")).unwrap();
    let pid_space = swarm_os::process::pid_space();
    let config = serde_json::json!({
        "name": "session-a6b470fe", "createdAt": 4_102_444_800_000_u64,
        "leadAgentId": "team-lead@session-a6b470fe", "leadSessionId": "a6b470fe-0000-4000-8000-000000000000",
        "leadProcess": {"pid": pid, "procStart": start, "pidSpace": pid_space, "claimedAt": 1},
        "members": [{
            "agentId": "team-lead@session-a6b470fe", "name": "team-lead", "agentType": "team-lead",
            "joinedAt": 1, "tmuxPaneId": "leader", "cwd": world.project(), "subscriptions": [],
        }],
    });
    std::fs::write(directory.join("config.json"), config.to_string()).unwrap();
}

#[test]
fn a_session_of_claude_code_captures_no_command_and_gets_no_advice_that_is_refused() {
    let (_api, world) = world_with(Script::new());
    let own = std::process::id();
    let start = swarm_store::process::start_time(own).unwrap();
    enter_session(&world, own, &start);
    world.swarm(&["team", "create", "mine"]).ok();
    let made = world.swarm(&["task", "create", "x"]);
    assert_eq!(made.ok().stderr, "", "the only team that counts");
    let shown = world.swarm(&["team", "show", "--json"]).json();
    assert_eq!(shown["name"], "mine");
    let session = ["--team", "session-a6b470fe"];
    let status = |json: bool| {
        let more: &[&str] = if json { &["--json"] } else { &[] };
        world.swarm(&[&["status"], &session[..], more].concat())
    };
    let lives = status(true).json();
    assert_eq!(lives["state"], "foreign");
    assert_eq!(lives["members"][0]["state"], "foreign");
    status(false).stdout_has("foreign").stdout_lacks("by hand");
    world
        .swarm(&["doctor"])
        .stdout_has("none with dead members");
    // The same after its process has ended.
    enter_session(&world, own, "1");
    assert_eq!(status(true).json()["members"][0]["state"], "dead");
    let doctor = world.swarm(&["doctor"]);
    doctor.stdout_has("leads of other programs have exited: session-a6b470fe");
    doctor.stdout_lacks("none with dead members");
    for told in [
        status(false),
        world.swarm(&["team", "list"]),
        world.swarm(&["team", "show", "session-a6b470fe"]),
        world.swarm(&["team", "create", "session-a6b470fe"]),
        world.swarm(&["doctor"]),
    ] {
        let words = format!("{}{}", told.stdout, told.stderr);
        assert!(
            !words.contains("resume") && !words.contains("--force"),
            "{}",
            told.story()
        );
    }
    let roster = world
        .team("session-a6b470fe")
        .directory()
        .join("config.json");
    let whole = std::fs::read(&roster).unwrap();
    for content in [
        &whole[..],
        b"{",
        br#"{"name":"session-a6b470fe","members":[]}"#,
    ] {
        std::fs::write(&roster, content).unwrap();
        for args in [&["gc", "--dry-run"][..], &["gc"]] {
            let cleared = world.swarm(args);
            assert_eq!(cleared.ok().stdout, "", "{}", cleared.story());
        }
    }
}

#[test]
fn doctor_says_how_to_delete_a_session_that_still_lists_members() {
    let world = world();
    enter_session(&world, std::process::id(), "1");
    enter_foreign(&world, "session-a6b470fe", &["rita"]);
    world
        .swarm(&["doctor"])
        .stdout_has("`swarm team delete NAME --force` deletes their teams");
    world
        .swarm(&["team", "delete", "session-a6b470fe", "--force"])
        .ok();
    assert!(!world.team("session-a6b470fe").directory().exists());
}

#[test]
fn a_lead_on_another_machine_does_not_lead_by_hand_and_is_not_replaced() {
    let world = world();
    enter_session(&world, 12, "1");
    let team = world.team("session-a6b470fe");
    let mut config = team.config();
    config["leadProcess"]["pidSpace"] = "elsewhere#pid:[1]".into();
    std::fs::write(team.directory().join("config.json"), config.to_string()).unwrap();
    for command in [
        &["status", "--team", "session-a6b470fe"][..],
        &["team", "show", "session-a6b470fe"],
    ] {
        world.swarm(command).ok().stdout_lacks("by hand");
    }
    let resumed = world.swarm(&["resume", "session-a6b470fe"]);
    let continued = ["run", "go", "--continue", "--team", "session-a6b470fe"];
    let continued = world.swarm(&[&continued[..], &["--model", MODEL]].concat());
    for refused in [resumed, continued] {
        refused.assert_code(4);
        refused.stderr_has("it runs on another machine");
        refused.stderr_lacks("stop process");
    }
}

#[test]
fn a_lead_of_another_program_is_named_when_it_is_to_be_stopped() {
    let world = world();
    let own = std::process::id();
    let start = swarm_store::process::start_time(own).unwrap();
    enter_session(&world, own, &start);
    for command in [
        &["kill", "team-lead"][..],
        &["shutdown", "team-lead", "--force"],
    ] {
        let refused = world.swarm(&[command, &["--team", "session-a6b470fe"]].concat());
        refused.assert_code(5);
        refused.stderr_has(&format!("process {own} of another program leads the team"));
        refused.stderr_lacks("--all");
    }
}

#[test]
fn an_existing_team_is_offered_matching_actions_first() {
    let world = world_with_team("demo");
    let again = world.swarm(&["team", "create", "demo", "--json"]).error(4);
    let hint = again["hint"].as_str().unwrap();
    assert!(
        hint.contains("--team demo") && !hint.contains("resume"),
        "{hint}"
    );
    let run = world.swarm(&["run", "go", "--team", "demo", "--model", MODEL]);
    run.assert_code(4);
    run.stderr_has("swarm resume demo PROMPT");
    run.stderr_lacks("--team demo");
    assert_eq!(run.stderr.lines().count(), 2, "{}", run.story());
}

#[test]
fn deleting_a_team_archives_its_tasks_and_journal() {
    let world = world_with_team("demo");
    world.swarm(&["task", "create", "write it down"]).ok();
    world.swarm(&["team", "delete", "demo"]).ok();
    let team = world.team("demo");
    assert!(!team.directory().exists() && !team.tasks_directory().exists());
    let archive = world.root().join("swarm/archive");
    let kept: Vec<_> = std::fs::read_dir(archive)
        .unwrap()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    assert_eq!(kept.len(), 1, "{kept:?}");
    let mut names = Vec::new();
    let mut directories = kept;
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap().flatten() {
            if entry.path().is_dir() {
                directories.push(entry.path());
            } else {
                names.push(entry.file_name().into_string().unwrap());
            }
        }
    }
    assert!(
        names.contains(&"journal.jsonl".to_owned()) && names.contains(&"1.json".to_owned()),
        "{names:?}"
    );
    world.swarm(&["team", "delete", "demo", "--json"]).error(3);
}

#[test]
fn purging_a_team_leaves_nothing() {
    let world = world_with_team("demo");
    world.swarm(&["task", "create", "forget me"]).ok();
    world.swarm(&["team", "delete", "demo", "--purge"]).ok();
    let archive = std::fs::read_dir(world.root().join("swarm/archive"));
    assert_eq!(archive.map_or(0, Iterator::count), 0);
    world.swarm(&["team", "create", "demo"]).ok();
    assert_eq!(
        world.swarm(&["task", "create", "again"]).ok().stdout.trim(),
        "1"
    );
}

#[test]
fn what_other_programs_wrote_into_the_roster_stays() {
    let world = world_with_foreign("demo", &["claude"]);
    let before = world.team("demo").member("claude").unwrap();
    world.swarm(&["send", "claude", "hello"]).ok();
    world.swarm(&["status"]).ok();
    assert_eq!(world.team("demo").member("claude").unwrap(), before);
    let status = world.swarm(&["status", "--json"]).json();
    let claude = status["members"]
        .as_array()
        .unwrap()
        .iter()
        .find(|member| member["name"] == "claude")
        .unwrap();
    assert_eq!(claude["state"], "foreign");
}

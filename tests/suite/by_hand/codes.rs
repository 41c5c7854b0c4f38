//! Exit codes and the form of errors are the same whatever the command.

use serde_json::Value;
use swarm_tests::stage::World;

use crate::scene::{enter_foreign, world, world_with_team};

/// Commands of every kind, and the code of each in a team `demo` with one task and nobody but the lead.
const WRONG: &[(&[&str], i32)] = &[
    (&["inbox", "nobody"], 3),
    (&["send", "nobody", "hi"], 3),
    (&["kill", "nobody"], 3),
    (&["shutdown", "nobody"], 3),
    (&["logs", "nobody"], 3),
    (&["peek", "nobody"], 3),
    (&["attach", "nobody"], 3),
    (&["task", "show", "99"], 3),
    (&["task", "claim", "99"], 3),
    (&["approve", "nothing"], 3),
    (&["deny", "nothing"], 3),
    (&["config", "list", "nothing"], 3),
    (&["man", "nothing"], 3),
    (&["team", "show", "nothing"], 3),
    (&["team", "delete", "nothing"], 3),
    (&["status", "--team", "nothing"], 3),
    (&["team", "create", "demo"], 4),
    (&["status", "--team", "../up"], 2),
    (&["inbox", "../up"], 2),
    (&["spawn", "../up"], 2),
    (&["spawn", "team-lead"], 2),
    (&["spawn", "bob", "--mode", "everything"], 2),
    (&["spawn", "bob", "--env", "novalue"], 2),
    (&["spawn", "bob", "--prompt-file", "/nothing/there"], 2),
    (&["run", "-"], 2),
    (&["send", "team-lead", "hi"], 2),
    (&["task", "create", "--file", "/nothing/there"], 2),
    (&["task", "update", "1"], 2),
    (&["log", "--type", "nothing"], 2),
    (&["completions", "tcsh"], 2),
    (&["nonsense"], 2),
    (&["status", "--nonsense"], 2),
];

#[test]
fn a_mistake_has_its_code_and_a_program_reads_nothing_but_the_error() {
    let world = world_with_team("demo").with_variable("ANTHROPIC_API_KEY", "sk-test-not-a-key");
    world.swarm(&["task", "create", "something"]).ok();
    for (words, code) in WRONG {
        let plain = world.swarm(words);
        plain.assert_code(*code);
        assert!(
            plain.stdout.is_empty() && !plain.stderr.is_empty(),
            "{}",
            plain.story()
        );
        let told = world.swarm(&[words, &["--json"][..]].concat()).code(*code);
        assert!(told.stdout.is_empty(), "{}", told.story());
        let document: Value = serde_json::from_str(&told.stderr)
            .unwrap_or_else(|error| panic!("{error}\n{}", told.story()));
        let error = &document["error"];
        assert_eq!(error["code"], *code, "{}", told.story());
        assert!(
            error["kind"].is_string() && error["message"].is_string(),
            "{document}"
        );
    }
}

#[test]
fn a_config_directory_that_cannot_be_used_is_a_matter_of_the_machine() {
    let world = world().with_variable("ANTHROPIC_API_KEY", "sk-test-not-a-key");
    let file = world.write("a-file", "");
    let below = file.join("root").display().to_string();
    let file = file.display().to_string();
    let with = |root: &str, words: &[&str]| {
        let variables = [("CLAUDE_CONFIG_DIR".to_owned(), root.to_owned())];
        let told = world.start_with(&[words, &["--json"]].concat(), &variables);
        let error = told.wait().error(7);
        assert!(error["message"].as_str().unwrap().contains(root), "{error}");
        assert!(
            error["hint"]
                .as_str()
                .unwrap()
                .contains("CLAUDE_CONFIG_DIR"),
            "{error}"
        );
    };
    for words in [
        &["team", "create", "demo"][..],
        &["team", "list"],
        &["run", "go"],
        &["status"],
        &["kill", "--all"],
    ] {
        with(&file, words);
        with(&below, words);
    }
    // Where nobody can make anything, not even the superuser.
    with("/proc", &["team", "create", "demo"]);
    with("/proc/nothing", &["team", "create", "demo"]);
    with("/proc/nothing", &["run", "go"]);
}

#[test]
fn what_is_said_to_people_is_not_said_to_programs() {
    let world = world_with_team("demo");
    enter_foreign(&world, "demo", &["carol"]);
    world.swarm(&["send", "carol", "hello"]).ok();
    for words in [
        &["shutdown", "--all"][..],
        &["kill", "--all"],
        &["inbox", "carol", "--ack"],
        &["requests"],
        &["task", "list"],
        &["log", "--from", "person"],
        &["team", "create", "another"],
    ] {
        let told = world.swarm(&[words, &["--json"]].concat());
        assert_eq!(told.ok().stderr, "", "{}", told.story());
        told.json();
    }
}

#[test]
fn commands_of_later_versions_say_that_they_are() {
    let world: World = world();
    let error = world.swarm(&["cost", "--json"]).error(2);
    let message = error["message"].as_str().unwrap();
    assert!(
        message.starts_with("this version of swarm does not have the "),
        "{message}"
    );
    let help = world.swarm(&["--help"]);
    assert!(!help.ok().stdout.contains("  cost "), "{}", help.story());
}

#[test]
fn a_prompt_in_the_place_of_a_work_trees_name_is_told_where_to_stand() {
    let world = world();
    let words = ["run", "--worktree", "Mend the import"];
    let told = world.swarm(&words).code(2).stderr;
    assert!(told.contains("put the prompt before --worktree"), "{told}");
}

#[test]
fn a_reader_that_leaves_early_is_no_error_and_a_full_disk_is_one() {
    let world = world_with_team("demo");
    let shell = |script: &str| {
        let ran = world
            .command("bash")
            .args(["--norc", "-c", script])
            .output()
            .unwrap();
        String::from_utf8_lossy(&ran.stdout).trim().to_owned()
    };
    let leaves = "swarm config list --origins | head -1 >/dev/null; echo ${PIPESTATUS[0]}";
    assert_eq!(shell(leaves), "0");
    assert_eq!(
        shell("swarm config list >/dev/full 2>/dev/null; echo $?"),
        "7"
    );
    assert_eq!(shell("swarm send nobody - <&- 2>/dev/null; echo $?"), "3");
}

//! Exit codes and the form of errors are the same whatever the command.

use serde_json::Value;

use crate::scene::{run_bash, world, world_with_foreign, world_with_team};

/// Commands of every kind, and their exit codes in a team `demo` with one task and no member but the lead.
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
fn each_error_has_its_exit_code_and_json_output_is_only_the_error() {
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
fn an_unusable_config_directory_is_an_environment_error() {
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
    // A directory in which not even the superuser can create files.
    with("/proc", &["team", "create", "demo"]);
    with("/proc/nothing", &["team", "create", "demo"]);
    with("/proc/nothing", &["run", "go"]);
}

#[test]
fn what_is_said_to_people_is_not_said_to_programs() {
    let world = world_with_foreign("demo", &["carol"]);
    world.swarm(&["send", "carol", "hello"]).ok();
    for words in [
        &["kill", "--all"][..],
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
fn a_prompt_in_place_of_a_worktree_name_gets_a_hint() {
    let world = world();
    let words = ["run", "--worktree", "Fix the import"];
    let told = world.swarm(&words).code(2).stderr;
    assert!(told.contains("put the prompt before --worktree"), "{told}");
}

#[test]
fn a_closed_pipe_is_not_an_error_and_a_full_disk_is() {
    let world = world_with_team("demo");
    let leaves = "swarm config list --origins | head -1 >/dev/null; echo ${PIPESTATUS[0]}";
    assert_eq!(run_bash(&world, leaves), "0");
    assert_eq!(
        run_bash(&world, "swarm config list >/dev/full 2>/dev/null; echo $?"),
        "7"
    );
    assert_eq!(
        run_bash(&world, "swarm send nobody - <&- 2>/dev/null; echo $?"),
        "3"
    );
}

#[test]
fn hints_fit_the_command_that_was_refused() {
    let world = world_with_foreign("demo", &["carol"]);
    let spawn = world.swarm(&["spawn", "bob", "--backend", "nope"]).code(2);
    spawn.stderr_has("command or headless");
    spawn.stderr_lacks("in-process");
    let pause = world.swarm(&["pause", "carol"]).code(4);
    pause.stderr_has("pause it where it runs");
}

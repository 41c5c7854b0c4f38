//! What an agent may not do, although it runs as the same user and has a shell.

use serde_json::json;
use swarm_tests::fake_api::{Ask, Reply};

use crate::scene::{
    MODEL, demo_run_args, not_proven, runs_once, spawn_args, spawn_over, team_with, world_over,
    world_saying, world_with, world_with_team,
};

/// Settings with which a shell may write the team's files; in the sandbox it may not.
const WITHOUT_SANDBOX: &str = "[sandbox]\nbash = \"off\"\n";

/// A member whose shell runs one command for its first prompt; gives what the command printed, with its exit code in
/// the last line.
fn printed_by_a_member(command: &str) -> String {
    printed_in_a_world_with(&[], command)
}

/// The same in a world where these files were written.
fn printed_in_a_world_with(files: &[(&str, &str)], command: &str) -> String {
    let command = format!("{{ {command} ; }} 2>&1; echo \"exit $?\"");
    let api = runs_once(&command);
    let world = world_over(&api);
    world.write("root/swarm.toml", WITHOUT_SANDBOX);
    for (path, text) in files {
        world.write(path, text);
    }
    world.swarm(&["task", "create", "something"]).ok();
    spawn_over(&world, "bob");
    let told = api.wait_for("the result", "bob", |ask| ask.result_of("t1").is_some());
    let config = world.team("demo").config();
    assert_eq!(
        config["members"].as_array().map(Vec::len),
        Some(2),
        "{config}"
    );
    world.swarm(&["kill", "bob"]).ok();
    told.ask.result_of("t1").unwrap().0
}

#[test]
fn an_agent_cannot_approve_grant_or_stop_through_its_shell() {
    for verb in [
        "approve x",
        "deny x",
        "kill --all",
        "shutdown --all",
        "team create other",
        "team delete --force",
        "trust",
    ] {
        let printed = printed_by_a_member(&format!("swarm {verb}"));
        assert!(printed.trim_end().ends_with("exit 5"), "{verb}: {printed}");
    }
}

#[test]
fn an_agent_cannot_hide_who_it_is_by_dropping_its_environment() {
    let printed = printed_by_a_member(
        "setsid env -i PATH=\"$PATH\" CLAUDE_CONFIG_DIR=\"$CLAUDE_CONFIG_DIR\" HOME=\"$HOME\" swarm --team demo approve x",
    );
    assert!(printed.trim_end().ends_with("exit 5"), "{printed}");
}

#[test]
fn an_agent_cannot_hide_in_another_pid_namespace() {
    let in_namespace = "env -i PATH=\"$PATH\" CLAUDE_CONFIG_DIR=\"$CLAUDE_CONFIG_DIR\" HOME=\"$HOME\" unshare -Urpf --mount-proc";
    let printed = printed_by_a_member(&format!(
        "{in_namespace} true && echo namespaces; \
         for verb in 'approve x' 'deny x' trust 'spawn eve --mode bypassPermissions' 'send bob forged'; do \
           {in_namespace} swarm --team demo $verb; echo \"ended $?\"; done"
    ));
    if !printed.contains("namespaces") {
        not_proven("nobody here may make a pid namespace");
        return;
    }
    assert_eq!(printed.matches("ended 5").count(), 5, "{printed}");
    assert_eq!(
        printed.matches("in another pid namespace").count(),
        5,
        "{printed}"
    );
}

#[test]
fn a_person_in_another_pid_namespace_cannot_approve_but_can_stop_members() {
    let (_api, world) = world_saying("done");
    spawn_over(&world, "bob");
    let file = world.team("demo").member_directory("bob").join("life");
    let text = std::fs::read_to_string(&file).unwrap();
    let mut life: serde_json::Value = serde_json::from_str(&text).unwrap();
    // In place: the file is the lock.
    let mut say = |space: &str| {
        life["pidSpace"] = space.into();
        std::fs::write(&file, life.to_string()).unwrap();
    };
    say("there#pid:[1]");
    world.swarm(&["approve", "x"]).assert_code(5);
    world.swarm(&["send", "bob", "hello"]).ok();
    let host = rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned();
    say(&format!("{host}#pid:[1]"));
    world
        .swarm(&["send", "bob", "hello"])
        .code(5)
        .stderr_has("bob of team demo");
    world.swarm(&["trust"]).assert_code(5);
    world.swarm(&["kill", "bob"]).ok();
    world.swarm(&["approve", "x"]).assert_code(3);
}

#[test]
fn another_agent_program_cannot_answer_trust_or_widen() {
    let world = world_with_team("demo");
    let refused = [
        &["approve", "x"][..],
        &["deny", "x"],
        &["trust"],
        &["resume", "demo"],
        &["spawn", "bob", "--model", MODEL, "--trust"],
        &["run", "go", "--model", MODEL, "--trust"],
        &["spawn", "bob", "--model", MODEL, "--mode", "acceptEdits"],
        &["run", "go", "--model", MODEL, "--mode", "bypassPermissions"],
    ];
    let mark = [("CLAUDECODE".to_owned(), "1".to_owned())];
    for arguments in refused {
        let told = world.start_with(arguments, &mark).wait();
        told.assert_code(5);
        for words in ["Claude Code", "`CLAUDECODE`", "your own terminal"] {
            told.stderr_has(words);
        }
    }
    // The mark of an ancestor counts, too, and a person is still asked what to answer.
    let line = "env -u GEMINI_CLI swarm approve x; echo \"exit $?\"";
    let told = world.start_program("env", &["GEMINI_CLI=1", "sh", "-c", line]);
    let told = told.wait();
    told.stdout_has("exit 5");
    told.stderr_has("Gemini CLI");
    world.swarm(&["approve", "x"]).assert_code(3);
    // It may do what its person asks of it otherwise.
    let made = world.start_with(&["task", "create", "something"], &mark);
    made.wait().ok();
}

#[test]
fn an_agent_writes_in_its_own_name_only() {
    let printed = printed_by_a_member("swarm send team-lead forged --from team-lead");
    assert!(printed.trim_end().ends_with("exit 5"), "{printed}");
}

#[test]
fn a_sub_agents_shell_does_not_act_as_the_member_that_started_it() {
    let printed = printed_by_a_member(
        "export SWARM_SUB_AGENT_ID=a1; swarm send team-lead forged; \
         bash -c 'unset SWARM_SUB_AGENT_ID; swarm task claim 1; exit $?'",
    );
    assert_eq!(
        printed.matches("this is a sub-agent of bob").count(),
        2,
        "{printed}"
    );
    assert!(printed.trim_end().ends_with("exit 5"), "{printed}");
}

#[test]
fn a_shell_in_the_sandbox_is_referred_to_the_agents_tools() {
    let files = [("root/swarm.toml", "")];
    let commands = "test -z \"$SWARM_SANDBOX\" || { swarm send team-lead x; swarm team list; \
         swarm team list --json; swarm status --all; swarm status; }";
    let printed = printed_in_a_world_with(&files, commands);
    if printed.trim_end().ends_with("exit 0") {
        not_proven("no sandbox works here");
        return;
    }
    let told = "teams cannot be seen from inside an agent's shell";
    assert_eq!(printed.matches(told).count(), 5, "{printed}");
    assert!(!printed.contains("no teams"), "{printed}");
}

#[test]
fn mail_from_an_agents_shell_is_its_own() {
    let api = runs_once("swarm send team-lead 'from my shell'");
    let world = world_over(&api);
    world.write("root/swarm.toml", WITHOUT_SANDBOX);
    spawn_over(&world, "bob");
    let mail = world.wait_for("the mail", || {
        let mut mail = world.team("demo").inbox("team-lead");
        mail.retain(|entry| entry["text"] == "from my shell");
        mail.pop()
    });
    assert_eq!(mail["from"], "bob");
    world.swarm(&["shutdown", "bob"]).ok();
}

#[test]
fn a_headless_member_acts_in_its_own_name_under_the_lead_that_started_it() {
    let told = json!({"name": "bob", "description": "tell", "prompt": "tell me"});
    let (_api, world) =
        world_with(
            move |ask: &Ask| match (ask.agent.as_str(), ask.result_of("t1").is_some()) {
                ("bob", false) => {
                    let input = json!({"command": "swarm send team-lead 'from my shell'"});
                    Reply::tool("t1", "Bash", input)
                }
                ("team-lead", false) => Reply::tool("t1", "Agent", told.clone()),
                _ => Reply::text("done"),
            },
        );
    world.write("root/swarm.toml", WITHOUT_SANDBOX);
    world.swarm(&demo_run_args("go", &[])).ok();
    let mut mail = world.team("demo").inbox("team-lead");
    mail.retain(|entry| entry["text"] == "from my shell");
    assert_eq!(mail.len(), 1, "{}", world.report());
    assert_eq!(mail[0]["from"], "bob");
}

#[test]
fn file_tools_cannot_change_team_files_in_any_mode() {
    let (api, world) = team_with(|ask: &Ask| {
        let root = ask.news();
        let root = root
            .split_whitespace()
            .find(|word| word.starts_with('/'))
            .unwrap_or_default();
        match ask.messages().len() {
            1 => Reply::tool(
                "t1",
                "Write",
                json!({"file_path": format!("{root}/teams/demo/inboxes/x.json"), "content": "[]"}),
            ),
            3 => Reply::tool(
                "t2",
                "Write",
                json!({"file_path": "../root/settings.json", "content": "{}"}),
            ),
            _ => Reply::text("done"),
        }
    });
    let prompt = format!("the root is {}", world.root().display());
    world
        .swarm(&spawn_args(
            "bob",
            "headless",
            &["--mode", "bypassPermissions", "--prompt", &prompt],
        ))
        .ok();
    let told = api.wait_for("both results", "bob", |ask| ask.result_of("t2").is_some());
    for call in ["t1", "t2"] {
        let (text, is_error) = told.ask.result_of(call).unwrap();
        assert!(is_error, "{call}: {text}");
    }
    assert!(
        !world.team("demo").inbox_path("x").exists()
            && !world.root().join("settings.json").exists()
    );
    world.swarm(&["shutdown", "bob"]).ok();
}

#[test]
fn shell_commands_get_the_variables_of_the_users_settings_but_no_keys_and_none_of_a_repositorys() {
    let users = r#"{"env": {"FLAVOUR": "sour", "OPENAI_API_KEY": "sk-from-settings", "SWARM_NAME": "forged"}}"#;
    let files = [
        ("root/settings.json", users),
        (
            "project/.claude/settings.json",
            r#"{"env": {"THEIRS": "planted"}}"#,
        ),
    ];
    let command = r#"echo "$FLAVOUR,$OPENAI_API_KEY,$THEIRS,$SWARM_NAME""#;
    let printed = printed_in_a_world_with(&files, command);
    assert!(printed.starts_with("sour,,,bob\n"), "{printed}");
}

//! Hooks as they are: small programs, not all of them well behaved.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};
use swarm_permissions::{HookEvent, HookSettings};
use swarm_protocol::{Event, MemberName, PermissionMode, SpawnId, TaskId, TeamName};
use tokio_util::sync::CancellationToken;

use crate::{AgentHooks, HookOutcome, Hooks, HooksParts, Permission, Subject, TeamEvents};

struct Yard {
    directory: tempfile::TempDir,
    told: Arc<Mutex<Vec<String>>>,
}

impl Yard {
    fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
            told: Arc::default(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    fn hooks(&self, hooks: &Value) -> Hooks {
        let (settings, remarks) = HookSettings::read(hooks, "a test");
        assert!(remarks.is_empty(), "{remarks:?}");
        let told = Arc::clone(&self.told);
        Hooks::new(HooksParts {
            settings,
            env: BTreeMap::from([
                ("PATH".to_owned(), "/usr/bin:/bin".to_owned()),
                ("SWARM_NAME".to_owned(), "bob".to_owned()),
            ]),
            project: self.directory.path().to_owned(),
            notice: Arc::new(move |line| told.lock().push(line)),
            reach: None,
        })
    }

    /// Hooks of one event, each with a time limit that a test does not meet.
    fn at(&self, event: HookEvent, commands: &[&str]) -> AgentHooks {
        let hooks: Vec<_> = commands
            .iter()
            .map(|line| json!({"type": "command", "command": line}))
            .collect();
        let hooks = self.hooks(&json!({event.name(): [{"hooks": hooks}]}));
        AgentHooks::new(hooks, bob)
    }

    async fn stop(&self, commands: &[&str]) -> HookOutcome {
        let hooks = self.at(HookEvent::Stop, commands);
        let cancel = CancellationToken::new();
        hooks.fire(HookEvent::Stop, None, json!({}), &cancel).await
    }

    fn told(&self) -> Vec<String> {
        self.told.lock().clone()
    }
}

fn bob() -> Subject {
    Subject {
        session_id: Some("5e55".to_owned()),
        transcript_path: Some("/root/projects/x/5e55.jsonl".into()),
        cwd: "/repo".into(),
        permission_mode: Some(PermissionMode::Plan),
        team: Some(TeamName::parse("demo").unwrap()),
        member: Some(MemberName::parse("bob").unwrap()),
        agent_id: Some("bob@demo".to_owned()),
        agent_type: Some("reviewer".to_owned()),
        task: Some(TaskId::new(3)),
        parent: Some("team-lead@demo".to_owned()),
    }
}

#[tokio::test]
async fn a_hook_reads_who_acts_and_runs_in_the_project() {
    let yard = Yard::new();
    let line = "cat > input; pwd > pwd; echo \"$CLAUDE_PROJECT_DIR $SWARM_NAME\" > env";
    let outcome = yard.stop(&[line]).await;
    assert_eq!(outcome.ran, 1, "{outcome:?}");
    let input: Value = serde_json::from_str(&yard.read("input")).unwrap();
    assert_eq!(
        input,
        json!({
            "session_id": "5e55", "transcript_path": "/root/projects/x/5e55.jsonl", "cwd": "/repo",
            "permission_mode": "plan", "team": "demo", "member": "bob", "agent_id": "bob@demo",
            "agent_type": "reviewer", "task": "3", "parent": "team-lead@demo", "hook_event_name": "Stop"
        })
    );
    let real = yard.directory.path().canonicalize().unwrap();
    assert_eq!(Path::new(yard.read("pwd").trim()), real);
    let env = format!("{} bob\n", yard.directory.path().display());
    assert_eq!(yard.read("env"), env);
}

#[test]
fn o3_every_hook_is_told_the_same_fields_at_every_event() {
    let fields = [
        "session_id",
        "transcript_path",
        "cwd",
        "permission_mode",
        "team",
        "member",
        "agent_id",
        "agent_type",
        "task",
        "parent",
        "hook_event_name",
    ];
    for event in HookEvent::ALL {
        for subject in [bob(), Subject::default()] {
            let input = subject.input(event, &serde_json::Map::new());
            let names: Vec<_> = input.keys().map(String::as_str).collect();
            assert_eq!(names, fields, "{}", event.name());
            assert_eq!(input["hook_event_name"], event.name());
        }
    }
}

#[tokio::test]
async fn exit_2_blocks_with_its_feedback_and_other_codes_are_only_told() {
    let yard = Yard::new();
    let outcome = yard
        .stop(&[
            "echo not yet >&2; exit 2",
            "echo odd >&2; exit 3",
            "echo fine",
        ])
        .await;
    assert_eq!(outcome.block.as_deref(), Some("not yet"));
    assert_eq!(outcome.printed, ["fine"]);
    assert_eq!(outcome.failures.len(), 1, "{outcome:?}");
    assert!(outcome.failures[0].ends_with("exited with 3: odd"));
    let told = yard.told();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[1].contains("hook Stop blocks: not yet"), "{told:?}");
    let silent = yard.stop(&["exit 2"]).await;
    assert!(silent.block.unwrap().contains("hook `exit 2` blocks it"));
}

#[tokio::test]
async fn a_hook_that_is_not_there_is_told_of_and_blocks_where_it_says_so() {
    let yard = Yard::new();
    std::fs::File::create(yard.path("plain")).unwrap();
    for (line, why) in [
        ("./guard", "was not found (exit code 127: "),
        ("no-such-program x", "was not found (exit code 127: "),
        ("./plain", "could not be executed (exit code 126: "),
    ] {
        let outcome = yard.stop(&[line]).await;
        assert_eq!(outcome.refusal(), None);
        let told = yard.told().pop().unwrap();
        assert!(
            told.starts_with(&format!("hook Stop: `{line}` {why}")),
            "{told}"
        );
        assert!(told.ends_with("; nothing was held up by it"), "{told}");
    }
    let guard = json!({"type": "command", "command": "./guard", "onFailure": "block"});
    let hooks =
        yard.hooks(&json!({"PreToolUse": [{"hooks": [guard]}], "Stop": [{"hooks": [guard]}]}));
    let (hooks, never) = (AgentHooks::new(hooks, bob), CancellationToken::new());
    let asked = hooks.fire(HookEvent::PreToolUse, Some("Bash"), json!({}), &never);
    let why = asked.await.refusal().unwrap();
    assert!(
        why.contains("has to agree failed: `./guard` was not found"),
        "{why}"
    );
    let ends = hooks.fire(HookEvent::Stop, None, json!({}), &never).await;
    assert_eq!(
        ends.refusal(),
        None,
        "the end of a turn waits for no such hook"
    );
}

#[tokio::test]
async fn answers_are_merged_in_the_order_of_the_settings_and_the_strictest_word_holds() {
    let yard = Yard::new();
    let decide = |word: &str, input: u32| {
        format!(
            r#"echo '{{"hookSpecificOutput": {{"permissionDecision": "{word}", "permissionDecisionReason": "{word}!",
               "updatedInput": {{"n": {input}}}, "additionalContext": "c{input}"}}}}'"#
        )
    };
    // The first ends last.
    let slow = format!(
        "while [ ! -e go ]; do read -t 0.01 < /dev/zero; done; {}",
        decide("ask", 1)
    );
    let quick = format!("{}; touch go", decide("allow", 2));
    let outcome = yard.stop(&[&slow, &quick]).await;
    assert_eq!(
        outcome.permission,
        Some((Permission::Ask, Some("ask!".to_owned())))
    );
    assert_eq!(outcome.updated_input, Some(json!({"n": 2})));
    assert_eq!(outcome.context, ["c1", "c2"]);
    assert_eq!(outcome.refusal(), None);
    let outcome = yard.stop(&[&decide("deny", 1), &decide("allow", 2)]).await;
    assert_eq!(outcome.refusal().as_deref(), Some("deny!"));
}

#[tokio::test]
async fn json_control_is_obeyed() {
    let yard = Yard::new();
    let outcome = yard
        .stop(&[
            r#"echo '{"continue": false, "stopReason": "enough", "systemMessage": "hello", "unknown": 1}'"#,
            r#"echo '{"decision": "block", "reason": "tests fail"}'"#,
            r#"echo '{"suppressOutput": true, "systemMessage": "not shown"}'"#,
        ])
        .await;
    assert_eq!(outcome.stop.as_deref(), Some("enough"));
    assert_eq!(outcome.block.as_deref(), Some("tests fail"));
    assert_eq!(outcome.messages, ["hello"]);
}

#[tokio::test]
async fn json_that_is_not_understood_holds_nothing_up() {
    let yard = Yard::new();
    for line in [
        "echo '{\"decision\": '",
        "echo '{\"continue\": \"perhaps\"}'",
    ] {
        let outcome = yard.stop(&[line]).await;
        assert!(
            outcome.failures[0].contains("not understood"),
            "{outcome:?}"
        );
        assert_eq!((outcome.block, outcome.stop), (None, None));
    }
}

#[tokio::test]
async fn the_same_command_runs_once() {
    let yard = Yard::new();
    let outcome = yard.stop(&["echo x >> count", "echo x >> count"]).await;
    assert_eq!((outcome.ran, yard.read("count").as_str()), (1, "x\n"));
}

#[tokio::test]
async fn a_huge_output_is_cut_and_the_hook_comes_to_its_end() {
    let yard = Yard::new();
    let outcome = yard
        .stop(&[
            "head -c 5000000 /dev/zero | tr '\\0' x; echo; echo end > over",
            "head -c 5000000 /dev/zero | tr '\\0' x >&2; exit 2",
        ])
        .await;
    assert!(yard.path("over").exists());
    assert!(outcome.printed[0].len() < 300_000);
    assert!(outcome.printed[0].ends_with("[cut: 5000001 bytes in all]"));
    assert!(outcome.block.unwrap().len() < 300_000);
}

#[tokio::test]
async fn a_hook_that_never_reads_its_input_comes_to_its_end() {
    let yard = Yard::new();
    let hooks = yard.at(HookEvent::Stop, &["exec 0<&-; echo done", "echo too"]);
    let long = json!({"text": "x".repeat(1_000_000)});
    let outcome = hooks
        .fire(HookEvent::Stop, None, long, &CancellationToken::new())
        .await;
    assert_eq!(outcome.printed, ["done", "too"]);
}

#[tokio::test]
async fn a_daemon_that_holds_the_output_does_not_hold_the_hook_up_and_lives_on() {
    let yard = Yard::new();
    let line = "(while [ ! -e go ]; do read -t 0.01 < /dev/zero; done; echo late; touch lived) & echo early";
    let outcome = yard.stop(&[line]).await;
    assert_eq!(outcome.printed, ["early"]);
    std::fs::File::create(yard.path("go")).unwrap();
    while !yard.path("lived").exists() {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_hook_that_a_signal_ends_has_failed() {
    let yard = Yard::new();
    let outcome = yard.stop(&["kill -SEGV $$"]).await;
    assert!(
        outcome.failures[0].ends_with("was ended by signal 11"),
        "{outcome:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_hook_is_ended_with_its_group_when_its_time_is_up() {
    let yard = Yard::new();
    let hooks = yard.hooks(&json!({"Stop": [{"hooks": [
        {"type": "command", "command": "trap '' TERM; sleep 1000 & echo $! > part; mv part pid; while :; do read -t 1 < /dev/zero; done", "timeout": 5}
    ]}]}));
    let hooks = AgentHooks::new(hooks, bob);
    let never = CancellationToken::new();
    let fired = hooks.fire(HookEvent::Stop, None, json!({}), &never);
    // The clock stands still while this runs, and is moved once the hook has begun.
    let time_passes = async {
        while !yard.path("pid").exists() {
            tokio::task::yield_now().await;
        }
        tokio::time::advance(std::time::Duration::from_secs(5)).await;
    };
    let (outcome, ()) = tokio::join!(fired, time_passes);
    assert!(
        outcome.failures[0].ends_with("took longer than 5 s and was ended"),
        "{outcome:?}"
    );
    ended(&yard).await;
}

#[tokio::test]
async fn a_hook_is_ended_when_whoever_waits_no_longer_does() {
    let yard = Yard::new();
    let cancel = CancellationToken::new();
    let hooks = yard.at(
        HookEvent::Stop,
        &["sleep 1000 & echo $! > part; mv part pid; wait"],
    );
    let fired = hooks.fire(HookEvent::Stop, None, json!({}), &cancel);
    let called_off = async {
        while !yard.path("pid").exists() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(fired, called_off);
    assert!(outcome.interrupted, "{outcome:?}");
    assert!(yard.told().is_empty());
    ended(&yard).await;
}

/// Waits until the process that a hook started in its group is gone, but for an entry that nobody has collected.
async fn ended(yard: &Yard) {
    let stat = format!("/proc/{}/stat", yard.read("pid").trim());
    let lives = || {
        let stat = std::fs::read_to_string(&stat).unwrap_or_default();
        !stat.is_empty() && !stat.contains(") Z ")
    };
    while lives() {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_matcher_chooses_and_a_definition_adds_its_own() {
    let yard = Yard::new();
    let hook = |line: &str| json!([{"type": "command", "command": line}]);
    let hooks = yard.hooks(&json!({
        "PreToolUse": [{"matcher": "Bash", "hooks": hook("echo guard")}],
        "SubagentStop": [{"matcher": "judge", "hooks": hook("echo settings")}]
    }));
    let agent = AgentHooks::new(hooks, bob);
    assert!(agent.any(HookEvent::PreToolUse, Some("Bash")));
    assert!(!agent.any(HookEvent::PreToolUse, Some("Read")));
    let of_definition = json!({"Stop": [{"hooks": hook("cat > input; echo definition")}]});
    let (definition, _) = HookSettings::read(&of_definition, "judge.md");
    let child = agent.for_subagent("a17", "judge", &definition);
    assert_eq!(child.end_event(), HookEvent::SubagentStop);
    assert_eq!(agent.end_event(), HookEvent::Stop);
    let cancel = CancellationToken::new();
    let outcome = child
        .fire(HookEvent::SubagentStop, Some("judge"), json!({}), &cancel)
        .await;
    assert_eq!(outcome.printed, ["settings", "definition"]);
    let input: Value = serde_json::from_str(&yard.read("input")).unwrap();
    let who =
        ["member", "agent_id", "agent_type", "parent"].map(|name| input[name].as_str().unwrap());
    assert_eq!(who, ["bob", "a17", "judge", "bob@demo"]);
    assert!(
        !agent.any(HookEvent::Stop, None),
        "the parent has none of them"
    );
}

#[test]
fn each_event_of_a_team_is_given_once() {
    let (events, team) = (TeamEvents::default(), TeamName::parse("demo").unwrap());
    events.note(&team, &Event::TeamCreated { by: "x".to_owned() });
    events.note(&team, &Event::Unknown);
    let died = Event::MemberDied {
        member: MemberName::parse("bob").unwrap(),
        spawn_id: SpawnId::random(),
        reason: "ended".to_owned(),
        released: vec![TaskId::new(4)],
    };
    events.note(&team, &died);
    assert_eq!(events.take().unwrap().event, HookEvent::TeamCreated);
    let died = events.take().unwrap();
    assert_eq!(died.event, HookEvent::TeammateDied);
    assert_eq!(died.agent_id(), "bob@demo");
    assert_eq!(died.fields["released_tasks"], json!(["4"]));
    assert_eq!(events.take(), None);
}

//! Command hooks, including misbehaving ones.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};
use swarm_permissions::{HookEvent, HookSettings};
use swarm_protocol::{Event, MemberName, PermissionMode, SpawnId, TaskId, TeamName};
use tokio_util::sync::CancellationToken;

use crate::{AgentHooks, HookInput, HookOutcome, Hooks, HooksParts, Permission, TeamEvents};

struct Fixture {
    directory: tempfile::TempDir,
    notices: Arc<Mutex<Vec<String>>>,
}

impl Fixture {
    fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
            notices: Arc::default(),
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
        let notices = Arc::clone(&self.notices);
        Hooks::new(HooksParts {
            settings,
            env: BTreeMap::from([
                ("PATH".to_owned(), "/usr/bin:/bin".to_owned()),
                ("SWARM_NAME".to_owned(), "bob".to_owned()),
            ]),
            project: self.directory.path().to_owned(),
            notice: Arc::new(move |line| notices.lock().push(line)),
            services: None,
            sandbox: None,
        })
    }

    /// Creates hooks of one event with a timeout that tests do not reach.
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

    fn notices(&self) -> Vec<String> {
        self.notices.lock().clone()
    }
}

fn bob() -> HookInput {
    HookInput {
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
async fn a_hook_receives_the_agent_and_runs_in_the_project() {
    let fixture = Fixture::new();
    let line = "cat > input; pwd > pwd; echo \"$CLAUDE_PROJECT_DIR $SWARM_NAME\" > env";
    let outcome = fixture.stop(&[line]).await;
    assert_eq!(outcome.ran, 1, "{outcome:?}");
    let input: Value = serde_json::from_str(&fixture.read("input")).unwrap();
    assert_eq!(
        input,
        json!({
            "session_id": "5e55", "transcript_path": "/root/projects/x/5e55.jsonl", "cwd": "/repo",
            "permission_mode": "plan", "team": "demo", "member": "bob", "agent_id": "bob@demo",
            "agent_type": "reviewer", "task": "3", "parent": "team-lead@demo", "hook_event_name": "Stop"
        })
    );
    let real = fixture.directory.path().canonicalize().unwrap();
    assert_eq!(Path::new(fixture.read("pwd").trim()), real);
    let env = format!("{} bob\n", fixture.directory.path().display());
    assert_eq!(fixture.read("env"), env);
}

#[test]
fn o3_every_hook_receives_the_same_common_fields() {
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
        for subject in [bob(), HookInput::default()] {
            let input = subject.input(event, &json!({}));
            let names: Vec<_> = input.as_object().unwrap().keys().collect();
            assert_eq!(names, fields, "{}", event.name());
            assert_eq!(input["hook_event_name"], event.name());
        }
    }
}

#[tokio::test]
async fn exit_code_2_blocks_with_feedback_and_other_codes_are_only_reported() {
    let fixture = Fixture::new();
    let outcome = fixture
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
    let notices = fixture.notices();
    assert_eq!(notices.len(), 2, "{notices:?}");
    assert!(
        notices[1].contains("hook Stop blocks: not yet"),
        "{notices:?}"
    );
    let silent = fixture.stop(&["exit 2"]).await;
    assert!(silent.block.unwrap().contains("blocked by hook `exit 2`"));
}

#[tokio::test]
async fn a_missing_hook_is_reported_and_blocks_if_configured() {
    let fixture = Fixture::new();
    std::fs::File::create(fixture.path("plain")).unwrap();
    for (line, why) in [
        ("./guard", "was not found (exit code 127: "),
        ("no-such-program x", "was not found (exit code 127: "),
        ("./plain", "could not be executed (exit code 126: "),
    ] {
        let outcome = fixture.stop(&[line]).await;
        assert_eq!(outcome.refusal(), None);
        let notices = fixture.notices().pop().unwrap();
        assert!(
            notices.starts_with(&format!("hook Stop: `{line}` {why}")),
            "{notices}"
        );
        assert!(notices.ends_with("; execution continues"), "{notices}");
    }
    let guard = json!({"type": "command", "command": "./guard", "onFailure": "block"});
    let hooks =
        fixture.hooks(&json!({"PreToolUse": [{"hooks": [guard]}], "Stop": [{"hooks": [guard]}]}));
    let (hooks, never) = (AgentHooks::new(hooks, bob), CancellationToken::new());
    let asked = hooks.fire(HookEvent::PreToolUse, Some("Bash"), json!({}), &never);
    let why = asked.await.refusal().unwrap();
    assert!(
        why.contains("required hook failed: `./guard` was not found"),
        "{why}"
    );
    let ends = hooks.fire(HookEvent::Stop, None, json!({}), &never).await;
    assert_eq!(
        ends.refusal(),
        None,
        "a failed hook does not block the end of a turn"
    );
}

#[tokio::test]
async fn answers_are_merged_in_order_of_the_settings_and_the_strictest_decision_wins() {
    let fixture = Fixture::new();
    let decide = |word: &str, input: u32| {
        format!(
            r#"echo '{{"hookSpecificOutput": {{"permissionDecision": "{word}", "permissionDecisionReason": "{word}!",
               "updatedInput": {{"n": {input}}}, "additionalContext": "c{input}"}}}}'"#
        )
    };
    // The first hook finishes last.
    let slow = format!(
        "while [ ! -e go ]; do read -t 0.01 < /dev/zero; done; {}",
        decide("ask", 1)
    );
    let quick = format!("{}; touch go", decide("allow", 2));
    let outcome = fixture.stop(&[&slow, &quick]).await;
    assert_eq!(
        outcome.permission,
        Some((Permission::Ask, Some("ask!".to_owned())))
    );
    assert_eq!(outcome.updated_input, Some(json!({"n": 2})));
    assert_eq!(outcome.context, ["c1", "c2"]);
    assert_eq!(outcome.refusal(), None);
    let outcome = fixture
        .stop(&[&decide("deny", 1), &decide("allow", 2)])
        .await;
    assert_eq!(outcome.refusal().as_deref(), Some("deny!"));
}

#[tokio::test]
async fn json_control_output_is_applied() {
    let fixture = Fixture::new();
    let outcome = fixture
        .stop(&[
            r#"echo '{"continue": false, "stopReason": "enough", "systemMessage": "hello", "unknown": 1}'"#,
            r#"echo '{"decision": "block", "reason": "tests fail"}'"#,
            r#"echo '{"suppressOutput": true, "systemMessage": "not shown"}'"#,
        ])
        .await;
    assert_eq!(outcome.stop.as_deref(), Some("enough"));
    assert_eq!(outcome.block.as_deref(), Some("tests fail"));
    assert_eq!(outcome.messages, ["hello"]);
    let outcome = fixture.stop(&[r#"echo '{"continue": false}'"#]).await;
    let why = outcome.stop.unwrap_or_default();
    assert!(why.ends_with("` gave no reason"), "{why}");
}

#[tokio::test]
async fn invalid_json_does_not_block() {
    let fixture = Fixture::new();
    for line in [
        "echo '{\"decision\": '",
        "echo '{\"continue\": \"perhaps\"}'",
    ] {
        let outcome = fixture.stop(&[line]).await;
        assert!(outcome.failures[0].contains("invalid JSON"), "{outcome:?}");
        assert_eq!((outcome.block, outcome.stop), (None, None));
    }
}

#[tokio::test]
async fn the_same_command_runs_once() {
    let fixture = Fixture::new();
    let outcome = fixture.stop(&["echo x >> count", "echo x >> count"]).await;
    assert_eq!((outcome.ran, fixture.read("count").as_str()), (1, "x\n"));
}

#[tokio::test]
async fn a_huge_output_is_truncated_and_the_hook_finishes() {
    let fixture = Fixture::new();
    let outcome = fixture
        .stop(&[
            "head -c 5000000 /dev/zero | tr '\\0' x; echo; echo end > over",
            "head -c 5000000 /dev/zero | tr '\\0' x >&2; exit 2",
        ])
        .await;
    assert!(fixture.path("over").exists());
    assert!(outcome.printed[0].len() < 300_000);
    assert!(outcome.printed[0].ends_with("[truncated: 5000001 bytes in total]"));
    assert!(outcome.block.unwrap().len() < 300_000);
}

#[tokio::test]
async fn a_hook_that_never_reads_its_input_finishes() {
    let fixture = Fixture::new();
    let hooks = fixture.at(HookEvent::Stop, &["exec 0<&-; echo done", "echo too"]);
    let long = json!({"text": "x".repeat(1_000_000)});
    let outcome = hooks
        .fire(HookEvent::Stop, None, long, &CancellationToken::new())
        .await;
    assert_eq!(outcome.printed, ["done", "too"]);
}

#[tokio::test]
async fn a_background_process_that_holds_the_output_does_not_delay_the_hook_and_keeps_running() {
    let fixture = Fixture::new();
    let line = "(while [ ! -e go ]; do read -t 0.01 < /dev/zero; done; echo late; touch lived) & echo early";
    let outcome = fixture.stop(&[line]).await;
    assert_eq!(outcome.printed, ["early"]);
    std::fs::File::create(fixture.path("go")).unwrap();
    while !fixture.path("lived").exists() {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_hook_terminated_by_a_signal_has_failed() {
    let fixture = Fixture::new();
    let outcome = fixture.stop(&["kill -SEGV $$"]).await;
    assert!(
        outcome.failures[0].ends_with("was terminated by signal 11"),
        "{outcome:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_hook_is_terminated_with_its_group_on_timeout() {
    let fixture = Fixture::new();
    let hooks = fixture.hooks(&json!({"Stop": [{"hooks": [
        {"type": "command", "command": "trap '' TERM; sleep 1000 & echo $! > part; mv part pid; while :; do read -t 1 < /dev/zero; done", "timeout": 5}
    ]}]}));
    let hooks = AgentHooks::new(hooks, bob);
    let never = CancellationToken::new();
    let fired = hooks.fire(HookEvent::Stop, None, json!({}), &never);
    // The clock is paused and advanced once the hook has started.
    let time_passes = async {
        while !fixture.path("pid").exists() {
            tokio::task::yield_now().await;
        }
        tokio::time::advance(std::time::Duration::from_secs(5)).await;
    };
    let (outcome, ()) = tokio::join!(fired, time_passes);
    assert!(
        outcome.failures[0].ends_with("timed out after 5 s and was terminated"),
        "{outcome:?}"
    );
    ended(&fixture).await;
}

#[tokio::test]
async fn a_hook_is_terminated_when_it_is_cancelled() {
    let fixture = Fixture::new();
    let cancel = CancellationToken::new();
    let hooks = fixture.at(
        HookEvent::Stop,
        &["sleep 1000 & echo $! > part; mv part pid; wait"],
    );
    let fired = hooks.fire(HookEvent::Stop, None, json!({}), &cancel);
    let called_off = async {
        while !fixture.path("pid").exists() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(fired, called_off);
    assert!(outcome.interrupted, "{outcome:?}");
    assert!(fixture.notices().is_empty());
    ended(&fixture).await;
}

/// Waits until the process that a hook started in its group has exited (it may remain as a zombie).
async fn ended(fixture: &Fixture) {
    let stat = format!("/proc/{}/stat", fixture.read("pid").trim());
    let lives = || {
        let stat = std::fs::read_to_string(&stat).unwrap_or_default();
        !stat.is_empty() && !stat.contains(") Z ")
    };
    while lives() {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_matcher_selects_hooks_and_a_definition_adds_its_own() {
    let fixture = Fixture::new();
    let hook = |line: &str| json!([{"type": "command", "command": line}]);
    let hooks = fixture.hooks(&json!({
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
    let input: Value = serde_json::from_str(&fixture.read("input")).unwrap();
    let who =
        ["member", "agent_id", "agent_type", "parent"].map(|name| input[name].as_str().unwrap());
    assert_eq!(who, ["bob", "a17", "judge", "bob@demo"]);
    assert!(
        !agent.any(HookEvent::Stop, None),
        "the parent has no hooks of the definition"
    );
}

#[test]
fn each_team_event_is_delivered_once() {
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
